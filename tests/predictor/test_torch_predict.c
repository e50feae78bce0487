/* Predictions of a torch-sum model made by hand, whose times, intervals and provenance can be computed on paper. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/device.h"
#include "predictor/torch/torch_model.h"
#include "support/toy.h"

enum { GPU, CPU, DEVICES, GPU_GROUP = DEVICES, CPU_GROUP, COST_ROWS, MEMBERS = 3 };

/* One network of one hidden unit and one basis function, with zero weights. */
typedef struct made_net {
    float first[TORCH_FEATURES], first_bias[1], second[1], second_bias[1], last[TORCH_TERMS], last_bias[TORCH_TERMS];
    float costs[COST_ROWS * TORCH_TERMS], mix[COST_ROWS * TORCH_TERMS];
} made_net;

typedef struct made {
    torch_model m;
    torch_setting settings[DEVICES];
    torch_sheet sheets[DEVICES];
    uint32_t groups[DEVICES];
    double widths[DEVICES];
    made_net nets[TORCH_SIDES][MEMBERS];
} made;

/* Sets the unit costs of launches and moved bytes; other terms cost nothing. */
static void set_costs(made *d, torch_side side, uint32_t member, uint32_t row, double cost) {
    float *costs = d->nets[side][member].costs + (size_t)row * TORCH_TERMS;
    for (uint32_t k = 0; k < TORCH_TERMS; k++) costs[k] = -80;
    costs[TORCH_LAUNCHES] = costs[TORCH_MOVED] = (float)log(cost);
}

/* A GPU of 1 TB/s, measured in float16 under autocast at batches about 256, on which the members take 2 and 4 times
 * what the data sheet says, and 3 times on another one; and a CPU of 0.1 TB/s, measured compiled at batch 1. */
static void made_open(made *d) {
    memset(d, 0, sizeof *d);
    d->settings[GPU] = (torch_setting){.device = GPU,
                                       .mode = FT_INFER,
                                       .dtype = FT_FLOAT16,
                                       .is_mixed = TORCH_YES,
                                       .is_compiled = TORCH_NO,
                                       .is_nhwc = TORCH_NO,
                                       .version = 204,
                                       .typical_batch = 256};
    d->settings[CPU] = (torch_setting){.device = CPU,
                                       .mode = FT_INFER,
                                       .dtype = FT_FLOAT32,
                                       .is_mixed = TORCH_NO,
                                       .is_compiled = TORCH_YES,
                                       .is_nhwc = TORCH_NO,
                                       .version = 204,
                                       .typical_batch = 1};
    d->sheets[GPU] = (torch_sheet){true, 100e12, 100e12, 50e12, 25e12, 1e12, 0, 0};
    d->sheets[CPU] = (torch_sheet){false, 1e12, 1e12, 1e12, 1e12, 1e11, 0, 0};
    d->m = (torch_model){.config = {.hidden = 1, .basis = 1, .members = 2, .bound = 3},
                         .device_count = DEVICES,
                         .setting_count = DEVICES,
                         .settings = d->settings,
                         .groups = d->groups,
                         .sheets = d->sheets};
    d->m.group_count = torch_setting_groups(d->settings, DEVICES, d->groups);
    assert_int_equal(d->m.group_count, 2);
    assert_int_equal(torch_rules_open(&d->m.rules, NULL), FT_OK);
    for (uint32_t side = 0; side < TORCH_SIDES; side++) {
        for (uint32_t f = 0; f < TORCH_FEATURES; f++) {
            d->m.scaling[side].min[f] = -1e9F;
            d->m.scaling[side].max[f] = 1e9F;
        }
        for (uint32_t j = 0; j < MEMBERS; j++) {
            made_net *n = &d->nets[side][j];
            d->m.members[side][j] = (torch_weights){n->first, n->first_bias, n->second, n->second_bias,
                                                    n->last,  n->last_bias,  n->costs,  n->mix};
            for (uint32_t row = 0; row < COST_ROWS; row++) set_costs(d, (torch_side)side, j, row, 1);
        }
    }
    for (uint32_t j = 0; j < MEMBERS; j++) {
        set_costs(d, TORCH_GPU, j, GPU, j == 0 ? 2 : j == 1 ? 4 : 8);
        set_costs(d, TORCH_GPU, j, GPU_GROUP, 3);
    }
}

