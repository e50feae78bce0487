/* Tests of adapting one metric of several, and of measurements that cannot be predicted, with a family made for this
 * test: a factor per metric and device, times the number of operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "foretell/foretell.h"
#include "learn/adapt/adapt_fit.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/synth_data.h"

#include "support/factor_model.h"

enum { METRICS = 2, DEVICES = 2, NETWORKS = 24 };

static const char *const metric_names[METRICS] = {"time_us", "peak_bytes"};
static const char *const devices[DEVICES] = {"adreno-640", "cortex-a76"};
static const char unmet[] = "tiles=9";

/* --- The family ---------------------------------------------------------------------------------------------- */

static bool is_reading; /* data sheets, which it makes little of: to it all models take the same time */

static bool reads_sheets(const void *model) {
    const factor_model *m = model;
    (void)m;
    return is_reading;
}

/* Factors of a metric lie side by side, as if they were those of as many devices. */
static ft_status load(const json_t *params, const float *block, size_t count, const char *const *names,
                      uint32_t device_count, void **out, ft_error *error) {
    return factor_load(params, block, count, names, METRICS * device_count, out, error);
}

static ft_status predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const factor_model *m = model;
    target_device of_metric = *in->target;
    if (in->view->request.setting != NULL && strcmp(in->view->request.setting, unmet) == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "made was not trained on '%s'", in->view->request.setting);
    if (in->target->index == FT_NONE) {
        *out = (model_output){.value = 100, .spread = 1};
        return FT_OK;
    }
    of_metric.index += in->target->output * DEVICES;
    return factor_predict(m, &(predict_input){in->view, &of_metric, in->memory, in->has_parts}, out, error);
}

static const family family_made = {.name = "made",
                                   .text = "for tests",
                                   .schema = "made 1",
                                   .capabilities = FAMILY_MULTI_METRIC,
                                   .save = factor_save,
                                   .load = load,
                                   .predict = predict,
                                   .optional = {.reads_sheets = reads_sheets},
                                   .free = factor_free};
static ft_predictor *open_made(void) {
    factor_model m = {.log_factor = {log(10), log(20), log(100), log(200)}, .device_count = METRICS * DEVICES};
    const predictor_metric other = {.name = metric_names[1]};
    const predictor_description about = {.metric.name = metric_names[0],
                                         .others = &other,
                                         .other_count = 1,
                                         .devices = devices,
                                         .device_count = DEVICES};
    return factor_open(&about, &family_made, &m);
}

/* --- The data ------------------------------------------------------------------------------------------------ */

/* Times are twice, bytes three times the predictions for the Adreno; every `unmet_each`-th record has a setting that
 * the model was not trained on. */
static ft_dataset *measured(const char *folder, const char *device, uint32_t unmet_each) {
    builder *b = synth_begin_of(folder, metric_names, METRICS);
    for (uint32_t i = 0; i < NETWORKS; i++) {
        ft_graph *graph = synth_network(i);
        double ops = ft_graph_op_count(graph), labels[METRICS] = {2 * 10 * ops, 3 * 100 * ops};
        char name[] = {'a', 'a', '\0'};
        name[1] = (char)(name[1] + (char)i);
        synth_add(b, &(synth_record){.network = i,
                                     .name = name,
                                     .family = "one",
                                     .device = device,
                                     .setting = unmet_each > 0 && i % unmet_each == 0 ? unmet : NULL,
                                     .metrics = labels});
        ft_graph_free(graph);
    }
    return synth_end(b, folder);
}

static ft_adaptation adapt(const ft_predictor *from, const ft_dataset *data, const ft_adapt_options *options,
                           const char *path) {
    ft_adaptation a;
    ft_error error;
    if (ft_adapt(from, data, options, path, &a, &error) != FT_OK) fail_msg("%s", error.message);
    return a;
}

static ft_predictor *open_file(const char *path) {
    ft_predictor *p;
    ft_error error;
    if (ft_predictor_open(path, &p, &error) != FT_OK) fail_msg("%s", error.message);
    return p;
}

