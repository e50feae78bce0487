/* Tests of adapting: a device that became slower, a new device, few models, lists of models, and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "foretell/foretell.h"
#include "learn/adapt/adapt_fit.h"
#include "learn/adapt/adapt_trial.h"
#include "support/failing.h"
#include "support/fitted.h"
#include "support/folder.h"
#include "support/small_set.h"

#define QUICK "{\"hidden\": 4, \"members\": 2, \"steps\": 60, \"batch\": 16, \"rounds\": 0}"

enum { NETWORKS = 48 };

/* Times of the synthetic networks: a start-up, and unit costs of work and bytes, by device. */
static double time_of(const ft_graph *bound, double start, double work, double bytes) {
    ft_work w = synth_cost(bound).forward;
    return start + work * (double)w.flops + bytes * ((double)w.read_bytes + (double)w.write_bytes);
}

static double old_rule(const ft_graph *bound, const char *device) {
    return strcmp(device, "adreno-640") == 0 ? time_of(bound, 1, 1e-3, 1e-3) : time_of(bound, 1, 3e-3, 2e-3);
}

/* The Adreno became twice as slow; the VPU is new, with unit costs of its own. */
static double new_rule(const ft_graph *bound, const char *device) {
    if (strcmp(device, "myriad-vpu") == 0) return time_of(bound, 1, 2e-3, 5e-3);
    return 2 * old_rule(bound, device);
}

static fitted first(const char *name, const char *config) {
    return fit_synth(name, old_rule, config);
}

static ft_dataset *measured(const char *device) {
    const char *const devices[] = {device};
    return synth_data("new", NETWORKS, devices, 1, new_rule);
}

static ft_adaptation adapt(const fitted *f, const ft_dataset *data, const ft_adapt_options *options) {
    ft_adaptation a;
    ft_error error;
    if (ft_adapt(f->opened, data, options, "a.ftm", &a, &error) != FT_OK) fail_msg("%s", error.message);
    return a;
}

static void refuses(const fitted *f, const ft_dataset *data, const ft_adapt_options *options, ft_status status,
                    const char *part) {
    ft_adaptation a;
    ft_error error;
    assert_int_equal(ft_adapt(f->opened, data, options, "no.ftm", &a, &error), status);
    if (strstr(error.message, part) == NULL) fail_msg("'%s' has no '%s'", error.message, part);
    assert_null(fopen("no.ftm", "r"));
    assert_null(a.owner);
}

static void test_scale_is_found(void **state) {
    (void)state;
    fitted f = first("flops-mem", NULL);
    ft_dataset *data = measured("adreno-640");
    ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.budget = 4, .threads = 1});
    assert_int_equal(a.device_count, 1);
    assert_string_equal(a.devices[0].device, "adreno-640");
    assert_string_equal(a.devices[0].method, "scale");
    assert_false(a.devices[0].is_new);
    assert_null(a.devices[0].base);
    assert_true(fabs(a.devices[0].scale - 2) < 0.05);
    assert_int_equal(a.model_count, 4);
    assert_int_equal(a.before.case_count, NETWORKS - 4);
    assert_int_equal(a.after.case_count, NETWORKS - 4);
    assert_true(a.before.scores[0].mape > 45 && a.after.scores[0].mape < 3);
    assert_int_equal(a.note_count, 1);
    assert_non_null(strstr(a.notes[0], "only the scale is fitted"));
    ft_adaptation_free(&a);
    ft_dataset_free(data);
    fitted_free(&f);
}

