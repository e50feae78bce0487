/* Tests of packed graphs: an unpacked graph costs and fuses like the original, and damage is detected.
 *
 * The graphs are those of the fuzz corpora (small, of all formats, many of them odd), the built-in networks, and,
 * when available, samples of the real sets in ../shared/data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/pack.h"
#include "foretell/foretell.h"
#include "support/failing.h"
#include "support/onnx_model.h"
#include "support/toy.h"

static void pack(const ft_graph *graph, buf *out) {
    ft_error error = {0};
    packer *p = packer_new();
    assert_non_null(p);
    if (pack_graph(p, graph, out, &error) != FT_OK) fail_msg("%s", error.message);
    packer_free(p);
}

static ft_graph *unpack(const buf *bytes) {
    ft_error error = {0};
    ft_graph *graph = NULL;
    if (unpack_graph(bytes->data, bytes->length, "name", &graph, &error) != FT_OK) fail_msg("%s", error.message);
    return graph;
}

/* --- The same costs and kernels ---------------------------------------------------------------------------------- */

static void expect_same_cost(const ft_op_cost *x, const ft_op_cost *y) {
    assert_memory_equal(&x->forward, &y->forward, sizeof x->forward);
    assert_memory_equal(&x->backward_data, &y->backward_data, sizeof x->backward_data);
    assert_memory_equal(&x->backward_weights, &y->backward_weights, sizeof x->backward_weights);
    assert_int_equal(x->params, y->params);
    assert_int_equal(x->param_bytes, y->param_bytes);
    assert_int_equal(x->activation_elems, y->activation_elems);
    assert_int_equal(x->is_estimated, y->is_estimated);
}

static void expect_same_costs(const ft_graph *a, const ft_graph *b, ft_mode mode) {
    ft_cost_options options = ft_cost_options_default();
    options.mode = mode;
    ft_cost x = {0}, y = {0};
    ft_memory m = {0}, n = {0};
    ft_error error, other;
    ft_status status = ft_cost_compute(a, &options, &x, &error);
    assert_int_equal(ft_cost_compute(b, &options, &y, &other), status);
    if (status == FT_OK) {
        assert_int_equal(x.op_count, y.op_count);
        for (uint32_t i = 0; i < x.op_count; i++) expect_same_cost(&x.ops[i], &y.ops[i]);
        expect_same_cost(&x.total, &y.total);
        assert_int_equal(x.buffers, y.buffers);
        assert_int_equal(x.weight_bytes, y.weight_bytes);
        assert_int_equal(x.stored_bytes, y.stored_bytes);
        assert_int_equal(x.conv_matmul_outputs, y.conv_matmul_outputs);
        assert_true(x.coverage_ratio == y.coverage_ratio);
    }
    status = ft_memory_plan(a, &options, &m, NULL, NULL, &error);
    assert_int_equal(ft_memory_plan(b, &options, &n, NULL, NULL, &other), status);
    if (status == FT_OK) {
        assert_int_equal(m.peak_bytes, n.peak_bytes);
        assert_int_equal(m.peak_op, n.peak_op);
        assert_int_equal(m.saved_bytes, n.saved_bytes);
        assert_int_equal(m.activation_bytes, n.activation_bytes);
    }
    ft_cost_free(&x);
    ft_cost_free(&y);
}

static void expect_same_kernels(const ft_graph *a, const ft_graph *b, const char *runtime) {
    ft_rules *rules;
    ft_kernels x = {0}, y = {0};
    ft_error error;
    assert_int_equal(ft_rules_open(runtime, &rules, &error), FT_OK);
    ft_status status = ft_graph_fuse(a, rules, &x, &error);
    assert_int_equal(ft_graph_fuse(b, rules, &y, &error), status);
    assert_int_equal(x.count, y.count);
    for (uint32_t i = 0; i < x.count; i++) {
        assert_string_equal(x.items[i].type, y.items[i].type);
        assert_int_equal(x.items[i].op_count, y.items[i].op_count);
        assert_memory_equal(x.items[i].ops, y.items[i].ops, x.items[i].op_count * sizeof(uint32_t));
    }
    ft_kernels_free(&x);
    ft_kernels_free(&y);
    ft_rules_free(rules);
}