static void made_close(made *d) {
    torch_rules_free(&d->m.rules);
}

/* Two relus of 250,000 elements of an image. Under autocast each moves 2 MB: 2 us on the GPU, and 4 us of launch. */
static ft_graph *two_relus(int64_t batch) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 1000, 250);
    uint32_t y = toy_op(g, "Relu", x, FT_NONE, FT_NONE, toy_value(g, 1, 1000, 250));
    toy_finish(g, toy_op(g, "Relu", y, FT_NONE, FT_NONE, toy_value(g, 1, 1000, 250)), batch, 1);
    return g;
}

typedef struct outcome {
    model_output output;
    char reason[256];
    double parts[2];
    double terms[TORCH_TERMS]; /* of the first row */
    float flags[5];            /* of the setting */
    uint32_t rows;
} outcome;

static outcome predict_graph(const made *d, const target_device *target, const ft_request *request, ft_graph *g) {
    outcome o = {0};
    model_view view;
    arena memory;
    explanation made_of;
    ft_error error;
    model_output again;
    model_view_init(&view, g, request);
    arena_init(&memory, 1 << 20);
    const predict_input in = {.view = &view, .target = target, .memory = &memory, .has_parts = true};
    if (torch_model_explain(&d->m, &in, &o.output, &made_of, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(torch_model_predict(&d->m, &in, &again, NULL), FT_OK);
    assert_true(again.value == o.output.value && again.spread == o.output.spread);
    for (uint32_t i = 0; i < o.output.part_count && i < 2; i++) o.parts[i] = o.output.parts[i].value;
    o.rows = made_of.row_count;
    memcpy(o.terms, made_of.times, sizeof o.terms);
    assert_int_equal(made_of.feature_count, TORCH_FEATURES + 5);
    assert_int_equal(made_of.setting_count, 5);
    memcpy(o.flags, made_of.features + TORCH_FEATURES, sizeof o.flags);
    if (o.output.reason != NULL) strncpy(o.reason, o.output.reason, sizeof o.reason - 1);
    o.output.parts = NULL;
    o.output.reason = NULL;
    arena_free(&memory);
    model_view_free(&view);
    ft_graph_free(g);
    return o;
}

static outcome predict(const made *d, const target_device *target, const ft_request *request, int64_t batch) {
    return predict_graph(d, target, request, two_relus(batch));
}

/* The status of a request that may be refused. */
static ft_status try_predict(const made *d, const target_device *target, const ft_request *request, int64_t batch) {
    model_view view;
    arena memory;
    model_output output;
    ft_error error;
    ft_graph *g = two_relus(batch);
    model_view_init(&view, g, request);
    arena_init(&memory, 1 << 20);
    const predict_input in = {.view = &view, .target = target, .memory = &memory};
    ft_status status = torch_model_predict(&d->m, &in, &output, &error);
    arena_free(&memory);
    model_view_free(&view);
    ft_graph_free(g);
    return status;
}

static outcome predict_gpu(const made *d, const char *setting, ft_mode mode, int64_t batch) {
    return predict(d, &(target_device){.index = GPU}, &(ft_request){.setting = setting, .mode = mode}, batch);
}

static bool is_near(double value, double expected) {
    return fabs(value - expected) <= 1e-5 * fabs(expected) + 1e-9;
}

/* A relu of 250,000 elements, and their mean over the maps: 2 MB and 1.004 MB. */
static ft_graph *relu_and_mean(int64_t batch) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 1000, 25, 10);
    uint32_t y = toy_op(g, "Relu", x, FT_NONE, FT_NONE, toy_value(g, 1, 1000, 25, 10));
    uint32_t z = toy_op(g, "GlobalAveragePool", y, FT_NONE, FT_NONE, toy_value(g, 1, 1000, 1, 1));
    toy_finish(g, z, batch, 1);
    return g;
}

