/* Widths of the intervals of "torch-sum" follow the errors of its networks on held-out architectures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/torch/torch_width.h"
#include "support/fitted.h"
#include "support/folder.h"

#define QUICK "{\"hidden\": 8, \"ways\": 2, \"members\": 3, \"steps\": 200, \"batch\": 16, \"prior\": 0}"

static double made_time(const ft_graph *bound, const char *device) {
    ft_work work = synth_cost(bound).forward;
    double bytes = (double)work.read_bytes + (double)work.write_bytes;
    double time = 1 + 1e-5 * (double)work.macs + 5e-5 * bytes;
    return device[0] == 'a' ? time : 7 * time;
}

/* Noise that no feature explains: half of the models take twice as long. */
static double noisy_time(const ft_graph *bound, const char *device) {
    uint64_t odd = synth_cost(bound).forward.macs * UINT64_C(0x9e3779b97f4a7c15) >> 63;
    return made_time(bound, device) * (odd != 0 ? 2 : 1);
}

/* Graphs of an architecture, or of a family, are held out together. */
static void graphs_of_an_architecture_are_held_out_together(void **state) {
    (void)state;
    fitted f = fit_synth("flops", made_time, NULL);
    const ft_record *records = ft_dataset_records(f.data);
    uint8_t *left, *again;
    assert_int_equal(torch_leave_out(&f.set, 1, false, &left, NULL), FT_OK);
    assert_null(left);
    assert_int_equal(torch_leave_out(&f.set, 3, false, &left, NULL), FT_OK);
    assert_int_equal(torch_leave_out(&f.set, 5, true, &again, NULL), FT_OK);
    uint32_t counts[3] = {0};
    for (uint32_t i = 0; i < f.set.train.count; i++) {
        const fit_row *row = &f.set.train.items[i];
        assert_true(left[row->graph] < 10);
        if (left[row->graph] < 3) counts[left[row->graph]]++;
        for (uint32_t j = 0; j < i; j++) {
            const fit_row *other = &f.set.train.items[j];
            const char *a = records[row->record].name, *b = records[other->record].name;
            size_t length = strcspn(a, ".");
            if (length == strcspn(b, ".") && memcmp(a, b, length) == 0)
                assert_int_equal(left[row->graph], left[other->graph]);
            if (strcmp(records[row->record].family, records[other->record].family) == 0)
                assert_int_equal(again[row->graph], again[other->graph]);
        }
    }
    assert_true(counts[0] + counts[1] + counts[2] > 0);
    free(left);
    free(again);
    fitted_free(&f);
}

static void small_errors_give_narrow_intervals(void **state) {
    (void)state;
    fitted f = fit_synth("torch-sum", made_time, QUICK);
    const torch_model *m = f.model;
    for (uint32_t c = 0; c < m->setting_count; c++) assert_true(m->widths[c] > 0 && m->widths[c] < 0.2);
    fitted_free(&f);
}

static void large_errors_give_wide_intervals(void **state) {
    (void)state;
    fitted f = fit_synth("torch-sum", noisy_time, QUICK);
    const torch_model *m = f.model;
    for (uint32_t c = 0; c < m->setting_count; c++) assert_true(m->widths[c] > 0.25 && m->widths[c] < 2);
    fitted_free(&f);
}

/* With few families, the validation part counts too. */
static void few_families_use_the_validation_part(void **state) {
    (void)state;
    fitted f = fit_synth("torch-sum", noisy_time,
                         "{\"hidden\": 8, \"ways\": 2, \"members\": 3, \"steps\": 200, \"batch\": 16, \"prior\": 0, "
                         "\"families\": 1}");
    const torch_model *m = f.model;
    for (uint32_t c = 0; c < m->setting_count; c++) assert_true(m->widths[c] > 0.1 && m->widths[c] < 2);
    fitted_free(&f);
}

enum { MANY_NETWORKS = 440 }; /* an eighth is for validation: enough labels for a quantile */

/* Fits to two GPUs, to be freed. */
static torch_model *fit_gpus(const char *config) {
    static const char *const gpus[] = {"adreno-640", "adreno-630"};
    fit_set set;
    void *model;
    ft_error error;
    json_t *settings = json_loads(config, 0, NULL);
    ft_dataset *data = synth_data("gpus", MANY_NETWORKS, gpus, 2, noisy_time);
    fit_row *rows = fitted_rows(data, &set);
    set.devices = gpus;
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++)
        rows[i].device = strcmp(ft_dataset_records(data)[rows[i].record].device, gpus[1]) == 0;
    fit_context context = {.config = settings, .seed = 5};
    if (family_find("torch-sum")->fit(&set, &context, &model, &error) != FT_OK) fail_msg("%s", error.message);
    json_decref(settings);
    free(rows);
    ft_dataset_free(data);
    torch_model *m = model;
    assert_int_equal(m->setting_count, 2);
    return m;
}

/* Three families are too few for a width per setting, however many labels they have. */
static void settings_with_few_families_share_a_width(void **state) {
    (void)state;
    torch_model *m =
        fit_gpus("{\"hidden\": 8, \"ways\": 2, \"members\": 1, \"steps\": 20, \"batch\": 16, \"families\": 1}");
    assert_true(m->widths[0] == m->widths[1]);
    family_find("torch-sum")->free(m);
}

/* With one network only the validation part gives errors. */
static void one_network_uses_the_validation_part(void **state) {
    (void)state;
    fitted f = fit_synth("torch-sum", noisy_time,
                         "{\"hidden\": 4, \"members\": 1, \"steps\": 100, \"batch\": 16, \"prior\": 0}");
    const torch_model *m = f.model;
    for (uint32_t c = 0; c < m->setting_count; c++) assert_true(m->widths[c] > 0.1);
    assert_true(m->typical_spread[TORCH_GPU] == 0);
    fitted_free(&f);
}

static void changed_widths_are_errors(void **state) {
    (void)state;
    fitted f = fit_synth("torch-sum", made_time, "{\"hidden\": 4, \"members\": 1, \"steps\": 2}");
    const torch_model *m = f.model;
    json_t *params = NULL;
    float_block block = {0};
    assert_int_equal(f.family->save(f.model, &params, &block, NULL), FT_OK);
    json_t *widths = json_object_get(params, "widths");
    assert_int_equal(json_array_size(widths), m->setting_count + TORCH_SIDES);
    static const double wrong[] = {-1, 0, 1e9};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_array_set_new(widths, 0, json_real(wrong[i]));
        char *text = json_dumps(params, 0);
        fitted_refuses(&f, text, 0, "width 0");
        free(text);
    }
    json_array_append_new(widths, json_real(1));
    char *text = json_dumps(params, 0);
    fitted_refuses(&f, text, 0, "the number of widths does not match");
    free(text);
    /* An old file has no widths, and opens. */
    json_object_del(params, "widths");
    void *old = NULL;
    assert_int_equal(f.family->load(params, block.items, block.count, f.set.devices, f.set.device_count, &old, NULL),
                     FT_OK);
    assert_null(((const torch_model *)old)->widths);
    f.family->free(old);
    json_decref(params);
    float_block_free(&block);
    fitted_free(&f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_FOLDER(graphs_of_an_architecture_are_held_out_together),
                                       IN_FOLDER(small_errors_give_narrow_intervals),
                                       IN_FOLDER(large_errors_give_wide_intervals),
                                       IN_FOLDER(few_families_use_the_validation_part),
                                       IN_FOLDER(settings_with_few_families_share_a_width),
                                       IN_FOLDER(one_network_uses_the_validation_part),
                                       IN_FOLDER(changed_widths_are_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