/* The file is an ordinary predictor: its header describes it, parts add up, and old devices do not change. */
static void check_file(const fitted *f, const char *device, double mape) {
    ft_predictor *p;
    ft_error error;
    ft_graph *graph = synth_network(5), *bound;
    ft_result now, before;
    if (ft_predictor_open("a.ftm", &p, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_predictor_device_count(p), 3);
    assert_non_null(strstr(ft_predictor_header(p), "\"adapted\""));
    assert_non_null(strstr(ft_predictor_header(p), "+adapted"));
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
    assert_int_equal(ft_predictor_predict(p, bound, &(ft_request){.device = device}, &now, &error), FT_OK);
    double sum = 0;
    for (uint32_t i = 0; i < now.metrics[0].part_count; i++) sum += now.metrics[0].parts[i].value;
    assert_true(now.metrics[0].part_count == 0 || fabs(sum / now.metrics[0].value - 1) < 1e-6);
    assert_true(fabs(now.metrics[0].value / new_rule(bound, device) - 1) < mape / 20) /* one model may be far off */;
    assert_true(now.metrics[0].lo < now.metrics[0].value && now.metrics[0].value < now.metrics[0].hi);
    ft_result_free(&now);
    assert_int_equal(ft_predictor_predict(p, bound, &(ft_request){.device = "cortex-a76"}, &now, &error), FT_OK);
    assert_int_equal(ft_predictor_predict(f->opened, bound, &(ft_request){.device = "cortex-a76"}, &before, &error),
                     FT_OK);
    assert_true(now.metrics[0].value == before.metrics[0].value);
    ft_result_free(&now);
    ft_result_free(&before);
    ft_graph_free(bound);
    ft_graph_free(graph);
    ft_predictor_free(p);
}

static void test_a_new_device(void **state) {
    (void)state;
    fitted f = first("kernel-sum", QUICK);
    ft_dataset *data = measured("myriad-vpu");
    ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.budget = 16, .threads = 1});
    assert_true(a.devices[0].is_new);
    assert_int_equal(a.before.case_count, 0);
    assert_int_equal(a.after.case_count, NETWORKS - 16);
    /* No known device is an NPU, and the times are those of FLOPs and bytes. */
    assert_true(isnan(a.devices[0].cv_scale) && a.after.scores[0].mape < 1);
    assert_string_equal(a.devices[0].method, "flops+bytes");
    assert_true(a.after.scores[0].coverage90 > 60);
    check_file(&f, "myriad-vpu", 15);
    ft_adaptation_free(&a);
    /* Without that baseline there is a base. */
    a = adapt(&f, data, &(ft_adapt_options){.budget = 16, .method = "refit", .threads = 1});
    assert_true(isnan(a.devices[0].cv_work));
    assert_non_null(a.devices[0].base);
    if (!(a.after.scores[0].mape < 15))
        fail_msg("%g by %s of %s", a.after.scores[0].mape, a.devices[0].method, a.devices[0].base);
    assert_true(a.after.scores[0].coverage90 > 60);
    check_file(&f, "myriad-vpu", 15);
    ft_adaptation_free(&a);
    ft_dataset_free(data);
    fitted_free(&f);
}

static void test_families_without_pieces(void **state) {
    (void)state;
    fitted f = first("totals-gbt", "{\"rounds\": 20}");
    ft_dataset *data = measured("myriad-vpu");
    ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.budget = 24, .threads = 1});
    assert_true(a.after.scores[0].mape < 30);
    check_file(&f, "myriad-vpu", 200);
    ft_adaptation_free(&a);
    ft_dataset_free(data);
    fitted_free(&f);
}

static void test_threads_and_seeds(void **state) {
    (void)state;
    fitted f = first("kernel-sum", QUICK);
    ft_dataset *data = measured("myriad-vpu");
    ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.budget = 12, .threads = 1});
    char *one = read_text("a.ftm");
    ft_adaptation b = adapt(&f, data, &(ft_adapt_options){.budget = 12, .threads = 3});
    char *three = read_text("a.ftm");
    ft_adaptation c = adapt(&f, data, &(ft_adapt_options){.budget = 12, .threads = 1, .seed = 1});
    assert_true(a.after.scores[0].mape == b.after.scores[0].mape);
    assert_string_equal(one, three);
    assert_true(a.after.scores[0].mape != c.after.scores[0].mape);
    free(one);
    free(three);
    ft_adaptation_free(&a);
    ft_adaptation_free(&b);
    ft_adaptation_free(&c);
    ft_dataset_free(data);
    fitted_free(&f);
}

/* Networks that are trained further learn that a device became twice as slow; other devices do not change when only the
 * last layers are trained. */
