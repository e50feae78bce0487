/* Operations shared by all graph networks, with a minimal kind: labels in columns, scaling, predictions, offsets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/core/scan.h"
#include "predictor/gnn/gnn_data.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/gnn/gnn_model.h"
#include "predictor/gnn/gnn_scaling.h"
#include "support/folder.h"
#include "support/synth_data.h"

/* --- A kind: one node, whose value is the logarithm of the model's work -------------------------------------- */

struct gnn_net {
    layer_linear out;
};

static gnn_widths widths(const void *own) {
    (void)own;
    return (gnn_widths){.kinds = 3, .node_values = 1, .global_values = 1};
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
    sample->global_values[0] = 3;
    return FT_OK;
}

static gnn_net *build(const gnn_plan *plan, params *p) {
    gnn_net *net = calloc(1, sizeof *net);
    if (net != NULL) net->out = layer_linear_add(p, "out", 1, plan->outputs, true);
    return net;
}

static tensor *forward(const gnn_net *net, tape *t, const gnn_batch *batch) {
    return layer_linear_apply(t, &net->out, tape_input(t, batch->nodes, 1, batch->node_values), ACT_NONE);
}

static const gnn_kind kind = {
    .name = "simple", .schema = "simple-1", .widths = widths, .extract = extract, .build = build, .forward = forward};

/* --- Data: two settings on one device, and another device ---------------------------------------------------- */

enum { NETWORKS = 6 };
static const char *const devices[] = {"adreno-640", "cortex-a76"};

typedef struct made {
    ft_dataset *data;
    fit_row rows[64];
    fit_set set;
} made;

static made make(void) {
    made m = {0};
    builder *b = synth_begin("data");
    for (uint32_t i = 0; i < NETWORKS; i++) {
        synth_add(b, &(synth_record){i, "one", devices[0], "", "layout=nchw", NULL, 10 + i, NULL});
        synth_add(b, &(synth_record){i, "one", devices[0], "", "layout=nhwc", NULL, 100 + i, NULL});
        if (i % 2 == 0) synth_add(b, &(synth_record){i, "one", devices[1], "", NULL, NULL, 1000 + i, NULL});
    }
    m.data = synth_end(b, "data");
    const ft_record *records = ft_dataset_records(m.data);
    uint32_t count = ft_dataset_record_count(m.data), train = 0;
    for (uint32_t i = 0; i < count; i++)
        m.rows[train++] =
            (fit_row){i, records[i].graph, strcmp(records[i].device, devices[1]) == 0, records[i].metrics[0]};
    m.set = (fit_set){.data = m.data, .metric = "time_us", .devices = devices, .device_count = 2};
    m.set.train = (fit_rows){m.rows, train};
    return m;
}

/* --- Collecting ----------------------------------------------------------------------------------------------- */

static gnn_data gather(made *m, gnn_plan *plan) {
    gnn_data data;
    fit_context context = {0};
    m->set.train.items = m->rows;
    assert_int_equal(gnn_plan_read(&kind, NULL, plan, NULL), FT_OK);
    const gnn_data_options options = {.kind = &kind, .plan = plan};
    assert_int_equal(gnn_data_gather(&m->set, &context, &options, &data, NULL), FT_OK);
    return data;
}

static void labels_are_in_columns(void **state) {
    (void)state;
    made m = make();
    gnn_plan plan;
    gnn_data data = gather(&m, &plan);
    assert_int_equal(data.graph_count, NETWORKS);
    assert_int_equal(data.train_count, NETWORKS);
    assert_int_equal(data.column_count, 3);
    uint32_t measured = 0;
    for (uint32_t i = 0; i < NETWORKS; i++) {
        const double *row = data.labels + (size_t)i * 3;
        for (uint32_t c = 0; c < 3; c++) {
            const gnn_column *column = &data.columns[c];
            double first = column->device == 1 ? 1000 : strcmp(column->setting, "layout=nhwc") == 0 ? 100 : 10;
            if (isnan(row[c])) continue;
            measured++;
            assert_true(row[c] >= first && row[c] < first + NETWORKS);
        }
    }
    assert_int_equal(measured, 15);
    double mean = 0, squares = 0;
    for (uint32_t c = 0; c < 3; c++) {
        if (data.columns[c].device == 1) continue;
        mean = squares = 0;
        for (uint32_t i = 0; i < NETWORKS; i++) mean += log(data.labels[(size_t)i * 3 + c]) / NETWORKS;
        for (uint32_t i = 0; i < NETWORKS; i++)
            squares += pow(log(data.labels[(size_t)i * 3 + c]) - mean, 2) / NETWORKS;
        assert_true(fabs(data.columns[c].scale.shift - mean) < 1e-9);
        assert_true(fabs(data.columns[c].scale.scale - sqrt(squares)) < 1e-9);
    }
    gnn_data_free(&data);
    gnn_plan_free(&plan);
    ft_dataset_free(m.data);
}

