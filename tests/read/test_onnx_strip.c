/* Tests of the pre-pass: what it omits, what it never touches, and its errors on hostile bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/buf.h"
#include "read/onnx/onnx.h"
#include "read/strip.h"
#include "support/onnx_model.h"

/* A model with a bit of everything, small enough to damage at every byte. */
static onnx_model *mixed_model(void) {
    onnx_model *m = onnx_model_new();
    m->proto->producer_name = "p";
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,4");
    onnx_input(m, m->graph, "c", ONNX_BOOL, "");
    onnx_raw(m, onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "4,2"), NULL, 32);
    Onnx__TensorProto *t = onnx_initializer(m, m->graph, "i", ONNX_INT64, "2");
    t->int64_data = (int64_t[]){0, 1};
    t->n_int64_data = 2;
    onnx_node(m, m->graph, "MatMul", "x w", "a");
    onnx_info(m, m->graph, "a", ONNX_FLOAT, "N,2");
    Onnx__GraphProto *yes = onnx_graph(m, "t"), *no = onnx_graph(m, "e");
    onnx_node(m, yes, "F", "a", "t_out")->domain = "l";
    onnx_output(m, yes, "t_out", ONNX_FLOAT, NULL);
    onnx_node(m, no, "Gather", "a i", "e_out");
    onnx_output(m, no, "e_out", ONNX_FLOAT, NULL);
    Onnx__NodeProto *node = onnx_node(m, m->graph, "If", "c", "y");
    onnx_attr_graph(m, node, "then_branch", yes);
    onnx_attr_graph(m, node, "else_branch", no);
    onnx_attr_ints(m, onnx_function_node(m, onnx_function_add(m, "l", "F", "q", "r"), "Transpose", "q", "r"), "perm",
                   (int64_t[]){1, 0}, 2);
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    onnx_model_pack(m);
    return m;
}

/* Reads from a block of exactly this size, so that sanitizers detect a read past the end. */
static ft_status read_copy(const uint8_t *bytes, size_t size, ft_error *error) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    ft_graph *graph = NULL;
    *error = (ft_error){0};
    ft_status status = ft_graph_read_memory(copy, size, "bad.onnx", &graph, error);
    assert_true((status == FT_OK) == (graph != NULL));
    if (status != FT_OK) assert_memory_equal(error->message, "bad.onnx: ", 10);
    ft_graph_free(graph);
    free(copy);
    return status;
}

static void every_truncation_fails(void **state) {
    (void)state;
    onnx_model *m = mixed_model();
    ft_error error;
    assert_int_equal(read_copy(m->bytes, m->size, &error), FT_OK);
    unsigned damaged = 0;
    for (size_t size = 0; size < m->size; size++) {
        ft_status status = read_copy(m->bytes, size, &error);
        if (status == FT_OK) continue; /* a file truncated after the graph, between fields, is still a valid model */
        assert_true(status == FT_ERR_DAMAGED || status == FT_ERR_FORMAT || status == FT_ERR_GRAPH);
        damaged += status == FT_ERR_DAMAGED;
    }
    assert_true(damaged > m->size * 9 / 10); /* almost every truncated file is still recognised as ONNX */
    onnx_model_free(m);
}