static void test_networks_are_trained_further(void **state) {
    (void)state;
    /* With trees, which other devices keep as well. */
    fitted f = first("kernel-sum", "{\"hidden\": 4, \"members\": 2, \"steps\": 60, \"batch\": 16, \"rounds\": 3}");
    ft_dataset *data = measured("adreno-640");
    static const char *const methods[] = {"tune-last", "tune-all"};
    for (uint32_t i = 0; i < 2; i++) {
        ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.budget = 16, .method = methods[i], .threads = 1});
        assert_string_equal(a.devices[0].method, methods[i]);
        if (!(a.after.scores[0].mape < 0.7 * a.before.scores[0].mape))
            fail_msg("%s: %g after %g", methods[i], a.after.scores[0].mape, a.before.scores[0].mape);
        assert_true(a.devices[0].q90 > 0 && a.devices[0].cv > 0);
        ft_adaptation_free(&a);
        ft_predictor *p;
        ft_error error;
        ft_graph *graph = synth_network(5), *bound;
        ft_result now, before;
        assert_int_equal(ft_predictor_open("a.ftm", &p, &error), FT_OK);
        assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
        assert_int_equal(ft_predictor_predict(p, bound, &(ft_request){.device = "cortex-a76"}, &now, &error), FT_OK);
        assert_int_equal(ft_predictor_predict(f.opened, bound, &(ft_request){.device = "cortex-a76"}, &before, &error),
                         FT_OK);
        assert_true(now.metrics[0].value == before.metrics[0].value); /* of another runtime: other networks */
        ft_result_free(&now);
        ft_result_free(&before);
        ft_graph_free(bound);
        ft_graph_free(graph);
        ft_predictor_free(p);
    }
    refuses(&f, data, &(ft_adapt_options){.budget = 3, .method = "tune-last"}, FT_ERR_USAGE, "too few to train on");
    ft_dataset_free(data);
    data = synth_data("other", NETWORKS, (const char *const[]){"myriad-vpu"}, 1, new_rule);
    refuses(&f, data, &(ft_adapt_options){.budget = 9, .method = "tune-all"}, FT_ERR_USAGE, "use refit for a new one");
    ft_dataset_free(data);
    fitted_free(&f);
}

static void test_lists(void **state) {
    (void)state;
    fitted f = first("flops-mem", NULL);
    ft_dataset *data = measured("adreno-640");
    write_text("list.csv", "name,weight\nnet-1,1\nnet-2,1\nnet-9,1\nabsent,1\nnet-1,1\n");
    ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.models = "list.csv", .threads = 1});
    assert_int_equal(a.model_count, 3);
    assert_int_equal(a.after.case_count, NETWORKS - 3);
    assert_non_null(strstr(a.notes[0], "1 of the 5 models"));
    ft_adaptation_free(&a);
    a = adapt(&f, data, &(ft_adapt_options){.models = "list.csv", .budget = 2, .threads = 1});
    assert_int_equal(a.model_count, 2);
    ft_adaptation_free(&a);
    write_text("list.csv", "name\nabsent\n");
    refuses(&f, data, &(ft_adapt_options){.models = "list.csv"}, FT_ERR_USAGE, "none of its 1 models");
    ft_dataset_free(data);
    fitted_free(&f);
}

static void test_one_family_is_noted(void **state) {
    (void)state;
    fitted f = first("flops-mem", NULL);
    ft_dataset *data = measured("adreno-640");
    write_text("list.csv", "name\nnet-0\nnet-3\nnet-6\nnet-9\nnet-12\nnet-15\n");
    ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.models = "list.csv", .threads = 1});
    assert_non_null(strstr(a.notes[0], "of one family (one)"));
    ft_adaptation_free(&a);
    const char *const families[] = {"one"};
    a = adapt(&f, data, &(ft_adapt_options){.models = "list.csv", .families = families, .family_count = 1});
    assert_int_equal(a.note_count, 0);
    assert_int_equal(a.after.case_count, NETWORKS / 3 - 6);
    ft_adaptation_free(&a);
    ft_dataset_free(data);
    fitted_free(&f);
}