/* Members of 2 and 4 times a cost differ by log 2: the deviation of two numbers is their difference over the root of 2.
 */
static const double APART = 0.69314718056 / 1.41421356237;

static void times_are_work_times_costs(void **state) {
    (void)state;
    made d;
    made_open(&d);
    outcome o = predict_gpu(&d, NULL, FT_INFER, 256);
    const double kernel = 3 * (4 + 2 * 256); /* the mean of 2 and 4 */
    assert_true(is_near(o.output.value, 2 * kernel));
    assert_int_equal(o.output.part_count, 2);
    assert_true(is_near(o.parts[0], kernel) && is_near(o.parts[1], kernel));
    assert_true(o.output.coverage_ratio == 1);
    assert_int_equal(o.output.provenance, FT_LEARNED);
    assert_string_equal(o.reason, "");
    assert_true(is_near(o.output.spread, 0.02 + APART));
    assert_int_equal(o.rows, 1); /* both kernels are the same */
    assert_true(is_near(o.terms[TORCH_LAUNCHES], 3 * 4) && is_near(o.terms[TORCH_MOVED], 3 * 2 * 256));
    const float flags[] = {0, 0, 1, 0, 0};
    assert_memory_equal(o.flags, flags, sizeof flags);
    d.m.config.members = 1;
    o = predict_gpu(&d, NULL, FT_INFER, 256);
    assert_true(is_near(o.output.value, 2 * 2 * (4 + 2 * 256)) && is_near(o.output.spread, 0.02));
    made_close(&d);
}

/* The third member costs 8 times: logarithms log 2 apart have log 2 for their deviation. */
static void three_members_are_averaged(void **state) {
    (void)state;
    made d;
    made_open(&d);
    d.m.config.members = 3;
    outcome o = predict_gpu(&d, NULL, FT_INFER, 256);
    assert_true(is_near(o.output.value, 2 * 14.0 / 3 * (4 + 2 * 256)));
    assert_true(is_near(o.output.spread, 0.02 + log(2)));
    made_close(&d);
}

/* Launches cost the members 2 and 8, bytes 2. */
static void different_kernels_are_summed(void **state) {
    (void)state;
    made d;
    made_open(&d);
    for (uint32_t j = 0; j < 2; j++) {
        set_costs(&d, TORCH_GPU, j, GPU, 2);
        d.nets[TORCH_GPU][j].costs[GPU * TORCH_TERMS + TORCH_LAUNCHES] = (float)log(j == 0 ? 2 : 8);
    }
    outcome o = predict_graph(&d, &(target_device){.index = GPU}, &(ft_request){0}, relu_and_mean(256));
    const double bytes = 2 * 2 * 256 + 2 * 1.004 * 256, sums[] = {2 * 2 * 4 + bytes, 2 * 8 * 4 + bytes};
    assert_int_equal(o.rows, 2);
    assert_true(is_near(o.parts[0], 5 * 4 + 2 * 2 * 256) && is_near(o.parts[1], 5 * 4 + 2 * 1.004 * 256));
    assert_true(is_near(o.output.value, (sums[0] + sums[1]) / 2));
    assert_true(is_near(o.output.spread, 0.02 + log(sums[1] / sums[0]) / sqrt(2)));
    made_close(&d);
}

