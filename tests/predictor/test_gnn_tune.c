/* Tests of further training of graph networks, with a minimal kind: which layers change, and what a new device gets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/core/scan.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/gnn/gnn_model.h"
#include "support/folder.h"
#include "support/synth_data.h"

/* --- A kind: two linear layers of the logarithm of the model's work, the same for every device ----------------- */

struct gnn_net {
    layer_linear first, out;
};

static gnn_widths widths(const void *own) {
    (void)own;
    return (gnn_widths){.kinds = 2, .node_values = 1, .column_values = 1};
}

static ft_status extract(const void *own, const void *extractor, model_view *s, arena *memory, gnn_sample *sample,
                         ft_error *error) {
    (void)extractor;
    const gnn_widths w = widths(own);
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    if (!gnn_sample_open(sample, &w, 1, 0, memory)) return FT_NOMEM(error);
    sample->kinds[0] = 1;
    sample->node_values[0] = (float)log((double)cost->total.forward.macs);
    return FT_OK;
}

static ft_status read_sheet(const ft_device *device, float *values, ft_error *error) {
    (void)device, (void)error;
    values[0] = 1.5F;
    return FT_OK;
}

static gnn_net *build(const gnn_plan *plan, params *p) {
    (void)plan;
    gnn_net *net = calloc(1, sizeof *net);
    if (net == NULL) return NULL;
    net->first = layer_linear_add(p, "first", 1, 2, true);
    net->out = layer_linear_add(p, "out", 2, 1, true);
    return net;
}

static tensor *forward(const gnn_net *net, tape *t, const gnn_batch *batch) {
    static const float ones[] = {1, 1, 1, 1};
    tensor *x = tape_input(t, batch->nodes, 1, batch->node_values);
    tensor *y = layer_linear_apply(t, &net->out, layer_linear_apply(t, &net->first, x, ACT_NONE), ACT_NONE);
    assert_true(batch->columns <= 4);
    return nn_matmul(t, y, tape_input(t, 1, batch->columns, ones));
}

enum { FIRST = 4 }; /* values of the first layer */
static const char *const last[] = {"out", NULL};
static const gnn_kind fixed = {.name = "fixed",
                               .schema = "fixed-1",
                               .widths = widths,
                               .extract = extract,
                               .sheet = read_sheet,
                               .build = build,
                               .forward = forward};

/* --- Data ---------------------------------------------------------------------------------------------------- */

enum { NETWORKS = 6 };
static const char *const devices[] = {"adreno-640", "cortex-a76"};

typedef struct made {
    gnn_kind kind;
    ft_dataset *data;
    fit_row rows[2 * NETWORKS]; /* of the first device, then of the second, on which all takes four times as long */
    fit_set set;
    gnn_model *m; /* fitted to the first device */
} made;

static made *make(void) {
    made *d = calloc(1, sizeof *d);
    builder *b = synth_begin("data");
    assert_non_null(d);
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < NETWORKS; i++)
            synth_add(b, &(synth_record){i, "one", devices[k], "", NULL, NULL, (10 + i) * (k == 1 ? 4 : 1), NULL});
    d->data = synth_end(b, "data");
    const ft_record *records = ft_dataset_records(d->data);
    uint32_t counts[2] = {0};
    assert_int_equal(ft_dataset_record_count(d->data), 2 * NETWORKS);
    for (uint32_t i = 0; i < 2 * NETWORKS; i++) {
        uint32_t device = strcmp(records[i].device, devices[1]) == 0;
        d->rows[device * NETWORKS + counts[device]++] = (fit_row){i, records[i].graph, device, records[i].metrics[0]};
    }
    d->kind = fixed;
    d->kind.last = last;
    d->set = (fit_set){.data = d->data, .metric = "time_us", .devices = devices, .device_count = 1};
    d->set.train = (fit_rows){d->rows, NETWORKS};
    json_t *config = json_pack("{s:i, s:i, s:f}", "steps", 300, "batch", 4, "rate", 0.05);
    fit_context context = {.config = config, .seed = 1};
    ft_error error;
    void *m = NULL;
    if (gnn_fit(&d->kind, &d->set, &context, &m, &error) != FT_OK) fail_msg("%s", error.message);
    d->m = m;
    json_decref(config);
    return d;
}

static void free_made(made *d) {
    gnn_free(d->m);
    ft_dataset_free(d->data);
    free(d);
}

/* A copy of the model, trained further. */
static gnn_model *tune(const made *d, const fit_set *set, const tune_options *options) {
    fit_context context = {.seed = 1};
    ft_error error;
    void *m = NULL;
    if (gnn_tune(d->m, set, options, &context, &m, &error) != FT_OK) fail_msg("%s", error.message);
    return m;
}

