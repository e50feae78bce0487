/* Tests of replays: small ones computed by hand, and invariants of any flow: at least the critical path, at most the
 * sum with gaps, one kernel per lane at a time, dependencies first, the same result again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "replay/schedule.h"
#include "support/failing.h"
#include "support/flow_csv.h"

enum { FLOWS = 60 };

static ft_replay play(const ft_flow *flow, const ft_replay_options *options) {
    ft_replay replay;
    ft_error error;
    if (ft_replay_run(flow, options, &replay, &error) != FT_OK) fail_msg("%s", error.message);
    return replay;
}

static double length_of(const char *csv, const char *engines, ft_order order) {
    ft_flow *flow = flow_from_csv(csv);
    ft_replay_options options = ft_replay_options_default();
    options.engines = engines;
    options.order = order;
    ft_replay replay = play(flow, &options);
    double length = replay.iteration_us;
    ft_replay_free(&replay);
    ft_flow_free(flow);
    return length;
}

/* --- By hand ------------------------------------------------------------------------------------------------------ */

static const char diamond[] = "name,type,time_us,after\na,x,10,\nb,x,20,a\nc,y,30,a\nd,x,5,b;c\n";

static void test_diamond(void **state) {
    (void)state;
    assert_float_equal(length_of(diamond, "one:1", FT_ORDER_PROGRAM), 65, 1e-12);
    assert_float_equal(length_of(diamond, "one:2", FT_ORDER_PROGRAM), 45, 1e-12);
    assert_float_equal(length_of(diamond, "e:x;f:y", FT_ORDER_PROGRAM), 45, 1e-12);
}

static void test_sums_of_a_replay(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv(diamond);
    ft_replay_options options = ft_replay_options_default();
    options.engines = "e:x;f:y";
    options.gaps = "f=3";
    ft_replay r = play(flow, &options);
    assert_float_equal(r.kernel_us, 65, 1e-12);
    assert_float_equal(r.critical_us, 45, 1e-12);
    assert_float_equal(r.gap_us, 3, 1e-12);
    assert_int_equal(r.event_count, 4);
    assert_int_equal(r.critical_count, 3);
    assert_string_equal(r.events[r.critical[1]].name, "c");
    assert_int_equal(r.engine_count, 2);
    assert_float_equal(r.engines[0].busy_us, 35, 1e-12);
    assert_float_equal(r.engines[0].use_ratio, 35.0 / 45, 1e-12);
    assert_float_equal(r.engines[1].busy_us, 30, 1e-12);
    assert_float_equal(r.phase_us[FT_REPLAY_FORWARD], 65, 1e-12);
    ft_replay_free(&r);
    ft_replay_free(&r); /* freeing twice does nothing */
    ft_flow_free(flow);
}

/* Two lanes, a long path after the kernel that is listed last: only the critical order starts with it. */
static void test_orders(void **state) {
    (void)state;
    static const char csv[] = "name,time_us,after\na,10,\nb,10,\nc,10,\nd,30,c\n";
    assert_float_equal(length_of(csv, "e:2", FT_ORDER_PROGRAM), 50, 1e-12);
    assert_float_equal(length_of(csv, "e:2", FT_ORDER_CRITICAL), 40, 1e-12);
    /* b is ready before c, which is listed first. */
    static const char late[] = "name,type,time_us,after\nx,x,1,\nc,y,10,x\nb,y,20,\nd,x,15,c\n";
    assert_float_equal(length_of(late, "e:x;f:y", FT_ORDER_READY), 45, 1e-12);
}

static void test_priorities_and_phases(void **state) {
    (void)state;
    static const char csv[] = "name,time_us,after,phase,priority\nu,1,,update,-9\nb,1,,backward,\nf,1,,forward,7\n"
                              "g,1,,forward,-7\n";
    ft_flow *flow = flow_from_csv(csv);
    ft_replay_options options = ft_replay_options_default();
    ft_replay r = play(flow, &options);
    assert_string_equal(r.events[0].name, "g");
    assert_string_equal(r.events[1].name, "f");
    assert_string_equal(r.events[2].name, "b");
    assert_string_equal(r.events[3].name, "u");
    ft_replay_free(&r);
    ft_flow_free(flow);
}