static void multipliers_are_bounded_mixes_of_the_basis(void **state) {
    (void)state;
    made d;
    made_open(&d);
    for (uint32_t j = 0; j < MEMBERS; j++) {
        d.nets[TORCH_GPU][j].last_bias[TORCH_MOVED] = 0.5F;
        d.nets[TORCH_GPU][j].mix[GPU * TORCH_TERMS + TORCH_MOVED] = 3;
        d.nets[TORCH_GPU][j].mix[GPU * TORCH_TERMS + TORCH_LAUNCHES] = 7; /* of a basis of 0 */
        d.nets[TORCH_CPU][j].last_bias[TORCH_MOVED] = 9;                  /* of the other side */
    }
    double factor = exp(3 * tanh(0.5 * 3 / 3));
    assert_true(is_near(predict_gpu(&d, NULL, FT_INFER, 256).output.value, 2 * 3 * (4 + factor * 2 * 256)));
    /* Each member has its own basis. */
    d.nets[TORCH_GPU][1].last_bias[TORCH_MOVED] = 0;
    const double members[] = {2 * (4 + factor * 2 * 256), 4 * (4 + 2 * 256)};
    assert_true(is_near(predict_gpu(&d, NULL, FT_INFER, 256).output.value, members[0] + members[1]));
    made_close(&d);
}

/* Uncovered kernels widen the interval; so does each setting that was not measured. */
static void intervals_widen_beyond_the_training_data(void **state) {
    (void)state;
    made d;
    made_open(&d);
    d.m.scaling[TORCH_GPU].max[TORCH_SIZE_WRITTEN] = 1;
    outcome o = predict_gpu(&d, NULL, FT_INFER, 256);
    assert_true(o.output.coverage_ratio == 0 && is_near(o.output.spread, 0.02 + APART + 0.3));
    d.m.scaling[TORCH_GPU].max[TORCH_SIZE_WRITTEN] = 1e9F;
    o = predict_gpu(&d, "layout=nhwc", FT_INFER, 256);
    assert_true(is_near(o.output.spread, 0.02 + APART + 0.1));
    assert_int_equal(o.output.provenance, FT_EXTRAPOLATED);
    assert_string_equal(o.reason, "layout=nhwc was not measured on this device, but layout=nchw; the nearest measured "
                                  "setting is used");
    assert_true(is_near(o.output.value, 2 * 3 * (4 + 2 * 256)));
    assert_true(o.flags[0] == 0 && o.flags[1] == 1 && o.flags[2] == 1);
    made_close(&d);
}

/* With widths, disagreement scales them where it is more than typical, and the rest counts three times. */
static void widths_are_those_of_held_out_architectures(void **state) {
    (void)state;
    made d;
    made_open(&d);
    d.m.widths = d.widths;
    d.widths[GPU] = 0.1;
    d.widths[CPU] = 0.7;
    assert_true(is_near(predict_gpu(&d, NULL, FT_INFER, 256).output.spread, 0.1));
    d.m.typical_spread[TORCH_GPU] = 0.6; /* more than APART, 0.49 */
    assert_true(is_near(predict_gpu(&d, NULL, FT_INFER, 256).output.spread, 0.1));
    d.m.typical_spread[TORCH_GPU] = 0.2;
    assert_true(is_near(predict_gpu(&d, NULL, FT_INFER, 256).output.spread, 0.1 * APART / 0.2));
    d.m.typical_spread[TORCH_GPU] = 0;
    assert_true(is_near(predict_gpu(&d, "layout=nhwc", FT_INFER, 256).output.spread, 0.1 + 3 * 0.1));
    made_close(&d);
}

/* A CPU was measured compiled only: the time of a request that does not ask for it is that of compile=no, two kernels
 * instead of one, and it is assumed. */
static void open_compile_means_no(void **state) {
    (void)state;
    made d;
    made_open(&d);
    const target_device cpu = {.index = CPU};
    outcome open = predict(&d, &cpu, &(ft_request){.setting = "amp=no"}, 1);
    outcome eager = predict(&d, &cpu, &(ft_request){.setting = "compile=no"}, 1);
    outcome compiled = predict(&d, &cpu, &(ft_request){.setting = "compile=yes"}, 1);
    assert_true(open.output.value == eager.output.value && is_near(open.output.value, 2 * compiled.output.value));
    assert_true(open.flags[0] == 0 && compiled.flags[0] == 1);
    assert_int_equal(open.output.provenance, FT_EXTRAPOLATED);
    assert_int_equal(compiled.output.provenance, FT_LEARNED);
    assert_string_equal(open.reason,
                        "compile=no was not measured on this device, but compile=yes; the nearest measured "
                        "setting is used");
    made_close(&d);
}