static void expect_same_bound(const ft_graph *a, const ft_graph *b, int64_t batch, bool is_thorough) {
    ft_graph *x = NULL, *y = NULL;
    ft_error error, other;
    ft_binding binding = {.batch = batch};
    ft_status status = ft_graph_bind(a, &binding, &x, &error);
    assert_int_equal(ft_graph_bind(b, &binding, &y, &other), status);
    if (status != FT_OK) return;
    assert_int_equal(ft_graph_batch(x), ft_graph_batch(y));
    assert_int_equal(ft_graph_exported_batch(x), ft_graph_exported_batch(y));
    for (uint32_t i = 0; i < ft_graph_op_count(x); i++) {
        assert_int_equal(ft_graph_ops(x)[i].is_folded, ft_graph_ops(y)[i].is_folded);
        assert_int_equal(ft_graph_ops(x)[i].repeats, ft_graph_ops(y)[i].repeats);
    }
    expect_same_costs(x, y, FT_INFER);
    expect_same_costs(x, y, FT_TRAIN);
    expect_same_kernels(x, y, "tflite-gpu");
    if (is_thorough) {
        expect_same_kernels(x, y, "tflite-cpu");
        expect_same_kernels(x, y, "torch-compile");
    }
    ft_graph_free(x);
    ft_graph_free(y);
}

/* Without the operator costs stored in the file. */
static uint32_t count_attributes(const ft_op *op) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->attr_count; i++) count += strncmp(op->attrs[i].name, "stored_", 7) != 0;
    return count;
}

static void expect_same_graph(const ft_graph *a, const ft_graph *b) {
    assert_int_equal(ft_graph_format(a), ft_graph_format(b));
    assert_int_equal(ft_graph_layout(a), ft_graph_layout(b));
    assert_int_equal(ft_graph_tensor_count(a), ft_graph_tensor_count(b));
    assert_int_equal(ft_graph_input_count(a), ft_graph_input_count(b));
    assert_int_equal(ft_graph_output_count(a), ft_graph_output_count(b));
    assert_int_equal(ft_graph_op_count(a), ft_graph_op_count(b));
    for (uint32_t i = 0; i < ft_graph_op_count(a); i++) {
        const ft_op *x = &ft_graph_ops(a)[i], *y = &ft_graph_ops(b)[i];
        assert_string_equal(x->type, y->type);
        assert_ptr_equal(x->def, y->def);
        assert_int_equal(count_attributes(x), y->attr_count);
        assert_int_equal(x->input_count, y->input_count);
        assert_int_equal(x->output_count, y->output_count);
    }
}

/* Packs, unpacks, compares, and packs again. */
static void round_trip(const ft_graph *graph, bool is_thorough) {
    buf first = {0}, second = {0};
    pack(graph, &first);
    ft_graph *copy = unpack(&first);
    expect_same_graph(graph, copy);
    expect_same_bound(graph, copy, 0, is_thorough);
    if (is_thorough) expect_same_bound(graph, copy, 4, true);
    pack(copy, &second);
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.data, second.data, first.length);
    ft_graph_free(copy);
    buf_free(&first);
    buf_free(&second);
}

/* --- Where graphs come from -------------------------------------------------------------------------------------- */

/* All graphs of the files of a folder, but only every n-th file. Returns how many graphs there were. */
static int round_trip_folder(const char *folder, int every, bool is_thorough) {
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort), graphs = 0;
    for (int i = 0; i < count; i++) {
        char path[1024];
        ft_graph *graph = NULL;
        ft_error error;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (i % every == 0 && entries[i]->d_name[0] != '.' && ft_graph_read(path, &graph, &error) == FT_OK) {
            round_trip(graph, is_thorough);
            graphs++;
        }
        ft_graph_free(graph);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return graphs;
}

