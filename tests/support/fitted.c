/* fitted.c - a family fitted to a synthetic data set. */
#include "support/fitted.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/core/scan.h"
#include "support/failing.h"

const char *const fitted_devices[FITTED_DEVICES] = {"adreno-640", "cortex-a76"};

fit_row *fitted_rows(const ft_dataset *data, fit_set *set) {
    uint32_t count = ft_dataset_record_count(data), train = 0, valid = 0;
    const ft_record *records = ft_dataset_records(data);
    fit_row *rows = calloc((size_t)count + 1, sizeof *rows);
    assert_non_null(rows);
    for (int is_valid = 0; is_valid < 2; is_valid++) {
        for (uint32_t i = 0; i < count; i++) {
            if ((records[i].graph % 8 == 7) != (is_valid == 1)) continue;
            uint32_t device = strcmp(records[i].device, fitted_devices[1]) == 0;
            rows[train + valid] = (fit_row){i, records[i].graph, device, records[i].metrics[0]};
            *(is_valid ? &valid : &train) += 1;
        }
    }
    *set = (fit_set){.data = data,
                     .metric = "time_us",
                     .devices = fitted_devices,
                     .device_count = FITTED_DEVICES,
                     .train = {rows, train},
                     .valid = {rows + train, valid}};
    return rows;
}

static json_t *parse(const char *text) {
    json_t *json = NULL;
    if (text != NULL) assert_int_equal(json_parse(text, strlen(text), &json, NULL), FT_OK);
    return json;
}

static ft_status fit(const fitted *f, pool *threads, const char *config, void **m, ft_error *error) {
    json_t *settings = parse(config);
    fit_context context = {.config = settings, .seed = 5, .threads = threads};
    ft_status status = f->family->fit(&f->set, &context, m, error);
    json_decref(settings);
    return status;
}

static buf encode(const fitted *f, const void *m) {
    predictor_description about = {.metric.name = "time_us", .devices = fitted_devices, .device_count = FITTED_DEVICES};
    buf bytes = {0};
    ft_error error;
    if (predictor_encode(&about, f->family, m, &bytes, &error) != FT_OK) fail_msg("%s", error.message);
    return bytes;
}

/* Fits, saves and opens. */
static void fit_and_open(fitted *f, const char *config) {
    ft_error error;
    if (fit(f, NULL, config, &f->model, &error) != FT_OK) fail_msg("%s", error.message);
    buf bytes = encode(f, f->model);
    if (ft_predictor_open_memory(bytes.data, bytes.length, "made", &f->opened, &error) != FT_OK)
        fail_msg("%s", error.message);
    buf_free(&bytes);
}

fitted fit_synth(const char *name, synth_rule *rule, const char *config) {
    fitted f = {.family = family_find(name)};
    assert_non_null(f.family);
    f.data = synth_data("data", FITTED_NETWORKS, fitted_devices, FITTED_DEVICES, rule);
    f.rows = fitted_rows(f.data, &f.set);
    fit_and_open(&f, config);
    return f;
}

void fitted_refit(fitted *f, const char *config) {
    ft_predictor_free(f->opened);
    f->family->free(f->model);
    fit_and_open(f, config);
}

void fitted_free(fitted *f) {
    ft_predictor_free(f->opened);
    f->family->free(f->model);
    f->family->free(NULL);
    free(f->rows);
    ft_dataset_free(f->data);
}

static void check_parts(const model_output *p, const ft_graph *bound) {
    double sum = 0;
    uint8_t *use_count = calloc(ft_graph_op_count(bound), 1);
    assert_non_null(use_count);
    for (uint32_t i = 0; i < p->part_count; i++) {
        sum += p->parts[i].value;
        assert_non_null(p->parts[i].type);
        assert_true(p->parts[i].value >= 0);
        for (uint32_t k = 0; k < p->parts[i].op_count; k++) assert_int_equal(use_count[p->parts[i].ops[k]]++, 0);
    }
    free(use_count);
    if (p->part_count > 0) assert_true(fabs(sum - p->value) <= 1e-9 * p->value);
}

static void check_row(const fitted *f, const fit_row *row, double tolerance) {
    const ft_record *record = &ft_dataset_records(f->data)[row->record];
    scan_graph graph;
    ft_error error;
    assert_int_equal(scan_graph_open(f->data, record, &graph, &error), FT_OK);
    ft_request request = scan_request(record);
    model_view s;
    model_view_init(&s, graph.bound, &request);
    arena memory;
    arena_init(&memory, 1 << 24);
    target_device target = predictor_target(f->opened, row->device);
    model_output whole, split, again;
    assert_int_equal(f->family->predict(f->model, &(predict_input){&s, &target, &memory, false}, &whole, &error),
                     FT_OK);
    assert_int_equal(f->family->predict(f->model, &(predict_input){&s, &target, &memory, true}, &split, &error), FT_OK);
    assert_int_equal(predictor_predict(f->opened, &(predict_input){&s, &target, &memory, true}, &again, &error), FT_OK);
    if (!(fabs(whole.value / row->label - 1) <= tolerance))
        fail_msg("record %u on %s: %g instead of %g", row->record, record->device, whole.value, row->label);
    assert_true(whole.value == split.value && split.value == again.value && split.spread == again.spread);
    assert_int_equal(split.part_count, again.part_count);
    assert_int_equal(whole.part_count, 0);
    assert_true(whole.spread > 0);
    assert_true(whole.coverage_ratio >= 0 && whole.coverage_ratio <= 1);
    check_parts(&split, graph.bound);
    arena_free(&memory);
    model_view_free(&s);
    scan_graph_free(&graph);
}

