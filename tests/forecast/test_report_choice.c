/* test_report_choice.c - ranking devices by time, cost or energy: the order, what is not ranked and why, the schema;
 * and prices, which make it possible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/foretell.h"
#include "support/flops_file.h"
#include "support/folder.h"
#include "support/report_model.h"
#include "support/schema.h"

static ft_predictor_set *set;
static ft_graph *model;

static void write_device(const char *name, double flops, double memory_bytes, const char *more) {
    char path[64];
    snprintf(path, sizeof path, "%s.json", name);
    FILE *file = fopen(path, "w");
    fprintf(file,
            "{\"foretell_device\": 1, \"name\": \"%s\", \"text\": \"made up\", \"kind\": \"gpu\", \"runtime\": "
            "\"torch-eager\", \"peak_float32_flops\": %g, \"bandwidth_bytes_per_s\": %g, \"memory_bytes\": %g%s}",
            name, flops, flops / 100, memory_bytes, more);
    fclose(file);
}

static int set_up(void **state) {
    const char *files[] = {"times.ftm"};
    if (folder_enter(state) != 0) return 1;
    flops_file_write("times.ftm", "time_us", 10, 0.5F);
    write_device("fast", 1e9, 1e11, ", \"power_w\": 900");
    write_device("slow", 1e8, 1e11, ", \"power_w\": 10, \"price_per_hour\": 0.25");
    write_device("tiny", 1e9, 1, ", \"power_w\": 10");
    model = model_new();
    return ft_predictor_set_open(files, 1, &set, NULL) != FT_OK;
}

static int tear_down(void **state) {
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return folder_leave(state);
}

/* The document; the caller frees it. */
static json_t *choose(const char *prices, ft_goal goal, uint32_t *best) {
    const ft_target_options options = {.devices = "fast.json,slow.json,tiny.json", .prices = prices};
    ft_targets *targets = NULL;
    ft_results results = {0};
    ft_error error;
    ft_request requests[3];
    char *text = NULL;
    size_t size;
    ft_style style = ft_style_default();
    style.output = FT_JSON;
    if (ft_targets_open(set, &options, &targets, &error) != FT_OK) fail_msg("%s", error.message);
    for (uint32_t i = 0; i < 3; i++) {
        requests[i] = ft_targets_request(targets, i);
        requests[i].batch = 2;
    }
    if (ft_predict(set, model, NULL, requests, 3, &results, &error) != FT_OK) fail_msg("%s", error.message);
    FILE *stream = open_memstream(&text, &size);
    const ft_model_results entry = {"net.onnx", model, NULL, &results};
    if (ft_report_choice(stream, &style, &entry, goal, 1000, best, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    json_t *schema = schema_load("docs/schema/choice.schema.json"), *root = json_loads(text, 0, NULL);
    assert_true(schema_fits(root, schema, "choice"));
    json_decref(schema);
    free(text);
    ft_results_free(&results);
    ft_targets_free(targets);
    return root;
}

static const char *device_at(json_t *root, size_t index) {
    return json_string_value(json_object_get(json_array_get(root, index), "device"));
}

static double number_at(json_t *root, size_t index, const char *key) {
    return json_number_value(json_object_get(json_array_get(root, index), key));
}

static void the_fastest_comes_first(void **state) {
    (void)state;
    uint32_t best;
    json_t *root = choose(NULL, FT_GOAL_TIME, &best);
    assert_string_equal(device_at(root, 0), "fast");
    assert_string_equal(device_at(root, 1), "slow");
    assert_int_equal(best, 0);
    assert_int_equal(number_at(root, 1, "rank"), 2);
    json_decref(root);
}

static void what_does_not_fit_is_not_ranked(void **state) {
    (void)state;
    uint32_t best;
    json_t *root = choose(NULL, FT_GOAL_TIME, &best), *last = json_array_get(root, 2);
    assert_string_equal(device_at(root, 2), "tiny");
    assert_true(json_is_null(json_object_get(last, "rank")));
    assert_string_equal(json_string_value(json_object_get(last, "reason")), "it does not fit");
    json_decref(root);
}

static void the_cheapest_comes_first(void **state) {
    (void)state;
    uint32_t best;
    json_t *root = choose("fast=100/h", FT_GOAL_COST, &best);
    assert_string_equal(device_at(root, 0), "slow");
    assert_float_equal(number_at(root, 0, "price_per_hour"), 0.25, 0);
    assert_float_equal(number_at(root, 0, "run_cost"), number_at(root, 0, "run_s") * 0.25 / 3600, 1e-12);
    assert_int_equal(best, 1);
    json_decref(root);
    root = choose("0.25", FT_GOAL_COST, &best); /* for all of them: the data sheet's is replaced */
    assert_string_equal(device_at(root, 0), "fast");
    json_decref(root);
}

static void without_a_price_there_is_no_rank_by_cost(void **state) {
    (void)state;
    uint32_t best;
    json_t *root = choose(NULL, FT_GOAL_COST, &best);
    assert_string_equal(device_at(root, 0), "slow");
    assert_string_equal(json_string_value(json_object_get(json_array_get(root, 1), "reason")),
                        "the price of the device is unknown");
    json_decref(root);
}

static void the_most_frugal_comes_first(void **state) {
    (void)state;
    uint32_t best;
    json_t *root = choose(NULL, FT_GOAL_ENERGY, &best);
    assert_string_equal(device_at(root, 0), "slow"); /* 10 times as long at a ninetieth of the power */
    assert_float_equal(number_at(root, 0, "energy_j"), number_at(root, 0, "run_s") * 10, 1e-9);
    json_decref(root);
}

static void wrong_prices_are_named(void **state) {
    (void)state;
    static const char *const prices[] = {"cheap", "-1", "0", "2/min", "fast=", "other=2", "1e300", ","};
    for (size_t i = 0; i < sizeof prices / sizeof prices[0]; i++) {
        const ft_target_options options = {.devices = "fast.json", .prices = prices[i]};
        ft_targets *targets = NULL;
        ft_error error;
        assert_int_equal(ft_targets_open(set, &options, &targets, &error), FT_ERR_USAGE);
        assert_non_null(strstr(error.message, "price"));
    }
}

static void goals_have_names(void **state) {
    (void)state;
    for (int i = 0; i <= FT_GOAL_ENERGY; i++) {
        ft_goal goal = FT_GOAL_TIME;
        assert_true(ft_goal_parse(ft_goal_name((ft_goal)i), &goal));
        assert_int_equal(goal, i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_comes_first),
        cmocka_unit_test(what_does_not_fit_is_not_ranked),
        cmocka_unit_test(the_cheapest_comes_first),
        cmocka_unit_test(without_a_price_there_is_no_rank_by_cost),
        cmocka_unit_test(the_most_frugal_comes_first),
        cmocka_unit_test(wrong_prices_are_named),
        cmocka_unit_test(goals_have_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
