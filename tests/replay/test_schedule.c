/* Tests of the scheduler: small lists of tasks whose timeline is computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "replay/schedule.h"

enum { A, B, NETWORK }; /* engines of the one worker, and the network */

/* A task with at most one dependency. */
typedef struct row {
    uint32_t engine;
    double time_us;
    int after; /* index; -1: none */
    int32_t priority;
    ft_replay_phase phase;
} row;

#define TASK(engine, time, after, priority)                                                                            \
    { engine, time, after, priority, FT_REPLAY_FORWARD }

typedef struct timeline {
    arena memory;
    schedule plan;
    ft_status status;
} timeline;

static timeline run_rows(const row *rows, uint32_t count, uint32_t lanes_a, double gap_a, ft_order order) {
    const engine_list engines = {.items = {{.name = "a", .lanes = lanes_a, .gap_us = gap_a}, {.name = "b", .lanes = 2}},
                                 .count = 2};
    task items[16] = {{0}};
    uint32_t dependencies[16];
    task_list tasks = {.items = items, .count = count, .dependencies = dependencies, .workers = 1, .engines = 2};
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (task){.engine = rows[i].engine,
                          .time_us = rows[i].time_us,
                          .priority = rows[i].priority,
                          .phase = rows[i].phase,
                          .first_dependency = tasks.dependency_count,
                          .dependency_count = rows[i].after >= 0};
        if (rows[i].after >= 0) dependencies[tasks.dependency_count++] = (uint32_t)rows[i].after;
    }
    timeline t = {0};
    arena_init(&t.memory, 1 << 20);
    t.status = schedule_run(&tasks, &engines, order, &t.memory, &t.plan, NULL);
    return t;
}

static void expect_starts(const row *rows, uint32_t count, uint32_t lanes_a, double gap_a, ft_order order,
                          const double *starts, double end) {
    timeline t = run_rows(rows, count, lanes_a, gap_a, order);
    assert_int_equal(t.status, FT_OK);
    for (uint32_t i = 0; i < count; i++)
        if (t.plan.start_us[i] != starts[i])
            fail_msg("task %u starts at %g, not at %g", i, t.plan.start_us[i], starts[i]);
    assert_true(t.plan.end_us == end);
    arena_free(&t.memory);
}

/* Two tasks wait for engine a, which is free at 10: task 3 since 6, task 4 since 5. */
static void test_order_of_ready_tasks(void **state) {
    (void)state;
    row rows[] = {TASK(A, 10, -1, 0), TASK(B, 6, -1, 0), TASK(B, 5, -1, 0), TASK(A, 1, 1, 0), TASK(A, 3, 2, 0)};
    const double listed[] = {0, 0, 0, 10, 11}, waited[] = {0, 0, 0, 13, 10};
    expect_starts(rows, 5, 1, 0, FT_ORDER_PROGRAM, listed, 14);
    expect_starts(rows, 5, 1, 0, FT_ORDER_READY, waited, 14);
    expect_starts(rows, 5, 1, 0, FT_ORDER_CRITICAL, waited, 14); /* task 4 is longer */
    rows[3].time_us = 3;
    rows[4].time_us = 1;
    const double longest[] = {0, 0, 0, 10, 13}, longest_waited[] = {0, 0, 0, 11, 10};
    expect_starts(rows, 5, 1, 0, FT_ORDER_CRITICAL, longest, 14);
    expect_starts(rows, 5, 1, 0, FT_ORDER_READY, longest_waited, 14);
}

static void test_phases_go_before_priorities(void **state) {
    (void)state;
    const row rows[] = {{A, 1, -1, -1000000, FT_REPLAY_BACKWARD},
                        {A, 1, -1, 1000000, FT_REPLAY_FORWARD},
                        {A, 1, -1, -5, FT_REPLAY_FORWARD},
                        {A, 1, -1, 0, FT_REPLAY_UPDATE},
                        {A, 1, -1, 0, FT_REPLAY_EXCHANGE}};
    const double starts[] = {2, 1, 0, 4, 3};
    expect_starts(rows, 5, 1, 0, FT_ORDER_PROGRAM, starts, 5);
    /* Priorities beyond a million count as a million: the order of the list decides. */
    const row extreme[] = {TASK(A, 1, -1, 2000000), TASK(A, 1, -1, 1000000), TASK(A, 1, -1, -1000000),
                           TASK(A, 1, -1, -2000000)};
    const double clamped[] = {2, 3, 0, 1};
    expect_starts(extreme, 4, 1, 0, FT_ORDER_PROGRAM, clamped, 4);
}