/* Plain 16 bits move half of the bytes, and are no assumption. */
static void plain_16_bits_are_no_assumption(void **state) {
    (void)state;
    made d;
    made_open(&d);
    const ft_request plain = {.setting = "amp=no", .dtype = FT_FLOAT16};
    outcome o = predict(&d, &(target_device){.index = GPU}, &plain, 256);
    assert_true(is_near(o.output.value, 2 * 3 * (4 + 256)));
    assert_int_equal(o.output.provenance, FT_LEARNED);
    assert_true(o.flags[2] == 0 && o.flags[3] == 0);
    made_close(&d);
}

static void training_takes_three_times_inference(void **state) {
    (void)state;
    made d;
    made_open(&d);
    outcome o = predict_gpu(&d, NULL, FT_TRAIN, 256);
    assert_true(is_near(o.output.value, 3 * 2 * 3 * (4 + 2 * 256)));
    assert_true(is_near(o.terms[TORCH_LAUNCHES], 3 * 3 * 4) && o.flags[4] == 1);
    assert_int_equal(o.output.provenance, FT_EXTRAPOLATED);
    assert_true(is_near(o.output.spread, 0.02 + APART + 0.1));
    d.settings[GPU].mode = FT_TRAIN;
    assert_true(is_near(predict_gpu(&d, NULL, FT_TRAIN, 256).output.value, 2 * 3 * (4 + 2 * 256)));
    assert_true(is_near(predict_gpu(&d, NULL, FT_INFER, 256).output.value, 2 * 3 * (4 + 2 * 256) / 3.0));
    made_close(&d);
}

/* A typical host: 300 us, and 30 us a kernel (39 with autocast, 15 compiled); only below a quarter of the measured
 * batch. The GPU starts a kernel when it was launched and the one before has ended. */
static void small_batches_wait_for_launches(void **state) {
    (void)state;
    made d;
    made_open(&d);
    const ft_request plain = {.setting = "amp=no", .dtype = FT_FLOAT16};
    outcome o = predict(&d, &(target_device){.index = GPU}, &plain, 1); /* 2 * 15 us on the GPU */
    assert_true(is_near(o.output.value, 300 + 60 + 15) && is_near(o.parts[0], 345) && is_near(o.parts[1], 30));
    assert_int_equal(o.output.provenance, FT_ASSUMED);
    assert_string_equal(o.reason,
                        "batch 1 was not measured on this device; launches are those of a typical host (30 us a "
                        "kernel; --host and --launch-us say otherwise)");
    o = predict_gpu(&d, NULL, FT_INFER, 1); /* autocast: 2 * 18 us */
    assert_true(is_near(o.output.value, 300 + 78 + 18));
    assert_true(o.output.spread > 0.4 && o.output.spread < 0.7); /* 1.75 of a host, whatever the kernels */
    /* Compiled, both relus are one kernel of 18 us. */
    o = predict_gpu(&d, "compile=yes", FT_INFER, 1);
    assert_true(is_near(o.output.value, 300 + 15 + 18));
    assert_true(o.flags[0] == 1);
    o = predict_gpu(&d, NULL, FT_INFER, 40); /* 2 * 252 us hide the launches, but for the first */
    assert_true(is_near(o.output.value, 300 + 39 + 504));
    /* At a quarter of the batch there is no overhead: costs of 0.01 would show it. */
    for (uint32_t j = 0; j < MEMBERS; j++) set_costs(&d, TORCH_GPU, j, GPU, 0.01);
    assert_true(is_near(predict_gpu(&d, NULL, FT_INFER, 64).output.value, 2 * 0.01 * (4 + 128)));
    made_close(&d);
}