static void test_gaps_delay_the_next(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv("name,time_us,after\na,10,\nb,10,\nc,10,\n");
    ft_replay_options options = ft_replay_options_default();
    options.gaps = "2";
    ft_replay r = play(flow, &options);
    assert_float_equal(r.iteration_us, 34, 1e-12);
    assert_float_equal(r.gap_us, 6, 1e-12);
    ft_replay_free(&r);
    ft_flow_free(flow);
}

/* --- Training and workers ------------------------------------------------------------------------------------ */

/* A chain of three; the backward pass takes twice as long. Gradients of 8 MB at 1 GB/s. */
static const char chain[] = "name,time_us,after,gradient_bytes\na,100,,8000000\nb,100,a,8000000\nc,100,b,8000000\n";

static ft_replay train(const ft_flow *flow, uint32_t workers, uint64_t bucket, bool is_exchange_last) {
    ft_replay_options options = ft_replay_options_default();
    options.mode = FT_TRAIN;
    options.workers = workers;
    options.latency_us = 5;
    options.bytes_per_s = 80e9;
    options.bucket_bytes = bucket;
    options.is_exchange_last = is_exchange_last;
    return play(flow, &options);
}

static void test_training(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv(chain);
    ft_replay r = train(flow, 1, 1, false);
    assert_float_equal(r.iteration_us, 900, 1e-9);
    assert_float_equal(r.phase_us[FT_REPLAY_BACKWARD], 600, 1e-9);
    assert_int_equal(r.gradient_bytes, 0);
    assert_string_equal(r.events[3].name, "c"); /* the backward pass starts at the end */
    assert_int_equal(r.events[3].phase, FT_REPLAY_BACKWARD);
    ft_replay_free(&r);
    ft_flow_free(flow);
}

static void test_exchange(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv(chain);
    double one = ring_time_us(8000000, 2, 5, 80e9), all = ring_time_us(24000000, 2, 5, 80e9);
    assert_float_equal(one, 2 * (5 + 50), 1e-9);
    ft_replay each = train(flow, 2, 1, false), whole = train(flow, 2, UINT64_MAX, false),
              late = train(flow, 2, 1, true);
    /* Each bucket overlaps with the backward pass of the next kernel: only the last one is exposed. */
    assert_float_equal(each.iteration_us, 900 + one, 1e-9);
    assert_float_equal(each.exposed_us, one, 1e-9);
    assert_float_equal(each.alone_us, 900, 1e-9);
    assert_float_equal(each.efficiency_ratio, 900 / (900 + one), 1e-12);
    assert_int_equal(each.gradient_bytes, 24000000);
    assert_float_equal(whole.iteration_us, 900 + all, 1e-9);
    assert_float_equal(late.iteration_us, 900 + 3 * one, 1e-9);
    assert_int_equal(each.engine_count, 2); /* of a worker, and the network */
    assert_int_equal(each.engines[1].worker, FT_NONE);
    ft_replay_free(&each);
    ft_replay_free(&whole);
    ft_replay_free(&late);
    ft_flow_free(flow);
}

static void test_workers_without_gradients_are_noted(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv(diamond);
    ft_replay r = train(flow, 2, 1, false);
    assert_float_equal(r.exposed_us, 0, 1e-9);
    assert_int_equal(r.note_count, 3);
    assert_non_null(strstr(r.notes[0], "twice as long"));
    assert_non_null(strstr(r.notes[1], "exchange nothing"));
    assert_non_null(strstr(r.notes[2], "network is assumed"));
    ft_replay_free(&r);
    ft_flow_free(flow);
}

static void test_ring(void **state) {
    (void)state;
    assert_float_equal(ring_time_us(1000, 1, 5, 1e9), 0, 0);
    assert_float_equal(ring_time_us(4000, 4, 5, 1e9), 6 * (5 + 1), 1e-9);
}

