/* Device files: bundled ones, files of users, and every kind of invalid file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/embedded.h"
#include "base/json.h"
#include "device/device.h"
#include "foretell/kernel.h"
#include "support/failing.h"
#include "support/folder.h"

#define HEAD "{\"foretell_device\": 1, \"name\": \"mine\", \"kind\": \"cpu\", \"runtime\": \"tflite-cpu\""

static ft_status parse(const char *text, ft_device **device, ft_error *error) {
    return device_parse(text, strlen(text), "my.json", device, error);
}

static void refuses(const char *text, ft_status status, const char *part) {
    ft_device *device = NULL;
    ft_error error = {.message = ""};
    ft_status found = parse(text, &device, &error);
    if (found != status) fail_msg("%s: status %d, %s", text, found, error.message);
    assert_null(device);
    if (strncmp(error.message, "my.json: ", 9) != 0 || strstr(error.message, part) == NULL)
        fail_msg("%s: the message is \"%s\"", text, error.message);
}

/* Each has a bundled runtime, and is found by all of its names. */
static void bundled_devices_are_valid(void **state) {
    (void)state;
    assert_true(ft_device_count() >= 4);
    for (uint32_t i = 0; i < ft_device_count(); i++) {
        ft_device *device = NULL;
        ft_rules *rules = NULL;
        ft_error error;
        assert_int_equal(ft_device_open(ft_device_name_at(i), &device, &error), FT_OK);
        assert_string_equal(ft_device_name(device), ft_device_name_at(i));
        assert_string_equal(ft_device_text(device), ft_device_text_at(i));
        if (ft_rules_open(ft_device_runtime(device), &rules, &error) != FT_OK) fail_msg("%s", error.message);
        ft_rules_free(rules);
        ft_device_free(device);

        json_t *document = NULL, *name;
        assert_int_equal(json_parse(device_builtin[i].json, strlen(device_builtin[i].json), &document, &error), FT_OK);
        size_t at;
        json_array_foreach(json_object_get(document, "other_names"), at, name) {
            assert_string_equal(ft_device_canonical(json_string_value(name)), ft_device_name_at(i));
        }
        json_decref(document);
    }
    assert_null(ft_device_name_at(ft_device_count()));
    assert_null(ft_device_text_at(ft_device_count()));
}

static void names_of_the_cg_tables_are_known(void **state) {
    (void)state;
    assert_string_equal(ft_device_canonical("cortexA76cpu_tflite21"), "cortex-a76");
    assert_string_equal(ft_device_canonical("adreno640gpu_tflite21"), "adreno-640");
    assert_string_equal(ft_device_canonical("adreno630gpu_tflite21"), "adreno-630");
    assert_string_equal(ft_device_canonical("myriadvpu_openvino2019r2"), "myriad-vpu");
    assert_string_equal(ft_device_canonical("myriad-vpu"), "myriad-vpu");
    assert_null(ft_device_canonical("myriad"));
    assert_null(ft_device_canonical(""));
    assert_null(ft_device_canonical("adreno640gpu_tflite21 adreno640gpu"));
}

/* The table of bundled devices is sorted by name: the first and the last are matched like the others. */
static void every_bundled_device_matches_its_own_name(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_device_count(); i++)
        assert_string_equal(ft_device_match(ft_device_name_at(i)), ft_device_name_at(i));
}

