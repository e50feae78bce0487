/* Tests of ranking scores within tasks, with values computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "learn/evaluate/evaluation.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/synth_data.h"

enum { RECORDS = 9 };

/* Six programs of one task, two of another, and a single model; then their predictions. */
static const synth_record measured[RECORDS] = {
    {.network = 0, .name = "a", .time_us = 10}, {.network = 1, .name = "a", .time_us = 20},
    {.network = 2, .name = "a", .time_us = 30}, {.network = 3, .name = "a", .time_us = 40},
    {.network = 4, .name = "a", .time_us = 50}, {.network = 5, .name = "a", .time_us = 60},
    {.network = 6, .name = "b", .time_us = 10}, {.network = 7, .name = "b", .time_us = 12},
    {.network = 8, .name = "c", .time_us = 5},
};
/* Of the six, the best is predicted to be the slowest: 6 of 15 pairs are in the wrong order (it against all others, and
 * the last two). */
static const double predicted[RECORDS] = {55, 20, 30, 40, 52, 51, 12, 10, 5};

static ft_dataset *make(ft_case cases[RECORDS]) {
    builder *b = synth_begin("data");
    for (uint32_t i = 0; i < RECORDS; i++) {
        synth_record record = measured[i];
        record.family = "f";
        record.device = "cortex-a76";
        record.part = "";
        synth_add(b, &record);
    }
    ft_dataset *data = synth_end(b, "data");
    for (uint32_t i = 0; i < RECORDS; i++) {
        const ft_record *r = &ft_dataset_records(data)[i];
        cases[i] = (ft_case){.record = i,
                             .measured = r->metrics[0],
                             .predicted = predicted[i],
                             .name = r->name,
                             .family = r->family,
                             .device = r->device};
    }
    return data;
}

static void near(double found, double expected) {
    if (fabs(found - expected) > 1e-9) fail_msg("%g, not %g", found, expected);
}

/* Of the one device; its name is the data set's. */
static ft_task_score score(const ft_dataset *data, const ft_case cases[RECORDS]) {
    arena memory;
    const ft_task_score *scores;
    uint32_t count;
    arena_init(&memory, UINT64_MAX);
    assert_int_equal(evaluation_tasks(&memory, data, cases, RECORDS, &scores, &count, NULL), FT_OK);
    assert_int_equal(count, 1);
    ft_task_score found = scores[0];
    arena_free(&memory);
    return found;
}

static void scores_by_hand(void **state) {
    (void)state;
    ft_case cases[RECORDS];
    ft_dataset *data = make(cases);
    ft_task_score found = score(data, cases);
    assert_string_equal(found.device, "cortex-a76");
    assert_int_equal(found.tasks, 2);
    assert_int_equal(found.n, 8);
    near(found.order, (100 * 9.0 / 15 + 0) / 2);
    near(found.order_clear, (100 * 9.0 / 15 + 0) / 2); /* none are within 5 % */
    near(found.lost1, (100 + 20) / 2.0);
    near(found.lost5, (100 + 0) / 2.0);
    near(found.lost10, 0);
    near(found.apart5, 0); /* 52 is within 2 % of 51, so that the fifth is the best */
    near(found.apart10, 0);
    /* errors: 4.5, 0, 0, 0, 0.04, 0.15, 0.2, 1/6 */
    near(found.median, 50 * (0.04 + 0.15));
    ft_dataset_free(data);
}

/* 10 and 10.4 are a pair, but not a clear one: the second task has none. */
static void near_pairs_are_not_clear(void **state) {
    (void)state;
    ft_case cases[RECORDS];
    ft_dataset *data = make(cases);
    cases[7].measured = 10.4;
    ft_task_score found = score(data, cases);
    near(found.order, (100 * 9.0 / 15 + 0) / 2);
    near(found.order_clear, 100 * 9.0 / 15);
    ft_dataset_free(data);
}

static void one_time_for_all_is_no_order(void **state) {
    (void)state;
    ft_case cases[RECORDS];
    ft_dataset *data = make(cases);
    for (uint32_t i = 0; i < RECORDS; i++) cases[i].predicted = 7;
    ft_task_score found = score(data, cases);
    assert_true(isnan(found.order) && isnan(found.order_clear));
    ft_dataset_free(data);
}

static void single_models_are_no_tasks(void **state) {
    (void)state;
    ft_case cases[RECORDS];
    ft_dataset *data = make(cases);
    arena memory;
    const ft_task_score *scores;
    uint32_t count = 7;
    arena_init(&memory, UINT64_MAX);
    assert_int_equal(evaluation_tasks(&memory, data, cases + 8, 1, &scores, &count, NULL), FT_OK);
    assert_int_equal(count, 0);
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = evaluation_tasks(&memory, data, cases, RECORDS, &scores, &count, NULL);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    arena_free(&memory);
    ft_dataset_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(scores_by_hand, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(near_pairs_are_not_clear, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(one_time_for_all_is_no_order, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(single_models_are_no_tasks, folder_enter, folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
