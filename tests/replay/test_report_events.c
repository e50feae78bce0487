/* Tests of lists of events: one simulated worker and its copies are the simulation of all workers, event by event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "replay/flow.h"
#include "replay/report_values.h"
#include "replay/schedule.h"
#include "support/failing.h"
#include "support/flow_csv.h"

enum { CASES = 240 };

/* All workers, simulated. */
typedef struct whole {
    arena memory;
    engine_list engines;
    task_list tasks;
    schedule plan;
} whole;

static void simulate(const ft_flow *flow, const ft_replay_options *options, whole *w) {
    ft_error error;
    arena_init(&w->memory, 64 << 20);
    ft_status status = engines_parse(options->engines, options->gaps, &w->memory, &w->engines, &error);
    if (status == FT_OK) status = tasks_build(flow, &w->engines, options, SIMULATE_ALL, &w->memory, &w->tasks, &error);
    if (status == FT_OK) status = schedule_run(&w->tasks, &w->engines, options->order, &w->memory, &w->plan, &error);
    if (status != FT_OK) fail_msg("%s", error.message);
}

/* Many kernels of equal times end together, so that the order of events at one time matters. */
static ft_flow *make_flow(uint64_t seed) {
    ft_flow *flow = random_flow(seed, 1 + (uint32_t)(seed * 11 % 50), (double)(seed % 4) / 8);
    for (uint32_t i = 0; i < flow->count && seed % 3 > 0; i++) {
        ft_flow_kernel *k = &flow->kernels[i];
        if (k->time_us > 0) k->time_us = 1 + i % 2;
        k->backward_us = (double)(seed % 2 + 1) * k->time_us;
        k->update_us = 0.5;
    }
    return flow;
}

static ft_replay_options make_options(uint64_t seed) {
    static const char *const specs[] = {"one:1", "x:a;y:2:*", "x:a;y:b;z:3:c", "many:5"};
    static const uint64_t buckets[] = {1, 300000, UINT64_MAX};
    ft_replay_options options = ft_replay_options_default();
    options.engines = specs[seed % 4];
    options.gaps = seed % 5 == 0 ? "1" : NULL;
    options.order = (ft_order)(seed / 4 % 3);
    options.mode = FT_TRAIN;
    options.workers = 1 + (uint32_t)(seed % 6);
    options.bucket_bytes = buckets[seed / 12 % 3];
    options.is_exchange_last = seed % 7 == 0;
    options.latency_us = seed % 2 == 0 ? 1 : 0.25;
    options.bytes_per_s = seed % 3 == 0 ? 1e30 : 1e9; /* exchanges that take as long as kernels, too */
    return options;
}

static void check_events(const whole *w, const ft_replay *r) {
    event_list list;
    event_copy copy;
    assert_true(r->total_event_count == w->plan.started_count);
    assert_true(event_list_open(&list, r, 0));
    for (uint32_t i = 0; i < w->plan.started_count; i++) {
        const task *t = &w->tasks.items[w->plan.started[i]];
        assert_true(event_list_next(&list, &copy));
        const ft_replay_event *e = &r->events[copy.event];
        uint32_t first_engine =
            t->worker == FT_NONE ? (w->tasks.workers - 1) * w->tasks.engines : t->worker * w->tasks.engines;
        assert_int_equal(copy.index, i);
        assert_int_equal(copy.worker, t->worker);
        assert_int_equal(e->kernel, t->kernel);
        assert_int_equal(e->phase, t->phase);
        assert_int_equal(e->engine, t->engine - first_engine);
        assert_int_equal(e->lane, w->plan.lane[w->plan.started[i]]);
        assert_true(e->start_us == w->plan.start_us[w->plan.started[i]] && e->time_us == t->time_us);
    }
    assert_false(event_list_next(&list, &copy));
    event_list_close(&list);
}

static void check_sums(const whole *w, const ft_replay *r) {
    uint64_t bytes = 0;
    double path = 0;
    for (uint32_t i = 0; i < w->tasks.count; i++) bytes += w->tasks.items[i].bytes;
    for (uint32_t i = 0; i < r->critical_count; i++) path += r->events[r->critical[i]].time_us;
    assert_true(r->iteration_us == w->plan.end_us && r->critical_us == w->plan.critical_us);
    assert_float_equal(path, w->plan.critical_us, 1e-6);
    assert_true(r->gradient_bytes == bytes);
    for (uint32_t i = FT_NONE, worker, at = 0; engine_list_next(r, &i, &worker); at++) {
        double busy = 0;
        for (uint32_t j = 0; j < w->tasks.count; j++)
            if (w->tasks.items[j].engine == at) busy += w->tasks.items[j].time_us;
        assert_float_equal(r->engines[i].busy_us, busy, 1e-6);
    }
}

