/* "ethos-u" learns the sizes of weights, divides times by operator, and its files are checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/builder.h"
#include "predictor/core/families.h"
#include "predictor/core/predictor.h"
#include "predictor/npu/ethos_u.h"
#include "support/folder.h"
#include "support/npu_model.h"

enum { NETWORKS = 12, DEVICES = 2 };
static const char *const devices[DEVICES] = {"ethos-u55-128", "ethos-u55-256"};
static const char *const metrics[] = {"time_us", "weight_bytes", "flash_bytes"};

/* Weights take half of what they usually do. */
static npu_compression true_codes(void) {
    npu_compression codes = npu_default_compression;
    for (int i = 0; i < COMPRESSION_TERMS; i++) codes.unit_bytes[i] *= 0.5;
    return codes;
}

/* A dense layer of a width that is the network's own, and a second one. */
static ft_graph *network(uint32_t number) {
    static const int8_t weights[1 << 16];
    int32_t k = 64 + 16 * (int32_t)number, n = 32 + 8 * (int32_t)(number % 5);
    const lite_model model = {
        .version = 3,
        LITE_CODES({.builtin = B_FULLY_CONNECTED}, {.builtin = B_RELU}),
        LITE_BUFFERS({NULL, 0, false, 0}, {weights, (uint32_t)(k * n), false, 0},
                     {weights, (uint32_t)(n * 10), false, 0}),
        LITE_SUBGRAPHS({LITE_TENSORS({.name = "x", .type = T_INT8, .rank = 2, .dims = {1, k}},
                                     {.name = "w", .type = T_INT8, .rank = 2, .dims = {n, k}, .buffer = 1},
                                     {.name = "a", .type = T_INT8, .rank = 2, .dims = {1, n}},
                                     {.name = "v", .type = T_INT8, .rank = 2, .dims = {10, n}, .buffer = 2},
                                     {.name = "y", .type = T_INT8, .rank = 2, .dims = {1, 10}}),
                        LITE_IN(0), LITE_OUT(4),
                        LITE_OPS({.code = 0, LITE_IN(0, 1), LITE_OUT(2)}, {.code = 0, LITE_IN(2, 3), LITE_OUT(4)})}),
    };
    return lite_read(&model);
}

static npu_estimate truth(const ft_graph *graph, const char *device, arena *memory) {
    static npu_compression codes;
    npu_net *net = ARENA_NEW(memory, npu_net);
    npu_estimate e;
    ft_graph *bound;
    ft_error error;
    codes = true_codes();
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
    assert_int_equal(npu_lower(bound, memory, net, &error), FT_OK);
    assert_int_equal(npu_estimate_make(net, npu_arch_find(device), &codes, memory, &e, &error), FT_OK);
    ft_graph_free(bound);
    return e;
}

static ft_dataset *make_data(void) {
    builder *b;
    ft_dataset *data;
    ft_error error;
    builder_outcome outcome;
    assert_int_equal(builder_new("set", metrics, 3, &b, &error), FT_OK);
    for (uint32_t i = 0; i < NETWORKS; i++) {
        ft_graph *graph = network(i);
        uint32_t index;
        char name[32];
        snprintf(name, sizeof name, "key%u.net%u", i / 2, i);
        assert_int_equal(builder_add_graph(b, graph, &index, &error), FT_OK);
        for (int d = 0; d < DEVICES; d++) {
            arena memory;
            arena_init(&memory, UINT64_MAX);
            npu_estimate e = truth(graph, devices[d], &memory);
            double values[] = {e.sum.total / 500, e.weight_bytes, e.weight_bytes + 1000 + e.scale_bytes};
            ft_record r = {.graph = index,
                           .name = name,
                           .family = "",
                           .device = devices[d],
                           .setting = "",
                           .part = "",
                           .batch = 1,
                           .dtype = FT_INT8,
                           .mode = FT_INFER,
                           .metrics = values};
            assert_int_equal(builder_add_record(b, &r, &outcome, &error), FT_OK);
            arena_free(&memory);
        }
        ft_graph_free(graph);
    }
    assert_int_equal(builder_finish(b, &error), FT_OK);
    builder_free(b);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    return data;
}

typedef struct made_fit {
    ft_dataset *data;
    fit_row rows[NETWORKS * DEVICES];
    fit_set set;
    void *model;
} made_fit;

static void fill(made_fit *f, uint32_t metric) {
    const ft_record *records = ft_dataset_records(f->data);
    for (uint32_t i = 0; i < NETWORKS * DEVICES; i++)
        f->rows[i] =
            (fit_row){i, records[i].graph, strcmp(records[i].device, devices[1]) == 0, records[i].metrics[metric]};
    f->set = (fit_set){.data = f->data,
                       .metric = metrics[metric],
                       .devices = devices,
                       .device_count = DEVICES,
                       .train = {f->rows, NETWORKS * DEVICES}};
}