static void every_bit_flip_ends_well(void **state) {
    (void)state;
    onnx_model *m = mixed_model();
    ft_error error;
    for (size_t i = 0; i < m->size * 8; i++) {
        m->bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        read_copy(m->bytes, m->size, &error);
        m->bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    onnx_model_free(m);
}

/* The pages of the payload cannot be read at all: a single access would stop the program. */
static void payload_pages_are_never_touched(void **state) {
    (void)state;
    enum { PAGE = 4096, PAGES = 64 };
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "8,1024");
    onnx_raw(m, onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "1024,64"), NULL, PAGES * PAGE);
    onnx_node(m, m->graph, "MatMul", "x w", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    memset(m->graph->initializer[0]->raw_data.data, 0xa5, PAGES * PAGE);
    onnx_model_pack(m);
    size_t room = (m->size / PAGE + 2) * PAGE;
    uint8_t *file = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(file != MAP_FAILED);
    memcpy(file, m->bytes, m->size);
    size_t first = 0, last = 0;
    for (size_t i = 0; i < m->size; i++) {
        if (file[i] != 0xa5) continue;
        if (first == 0) first = i;
        last = i;
    }
    uint8_t *from = file + (first / PAGE + 1) * PAGE, *to = file + last / PAGE * PAGE;
    assert_true(to - from >= (PAGES - 2) * PAGE);
    assert_int_equal(mprotect(from, (size_t)(to - from), PROT_NONE), 0);
    ft_graph *g = NULL;
    ft_error error;
    assert_int_equal(ft_graph_read_memory(file, m->size, "guarded", &g, &error), FT_OK);
    assert_int_equal(tensor_named(g, "w")->stored_bytes, PAGES * PAGE);
    ft_graph_free(g);
    munmap(file, room);
    onnx_model_free(m);
}

/* --- Hostile bytes ----------------------------------------------------------------------------------------------- */

static void put_varint(buf *b, uint64_t value) {
    for (; value >= 0x80; value >>= 7) buf_char(b, (char)(value | 0x80));
    buf_char(b, (char)value);
}

/* Wraps the content of `b` into a bytes field. */
static void wrap(buf *b, unsigned number) {
    buf outer = {0};
    put_varint(&outer, number << 3 | 2);
    put_varint(&outer, b->length);
    if (b->length > 0) buf_add(&outer, b->data, b->length);
    buf_free(b);
    *b = outer;
}

static ft_status read_buf(buf *b, ft_error *error) {
    buf model = {0};
    buf_add(&model, "\x08\x08\x12\x01p", 5); /* ir_version 8, producer "p" */
    if (b->length > 0) buf_add(&model, b->data, b->length);
    ft_status status = read_copy((const uint8_t *)model.data, model.length, error);
    buf_free(&model);
    buf_free(b);
    return status;
}

static void nesting_bombs_are_stopped(void **state) {
    (void)state;
    ft_error error;
    buf b = {0};
    for (int i = 0; i < 3000; i++) { /* graph in attribute in node in graph ... */
        wrap(&b, 6);
        wrap(&b, 5);
        wrap(&b, 1);
    }
    wrap(&b, 7);
    assert_int_equal(read_buf(&b, &error), FT_ERR_LIMIT);
    assert_non_null(strstr(error.message, "nested"));

    for (int i = 0; i < 3000; i++) { /* a sequence of sequences of ... is an input without rank */
        wrap(&b, 1);
        wrap(&b, 4);
    }
    wrap(&b, 2);
    buf_add(&b, "\x0a\x01x", 3);
    wrap(&b, 11);
    wrap(&b, 7);
    assert_int_equal(read_buf(&b, &error), FT_OK);
}

/* --- What is kept ------------------------------------------------------------------------------------------------ */

/* Strips the content of `b`, which is freed. */
static buf strip_buf(buf *b) {
    uint8_t *stripped;
    size_t size;
    ft_error error;
    if (onnx_strip((const uint8_t *)b->data, b->length, NULL, &stripped, &size, &error) != FT_OK)
        fail_msg("%s", error.message);
    buf_free(b);
    buf out = {0};
    buf_add(&out, stripped, size);
    free(stripped);
    return out;
}

/* Messages nested `depth` deep: the model has depth 0, its graph 1, a node 2, an attribute 3, its graph 4, and so on.
 */
static ft_status strip_nested(int depth) {
    buf b = {0};
    uint8_t *stripped;
    size_t size;
    for (int at = depth; at > 0; at--) wrap(&b, at == 1 ? 7 : at % 3 == 2 ? 1 : at % 3 == 0 ? 5 : 6);
    ft_status status = onnx_strip((const uint8_t *)b.data, b.length, NULL, &stripped, &size, NULL);
    if (status == FT_OK) {
        assert_int_equal(size, 6 * depth); /* a tag and a length of five bytes each */
        free(stripped);
    }
    buf_free(&b);
    return status;
}

