/* Costs of small networks are those that Vela 3.10 reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "support/failing.h"
#include "support/npu_model.h"

typedef struct expected {
    double engine, sram;
} expected;

static void check(npu_model *m, const char *device, const expected *rows, uint32_t count) {
    npu_estimate e = npu_model_estimate(m, device);
    double total = 0;
    assert_int_equal(m->net.pass_count, count);
    for (uint32_t i = 0; i < count; i++) {
        const npu_cost *c = &e.passes[i];
        if (c->engine != rows[i].engine || c->sram != rows[i].sram)
            fail_msg("%s, pass %u: %.3f %.3f", device, i, c->engine, c->sram);
        assert_true(c->total == fmax(c->engine, fmax(c->sram, c->slow)));
        total += c->total;
    }
    assert_true(fabs(e.sum.total - total) < 1e-6);
}

static void convolutions_cost_what_vela_reports(void **state) {
    (void)state;
    npu_model m = npu_model_read(&npu_mobilenet_head);
    /* The last map is the output of this network and stored as NHWC; in the network of these numbers it was not. */
    npu_estimate small = npu_model_estimate(&m, "ethos-u55-128"), large = npu_model_estimate(&m, "ethos-u55-256");
    static const expected on_128[] = {{151691, 177632}, {151040, 145040}, {161952, 65408}};
    static const expected on_256[] = {{87940, 177632}, {75776, 145040}, {76048, 57856}};
    assert_int_equal(m.net.pass_count, 4);
    assert_int_equal(m.net.cpu_ops, 0);
    for (int i = 0; i < 3; i++) {
        assert_true(small.passes[i].engine == on_128[i].engine);
        assert_true(large.passes[i].engine == on_256[i].engine);
        assert_true(small.passes[i].sram == on_128[i].sram);
        assert_true(large.passes[i].sram == on_256[i].sram);
    }
    npu_model_free(&m);
}

static void softmax_costs_what_vela_reports(void **state) {
    (void)state;
    npu_model m = npu_model_read(&npu_softmax);
    static const expected rows[] = {{43, 12}, {1061, 10.5}, {7, 13},  {59, 13}, {18, 16}, {1, 8.5}, {1, 8.5}, {1, 16.5},
                                    {1, 1},   {1, 1},       {1, 1},   {1, 1},   {1, 1},   {1, 1.5}, {1, 1},   {1, 1.5},
                                    {1, 1},   {1, 1.5},     {1, 1.5}, {1, 1},   {1, 1.5}, {1, 1},   {1, 1.5}, {1, 1.5},
                                    {1, 1},   {1, 1.5},     {1, 1},   {1, 1.5}, {1, 1},   {10, 24}, {7, 18.5}};
    check(&m, "ethos-u55-256", rows, 31);
    npu_model_free(&m);
}

/* Maps that do not fit the cache become a cascade of stripes; SRAM usage stays within its size. */
static void a_cache_is_never_overfilled(void **state) {
    (void)state;
    npu_model m = npu_model_read(&npu_mobilenet_head);
    npu_estimate plain = npu_model_estimate(&m, "ethos-u55-256"), cached = npu_model_estimate(&m, "ethos-u65-256");
    assert_true(plain.sram_bytes > 384 * 1024 && plain.slow_arena_bytes == 0);
    assert_true(cached.sram_bytes > 0 && cached.sram_bytes <= 384 * 1024);
    assert_true(cached.schedule.plans[1].cascade != 0);
    assert_true(cached.schedule.plans[1].cascade == cached.schedule.plans[2].cascade);
    assert_true(cached.schedule.plans[2].rolling_h > 0 && cached.schedule.plans[2].rolling_h < 112);
    assert_true(cached.slow_arena_bytes >= 224 * 224 * 3);
    /* input and output of the network stay in slow memory, the rolling buffers do not */
    assert_int_equal(cached.schedule.areas[m.net.passes[0].ifm], NPU_SLOW);
    assert_int_equal(cached.schedule.areas[m.net.passes[1].ofm], NPU_SRAM);
    assert_int_equal(cached.schedule.areas[m.net.passes[3].ofm], NPU_SLOW);
    npu_model_free(&m);
}

