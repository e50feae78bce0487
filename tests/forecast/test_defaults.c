/* test_defaults.c - what requests leave open: the type is that of the training, models of 16 bits run without autocast,
 * and an open `compile` is no. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/outfile.h"
#include "foretell/forecast.h"
#include "predictor/core/file.h"
#include "support/folder.h"
#include "support/toy.h"

static ft_predictor_set *torch;

static int set_up(void **state) {
    const char *const file = "predictors/torch.ftm";
    ft_error error;
    if (ft_predictor_set_open(&file, 1, &torch, &error) != FT_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    return folder_enter(state);
}

static int tear_down(void **state) {
    ft_predictor_set_free(torch);
    return folder_leave(state);
}

/* A product and an activation; weights of a type, and a bias of float32. */
static ft_graph *make_model(ft_format format, ft_dtype weights) {
    ft_graph *g = toy_graph(format, FT_NCHW);
    uint32_t x = toy_tensor(g, FT_INPUT, weights, 1, 512, TOY_END);
    uint32_t w = toy_tensor(g, FT_CONSTANT, weights, 512, 512, TOY_END), bias = toy_weight(g, 512);
    uint32_t y = toy_op(g, "MatMul", x, w, FT_NONE, toy_tensor(g, FT_ACTIVATION, weights, 1, 512, TOY_END));
    uint32_t z = toy_op(g, "Add", y, bias, FT_NONE, toy_tensor(g, FT_ACTIVATION, weights, 1, 512, TOY_END));
    toy_finish(g, z, 1, 1);
    g->is_bound = false;
    return g;
}

/* The resolved type and setting and the time. */
typedef struct answer {
    ft_dtype dtype;
    char setting[64], note[160];
    double time_us;
    ft_provenance provenance;
} answer;

static answer ask(const ft_predictor_set *set, const ft_graph *model, ft_request request) {
    ft_results results = {0};
    ft_error error;
    answer a = {0};
    if (ft_predict(set, model, NULL, &request, 1, &results, &error) != FT_OK) fail_msg("%s", error.message);
    const ft_result *r = &results.items[0];
    a.dtype = r->request.dtype;
    a.time_us = ft_result_time(r)->value;
    a.provenance = ft_result_time(r)->provenance;
    snprintf(a.setting, sizeof a.setting, "%s", r->request.setting);
    for (uint32_t i = 0; i < r->note_count; i++)
        if (strstr(r->notes[i], "autocast") != NULL) snprintf(a.note, sizeof a.note, "%s", r->notes[i]);
    ft_results_free(&results);
    return a;
}

static void expect(const ft_graph *model, ft_request request, ft_dtype dtype, const char *setting, bool has_note) {
    request.batch = 4096;
    answer a = ask(torch, model, request);
    if (a.dtype != dtype || strcmp(a.setting, setting) != 0 || (a.note[0] != '\0') != has_note)
        fail_msg("%s, %s, '%s': predicted in %s, '%s', '%s'", request.device, ft_dtype_name(request.dtype),
                 request.setting != NULL ? request.setting : "", ft_dtype_name(a.dtype), a.setting, a.note);
}

/* As in the file, which the result says; autocast is for models of float32. */
static void models_of_16_bits_run_without_autocast(void **state) {
    (void)state;
    ft_graph *half = make_model(FT_FORMAT_ONNX, FT_FLOAT16), *brain = make_model(FT_FORMAT_ONNX, FT_BFLOAT16),
             *whole = make_model(FT_FORMAT_ONNX, FT_FLOAT32), *tflite = make_model(FT_FORMAT_TFLITE, FT_FLOAT16);
    expect(whole, (ft_request){.device = "rtx-3090"}, FT_FLOAT16, "", false);
    expect(half, (ft_request){.device = "rtx-3090"}, FT_FLOAT16, "amp=no", true);
    expect(brain, (ft_request){.device = "rtx-3090"}, FT_BFLOAT16, "amp=no", true);
    expect(half, (ft_request){.device = "a100-40gb"}, FT_FLOAT16, "amp=no", true); /* from its data sheet */
    expect(half, (ft_request){.device = "rtx-3090", .dtype = FT_BFLOAT16}, FT_BFLOAT16, "amp=no", true);
    expect(half, (ft_request){.device = "rtx-3090", .setting = "compile=yes"}, FT_FLOAT16, "amp=no;compile=yes", true);
    expect(half, (ft_request){.device = "rtx-3090", .setting = "a=1;compile=no"}, FT_FLOAT16, "a=1;amp=no;compile=no",
           true);
    expect(half, (ft_request){.device = "rtx-3090", .setting = "a=1"}, FT_FLOAT16, "a=1;amp=no", true);
    expect(half, (ft_request){.device = "rtx-3090", .setting = "amp=yes"}, FT_FLOAT16, "amp=yes", false);
    expect(half, (ft_request){.device = "rtx-3090", .dtype = FT_FLOAT32}, FT_FLOAT32, "", false);
    expect(half, (ft_request){.device = "rtx-3090", .mode = FT_TRAIN}, FT_FLOAT16, "", false);
    expect(half, (ft_request){.device = "i9-10940x"}, FT_FLOAT32, "", false);
    expect(tflite, (ft_request){.device = "rtx-3090"}, FT_FLOAT16, "", false);
    answer plain = ask(torch, half, (ft_request){.device = "rtx-3090", .batch = 4096}),
           mixed = ask(torch, half, (ft_request){.device = "rtx-3090", .batch = 4096, .setting = "amp=yes"});
    assert_true(plain.time_us < mixed.time_us);
    assert_string_equal(plain.note, "the model is float16 in its file: predicted in float16 without autocast (amp=no)");
    ft_graph_free(half);
    ft_graph_free(brain);
    ft_graph_free(whole);
    ft_graph_free(tflite);
}