/* Models that are all the same teach nothing but scale, and do no harm. */
static void test_nothing_left_to_test(void **state) {
    (void)state;
    fitted f = first("flops-mem", NULL);
    ft_dataset *data = measured("adreno-640");
    ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.budget = NETWORKS, .threads = 1});
    assert_int_equal(a.after.case_count, 0);
    assert_non_null(strstr(a.notes[0], "nothing is left to test on"));
    const ft_style style = ft_style_default();
    ft_error error;
    FILE *file = fopen("doc", "w");
    assert_int_equal(ft_adaptation_write(&a, "a.ftm", &style, file, &error), FT_OK);
    fclose(file);
    char *text = read_text("doc");
    assert_true(strstr(text, "CV") != NULL && strstr(text, "Before") == NULL); /* no columns of dashes */
    free(text);
    ft_adaptation_free(&a);
    ft_dataset_free(data);
    fitted_free(&f);
}

static void test_what_is_refused(void **state) {
    (void)state;
    const char *const absent[] = {"absent"}, *const known[] = {"cortex-a76"};
    fitted f = first("flops-mem", NULL);
    ft_dataset *data = measured("adreno-640");
    refuses(&f, data, &(ft_adapt_options){0}, FT_ERR_USAGE, "models to learn from are missing");
    refuses(&f, data, &(ft_adapt_options){.budget = 1}, FT_ERR_USAGE, "at least 2 are needed");
    refuses(&f, data, &(ft_adapt_options){.budget = 49}, FT_ERR_USAGE, "only 48 were measured");
    refuses(&f, data, &(ft_adapt_options){.budget = 4, .method = "refit"}, FT_ERR_USAGE, "too few to refit");
    refuses(&f, data, &(ft_adapt_options){.budget = 9, .method = "tune-all"}, FT_ERR_USAGE, "no networks");
    refuses(&f, data, &(ft_adapt_options){.budget = 4, .method = "magic"}, FT_ERR_USAGE, "no method 'magic'");
    refuses(&f, data, &(ft_adapt_options){.budget = 4, .metric = "peak_bytes"}, FT_ERR_UNSUPPORTED, "peak_bytes");
    refuses(&f, data, &(ft_adapt_options){.budget = 4, .devices = known, .device_count = 1}, FT_ERR_USAGE,
            "cortex-a76");
    refuses(&f, data, &(ft_adapt_options){.budget = 4, .families = absent, .family_count = 1}, FT_ERR_USAGE, "absent");
    refuses(&f, data, &(ft_adapt_options){.budget = 4, .models = "absent.csv"}, FT_ERR_IO, "absent.csv");
    ft_dataset_free(data);
    fitted_free(&f);
}

/* The model under another name for its first device, one that is not bundled. */
static ft_predictor *renamed(const fitted *f, const char *name) {
    const char *const devices[] = {name, fitted_devices[1]};
    const predictor_description about = {.metric.name = "time_us", .devices = devices, .device_count = 2};
    buf bytes = {0};
    ft_predictor *p = NULL;
    ft_error error;
    assert_int_equal(predictor_encode(&about, f->family, f->model, &bytes, &error), FT_OK);
    assert_int_equal(ft_predictor_open_memory(bytes.data, bytes.length, "mine", &p, &error), FT_OK);
    buf_free(&bytes);
    return p;
}

/* Records of a device whose data sheet, with this runtime, is in the data set. */
static ft_dataset *described(const char *folder, const char *runtime) {
    char text[256];
    ft_error error;
    snprintf(
        text, sizeof text,
        "{\"foretell_device\": 1, \"name\": \"my-phone\", \"text\": \"mine\", \"kind\": \"gpu\", \"runtime\": \"%s\"}",
        runtime);
    assert_true(mkdir("devices", 0777) == 0 || errno == EEXIST);
    write_text("devices/my-phone.json", text);
    builder *b = synth_begin(folder);
    assert_int_equal(builder_add_device(b, ".", "my-phone", &error), FT_OK);
    for (uint32_t i = 0; i < 12; i++)
        synth_add(b, &(synth_record){.network = i, .family = "one", .device = "my-phone", .time_us = 100 + i});
    return synth_end(b, folder);
}