static const float *values_of(const gnn_model *m) {
    return m->members[0].values.values;
}

static double predicted(const made *d, const gnn_model *m, uint32_t row, uint32_t device) {
    scan_graph graph;
    model_view s;
    arena memory;
    model_output out = {0};
    ft_error error;
    assert_int_equal(scan_graph_open(d->data, &ft_dataset_records(d->data)[d->rows[row].record], &graph, NULL), FT_OK);
    model_view_init(&s, graph.bound, &(ft_request){.mode = FT_INFER});
    arena_init(&memory, 1 << 20);
    if (gnn_predict(m, &(predict_input){&s, &(target_device){.index = device}, &memory, false}, &out, &error) != FT_OK)
        fail_msg("%s", error.message);
    arena_free(&memory);
    model_view_free(&s);
    scan_graph_free(&graph);
    return out.value;
}

/* The mean ratio of the predictions of two models, on the first device. */
static double ratio(const made *d, const gnn_model *m, const gnn_model *before) {
    double sum = 0;
    for (uint32_t i = 0; i < NETWORKS; i++) sum += log(predicted(d, m, i, 0) / predicted(d, before, i, 0)) / NETWORKS;
    return exp(sum);
}

/* --- Tests --------------------------------------------------------------------------------------------------- */

static void the_last_layers_may_be_tuned_alone(void **state) {
    (void)state;
    made *d = make();
    float before[FIRST + 3];
    assert_int_equal(d->m->members[0].values.total_count, FIRST + 3);
    memcpy(before, values_of(d->m), sizeof before);
    for (uint32_t i = 0; i < NETWORKS; i++) d->rows[i].label *= 1.2;
    gnn_model *some = tune(d, &d->set, &(tune_options){.is_last = true, .steps = 20});
    gnn_model *all = tune(d, &d->set, &(tune_options){.steps = 20});
    assert_memory_equal(values_of(d->m), before, sizeof before); /* a copy is tuned */
    assert_memory_equal(values_of(some), before, FIRST * sizeof *before);
    assert_true(memcmp(values_of(some) + FIRST, before + FIRST, 3 * sizeof *before) != 0);
    assert_true(memcmp(values_of(all), before, FIRST * sizeof *before) != 0);
    assert_memory_equal(&some->plan.shared, &d->m->plan.shared, sizeof d->m->plan.shared);
    assert_memory_equal(some->scaling.floats, d->m->scaling.floats, d->m->scaling.count * sizeof(float));
    gnn_free(some);
    gnn_free(all);
    free_made(d);
}

/* Labels 1.2 times as large; with the rows of the original training, of the same graphs, the mean is 1.1. */
static void tuning_follows_the_new_labels(void **state) {
    (void)state;
    made *d = make();
    fit_row before[NETWORKS];
    memcpy(before, d->rows, sizeof before);
    for (uint32_t i = 0; i < NETWORKS; i++) d->rows[i].label *= 1.2;
    gnn_model *alone = tune(d, &d->set, &(tune_options){.steps = 400});
    gnn_model *joined = tune(d, &d->set, &(tune_options){.steps = 400, .before = {before, NETWORKS}});
    gnn_model *usual = tune(d, &d->set, &(tune_options){0}); /* 1000 steps */
    assert_true(fabs(ratio(d, alone, d->m) - 1.2) < 0.02);
    assert_true(fabs(ratio(d, joined, d->m) - 1.1) < 0.02);
    assert_true(fabs(ratio(d, usual, d->m) - 1.2) < 0.02);
    gnn_free(alone);
    gnn_free(joined);
    gnn_free(usual);
    free_made(d);
}

/* Its column has the scale of the known one, shifted by the ratio where that is known. */
static void a_new_device_has_a_shifted_column(void **state) {
    (void)state;
    made *d = make();
    const double ratios[] = {NAN, 4}, unknown[] = {NAN, NAN}, zero[] = {NAN, 0};
    fit_set set = d->set;
    set.device_count = 2;
    set.train = (fit_rows){d->rows + NETWORKS, NETWORKS};
    tune_options options = {.steps = 20, .ratios = ratios};
    gnn_model *m = tune(d, &set, &options);
    assert_int_equal(m->column_count, 2);
    assert_int_equal(m->device_count, 2);
    const label_scale *known = &d->m->columns[0].scale;
    assert_true(m->columns[0].scale.shift == known->shift);
    assert_true(fabs(m->columns[1].scale.shift - known->shift - log(4)) < 1e-9);
    assert_true(m->columns[1].scale.scale == known->scale);
    for (uint32_t i = 0; i < NETWORKS; i++) assert_true(fabs(predicted(d, m, i, 1) / predicted(d, m, i, 0) - 4) < 1e-3);
    gnn_free(m);
    const double *const others[] = {unknown, zero, NULL};
    for (int i = 0; i < 3; i++) {
        options.ratios = others[i];
        m = tune(d, &set, &options);
        assert_true(m->columns[1].scale.shift == known->shift);
        gnn_free(m);
    }
    free_made(d);
}