static void test_corpora(void **state) {
    (void)state;
    assert_true(round_trip_folder("fuzz/corpus/onnx", 1, true) > 5);
    assert_true(round_trip_folder("fuzz/corpus/tflite", 1, true) > 5);
    assert_true(round_trip_folder("fuzz/corpus/nnmeter", 1, true) > 0);
    assert_true(round_trip_folder("fuzz/corpus/pickle", 1, true) > 0);
}

static void test_made_up_networks(void **state) {
    (void)state;
    static const char *const names[] = {"mobilenet_v2", "lstm_tagger", "detector", "fixed_batch", "custom_op"};
    const char *build = getenv("BUILD");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512], command[512];
        ft_graph *graph = NULL;
        ft_error error;
        snprintf(command, sizeof command, "scripts/make-models %s", names[i]);
        snprintf(path, sizeof path, "%s/models/%s.onnx", build != NULL ? build : "build", names[i]);
        assert_int_equal(system(command), 0);
        if (ft_graph_read(path, &graph, &error) != FT_OK) fail_msg("%s", error.message);
        round_trip(graph, true);
        ft_graph_free(graph);
    }
}

static void test_real_models(void **state) {
    (void)state;
    struct stat info;
    if (stat("../shared/data/timm/graphs", &info) != 0) {
        print_message("# ../shared/data is not available: only small graphs are tested\n");
        skip();
    }
    assert_true(round_trip_folder("../shared/data/timm/graphs", 150, false) > 3);
    assert_true(round_trip_folder("../shared/data/npu/tflite", 40, false) > 3);
    ft_source *source;
    ft_error error;
    ft_graph *graph;
    assert_int_equal(ft_source_open("../shared/data/cg/sample", &source, &error), FT_OK);
    for (int i = 0; i < 44 && ft_source_next(source, &graph, &error) == FT_OK && graph != NULL; i++) {
        if (i % 4 == 0) round_trip(graph, false);
        ft_graph_free(graph);
    }
    ft_source_close(source);
}

/* --- The same bytes for the same network ------------------------------------------------------------------------- */

static ft_graph *build_onnx(const char *weights, const char *middle, float value) {
    onnx_model *m = onnx_model_new();
    char inputs[64];
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,8");
    float numbers[64];
    for (int i = 0; i < 64; i++) numbers[i] = value;
    onnx_raw(m, onnx_initializer(m, m->graph, weights, ONNX_FLOAT, "8,8"), numbers, sizeof numbers);
    snprintf(inputs, sizeof inputs, "x %s", weights);
    onnx_node(m, m->graph, "MatMul", inputs, middle);
    onnx_node(m, m->graph, "Relu", middle, "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    ft_graph *graph = onnx_model_read(m);
    onnx_model_free(m);
    return graph;
}

static bool is_same_packed(const ft_graph *a, const ft_graph *b) {
    buf x = {0}, y = {0};
    pack(a, &x);
    pack(b, &y);
    bool is_same = x.length == y.length && memcmp(x.data, y.data, x.length) == 0;
    buf_free(&x);
    buf_free(&y);
    return is_same;
}

static void test_names_and_weights_do_not_count(void **state) {
    (void)state;
    ft_graph *a = build_onnx("w", "h", 1), *b = build_onnx("weights", "hidden", 2);
    assert_true(is_same_packed(a, b));
    buf bytes = {0};
    pack(a, &bytes);
    assert_true(bytes.length < 100);
    buf_free(&bytes);
    ft_graph_free(b);
    b = build_onnx("/Constant", "h", 1); /* a name that implies the role of the tensor */
    assert_false(is_same_packed(a, b));
    ft_graph_free(a);
    ft_graph_free(b);
}

static ft_graph *build_toy(bool is_swapped, int64_t stride) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x, w, y;
    if (is_swapped) { /* the order of tensors in their table does not count */
        y = toy_value(g, 1, 4, 8, 8);
        w = toy_weight(g, 4, 3, 3, 3);
        x = toy_input(g, 1, 3, 16, 16);
    } else {
        x = toy_input(g, 1, 3, 16, 16);
        w = toy_weight(g, 4, 3, 3, 3);
        y = toy_value(g, 1, 4, 8, 8);
    }
    toy_op(g, "Conv", x, w, FT_NONE, y);
    ft_attr attrs[2] = {toy_ints(g, "strides", stride, 2), toy_int(g, "group", 1)};
    ft_attr swapped[2] = {attrs[1], attrs[0]};
    toy_attrs(g, is_swapped ? swapped : attrs, 2);
    toy_finish(g, y, 1, 1);
    g->is_bound = false;
    return g;
}