static void test_invalid_options(void **state) {
    (void)state;
    ft_flow *flow = flow_from_csv(chain), *whole = flow_from_csv("name,time_us,after,phase\na,1,,backward\n");
    ft_replay replay = {0};
    ft_error error;
    ft_replay_options options = ft_replay_options_default();
    options.workers = 0;
    assert_int_equal(ft_replay_run(flow, &options, &replay, &error), FT_ERR_USAGE);
    options.workers = 2;
    assert_int_equal(ft_replay_run(flow, &options, &replay, &error), FT_ERR_USAGE);
    options.mode = FT_TRAIN;
    assert_int_equal(ft_replay_run(whole, &options, &replay, &error), FT_ERR_UNSUPPORTED);
    options.bytes_per_s = 0;
    assert_int_equal(ft_replay_run(flow, &options, &replay, &error), FT_ERR_USAGE);
    options = ft_replay_options_default();
    options.engines = "mme:conv";
    assert_int_equal(ft_replay_run(flow, &options, &replay, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "runs 'a' kernels"));
    ft_flow_free(flow);
    ft_flow_free(whole);
    flow = flow_from_csv("name,time_us,after,engine\na,1,,dma\n");
    assert_int_equal(ft_replay_run(flow, &options, &replay, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "runs on engine 'dma'"));
    ft_flow_free(flow);
}

/* --- Any flow ------------------------------------------------------------------------------------------------ */

/* No two events of a lane at a time; with its gap, the next waits. */
static void check_lanes(const ft_replay *r, double gap_us) {
    for (uint32_t i = 0; i < r->event_count; i++) {
        const ft_replay_event *a = &r->events[i];
        assert_true(a->lane < r->engines[a->engine].lane_count);
        double gap = r->engines[a->engine].worker != FT_NONE ? gap_us : 0;
        for (uint32_t j = i + 1; j < r->event_count; j++) {
            const ft_replay_event *b = &r->events[j];
            assert_true(b->start_us >= a->start_us);
            if (a->engine == b->engine && a->lane == b->lane)
                assert_true(b->start_us >= a->start_us + a->time_us + gap - 1e-9);
        }
    }
}

static double start_of(const ft_replay *r, uint32_t kernel, bool is_end) {
    for (uint32_t i = 0; i < r->event_count; i++)
        if (r->events[i].kernel == kernel && r->events[i].worker == 0 && r->events[i].phase == FT_REPLAY_FORWARD)
            return r->events[i].start_us + (is_end ? r->events[i].time_us : 0);
    return NAN;
}

static void check_needs(const ft_flow *flow, const ft_replay *r) {
    uint32_t count;
    const ft_flow_kernel *kernels = ft_flow_kernels(flow, &count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < kernels[i].dependency_count; j++) {
            double begin = start_of(r, i, false), end = start_of(r, kernels[i].dependencies[j], true);
            if (!isnan(begin) && !isnan(end)) assert_true(begin >= end - 1e-9);
        }
}

static void check_bounds(const ft_replay *r) {
    double path = 0, most = r->kernel_us + r->gap_us + r->phase_us[FT_REPLAY_EXCHANGE];
    for (uint32_t i = 0; i < r->critical_count; i++) path += r->events[r->critical[i]].time_us;
    assert_float_equal(path, r->critical_us, 1e-6);
    assert_true(r->iteration_us >= r->critical_us - 1e-6);
    assert_true(r->iteration_us <= most + 1e-6);
}

static void check_same(const ft_replay *a, const ft_replay *b) {
    assert_int_equal(a->event_count, b->event_count);
    for (uint32_t i = 0; i < a->event_count; i++) {
        assert_true(a->events[i].start_us == b->events[i].start_us);
        assert_int_equal(a->events[i].kernel, b->events[i].kernel);
        assert_int_equal(a->events[i].lane, b->events[i].lane);
    }
}