static void test_names_that_clash(void **state) {
    (void)state;
    fitted f = first("kernel-sum", QUICK);
    ft_predictor *p = renamed(&f, "my-phone");
    ft_dataset *same = described("same", "tflite-gpu"), *other = described("other", "tflite-cpu");
    ft_adaptation a;
    ft_error error;
    if (ft_adapt(p, same, &(ft_adapt_options){.budget = 6, .threads = 1}, "a.ftm", &a, &error) != FT_OK)
        fail_msg("%s", error.message);
    assert_false(a.devices[0].is_new);
    ft_adaptation_free(&a);
    assert_int_equal(ft_adapt(p, other, &(ft_adapt_options){.budget = 6}, "no.ftm", &a, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "device names clash"));
    /* One that the predictor does not know is new, whatever its runtime. */
    if (ft_adapt(f.opened, other, &(ft_adapt_options){.budget = 6, .threads = 1}, "a.ftm", &a, &error) != FT_OK)
        fail_msg("%s", error.message);
    assert_true(a.devices[0].is_new);
    ft_adaptation_free(&a);
    ft_dataset_free(same);
    ft_dataset_free(other);
    ft_predictor_free(p);
    fitted_free(&f);
}

/* Records of the training are neither learned from nor tested, and records that were adapted to are not tested. */
static void test_splits(void **state) {
    (void)state;
    ft_train_options options = ft_train_options_default();
    const char *const devices[] = {"adreno-640"};
    ft_error error;
    ft_predictor *p;
    ft_adaptation a;
    ft_split split;
    bool is_found;
    ft_dataset *data = synth_data("d", NETWORKS, devices, 1, new_rule);
    options.family = "flops-mem";
    options.split = "random:40/20/40";
    options.threads = 1;
    if (ft_train(data, "run", &options, NULL, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_predictor_open("run/predictor.ftm", &p, &error), FT_OK);
    assert_int_equal(ft_adapt(p, data, &(ft_adapt_options){.budget = 6, .threads = 1}, "a.ftm", &a, &error), FT_OK);
    assert_int_equal(ft_split_make(data, options.split, 0, &split, &error), FT_OK);
    uint32_t tested = split.counts[FT_PART_TEST] - 6;
    assert_int_equal(a.after.case_count, tested);
    for (uint32_t i = 0; i < a.after.case_count; i++)
        assert_int_equal(split.parts[a.after.cases[i].record], FT_PART_TEST);
    ft_split_free(&split);
    ft_adaptation_free(&a);
    ft_predictor_free(p);
    assert_int_equal(ft_predictor_open("a.ftm", &p, &error), FT_OK);
    assert_int_equal(ft_predictor_split(p, data, &split, &is_found, &error), FT_OK);
    assert_true(is_found);
    assert_int_equal(split.counts[FT_PART_TEST], tested);
    ft_split_free(&split);
    ft_predictor_free(p);
    ft_dataset_free(data);
}

/* Evaluations leave out the models that a predictor was adapted with, in any data set that has them, also those of an
 * earlier adaptation. */
static void test_learned_models_are_not_evaluated(void **state) {
    (void)state;
    fitted f = first("flops-mem", NULL);
    ft_dataset *data = measured("adreno-640");
    ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.budget = 4, .threads = 1});
    ft_adaptation_free(&a);
    ft_predictor *once, *twice;
    ft_evaluation e;
    ft_error error;
    ft_evaluate_options all = {.threads = 1, .with_adapted = true}, others = {.threads = 1};
    const ft_adapt_options again = {.budget = 8, .seed = 5, .threads = 1};
    assert_int_equal(ft_predictor_open("a.ftm", &once, &error), FT_OK);
    assert_int_equal(ft_evaluate(once, data, &others, &e, &error), FT_OK);
    assert_int_equal(e.case_count, NETWORKS - 4);
    assert_int_equal(e.adapted, 4);
    ft_evaluation_free(&e);
    assert_int_equal(ft_evaluate(once, data, &all, &e, &error), FT_OK);
    assert_int_equal(e.case_count, NETWORKS);
    assert_int_equal(e.adapted, 0);
    ft_evaluation_free(&e);
    assert_int_equal(ft_adapt(once, data, &again, "b.ftm", &a, &error), FT_OK);
    ft_adaptation_free(&a);
    assert_int_equal(ft_predictor_open("b.ftm", &twice, &error), FT_OK);
    assert_int_equal(ft_evaluate(twice, data, &others, &e, &error), FT_OK);
    assert_true(e.adapted > 8 && e.adapted <= 12);
    assert_int_equal(e.case_count + e.adapted, NETWORKS);
    ft_evaluation_free(&e);
    ft_predictor_free(twice);
    ft_predictor_free(once);
    ft_dataset_free(data);
    fitted_free(&f);
}

