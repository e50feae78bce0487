/* Settings of PyTorch are parsed, and the measured one nearest to a request is found. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/torch/torch_setting.h"

static torch_setting parsed(const char *text, ft_mode mode, ft_dtype dtype, uint32_t device) {
    torch_setting setting;
    assert_int_equal(torch_setting_parse(text, mode, dtype, &setting, NULL), FT_OK);
    setting.device = device;
    return setting;
}

static void settings_are_read(void **state) {
    (void)state;
    torch_setting c = parsed("amp=yes;compile=no;layout=nhwc;torch=1.13.1;other=x", FT_TRAIN, FT_FLOAT16, 2);
    assert_int_equal(c.is_mixed, TORCH_YES);
    assert_int_equal(c.is_compiled, TORCH_NO);
    assert_int_equal(c.is_nhwc, TORCH_YES);
    assert_int_equal(c.version, 113);
    assert_int_equal(c.mode, FT_TRAIN);
    /* Open choices have the defaults of PyTorch. */
    c = parsed(NULL, FT_INFER, FT_FLOAT32, 0);
    assert_true(c.is_mixed == TORCH_NO && c.is_compiled == TORCH_NO && c.is_nhwc == TORCH_NO && c.version == 0);
    assert_int_equal(parsed("", FT_INFER, FT_BFLOAT16, 0).is_mixed, TORCH_YES);
    assert_int_equal(parsed("", FT_INFER, FT_DTYPE_UNKNOWN, 0).is_mixed, TORCH_OPEN);
}

static void runtimes_are_named(void **state) {
    (void)state;
    torch_runtime runtime;
    ft_error error;
    assert_true(torch_runtime_parse("", &runtime, &error) == FT_OK && runtime == TORCH_PYTORCH);
    assert_true(torch_runtime_parse(NULL, &runtime, &error) == FT_OK && runtime == TORCH_PYTORCH);
    assert_true(torch_runtime_parse("amp=no;runtime=tensorrt", &runtime, &error) == FT_OK && runtime == TORCH_TENSORRT);
    assert_true(torch_runtime_parse("runtime=onnxruntime-cuda;torch=2.0", &runtime, &error) == FT_OK);
    assert_int_equal(runtime, TORCH_ONNXRUNTIME);
    assert_int_equal(torch_runtime_parse("runtime=tvm", &runtime, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "'tvm': expected pytorch, tensorrt or onnxruntime-cuda"));
}

/* Int8 of a data sheet, or twice the rate of float16. */
static void int8_has_rates_of_its_own(void **state) {
    (void)state;
    torch_sheet sheet = {.is_gpu = true,
                         .peak16 = 100e12,
                         .peak16b = 100e12,
                         .peak19 = 50e12,
                         .peak32 = 25e12,
                         .bandwidth = 1e12,
                         .peak8 = 400e12};
    const torch_setting half = {.dtype = FT_FLOAT16};
    double wide[TORCH_ANCHORS], narrow[TORCH_ANCHORS];
    torch_sheet_anchors(&sheet, &half, wide);
    memcpy(narrow, wide, sizeof wide);
    torch_int8_anchors(&sheet, narrow);
    assert_true(narrow[TORCH_PRODUCTS] == wide[TORCH_PRODUCTS] / 4 && narrow[TORCH_MOVED] == wide[TORCH_MOVED] / 2);
    sheet.peak8 = 0;
    memcpy(narrow, wide, sizeof wide);
    torch_int8_anchors(&sheet, narrow);
    assert_true(narrow[TORCH_MATMUL_RATE] == wide[TORCH_MATMUL_RATE] / 2);
    assert_true(narrow[TORCH_LAUNCHES] == wide[TORCH_LAUNCHES]);
}

