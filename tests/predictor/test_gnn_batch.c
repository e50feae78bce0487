/* Samples joined into batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/gnn/gnn.h"

static const gnn_widths widths = {.kinds = 9, .node_values = 2, .node_marks = 1, .edge_values = 1, .global_values = 1};

/* A diamond 0 -> 1, 0 -> 2, 1 -> 3, 2 -> 3, given in another order. */
static gnn_sample diamond(arena *memory) {
    gnn_sample s;
    assert_true(gnn_sample_open(&s, &widths, 4, 4, memory));
    memcpy(s.from, (uint32_t[]){2, 0, 1, 0}, 4 * sizeof *s.from);
    memcpy(s.to, (uint32_t[]){3, 2, 3, 1}, 4 * sizeof *s.to);
    for (uint32_t i = 0; i < 4; i++) {
        s.kinds[i] = i;
        s.node_values[2 * i] = (float)i;
        s.node_marks[i] = (float)(10 * i);
        s.edge_values[i] = (float)(10 * s.from[i] + s.to[i]);
    }
    s.global_values[0] = 4;
    return s;
}

static gnn_sample alone(arena *memory) {
    gnn_sample s;
    assert_true(gnn_sample_open(&s, &widths, 1, 0, memory));
    s.kinds[0] = 8;
    s.node_values[1] = 5;
    s.global_values[0] = 1;
    return s;
}

static void samples_are_joined_and_edges_sorted(void **state) {
    (void)state;
    arena memory;
    arena_init(&memory, 1 << 20);
    gnn_sample a = diamond(&memory), b = alone(&memory);
    const gnn_sample *samples[] = {&b, &a, &b, &a};
    gnn_batch batch;
    assert_true(gnn_batch_join(&batch, &widths, samples, 4, &memory));
    assert_int_equal(batch.nodes, 10);
    assert_int_equal(batch.edges, 8);
    assert_memory_equal(batch.nodes_of.start, ((uint32_t[]){0, 1, 5, 6, 10}), 5 * sizeof(uint32_t));
    assert_memory_equal(batch.edges_of.start, ((uint32_t[]){0, 0, 4, 4, 8}), 5 * sizeof(uint32_t));
    assert_memory_equal(batch.to, ((uint32_t[]){2, 3, 4, 4, 7, 8, 9, 9}), 8 * sizeof(uint32_t));
    assert_memory_equal(batch.from, ((uint32_t[]){1, 1, 3, 2, 6, 6, 8, 7}), 8 * sizeof(uint32_t));
    assert_memory_equal(batch.edges_into.start, ((uint32_t[]){0, 0, 0, 1, 2, 4, 4, 4, 5, 6, 8}), 11 * sizeof(uint32_t));
    assert_ptr_equal(batch.sources.start, batch.edges_into.start);
    assert_ptr_equal(batch.sources.index, batch.from);
    assert_memory_equal(batch.targets.start, ((uint32_t[]){0, 0, 2, 3, 4, 4, 4, 6, 7, 8, 8}), 11 * sizeof(uint32_t));
    assert_memory_equal(batch.targets.index, ((uint32_t[]){2, 3, 4, 4, 7, 8, 9, 9}), 8 * sizeof(uint32_t));
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t e = batch.edges_out.index[i];
        assert_int_equal(batch.to[e], batch.targets.index[i]);
        uint32_t first = e < 4 ? 1 : 6;
        assert_true(batch.edge_values[e] == (float)(10 * (batch.from[e] - first) + batch.to[e] - first));
    }
    assert_memory_equal(batch.kinds, ((uint32_t[]){8, 0, 1, 2, 3, 8, 0, 1, 2, 3}), 10 * sizeof(uint32_t));
    assert_true(batch.node_values[1] == 5 && batch.node_values[2 * 9] == 3 && batch.node_marks[9] == 30);
    assert_true(batch.global_values[0] == 1 && batch.global_values[3] == 4);
    arena_free(&memory);
}

static void out_of_memory_is_reported(void **state) {
    (void)state;
    for (uint64_t limit = 0;; limit += 512) {
        arena memory;
        gnn_sample s;
        gnn_batch batch;
        arena_init(&memory, limit);
        bool is_done = gnn_sample_open(&s, &widths, 200, 1, &memory);
        if (is_done) s.to[0] = 1;
        const gnn_sample *samples[] = {&s};
        is_done = is_done && gnn_batch_join(&batch, &widths, samples, 1, &memory);
        arena_free(&memory);
        if (is_done) break;
        assert_true(limit < 1 << 22);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples_are_joined_and_edges_sorted),
                                       cmocka_unit_test(out_of_memory_is_reported)};
    return cmocka_run_group_tests_name("predictor/gnn_batch", tests, NULL, NULL);
}