static made_fit fit_metric(uint32_t metric) {
    made_fit f = {.data = make_data()};
    ft_error error;
    fill(&f, metric);
    if (family_ethos_u.fit(&f.set, &(fit_context){.seed = 1}, &f.model, &error) != FT_OK) fail_msg("%s", error.message);
    return f;
}

static void free_fit(made_fit *f) {
    family_ethos_u.free(f->model);
    ft_dataset_free(f->data);
}

static model_output ask(const void *m, const ft_graph *graph, uint32_t device, bool has_parts, arena *memory) {
    ft_graph *bound;
    model_view s;
    model_output p;
    ft_error error;
    ft_request request = {.mode = FT_INFER};
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
    model_view_init(&s, bound, &request);
    if (family_ethos_u.predict(m, &(predict_input){&s, &(target_device){.index = device}, memory, has_parts}, &p,
                               &error) != FT_OK)
        fail_msg("%s", error.message);
    model_view_free(&s);
    ft_graph_free(bound);
    return p;
}

static void check_metric(uint32_t metric) {
    made_fit f = fit_metric(metric);
    for (uint32_t i = 0; i < NETWORKS * DEVICES; i++) {
        arena memory;
        arena_init(&memory, UINT64_MAX);
        ft_graph *graph = network(i / 2);
        model_output p = ask(f.model, graph, f.rows[i].device, metric == 0, &memory);
        if (fabs(p.value / f.rows[i].label - 1) > 0.02) fail_msg("%u: %g is not %g", i, p.value, f.rows[i].label);
        assert_true(p.spread > 0 && p.coverage_ratio == 1 && p.provenance == FT_LEARNED);
        double sum = 0;
        for (uint32_t k = 0; k < p.part_count; k++) sum += p.parts[k].value;
        assert_int_equal(p.part_count, metric == 0 ? 2 : 0);
        if (metric == 0) assert_true(fabs(sum - p.value) < 1e-9 * p.value);
        ft_graph_free(graph);
        arena_free(&memory);
    }
    free_fit(&f);
}

static void sizes_of_weights_are_learned(void **state) {
    (void)state;
    check_metric(0);
}

static void stored_memory_is_learned(void **state) {
    (void)state;
    check_metric(2);
}

static void a_loaded_model_predicts_the_same(void **state) {
    (void)state;
    made_fit f = fit_metric(2);
    json_t *params = NULL;
    float_block block = {0};
    void *loaded = NULL;
    ft_error error;
    assert_int_equal(family_ethos_u.save(f.model, &params, &block, &error), FT_OK);
    assert_int_equal(family_ethos_u.load(params, block.items, block.count, devices, DEVICES, &loaded, &error), FT_OK);
    ft_graph *graph = network(3);
    for (uint32_t d = 0; d < DEVICES; d++) {
        arena memory;
        arena_init(&memory, UINT64_MAX);
        model_output a = ask(f.model, graph, d, false, &memory), b = ask(loaded, graph, d, false, &memory);
        assert_true(a.value == b.value && a.spread == b.spread);
        arena_free(&memory);
    }
    ft_graph_free(graph);
    family_ethos_u.free(loaded);
    /* what no fit would save is refused */
    static const char *const others[] = {"adreno-640", "ethos-u55-256"};
    void *none = NULL;
    assert_int_equal(family_ethos_u.load(params, block.items, block.count - 1, devices, DEVICES, &none, &error),
                     FT_ERR_DAMAGED);
    assert_int_equal(family_ethos_u.load(params, block.items, block.count, others, DEVICES, &none, &error),
                     FT_ERR_UNSUPPORTED);
    block.items[3] = -1;
    assert_int_equal(family_ethos_u.load(params, block.items, block.count, devices, DEVICES, &none, &error),
                     FT_ERR_DAMAGED);
    json_t *empty = json_object();
    assert_int_equal(family_ethos_u.load(empty, block.items, block.count, devices, DEVICES, &none, &error),
                     FT_ERR_DAMAGED);
    assert_null(none);
    json_decref(empty);
    json_decref(params);
    float_block_free(&block);
    free_fit(&f);
}

static void other_metrics_and_devices_are_refused(void **state) {
    (void)state;
    made_fit f = {.data = make_data()};
    ft_error error;
    fill(&f, 0);
    f.set.metric = "energy_mj";
    assert_int_equal(family_ethos_u.fit(&f.set, &(fit_context){.seed = 1}, &f.model, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "sram_bytes"));
    static const char *const others[] = {"adreno-640", "ethos-u55-256"};
    fill(&f, 0);
    f.set.devices = others;
    assert_int_equal(family_ethos_u.fit(&f.set, &(fit_context){.seed = 1}, &f.model, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "adreno-640"));
    assert_null(f.model);
    ft_dataset_free(f.data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(sizes_of_weights_are_learned),
        IN_FOLDER(stored_memory_is_learned),
        IN_FOLDER(a_loaded_model_predicts_the_same),
        IN_FOLDER(other_metrics_and_devices_are_refused),
    };
    return cmocka_run_group_tests_name("predictor/ethos_u", tests, NULL, NULL);
}
