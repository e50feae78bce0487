/* test_command.c - commands as JSON: keys, messages, lists, and documents that are the documents of the library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/foretell.h"
#include "support/failing.h"
#include "support/flops_file.h"
#include "support/folder.h"
#include "support/report_model.h"

static ft_predictor_set *set;
static ft_graph *model;

static int set_up(void **state) {
    const char *files[] = {"times.ftm"};
    if (folder_enter(state) != 0) return 1;
    flops_file_write("times.ftm", "time_us", 10, 0.5F);
    model = model_new();
    return ft_predictor_set_open(files, 1, &set, NULL) != FT_OK;
}

static int tear_down(void **state) {
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return folder_leave(state);
}

static ft_command *parse(const char *command, const char *text) {
    ft_command *request = NULL;
    ft_error error;
    if (ft_command_parse(command, text, strlen(text), &request, &error) != FT_OK)
        fail_msg("%s: %s", text, error.message);
    return request;
}

/* The answer; the caller frees it. */
static char *ask(const char *command, const char *text) {
    ft_command *request = parse(command, text);
    ft_document *document = NULL;
    ft_error error;
    const char *answer;
    size_t size;
    assert_int_equal(ft_document_open(&document, &error), FT_OK);
    if (ft_command_write(request, 0, set, model, "net.onnx", ft_document_stream(document), &error) != FT_OK)
        fail_msg("%s: %s", text, error.message);
    assert_int_equal(ft_document_text(document, &answer, &size, &error), FT_OK);
    assert_int_equal(strlen(answer), size);
    char *copy = strdup(answer);
    ft_document_free(document);
    ft_command_free(request);
    return copy;
}

static void assert_refused(const char *command, const char *text, const char *message) {
    ft_command *request = NULL;
    ft_error error;
    assert_int_equal(ft_command_parse(command, text, strlen(text), &request, &error), FT_ERR_USAGE);
    if (strstr(error.message, message) == NULL) fail_msg("%s: '%s' lacks '%s'", text, error.message, message);
    assert_null(request);
}

static void assert_not_answered(const char *command, const char *text, const char *message) {
    ft_command *request = parse(command, text);
    ft_error error;
    FILE *sink = fopen("/dev/null", "w");
    assert_int_equal(ft_command_write(request, 0, set, model, "net.onnx", sink, &error), FT_ERR_USAGE);
    if (strstr(error.message, message) == NULL) fail_msg("%s: '%s' lacks '%s'", text, error.message, message);
    fclose(sink);
    ft_command_free(request);
}

/* --- Documents ------------------------------------------------------------------------------------------------- */

static void a_document_holds_what_is_written(void **state) {
    (void)state;
    ft_document *document = NULL;
    ft_error error;
    const char *text;
    size_t size;
    assert_int_equal(ft_document_open(&document, &error), FT_OK);
    assert_int_equal(ft_document_text(document, &text, &size, &error), FT_OK);
    assert_int_equal(size, 0);
    fputs("a", ft_document_stream(document));
    assert_int_equal(ft_document_text(document, &text, &size, &error), FT_OK);
    fputs("b", ft_document_stream(document));
    assert_int_equal(ft_document_text(document, &text, &size, &error), FT_OK);
    assert_string_equal(text, "ab");
    ft_document_free(document);
    ft_document_free(NULL);
    assert_null(ft_document_stream(NULL));
}

/* --- Answers --------------------------------------------------------------------------------------------------- */

static void predict_is_the_report_of_the_library(void **state) {
    (void)state;
    ft_document *document = NULL;
    ft_error error;
    ft_results results = {0};
    ft_result_report *report = NULL;
    const char *expected;
    size_t size;
    const ft_binding shapes = {0};
    ft_request requests[2] = {{.device = "adreno-640", .batch = 1, .optimizer = FT_MOMENTUM, .setting = ""},
                              {.device = "adreno-640", .batch = 4, .optimizer = FT_MOMENTUM, .setting = ""}};
    ft_result_style style = {.style = ft_style_default()};
    style.style.output = FT_JSON;
    assert_int_equal(ft_predict(set, model, &shapes, requests, 2, &results, &error), FT_OK);
    assert_int_equal(ft_document_open(&document, &error), FT_OK);
    assert_int_equal(ft_result_report_begin(ft_document_stream(document), &style, &report, &error), FT_OK);
    assert_int_equal(ft_result_report_add(report, &(ft_model_results){"net.onnx", model, &shapes, &results}, &error),
                     FT_OK);
    assert_int_equal(ft_result_report_end(report, &error), FT_OK);
    assert_int_equal(ft_document_text(document, &expected, &size, &error), FT_OK);
    const char *spellings[] = {"{\"device\": \"adreno-640\", \"batch\": [1, 4]}",
                               "{\"device\": [\"adreno-640\", \"Adreno-640\"], \"batch\": \"1,4\"}",
                               "{\"device\": [\"adreno-640\"], \"batch\": [1, 4, 1], \"mode\": \"infer\"}"};
    for (size_t i = 0; i < 3; i++) {
        char *answer = ask("predict", spellings[i]);
        assert_string_equal(answer, expected);
        free(answer);
    }
    ft_document_free(document);
    ft_results_free(&results);
}