static void test_one_worker_stands_for_all(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        ft_flow *flow = make_flow(seed);
        ft_replay_options options = make_options(seed);
        ft_replay replay;
        ft_error error;
        whole w = {0};
        simulate(flow, &options, &w);
        if (ft_replay_run(flow, &options, &replay, &error) != FT_OK) fail_msg("%s", error.message);
        check_events(&w, &replay);
        check_sums(&w, &replay);
        ft_replay_free(&replay);
        arena_free(&w.memory);
        ft_flow_free(flow);
    }
}

/* --- The longest ------------------------------------------------------------------------------------------------ */

static int longest_first(const void *left, const void *right, void *user) {
    const ft_replay_event *events = user;
    const event_copy *a = left, *b = right;
    double x = events[a->event].time_us, y = events[b->event].time_us;
    if (x != y) return x > y ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void check_longest(const ft_replay *r, uint32_t top) {
    event_copy *all = calloc(r->total_event_count + 1, sizeof *all), copy;
    event_list list;
    uint32_t count = 0, listed = 0;
    assert_non_null(all);
    assert_true(event_list_open(&list, r, 0));
    while (event_list_next(&list, &all[count])) count++;
    event_list_close(&list);
    qsort_r(all, count, sizeof *all, longest_first, (void *)r->events);
    assert_true(event_list_open(&list, r, top));
    while (event_list_next(&list, &copy)) {
        assert_true(listed < count);
        assert_int_equal(copy.event, all[listed].event);
        assert_int_equal(copy.worker, all[listed].worker);
        assert_int_equal(copy.index, all[listed++].index);
    }
    assert_int_equal(listed, top < count ? top : count);
    event_list_close(&list);
    free(all);
}

static void test_the_longest_of_all_workers(void **state) {
    (void)state;
    static const uint32_t tops[] = {1, 2, 5, 17, 100000};
    for (uint64_t seed = 0; seed < CASES; seed++) {
        ft_flow *flow = make_flow(seed);
        ft_replay_options options = make_options(seed);
        ft_replay replay;
        assert_int_equal(ft_replay_run(flow, &options, &replay, NULL), FT_OK);
        for (uint32_t i = 0; i < sizeof tops / sizeof tops[0]; i++) check_longest(&replay, tops[i]);
        ft_replay_free(&replay);
        ft_flow_free(flow);
    }
}

static void test_memory_runs_out(void **state) {
    (void)state;
    ft_flow *flow = make_flow(5);
    ft_replay_options options = make_options(5);
    ft_replay replay;
    assert_int_equal(ft_replay_run(flow, &options, &replay, NULL), FT_OK);
    for (long n = 0;; n++) {
        event_list list;
        failing_start(n);
        bool is_open = event_list_open(&list, &replay, 3);
        bool is_failed = failing_stop();
        event_list_close(&list);
        assert_true(is_open == !is_failed);
        if (!is_failed) break;
    }
    ft_replay_free(&replay);
    ft_flow_free(flow);
}

/* --- Many workers --------------------------------------------------------------------------------------------- */

/* The most workers there may be take as much memory as one. */
static void test_memory_does_not_grow_with_workers(void **state) {
    (void)state;
    ft_flow *flow = random_flow(1, 400, 0.2);
    ft_replay_options options = make_options(0);
    uint64_t bytes[2];
    for (uint32_t i = 0; i < 2; i++) {
        ft_replay replay;
        options.workers = i == 0 ? 2 : FT_REPLAY_MAX_WORKERS;
        assert_int_equal(ft_replay_run(flow, &options, &replay, NULL), FT_OK);
        bytes[i] = ((const arena *)replay.owner)->used;
        ft_replay_free(&replay);
    }
    assert_true(bytes[1] <= bytes[0] + 4096);
    ft_flow_free(flow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker_stands_for_all),
        cmocka_unit_test(test_the_longest_of_all_workers),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_memory_does_not_grow_with_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