/* A host that the request names counts at every batch, and is not limited by measured steps. */
static void requests_name_their_host(void **state) {
    (void)state;
    made d;
    made_open(&d);
    for (uint32_t j = 0; j < MEMBERS; j++) set_costs(&d, TORCH_GPU, j, GPU, 0.01);
    outcome o = predict_gpu(&d, "launch_us=100", FT_INFER, 256);
    assert_true(is_near(o.output.value, 300 + 200 + 0.01 * (4 + 512)));
    assert_string_equal(o.reason, "launches take 100 us a kernel on this host");
    assert_int_equal(o.output.provenance, FT_EXTRAPOLATED);
    double narrow = o.output.spread;
    o = predict_gpu(&d, "host=dgx-1", FT_INFER, 256);
    assert_non_null(strstr(o.reason, "on this host (dgx-1)"));
    assert_true(o.output.value > 400 + 2 * 53 && o.output.spread > narrow);
    o = predict_gpu(&d, "graphs=yes", FT_INFER, 256);
    assert_true(o.output.value < 100);
    made_close(&d);
}

/* An engine joins both relus: one kernel, launched by a loop in C++, in any type. */
static void engines_have_rules_and_launches_of_their_own(void **state) {
    (void)state;
    made d;
    made_open(&d);
    const target_device gpu = {.index = GPU}, cpu = {.index = CPU};
    outcome o = predict(&d, &gpu, &(ft_request){.setting = "runtime=tensorrt", .dtype = FT_FLOAT16}, 1);
    assert_true(o.output.value > 150 + 4.5 && o.output.value < 150 + 4.5 + 2 * 18);
    assert_int_equal(o.output.provenance, FT_EXTRAPOLATED);
    assert_string_equal(o.reason,
                        "TensorRT was not measured on this device; its kernels are extrapolated from PyTorch");
    outcome large = predict(&d, &gpu, &(ft_request){.setting = "runtime=tensorrt", .dtype = FT_FLOAT16}, 256);
    outcome narrow = predict(&d, &gpu, &(ft_request){.setting = "runtime=tensorrt", .dtype = FT_INT8}, 256);
    assert_true(narrow.output.value < large.output.value && narrow.output.value > large.output.value / 2);
    o = predict(&d, &gpu, &(ft_request){.setting = "runtime=onnxruntime-cuda", .dtype = FT_FLOAT16}, 1);
    assert_true(o.output.value > 150 + 2 * 9); /* relus are kernels of their own */
    assert_int_equal(try_predict(&d, &cpu, &(ft_request){.setting = "runtime=tensorrt"}, 1), FT_ERR_UNSUPPORTED);
    assert_int_equal(try_predict(&d, &gpu, &(ft_request){.setting = "runtime=tensorrt", .mode = FT_TRAIN}, 1),
                     FT_ERR_UNSUPPORTED);
    assert_int_equal(try_predict(&d, &gpu, &(ft_request){.dtype = FT_INT8}, 1), FT_ERR_UNSUPPORTED);
    made_close(&d);
}

static ft_graph *many_relus(int64_t batch) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 1000, 250);
    for (int i = 0; i < 100; i++) x = toy_op(g, "Relu", x, FT_NONE, FT_NONE, toy_value(g, 1, 1000, 250));
    toy_finish(g, x, batch, 1);
    return g;
}

static double time_of_many(const made *d, int64_t batch) {
    return predict_graph(d, &(target_device){.index = GPU}, &(ft_request){0}, many_relus(batch)).output.value;
}

/* 100 launches of 39 us are 3900 us; at a quarter of the measured batch, where no launch is waited for, 100 kernels of
 * 132 us times the cost. */
