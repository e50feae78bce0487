/* Tests of reading large files in parts: every file of the fuzz corpora gives the same graph, or the same error, as
 * from memory. The files are enlarged so that their content lies beyond the part that is read at opening. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/input.h"
#include "graph/graph.h"
#include "support/folder.h"

enum { SHIFT = 200000, LARGE = INPUT_WHOLE_BYTES + SHIFT };

static char corpora[4096]; /* absolute: tests run in a folder of their own */

static buf read_all(const char *path) {
    buf bytes = {0};
    char part[4096];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (size_t count; (count = fread(part, 1, sizeof part, file)) > 0;) buf_add(&bytes, part, count);
    fclose(file);
    assert_false(bytes.failed);
    return bytes;
}

static void add_zeros(buf *b, size_t count) {
    static const char zeros[4096];
    for (; count > 0; count -= count < sizeof zeros ? count : sizeof zeros)
        buf_add(b, zeros, count < sizeof zeros ? count : sizeof zeros);
}

/* A field of bytes that readers ignore: `size` zeros. */
static void add_unknown_field(buf *b, size_t size) {
    buf_add(b, "\xf2\x01", 2); /* number 30 */
    for (; size >= 0x80; size >>= 7) buf_char(b, (char)(size | 0x80));
    buf_char(b, (char)size);
}

static buf enlarge_onnx(const buf *small) {
    buf large = {0};
    add_unknown_field(&large, LARGE);
    add_zeros(&large, LARGE);
    buf_add(&large, small->data, small->length);
    return large;
}

/* All offsets but the first are relative to their own place. */
static buf enlarge_tflite(const buf *small) {
    buf large = {0};
    uint32_t root;
    if (small->length < 8) return large;
    memcpy(&root, small->data, sizeof root);
    root += SHIFT;
    buf_add(&large, &root, sizeof root);
    buf_add(&large, small->data + 4, 4);
    add_zeros(&large, SHIFT);
    buf_add(&large, small->data + 8, small->length - 8);
    add_zeros(&large, LARGE);
    return large;
}

static void expect_equal(const ft_graph *a, const ft_graph *b) {
    assert_int_equal(a->op_count, b->op_count);
    assert_int_equal(a->tensor_count, b->tensor_count);
    for (uint32_t i = 0; i < a->op_count; i++) {
        assert_string_equal(a->ops[i].type, b->ops[i].type);
        assert_int_equal(a->ops[i].attr_count, b->ops[i].attr_count);
    }
    for (uint32_t i = 0; i < a->tensor_count; i++) {
        const ft_tensor *x = &a->tensors[i], *y = &b->tensors[i];
        assert_string_equal(x->name, y->name);
        assert_int_equal(x->dtype, y->dtype);
        assert_int_equal(x->rank, y->rank);
        assert_int_equal(x->stored_bytes, y->stored_bytes);
        assert_memory_equal(x->dims, y->dims, sizeof x->dims);
        assert_int_equal(x->value != NULL, y->value != NULL);
    }
}

/* Returns whether the file is a model. */
static bool check_file(const char *path, buf enlarge(const buf *small)) {
    static const char name[] = "large";
    ft_graph *expected = NULL, *found = NULL;
    ft_error expected_error = {0}, error = {0};
    buf small = read_all(path), large = enlarge(&small);
    buf_free(&small);
    if (large.length == 0) return false;
    assert_false(large.failed);
    FILE *file = fopen(name, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(large.data, 1, large.length, file), large.length);
    assert_int_equal(fclose(file), 0);
    ft_status status = ft_graph_read_memory(large.data, large.length, name, &expected, &expected_error);
    buf_free(&large);
    assert_int_equal(ft_graph_read(name, &found, &error), status);
    if (status == FT_OK)
        expect_equal(found, expected);
    else
        assert_string_equal(error.message, expected_error.message);
    ft_graph_free(expected);
    ft_graph_free(found);
    return status == FT_OK;
}

static void check_corpus(const char *corpus, buf enlarge(const buf *small)) {
    char folder[4200];
    uint32_t models = 0;
    struct dirent **entries;
    snprintf(folder, sizeof folder, "%s/%s", corpora, corpus);
    int count = scandir(folder, &entries, NULL, alphasort);
    assert_true(count > 10);
    for (int i = 0; i < count; i++) {
        char path[4600];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') models += check_file(path, enlarge);
        free(entries[i]);
    }
    free(entries);
    assert_true(models > 3);
}

static void onnx_files(void **state) {
    (void)state;
    check_corpus("onnx", enlarge_onnx);
}

static void tflite_files(void **state) {
    (void)state;
    check_corpus("tflite", enlarge_tflite);
}

static int set_up(void **state) {
    return realpath("fuzz/corpus", corpora) != NULL ? folder_enter(state) : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(onnx_files),
        cmocka_unit_test(tflite_files),
    };
    return cmocka_run_group_tests_name("read/parts", tests, set_up, folder_leave);
}