static void depth_is_limited_exactly(void **state) {
    (void)state;
    assert_int_equal(strip_nested(1), FT_OK);
    assert_int_equal(strip_nested(FT_MAX_DEPTH), FT_OK);
    assert_int_equal(strip_nested(FT_MAX_DEPTH + 1), FT_ERR_LIMIT);
}

/* A tensor of `type` with `size` bytes of raw data; whether they are kept. */
static bool keeps_raw(int type, size_t size, bool is_type_last) {
    buf b = {0}, data = {0};
    char kind[] = {2 << 3, (char)type};
    if (!is_type_last) buf_add(&b, kind, 2);
    for (size_t i = 0; i < size; i++) buf_char(&data, (char)0xa5);
    wrap(&data, 9);
    buf_add(&b, data.data, data.length);
    buf_free(&data);
    if (is_type_last) buf_add(&b, kind, 2);
    wrap(&b, 5);
    wrap(&b, 7);
    buf out = strip_buf(&b);
    bool is_kept = out.length > size;
    size_t found = 0;
    for (size_t i = 0; i < out.length; i++) found += (uint8_t)out.data[i] == 0xa5;
    assert_int_equal(found, is_kept ? size : 0);
    buf_free(&out);
    return is_kept;
}

static void payloads_are_kept_up_to_a_limit(void **state) {
    (void)state;
    enum { INDEX = STRIP_MAX_INDEX_ELEMS * 10, OTHER = STRIP_MAX_OTHER_ELEMS * 10 };
    static const int indices[] = {ONNX_INT32, ONNX_INT64, ONNX_UINT32, ONNX_UINT64};
    static const int others[] = {ONNX_FLOAT, ONNX_UINT8, ONNX_INT8, ONNX_INT16, ONNX_BOOL, ONNX_DOUBLE};
    for (size_t i = 0; i < 4; i++) {
        assert_true(keeps_raw(indices[i], INDEX, false));
        assert_false(keeps_raw(indices[i], INDEX + 1, false));
    }
    for (size_t i = 0; i < 6; i++) {
        assert_true(keeps_raw(others[i], OTHER, false));
        assert_false(keeps_raw(others[i], OTHER + 1, false));
    }
    assert_true(keeps_raw(ONNX_FLOAT, INDEX, true)); /* the type is not known yet */
    assert_false(keeps_raw(ONNX_FLOAT, INDEX + 1, true));
}

/* float w[2] of 8 raw bytes: copied, and followed by a segment with the size of the payload and its flags. */
static void a_small_tensor_is_copied_with_its_size(void **state) {
    (void)state;
    static const char tensor[] = "\x08\x02\x10\x01\x42\x01w\x4a\x08"
                                 "abcdefgh";
    static const char expected[] = "\x3a\x9d\x80\x80\x80\x00\x2a\x97\x80\x80\x80\x00"
                                   "\x08\x02\x10\x01\x42\x01w\x4a\x08"
                                   "abcdefgh\x1a\x04\x08\x08\x10";
    buf b = {0};
    buf_add(&b, tensor, sizeof tensor - 1);
    wrap(&b, 5);
    wrap(&b, 7);
    buf out = strip_buf(&b);
    assert_int_equal(out.length, sizeof expected);
    assert_memory_equal(out.data, expected, sizeof expected - 1);
    assert_int_equal(out.data[out.length - 1], STRIP_RAW);
    buf_free(&out);
}