static void launches_take_no_longer_than_a_measured_step(void **state) {
    (void)state;
    made d;
    made_open(&d);
    for (uint32_t j = 0; j < MEMBERS; j++) set_costs(&d, TORCH_GPU, j, GPU, 0.1);
    assert_true(is_near(time_of_many(&d, 64), 1320));
    assert_true(is_near(time_of_many(&d, 63), 1320));
    assert_true(is_near(time_of_many(&d, 1), 1320));
    for (uint32_t j = 0; j < MEMBERS; j++) set_costs(&d, TORCH_GPU, j, GPU, 0.01); /* shorter than any measured */
    assert_true(is_near(time_of_many(&d, 1), 1000));
    made_close(&d);
}

/* Single images on the CPU: 0.1 of a launch of 4 us for a fused loop, and 2 MB at 0.1 TB/s. */
static void large_batches_on_cpus_are_extrapolated(void **state) {
    (void)state;
    made d;
    made_open(&d);
    const target_device cpu = {.index = CPU};
    const ft_request compiled = {.setting = "compile=yes"};
    outcome o = predict(&d, &cpu, &compiled, 1);
    assert_true(is_near(o.output.value, 0.4 + 20));
    assert_int_equal(o.output.provenance, FT_LEARNED);
    assert_true(is_near(o.output.spread, 0.02) && o.flags[0] == 1 && o.flags[3] == 1);
    o = predict(&d, &cpu, &compiled, 3);
    assert_int_equal(o.output.provenance, FT_LEARNED);
    o = predict(&d, &cpu, &compiled, 4);
    assert_true(is_near(o.output.value, 0.4 + 80));
    assert_int_equal(o.output.provenance, FT_EXTRAPOLATED);
    assert_string_equal(o.reason, "batch 4 was not measured on this device; it is extrapolated from smaller ones");
    assert_true(is_near(o.output.spread, 0.02 + 0.1));
    d.settings[CPU].typical_batch = 2;
    assert_int_equal(predict(&d, &cpu, &compiled, 7).output.provenance, FT_LEARNED);
    assert_int_equal(predict(&d, &cpu, &compiled, 8).output.provenance, FT_EXTRAPOLATED);
    made_close(&d);
}

/* Without matrix units for float16, products have the rate of float32. */
static void types_without_units_are_extrapolated(void **state) {
    (void)state;
    static const char *const text =
        "{\"foretell_device\": 1, \"name\": \"other\", \"kind\": \"gpu\", \"runtime\": \"torch-eager\", "
        "\"peak_float32_flops\": 25e12, \"bandwidth_bytes_per_s\": 2e12}";
    made d;
    made_open(&d);
    ft_device *other = NULL;
    assert_int_equal(device_parse(text, strlen(text), "other.json", &other, NULL), FT_OK);
    const target_device target = {.index = FT_NONE, .sheet = other};
    outcome o = predict(&d, &target, &(ft_request){.dtype = FT_FLOAT16}, 256);
    assert_int_equal(o.output.provenance, FT_EXTRAPOLATED);
    assert_true(is_near(o.output.spread, 0.02 + 0.02 + 0.1));
    assert_string_equal(o.reason, "the data sheet has no matrix units for float16; products have the rate of float32");
    ft_device_free(other);
    made_close(&d);
}

/* Another GPU, of 2 TB/s, has the unit costs of the group at its own rates. */
static void other_devices_have_the_costs_of_the_group(void **state) {
    (void)state;
    static const char *const text =
        "{\"foretell_device\": 1, \"name\": \"other\", \"kind\": \"gpu\", \"runtime\": \"torch-eager\", "
        "\"peak_float32_flops\": 25e12, \"peak_float16_flops\": 50e12, \"bandwidth_bytes_per_s\": 2e12}";
    made d;
    made_open(&d);
    ft_device *other = NULL;
    assert_int_equal(device_parse(text, strlen(text), "other.json", &other, NULL), FT_OK);
    const target_device target = {.index = FT_NONE, .sheet = other};
    outcome o = predict(&d, &target, &(ft_request){0}, 256);
    assert_true(is_near(o.output.value, 2 * 3 * (4 + 256)));
    assert_true(is_near(o.output.spread, 0.02 + 0.02));
    assert_int_equal(o.output.provenance, FT_LEARNED);
    d.settings[GPU].mode = FT_TRAIN;
    o = predict(&d, &target, &(ft_request){.mode = FT_TRAIN}, 256);
    assert_int_equal(o.output.provenance, FT_EXTRAPOLATED);
    assert_string_equal(o.reason, "training was not measured on this device; it is extrapolated from another one");
    assert_true(is_near(o.output.spread, 0.02 + 0.02 + 0.1));
    ft_device_free(other);
    made_close(&d);
}