/* Without a shift, all of log(4) has to be learned: the result is halfway. */
static void weights_for_a_new_device_are_halfway(void **state) {
    (void)state;
    made *d = make();
    fit_set set = d->set;
    set.device_count = 2;
    set.train = (fit_rows){d->rows + NETWORKS, NETWORKS};
    gnn_model *m = tune(d, &set, &(tune_options){.is_last = true, .steps = 1500});
    /* With the first layer fixed the output is linear in the weights: half of the logarithm. */
    assert_true(fabs(ratio(d, m, d->m) - 2) < 0.1);
    gnn_free(m);
    free_made(d);
}

static void kinds_without_last_layers_are_refused(void **state) {
    (void)state;
    made *d = make();
    fit_context context = {.seed = 1};
    void *m = NULL;
    ft_error error;
    d->kind.last = NULL;
    assert_int_equal(gnn_tune(d->m, &d->set, &(tune_options){.steps = 1}, &context, &m, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "fixed cannot be trained further"));
    assert_null(m);
    free_made(d);
}

/* --- Data sheets --------------------------------------------------------------------------------------------- */

static void devices_that_were_not_in_training_need_a_sheet(void **state) {
    (void)state;
    made *d = make();
    scan_graph graph;
    model_view s;
    arena memory;
    model_output out = {0};
    ft_device *sheet = NULL;
    ft_error error;
    target_device target = {.index = FT_NONE};
    assert_true(gnn_reads_sheets(d->m));
    assert_int_equal(ft_device_open(devices[1], &sheet, &error), FT_OK);
    assert_int_equal(scan_graph_open(d->data, &ft_dataset_records(d->data)[d->rows[0].record], &graph, NULL), FT_OK);
    model_view_init(&s, graph.bound, &(ft_request){.mode = FT_INFER});
    arena_init(&memory, 1 << 20);
    const predict_input in = {&s, &target, &memory, false};
    assert_int_equal(gnn_predict(d->m, &in, &out, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "fixed was not trained on this device"));
    target.sheet = sheet;
    assert_int_equal(gnn_predict(d->m, &in, &out, &error), FT_OK);
    assert_true(fabs(out.value / predicted(d, d->m, 0, 0) - 1) < 1e-6); /* the network does not use the sheet */
    arena_free(&memory);
    model_view_free(&s);
    scan_graph_free(&graph);
    ft_device_free(sheet);
    free_made(d);
}

static void features_of_devices_are_saved(void **state) {
    (void)state;
    made *d = make();
    json_t *params = NULL;
    float_block block = {0};
    void *again = NULL;
    ft_error error;
    assert_int_equal(gnn_save(d->m, &params, &block, &error), FT_OK);
    assert_int_equal(gnn_load(&d->kind, params, block.items, block.count, 1, &again, &error), FT_OK);
    const gnn_model *m = again;
    assert_int_equal(m->column_count, 1);
    assert_true(m->columns[0].values[0] == 1.5F);
    assert_true(predicted(d, m, 2, 0) == predicted(d, d->m, 2, 0));
    gnn_free(again);
    json_t *column = json_array_get(json_object_get(params, "columns"), 0);
    json_object_set_new(column, "values", json_pack("[f, f]", 1.0, 2.0));
    assert_int_equal(gnn_load(&d->kind, params, block.items, block.count, 1, &again, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "2 values of a device, but 1 are expected"));
    json_object_set_new(column, "values", json_pack("[s]", "x"));
    assert_int_equal(gnn_load(&d->kind, params, block.items, block.count, 1, &again, &error), FT_ERR_DAMAGED);
    json_decref(params);
    float_block_free(&block);
    free_made(d);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(the_last_layers_may_be_tuned_alone),    IN_FOLDER(tuning_follows_the_new_labels),
        IN_FOLDER(a_new_device_has_a_shifted_column),     IN_FOLDER(weights_for_a_new_device_are_halfway),
        IN_FOLDER(kinds_without_last_layers_are_refused), IN_FOLDER(devices_that_were_not_in_training_need_a_sheet),
        IN_FOLDER(features_of_devices_are_saved),
    };
    return cmocka_run_group_tests_name("predictor/gnn_tune", tests, NULL, NULL);
}
