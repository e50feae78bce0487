/* "gpu-kernels" learns times of single kernels on some GPUs, predicts them for others and for models, and checks its
 * file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "foretell/dataset.h"
#include "foretell/device.h"
#include "foretell/predictor.h"
#include "predictor/core/families.h"
#include "predictor/core/scan.h"
#include "predictor/gpu/gpu_model.h"
#include "support/folder.h"

enum { DEVICES = 3, SIZES = 40 };

static const char *const devices[DEVICES] = {"a100-pcie-40gb", "t4", "v100-pcie-32gb"};
static const char quick[] = "{\"rounds\": 60, \"device_rounds\": 60}";

static double number(const char *device, const char *key) {
    ft_device *sheet;
    assert_int_equal(ft_device_open(device, &sheet, NULL), FT_OK);
    double value = ft_device_number(sheet, key);
    ft_device_free(sheet);
    return value;
}

/* A made-up law: overhead, and the larger of arithmetic and traffic at shares of the data sheet's rates. */
static double made_time(const char *device, double flops, double bytes) {
    double arithmetic = 1e6 * flops / number(device, "peak_float32_flops") / 0.6,
           traffic = 1e6 * bytes / number(device, "bandwidth_bytes_per_s") / 0.7;
    return 22 + fmax(arithmetic, traffic);
}

static uint32_t draw(uint32_t *state, uint32_t from, uint32_t to) {
    *state = *state * 1664525 + 1013904223;
    return from + (*state >> 8) % (to - from);
}

static void write_kernels(const char *path) {
    FILE *out = fopen(path, "w");
    uint32_t state = 7;
    assert_non_null(out);
    fputs("op,inputs,attributes,device,batch,name,setting,time_us\n", out);
    for (uint32_t i = 0; i < SIZES; i++) {
        double m = 8 * draw(&state, 1, 600), n = 8 * draw(&state, 1, 600), k = 8 * draw(&state, 1, 600);
        for (uint32_t d = 0; d < DEVICES; d++) {
            fprintf(out, "Gemm,Nx%g;%gx%g:weight,transB=1,%s,%g,gemm,torch=2.1.0,%g\n", k, n, k, devices[d], m,
                    made_time(devices[d], 2 * m * n * k, 4 * (m * k + k * n + m * n)));
            fprintf(out, "Relu,Nx%g,,%s,%g,relu,torch=2.1.0,%g\n", n * 64, devices[d], m,
                    made_time(devices[d], m * n * 64, 8 * m * n * 64));
        }
    }
    assert_int_equal(fclose(out), 0);
}

typedef struct made {
    ft_dataset *data;
    fit_row *rows;
    fit_set set;
    void *model;
} made;

/* Rows of all devices but `left_out`; every eighth graph is for validation. */
static void select_rows(made *m, const char *left_out, const char **kept) {
    const ft_record *records = ft_dataset_records(m->data);
    uint32_t count = ft_dataset_record_count(m->data), used = 0, train = 0;
    m->rows = calloc((size_t)count + 1, sizeof *m->rows);
    assert_non_null(m->rows);
    for (uint32_t d = 0; d < DEVICES; d++)
        if (left_out == NULL || strcmp(devices[d], left_out) != 0) kept[m->set.device_count++] = devices[d];
    for (int is_valid = 0; is_valid < 2; is_valid++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t d = 0;
            while (d < m->set.device_count && strcmp(kept[d], records[i].device) != 0) d++;
            if (d == m->set.device_count || (records[i].graph % 8 == 7) != (is_valid == 1)) continue;
            m->rows[used++] = (fit_row){i, records[i].graph, d, records[i].metrics[0]};
        }
        if (!is_valid) train = used;
    }
    m->set.data = m->data;
    m->set.metric = "time_us";
    m->set.devices = kept;
    m->set.train = (fit_rows){m->rows, train};
    m->set.valid = (fit_rows){m->rows + train, used - train};
}

static void *fit(const fit_set *set, const char *config) {
    void *model = NULL;
    ft_error error;
    json_t *settings = NULL;
    assert_int_equal(json_parse(config, strlen(config), &settings, NULL), FT_OK);
    fit_context context = {.config = settings, .seed = 3};
    if (family_gpu_kernels.fit(set, &context, &model, &error) != FT_OK) fail_msg("%s", error.message);
    json_decref(settings);
    return model;
}

static made make(const char *left_out, const char **kept) {
    made m = {0};
    ft_import_options options = {0};
    ft_import_result result;
    ft_error error;
    write_kernels("kernels.csv");
    if (ft_import("kernels", "kernels.csv", "set", &options, &result, &error) != FT_OK) fail_msg("%s", error.message);
    if (ft_dataset_open("set", &m.data, &error) != FT_OK) fail_msg("%s", error.message);
    select_rows(&m, left_out, kept);
    m.model = fit(&m.set, quick);
    return m;
}

static void made_free(made *m) {
    family_gpu_kernels.free(m->model);
    free(m->rows);
    ft_dataset_free(m->data);
}

