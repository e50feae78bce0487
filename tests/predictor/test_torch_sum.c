/* "torch-sum" learns times of kernels from sums alone, predicts for other devices from their data sheets, and checks
 * its file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/device.h"
#include "predictor/core/families.h"
#include "predictor/torch/torch_model.h"
#include "support/failing.h"
#include "support/fitted.h"
#include "support/folder.h"

#define QUICK "{\"hidden\": 8, \"ways\": 2, \"members\": 2, \"steps\": 500, \"batch\": 16, \"prior\": 0}"

/* A made-up time: a cost per multiply-accumulate and per byte. */
static double made_time(const ft_graph *bound, const char *device) {
    ft_work work = synth_cost(bound).forward;
    double bytes = (double)work.read_bytes + (double)work.write_bytes;
    double time = 1 + 1e-5 * (double)work.macs + 5e-5 * bytes;
    return device[0] == 'a' ? time : 7 * time;
}

static void kernels_are_learned_from_sums(void **state) {
    (void)state;
    fitted f = fit_synth("torch-sum", made_time, QUICK);
    fitted_check(&f, 0.1);
    fitted_check_threads(&f, QUICK);
    fitted_check_refusals(&f);
    fitted_free(&f);
}

/* Noise differs in each step, but not with the number of threads, nor after a resume. */
static void noise_is_reproducible(void **state) {
    (void)state;
    const char *config =
        "{\"hidden\": 4, \"ways\": 2, \"members\": 2, \"steps\": 30, \"batch\": 16, \"noise\": 0.2, \"families\": 1}";
    fitted f = fit_synth("torch-sum", made_time, config);
    fitted_check_threads(&f, config);
    fitted_check_resume(&f, config, 12);
    fitted_free(&f);
}

static void training_resumes_where_it_stopped(void **state) {
    (void)state;
    const char *config = "{\"hidden\": 4, \"ways\": 2, \"members\": 2, \"steps\": 30, \"batch\": 16}";
    fitted f = fit_synth("torch-sum", made_time, config);
    fitted_check_resume(&f, config, 12);
    fitted_free(&f);
}

static void changed_models_are_errors(void **state) {
    (void)state;
    fitted f = fit_synth("torch-sum", made_time, "{\"hidden\": 4, \"members\": 1, \"steps\": 2}");
    fitted_refuses(&f, NULL, -1, "floats");
    fitted_refuses(&f, NULL, 1, "floats");
    fitted_refuses(&f, "{\"config\": {\"hidden\": 0}}", 0, "hidden");
    fitted_refuses(&f, "{\"config\": {}, \"columns\": []}", 0, "columns");
    fitted_refuses(&f, "{\"config\": {}, \"columns\": [[0]]}", 0, "data sheets");
    fitted_refuses(&f, "{}", 0, "config");
    fitted_free(&f);
}

/* Fits, saves, loads and predicts, as small as possible. */
static ft_status do_all(const fit_set *set, const json_t *config, const ft_graph *bound) {
    const fit_context context = {.config = config};
    void *m = NULL, *loaded = NULL;
    json_t *params = NULL;
    float_block block = {0};
    model_view s;
    arena memory;
    model_output predicted;
    model_view_init(&s, bound, &(ft_request){0});
    arena_init(&memory, 1 << 24);
    ft_status status = family_torch_sum.fit(set, &context, &m, NULL);
    if (status == FT_OK) status = family_torch_sum.save(m, &params, &block, NULL);
    if (status == FT_OK)
        status =
            family_torch_sum.load(params, block.items, block.count, set->devices, set->device_count, &loaded, NULL);
    if (status == FT_OK)
        status = family_torch_sum.predict(loaded, &(predict_input){&s, &(target_device){.index = 0}, &memory, true},
                                          &predicted, NULL);
    arena_free(&memory);
    model_view_free(&s);
    family_torch_sum.free(loaded);
    float_block_free(&block);
    json_decref(params);
    family_torch_sum.free(m);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    ft_dataset *data = synth_data("small", 2, fitted_devices, FITTED_DEVICES, made_time);
    fit_set set;
    fit_row *rows = fitted_rows(data, &set);
    json_t *config = json_pack("{s:i, s:i, s:i, s:i}", "hidden", 2, "ways", 1, "members", 1, "steps", 1);
    ft_graph *model = NULL, *bound = NULL;
    assert_int_equal(ft_dataset_graph(data, 0, &model, NULL), FT_OK);
    assert_int_equal(ft_graph_bind(model, NULL, &bound, NULL), FT_OK);
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = do_all(&set, config, bound);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_graph_free(bound);
    ft_graph_free(model);
    json_decref(config);
    free(rows);
    ft_dataset_free(data);
}

/* --- Predicting -------------------------------------------------------------------------------------------------- */