static void names_of_drivers_are_matched(void **state) {
    (void)state;
    assert_string_equal(ft_device_match("NVIDIA GeForce RTX 4090"), "rtx-4090");
    assert_string_equal(ft_device_match("RTX 4090"), "rtx-4090");
    assert_string_equal(ft_device_match("RTX 4090 NVIDIA"), "rtx-4090");
    assert_string_equal(ft_device_match("Tesla V100-SXM2-32GB"), "v100-sxm2");
    assert_string_equal(ft_device_match("NVIDIA A100-SXM4-40GB"), "a100-40gb");
    assert_string_equal(ft_device_match("NVIDIA H100 80GB HBM3"), "h100-sxm");
    assert_string_equal(ft_device_match("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"),
                        "rtx-pro-6000-max-q");
    assert_string_equal(ft_device_match("AMD Instinct MI50"), "mi50");
    assert_string_equal(ft_device_match("Adreno (TM) 640"), "adreno-640");
    assert_string_equal(ft_device_match("Intel(R) Core(TM) i9-10940X CPU @ 3.30GHz"), "i9-10940x");
    assert_string_equal(ft_device_match("12th Gen Intel(R) Core(TM) i7-12700H"), "i7-12700h");
    static const struct {
        const char *driver, *name;
    } cards[] = {{"Tesla T4", "t4"},
                 {"Tesla P100-PCIE-16GB", "p100-pcie"},
                 {"Tesla V100-SXM2-16GB", "v100-sxm2-16gb"},
                 {"Tesla V100-PCIE-16GB", "v100-pcie"},
                 {"Tesla M40", "m40"},
                 {"NVIDIA TITAN Xp", "titan-xp"},
                 {"NVIDIA TITAN X (Pascal)", "titan-x-pascal"},
                 {"NVIDIA GeForce GTX TITAN X", "titan-x"},
                 {"NVIDIA TITAN V", "titan-v"},
                 {"NVIDIA TITAN RTX", "titan-rtx"},
                 {"Quadro RTX 6000", "quadro-rtx-6000"},
                 {"NVIDIA GeForce GTX 1080 Ti", "gtx-1080-ti"},
                 {"NVIDIA GeForce RTX 2080 Ti", "rtx-2080-ti"},
                 {"NVIDIA GeForce RTX 3080", "rtx-3080"},
                 {"NVIDIA GeForce RTX 3060", "rtx-3060"},
                 {"NVIDIA GeForce RTX 4070 Ti SUPER", "rtx-4070-ti-super"},
                 {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
                 {"NVIDIA A100-SXM4-80GB", "a100-80gb"},
                 {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
                 {"NVIDIA A800-SXM4-80GB", "a800-80gb"},
                 {"NVIDIA A10G", "a10g"},
                 {"NVIDIA RTX A6000", "rtx-a6000"},
                 {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
                 {"NVIDIA L40S", "l40s"},
                 {"NVIDIA L20", "l20"},
                 {"NVIDIA H100 PCIe", "h100-pcie"},
                 {"NVIDIA H100 NVL", "h100-nvl"},
                 {"NVIDIA H200", "h200"},
                 {"NVIDIA H20", "h20"},
                 {"NVIDIA H800", "h800"},
                 {"NVIDIA GH200 480GB", "gh200"},
                 {"NVIDIA B200", "b200"},
                 {"NVIDIA GB200", "gb200"},
                 {"NVIDIA B300 SXM6 AC", "b300"},
                 {"NVIDIA GB300", "gb300"},
                 {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-workstation"},
                 {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"},
                 {"AMD Instinct MI300X", "mi300x"},
                 {"AMD Instinct MI210", "mi210"},
                 {"AMD Instinct MI250X", "mi250x"},
                 {"AMD Radeon Vega Frontier Edition", "vega-fe"},
                 {"Intel(R) Data Center GPU Max 1550", "max-1550"},
                 {"Intel(R) Arc(TM) Pro B60 Graphics", "arc-b60"},
                 {"Jetson AGX Orin", "jetson-agx-orin"},
                 {"NVIDIA Jetson Orin NX", "jetson-orin-nx"}};
    for (size_t i = 0; i < sizeof cards / sizeof cards[0]; i++) {
        const char *found = ft_device_match(cards[i].driver);
        if (found == NULL || strcmp(found, cards[i].name) != 0) fail_msg("%s: %s", cards[i].driver, cards[i].name);
    }
    /* Cards that are not bundled. */
    assert_null(ft_device_match("NVIDIA GeForce RTX 4090 Laptop GPU"));
    assert_null(ft_device_match("NVIDIA"));
    assert_null(ft_device_match(""));
    assert_null(ft_device_match("1234567890123456789012345678901234567890123456789012345678901234567890"));
    assert_null(ft_device_match("NVIDIA GeForce RTX 4090 with a name longer than the name of any bundled device"));

    ft_device *device = NULL;
    assert_int_equal(ft_device_open("NVIDIA GeForce RTX 4090", &device, NULL), FT_OK);
    assert_string_equal(ft_device_name(device), "rtx-4090");
    ft_device_free(device);
}

static void files_named_after_devices_are_matched(void **state) {
    (void)state;
    assert_string_equal(ft_device_of_file("v100.jsonl"), "v100-sxm2");
    assert_string_equal(ft_device_of_file("logs.v1/k80.jsonl.gz"), "k80");
    assert_string_equal(ft_device_of_file("/a/t4.first.log:12"), "t4");
    assert_string_equal(ft_device_of_file("cortex-a76.json"), "cortex-a76");
    assert_null(ft_device_of_file("k80"));
    assert_null(ft_device_of_file("k80.d/schedules.jsonl"));
    assert_null(ft_device_of_file("v10.jsonl"));
    assert_null(ft_device_of_file(".k80.jsonl"));
    assert_null(ft_device_of_file("logs/"));
    assert_null(ft_device_of_file(""));
    assert_null(ft_device_of_file("a-name-that-is-longer-than-any-device-of-the-box-would-ever-be-called.jsonl"));
}

static void numbers_are_read_by_name(void **state) {
    (void)state;
    ft_device *device = NULL;
    ft_error error = {.message = ""};
    const char *text = HEAD ", \"text\": \"a line\", \"other_names\": [\"m\"], \"sources\": [\"none\"], "
                            "\"peak_float32_flops\": 38.5e9, \"launch_s\": 1e-5, \"threads\": 4}";
    if (parse(text, &device, &error) != FT_OK) fail_msg("%s", error.message);
    assert_string_equal(ft_device_name(device), "mine");
    assert_string_equal(ft_device_text(device), "a line");
    assert_string_equal(ft_device_kind(device), "cpu");
    assert_string_equal(ft_device_runtime(device), "tflite-cpu");
    assert_true(ft_device_number(device, "peak_float32_flops") == 38.5e9);
    assert_true(ft_device_number(device, "launch_s") == 1e-5);
    assert_true(ft_device_number(device, "threads") == 4);
    assert_true(isnan(ft_device_number(device, "bandwidth_bytes_per_s")));
    assert_true(isnan(ft_device_number(device, "colour")));
    ft_device_free(device);
    ft_device_free(NULL);
}

#define REST "\"name\": \"x\", \"kind\": \"gpu\", \"runtime\": \"r\""

/* The template opens as it is; its numbers are unknown, and every number of a data sheet is in it. */
static void the_template_is_a_device_file(void **state) {
    (void)state;
    const char *text = ft_device_template();
    ft_device *device = NULL;
    ft_error error;
    assert_int_equal(device_parse(text, strlen(text), "template", &device, &error), FT_OK);
    assert_string_equal(ft_device_name(device), "my-device");
    for (uint32_t i = 0; ft_device_number_name(i) != NULL; i++) {
        assert_non_null(strstr(text, ft_device_number_name(i)));
        assert_true(isnan(ft_device_number(device, ft_device_number_name(i))));
    }
    ft_device_free(device);
}

static void invalid_files_are_errors(void **state) {
    (void)state;
    refuses("{", FT_ERR_DAMAGED, "line 1");
    refuses("{\"name\": \"x\"}", FT_ERR_FORMAT, "'foretell_device'");
    refuses("{\"foretell_device\": 2, " REST "}", FT_ERR_UNSUPPORTED, "newer foretell");
    refuses("{\"foretell_device\": \"1\", " REST "}", FT_ERR_DAMAGED, "must be 1");
    refuses("{\"foretell_device\": 1.0, " REST "}", FT_ERR_DAMAGED, "must be 1");
    refuses("{\"foretell_device\": 0, " REST "}", FT_ERR_DAMAGED, "must be 1");
    refuses("{\"foretell_device\": 1}", FT_ERR_FORMAT,
            "has no keys 'name', 'kind', 'runtime'; 'foretell list devices --t");
    refuses("{\"foretell_device\": 1, \"name\": \"x\"}", FT_ERR_FORMAT, "has no keys 'kind', 'runtime';");
    refuses("{\"foretell_device\": 1, \"name\": \"x\", \"kind\": \"gpu\"}", FT_ERR_FORMAT, "has no key 'runtime';");
    refuses("{}", FT_ERR_FORMAT, "has no keys 'foretell_device', 'name', 'kind', 'runtime';");
    refuses("[]", FT_ERR_FORMAT, "it holds a list instead of an object");
    refuses("{\"foretell_device\": 1, \"name\": \"a b\", \"kind\": \"gpu\", \"runtime\": \"r\"}", FT_ERR_DAMAGED,
            "'a b' is not a valid name");
    refuses("{\"foretell_device\": 1, \"name\": \"\"}", FT_ERR_DAMAGED, "'name': has 0 characters");
    refuses("{\"foretell_device\": 1, \"name\": 7}", FT_ERR_DAMAGED, "is a number, but a string");
    refuses("{\"foretell_device\": 1, \"kind\": \"abacus\"}", FT_ERR_DAMAGED, "'abacus'");
    refuses(HEAD ", \"other_names\": \"m\"}", FT_ERR_DAMAGED, "list of strings");
    refuses(HEAD ", \"other_names\": [\"m\", \"m m\"]}", FT_ERR_DAMAGED, "'other_names': item 2");
    refuses(HEAD ", \"sources\": [1]}", FT_ERR_DAMAGED, "'sources': item 1");
    refuses(HEAD ", \"peak_flops\": 1}", FT_ERR_DAMAGED, "'peak_flops': is an unknown key");
    refuses(HEAD ", \"launch_s\": 0}", FT_ERR_DAMAGED, "'launch_s'");
    refuses(HEAD ", \"launch_s\": \"fast\"}", FT_ERR_DAMAGED, "a number is expected");
    refuses(HEAD ", \"clock_hz\": 1e300}", FT_ERR_DAMAGED, "'clock_hz'");
    char *large = calloc(1, DEVICE_MAX_BYTES + 2);
    assert_non_null(large);
    memset(large, ' ', DEVICE_MAX_BYTES + 1);
    refuses(large, FT_ERR_LIMIT, "a device file has at most");
    free(large);
}

/* Numbers lie between 1e-12 and 1e30; names have at most 63 characters. */
static void numbers_at_the_limits_are_accepted(void **state) {
    (void)state;
    ft_device *device = NULL;
    assert_int_equal(parse(HEAD ", \"launch_s\": 1e-12, \"clock_hz\": 1e30}", &device, NULL), FT_OK);
    assert_true(ft_device_number(device, "launch_s") == 1e-12);
    assert_true(ft_device_number(device, "clock_hz") == 1e30);
    ft_device_free(device);
    refuses(HEAD ", \"launch_s\": 9e-13}", FT_ERR_DAMAGED, "'launch_s'");
    refuses(HEAD ", \"clock_hz\": 1.1e30}", FT_ERR_DAMAGED, "'clock_hz'");
}

static void devices_open_by_name_and_path(void **state) {
    (void)state;
    ft_device *device = NULL;
    ft_error error = {.message = ""};
    assert_int_equal(ft_device_open("abacus", &device, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "there is no device 'abacus'"));
    assert_non_null(strstr(error.message, "'foretell list devices' lists all"));
    assert_int_equal(ft_device_open("rtx4091", &device, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "similar names are rtx-4090, "));
    assert_int_equal(ft_device_open("nowhere/x.json", &device, &error), FT_ERR_IO);
    /* A path is opened even where its words are those of a bundled device. */
    const char *const paths[] = {"./mine.json", "./rtx-4090"};
    for (size_t i = 0; i < 2; i++) {
        FILE *file = fopen(paths[i], "w");
        assert_non_null(file);
        fputs(HEAD "}", file);
        fclose(file);
        assert_int_equal(ft_device_open(paths[i], &device, &error), FT_OK);
        assert_string_equal(ft_device_name(device), "mine");
        ft_device_free(device);
    }
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        ft_device *device = NULL;
        failing_start(n);
        ft_status status = ft_device_open("adreno-640", &device, NULL);
        bool has_failed = failing_stop();
        ft_device_free(device);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

/* --- Similar names ------------------------------------------------------------------------------------------- */

static void refuse(const char *name, ft_error *error) {
    ft_device *none = NULL;
    assert_int_equal(ft_device_open(name, &none, error), FT_ERR_USAGE);
}

/* A name with a letter too many lists that device among the similar ones, whatever the device. */
static void misspelt_names_find_their_device(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_device_count(); i++) {
        const char *name = ft_device_name_at(i);
        char wrong[64];
        ft_error error;
        if (strlen(name) < 3) continue; /* "l4" with a letter more may be any other */
        snprintf(wrong, sizeof wrong, "%.2sq%s", name, name + 2);
        refuse(wrong, &error);
        const char *list = strstr(error.message, "similar names are ");
        if (list == NULL || strstr(list, name) == NULL) fail_msg("%s: %s", wrong, error.message);
    }
}

/* Names that are like none of these find none. */
static void unlike_names_find_none(void **state) {
    (void)state;
    static const char *const names[] = {"tpu-v4",     "iphone", "my-gpu", "gpu", "cpu",         "board",
                                        "snapdragon", "epyc",   "xeon",   "z",   "raspberry-pi"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ft_error error;
        refuse(names[i], &error);
        if (strstr(error.message, "no similar name") == NULL) fail_msg("%s: %s", names[i], error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bundled_devices_are_valid),
        cmocka_unit_test(names_of_the_cg_tables_are_known),
        cmocka_unit_test(names_of_drivers_are_matched),
        cmocka_unit_test(files_named_after_devices_are_matched),
        cmocka_unit_test(numbers_are_read_by_name),
        cmocka_unit_test(the_template_is_a_device_file),
        cmocka_unit_test(invalid_files_are_errors),
        cmocka_unit_test(devices_open_by_name_and_path),
        cmocka_unit_test(out_of_memory_is_an_error),
        cmocka_unit_test(every_bundled_device_matches_its_own_name),
        cmocka_unit_test(numbers_at_the_limits_are_accepted),
        cmocka_unit_test(misspelt_names_find_their_device),
        cmocka_unit_test(unlike_names_find_none),
    };
    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