static model_output predict(const void *model, const made *m, uint32_t record, const char *const *kept,
                            uint32_t count) {
    const ft_record *r = &ft_dataset_records(m->data)[record];
    scan_graph graph;
    model_view view;
    arena memory;
    model_output out;
    ft_device *sheet;
    ft_error error;
    assert_int_equal(scan_graph_open(m->data, r, &graph, NULL), FT_OK);
    assert_int_equal(ft_device_open(r->device, &sheet, NULL), FT_OK);
    ft_request request = scan_request(r);
    model_view_init(&view, graph.bound, &request);
    arena_init(&memory, 1 << 24);
    target_device target = {.index = 0, .sheet = sheet};
    while (target.index < count && strcmp(kept[target.index], r->device) != 0) target.index++;
    if (target.index == count) target.index = FT_NONE;
    predict_input in = {.view = &view, .target = &target, .memory = &memory, .has_parts = true};
    if (family_gpu_kernels.predict(model, &in, &out, &error) != FT_OK) fail_msg("%s", error.message);
    out.parts = NULL; /* of the arena */
    arena_free(&memory);
    model_view_free(&view);
    scan_graph_free(&graph);
    ft_device_free(sheet);
    return out;
}

/* The mean error on a device, and how many intervals hold. */
static double error_on(const made *m, const char *device, const char *const *kept, double *held_ratio) {
    const ft_record *records = ft_dataset_records(m->data);
    double sum = 0, held = 0, count = 0;
    for (uint32_t i = 0; i < ft_dataset_record_count(m->data); i++) {
        if (strcmp(records[i].device, device) != 0) continue;
        model_output out = predict(m->model, m, i, kept, m->set.device_count);
        double off = log(out.value / records[i].metrics[0]);
        sum += fabs(off);
        held += fabs(off) <= out.spread;
        count++;
    }
    *held_ratio = held / count;
    return sum / count;
}

static void kernels_are_learned(void **state) {
    (void)state;
    const char *kept[DEVICES];
    double held;
    made m = make(NULL, kept);
    assert_true(error_on(&m, "t4", kept, &held) < 0.15);
    assert_true(held > 0.7);
    made_free(&m);
}

static void other_devices_are_predicted_by_their_data_sheets(void **state) {
    (void)state;
    const char *kept[DEVICES];
    double held;
    made m = make("t4", kept);
    assert_true(error_on(&m, "t4", kept, &held) < 0.35);
    assert_true(held > 0.3); /* two devices say little about a third */
    made_free(&m);
}

static void saved_models_predict_the_same(void **state) {
    (void)state;
    const char *kept[DEVICES];
    made m = make(NULL, kept);
    json_t *params = NULL;
    float_block block = {0};
    void *loaded = NULL;
    ft_error error;
    assert_int_equal(family_gpu_kernels.save(m.model, &params, &block, &error), FT_OK);
    if (family_gpu_kernels.load(params, block.items, block.count, kept, DEVICES, &loaded, &error) != FT_OK)
        fail_msg("%s", error.message);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(predict(m.model, &m, i, kept, DEVICES).value == predict(loaded, &m, i, kept, DEVICES).value);
    family_gpu_kernels.free(loaded);
    loaded = NULL;
    assert_int_equal(family_gpu_kernels.load(params, block.items, block.count - 1, kept, DEVICES, &loaded, &error),
                     FT_ERR_DAMAGED);
    assert_int_equal(family_gpu_kernels.load(params, block.items, 3, kept, DEVICES, &loaded, &error), FT_ERR_DAMAGED);
    block.items[0] = -1;
    assert_int_equal(family_gpu_kernels.load(params, block.items, block.count, kept, DEVICES, &loaded, &error),
                     FT_ERR_DAMAGED);
    assert_null(loaded);
    float_block_free(&block);
    json_decref(params);
    made_free(&m);
}

static void unknown_settings_and_whole_models_alone_are_errors(void **state) {
    (void)state;
    const char *kept[DEVICES];
    made m = make(NULL, kept);
    fit_context context = {.config = NULL};
    void *model = NULL;
    ft_error error;
    fit_set few = m.set;
    few.train.count = 2 * DEVICES; /* two kernels of each device */
    assert_int_equal(family_gpu_kernels.fit(&few, &context, &model, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "single operators"));
    json_t *wrong = json_with(json_object(), "speed", json_integer(1));
    context.config = wrong;
    assert_int_equal(family_gpu_kernels.fit(&m.set, &context, &model, &error), FT_ERR_USAGE);
    assert_null(model);
    json_decref(wrong);
    made_free(&m);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(kernels_are_learned),
        IN_FOLDER(other_devices_are_predicted_by_their_data_sheets),
        IN_FOLDER(saved_models_predict_the_same),
        IN_FOLDER(unknown_settings_and_whole_models_alone_are_errors),
    };
    return cmocka_run_group_tests_name("predictor/gpu_kernels", tests, NULL, NULL);
}
