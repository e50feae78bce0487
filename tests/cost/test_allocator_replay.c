/* Memory events and their replay: both agree with the timeline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/allocator.h"
#include "cost/memory.h"
#include "support/failing.h"
#include "support/synth_data.h"

enum { NETWORKS = 24 };

static const uint64_t no_limit = UINT64_MAX;

static ft_graph *bound_network(uint32_t number, int64_t batch, ft_graph **model) {
    ft_graph *bound = NULL;
    ft_error error;
    *model = synth_network(number);
    if (ft_graph_bind(*model, &(ft_binding){.batch = batch}, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    return bound;
}

/* Live bytes computed from the events alone. */
typedef struct follower {
    uint64_t *pieces;
    uint64_t alive, passing, state, most;
} follower;

static void follow(void *user, const timeline_event *e) {
    follower *f = user;
    switch (e->kind) {
    case TIMELINE_WEIGHT:
        f->alive += e->bytes;
        break;
    case TIMELINE_OPTIMIZER:
        f->state += e->bytes;
        break;
    case TIMELINE_ALLOC:
        assert_int_equal(f->pieces[e->id], 0);
        f->pieces[e->id] = e->bytes;
        f->alive += e->bytes;
        break;
    case TIMELINE_INPLACE:
        f->pieces[e->id] = f->pieces[e->from];
        f->pieces[e->from] = 0;
        break;
    case TIMELINE_TEMPORARY:
        f->passing += e->bytes;
        break;
    case TIMELINE_OP:
        if (f->alive + f->state + f->passing > f->most) f->most = f->alive + f->state + f->passing;
        f->passing = 0;
        break;
    case TIMELINE_FREE:
        assert_int_equal(f->pieces[e->id], e->bytes);
        f->alive -= e->bytes;
        f->pieces[e->id] = 0;
        break;
    }
}

static void events_add_up_to_the_plan(void **state) {
    (void)state;
    for (uint32_t n = 0; n < NETWORKS; n++) {
        ft_graph *model, *bound = bound_network(n, 1 + n % 4, &model);
        for (int mode = FT_INFER; mode <= FT_TRAIN; mode++) {
            ft_cost_options options = ft_cost_options_default();
            options.mode = (ft_mode)mode;
            ft_memory plan, walked;
            ft_error error;
            size_t pieces = 3 * (size_t)ft_graph_tensor_count(bound) + ft_graph_op_count(bound);
            follower f = {.pieces = calloc(pieces, sizeof(uint64_t))};
            assert_non_null(f.pieces);
            assert_int_equal(ft_memory_plan(bound, &options, &plan, NULL, NULL, &error), FT_OK);
            assert_int_equal(timeline_walk(bound, NULL, &options, &(timeline_events){.on_event = follow, .user = &f},
                                           &walked, &error),
                             FT_OK);
            assert_memory_equal(&plan, &walked, sizeof plan);
            ft_cost cost; /* marks from a cost give the same result */
            assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
            assert_int_equal(timeline_walk(bound, &cost, &options, &(timeline_events){0}, &walked, &error), FT_OK);
            assert_memory_equal(&plan, &walked, sizeof plan);
            ft_cost_free(&cost);
            if (plan.peak_phase != FT_PHASE_OPTIMIZER) assert_int_equal(f.most, plan.peak_bytes);
            free(f.pieces);
        }
        ft_graph_free(bound);
        ft_graph_free(model);
    }
}

/* The allocator reserves at least the live bytes, and more for a larger batch. */
static void reserved_bytes_exceed_live_bytes(void **state) {
    (void)state;
    ft_cost_options options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    options.optimizer = FT_ADAM;
    for (uint32_t n = 0; n < NETWORKS; n++) {
        uint64_t before = 0;
        for (int64_t batch = 1; batch <= 64; batch *= 8) {
            ft_graph *model, *bound = bound_network(n, batch, &model);
            allocator_replay r;
            ft_error error;
            assert_int_equal(allocator_replay_steps(bound, NULL, &options, no_limit, &r, &error), FT_OK);
            assert_true(r.reserved_bytes >= r.allocated_bytes);
            assert_true(r.reserved_bytes % (2 << 20) == 0);
            assert_true(r.reserved_bytes >= before);
            assert_false(r.is_over);
            before = r.reserved_bytes;
            ft_graph_free(bound);
            ft_graph_free(model);
        }
    }
}

static void a_limit_that_is_too_small_is_reported(void **state) {
    (void)state;
    ft_cost_options options = ft_cost_options_default();
    ft_graph *model, *bound = bound_network(3, 64, &model);
    allocator_replay r;
    ft_error error;
    assert_int_equal(allocator_replay_steps(bound, NULL, &options, 1 << 20, &r, &error), FT_OK);
    assert_true(r.is_over);
    assert_true(r.reserved_bytes > 1 << 20);
    ft_graph_free(bound);
    ft_graph_free(model);
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    ft_cost_options options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    ft_graph *model, *bound = bound_network(5, 2, &model);
    for (long n = 0;; n++) {
        allocator_replay r = {.allocated_bytes = 1};
        ft_error error;
        failing_start(n);
        ft_status status = allocator_replay_steps(bound, NULL, &options, no_limit, &r, &error);
        bool has_failed = failing_stop();
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
        assert_int_equal(r.allocated_bytes, 1);
    }
    ft_graph_free(bound);
    ft_graph_free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_add_up_to_the_plan),
        cmocka_unit_test(reserved_bytes_exceed_live_bytes),
        cmocka_unit_test(a_limit_that_is_too_small_is_reported),
        cmocka_unit_test(out_of_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("cost/allocator_replay", tests, NULL, NULL);
}
