/* Tests of the pickle decoder: every opcode by hand, and what it must refuse. The bytes follow Python's pickletools;
 * pickles written by real networkx are in test_perfseer.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "read/pickle/pickle.h"

enum { DUMP_DEPTH = 6 };

/* Prints a value like Python's repr; deep nesting and cycles end in "...". */
static void dump(buf *out, const pickle_value *v, int depth) {
    if (depth > DUMP_DEPTH) {
        buf_text(out, "...");
        return;
    }
    switch (v->kind) {
    case PICKLE_NONE:
        buf_text(out, "None");
        break;
    case PICKLE_BOOL:
        buf_text(out, v->i ? "True" : "False");
        break;
    case PICKLE_INT:
        buf_format(out, "%lld", (long long)v->i);
        break;
    case PICKLE_FLOAT:
        buf_format(out, "%g", v->f);
        break;
    case PICKLE_STRING:
        buf_format(out, "'%s'", v->s);
        break;
    case PICKLE_LIST:
    case PICKLE_DICT:
        buf_char(out, v->kind == PICKLE_LIST ? '[' : '{');
        for (uint32_t i = 0; i < v->count; i++) {
            if (i > 0) buf_text(out, ", ");
            if (v->kind == PICKLE_DICT) {
                dump(out, v->items[2 * i], depth + 1);
                buf_text(out, ": ");
                dump(out, v->items[2 * i + 1], depth + 1);
            } else {
                dump(out, v->items[i], depth + 1);
            }
        }
        buf_char(out, v->kind == PICKLE_LIST ? ']' : '}');
        break;
    case PICKLE_CLASS:
        buf_format(out, "<%s>", v->s);
        break;
    case PICKLE_OBJECT:
        buf_format(out, "%s(", v->object->type->s);
        if (v->object->state != NULL) dump(out, v->object->state, depth + 1);
        buf_char(out, ')');
        break;
    }
}