/* Parts of a payload are added up; once one is omitted, so are all that follow. */
static void parts_of_a_payload_are_added_up(void **state) {
    (void)state;
    enum { OTHER = STRIP_MAX_OTHER_ELEMS * 10 };
    buf b = {0}, part = {0};
    buf_add(&b, "\x10\x01", 2);
    for (int i = 0; i < OTHER; i++) buf_char(&part, 0x11);
    wrap(&part, 9);
    buf_add(&b, part.data, part.length);
    buf_add(&b, "\x4a\x01z\x42\x01w\x4a\x01z", 9);
    wrap(&b, 5);
    wrap(&b, 7);
    buf out = strip_buf(&b);
    assert_non_null(memchr(out.data, 'w', out.length));
    assert_null(memchr(out.data, 'z', out.length));
    assert_int_equal(out.data[out.length - 1], STRIP_RAW | STRIP_OMITTED);
    uint64_t bytes = 0, shift = 0;
    const char *at = out.data + out.length - 2; /* the tag of the flags; before it the size as a varint */
    while (at[-1 - (ptrdiff_t)shift] != 0x08) shift++;
    for (uint64_t i = 0; i < shift; i++) bytes |= (uint64_t)(at[(ptrdiff_t)i - (ptrdiff_t)shift] & 0x7f) << 7 * i;
    assert_int_equal(bytes, OTHER + 2);
    buf_free(&part);
    buf_free(&out);
}

/* Two halves that are too large together: the first is kept, the second is not. */
static void halves_of_a_payload_are_added_up(void **state) {
    (void)state;
    enum { HALF = STRIP_MAX_OTHER_ELEMS * 10 / 2 + 1 };
    buf b = {0};
    buf_add(&b, "\x10\x01", 2);
    for (int part = 0; part < 2; part++) {
        buf data = {0};
        for (int i = 0; i < HALF; i++) buf_char(&data, part == 0 ? 'p' : 'q');
        wrap(&data, 9);
        buf_add(&b, data.data, data.length);
        buf_free(&data);
    }
    wrap(&b, 5);
    wrap(&b, 7);
    buf out = strip_buf(&b);
    assert_non_null(memchr(out.data, 'p', out.length));
    assert_null(memchr(out.data, 'q', out.length));
    buf_free(&out);
}

static void long_names_of_producers_are_dropped(void **state) {
    (void)state;
    for (size_t size = 4096; size <= 4097; size++) {
        buf b = {0};
        for (size_t i = 0; i < size; i++) buf_char(&b, 'p');
        wrap(&b, 2);
        buf out = strip_buf(&b);
        assert_int_equal(out.length, size == 4096 ? 4096 + 3 : 0);
        buf_free(&out);
    }
}

/* More than the first buffer holds; every node arrives whole. */
static void large_graphs_are_copied_whole(void **state) {
    (void)state;
    enum { NODES = 20000 };
    buf b = {0};
    for (uint32_t i = 0; i < NODES; i++) {
        char node[] = "\x0a\x06\x1a\x04####";
        snprintf(node + 4, 5, "%04x", (unsigned)i);
        buf_add(&b, node, 8);
    }
    wrap(&b, 7);
    buf out = strip_buf(&b);
    assert_int_equal(out.length, 6 + NODES * 12);
    for (uint32_t i = 0; i < NODES; i++) {
        char name[5];
        snprintf(name, sizeof name, "%04x", (unsigned)i);
        assert_memory_equal(out.data + 6 + i * 12, "\x0a\x86\x80\x80\x80\x00\x1a\x04", 8);
        assert_memory_equal(out.data + 6 + i * 12 + 8, name, 4);
    }
    buf_free(&out);
}

static void singular_messages_may_not_repeat(void **state) {
    (void)state;
    ft_error error;
    buf b = {0}, two = {0};
    wrap(&b, 1);
    wrap(&b, 7);
    for (int i = 0; i < 2; i++) buf_add(&two, b.data, b.length);
    buf_free(&b);
    assert_int_equal(read_buf(&two, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "repeated singular field"));
}