/* Winograd where float32 products are plain; early matrix units in 16 bits with channels first. */
static void algorithms_follow_from_rates_and_types(void **state) {
    (void)state;
    torch_row conv = {0};
    conv.features[TORCH_FLAG_KIND + TORCH_CONV] = 1;
    conv.features[TORCH_SIZE_WINDOW] = 1.58496F;
    const torch_sheet volta = {.is_gpu = true,
                               .peak16 = 100e12,
                               .peak16b = 15e12,
                               .peak19 = 15e12,
                               .peak32 = 15e12,
                               .bandwidth = 1e12,
                               .product32 = 15e12};
    torch_sheet ampere = volta;
    ampere.peak19 = 60e12;
    const torch_setting single = {.dtype = FT_FLOAT32, .tf32 = TORCH_TF32_CONV, .is_mixed = TORCH_NO};
    const torch_setting half = {.dtype = FT_FLOAT16, .is_mixed = TORCH_NO, .is_nhwc = TORCH_NO};
    torch_setting plain = single, last = half, mixed = half;
    plain.tf32 = TORCH_TF32_NONE;
    last.is_nhwc = TORCH_YES;
    mixed.is_mixed = TORCH_YES;
    assert_true(torch_algorithm_ratio(&volta, &single, &conv) == 0.7F);
    assert_true(torch_algorithm_ratio(&ampere, &single, &conv) == 1);
    assert_true(torch_algorithm_ratio(&ampere, &plain, &conv) == 0.7F);
    assert_true(torch_algorithm_ratio(&volta, &half, &conv) == 1.3F &&
                torch_algorithm_ratio(&ampere, &half, &conv) == 1);
    assert_true(torch_algorithm_ratio(&volta, &last, &conv) == 1 && torch_algorithm_ratio(&volta, &mixed, &conv) == 1);
    conv.features[TORCH_SIZE_STRIDE] = 1; /* 2 */
    assert_true(torch_algorithm_ratio(&volta, &single, &conv) == 1);
}

/* PyTorch's defaults by version, and what the request says instead. */
static void tf32_has_the_defaults_of_the_version(void **state) {
    (void)state;
    static const struct {
        const char *text;
        torch_tf32 tf32;
    } cases[] = {{"", TORCH_TF32_CONV},
                 {"torch=unknown", TORCH_TF32_CONV},
                 {"torch=2.4.0", TORCH_TF32_CONV},
                 {"torch=1.12.0", TORCH_TF32_CONV},
                 {"torch=1.11.1", TORCH_TF32_ALL},
                 {"torch=1.7.0", TORCH_TF32_ALL},
                 {"torch=1.6.0", TORCH_TF32_NONE},
                 {"tf32=none", TORCH_TF32_NONE},
                 {"tf32=matmul", TORCH_TF32_MATMUL},
                 {"tf32=all;torch=1.6.0", TORCH_TF32_ALL},
                 {"torch=1.8.0;tf32=conv", TORCH_TF32_CONV}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (parsed(cases[i].text, FT_INFER, FT_FLOAT32, 0).tf32 != cases[i].tf32) fail_msg("%s", cases[i].text);
}

/* At 20 TFLOP/s of float32, 30 on matrix units, 100 as TF32, 150 and 200 in 16 bits. */
static void float32_products_run_at_the_rate_of_their_kind(void **state) {
    (void)state;
    const torch_sheet sheet = {true, 200e12, 150e12, 100e12, 20e12, 1e12, 30e12, 0};
    static const struct {
        const char *text;
        ft_dtype dtype;
        double conv, matmul; /* TFLOP/s */
    } cases[] = {
        {"", FT_FLOAT32, 100, 30},          {"tf32=none", FT_FLOAT32, 30, 30},   {"tf32=matmul", FT_FLOAT32, 30, 100},
        {"tf32=all", FT_FLOAT32, 100, 100}, {"tf32=none", FT_FLOAT16, 200, 200}, {"tf32=conv", FT_BFLOAT16, 150, 150}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        torch_setting setting = parsed(cases[i].text, FT_INFER, cases[i].dtype, 0);
        double anchors[TORCH_ANCHORS];
        torch_sheet_anchors(&sheet, &setting, anchors);
        assert_float_equal(anchors[TORCH_PRODUCTS] * cases[i].conv, 2e-6, 1e-12);
        assert_float_equal(anchors[TORCH_MATMUL_RATE] * cases[i].matmul, 2e-6, 1e-12);
        assert_true(anchors[TORCH_ATTENDED] == anchors[TORCH_MATMUL_RATE]);
        assert_float_equal(anchors[TORCH_FLOPS] * 20, 1e-6, 1e-12);
    }
}

/* Shares of the float32 peak that large products reached: 0.48 on a T4, 0.96 on a V100, 0.81 on an A100 of 250 W,
 * 0.29 on an L4. */
static void small_cards_do_not_sustain_float32_products(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double lo, hi;
    } cases[] = {{"t4", 0.45, 0.62},   {"v100-pcie", 0.95, 1}, {"a100-pcie-40gb", 0.8, 1}, {"l4", 0.28, 0.4},
                 {"rtx-4090", 0.7, 1}, {"h100-sxm", 0.95, 1},  {"mi210", 1.9, 2.1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ft_device *device = NULL;
        torch_sheet sheet;
        assert_int_equal(ft_device_open(cases[i].name, &device, NULL), FT_OK);
        assert_int_equal(torch_sheet_read(device, &sheet, NULL), FT_OK);
        double share = sheet.product32 / ft_device_number(device, "peak_float32_flops");
        if (share < cases[i].lo || share > cases[i].hi) fail_msg("%s sustains %g", cases[i].name, share);
        bool is_turing = strcmp(cases[i].name, "t4") == 0, is_volta = strcmp(cases[i].name, "v100-pcie") == 0;
        assert_false(torch_sheet_lacks_type(&sheet, FT_FLOAT16));
        assert_int_equal(torch_sheet_lacks_type(&sheet, FT_BFLOAT16), is_turing || is_volta);
        ft_device_free(device);
    }
}

static void wrong_settings_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"layout=chwn", "compile=maybe", "amp=",     "torch=new",
                                        "torch=2",     "torch=-1.5",    "tf32=yes", "tf32="};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        torch_setting setting;
        ft_error error;
        if (torch_setting_parse(wrong[i], FT_INFER, FT_FLOAT32, &setting, &error) != FT_ERR_USAGE)
            fail_msg("%s is accepted", wrong[i]);
        assert_non_null(strstr(error.message, "the setting"));
    }
}

