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
        assert_int_equal(onnx_strip((const uint8_t *)b.data, b.length, &stripped, &size, &error), FT_ERR_DAMAGED);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
