/* Rules of devices: each set is opened once; a file may name only bundled ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "predictor/core/runtimes.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/synth_data.h"

static const char *const devices[] = {"adreno-630", "abacus", "adreno-640", "cortex-a76"};

static void devices_share_rules(void **state) {
    (void)state;
    runtimes r, again;
    ft_error error;
    assert_int_equal(runtimes_open(NULL, devices, 4, &r, &error), FT_OK);
    assert_int_equal(r.count, 3);
    assert_ptr_equal(runtimes_rules(&r, 0), runtimes_rules(&r, 2));
    assert_string_equal(ft_rules_name(runtimes_rules(&r, 0)), "tflite-gpu");
    assert_string_equal(ft_rules_name(runtimes_rules(&r, 1)), RUNTIME_UNKNOWN);
    assert_string_equal(ft_rules_name(runtimes_rules(&r, 3)), "tflite-cpu");
    json_t *params = NULL;
    assert_int_equal(runtimes_params(&r, &params, &error), FT_OK);
    assert_int_equal(runtimes_from_params(params, 4, &again, &error), FT_OK);
    assert_ptr_equal(runtimes_rules(&again, 0), runtimes_rules(&again, 2));
    assert_string_equal(ft_rules_name(runtimes_rules(&again, 3)), "tflite-cpu");
    assert_int_equal(runtimes_from_params(params, 3, &again, &error), FT_ERR_DAMAGED);
    assert_int_equal(runtimes_from_params(params, 5, &again, &error), FT_ERR_DAMAGED);
    json_decref(params);
    runtimes_free(&again);
    runtimes_free(&r);
    runtimes_free(&r);
}

static void write_device(const char *path, const char *runtime) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"foretell_device\": 1, \"name\": \"abacus\", \"kind\": \"cpu\", \"runtime\": \"%s\"}", runtime);
    assert_int_equal(fclose(file), 0);
}

/* A device that a data set describes has the runtime of its description, if that is bundled. */
static void data_sets_have_devices(void **state) {
    (void)state;
    builder *b = synth_begin("d");
    synth_add(b, &(synth_record){.network = 1, .family = "", .device = "adreno-640", .time_us = 1});
    ft_dataset *data = synth_end(b, "d");
    runtimes r = {0};
    ft_error error;
    assert_int_equal(mkdir("d/devices", 0755), 0);
    assert_int_equal(runtimes_open(data, devices, 4, &r, &error), FT_ERR_IO);
    write_device("d/devices/abacus.json", "openvino-vpu");
    assert_int_equal(runtimes_open(data, devices, 4, &r, &error), FT_OK);
    assert_string_equal(ft_rules_name(runtimes_rules(&r, 1)), "openvino-vpu");
    assert_string_equal(ft_rules_name(runtimes_rules(&r, 2)), "tflite-gpu");
    runtimes_free(&r);
    write_device("d/devices/abacus.json", "./my.json");
    assert_int_equal(runtimes_open(data, devices, 4, &r, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "d/devices/abacus.json: the runtime './my.json' is not bundled"));
    ft_dataset_free(data);
}

static void files_name_only_bundled_rules(void **state) {
    (void)state;
    const struct {
        const char *text;
        ft_status status;
    } wrong[] = {{"[\"/etc/passwd\"]", FT_ERR_UNSUPPORTED},
                 {"[\"warp\"]", FT_ERR_UNSUPPORTED},
                 {"[7]", FT_ERR_DAMAGED},
                 {"{}", FT_ERR_DAMAGED}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *names = NULL;
        runtimes r = {0};
        ft_error error;
        assert_int_equal(json_parse(wrong[i].text, strlen(wrong[i].text), &names, &error), FT_OK);
        assert_int_equal(runtimes_load(names, 1, &r, &error), wrong[i].status);
        assert_null(r.of_device);
        json_decref(names);
    }
    runtimes r;
    assert_int_equal(runtimes_load(NULL, 1, &r, NULL), FT_ERR_DAMAGED);
    json_t *none = json_object();
    assert_int_equal(runtimes_from_params(none, 1, &r, NULL), FT_ERR_DAMAGED);
    json_decref(none);
}

static void memory_runs_out(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        runtimes r = {0}, again = {0};
        json_t *params = NULL;
        failing_start(n);
        ft_status status = runtimes_open(NULL, devices, 2, &r, NULL);
        if (status == FT_OK) status = runtimes_params(&r, &params, NULL);
        if (status == FT_OK) status = runtimes_from_params(params, 2, &again, NULL);
        bool has_failed = failing_stop();
        json_decref(params);
        runtimes_free(&again);
        runtimes_free(&r);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_share_rules),
        cmocka_unit_test_setup_teardown(data_sets_have_devices, folder_enter, folder_leave),
        cmocka_unit_test(files_name_only_bundled_rules),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("predictor/runtimes", tests, NULL, NULL);
}