static void precision_follows_the_type(void **state) {
    (void)state;
    torch_setting c = parsed("amp=yes", FT_INFER, FT_FLOAT16, 0);
    assert_true(torch_setting_precision(&c).is_mixed);
    c = parsed("amp=no", FT_INFER, FT_BFLOAT16, 0);
    assert_true(!torch_setting_precision(&c).is_mixed && torch_setting_precision(&c).bytes == 2);
    c = parsed("", FT_INFER, FT_FLOAT32, 0);
    assert_true(!torch_setting_precision(&c).is_mixed && torch_setting_precision(&c).bytes == 4);
}

/* Data sheets of two GPUs and a CPU. */
static const torch_sheet sheets[] = {{true, 71e12, 71e12, 36e12, 36e12, 936e9, 0, 0},
                                     {true, 165e12, 165e12, 83e12, 83e12, 1008e9, 0, 0},
                                     {false, 3e12, 3e12, 3e12, 3e12, 94e9, 0, 0}};

enum {
    OLD_GPU,
    OLD_GPU_NHWC,
    OLD_GPU_1,
    OLD_GPU_UNKNOWN,
    OLD_GPU_TRAIN,
    NEW_GPU,
    NEW_GPU_COMPILED,
    NEW_GPU_PLAIN_COMPILED,
    CPU_FLOAT32,
    SETTINGS
};

static torch_match nearest(const torch_setting *requested, const torch_sheet *sheet) {
    torch_setting settings[SETTINGS];
    settings[OLD_GPU] = parsed("amp=yes;compile=no;layout=nchw;torch=2.4.0", FT_INFER, FT_FLOAT16, 0);
    settings[OLD_GPU_NHWC] = parsed("amp=yes;compile=no;layout=nhwc;torch=2.4.0", FT_INFER, FT_FLOAT16, 0);
    settings[OLD_GPU_1] = parsed("amp=yes;compile=no;layout=nchw;torch=1.13.0", FT_INFER, FT_FLOAT16, 0);
    settings[OLD_GPU_UNKNOWN] = parsed("amp=yes;compile=no;layout=nchw;torch=unknown", FT_INFER, FT_FLOAT16, 0);
    settings[OLD_GPU_TRAIN] = parsed("amp=yes;compile=no;layout=nchw;torch=1.12.0", FT_TRAIN, FT_FLOAT16, 0);
    settings[NEW_GPU] = parsed("amp=yes;compile=no;layout=nchw;torch=2.9.1", FT_INFER, FT_FLOAT16, 1);
    settings[NEW_GPU_COMPILED] = parsed("amp=yes;compile=yes;layout=nchw;torch=2.9.1", FT_INFER, FT_FLOAT16, 1);
    settings[NEW_GPU_PLAIN_COMPILED] = parsed("amp=no;compile=yes;layout=nchw;torch=2.9.1", FT_INFER, FT_BFLOAT16, 1);
    settings[CPU_FLOAT32] = parsed("amp=no;compile=yes;layout=nchw;torch=2.4.0", FT_INFER, FT_FLOAT32, 2);
    return torch_setting_nearest(settings, sheets, SETTINGS, requested, sheet);
}