static void expect_bytes(const char *bytes, size_t size, const char *expected) {
    /* A block of exactly this size, so that sanitizers detect a read past the end. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    pickle p;
    ft_error error;
    buf out = {0};
    ft_status status = pickle_decode(copy, size, &p, &error);
    if (status == FT_OK) {
        dump(&out, p.root, 0);
        pickle_free(&p);
    } else {
        buf_format(&out, "%s: %s", ft_status_name(status), error.message);
    }
    free(copy);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

#define expect(bytes, expected) expect_bytes((bytes), sizeof(bytes) - 1, (expected))

static void test_numbers(void **state) {
    (void)state;
    expect("N.", "None");
    expect("\x80\x02\x88.", "True");
    expect("\x80\x02\x89.", "False");
    expect("I01\n.", "True");
    expect("I00\n.", "False");
    expect("I-12\n.", "-12");
    expect("L282594816L\n.", "282594816");
    expect("L100000000000000000000000L\n.", "1e+23");
    expect("K\xff.", "255");
    expect("M\x01\x02.", "513");
    expect("J\xfe\xff\xff\xff.", "-2");
    expect("\x8a\x00.", "0");
    expect("\x8a\x01\xff.", "-1");
    expect("\x8a\x02\x00\x80.", "-32768");
    expect("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", "9223372036854775807");
    expect("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.", "1.84467e+19");
    expect("\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff.", "-1.84467e+19");
    expect("\x8b\x02\x00\x00\x00\x10\x27.", "10000");
    expect("F2.5\n.", "2.5");
    expect("Finf\n.", "inf");
    expect("F-inf\n.", "-inf");
    expect("G\x40\x04\x00\x00\x00\x00\x00\x00.", "2.5");
}

static void test_strings(void **state) {
    (void)state;
    expect("S'a\\'b\\n\\x41\\\\'\n.", "'a'b\nA\\'");
    expect("S\"q\"\r\n.", "'q'");
    expect("Vx\\u00e9\\U0001F600\\q\n.", "'x\xc3\xa9\xf0\x9f\x98\x80\\q'");
    expect("V\xe9\n.", "'\xc3\xa9'");
    expect("U\x02hi.", "'hi'");
    expect("T\x02\x00\x00\x00hi.", "'hi'");
    expect("X\x02\x00\x00\x00hi.", "'hi'");
    expect("C\x02hi.", "'hi'");
    expect("B\x02\x00\x00\x00hi.", "'hi'");
    expect("\x8c\x02hi.", "'hi'");
    expect("\x8d\x02\0\0\0\0\0\0\0hi.", "'hi'");
    expect("\x8e\x02\0\0\0\0\0\0\0hi.", "'hi'");
    expect("\x96\x02\0\0\0\0\0\0\0hi.", "'hi'");
}

static void test_containers(void **state) {
    (void)state;
    expect("].", "[]");
    expect(").", "[]");
    expect("}.", "{}");
    expect("(I1\nI2\nl.", "[1, 2]");
    expect("(I1\nI2\nt.", "[1, 2]");
    expect("(I1\nI2\nd.", "{1: 2}");
    expect("K\x01\x85.", "[1]");
    expect("K\x01K\x02\x86.", "[1, 2]");
    expect("K\x01K\x02K\x03\x87.", "[1, 2, 3]");
    expect("]K\x01"
           "a.",
           "[1]");
    expect("](K\x01K\x02"
           "e.",
           "[1, 2]");
    expect("\x8f(K\x01K\x02\x90.", "[1, 2]");
    expect("(K\x01\x91.", "[1]");
    expect("}K\x01K\x02s.", "{1: 2}");
    expect("}(K\x01K\x02K\x03K\x04u.", "{1: 2, 3: 4}");
    expect("K\x01K\x02"
           "0.",
           "1");
    expect("K\x01(K\x02"
           "1.",
           "1");
    expect("K\x01(0.", "1");
    expect("K\x01"
           "2\x86.",
           "[1, 1]");
}

static void test_memo_and_frames(void **state) {
    (void)state;
    expect("]q\x00h\x00\x86.", "[[], []]");
    expect("]p3\ng3\n\x86.", "[[], []]");
    expect("]r\x01\x00\x00\x00j\x01\x00\x00\x00\x86.", "[[], []]");
    expect("\x80\x04\x95\x05\0\0\0\0\0\0\0]\x94h\x00\x86.", "[[], []]");
    expect("\x80\x05N.", "None");
    /* A list that holds itself. */
    expect("]q\x00h\x00"
           "a.",
           "[[[[[[[...]]]]]]]");
}

static void test_objects(void **state) {
    (void)state;
    expect("cbuiltins\ndict\n.", "<builtins.dict>");
    expect("c__builtin__\ndict\n)R.", "{}");
    expect("ccollections\nOrderedDict\n)R(K\x01K\x02u.", "{1: 2}");
    expect("ccollections\nOrderedDict\n(](](K\x01K\x02"
           "eetR.",
           "{1: 2}");
    expect("ccollections\ndefaultdict\ncbuiltins\nlist\n\x85R}K\x01K\x02sb.", "{}");
    expect("cbuiltins\nset\n](K\x07"
           "e\x85R.",
           "[7]");
    expect("cbuiltins\nint\nK\x05\x85R.", "5");
    expect("ccopy_reg\n_reconstructor\n(cnetworkx.classes.digraph\nDiGraph\nc__builtin__\nobject\nNtR}b.",
           "networkx.classes.digraph.DiGraph({})");
    expect("cnetworkx.classes.digraph\nDiGraph\n)\x81}K\x01K\x02sb.", "networkx.classes.digraph.DiGraph({1: 2})");
    expect("\x80\x04\x8c\x18networkx.classes.digraph\x8c\x07"
           "DiGraph\x93)\x81}b.",
           "networkx.classes.digraph.DiGraph({})");
    expect("cnetworkx.classes.graph\nGraph\n)}\x92.", "networkx.classes.graph.Graph()");
    expect("(inetworkx.classes.graph\nGraph\n.", "networkx.classes.graph.Graph()");
    expect("(cnetworkx.classes.graph\nGraph\no.", "networkx.classes.graph.Graph()");
    expect("cnetworkx.classes.reportviews\nNodeView\n)\x81.", "networkx.classes.reportviews.NodeView()");
}