/* Predicts the graph of the first training record. */
static model_output predict_mode(const fitted *f, const target_device *where, const char *setting, ft_mode mode,
                                 int64_t batch, double *parts) {
    const ft_record *record = &ft_dataset_records(f->data)[0];
    ft_graph *model = NULL, *bound = NULL;
    ft_error error;
    model_view s;
    arena memory;
    model_output predicted = {0};
    assert_int_equal(ft_dataset_graph(f->data, record->graph, &model, NULL), FT_OK);
    assert_int_equal(ft_graph_bind(model, &(ft_binding){.batch = batch}, &bound, NULL), FT_OK);
    model_view_init(&s, bound, &(ft_request){.setting = setting, .mode = mode, .dtype = record->dtype});
    arena_init(&memory, 1 << 24);
    if (f->family->predict(predictor_model(f->opened), &(predict_input){&s, where, &memory, true}, &predicted,
                           &error) != FT_OK)
        fail_msg("%s", error.message);
    *parts = 0;
    for (uint32_t i = 0; i < predicted.part_count; i++) *parts += predicted.parts[i].value;
    arena_free(&memory);
    model_view_free(&s);
    ft_graph_free(bound);
    ft_graph_free(model);
    return predicted;
}

static model_output predict(const fitted *f, const target_device *where, const char *setting, int64_t batch,
                            double *parts) {
    return predict_mode(f, where, setting, FT_INFER, batch, parts);
}

/* Only inference was measured: the backward pass takes twice as long as the forward pass. */
static void training_takes_longer_than_inference(void **state) {
    (void)state;
    double parts;
    fitted f = fit_synth("torch-sum", made_time, "{\"hidden\": 4, \"members\": 1, \"steps\": 20}");
    target_device where = {.index = 1}; /* the CPU */
    model_output infer = predict(&f, &where, "", 1, &parts);
    model_output train = predict_mode(&f, &where, "", FT_TRAIN, 1, &parts);
    assert_true(fabs(train.value / infer.value - 3) < 1e-6);
    assert_true(fabs(parts / train.value - 1) < 1e-6);
    assert_int_equal(train.provenance, FT_EXTRAPOLATED);
    assert_true(train.spread > infer.spread);
    fitted_free(&f);
}

static void other_devices_are_predicted_from_data_sheets(void **state) {
    (void)state;
    fitted f = fit_synth("torch-sum", made_time, QUICK);
    ft_device *slow = NULL, *fast = NULL;
    double parts;
    assert_int_equal(ft_device_open("rtx-3060", &slow, NULL), FT_OK);
    assert_int_equal(ft_device_open("rtx-4090", &fast, NULL), FT_OK);
    target_device known = {.index = 0}, first = {.index = FT_NONE, .sheet = slow},
                  second = {.index = FT_NONE, .sheet = fast};
    model_output here = predict(&f, &known, NULL, 64, &parts);
    assert_true(fabs(parts - here.value) <= 1e-6 * here.value);
    assert_int_equal(here.provenance, FT_EXTRAPOLATED); /* more than four times the measured batches */
    assert_int_equal(predict(&f, &known, NULL, 4, &parts).provenance, FT_LEARNED);
    assert_int_equal(predict(&f, &known, NULL, 5, &parts).provenance, FT_EXTRAPOLATED);
    model_output there = predict(&f, &first, NULL, 64, &parts), faster = predict(&f, &second, NULL, 64, &parts);
    assert_true(there.value < here.value && faster.value < there.value);
    assert_true(there.spread > here.spread);
    model_output double_batch = predict(&f, &first, NULL, 128, &parts);
    assert_true(double_batch.value > there.value && double_batch.value <= 2.001 * there.value);
    ft_device_free(slow);
    ft_device_free(fast);
    fitted_free(&f);
}

static void assumed_settings_are_marked(void **state) {
    (void)state;
    fitted f = fit_synth("torch-sum", made_time, QUICK);
    target_device known = {.index = 0};
    double parts;
    model_output plain = predict(&f, &known, NULL, 64, &parts), other = predict(&f, &known, "layout=nhwc", 64, &parts);
    assert_int_equal(other.provenance, FT_EXTRAPOLATED);
    assert_true(other.spread > plain.spread);
    /* A CPU at a batch much larger than those measured. */
    uint32_t typical = 0;
    const torch_model *m = f.model;
    for (uint32_t c = 0; c < m->setting_count; c++)
        if (m->settings[c].device == 1) typical = m->settings[c].typical_batch;
    target_device processor = {.index = 1};
    plain = predict(&f, &processor, NULL, typical, &parts);
    other = predict(&f, &processor, NULL, 4 * (int64_t)typical, &parts);
    assert_int_equal(plain.provenance, FT_LEARNED);
    assert_int_equal(other.provenance, FT_EXTRAPOLATED);
    assert_true(other.spread > plain.spread + 0.2);
    fitted_free(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(kernels_are_learned_from_sums),
                                       IN_FOLDER(noise_is_reproducible),
                                       IN_FOLDER(training_resumes_where_it_stopped),
                                       IN_FOLDER(changed_models_are_errors),
                                       IN_FOLDER(every_allocation_may_fail),
                                       IN_FOLDER(training_takes_longer_than_inference),
                                       IN_FOLDER(other_devices_are_predicted_from_data_sheets),
                                       IN_FOLDER(assumed_settings_are_marked)};
    return cmocka_run_group_tests_name("predictor/torch_sum", tests, NULL, NULL);
}