static void expect(const char *text, ft_mode mode, ft_dtype dtype, uint32_t device, uint32_t setting, bool is_assumed) {
    torch_setting requested = parsed(text, mode, dtype, device);
    torch_sheet between = {true, 209e12, 209e12, 105e12, 105e12, 1792e9, 0, 0};
    torch_match match = nearest(&requested, device != FT_NONE ? &sheets[device] : &between);
    if (match.setting != setting || match.is_assumed != is_assumed)
        fail_msg("'%s' of device %d finds setting %u", text, (int)device, match.setting);
}

static void the_nearest_is_found(void **state) {
    (void)state;
    expect("", FT_INFER, FT_DTYPE_UNKNOWN, 0, OLD_GPU, false);
    expect("", FT_INFER, FT_FLOAT16, 0, OLD_GPU, false);
    expect("layout=nhwc", FT_INFER, FT_FLOAT16, 0, OLD_GPU_NHWC, false);
    expect("torch=1.13.0", FT_INFER, FT_FLOAT16, 0, OLD_GPU_1, false);
    expect("torch=1.9.0", FT_INFER, FT_FLOAT16, 0, OLD_GPU_1, false);
    expect("torch=unknown", FT_INFER, FT_FLOAT16, 0, OLD_GPU_UNKNOWN, false);
    expect("", FT_TRAIN, FT_FLOAT16, 0, OLD_GPU_TRAIN, false);
    expect("", FT_TRAIN, FT_FLOAT16, 1, OLD_GPU_TRAIN, false);
    expect("compile=yes", FT_INFER, FT_FLOAT16, 1, NEW_GPU_COMPILED, false);
    expect("compile=yes", FT_INFER, FT_FLOAT16, 0, OLD_GPU, true);
    expect("", FT_INFER, FT_FLOAT32, 1, NEW_GPU, true);
    expect("", FT_INFER, FT_FLOAT16, FT_NONE, NEW_GPU, false);
    expect("", FT_INFER, FT_BFLOAT16, FT_NONE, NEW_GPU, false);
    expect("compile=yes", FT_INFER, FT_FLOAT32, 2, CPU_FLOAT32, false);
    expect("", FT_INFER, FT_FLOAT32, 2, CPU_FLOAT32, true);
    /* Plain 16 bits were measured compiled only, but nothing asks for that here. */
    expect("amp=no", FT_INFER, FT_FLOAT16, 1, NEW_GPU, false);
    expect("amp=no", FT_INFER, FT_BFLOAT16, 1, NEW_GPU, false);
    expect("amp=no;compile=yes", FT_INFER, FT_BFLOAT16, 1, NEW_GPU_PLAIN_COMPILED, false);
}

static void saved_settings_and_sheets_are_loaded(void **state) {
    (void)state;
    torch_setting setting = parsed("amp=yes;compile=no;layout=nhwc;torch=1.13.1", FT_TRAIN, FT_FLOAT16, 2), back;
    torch_sheet sheet;
    json_t *list = torch_setting_save(&setting);
    assert_int_equal(torch_setting_load(list, 3, &back, NULL), FT_OK);
    assert_true(torch_setting_equal(&setting, &back));
    assert_int_equal(torch_setting_load(list, 2, &back, NULL), FT_ERR_DAMAGED);
    json_decref(list);
    list = torch_sheet_save(&sheets[1]);
    assert_int_equal(torch_sheet_load(list, &sheet, NULL), FT_OK);
    assert_true(sheet.is_gpu && sheet.peak32 == sheets[1].peak32 && sheet.bandwidth == sheets[1].bandwidth);
    json_array_set_new(list, 2, json_real(-1));
    assert_int_equal(torch_sheet_load(list, &sheet, NULL), FT_ERR_DAMAGED);
    json_decref(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read),
        cmocka_unit_test(wrong_settings_are_refused),
        cmocka_unit_test(runtimes_are_named),
        cmocka_unit_test(int8_has_rates_of_its_own),
        cmocka_unit_test(algorithms_follow_from_rates_and_types),
        cmocka_unit_test(tf32_has_the_defaults_of_the_version),
        cmocka_unit_test(float32_products_run_at_the_rate_of_their_kind),
        cmocka_unit_test(small_cards_do_not_sustain_float32_products),
        cmocka_unit_test(precision_follows_the_type),
        cmocka_unit_test(the_nearest_is_found),
        cmocka_unit_test(saved_settings_and_sheets_are_loaded),
    };
    return cmocka_run_group_tests_name("predictor/torch_setting", tests, NULL, NULL);
}