static void test_numpy_scalars(void **state) {
    (void)state;
    expect("cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02i8K\x00K\x01tR(K\x03U\x01<NNNtbU\x08"
           "\x39\x30\0\0\0\0\0\0tR.",
           "12345");
    expect("cnumpy._core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02i2tR(K\x03U\x01>tbU\x02\xff\xfetR.", "-2");
    expect("cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02u1tRU\x01\xfftR.", "255");
    expect("cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02"
           "f4tRU\x04\0\0\x20\x40tR.",
           "2.5");
    expect("cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02"
           "f2tRU\x02\x00\xc1tR.",
           "-2.5");
    /* Protocols 0 to 2 write bytes as text for _codecs.encode. */
    expect("c_codecs\nencode\n(V\xc5\x41\nVlatin1\ntR.", "'\xc5\x41'");
    expect("cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(U\x02"
           "U5tRU\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0tR.",
           "FT_ERR_UNSUPPORTED: numpy scalars are supported only as int, float and bool");
}

#define REFUSED(name)                                                                                                  \
    "FT_ERR_REFUSED: the pickle refers to '" name "', which is not a data type of a graph: refused; nothing was run"

static void test_refused(void **state) {
    (void)state;
    expect("cos\nsystem\n(S'echo owned'\ntR.", REFUSED("os.system"));
    expect("cposix\nsystem\n(S'echo owned'\ntR.", REFUSED("posix.system"));
    expect("(S'echo owned'\nios\nsystem\n.", REFUSED("os.system"));
    expect("\x80\x04\x8c\x08"
           "builtins\x8c\x04"
           "eval\x93\x8c\x01"
           "1\x85R.",
           REFUSED("builtins.eval"));
    expect("c__builtin__\ngetattr\n.", REFUSED("__builtin__.getattr"));
    expect("cnetworkx.classes.graphviews\nx\n.", REFUSED("networkx.classes.graphviews.x"));
    expect("ccopyreg\n__reduce_ex__\n.", REFUSED("copyreg.__reduce_ex__"));
    expect("cos\x07\nsystem\n.", REFUSED("os?.system")); /* control characters do not reach a terminal */
    expect("Pabc\n.",
           "FT_ERR_REFUSED: pickle, byte 1: refers to an external object by a persistent id, which is refused; nothing "
           "was run");
    expect("\x80\x02\x82\x01.", "FT_ERR_REFUSED: pickle, byte 3: refers to a function in Python's extension registry, "
                                "which is refused; nothing was run");
    expect("c_codecs\nencode\n(Vx\nVutf-7\ntR.",
           "FT_ERR_UNSUPPORTED: _codecs.encode is supported only with a text and 'latin1'");
    expect("\x80\x05\x97.", "FT_ERR_UNSUPPORTED: pickle, byte 3: its data is in buffers outside the file");
    expect("\x80\x06N.", "FT_ERR_UNSUPPORTED: pickle protocol 6; 0 to 5 are supported");
}

/* Each of these must fail as damaged. */
static void test_damaged(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
#define CASE(text) {text, sizeof(text) - 1}
        CASE(""),
        CASE("N"),
        CASE("."),
        CASE("(."),
        CASE("0"),
        CASE("t."),
        CASE("a."),
        CASE("]K\x01s."),
        CASE("K\x01K\x02"
             "a."),
        CASE("}(K\x01u."),
        CASE("(K\x01"
             "d."),
        CASE("K\x01\x86."),
        CASE("h\x00."),
        CASE("g7\n."),
        CASE("gx\n."),
        CASE("g-1\n."),
        CASE("Np99999999\n."),
        CASE("Nr\xff\xff\xff\xff."),
        CASE("Np\n."),
        CASE("X\xff\xff\xff\xffhi."),
        CASE("\x8d\xff\xff\xff\xff\xff\xff\xff\xffhi."),
        CASE("\x8b\xff\xff\xff\xffhi."),
        CASE("\x95\xff\xff\xff\xff\xff\xff\xff\xffN."),
        CASE("Sabc\n."),
        CASE("S'\n."),
        CASE("S'abc"),
        CASE("Ix\n."),
        CASE("Fx\n."),
        CASE("G\x40"),
        CASE("\xff."),
        CASE("K\x01K\x02\x93."),
        CASE("K\x01)R."),
        CASE("cbuiltins\ndict\nK\x01R."),
        CASE("cbuiltins\ndict\nK\x01\x85R."),
        CASE("}K\x01(s."), /* a mark hides what is below it */
        CASE("K\x01}b."),
        CASE("(o."),
        CASE("ccopyreg\n_reconstructor\n)R."),
        CASE("cnetworkx.classes.digraph\nDiGraph"),
#undef CASE
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pickle p;
        ft_error error;
        ft_status status = pickle_decode((const uint8_t *)cases[i].bytes, cases[i].size, &p, &error);
        if (status != FT_ERR_DAMAGED) fail_msg("case %zu returns %s", i, ft_status_name(status));
        assert_true(strlen(error.message) > 10);
    }
}