/* Another CPU, of 0.05 TB/s, in the group of the CPU. */
static void other_cpus_have_the_costs_of_their_group(void **state) {
    (void)state;
    static const char *const text =
        "{\"foretell_device\": 1, \"name\": \"other\", \"kind\": \"cpu\", \"runtime\": \"torch-eager\", "
        "\"peak_float32_flops\": 1e12, \"bandwidth_bytes_per_s\": 5e10}";
    made d;
    made_open(&d);
    for (uint32_t j = 0; j < MEMBERS; j++) set_costs(&d, TORCH_CPU, j, CPU_GROUP, 5);
    ft_device *other = NULL;
    assert_int_equal(device_parse(text, strlen(text), "other.json", &other, NULL), FT_OK);
    const ft_request compiled = {.setting = "compile=yes"};
    outcome o = predict(&d, &(target_device){.index = FT_NONE, .sheet = other}, &compiled, 1);
    assert_true(is_near(o.output.value, 5 * (0.4 + 40)));
    ft_device_free(other);
    made_close(&d);
}

static void models_without_settings_are_errors(void **state) {
    (void)state;
    made d;
    made_open(&d);
    d.m.setting_count = 0;
    ft_graph *g = two_relus(1);
    model_view view;
    arena memory;
    model_output out;
    ft_error error;
    model_view_init(&view, g, &(ft_request){0});
    arena_init(&memory, 1 << 20);
    const predict_input in = {.view = &view, .target = &(target_device){.index = GPU}, .memory = &memory};
    assert_int_equal(torch_model_predict(&d.m, &in, &out, &error), FT_ERR_UNSUPPORTED);
    d.m.setting_count = DEVICES;
    for (uint32_t j = 0; j < MEMBERS; j++) set_costs(&d, TORCH_GPU, j, GPU, 1e38);
    d.nets[TORCH_GPU][0].costs[TORCH_MOVED] = 200; /* infinite */
    assert_int_equal(torch_model_predict(&d.m, &in, &out, &error), FT_ERR_LIMIT);
    arena_free(&memory);
    model_view_free(&view);
    ft_graph_free(g);
    made_close(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_are_work_times_costs),
                                       cmocka_unit_test(three_members_are_averaged),
                                       cmocka_unit_test(different_kernels_are_summed),
                                       cmocka_unit_test(other_cpus_have_the_costs_of_their_group),
                                       cmocka_unit_test(multipliers_are_bounded_mixes_of_the_basis),
                                       cmocka_unit_test(intervals_widen_beyond_the_training_data),
                                       cmocka_unit_test(widths_are_those_of_held_out_architectures),
                                       cmocka_unit_test(open_compile_means_no),
                                       cmocka_unit_test(plain_16_bits_are_no_assumption),
                                       cmocka_unit_test(training_takes_three_times_inference),
                                       cmocka_unit_test(small_batches_wait_for_launches),
                                       cmocka_unit_test(requests_name_their_host),
                                       cmocka_unit_test(engines_have_rules_and_launches_of_their_own),
                                       cmocka_unit_test(launches_take_no_longer_than_a_measured_step),
                                       cmocka_unit_test(large_batches_on_cpus_are_extrapolated),
                                       cmocka_unit_test(types_without_units_are_extrapolated),
                                       cmocka_unit_test(other_devices_have_the_costs_of_the_group),
                                       cmocka_unit_test(models_without_settings_are_errors)};
    return cmocka_run_group_tests_name("predictor/torch_predict", tests, NULL, NULL);
}