static void test_order_does_not_count(void **state) {
    (void)state;
    ft_graph *a = build_toy(false, 2), *b = build_toy(true, 2), *c = build_toy(false, 1);
    assert_true(is_same_packed(a, b));
    assert_false(is_same_packed(a, c));
    round_trip(b, true);
    ft_graph_free(a);
    ft_graph_free(b);
    ft_graph_free(c);
}

static void test_bound_graph_is_refused(void **state) {
    (void)state;
    ft_graph *a = build_toy(false, 2);
    packer *p = packer_new();
    buf out = {0};
    ft_error error;
    a->is_bound = true;
    assert_int_equal(pack_graph(p, a, &out, &error), FT_ERR_USAGE);
    packer_free(p);
    ft_graph_free(a);
}

/* --- Damage ------------------------------------------------------------------------------------------------------ */

static void test_damage(void **state) {
    (void)state;
    ft_graph *a = build_toy(false, 2), *graph = NULL;
    buf bytes = {0};
    ft_error error;
    pack(a, &bytes);
    for (size_t length = 0; length < bytes.length; length++) {
        char *copy = malloc(length + 1); /* of exactly this size, so that a sanitizer detects a read past the end */
        memcpy(copy, bytes.data, length);
        assert_int_not_equal(unpack_graph(copy, length, "cut", &graph, &error), FT_OK);
        free(copy);
    }
    for (size_t at = 0; at < bytes.length; at++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[at] = (char)(bytes.data[at] ^ 1 << bit);
            ft_status status = unpack_graph(bytes.data, bytes.length, "bit", &graph, &error);
            bytes.data[at] = (char)(bytes.data[at] ^ 1 << bit);
            if (status == FT_OK) ft_graph_free(graph);
        }
    }
    buf_char(&bytes, 0);
    assert_int_equal(unpack_graph(bytes.data, bytes.length, "long", &graph, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "trailing bytes"));
    buf_free(&bytes);
    ft_graph_free(a);
}

static void test_out_of_memory(void **state) {
    (void)state;
    ft_graph *a = build_toy(false, 2);
    for (long n = 0;; n++) {
        buf bytes = {0};
        ft_error error;
        ft_graph *graph = NULL;
        failing_start(n);
        packer *p = packer_new();
        ft_status status = p != NULL ? pack_graph(p, a, &bytes, &error) : FT_ERR_NOMEM;
        if (status == FT_OK) status = unpack_graph(bytes.data, bytes.length, "", &graph, &error);
        bool has_failed = failing_stop();
        packer_free(p);
        buf_free(&bytes);
        ft_graph_free(graph);
        assert_int_equal(status, has_failed ? FT_ERR_NOMEM : FT_OK);
        if (!has_failed) break;
    }
    ft_graph_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpora),
        cmocka_unit_test(test_made_up_networks),
        cmocka_unit_test(test_real_models),
        cmocka_unit_test(test_names_and_weights_do_not_count),
        cmocka_unit_test(test_order_does_not_count),
        cmocka_unit_test(test_bound_graph_is_refused),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("data/pack", tests, NULL, NULL);
}
