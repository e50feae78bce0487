/* Tests of filters: noisy, short and long records are neither learned from nor tested on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/builder.h"
#include "foretell/foretell.h"
#include "learn/score/filter.h"
#include "support/folder.h"
#include "support/small_set.h"
#include "support/synth_data.h"

enum { NETWORKS = 40 };

/* Network i takes 10 + i microseconds; every fourth has runs that are a tenth apart, the others one in a thousand. The
 * last has no time. */
static ft_dataset *measured(void) {
    static const char *const metrics[] = {"time_us", "time_std_us", "peak_bytes"};
    builder *b = synth_begin_of("data", metrics, 3);
    for (uint32_t i = 0; i < NETWORKS; i++) {
        double time = i + 1 < NETWORKS ? 10 + i : NAN, values[] = {time, time * (i % 4 == 0 ? 0.1 : 0.001), 1000};
        synth_add(
            b, &(synth_record){.network = i, .name = "n", .family = "one", .device = "adreno-640", .metrics = values});
    }
    return synth_end(b, "data");
}

static uint32_t left_out(const ft_dataset *data, ft_time_filter filter) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ft_dataset_record_count(data); i++)
        count += filter_rejects(&filter, data, &ft_dataset_records(data)[i]);
    return count;
}

static void records_are_rejected_by_noise_and_time(void **state) {
    (void)state;
    ft_dataset *data = measured();
    assert_int_equal(left_out(data, (ft_time_filter){0}), 0);
    assert_int_equal(left_out(data, (ft_time_filter){.max_noise = 0.01}), NETWORKS / 4);
    assert_int_equal(left_out(data, (ft_time_filter){.min_time_us = 20}), 10);
    assert_int_equal(left_out(data, (ft_time_filter){.max_time_us = 20}), NETWORKS - 1 - 11);
    assert_int_equal(left_out(data, (ft_time_filter){.min_time_us = 20, .max_time_us = 30}), NETWORKS - 1 - 11);
    assert_int_equal(left_out(data, (ft_time_filter){.max_noise = 1, .min_time_us = 1, .max_time_us = 99}), 0);
    ft_dataset_free(data);
}

static void rejected_records_are_unused_in_splits(void **state) {
    (void)state;
    ft_dataset *data = measured();
    ft_split split;
    ft_error error;
    assert_int_equal(ft_split_make(data, "random:50/25/25", 1, &split, &error), FT_OK);
    char hash[sizeof split.hash];
    memcpy(hash, split.hash, sizeof hash);
    assert_int_equal(filter_split(&(ft_time_filter){.min_time_us = 20}, data, &split, &error), FT_OK);
    assert_string_equal(split.hash, hash);
    uint32_t counts[4] = {0};
    for (uint32_t i = 0; i < NETWORKS; i++) {
        counts[split.parts[i]]++;
        if (ft_dataset_records(data)[i].metrics[0] < 20) assert_int_equal(split.parts[i], FT_PART_UNUSED);
    }
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(split.counts[i], counts[i]);
    assert_int_equal(counts[FT_PART_UNUSED], 10);
    ft_split_free(&split);
    ft_dataset_free(data);
}

static uint32_t evaluated(const ft_predictor *p, const ft_dataset *data, ft_time_filter filter) {
    ft_evaluation e;
    ft_error error;
    const ft_evaluate_options options = {.metric = "time_us", .filter = filter, .threads = 1};
    if (ft_evaluate(p, data, &options, &e, &error) != FT_OK) fail_msg("%s", error.message);
    uint32_t count = e.case_count;
    ft_evaluation_free(&e);
    return count;
}

static void runs_and_evaluations_are_filtered(void **state) {
    (void)state;
    ft_dataset *data = measured();
    ft_train_options options = ft_train_options_default();
    ft_evaluation tested;
    ft_predictor *p;
    ft_error error;
    options.family = "flops";
    options.split = "random:50/25/25";
    options.filter = (ft_time_filter){.max_noise = 0.01, .max_time_us = 40};
    options.threads = 1;
    if (ft_train(data, "run", &options, &tested, &error) != FT_OK) fail_msg("%s", error.message);
    for (uint32_t i = 0; i < tested.case_count; i++) assert_true(tested.cases[i].measured <= 40);
    ft_evaluation_free(&tested);
    char *config = read_text("run/config.json");
    assert_non_null(strstr(config, "\"filter\": {\"max_noise\": 0.01, \"max_time_us\": 40"));
    free(config);
    options.filter = (ft_time_filter){0};
    options.is_resumed = true; /* another filter is another run */
    assert_int_not_equal(ft_train(data, "run", &options, &tested, &error), FT_OK);
    assert_int_equal(ft_predictor_open("run/predictor.ftm", &p, &error), FT_OK);
    assert_int_equal(evaluated(p, data, (ft_time_filter){0}), NETWORKS - 1);
    assert_int_equal(evaluated(p, data, (ft_time_filter){.max_time_us = 20}), 11);
    ft_evaluation none;
    const ft_evaluate_options wrong = {.metric = "time_us", .filter = {.min_time_us = 1e6}};
    assert_int_equal(ft_evaluate(p, data, &wrong, &none, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "none of 1 records has the metric")); /* the one without a time */
    const ft_evaluate_options empty = {.metric = "time_us", .filter = {.min_time_us = 20, .max_time_us = 10}};
    assert_int_equal(ft_evaluate(p, data, &empty, &none, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "minimum time, 20 us, exceeds the maximum, 10 us"));
    options.is_resumed = false;
    options.filter = empty.filter;
    assert_int_equal(ft_train(data, "other", &options, &tested, &error), FT_ERR_USAGE);
    ft_predictor_free(p);
    ft_dataset_free(data);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(records_are_rejected_by_noise_and_time),
        TEST(rejected_records_are_unused_in_splits),
        TEST(runs_and_evaluations_are_filtered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