/* The prediction of a metric for one operator; NaN when it is not supported. */
static double asked(const ft_predictor *p, const char *metric, const char *device) {
    ft_graph *graph = synth_network(7), *bound;
    ft_error error;
    ft_result answer;
    const ft_predictor *link = ft_predictor_find(p, metric);
    double value = NAN;
    assert_non_null(link);
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
    double ops = ft_graph_op_count(bound);
    if (ft_predictor_predict(link, bound, &(ft_request){.device = device}, &answer, &error) == FT_OK) {
        value = answer.metrics[0].value / ops;
        ft_result_free(&answer);
    }
    ft_graph_free(bound);
    ft_graph_free(graph);
    return value;
}

static void assert_near(double value, double expected) {
    if (!(fabs(value / expected - 1) < 1e-3)) fail_msg("%g instead of %g", value, expected);
}

/* --- Tests --------------------------------------------------------------------------------------------------- */

static void test_unsupported_measurements_are_left_out(void **state) {
    (void)state;
    ft_predictor *from = open_made();
    ft_dataset *data = measured("data", "adreno-640", 3);
    ft_adaptation a = adapt(from, data, &(ft_adapt_options){.budget = 15, .threads = 2}, "a.ftm");
    assert_int_equal(a.device_count, 1);
    assert_true(a.devices[0].records < 15 && a.devices[0].records > 5);
    assert_near(a.devices[0].scale, 2);
    bool is_noted = false;
    for (uint32_t i = 0; i < a.note_count; i++)
        is_noted =
            is_noted ||
            (strstr(a.notes[i], "of 15 measurements to learn from cannot be predicted and are left out: made was not "
                                "trained on 'tiles=9'") != NULL);
    assert_true(is_noted);
    assert_int_equal(a.devices[0].records + a.after.case_count, NETWORKS - NETWORKS / 3);
    assert_true(a.before.refused == a.after.refused && a.after.refused > 0);
    assert_true(a.before.scores[0].mape > 45 && a.after.scores[0].mape < 0.1);
    ft_adaptation_free(&a);
    ft_dataset_free(data);
    data = measured("none", "adreno-640", 1);
    ft_error error;
    assert_int_equal(ft_adapt(from, data, &(ft_adapt_options){.budget = 9}, "b.ftm", &a, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(
        strstr(error.message, "'adreno-640': none of its 9 measurements can be predicted: made was not trained"));
    ft_dataset_free(data);
    ft_predictor_free(from);
}

static void test_one_metric_of_several(void **state) {
    (void)state;
    ft_predictor *from = open_made();
    ft_dataset *data = measured("data", "adreno-640", 0), *other = measured("new", "myriad-vpu", 0);
    ft_adaptation a =
        adapt(from, data, &(ft_adapt_options){.budget = 9, .metric = "peak_bytes", .threads = 1}, "a.ftm");
    assert_string_equal(a.after.metric, "peak_bytes");
    assert_true(a.after.scores[0].mape < 0.1);
    ft_adaptation_free(&a);
    ft_predictor *first = open_file("a.ftm");
    assert_near(asked(first, "peak_bytes", "adreno-640"), 300);
    assert_near(asked(first, "peak_bytes", "cortex-a76"), 200);
    assert_near(asked(first, "time_us", "adreno-640"), 10); /* as it was */
    assert_non_null(strstr(ft_predictor_header(first), "\"adapted\""));

    /* Then the other metric, on a device that is new to both: the adjustment of the first stays. */
    a = adapt(first, other, &(ft_adapt_options){.budget = 9, .threads = 1}, "b.ftm");
    assert_true(a.devices[0].is_new);
    ft_adaptation_free(&a);
    ft_predictor *second = open_file("b.ftm");
    assert_int_equal(ft_predictor_device_count(second), 3);
    assert_int_equal(ft_predictor_device_count(ft_predictor_find(second, "peak_bytes")), 2);
    assert_near(asked(second, "time_us", "myriad-vpu"), 20);
    assert_near(asked(second, "time_us", "adreno-640"), 10);
    assert_near(asked(second, "peak_bytes", "adreno-640"), 300);
    assert_true(isnan(asked(second, "peak_bytes", "myriad-vpu")));

    ft_error error;
    ft_adapt_options options = {.budget = 9, .method = "tune-all"};
    assert_int_equal(ft_adapt(from, data, &options, "c.ftm", &a, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "the model predicts 2 metrics"));
    options = (ft_adapt_options){.budget = 9};
    assert_int_equal(ft_adapt(ft_predictor_next(from), data, &options, "c.ftm", &a, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "first predictor of the file"));
    ft_predictor_free(second);
    ft_predictor_free(first);
    ft_dataset_free(other);
    ft_dataset_free(data);
    ft_predictor_free(from);
}

/* A known device that is more similar to the new one than its data sheet is the base. */
static void test_a_known_device_beats_a_sheet(void **state) {
    (void)state;
    ft_predictor *from = open_made();
    ft_dataset *data = measured("data", "myriad-vpu", 0);
    is_reading = true;
    ft_adaptation a = adapt(from, data, &(ft_adapt_options){.budget = 9, .method = "scale", .threads = 1}, "a.ftm");
    assert_true(a.devices[0].is_new && a.before.case_count == a.after.case_count);
    assert_non_null(a.devices[0].base);
    assert_true(a.before.scores[0].mape > 10 && a.after.scores[0].mape < 0.1);
    ft_adaptation_free(&a);
    ft_predictor *adapted = open_file("a.ftm");
    assert_near(asked(adapted, "time_us", "myriad-vpu"), 20);
    is_reading = false;
    ft_predictor_free(adapted);
    ft_dataset_free(data);
    ft_predictor_free(from);
}

/* --- Baselines ----------------------------------------------------------------------------------------------- */

enum { MAX_MODELS = 10, DRAWS = 45 };

typedef struct model_times {
    uint32_t count;
    double flops[MAX_MODELS], times[MAX_MODELS];
} model_times;

/* Times of models at random rates of FLOPs, bytes and operators, with noise; every third time, of no rule at all. */
static ft_dataset *measured_at_random(const char *folder, const char *device, rng *random, model_times *m) {
    builder *b = synth_begin(folder);
    double rates[3], noise = 0.5 * rng_uniform(random);
    bool has_rule = rng_below(random, 3) != 0;
    for (uint32_t k = 0; k < 3; k++) rates[k] = (k < 2 ? 1e-5 : 1) * exp(2 * rng_normal(random));
    m->count = 2 + rng_below(random, MAX_MODELS - 1);
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t number = 3 * i + rng_below(random, 3);
        ft_graph *graph = synth_network(number), *bound;
        assert_int_equal(ft_graph_bind(graph, NULL, &bound, NULL), FT_OK);
        ft_op_cost cost = synth_cost(bound);
        double bytes = (double)cost.forward.read_bytes + (double)cost.forward.write_bytes;
        m->flops[i] = (double)cost.forward.flops;
        double time = rates[0] * m->flops[i] + rates[1] * bytes + rates[2] * ft_graph_op_count(bound);
        m->times[i] = (has_rule ? time : 100) * exp((has_rule ? noise : 2) * rng_normal(random));
        char name[] = {'a', (char)('a' + i), '\0'};
        synth_add(b, &(synth_record){
                         .network = number, .name = name, .family = "one", .device = device, .time_us = m->times[i]});
        ft_graph_free(bound);
        ft_graph_free(graph);
    }
    return synth_end(b, folder);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The simplest baseline, computed here: each model from the median of time / FLOPs of all others; MAPE. */
static double mape_of_flops(const model_times *m) {
    double sum = 0;
    for (uint32_t left_out = 0; left_out < m->count; left_out++) {
        double logs[MAX_MODELS];
        uint32_t n = 0;
        for (uint32_t i = 0; i < m->count; i++)
            if (i != left_out) logs[n++] = log(m->times[i] / m->flops[i]);
        qsort(logs, n, sizeof *logs, by_value);
        double rate = exp((logs[(n - 1) / 2] + logs[n / 2]) / 2);
        sum += fabs(rate * m->flops[left_out] / m->times[left_out] - 1);
    }
    return 100 * sum / m->count;
}

/* Whatever was measured, the chosen method is no worse in cross-validation than any baseline, and a device is not
 * predicted from one of another kind. */
static void test_no_baseline_is_better(void **state) {
    (void)state;
    static const char *const new_devices[] = {"i9-10940x", "rtx-3090", "myriad-vpu"};
    ft_predictor *from = open_made();
    uint32_t baselines = 0;
    rng random;
    rng_init(&random, 27, 0);
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        char folder[] = {'d', (char)('a' + draw / 26), (char)('a' + draw % 26), '\0'};
        const char *device = new_devices[draw % 3];
        model_times m;
        ft_dataset *data = measured_at_random(folder, device, &random, &m);
        ft_adaptation a = adapt(from, data, &(ft_adapt_options){.budget = m.count, .threads = 1}, "a.ftm");
        const ft_adapted_device *d = &a.devices[0];
        if (!(d->cv <= d->cv_work) || !(d->cv <= mape_of_flops(&m) * (1 + 1e-4)))
            fail_msg("%u: %s has %g %%, a baseline %g %%, FLOPs %g %%", draw, d->method, d->cv, d->cv_work,
                     mape_of_flops(&m));
        if (draw % 3 == 0 && d->base != NULL) assert_string_equal(d->base, "cortex-a76");
        if (draw % 3 == 1 && d->base != NULL) assert_string_equal(d->base, "adreno-640");
        baselines += strncmp(d->method, "flops", 5) == 0 || strcmp(d->method, "operators") == 0;
        ft_predictor *adapted = open_file("a.ftm");
        assert_true(asked(adapted, "time_us", device) > 0);
        ft_predictor_free(adapted);
        ft_adaptation_free(&a);
        ft_dataset_free(data);
    }
    assert_true(baselines > DRAWS / 4);
    ft_predictor_free(from);
}

/* Times of FLOPs and bytes alone are found again by two numbers. */
static void test_rates_are_found(void **state) {
    (void)state;
    ft_predictor *from = open_made();
    builder *b = synth_begin("data");
    for (uint32_t i = 0; i < NETWORKS; i++) {
        ft_graph *graph = synth_network(i), *bound;
        assert_int_equal(ft_graph_bind(graph, NULL, &bound, NULL), FT_OK);
        ft_op_cost cost = synth_cost(bound);
        double time = 3e-6 * (double)cost.forward.flops +
                      5e-6 * ((double)cost.forward.read_bytes + (double)cost.forward.write_bytes);
        char name[] = {'a', (char)('a' + i), '\0'};
        synth_add(b,
                  &(synth_record){.network = i, .name = name, .family = "one", .device = "i9-10940x", .time_us = time});
        ft_graph_free(bound);
        ft_graph_free(graph);
    }
    ft_dataset *data = synth_end(b, "data");
    ft_adaptation a = adapt(from, data, &(ft_adapt_options){.budget = 10, .threads = 1}, "a.ftm");
    if (!(a.devices[0].cv < 1 && a.after.scores[0].mape < 1))
        fail_msg("%s: %g %%", a.devices[0].method, a.after.scores[0].mape);
    assert_non_null(strstr(a.devices[0].method, "flops+bytes"));
    assert_true(a.after.scores[0].coverage90 == 100 && a.devices[0].q90 > 0.03); /* ten models prove no 1 % */
    ft_adaptation_free(&a);
    ft_dataset_free(data);
    ft_predictor_free(from);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    ft_predictor *from = open_made();
    ft_dataset *data = measured("data", "myriad-vpu", 3);
    for (long n = 0;; n++) {
        ft_adaptation a;
        ft_error error;
        failing_start(n);
        ft_status status = ft_adapt(from, data, &(ft_adapt_options){.budget = 6, .metric = "peak_bytes", .threads = 1},
                                    "a.ftm", &a, &error);
        bool has_failed = failing_stop();
        ft_adaptation_free(&a);
        if (!has_failed) {
            assert_int_equal(status, FT_OK);
            break;
        }
        if (status != FT_OK) assert_int_equal(status, FT_ERR_NOMEM); /* notes may be left out */
    }
    ft_dataset_free(data);
    ft_predictor_free(from);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_enter, folder_leave)

int main(void) {
    use_only_family(&family_made);
    const struct CMUnitTest tests[] = {
        TEST(test_unsupported_measurements_are_left_out),
        TEST(test_one_metric_of_several),
        TEST(test_a_known_device_beats_a_sheet),
        TEST(test_no_baseline_is_better),
        TEST(test_rates_are_found),
        TEST(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