/* A gap delays the next task of the lane, but neither a dependent task on another engine nor the end. */
static void test_gaps(void **state) {
    (void)state;
    const row rows[] = {TASK(A, 5, -1, 0), TASK(A, 5, -1, 0), TASK(B, 1, 0, 0), TASK(NETWORK, 2, -1, 0),
                        TASK(NETWORK, 2, -1, 0)};
    const double starts[] = {0, 8, 5, 0, 2}; /* the network has no gaps and one lane */
    expect_starts(rows, 5, 1, 3, FT_ORDER_PROGRAM, starts, 13);
    const double two_lanes[] = {0, 0, 5, 0, 2};
    expect_starts(rows, 5, 2, 3, FT_ORDER_PROGRAM, two_lanes, 6);
}

static void test_lanes(void **state) {
    (void)state;
    const row rows[] = {TASK(A, 4, -1, 0), TASK(A, 2, -1, 0), TASK(A, 1, -1, 0), TASK(A, 1, -1, 0), TASK(A, 1, 0, 0)};
    timeline t = run_rows(rows, 5, 2, 0, FT_ORDER_PROGRAM);
    const double starts[] = {0, 0, 2, 3, 4};
    const uint32_t lanes[] = {0, 1, 1, 1, 0}; /* the lowest lane that is free */
    for (int i = 0; i < 5; i++) {
        assert_true(t.plan.start_us[i] == starts[i]);
        assert_int_equal(t.plan.lane[i], lanes[i]);
    }
    assert_int_equal(t.plan.engine_count, 3);
    arena_free(&t.memory);
}

/* Tasks of no time need no lane: they pass on the end of what they depend on. */
static void test_tasks_of_no_time(void **state) {
    (void)state;
    const row rows[] = {TASK(A, 0, -1, 0), TASK(A, 0, 0, 0), TASK(A, 5, 1, 0), TASK(A, 0, 2, 0), TASK(A, 1, 3, 0)};
    timeline t = run_rows(rows, 5, 1, 0, FT_ORDER_PROGRAM);
    const double starts[] = {0, 0, 0, 5, 5}, tails[] = {6, 6, 6, 1, 1};
    for (int i = 0; i < 5; i++) {
        assert_true(t.plan.start_us[i] == starts[i] && t.plan.tail_us[i] == tails[i]);
        assert_int_equal(t.plan.lane[i], rows[i].time_us > 0 ? 0 : FT_NONE);
    }
    assert_int_equal(t.plan.started_count, 2);
    assert_int_equal(t.plan.started[0], 2);
    assert_int_equal(t.plan.started[1], 4);
    arena_free(&t.memory);
}

/* Tasks 0 and 1 end at the same time: both are done before the next task is chosen. */
static void test_ends_at_the_same_time(void **state) {
    (void)state;
    const row rows[] = {TASK(B, 5, -1, 0), TASK(B, 5, -1, 0), TASK(A, 1, 0, 1), TASK(A, 1, 1, 0)};
    const double starts[] = {0, 0, 6, 5};
    expect_starts(rows, 4, 1, 0, FT_ORDER_PROGRAM, starts, 7);
}

/* The critical path is the longest chain, and successors are listed by task. */
static void test_critical_path_and_successors(void **state) {
    (void)state;
    const row rows[] = {TASK(A, 2, -1, 0), TASK(B, 3, 0, 0), TASK(B, 7, 0, 0), TASK(A, 4, 1, 0)};
    timeline t = run_rows(rows, 4, 1, 0, FT_ORDER_PROGRAM);
    const double tails[] = {9, 7, 7, 4};
    const uint32_t first[] = {0, 2, 3, 3, 3}, successors[] = {1, 2, 3};
    for (int i = 0; i < 4; i++) assert_true(t.plan.tail_us[i] == tails[i]);
    assert_true(t.plan.critical_us == 9 && t.plan.end_us == 9);
    assert_memory_equal(t.plan.first_successor, first, sizeof first);
    assert_memory_equal(t.plan.successors, successors, sizeof successors);
    arena_free(&t.memory);
}

static void test_endless_tasks_are_errors(void **state) {
    (void)state;
    const row rows[] = {TASK(A, INFINITY, -1, 0), TASK(A, 1, 0, 0)};
    timeline t = run_rows(rows, 2, 1, 0, FT_ORDER_PROGRAM);
    assert_int_equal(t.status, FT_ERR_GRAPH);
    arena_free(&t.memory);
}

static void test_engines_by_index(void **state) {
    (void)state;
    const engine_list engines = {.items = {{.name = "a"}, {.name = "b"}}, .count = 2};
    const task_list tasks = {.workers = 3, .engines = 2};
    assert_ptr_equal(schedule_engine(&tasks, &engines, 4), &engines.items[0]);
    assert_ptr_equal(schedule_engine(&tasks, &engines, 5), &engines.items[1]);
    assert_null(schedule_engine(&tasks, &engines, 6));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_ready_tasks),
        cmocka_unit_test(test_phases_go_before_priorities),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_tasks_of_no_time),
        cmocka_unit_test(test_ends_at_the_same_time),
        cmocka_unit_test(test_critical_path_and_successors),
        cmocka_unit_test(test_endless_tasks_are_errors),
        cmocka_unit_test(test_engines_by_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