void fitted_check(const fitted *f, double tolerance) {
    for (uint32_t i = 0; i < f->set.train.count + f->set.valid.count; i++) check_row(f, &f->rows[i], tolerance);
}

void fitted_check_threads(const fitted *f, const char *config) {
    buf expected = encode(f, f->model);
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        pool *p = NULL;
        void *m = NULL;
        ft_error error;
        assert_int_equal(pool_new(threads, &p, &error), FT_OK);
        if (fit(f, p, config, &m, &error) != FT_OK) fail_msg("%s", error.message);
        buf bytes = encode(f, m);
        assert_int_equal(bytes.length, expected.length);
        assert_memory_equal(bytes.data, expected.data, bytes.length);
        buf_free(&bytes);
        f->family->free(m);
        pool_free(p);
    }
    buf_free(&expected);
}

/* --- Cancelling and resuming --------------------------------------------------------------------------------- */

/* In place of a run folder. */
typedef struct saved_state {
    double stop_at; /* share of the work at which the fit is cancelled */
    buf state;
    uint32_t saves;
} saved_state;

static bool on_progress(void *user, double done_ratio, const char *what) {
    (void)what;
    return done_ratio < ((const saved_state *)user)->stop_at;
}

static ft_status on_save(void *user, const void *state, size_t size, ft_error *error) {
    (void)error;
    saved_state *k = user;
    buf_free(&k->state);
    buf_add(&k->state, state, size);
    k->saves++;
    assert_false(k->state.failed);
    return FT_OK;
}

static const void *on_load(void *user, size_t *size) {
    const saved_state *k = user;
    *size = k->state.length;
    return k->state.data;
}

static ft_status fit_some(const fitted *f, const json_t *config, saved_state *k, void **m, ft_error *error) {
    fit_context context = {
        .config = config, .seed = 5, .user = k, .progress = on_progress, .save = on_save, .load = on_load};
    return f->family->fit(&f->set, &context, m, error);
}

void fitted_check_resume(const fitted *f, const char *config, uint32_t points) {
    json_t *settings = parse(config);
    buf expected = encode(f, f->model);
    saved_state k = {.stop_at = 0};
    uint32_t stops = 0, resumed = 0;
    void *m = NULL;
    ft_error error;
    for (uint32_t i = 1; i < points && m == NULL; i++) {
        k.stop_at = (double)i / points;
        resumed += k.saves > 0;
        ft_status status = fit_some(f, settings, &k, &m, &error);
        if (status != FT_OK) assert_int_equal(status, FT_ERR_CANCELLED);
        stops += status != FT_OK;
    }
    assert_true(stops > 1 && resumed > 1);
    k.stop_at = 2;
    f->family->free(m);
    m = NULL;
    if (fit_some(f, settings, &k, &m, &error) != FT_OK) fail_msg("%s", error.message);
    buf bytes = encode(f, m);
    assert_int_equal(bytes.length, expected.length);
    assert_memory_equal(bytes.data, expected.data, bytes.length);
    f->family->free(m);
    m = NULL;
    k.state.length -= sizeof(float);
    assert_int_equal(fit_some(f, settings, &k, &m, &error), FT_ERR_DAMAGED);
    assert_null(m);
    buf_free(&k.state);
    buf_free(&bytes);
    buf_free(&expected);
    json_decref(settings);
}

static ft_status fit_save_load(const family *f, const fit_set *set) {
    fit_context context = {0};
    void *m = NULL, *again = NULL;
    json_t *params = NULL;
    float_block block = {0};
    ft_status status = f->fit(set, &context, &m, NULL);
    if (status == FT_OK) status = f->save(m, &params, &block, NULL);
    if (status == FT_OK) status = f->load(params, block.items, block.count, fitted_devices, 2, &again, NULL);
    f->free(m);
    f->free(again);
    json_decref(params);
    float_block_free(&block);
    return status;
}

void fitted_check_memory(const char *name, synth_rule *rule) {
    ft_dataset *data = synth_data("small", 2, fitted_devices, FITTED_DEVICES, rule);
    fit_set set;
    fit_row *rows = fitted_rows(data, &set);
    const family *f = family_find(name);
    assert_non_null(f);
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = fit_save_load(f, &set);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    free(rows);
    ft_dataset_free(data);
}

void fitted_check_refusals(const fitted *f) {
    void *m = NULL;
    ft_error error;
    assert_int_equal(fit(f, NULL, "{\"speed\": 1}", &m, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "no setting 'speed'"));
    fitted other = *f;
    other.set.train.count = 1;
    assert_int_equal(fit(&other, NULL, NULL, &m, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "has no record of the device"));
    assert_null(m);
}

void fitted_refuses(const fitted *f, const char *params, int floats, const char *part) {
    json_t *own = NULL, *other = parse(params);
    float_block block = {0};
    static const float more[8] = {0};
    ft_error error = {.message = ""};
    void *m = NULL;
    assert_int_equal(f->family->save(f->model, &own, &block, &error), FT_OK);
    if (floats > 0) assert_true(float_block_add(&block, more, (size_t)floats));
    size_t count = floats < 0 ? block.count - (size_t)-floats : block.count;
    float *exact = malloc(count * sizeof *exact + 1); /* so that sanitizers catch a read past the end */
    assert_non_null(exact);
    memcpy(exact, block.items, count * sizeof *exact);
    ft_status status =
        f->family->load(other != NULL ? other : own, exact, count, fitted_devices, FITTED_DEVICES, &m, &error);
    if (status == FT_OK || strstr(error.message, part) == NULL)
        fail_msg("%s, %d: status %d, \"%s\"", params != NULL ? params : "own", floats, status, error.message);
    assert_null(m);
    free(exact);
    float_block_free(&block);
    json_decref(own);
    json_decref(other);
}