static void two_cores_are_faster_than_one(void **state) {
    (void)state;
    npu_model m = npu_model_read(&npu_mobilenet_head);
    double one = npu_model_estimate(&m, "ethos-u65-256").sum.engine,
           two = npu_model_estimate(&m, "ethos-u65-512").sum.engine;
    assert_true(two < one && two > one / 2);
    npu_model_free(&m);
}

static void weights_that_arrive_late_add_cycles(void **state) {
    (void)state;
    npu_model m = npu_model_read(&npu_mobilenet_head);
    npu_estimate usual = npu_model_estimate(&m, "ethos-u55-256"), heavy;
    npu_compression codes = npu_default_compression;
    ft_error error;
    for (int i = 0; i < COMPRESSION_TERMS; i++) codes.unit_bytes[i] *= 1000;
    assert_int_equal(npu_estimate_make(&m.net, npu_arch_find("ethos-u55-256"), &codes, &m.memory, &heavy, &error),
                     FT_OK);
    assert_true(heavy.sum.total > usual.sum.total);
    assert_true(heavy.weight_bytes > 100 * usual.weight_bytes);
    assert_true(heavy.schedule.plans[3].slices > 1); /* fetched slice by slice */
    npu_model_free(&m);
}

/* Reusing parts of the first schedule changes nothing of the second. */
static void an_updated_estimate_equals_a_new_one(void **state) {
    (void)state;
    npu_model m = npu_model_read(&npu_mobilenet_head);
    for (uint32_t i = 0; i < NPU_ARCHS; i++) {
        npu_estimate usual, again, fresh;
        npu_compression codes = npu_default_compression;
        ft_error error;
        for (int k = 0; k < COMPRESSION_TERMS; k++) codes.unit_bytes[k] *= 50;
        assert_int_equal(npu_estimate_make(&m.net, &npu_archs[i], &npu_default_compression, &m.memory, &usual, &error),
                         FT_OK);
        assert_int_equal(npu_estimate_update(&usual, &codes, &m.memory, &again, &error), FT_OK);
        assert_int_equal(npu_estimate_make(&m.net, &npu_archs[i], &codes, &m.memory, &fresh, &error), FT_OK);
        assert_memory_equal(again.passes, fresh.passes, m.net.pass_count * sizeof *fresh.passes);
        assert_true(again.weight_bytes == fresh.weight_bytes && again.weight_bytes > usual.weight_bytes);
        assert_true(again.sram_bytes == fresh.sram_bytes && again.slices == fresh.slices);
    }
    npu_model_free(&m);
}

static void allocation_failures_are_reported(void **state) {
    (void)state;
    ft_graph *graph = lite_read(&npu_mobilenet_head), *bound;
    ft_error error;
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
    for (long n = 0;; n++) {
        arena memory;
        npu_net net;
        npu_estimate e;
        arena_init(&memory, UINT64_MAX);
        failing_start(n);
        ft_status status = npu_lower(bound, &memory, &net, &error);
        if (status == FT_OK)
            status = npu_estimate_make(&net, &npu_archs[3], &npu_default_compression, &memory, &e, &error);
        if (status == FT_OK) status = npu_estimate_update(&e, &npu_default_compression, &memory, &e, &error);
        bool has_failed = failing_stop();
        arena_free(&memory);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    ft_graph_free(bound);
    ft_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_cost_what_vela_reports), cmocka_unit_test(softmax_costs_what_vela_reports),
        cmocka_unit_test(a_cache_is_never_overfilled),         cmocka_unit_test(two_cores_are_faster_than_one),
        cmocka_unit_test(weights_that_arrive_late_add_cycles), cmocka_unit_test(an_updated_estimate_equals_a_new_one),
        cmocka_unit_test(allocation_failures_are_reported),
    };
    return cmocka_run_group_tests_name("npu/estimate", tests, NULL, NULL);
}