static void texts_and_values_mean_the_same(void **state) {
    (void)state;
    static const char *const pairs[][3] = {
        {"fits", "{\"device\": \"adreno-640\", \"free\": 1048576, \"batch\": 2, \"mode\": \"train\"}",
         "{\"device\": \"adreno-640\", \"free\": \"1M\", \"batch\": \"2\", \"mode\": \"train\"}"},
        {"max-batch", "{\"device\": \"adreno-640\", \"free\": \"2GB\", \"max_batch_size\": 64}",
         "{\"device\": \"adreno-640\", \"free\": 2e9, \"max_batch_size\": \"64\"}"},
        {"inspect", "{\"nodes\": true, \"top\": 3, \"sort\": \"flops\", \"mixed\": \"yes\"}",
         "{\"nodes\": \"yes\", \"top\": \"3\", \"sort\": \"flops\", \"mixed\": true, \"dtype\": \"float16\"}"},
        {"predict", "{\"device\": \"rtx-4090\", \"setting\": {\"amp\": \"yes\", \"compile\": true}}",
         "{\"device\": \"rtx-4090\", \"setting\": [\"compile=yes\", \"amp=yes\"], \"compile\": \"yes\"}"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char *left = ask(pairs[i][0], pairs[i][1]), *right = ask(pairs[i][0], pairs[i][2]);
        assert_string_equal(left, right);
        assert_true(strlen(left) > 100);
        free(left);
        free(right);
    }
}

static void formats_differ(void **state) {
    (void)state;
    char *csv = ask("inspect", "{\"format\": \"csv\"}"), *table = ask("inspect", "{\"format\": \"table\"}");
    assert_memory_equal(csv, "file,", 5);
    assert_non_null(strstr(table, "net.onnx"));
    free(csv);
    free(table);
}

/* --- Lists ----------------------------------------------------------------------------------------------------- */

static void requests_inherit_common_keys(void **state) {
    (void)state;
    ft_command *request = parse("predict", "{\"model\": \"a\", \"format\": \"csv\", \"requests\": [{\"name\": \"x\"}, "
                                           "{\"model\": \"b\", \"format\": \"json\"}]}");
    assert_int_equal(ft_command_count(request), 2);
    assert_true(ft_command_is_list(request));
    assert_string_equal(ft_command_model(request, 0), "a");
    assert_string_equal(ft_command_name(request, 0), "x");
    assert_string_equal(ft_command_model(request, 1), "b");
    assert_null(ft_command_name(request, 1));
    assert_int_equal(ft_command_output(request, 0), FT_CSV);
    assert_int_equal(ft_command_output(request, 1), FT_JSON);
    assert_null(ft_command_model(request, 2));
    ft_command_free(request);
}

/* --- Messages -------------------------------------------------------------------------------------------------- */

static void wrong_values_are_named(void **state) {
    (void)state;
    assert_refused("predict", "{", "the request is not JSON");
    assert_refused("predict", "[]", "is a list, but an object is expected");
    assert_refused("predict", "{\"devices\": \"a\"}", "devices: no such key here; there are model,");
    assert_refused("predict", "{\"free\": 1}", "free: no such key here");
    assert_refused("predict", "{\"device\": 7}", "device: is a number, but a name or a list of names is expected");
    assert_refused("predict", "{\"batch\": 0}", "batch: is 0, but must be from 1 to");
    assert_refused("predict", "{\"batch\": \"8..2\"}", "batch: 8..2: expected sizes");
    assert_refused("predict", "{\"batch\": 1.5}", "batch: is a number, but a whole number is expected");
    assert_refused("predict", "{\"mode\": \"run\"}", "mode: 'run' is not valid: expected infer or train");
    assert_refused("predict", "{\"optimizer\": \"adam\"}", "optimizer: is for training");
    assert_refused("predict", "{\"top\": 3}", "top: is for by_layer");
    assert_refused("predict", "{\"name\": \"a\\u0000b\"}", "a wrong escape");
    assert_refused("predict", "{\"shape\": {\"x\": [1, -1]}}", "shape: is -1");
    assert_refused("predict", "{\"runtime\": \"rules.json\"}", "runtime: 'rules.json' is not valid");
    assert_refused("inspect", "{\"kernels\": \"/etc/passwd\"}", "kernels: '/etc/passwd' is not valid");
    assert_refused("fits", "{}", "device: is absent");
    assert_refused("fits", "{\"device\": \"a\", \"batch\": [1, 2]}", "batch: fits takes one batch");
    assert_refused("fits", "{\"device\": \"a\", \"free\": \"9 miles\"}", "free: 9 miles: expected bytes");
    assert_refused("predict", "{\"requests\": []}", "requests: a list of at least one");
    assert_refused("predict", "{\"requests\": [{}, {\"batch\": -1}]}", "requests[1]: batch: is -1");
    assert_refused("predict", "{\"requests\": [{\"requests\": []}]}", "requests[0]: requests: no such key");
    assert_refused("train", "{}", "train: expected predict, fits, max-batch, inspect or observe");
}

static void training_is_checked(void **state) {
    (void)state;
    assert_refused("predict", "{\"sharding\": \"zero1\", \"dp\": 2}", "keys of training need \"mode\": \"train\"");
    assert_refused("fits", "{\"mode\": \"train\", \"sharding\": \"zero2\"}", "sharding: needs several");
    assert_refused("fits", "{\"mode\": \"train\", \"sequence_parallel\": true}", "sequence_parallel: needs several");
    assert_refused("predict", "{\"mode\": \"train\", \"sharding\": \"zero9\"}", "expected none, zero1,");
    assert_refused("predict", "{\"mode\": \"train\", \"recompute\": 1}", "none, selective or full is expected");
    assert_refused("predict", "{\"mode\": \"train\", \"precision\": \"fp7\"}", "expected auto, pure, mixed or fp8");
    assert_refused("predict", "{\"mode\": \"train\", \"lora\": \"8:\"}", "lora: '8:' is not valid");
    assert_refused("predict", "{\"mode\": \"train\", \"lora\": 0}", "lora: is a number");
    assert_refused("predict", "{\"mode\": \"train\", \"lora\": 8, \"pack_head\": true}", "needs qlora");
    assert_refused("predict", "{\"mode\": \"train\", \"lora\": 8, \"qlora\": \"4:q\"}", "adapters are given twice");
    assert_refused("predict", "{\"mode\": \"train\", \"micro_batch\": 1, \"accumulate\": 2}", "say the same");
    assert_refused("predict", "{\"tp\": 65537}", "tp: is 65537, but must be from 1 to 65536");
    assert_refused("observe", "{\"tp\": 2}", "tp: no such key here");
    ft_command_free(parse("predict",
                          "{\"mode\": \"train\", \"sequence\": 128, \"tp\": 2, \"pp\": \"2\", \"ep\": 1, "
                          "\"cp\": 1, \"dp\": 4, \"sharding\": \"fsdp\", \"sequence_parallel\": \"yes\", "
                          "\"loss_chunks\": 2, \"qlora\": \"8:q_proj\", \"pack_head\": true, \"micro_batch\": 1}"));
}

static void serving_is_checked(void **state) {
    (void)state;
    assert_refused("predict", "{\"mode\": \"train\", \"context\": 8}", "keys of serving are for inference");
    assert_refused("predict", "{\"shape\": \"past=0\", \"context\": 8}", "shape: 'past' is for a single run");
    assert_refused("predict", "{\"weights\": \"q99\"}", "weights: 'q99' is not valid");
    assert_refused("predict", "{\"weights\": 4}", "weights: is a number");
    assert_refused("fits", "{\"gpu_memory_utilization\": 1.5}", "a share of the memory");
    assert_refused("fits", "{\"gpu_memory_utilization\": \"0.9\"}", "a share of the memory");
    assert_refused("max-batch", "{\"context\": 0}", "context: is 0");
    assert_refused("observe", "{\"context\": 8}", "context: no such key here");
    ft_command_free(parse("predict",
                          "{\"prompt_tokens\": 100, \"output_tokens\": \"28\", \"context\": 200, \"weights\": \"fp8\","
                          "\"kv_dtype\": \"fp8\", \"runtime\": \"llama.cpp\", \"max_batched_tokens\": 512,"
                          "\"gpu_memory_utilization\": 0.5, \"no_graphs\": true}"));
}

static void prices_add_costs(void **state) {
    (void)state;
    char *text = ask("predict", "{\"price\": \"adreno-640=2/h\", \"device\": [\"adreno-640\", \"cortex-a76\"]}");
    assert_non_null(strstr(text, "\"price_per_hour\": 2,"));
    free(text);
    text = ask("predict", "{\"price\": 2.5, \"device\": \"adreno-640\", \"choose\": \"cost\"}");
    assert_non_null(strstr(text, "\"price_per_hour\": 2.5,"));
    free(text);
    assert_refused("predict", "{\"choose\": \"size\"}", "choose: 'size' is not valid: expected time, cost or energy");
    assert_refused("predict", "{\"choose\": \"time\", \"by_layer\": true}", "choose: goes without by_layer");
    assert_refused("predict", "{\"price\": []}", "price: is a list");
    assert_not_answered("predict", "{\"device\": \"adreno-640\", \"price\": \"cheap\"}", "price cheap: expected");
}

static void files_are_opened_when_allowed(void **state) {
    (void)state;
    ft_command *request = parse("predict", "{\"device\": \"absent.json\"}");
    ft_error error;
    FILE *sink = fopen("/dev/null", "w");
    ft_command_allow_files(request);
    ft_command_allow_files(NULL);
    assert_int_equal(ft_command_write(request, 0, set, model, "net.onnx", sink, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "absent.json"));
    fclose(sink);
    ft_command_free(request);
}

static void files_are_not_opened(void **state) {
    (void)state;
    assert_not_answered("predict", "{\"device\": \"/etc/passwd\"}", "files are not opened here");
    assert_not_answered("predict", "{\"device\": \"mine.yaml\"}", "files are not opened here");
    assert_not_answered("predict", "{\"device\": \"no-such-device\"}", "no-such-device");
    assert_not_answered("max-batch", "{\"device\": \"adreno-640,rtx-4090\"}", "one device at a time");
    assert_not_answered("predict", "{\"device\": \"rtx-4090\", \"setting\": [\"amp=yes\", \"amp=no\"]}", "contradicts");
    assert_not_answered("predict", "{\"device\": \"rtx-4090\", \"setting\": \"amp\"}", "expected KEY=VALUE");
}

/* --- Texts ----------------------------------------------------------------------------------------------------- */

static void sizes_and_bytes(void **state) {
    (void)state;
    int64_t sizes[4];
    uint32_t count = 0;
    double bytes = 0;
    assert_int_equal(ft_sizes_parse("1..4,3", sizes, 4, &count, NULL), FT_OK);
    assert_int_equal(count, 4);
    assert_int_equal(sizes[3], 3);
    assert_int_equal(ft_sizes_parse("1..16", sizes, 4, &count, NULL), FT_ERR_USAGE);
    assert_int_equal(ft_sizes_parse("", sizes, 4, &count, NULL), FT_ERR_USAGE);
    assert_int_equal(ft_bytes_parse("9.5GiB", &bytes, NULL), FT_OK);
    assert_true(bytes == 9.5 * (1 << 30));
    assert_int_equal(ft_bytes_parse("24 GB", &bytes, NULL), FT_OK);
    assert_true(bytes == 24e9);
    assert_int_equal(ft_bytes_parse("-1", &bytes, NULL), FT_ERR_USAGE);
    assert_int_equal(ft_bytes_parse("1.2.3", &bytes, NULL), FT_ERR_USAGE);
}

/* --- Memory ---------------------------------------------------------------------------------------------------- */

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char text[] =
        "{\"model\": \"m\", \"price\": 2, \"device\": [\"adreno-640\", \"cortex-a76\"], \"shape\": {\"x\": 2}, "
        "\"setting\": {\"a\": \"b\"}, \"requests\": [{\"batch\": 2}, {\"name\": \"n\"}]}";
    for (long n = 0;; n++) {
        ft_command *request = NULL;
        ft_error error;
        failing_start(n);
        ft_status status = ft_command_parse("predict", text, strlen(text), &request, &error);
        bool has_failed = failing_stop();
        ft_command_free(request);
        assert_int_equal(status, has_failed ? FT_ERR_NOMEM : FT_OK);
        if (!has_failed) break;
        assert_null(request);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_holds_what_is_written),
        cmocka_unit_test(predict_is_the_report_of_the_library),
        cmocka_unit_test(texts_and_values_mean_the_same),
        cmocka_unit_test(formats_differ),
        cmocka_unit_test(requests_inherit_common_keys),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(training_is_checked),
        cmocka_unit_test(serving_is_checked),
        cmocka_unit_test(prices_add_costs),
        cmocka_unit_test(files_are_opened_when_allowed),
        cmocka_unit_test(files_are_not_opened),
        cmocka_unit_test(sizes_and_bytes),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
