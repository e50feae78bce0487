/* Tests of opening paths: formats detected by content, gzipped files, and files that are not models. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/onnx_model.h"

static onnx_model *model; /* y = Relu(x) */

static int set_up(void **state) {
    model = onnx_model_new();
    onnx_input(model, model->graph, "x", ONNX_FLOAT, "2");
    onnx_node(model, model->graph, "Relu", "x", "y");
    onnx_output(model, model->graph, "y", ONNX_FLOAT, "2");
    onnx_model_pack(model);
    return folder_enter(state);
}

static int tear_down(void **state) {
    onnx_model_free(model);
    return folder_leave(state);
}

static void write_file(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Gzips `size` bytes, `times` times over. */
static size_t write_gzip(const char *path, const void *bytes, size_t size, unsigned times) {
    gzFile file = gzopen(path, "wb9");
    assert_non_null(file);
    for (unsigned i = 0; i < times; i++) assert_int_equal(gzwrite(file, bytes, (unsigned)size), (int)size);
    assert_int_equal(gzclose(file), Z_OK);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (size_t)info.st_size;
}

static void check_fails(const char *path, ft_status expected, const char *part) {
    ft_graph *graph = NULL;
    ft_error error;
    assert_int_equal(ft_graph_read(path, &graph, &error), expected);
    assert_int_equal(error.status, expected);
    assert_null(graph);
    ft_source *source = NULL;
    if (ft_source_open(path, &source, NULL) != FT_OK) assert_null(source);
    ft_source_close(source);
    if (strncmp(error.message, path, strlen(path)) != 0 || strstr(error.message, part) == NULL)
        fail_msg("'%s' does not begin with '%s' and contain '%s'", error.message, path, part);
}

static void a_file_gives_its_graph_once(void **state) {
    (void)state;
    const char *path = "model.weights"; /* names do not matter */
    write_file(path, model->bytes, model->size);
    ft_source *source = NULL;
    ft_graph *graph = NULL;
    ft_error error;
    assert_int_equal(ft_source_open(path, &source, &error), FT_OK);
    assert_int_equal(ft_source_count(source), 1);
    assert_int_equal(ft_source_next(source, &graph, &error), FT_OK);
    assert_int_equal(ft_graph_op_count(graph), 1);
    ft_graph_free(graph);
    assert_int_equal(ft_source_next(source, &graph, &error), FT_OK);
    assert_null(graph);
    ft_source_close(source);
    ft_source_close(NULL);
}

static void a_graph_that_is_not_valid_ends_its_file(void **state) {
    (void)state;
    const char *path = "twice.onnx";
    onnx_node(model, model->graph, "Tanh", "x", "y");
    onnx_model_pack(model);
    write_file(path, model->bytes, model->size);
    ft_source *source = NULL;
    ft_graph *graph = NULL;
    ft_error error;
    assert_int_equal(ft_source_open(path, &source, &error), FT_OK);
    assert_int_equal(ft_source_next(source, &graph, &error), FT_ERR_GRAPH);
    assert_int_equal(ft_source_next(source, &graph, &error), FT_OK);
    assert_null(graph);
    ft_source_close(source);
}

static void packed_files_are_unpacked(void **state) {
    (void)state;
    const char *path = "model.onnx.gz";
    size_t size = write_gzip(path, model->bytes, model->size, 1);
    ft_graph *graph = NULL;
    ft_error error;
    assert_int_equal(ft_graph_read(path, &graph, &error), FT_OK);
    assert_int_equal(ft_graph_op_count(graph), 1);
    ft_graph_free(graph);
    assert_int_equal(truncate(path, (off_t)size - 9), 0);
    check_fails(path, FT_ERR_DAMAGED, "gzip");
}

static void gzip_bombs_are_stopped(void **state) {
    (void)state;
    const char *path = "bomb.gz";
    enum { MEGA = 1 << 20 };
    char *zeros = calloc(1, MEGA);
    assert_non_null(zeros);
    /* 64 MB of zeros in 64 KB: decompressed, not recognised, and freed. */
    size_t size = write_gzip(path, zeros, MEGA, 64);
    assert_true(size < 128 * 1024);
    check_fails(path, FT_ERR_FORMAT, "not a model");
    free(zeros);
}

static void other_files_are_not_models(void **state) {
    (void)state;
    const char *path = "thing";
    check_fails(path, FT_ERR_IO, strerror(ENOENT));
    check_fails(".", FT_ERR_IO, "folder");
    check_fails("/dev/null", FT_ERR_FORMAT, "is empty"); /* read like a pipe */
    write_file(path, "", 0);
    check_fails(path, FT_ERR_FORMAT, "empty");
    write_file(path, "Dear reader,\n", 13);
    check_fails(path, FT_ERR_FORMAT, "not a model in any known format");
    write_file(path, "PK\x03\x04 and so on", 14);
    check_fails(path, FT_ERR_FORMAT, "PyTorch");
    write_file(path, "BZh", 3); /* nothing but its first bytes */
    check_fails(path, FT_ERR_FORMAT, "bzip2");
    write_file(path, "BZ", 2);
    check_fails(path, FT_ERR_FORMAT, "'foretell list formats' lists them");
    write_file(path, "\x1f\x8b", 2);
    check_fails(path, FT_ERR_FORMAT, "not a model in any known format");
    if (geteuid() != 0) {
        assert_int_equal(chmod(path, 0), 0);
        check_fails(path, FT_ERR_IO, strerror(EACCES));
    }
}

static void bytes_in_memory_are_read_alike(void **state) {
    (void)state;
    const char *path = "model.gz";
    size_t size = write_gzip(path, model->bytes, model->size, 1);
    uint8_t *packed = malloc(size);
    FILE *file = fopen(path, "rb");
    assert_non_null(packed);
    assert_non_null(file);
    assert_int_equal(fread(packed, 1, size, file), size);
    fclose(file);
    ft_graph *graph = NULL;
    ft_error error;
    assert_int_equal(ft_graph_read_memory(packed, size, "buffer", &graph, &error), FT_OK);
    ft_graph_free(graph);
    graph = NULL;
    assert_int_equal(ft_graph_read_memory(model->bytes, model->size, "buffer", &graph, NULL), FT_OK);
    ft_graph_free(graph);
    graph = NULL;
    assert_int_equal(ft_graph_read_memory("nonsense", 8, "buffer", &graph, &error), FT_ERR_FORMAT);
    assert_memory_equal(error.message, "buffer: ", 8);
    assert_int_equal(ft_graph_read_memory("", 0, "buffer", &graph, &error), FT_ERR_FORMAT);
    assert_int_equal(ft_graph_read_memory("", 0, "buffer", &graph, NULL), FT_ERR_FORMAT);
    assert_null(graph);
    free(packed);
}

/* Reads a file with the first, the second, ... allocation failing, until none does. */
static void fail_every_allocation(const char *path) {
    long n = 0;
    for (bool has_failed = true; has_failed; n++) {
        ft_graph *graph = NULL;
        ft_error error = {0};
        failing_start(n);
        ft_status status = ft_graph_read(path, &graph, &error);
        has_failed = failing_stop();
        /* decompression falls back to a smaller buffer when the first allocation fails */
        assert_true(status == FT_ERR_NOMEM || status == FT_OK);
        assert_true(has_failed || status == FT_OK);
        assert_true((status == FT_OK) == (graph != NULL));
        if (status == FT_ERR_NOMEM) assert_non_null(strstr(error.message, "memory"));
        ft_graph_free(graph);
    }
    assert_true(n > 5);
}

static void lack_of_memory_is_an_error_like_others(void **state) {
    (void)state;
    onnx_model *m = model;
    /* Large enough that the arenas need many chunks: names, weights, a function, a sub-graph. */
    Onnx__FunctionProto *function = onnx_function_add(m, "local", "F", "a", "r");
    onnx_function_node(m, function, "Relu", "a", "r");
    onnx_input(m, m->graph, "c", ONNX_BOOL, "");
    for (int i = 0; i < 200; i++) {
        char from[32], to[32];
        snprintf(from, sizeof from, i == 0 ? "y" : "tensor_number_%d", i);
        snprintf(to, sizeof to, "tensor_number_%d", i + 1);
        onnx_node(m, m->graph, "F", from, to)->domain = "local";
        onnx_info(m, m->graph, to, ONNX_FLOAT, "2");
    }
    Onnx__GraphProto *branch = onnx_graph(m, "branch");
    onnx_node(m, branch, "Relu", "y", "b");
    onnx_output(m, branch, "b", ONNX_FLOAT, NULL);
    Onnx__NodeProto *node = onnx_node(m, m->graph, "If", "c", "z");
    onnx_attr_graph(m, node, "then_branch", branch);
    onnx_attr_graph(m, node, "else_branch", branch);
    onnx_raw(m, onnx_initializer(m, m->graph, "w", ONNX_INT64, "4096"), NULL, 4096 * 8);
    onnx_model_pack(m);
    const char *plain = "plain.onnx", *packed = "packed.onnx.gz";
    write_file(plain, m->bytes, m->size);
    write_gzip(packed, m->bytes, m->size, 1);
    fail_every_allocation(plain);
    fail_every_allocation(packed);
}

/* Large files are copied in parts: those with weights as far as they are read, all others as a whole. */
static void large_files_are_read_in_parts(void **state) {
    (void)state;
    ft_error error;
    ft_graph *small = NULL, *large = NULL;
    const char *path = "large.onnx";
    onnx_raw(model, onnx_initializer(model, model->graph, "shape", ONNX_INT64, "64"), NULL, 64 * 8);
    enum { WEIGHTS = 24 << 20 };
    onnx_raw(model, onnx_initializer(model, model->graph, "w", ONNX_FLOAT, "6291456"), NULL, WEIGHTS);
    onnx_node(model, model->graph, "Relu", "y", "z"); /* nodes come before weights in the file, weights are its end */
    onnx_model_pack(model);
    assert_true(model->size > WEIGHTS);
    write_file(path, model->bytes, model->size);
    assert_int_equal(ft_graph_read_memory(model->bytes, model->size, path, &small, NULL), FT_OK);
    if (ft_graph_read(path, &large, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(large->op_count, small->op_count);
    assert_int_equal(large->tensor_count, small->tensor_count);
    ft_graph_free(small);
    ft_graph_free(large);
    /* A file that ends earlier than when it was opened. */
    ft_source *source = NULL;
    ft_graph *graph = NULL;
    assert_int_equal(ft_source_open(path, &source, NULL), FT_OK);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(ft_source_next(source, &graph, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "was changed while it was read"));
    assert_null(graph);
    ft_source_close(source);
    /* No model, and a model of a format without weights. */
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(truncate(path, WEIGHTS), 0);
    check_fails(path, FT_ERR_FORMAT, "not a model in any known format");
    write_file(path, "{\"nodes\": [", 11);
    assert_int_equal(truncate(path, WEIGHTS), 0);
    check_fails(path, FT_ERR_FORMAT, "not a model in any known format");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_gives_its_graph_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_graph_that_is_not_valid_ends_its_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packed_files_are_unpacked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(gzip_bombs_are_stopped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_files_are_not_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_in_memory_are_read_alike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_files_are_read_in_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lack_of_memory_is_an_error_like_others, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