static void repeats_are_averaged(void **state) {
    (void)state;
    made m = make();
    gnn_plan plan;
    m.rows[m.set.train.count] = m.rows[0];
    m.rows[m.set.train.count++].label += 6;
    double mean = m.rows[0].label + 3;
    gnn_data data = gather(&m, &plan);
    assert_int_equal(data.graph_count, NETWORKS);
    uint32_t found = 0;
    for (uint32_t i = 0; i < 3 * NETWORKS; i++) found += fabs(data.labels[i] - mean) < 1e-9;
    assert_true(found >= 1);
    gnn_data_free(&data);
    gnn_plan_free(&plan);
    ft_dataset_free(m.data);
}

/* Columns without training labels are not validated. */
static void validation_adds_no_columns(void **state) {
    (void)state;
    made m = make();
    gnn_plan plan;
    uint32_t kept = 0;
    fit_row valid[64];
    for (uint32_t i = 0; i < m.set.train.count; i++) {
        valid[i] = m.rows[i];
        const ft_record *record = &ft_dataset_records(m.data)[m.rows[i].record];
        if (strcmp(record->setting, "layout=nhwc") != 0) m.rows[kept++] = m.rows[i];
    }
    m.set.valid = (fit_rows){valid, m.set.train.count};
    m.set.train.count = kept;
    gnn_data data = gather(&m, &plan);
    assert_int_equal(data.column_count, 2);
    for (uint32_t i = 0; i < 2 * data.graph_count; i++)
        assert_true(isnan(data.labels[i]) || data.labels[i] < 100 || data.labels[i] >= 1000);
    gnn_data_free(&data);
    gnn_plan_free(&plan);
    ft_dataset_free(m.data);
}

static void scaling_is_fitted_to_training(void **state) {
    (void)state;
    made m = make();
    gnn_plan plan;
    gnn_data data = gather(&m, &plan);
    gnn_scaling scaling;
    assert_int_equal(gnn_scaling_open(&scaling, &plan.widths, NULL), FT_OK);
    assert_int_equal(gnn_scaling_fit(&scaling, &data, NULL), FT_OK);
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < data.node_count; i++) {
        float x;
        gnn_scale_nodes(&scaling, gnn_node_values(&data, data.node_row[i]), 1, &x);
        sum += x;
        squares += (double)x * x;
    }
    assert_true(fabs(sum) < 1e-4 && fabs(squares - data.node_count) < 1e-3);
    assert_int_equal(gnn_scale_kind(&scaling, 1), 1);
    assert_int_equal(gnn_scale_kind(&scaling, 2), 0); /* no graph had it */
    uint32_t kinds[1] = {1};
    float global = 7, value = *gnn_node_values(&data, 0);
    gnn_sample sample = {.nodes = 1, .kinds = kinds, .node_values = &value, .global_values = &global, .known_ratio = 1};
    assert_true(gnn_scaling_coverage(&scaling, &sample) == 1);
    value += 100;
    assert_true(gnn_scaling_coverage(&scaling, &sample) == 0);
    gnn_scale_sample(&scaling, &sample);
    assert_true(value == 10 && global == 0); /* clamped; and constant in training, so ignored */
    gnn_scaling_free(&scaling);
    gnn_data_free(&data);
    gnn_plan_free(&plan);
    ft_dataset_free(m.data);
}

/* --- Answers ------------------------------------------------------------------------------------------------- */