static void lengths_and_types_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *bytes; /* of the graph */
        size_t size;
        const char *part;
    } cases[] = {
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "runs past the end"}, /* a node of 2^64-1 bytes */
        {"\x0a\x05xxxx", 6, "runs past the end"},
        {"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12, "invalid field"}, /* a varint of 11 bytes */
        {"\x08\x01", 2, "wrong wire type"},                                        /* a number for a node */
        {"\x0b", 1, "invalid field"},                                              /* a group */
        {"\x2a\x03\x4d\x00\x00", 5, "runs past the end"},                          /* raw_data as fixed32 */
        {"\x2a\x05\x4d\x00\x00\x00\x00", 7, "wrong wire type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ft_error error;
        buf b = {0};
        uint8_t *stripped;
        size_t size;
        buf_add(&b, cases[i].bytes, cases[i].size);
        wrap(&b, 7);
        assert_int_equal(onnx_strip((const uint8_t *)b.data, b.length, NULL, &stripped, &size, &error), FT_ERR_DAMAGED);
        if (strstr(error.message, cases[i].part) == NULL) fail_msg("%zu: '%s'", i, error.message);
        buf_free(&b);
    }
}

static void bad_packed_numbers_are_damage(void **state) {
    (void)state;
    ft_error error;
    buf b = {0};
    buf_add(&b, "\x0a\x02\x80\x80", 4); /* dims: a packed list that ends inside a number */
    wrap(&b, 5);
    wrap(&b, 7);
    assert_int_equal(read_buf(&b, &error), FT_ERR_DAMAGED);
}

/* --- Finding the format ------------------------------------------------------------------------------------------ */

static bool matches(const char *bytes, size_t size) {
    return onnx_matches((const uint8_t *)bytes, size);
}

static void other_files_do_not_match(void **state) {
    (void)state;
    static const char tflite[] = "\x1c\0\0\0TFL3\x14\0\x20\0\0\0\0\0\0\0\0\0", zeros[4096];
    assert_false(matches("", 0));
    assert_false(matches(zeros, sizeof zeros));
    assert_false(matches(tflite, sizeof tflite));
    assert_false(matches("{\"a\": 1}\n", 9));
    assert_false(matches("hello, world\n", 13));
    assert_false(matches(": a text that begins with a colon\n", 34));
    assert_false(matches("Big letters\n", 12));
    assert_false(matches("2 numbers and more\n", 19));
    assert_false(matches("\x08\x01\x12\x05\x0a\x03"
                         "abc",
                         9));                                        /* a TensorFlow SavedModel */
    assert_false(matches("\x0a\x06\x0a\x01x\x12\x01y", 8));          /* a TensorFlow GraphDef */
    assert_false(matches("\x08\x02\x08\x03\x10\x01\x4a\x02zz", 10)); /* a TensorProto */
    assert_false(matches("\x80\x04\x95\x10\0\0\0\0\0\0\0}", 12));    /* a pickle */
    assert_false(matches("\x08\x08", 2));
    uint8_t noise[256];
    uint32_t seed = 1;
    unsigned hits = 0;
    for (int round = 0; round < 20000; round++) {
        for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
        hits += onnx_matches(noise, sizeof noise);
    }
    assert_true(hits < 4);
}

static void complete_and_truncated_models_match(void **state) {
    (void)state;
    onnx_model *m = mixed_model();
    assert_true(onnx_matches(m->bytes, m->size));
    for (size_t size = 10; size < m->size; size++) assert_true(onnx_matches(m->bytes, size));
    onnx_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_fails),
        cmocka_unit_test(every_bit_flip_ends_well),
        cmocka_unit_test(payload_pages_are_never_touched),
        cmocka_unit_test(nesting_bombs_are_stopped),
        cmocka_unit_test(singular_messages_may_not_repeat),
        cmocka_unit_test(lengths_and_types_are_checked),
        cmocka_unit_test(bad_packed_numbers_are_damage),
        cmocka_unit_test(other_files_do_not_match),
        cmocka_unit_test(complete_and_truncated_models_match),
        cmocka_unit_test(depth_is_limited_exactly),
        cmocka_unit_test(payloads_are_kept_up_to_a_limit),
        cmocka_unit_test(a_small_tensor_is_copied_with_its_size),
        cmocka_unit_test(parts_of_a_payload_are_added_up),
        cmocka_unit_test(long_names_of_producers_are_dropped),
        cmocka_unit_test(halves_of_a_payload_are_added_up),
        cmocka_unit_test(large_graphs_are_copied_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
