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

static void wrong_settings_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"layout=chwn", "compile=maybe", "amp=", "torch=new", "torch=2", "torch=-1.5"};
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
static const torch_sheet sheets[] = {{true, 71e12, 71e12, 36e12, 36e12, 936e9},
                                     {true, 165e12, 165e12, 83e12, 83e12, 1008e9},
                                     {false, 3e12, 3e12, 3e12, 3e12, 94e9}};

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
    torch_sheet between = {true, 209e12, 209e12, 105e12, 105e12, 1792e9};
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
        cmocka_unit_test(precision_follows_the_type),
        cmocka_unit_test(the_nearest_is_found),
        cmocka_unit_test(saved_settings_and_sheets_are_loaded),
    };
    return cmocka_run_group_tests_name("predictor/torch_setting", tests, NULL, NULL);
}