static ft_status predict(const void *m, const made *d, const char *setting, ft_mode mode, double *value,
                         ft_error *error) {
    const ft_record *record = &ft_dataset_records(d->data)[0];
    scan_graph graph;
    model_view s;
    arena memory;
    model_output predicted = {0};
    assert_int_equal(scan_graph_open(d->data, record, &graph, NULL), FT_OK);
    ft_request request = {.setting = setting, .mode = mode};
    model_view_init(&s, graph.bound, &request);
    arena_init(&memory, 1 << 20);
    ft_status status =
        gnn_predict(m, &(predict_input){&s, &(target_device){.index = 0}, &memory, false}, &predicted, error);
    *value = predicted.value;
    arena_free(&memory);
    model_view_free(&s);
    scan_graph_free(&graph);
    return status;
}

static void requests_find_their_column(void **state) {
    (void)state;
    made d = make();
    json_t *config = json_pack("{s:i, s:i, s:f}", "steps", 300, "batch", 4, "rate", 0.05);
    fit_context context = {.config = config, .seed = 1};
    void *m = NULL;
    double value;
    ft_error error;
    d.set.train.items = d.rows;
    assert_int_equal(gnn_fit(&kind, &d.set, &context, &m, &error), FT_OK);
    assert_int_equal(predict(m, &d, "layout=nchw", FT_INFER, &value, &error), FT_OK);
    assert_true(value > 8 && value < 20);
    assert_int_equal(predict(m, &d, "layout=nhwc", FT_INFER, &value, &error), FT_OK);
    assert_true(value > 95 && value < 110);
    assert_int_equal(predict(m, &d, NULL, FT_INFER, &value, &error), FT_OK); /* open: the column with most labels */
    assert_int_equal(predict(m, &d, "layout=other", FT_INFER, &value, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "layout=other"));
    assert_int_equal(predict(m, &d, NULL, FT_TRAIN, &value, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "train"));
    gnn_free(m);
    json_decref(config);
    ft_dataset_free(d.data);
}

/* Precomputed predictions are used by predict, and computed once. */
static void predictions_are_precomputed_once(void **state) {
    (void)state;
    made d = make();
    json_t *config = json_pack("{s:i, s:i}", "steps", 2, "batch", 4);
    fit_context context = {.config = config, .seed = 1};
    void *m = NULL;
    scan_graph graph;
    model_view s, *views[] = {&s};
    arena memory;
    model_output predicted = {0};
    ft_request request = {.setting = "layout=nchw", .mode = FT_INFER};
    double alone;
    ft_error error;
    d.set.train.items = d.rows;
    assert_int_equal(gnn_fit(&kind, &d.set, &context, &m, &error), FT_OK);
    assert_int_equal(predict(m, &d, request.setting, request.mode, &alone, &error), FT_OK);
    assert_int_equal(scan_graph_open(d.data, &ft_dataset_records(d.data)[0], &graph, NULL), FT_OK);
    model_view_init(&s, graph.bound, &request);
    arena_init(&memory, 1 << 20);
    assert_int_equal(gnn_precompute(m, views, 1, &error), FT_OK);
    assert_non_null(model_view_cached(&s, m));
    assert_int_equal(gnn_precompute(m, views, 1, &error), FT_OK);
    assert_int_equal(
        gnn_predict(m, &(predict_input){&s, &(target_device){.index = 0}, &memory, false}, &predicted, &error), FT_OK);
    assert_int_equal(s.cached_count, 1);
    assert_true(predicted.value == alone);
    arena_free(&memory);
    model_view_free(&s);
    scan_graph_free(&graph);
    gnn_free(m);
    json_decref(config);
    ft_dataset_free(d.data);
}

/* --- Group offsets ------------------------------------------------------------------------------------------- */

/* Six networks in two groups, named differently. In each group more work takes longer, but the networks with more work
 * are in the faster group. */