/* A small pickle that copies a large dict repeatedly ends at the memory limit. */
static void test_copies_end_at_the_limit(void **state) {
    (void)state;
    buf bytes = {0};
    buf_text(&bytes, "}q");
    buf_char(&bytes, 0);
    buf_char(&bytes, '(');
    for (int i = 0; i < 4000; i++) buf_add(&bytes, "K\x01K\x02", 4);
    buf_char(&bytes, 'u');
    for (int i = 0; i < 4000; i++) buf_add(&bytes, "cbuiltins\ndict\nh\x00\x85R", 19);
    buf_char(&bytes, '.');
    assert_false(bytes.failed);
    pickle p;
    ft_error error;
    assert_int_equal(pickle_decode((const uint8_t *)bytes.data, bytes.length, &p, &error), FT_ERR_NOMEM);
    buf_free(&bytes);
}

static void test_lookup(void **state) {
    (void)state;
    const char text[] = "}(U\x01"
                        "aK\x01U\x01"
                        "bU\x05"
                        " 2.5 U\x01"
                        "cU\x03"
                        "2.5U\x01"
                        "dNU\x01"
                        "aK\x09u.";
    pickle p;
    ft_error error;
    double number;
    assert_int_equal(pickle_decode((const uint8_t *)text, sizeof text - 1, &p, &error), FT_OK);
    assert_true(pickle_number(pickle_get(p.root, "a"), &number));
    assert_true(number == 9); /* the last one counts, as in Python */
    assert_false(pickle_number(pickle_get(p.root, "b"), &number));
    assert_true(pickle_number(pickle_get(p.root, "c"), &number));
    assert_true(number == 2.5);
    assert_false(pickle_number(pickle_get(p.root, "d"), &number));
    assert_null(pickle_get(p.root, "e"));
    assert_null(pickle_get(pickle_get(p.root, "a"), "a"));
    assert_null(pickle_get(NULL, "a"));
    pickle_free(&p);
}

static bool looks_like(const char *bytes, size_t size) {
    return pickle_matches((const uint8_t *)bytes, size);
}

static void test_matches(void **state) {
    (void)state;
    assert_true(looks_like("\x80\x04N.", 4));
    assert_true(looks_like("\x80\x02", 2));
    assert_true(looks_like("cos\nsystem\n", 11));
    assert_true(looks_like("(dp0\n.", 6));
    assert_true(looks_like("}q\x00.", 4));
    assert_false(looks_like("", 0));
    assert_false(looks_like("\x80", 1));
    assert_false(looks_like("\x80\x01N.", 4));
    assert_false(looks_like("cat food\n\n", 10));
    assert_false(looks_like("{\"a\": 1}.", 9));
    assert_false(looks_like("op,in0\n", 7));
    assert_false(looks_like("(a sentence).", 13));
    assert_false(looks_like("\x08\x07\x12\x04", 4));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_memo_and_frames),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_numpy_scalars),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_copies_end_at_the_limit),
        cmocka_unit_test(test_lookup),
        cmocka_unit_test(test_matches),
    };
    return cmocka_run_group_tests_name("read/pickle", tests, NULL, NULL);
}