/* On every device, in every type and with or without autocast, whatever settings were measured there. */
static void open_compile_is_no(void **state) {
    (void)state;
    static const ft_dtype dtypes[] = {FT_DTYPE_UNKNOWN, FT_FLOAT32, FT_FLOAT16, FT_BFLOAT16};
    static const char *const amps[] = {"", "amp=no", "amp=yes"}, *const closed[] = {"compile=no", "amp=no;compile=no",
                                                                                    "amp=yes;compile=no"};
    ft_graph *model = make_model(FT_FORMAT_ONNX, FT_FLOAT32);
    uint32_t devices = ft_predictor_set_device_count(torch);
    assert_true(devices > 4);
    for (uint32_t d = 0; d < devices; d++) {
        for (size_t t = 0; t < 4; t++) {
            for (size_t s = 0; s < 3; s++) {
                ft_request request = {.device = ft_predictor_set_device(torch, d), .batch = 256, .dtype = dtypes[t]};
                request.setting = amps[s];
                answer open = ask(torch, model, request);
                request.setting = closed[s];
                answer no = ask(torch, model, request);
                if (open.time_us != no.time_us || open.provenance != no.provenance)
                    fail_msg("%s, %s, '%s': %g us, and %g us with compile=no", request.device, ft_dtype_name(dtypes[t]),
                             amps[s], open.time_us, no.time_us);
            }
        }
    }
    ft_graph_free(model);
}

/* Opens a predictor of the simplest family for a GPU, with more keys in its header. */
static ft_status open_trained(const char *keys, ft_predictor_set **set) {
    const float block[] = {1, 1};
    const char *const path = "trained.ftm";
    buf bytes = {0};
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:[s], s:[s], s:{}}", "format", "foretell predictor", "family", "flops",
                  "schema", "flops/1", "metric", "time_us", "devices", "rtx-3090", "modes", "infer", "params");
    json_t *more = json_loads(keys, 0, NULL);
    assert_true(root != NULL && more != NULL && json_object_update(root, more) == 0);
    json_decref(more);
    assert_int_equal(predictor_file_encode(root, block, 2, &bytes, NULL), FT_OK);
    assert_int_equal(outfile_write(path, bytes.data, bytes.length, NULL), FT_OK);
    buf_free(&bytes);
    json_decref(root);
    return ft_predictor_set_open(&path, 1, set, NULL);
}

static void type_is_that_of_the_training(void **state) {
    (void)state;
    static const struct {
        const char *keys;
        ft_dtype of_float32, of_float16;         /* for models of these types */
    } cases[] = {{"{}", FT_FLOAT16, FT_FLOAT16}, /* it does not say: the usual one of the device */
                 {"{\"dtypes\": [\"float32\"]}", FT_FLOAT32, FT_FLOAT32},
                 {"{\"dtypes\": [\"bfloat16\"]}", FT_BFLOAT16, FT_BFLOAT16},
                 {"{\"dtypes\": [\"float32\", \"float16\"]}", FT_FLOAT16, FT_FLOAT16},
                 {"{\"dtypes\": [\"float32\", \"float16\"], \"usual_dtypes\": {\"rtx-3090\": \"float32\"}}", FT_FLOAT32,
                  FT_FLOAT16},
                 {"{\"dtypes\": [\"float32\"], \"usual_dtypes\": {\"another\": \"float16\"}}", FT_FLOAT32, FT_FLOAT32}};
    ft_graph *whole = make_model(FT_FORMAT_ONNX, FT_FLOAT32), *half = make_model(FT_FORMAT_ONNX, FT_FLOAT16);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ft_predictor_set *set = NULL;
        assert_int_equal(open_trained(cases[i].keys, &set), FT_OK);
        answer a = ask(set, whole, (ft_request){.device = "rtx-3090"}),
               b = ask(set, half, (ft_request){.device = "rtx-3090"});
        if (a.dtype != cases[i].of_float32 || b.dtype != cases[i].of_float16)
            fail_msg("%s: %s and %s", cases[i].keys, ft_dtype_name(a.dtype), ft_dtype_name(b.dtype));
        assert_string_equal(b.setting, ""); /* the predictor does not distinguish autocast */
        ft_predictor_set_free(set);
    }
    ft_graph_free(whole);
    ft_graph_free(half);
}

static void damaged_types_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"{\"usual_dtypes\": []}", "{\"usual_dtypes\": {\"rtx-3090\": 3}}",
                                        "{\"usual_dtypes\": {\"rtx-3090\": \"float17\"}}"};
    ft_predictor_set *set = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(open_trained(wrong[i], &set), FT_ERR_DAMAGED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_of_16_bits_run_without_autocast),
        cmocka_unit_test(open_compile_is_no),
        cmocka_unit_test(type_is_that_of_the_training),
        cmocka_unit_test(damaged_types_are_refused),
    };
    return cmocka_run_group_tests_name("forecast/defaults", tests, set_up, tear_down);
}