static made make_names(void) {
    made m = {0};
    builder *b = synth_begin("names");
    double work[NETWORKS], middle = 0;
    for (uint32_t i = 0; i < NETWORKS; i++) {
        ft_graph *graph = synth_network(i), *bound = NULL;
        assert_int_equal(ft_graph_bind(graph, NULL, &bound, NULL), FT_OK);
        work[i] = (double)synth_cost(bound).forward.macs;
        middle += log(work[i]) / NETWORKS;
        ft_graph_free(bound);
        ft_graph_free(graph);
    }
    for (uint32_t i = 0; i < NETWORKS; i++) {
        bool is_large = log(work[i]) > middle;
        synth_add(b, &(synth_record){i, "one", devices[0], "", NULL, is_large ? "large" : "small",
                                     work[i] / (is_large ? 1000 : 1), NULL});
    }
    m.data = synth_end(b, "names");
    for (uint32_t i = 0; i < NETWORKS; i++)
        m.rows[i] = (fit_row){i, ft_dataset_records(m.data)[i].graph, 0, ft_dataset_records(m.data)[i].metrics[0]};
    m.set = (fit_set){.data = m.data, .metric = "time_us", .devices = devices, .device_count = 1};
    m.set.train.count = NETWORKS;
    return m;
}

typedef struct stopping {
    uint32_t calls, stop_after;
    void *kept;
    size_t kept_size;
} stopping;

static bool go_on(void *user, double ratio, const char *what) {
    stopping *s = user;
    (void)ratio;
    (void)what;
    return s->stop_after == 0 || ++s->calls < s->stop_after;
}

static ft_status keep(void *user, const void *state, size_t size, ft_error *error) {
    stopping *s = user;
    (void)error;
    free(s->kept);
    s->kept = malloc(size);
    memcpy(s->kept, state, size);
    s->kept_size = size;
    return FT_OK;
}

static const void *kept(void *user, size_t *size) {
    stopping *s = user;
    *size = s->kept_size;
    return s->kept;
}

static ft_status fit_names(made *d, double level, stopping *s, void **m) {
    json_t *config = json_pack("{s:i, s:i, s:f, s:f}", "steps", 400, "batch", 6, "rate", 0.05, "level", level);
    fit_context context = {.config = config, .seed = 1, .user = s, .progress = go_on, .save = keep, .load = kept};
    d->set.train.items = d->rows;
    ft_status status = gnn_fit(&kind, &d->set, &context, m, NULL);
    json_decref(config);
    return status;
}

static size_t saved_floats(const void *m) {
    float_block block = {0};
    json_t *params = NULL;
    assert_int_equal(gnn_save(m, &params, &block, NULL), FT_OK);
    size_t count = block.count;
    json_decref(params);
    float_block_free(&block);
    return count;
}

/* The parameters of a model's first network. */
static const params *values_of(const void *model) {
    const gnn_model *m = model;
    return &m->members[0].values;
}

/* Without offsets the network takes the difference of the groups for an effect of work; with them it finds the effect
 * of work. Offsets are not saved, and training resumes after a stop. */
static void group_offsets_are_not_learned(void **state) {
    (void)state;
    made d = make_names();
    void *misled = NULL, *right = NULL, *again = NULL;
    stopping never = {0}, once = {.stop_after = 150};
    assert_int_equal(fit_names(&d, 0, &never, &misled), FT_OK);
    free(never.kept);
    never = (stopping){0};
    assert_int_equal(fit_names(&d, 0.9, &never, &right), FT_OK);
    assert_true(values_of(misled)->values[0] < 0 && values_of(right)->values[0] > 0);
    assert_int_equal(saved_floats(misled), saved_floats(right));
    assert_int_equal(fit_names(&d, 0.9, &once, &again), FT_ERR_CANCELLED);
    once.stop_after = 0;
    assert_int_equal(fit_names(&d, 0.9, &once, &again), FT_OK);
    assert_memory_equal(values_of(right)->values, values_of(again)->values,
                        values_of(right)->total_count * sizeof(float));
    free(never.kept);
    free(once.kept);
    gnn_free(misled);
    gnn_free(right);
    gnn_free(again);
    ft_dataset_free(d.data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(labels_are_in_columns),        IN_FOLDER(repeats_are_averaged),
        IN_FOLDER(validation_adds_no_columns),   IN_FOLDER(scaling_is_fitted_to_training),
        IN_FOLDER(requests_find_their_column),   IN_FOLDER(predictions_are_precomputed_once),
        IN_FOLDER(group_offsets_are_not_learned)};
    return cmocka_run_group_tests_name("predictor/gnn_family", tests, NULL, NULL);
}
