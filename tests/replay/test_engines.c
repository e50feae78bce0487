/* Tests of engines: specifications, the engine of a kernel, gaps, and invalid specifications. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "replay/schedule.h"

static arena memory;
static engine_list list;

static int begin(void **state) {
    (void)state;
    arena_init(&memory, 1 << 20);
    return 0;
}

static int end(void **state) {
    (void)state;
    arena_free(&memory);
    return 0;
}

static void parse(const char *spec, const char *gaps) {
    ft_error error;
    if (engines_parse(spec, gaps, &memory, &list, &error) != FT_OK) fail_msg("%s", error.message);
}

static void expect(const char *type, const char *engine) {
    uint32_t found = engines_find(&list, NULL, type);
    if (engine == NULL)
        assert_int_equal(found, FT_NONE);
    else
        assert_string_equal(list.items[found].name, engine);
}

static void test_one_engine(void **state) {
    (void)state;
    parse("compute:3", NULL);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].lanes, 3);
    expect("conv-bn-relu", "compute");
    parse("gpu", NULL);
    assert_int_equal(list.items[0].lanes, 1);
    expect("anything", "gpu");
}

static void test_compute_and_copy(void **state) {
    (void)state;
    parse("compute:1,copy:2", NULL);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[1].lanes, 2);
    expect("conv", "compute");
    expect("concat", "copy");
    expect("fused_transpose_1", "copy");
}

static void test_kinds(void **state) {
    (void)state;
    parse("tpc:*;mme:2:conv*,matmul,fc", NULL);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[1].lanes, 2);
    expect("conv-bn-relu", "mme");
    expect("nn_conv2d_add", "mme");
    expect("add-matmul", "mme");
    expect("FC", "mme");
    expect("dwconv-bn", "tpc");
    expect("matmulish", "tpc");
    expect("", "tpc");
    assert_int_equal(engines_find(&list, "mme", "relu"), 1); /* by name, whatever its type */
    assert_int_equal(engines_find(&list, "dma", "conv"), FT_NONE);
    parse("mme:conv", NULL);
    expect("relu", NULL);
}

/* A kind matches the type or one of its words: the first, one in between, the last. */
static void test_words_of_a_type(void **state) {
    (void)state;
    parse("mme:conv;tpc:*", NULL);
    expect("conv", "mme");
    expect("conv-bn-relu", "mme");
    expect("pad-conv-relu", "mme");
    expect("pad--conv", "mme");
    expect("onv-bn", "tpc");
    expect("conv2d", "tpc");
    /* Types of 256 characters or more are matched as a whole only. */
    char type[300];
    memset(type, 'x', sizeof type);
    memcpy(type + 250, "-conv", 6);
    expect(type, "mme"); /* 255 */
    memset(type + 250, 'x', 6);
    memcpy(type + 251, "-conv", 6);
    expect(type, "tpc"); /* 256 */
    parse("mme:*conv;tpc:*", NULL);
    expect(type, "mme");
}

/* The first engine with a matching kind, then the one that runs everything. */
static void test_first_match(void **state) {
    (void)state;
    parse("all:fc,*;a:conv,bn;b:conv,relu", NULL);
    expect("conv-relu", "a");
    expect("relu", "b");
    expect("pool", "all");
    expect("fc-relu", "all");
    parse("copy:1", NULL); /* alone it runs everything */
    expect("conv", "copy");
}

static void test_limits(void **state) {
    (void)state;
    parse("a:1024", "0");
    assert_int_equal(list.items[0].lanes, 1024);
    assert_true(list.items[0].gap_us == 0);
    parse("a:1", "1e9");
    assert_true(list.items[0].gap_us == 1e9);
    parse("a:a;b:b;c:c;d:d;e:e;f:f;g:g;h:h;i:i;j:j;k:k;l:l;m:m;n:n;o:o;p:*", NULL);
    assert_int_equal(list.count, FT_REPLAY_MAX_ENGINES);
    expect("o", "o");
    expect("z", "p");
}

static void test_gaps(void **state) {
    (void)state;
    parse("a:conv;b:*", "2.5");
    assert_float_equal(list.items[0].gap_us, 2.5, 0);
    assert_float_equal(list.items[1].gap_us, 2.5, 0);
    parse("a:conv;b:*", "b=1e1,a=0.5");
    assert_float_equal(list.items[0].gap_us, 0.5, 0);
    assert_float_equal(list.items[1].gap_us, 10, 0);
}

static void refuse(const char *spec, const char *gaps, const char *word) {
    ft_error error;
    assert_int_equal(engines_parse(spec, gaps, &memory, &list, &error), FT_ERR_USAGE);
    if (strstr(error.message, word) == NULL) fail_msg("%s: no '%s' in '%s'", spec, word, error.message);
}

static void test_invalid_specifications(void **state) {
    (void)state;
    refuse("", NULL, "not a name");
    refuse(":1", NULL, "not a name");
    refuse("a:0", NULL, "from 1 to 1024");
    refuse("a:1025", NULL, "from 1 to 1024");
    refuse("a:99999999999999999999", NULL, "from 1 to 1024");
    refuse("a:1;", NULL, "not a name");
    refuse("a:", NULL, "empty kind");
    refuse("a:conv,;b:*", NULL, "empty kind");
    refuse("a:1,a:2", NULL, "two engines");
    refuse("a:1,b:1", NULL, "run everything");
    refuse("a;b;c;d;e;f;g;h;i;j;k;l;m;n;o;p;q", NULL, "more than 16");
    refuse("a:1", "x", "expected microseconds");
    refuse("a:1", "-1", "expected microseconds");
    refuse("a:1", "nan", "expected microseconds");
    refuse("a:1", "1000000001", "expected microseconds");
    refuse("a:1", "b=1", "expected microseconds");
    refuse("a:1", "a=", "expected microseconds");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_engine),  cmocka_unit_test(test_compute_and_copy),
        cmocka_unit_test(test_kinds),       cmocka_unit_test(test_words_of_a_type),
        cmocka_unit_test(test_first_match), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_gaps),        cmocka_unit_test(test_invalid_specifications),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