static void test_quantiles_of_few(void **state) {
    (void)state;
    interval_score two[] = {{0.5, 1}, {1, 1}}, ten[10], forty[40];
    assert_true(interval_quantile(two, 2, 0) > 5); /* t of one degree of freedom */
    /* One model far off among ten is what 90 % intervals may miss. */
    for (uint32_t i = 0; i < 10; i++) ten[i] = (interval_score){i == 4 ? 3.4 : 0.1, 2};
    double quantile = interval_quantile(ten, 10, 0);
    if (!(quantile > 0.15 && quantile < 0.3)) fail_msg("%g", quantile);
    /* Ten that agree by chance do not prove that all do, where half-widths of 0.2 are to be expected. */
    for (uint32_t i = 0; i < 10; i++) ten[i] = (interval_score){1e-3, 1};
    quantile = interval_quantile(ten, 10, 0.2);
    if (!(quantile > 0.05 && quantile < 0.2)) fail_msg("%g", quantile);
    assert_true(interval_quantile(ten, 10, (double)NAN) < 3e-3);
    for (uint32_t i = 0; i < 40; i++) forty[i] = (interval_score){40 - i, 0.1};
    assert_true(interval_quantile(forty, 40, 99) == 37);
    for (uint32_t i = 0; i < 40; i++) forty[i] = (interval_score){i + 1, i < 10 ? 1 : 1e-6};
    assert_true(interval_quantile(forty, 40, 0) == 10); /* those that stand for nothing do not widen it */
}

static void test_documents(void **state) {
    (void)state;
    fitted f = first("flops-mem", NULL);
    ft_dataset *data = measured("adreno-640");
    ft_adaptation a = adapt(&f, data, &(ft_adapt_options){.budget = 8, .threads = 1});
    ft_error error;
    static const char *const parts[] = {"Before", "\"mape_before\":", "device,is_new,base,method"};
    for (uint32_t i = FT_TABLE; i <= FT_CSV; i++) {
        ft_style style = ft_style_default();
        FILE *file = fopen("doc", "w");
        style.output = (ft_output)i;
        assert_int_equal(ft_adaptation_write(&a, "a.ftm", &style, file, &error), FT_OK);
        fclose(file);
        char *text = read_text("doc");
        assert_non_null(strstr(text, "adreno-640"));
        if (strstr(text, parts[i]) == NULL) fail_msg("no '%s' in %s", parts[i], text);
        free(text);
    }
    ft_adaptation_free(&a);
    ft_dataset_free(data);
    fitted_free(&f);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    fitted f = first("flops-mem", NULL);
    const char *const devices[] = {"adreno-640"};
    ft_dataset *data = synth_data("few", 9, devices, 1, new_rule);
    for (long n = 0;; n++) {
        ft_adaptation a;
        ft_error error;
        failing_start(n);
        ft_status status =
            ft_adapt(f.opened, data, &(ft_adapt_options){.budget = 6, .threads = 1}, "a.ftm", &a, &error);
        bool has_failed = failing_stop();
        ft_adaptation_free(&a);
        if (!has_failed) {
            assert_int_equal(status, FT_OK);
            break;
        }
        /* A note that there is no memory for is left out. */
        if (status != FT_OK) assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_dataset_free(data);
    fitted_free(&f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_scale_is_found),
        TEST(test_a_new_device),
        TEST(test_families_without_pieces),
        TEST(test_threads_and_seeds),
        TEST(test_networks_are_trained_further),
        TEST(test_lists),
        TEST(test_one_family_is_noted),
        TEST(test_nothing_left_to_test),
        TEST(test_what_is_refused),
        TEST(test_names_that_clash),
        TEST(test_splits),
        TEST(test_learned_models_are_not_evaluated),
        TEST(test_quantiles_of_few),
        TEST(test_documents),
        TEST(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