static void test_any_flow(void **state) {
    (void)state;
    static const char *const specs[] = {"one:1", "many:7", "x:a;y:2:*", "x:a;y:b;z:3:c"};
    static const char *const gaps[] = {NULL, "1.5"};
    for (uint64_t seed = 0; seed < FLOWS; seed++) {
        ft_flow *flow = random_flow(seed, 1 + (uint32_t)(seed * 7 % 80), (double)(seed % 5) / 10);
        ft_replay_options options = ft_replay_options_default();
        options.engines = specs[seed % 4];
        options.gaps = gaps[seed / 4 % 2];
        options.order = (ft_order)(seed % 3);
        options.mode = seed % 2 == 0 ? FT_TRAIN : FT_INFER;
        options.workers = seed % 4 == 0 ? 3 : 1;
        ft_replay replay = play(flow, &options), again = play(flow, &options);
        check_bounds(&replay);
        check_lanes(&replay, options.gaps != NULL ? 1.5 : 0);
        check_needs(flow, &replay);
        check_same(&replay, &again);
        ft_replay_free(&replay);
        ft_replay_free(&again);
        ft_flow_free(flow);
    }
}

/* One lane without gaps is never idle: the sum of all kernels. */
static void test_one_engine_is_the_sum(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < FLOWS; seed++) {
        ft_flow *flow = random_flow(seed, 50, 0.2);
        ft_replay_options options = ft_replay_options_default();
        options.mode = seed % 2 == 0 ? FT_TRAIN : FT_INFER;
        options.order = (ft_order)(seed % 3);
        ft_replay r = play(flow, &options);
        assert_float_equal(r.iteration_us, r.kernel_us, 1e-6);
        assert_float_equal(r.engines[0].use_ratio, 1, 1e-12);
        ft_replay_free(&r);
        ft_flow_free(flow);
    }
}

/* Independent kernels: one more lane is never slower, and enough lanes take as long as the longest kernel. */
static void test_more_lanes_for_independent_work(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < FLOWS; seed++) {
        ft_flow *flow = random_flow(seed, 40, 0);
        ft_replay_options options = ft_replay_options_default();
        double before = INFINITY;
        for (uint32_t lanes = 1; lanes <= 40; lanes++) {
            char spec[16];
            snprintf(spec, sizeof spec, "e:%u", lanes);
            options.engines = spec;
            options.order = (ft_order)(seed % 3);
            ft_replay r = play(flow, &options);
            assert_true(r.iteration_us <= before + 1e-9);
            before = r.iteration_us;
            if (lanes == 40) assert_float_equal(r.iteration_us, r.critical_us, 1e-9);
            ft_replay_free(&r);
        }
        ft_flow_free(flow);
    }
}

static void test_memory_runs_out(void **state) {
    (void)state;
    ft_flow *flow = random_flow(3, 60, 0.2);
    ft_replay_options options = ft_replay_options_default();
    options.mode = FT_TRAIN;
    options.workers = 2;
    options.gaps = "1";
    for (long n = 0;; n++) {
        ft_replay replay = {0};
        failing_start(n);
        ft_status status = ft_replay_run(flow, &options, &replay, NULL);
        bool is_failed = failing_stop();
        if (!is_failed) {
            assert_int_equal(status, FT_OK);
            ft_replay_free(&replay);
            break;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_flow_free(flow);
}

static void test_names(void **state) {
    (void)state;
    ft_replay_phase phase;
    ft_order order;
    for (uint32_t i = 0; i < FT_REPLAY_PHASES; i++) {
        assert_true(ft_replay_phase_parse(ft_replay_phase_name((ft_replay_phase)i), &phase));
        assert_int_equal(phase, i);
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(ft_order_parse(ft_order_name((ft_order)i), &order));
        assert_int_equal(order, i);
    }
    assert_false(ft_replay_phase_parse("sideways", &phase));
    assert_false(ft_order_parse("", &order));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diamond),
        cmocka_unit_test(test_sums_of_a_replay),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_priorities_and_phases),
        cmocka_unit_test(test_gaps_delay_the_next),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_workers_without_gradients_are_noted),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_invalid_options),
        cmocka_unit_test(test_any_flow),
        cmocka_unit_test(test_one_engine_is_the_sum),
        cmocka_unit_test(test_more_lanes_for_independent_work),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
