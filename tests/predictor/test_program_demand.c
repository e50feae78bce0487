/* Demand of tensor programs and times of devices, against values computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/program/program_demand.h"
#include "predictor/program/program_features.h"
#include "support/program_features.h"

static double amount(const lowered *s, uint32_t leaf, const char *name) {
    return exp2(feature(&s->f, leaf, name)) - 1;
}

/* Enum constants index the features that they are named after. */
static void indices_match_feature_names(void **state) {
    (void)state;
    static const struct {
        uint32_t place;
        const char *name;
    } known[] = {{LEAF_FLOAT_ADD, "float_addsub"},
                 {LEAF_FLOAT_MATH, "float_mathfunc"},
                 {LEAF_INT_CMP, "int_cmp"},
                 {LEAF_LOGIC, "bool_op"},
                 {LEAF_SELECT, "select_op"},
                 {LEAF_VECTOR, "vec_len"},
                 {LEAF_TRIPS, "outer_prod"},
                 {LEAF_UNROLL, "auto_unroll_max_step"},
                 {FT_PROGRAM_FEATURES + GPU_BLOCKS, "blocks"},
                 {FT_PROGRAM_FEATURES + GPU_IS_START, "is_start"},
                 {FT_PROGRAM_FEATURES + GPU_GLOBAL_READS, "global.read.accesses"},
                 {FT_PROGRAM_FEATURES + GPU_SHARED_READ_REPEATS, "shared.read.repeats"},
                 {FT_PROGRAM_FEATURES + GPU_GLOBAL_WRITE_REQUESTS, "global.write.requests"},
                 {FT_PROGRAM_FEATURES + GPU_GLOBAL_WRITE_REPEATS, "global.write.repeats"},
                 {FT_PROGRAM_FEATURES + GPU_SHARED_WRITE_REQUESTS, "shared.write.requests"},
                 {FT_PROGRAM_FEATURES + GPU_SHARED_WRITE_REPEATS, "shared.write.repeats"},
                 {FT_PROGRAM_FEATURES + GPU_WINDOW_LOADS, "window4.loads"},
                 {FT_PROGRAM_FEATURES + GPU_ROUND_TRIPS, "round_turns"},
                 {FT_PROGRAM_FEATURES + GPU_UNROLLED_LOADS, "unrolled.loads"},
                 {FT_PROGRAM_FEATURES + GPU_UNROLLED_SPILLS, "unrolled.moves"},
                 {FT_PROGRAM_FEATURES + GPU_WAVE_SECTORS, "wave16.sectors"},
                 {FT_PROGRAM_FEATURES + GPU_MERGED_WRITE, "merged.write"},
                 {FT_PROGRAM_FEATURES + GPU_WINDOW_CYCLES, "window4.cycles"},
                 {FT_PROGRAM_FEATURES + GPU_UNROLLED_CYCLES, "unrolled.cycles"}};
    char text[32];
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_string_equal(ft_program_feature_name(known[i].place, text), known[i].name);
}

/* The first of the made-up schedules: 2 blocks of 3 threads with 6 virtual threads each; 1944 trips of a reduction that
 * reads two shared buffers and has 6 x 9 accumulators in a thread. */
static void demand_sums_the_stores(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 1);
    float demand[PROGRAM_DEMANDS];
    program_demand(&s.f, demand);
    double fill = 3.0 / 32;
    assert_true(fabs(exp2(demand[DEMAND_OPS]) - 1 - 1944 / fill) < 1);
    assert_true(fabs(exp2(demand[DEMAND_BLOCKS]) - 1 - 2) < 1e-4);
    assert_true(fabs(exp2(demand[DEMAND_THREADS]) - 1 - 3) < 1e-4);
    assert_true(fabs(exp2(demand[DEMAND_BLOCK_BYTES]) - 1 - 4 * (99 + 6)) < 0.01);
    assert_true(fabs(exp2(demand[DEMAND_LOCAL_BYTES]) - 1 - 4 * 54) < 0.01);
    assert_true(fabs(exp2(demand[DEMAND_ROUNDS]) - 1 - 2) < 1e-4);
    /* Copies to shared memory and the store of the result request sectors, the reduction none; it reuses what its
     * threads have loaded from shared memory. */
    double sectors = 0, shared = 0;
    for (uint32_t i = 0; i < s.f.leaf_count; i++) {
        sectors += amount(&s, i, "global.read.requests") + amount(&s, i, "global.write.requests");
        shared += 32 * amount(&s, i, "shared.write.requests");
    }
    assert_true(sectors > 0 && fabs(exp2(demand[DEMAND_SECTORS]) - 1 - sectors) < 0.01);
    assert_true(exp2(demand[DEMAND_SHARED]) - 1 > shared && exp2(demand[DEMAND_SHARED]) - 1 < 2 * 1944 / fill);
    assert_true(demand[DEMAND_INSTRUCTIONS] > demand[DEMAND_OPS]);
    /* Distinct: 132 elements of the image, 24 of the filters, 324 of the result. */
    double unique = amount(&s, 1, "global.unique") + amount(&s, 2, "global.unique") + amount(&s, 4, "global.unique");
    assert_true(unique >= 132 + 24 + 324 - 0.1 && fabs(exp2(demand[DEMAND_BYTES]) - 1 - 4 * unique) < 0.1);
    close_program(&s);
    program_demand(&(ft_program_features){0}, demand);
    for (int i = 0; i < PROGRAM_DEMANDS; i++) assert_true(demand[i] == 0);
}

static float log_of(double amount) {
    return (float)log2(1 + amount);
}

/* Cycles of shared memory for the loads of a reduction include bank conflicts of each operand. In the fifth schedule
 * three threads read the image from the same bank. */
static void reductions_count_bank_conflicts(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 5);
    float demand[PROGRAM_DEMANDS];
    program_demand(&s.f, demand);
    double trips = amount(&s, 3, "outer_prod"), fill = 3.0 / 32, shared = 0;
    for (uint32_t i = 0; i < s.f.leaf_count; i++) shared += 32 * amount(&s, i, "shared.write.requests");
    shared += trips / fill * fmin(exp2(feature(&s.f, 3, "unrolled.cycles")), exp2(feature(&s.f, 3, "window64.cycles")));
    assert_true(fabs(exp2(demand[DEMAND_SHARED]) - 1 - shared) < 0.01 * shared);
    close_program(&s);
}

/* A copy in 16 rounds, with two divisions for each of 1024 trips. Where its loop is unrolled, a thread divides once for
 * all rounds. */
static void unrolled_copies_divide_once(void **state) {
    (void)state;
    float leaf[FT_PROGRAM_FEATURES] = {0}, gpu[FT_PROGRAM_GPU_FEATURES] = {0}, demand[PROGRAM_DEMANDS];
    const ft_program_features seen = {.leaf_count = 1, .leaves = leaf, .gpu = gpu};
    leaf[LEAF_TRIPS] = gpu[GPU_GLOBAL_READS] = log_of(1024);
    leaf[LEAF_INT_DIV] = log_of(2 * 1024);
    gpu[GPU_WARP_FILL] = 1;
    gpu[GPU_ROUNDS] = log_of(16);
    gpu[GPU_UNROLLED_LEFT] = log_of(16 * 4);
    program_demand(&seen, demand);
    assert_true(fabs(exp2(demand[DEMAND_INSTRUCTIONS]) - 1 - (1024 + 3 * 2 * 1024)) < 0.1);
    gpu[GPU_UNROLLED_LEFT] = log_of(16);
    program_demand(&seen, demand);
    assert_true(fabs(exp2(demand[DEMAND_INSTRUCTIONS]) - 1 - (1024 + 3 * 2 * 1024 / 16 + 3 * 1024)) < 0.1);
}

/* On the reference GPU: 60 units of 2048 threads with 96 KB of shared memory. */
static void blocks_fill_units(void **state) {
    (void)state;
    const float reference[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0};
    float demand[PROGRAM_DEMANDS] = {0}, times[PROGRAM_DEVICE_TIMES], fewer[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(600);
    demand[DEMAND_THREADS] = log_of(256);
    program_device_times(demand, reference, times);
    assert_true(fabs(times[RES_BLOCKS] - 3) < 1e-5 &&
                fabs(times[RES_THREADS] - 1) < 1e-5); /* eight blocks fill the threads of a unit */
    assert_true(fabs(times[RES_LAST_ROUND] - log2(2 / (600.0 / 480))) < 1e-5); /* 480 at once, then the rest */
    assert_true(fabs(times[RES_LAST_SHARE]) < 1e-5 && fabs(times[RES_WARP_FILL] - 1) < 1e-5); /* ten for each unit */
    demand[DEMAND_BLOCK_BYTES] = log_of(40 << 10);
    program_device_times(demand, reference, fewer);
    assert_true(fabs(fewer[RES_BLOCKS] - 1) < 1e-5); /* two of 40 KB */
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 488);
    program_device_times(demand, reference, fewer);
    assert_true(fabs(fewer[RES_BLOCKS]) < 1e-5); /* one, limited by registers */
}

/* Accumulators spill if they exceed the registers, or if remaining loops index them. */
static void accumulators_spill(void **state) {
    (void)state;
    float reference[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0}, demand[PROGRAM_DEMANDS] = {0},
                                           times[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(60);
    demand[DEMAND_THREADS] = log_of(64);
    demand[DEMAND_OPS] = log_of(75e9);
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 239);
    program_device_times(demand, reference, times);
    assert_true(times[RES_SPILLED] == 0 && times[RES_LOOP_SPILLS] == 0);
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 400);
    program_device_times(demand, reference, times);
    assert_true(times[RES_SPILLED] == 1);
    assert_true(fabs(times[RES_TIMES + 7] - (log2(1 + 1e6) - 11) / 3) < 1e-4); /* 75 G spills of 8 bytes, at 600 GB/s */
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 96);
    program_device_times(demand, reference, times);
    assert_true(times[RES_SPILLED] == 0);
    demand[DEMAND_THREADS] = log_of(1024); /* 64 registers for each thread */
    program_device_times(demand, reference, times);
    assert_true(times[RES_SPILLED] == 1);
    demand[DEMAND_THREADS] = log_of(64);
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 48);
    reference[PROGRAM_SHEET_VALUES + 4] = (float)(log2(64.0 / 255) / 2);
    program_device_times(demand, reference, times);
    assert_true(times[RES_SPILLED] == 0);
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 64);
    program_device_times(demand, reference, times);
    assert_true(times[RES_SPILLED] == 1);
    demand[DEMAND_LOOP_SPILLS] = log_of(75e9 / 16);
    program_device_times(demand, reference, times);
    assert_true(fabs(times[RES_LOOP_SPILLS] - log2(1 + 256 / 16) / 4) < 1e-5);
    assert_true(fabs(times[RES_TIMES + 8] - (log2(1 + 1e6 / 16) - 11) / 3) < 1e-4);
}

/* Sectors from memory depend on the number of resident blocks: 60 here, nearly the 64 of a wave. */
static void waves_share_the_cache(void **state) {
    (void)state;
    const float reference[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0};
    float demand[PROGRAM_DEMANDS] = {0}, times[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(6000);
    demand[DEMAND_THREADS] = log_of(1024);
    demand[DEMAND_BLOCK_BYTES] = log_of(96 << 10);
    for (int i = 0; i < 4; i++) demand[DEMAND_WAVES + i] = log_of(ldexp(1, 30 - 2 * i) * 600e9 / 32 / (1 << 30));
    program_device_times(demand, reference, times);
    double us = exp2(11 + 3 * times[RES_TIMES + 6]) - 1;
    assert_true(fabs(us - 1e6 * 16 / 60) < 1); /* a second with 16 blocks, and as much less as there are more */
}

/* Times grow with the demand and on slower devices, and are finite. */
static void larger_parts_take_longer(void **state) {
    (void)state;
    float reference[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0}, demand[PROGRAM_DEMANDS] = {0},
                                           times[PROGRAM_DEVICE_TIMES], more[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(60);
    demand[DEMAND_THREADS] = log_of(64);
    demand[DEMAND_BYTES] = log_of(600e6);
    program_device_times(demand, reference, times);
    assert_true(fabs(times[RES_TIMES + 4] - (log2(1 + 1000) - 11) / 3) < 1e-4); /* 600 MB at 600 GB/s: 1000 us */
    assert_true(times[RES_LONGEST] >= times[RES_TIMES + 4] - 1.0F / 3 - 1e-4F && times[RES_SUM] >= times[RES_LONGEST]);
    reference[1] = -0.5F; /* half of the bandwidth */
    program_device_times(demand, reference, more);
    assert_true(fabs(more[RES_TIMES + 4] - (log2(1 + 2000) - 11) / 3) < 1e-4);
    for (int i = 0; i < PROGRAM_DEMANDS; i++) demand[i] = 120;
    program_device_times(demand, reference, more);
    for (int i = 0; i < PROGRAM_DEVICE_TIMES; i++) assert_true(isfinite(more[i]));
}

/* The ratio to the lower bound does not depend on the size of the task. */
static void ratios_to_the_lower_bound_ignore_the_size(void **state) {
    (void)state;
    float reference[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0}, demand[PROGRAM_DEMANDS] = {0},
                                           times[PROGRAM_DEVICE_TIMES], larger[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(60);
    demand[DEMAND_THREADS] = log_of(64);
    demand[DEMAND_BYTES] = log_of(600e6);
    demand[DEMAND_SECTORS] = log_of(600e6 * 4 * 2.5 / 32); /* each of them four times, from a cache 2.5 times as fast */
    program_device_times(demand, reference, times);
    assert_true(fabs(times[RES_OVER + 4]) < 1e-4 && fabs(times[RES_OVER + 3] - 2) < 1e-4);
    assert_true(fabs(times[RES_OVER_LONGEST] - 4) < 1e-3 && times[RES_OVER_SUM] >= times[RES_OVER_LONGEST]);
    assert_true(times[RES_OVER] == -8); /* there are no operations */
    demand[DEMAND_BYTES] += 3;
    demand[DEMAND_SECTORS] += 3;
    program_device_times(demand, reference, larger);
    assert_true(larger[RES_LONGEST] > times[RES_LONGEST]);
    assert_true(fabs(larger[RES_OVER + 3] - 2) < 1e-4 && fabs(larger[RES_OVER_LONGEST] - 4) < 1e-3);
}

/* --- Demand of single stores --------------------------------------------------------------------------------- */

typedef struct store {
    float leaf[FT_PROGRAM_FEATURES], gpu[FT_PROGRAM_GPU_FEATURES];
    float demand[PROGRAM_DEMANDS];
} store;

static void find_demand(store *s) {
    program_demand(&(ft_program_features){.leaf_count = 1, .leaves = s->leaf, .gpu = s->gpu}, s->demand);
}

static double demand_of(store *s, uint32_t index) {
    find_demand(s);
    return exp2((double)s->demand[index]) - 1;
}

static void expect(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-4 * fabs(expected) + 1e-4)) fail_msg("%g instead of %g", value, expected);
}

/* An addition fuses with a multiplication; functions and divisions take several slots. */
static void operations_are_weighted(void **state) {
    (void)state;
    store s = {.gpu = {[GPU_WARP_FILL] = 1}};
    s.leaf[LEAF_FLOAT_ADD] = log_of(10);
    s.leaf[LEAF_FLOAT_MUL] = log_of(20);
    expect(demand_of(&s, DEMAND_OPS), 20);
    s.leaf[LEAF_FLOAT_ADD] = log_of(30);
    expect(demand_of(&s, DEMAND_OPS), 30);
    s.leaf[LEAF_FLOAT_CMP] = log_of(3);
    s.leaf[LEAF_FLOAT_MATH] = log_of(5);
    s.leaf[LEAF_FLOAT_DIV] = log_of(2);
    expect(demand_of(&s, DEMAND_OPS), 30 + 3 + 4 * 5 + 8 * 2);
    expect(demand_of(&s, DEMAND_INSTRUCTIONS), 30 + 3 + 4 * 5 + 8 * 2);
    s.gpu[GPU_WARP_FILL] = 0.5F; /* half of the lanes idle */
    expect(demand_of(&s, DEMAND_OPS), 2 * 69);
    s.gpu[GPU_WARP_FILL] = 0;
    expect(demand_of(&s, DEMAND_OPS), 32 * 69);
}

static void copies_count_indices_and_vectors(void **state) {
    (void)state;
    store s = {.gpu = {[GPU_WARP_FILL] = 1}};
    s.leaf[LEAF_INT_ADD] = log_of(7);
    s.leaf[LEAF_INT_MUL] = log_of(11);
    s.leaf[LEAF_INT_DIV] = log_of(2);
    s.leaf[LEAF_INT_CMP] = log_of(3);
    s.leaf[LEAF_LOGIC] = log_of(5);
    s.leaf[LEAF_SELECT] = log_of(13);
    const double indices = 7 + 11 + 3 * 2 + 3 + 5 + 13;
    expect(demand_of(&s, DEMAND_INSTRUCTIONS), indices);
    s.gpu[GPU_GLOBAL_WRITES] = log_of(9);
    s.gpu[GPU_SHARED_WRITES] = log_of(4);
    expect(demand_of(&s, DEMAND_INSTRUCTIONS), indices + 9 + 4);
    s.gpu[GPU_GLOBAL_WRITES] = s.gpu[GPU_SHARED_WRITES] = 0;
    /* 400 trips, of which a guard lets a quarter read. */
    s.leaf[LEAF_TRIPS] = log_of(400);
    s.gpu[GPU_GLOBAL_READS] = log_of(60);
    s.gpu[GPU_SHARED_READS] = log_of(40);
    expect(demand_of(&s, DEMAND_INSTRUCTIONS), 100 + indices / 4);
    s.leaf[LEAF_VECTOR] = log_of(2);
    expect(demand_of(&s, DEMAND_INSTRUCTIONS), (100 + indices / 4) / 2);
    s.leaf[LEAF_VECTOR] = log_of(16); /* as wide as four elements at most */
    expect(demand_of(&s, DEMAND_INSTRUCTIONS), (100 + indices / 4) / 4);
    s.gpu[GPU_THREAD_TRIPS] = log_of(10);
    expect(demand_of(&s, DEMAND_THREAD), 10 * 8 / 4.0);
    s.leaf[LEAF_TRIPS] = log_of(50); /* each trip reads twice: all of them are active */
    expect(demand_of(&s, DEMAND_INSTRUCTIONS), (100 + indices) / 4);
}

static void copies_count_memory(void **state) {
    (void)state;
    store s = {.gpu = {[GPU_WARP_FILL] = 1}};
    s.gpu[GPU_SHARED_READ_REQUESTS] = log_of(3);
    s.gpu[GPU_SHARED_WRITE_REQUESTS] = log_of(2);
    s.gpu[GPU_GLOBAL_READ_REQUESTS] = log_of(6);
    s.gpu[GPU_GLOBAL_WRITE_REQUESTS] = log_of(5);
    s.gpu[GPU_GLOBAL_UNIQUE] = log_of(50);
    expect(demand_of(&s, DEMAND_SHARED), 32 * (3 + 2));
    expect(demand_of(&s, DEMAND_SECTORS), 6 + 5);
    expect(demand_of(&s, DEMAND_BYTES), 0); /* neither reads nor writes global memory */
    s.gpu[GPU_GLOBAL_READS] = log_of(1);
    expect(demand_of(&s, DEMAND_BYTES), 4 * 50);
    s.gpu[GPU_GLOBAL_READS] = 0;
    s.gpu[GPU_GLOBAL_WRITES] = log_of(1);
    expect(demand_of(&s, DEMAND_BYTES), 4 * 50);
    s.leaf[LEAF_TRIPS] = log_of(1000);
    s.gpu[GPU_UNROLLED_SPILLS] = log_of(8);
    s.gpu[GPU_WARP_FILL] = 0.5F;
    expect(demand_of(&s, DEMAND_LOOP_SPILLS), 1000 * 8 / 256.0 / 0.5);
    for (int i = 0; i < 4; i++) s.gpu[GPU_WAVE_SECTORS + i] = log_of(100 * (i + 1));
    for (int i = 0; i < 4; i++) expect(demand_of(&s, DEMAND_WAVES + (uint32_t)i), 100 * (i + 1));
}

/* Loads of a trip are read off at as many trips as the thread has accumulators, between 1, 4, 16, ... of them. */
static void reductions_reuse_loads_by_accumulators(void **state) {
    (void)state;
    static const struct {
        double accumulators, log_loads;
    } cases[] = {{0, 1},     {1, 1},  {2, 0.75},   {4, 0.5},   {8, 0.375},
                 {16, 0.25}, {64, 0}, {256, -0.5}, {1024, -1}, {4096, -1}};
    store s = {.gpu = {[GPU_WARP_FILL] = 0.5F, [GPU_IS_UPDATE] = 1, [GPU_UNROLLED_LOADS] = 3}};
    const float windows[] = {0.5F, 0.25F, 0, -0.5F, -1};
    memcpy(s.gpu + GPU_WINDOW_LOADS, windows, sizeof windows);
    s.leaf[LEAF_TRIPS] = log_of(1000);
    s.gpu[GPU_THREAD_TRIPS] = log_of(10);
    s.gpu[GPU_GLOBAL_READ_REPEATS] = log_of(3);
    s.gpu[GPU_ROUNDS] = log_of(6);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        s.gpu[GPU_LOCAL_BYTES] = log_of(4 * cases[i].accumulators);
        double per_trip = exp2(cases[i].log_loads), loads = 1000 * per_trip / 0.5;
        expect(demand_of(&s, DEMAND_INSTRUCTIONS), loads);
        expect(demand_of(&s, DEMAND_SECTORS), loads / 32 * 3);
        expect(demand_of(&s, DEMAND_THREAD), 10 * (1 + per_trip));
    }
    expect(demand_of(&s, DEMAND_ROUNDS), 6);
    expect(demand_of(&s, DEMAND_SHARED), 0);
    s.gpu[GPU_GLOBAL_READ_REPEATS] = log_of(0.25); /* at least once */
    expect(demand_of(&s, DEMAND_SECTORS), 1000 * 0.5 / 0.5 / 32);
    /* No more than four loads, nor more than unrolled trips need. */
    s.gpu[GPU_LOCAL_BYTES] = log_of(4 * 4);
    s.gpu[GPU_WINDOW_LOADS] = 4;
    expect(demand_of(&s, DEMAND_INSTRUCTIONS), 1000 * 4 / 0.5);
    s.gpu[GPU_UNROLLED_LOADS] = 0.5F;
    expect(demand_of(&s, DEMAND_INSTRUCTIONS), 1000 * exp2(0.5) / 0.5);
}

static void reductions_read_shared_memory(void **state) {
    (void)state;
    store s = {.gpu = {[GPU_WARP_FILL] = 0.5F, [GPU_IS_UPDATE] = 1, [GPU_UNROLLED_CYCLES] = 10}};
    s.leaf[LEAF_TRIPS] = log_of(1000);
    s.gpu[GPU_SHARED_READS] = log_of(2000);
    s.gpu[GPU_SHARED_READ_REQUESTS] = log_of(500); /* 16 cycles of a warp for a trip alone */
    s.gpu[GPU_WINDOW_CYCLES] = 3;
    expect(demand_of(&s, DEMAND_SHARED), 1000 * 16 / 0.5);
    expect(demand_of(&s, DEMAND_SECTORS), 0);
    s.gpu[GPU_LOCAL_BYTES] = log_of(4 * 2);
    expect(demand_of(&s, DEMAND_SHARED), 1000 * exp2(3.5) / 0.5);
    s.gpu[GPU_UNROLLED_CYCLES] = 2;
    expect(demand_of(&s, DEMAND_SHARED), 1000 * 4 / 0.5);
    s.gpu[GPU_LOCAL_BYTES] = 0;
    s.gpu[GPU_SHARED_READ_REQUESTS] = log_of(1); /* at least one cycle */
    s.gpu[GPU_SHARED_READS] = log_of(1);
    expect(demand_of(&s, DEMAND_SHARED), 1000 / 0.5);
}

/* The launch is that of the largest store; a reduction counts as eight times as large. */
static void the_launch_is_that_of_the_largest_store(void **state) {
    (void)state;
    for (int gap = 2; gap <= 4; gap++) {
        for (int order = 0; order < 2; order++) {
            float leaves[2 * FT_PROGRAM_FEATURES] = {0}, gpu[2 * FT_PROGRAM_GPU_FEATURES] = {0};
            float demand[PROGRAM_DEMANDS], *copy = gpu + (order == 0 ? 0 : FT_PROGRAM_GPU_FEATURES);
            float *update = gpu + (order == 0 ? FT_PROGRAM_GPU_FEATURES : 0);
            copy[GPU_BLOCKS] = 5;
            copy[GPU_THREADS] = 4;
            copy[GPU_THREAD_TRIPS] = 1;
            copy[GPU_SHARED_BYTES] = 7;
            copy[GPU_LOCAL_BYTES] = 6;
            update[GPU_BLOCKS] = 3;
            update[GPU_THREADS] = 3;
            update[GPU_THREAD_TRIPS] = (float)(4 - gap);
            update[GPU_SHARED_BYTES] = 2;
            update[GPU_LOCAL_BYTES] = 1;
            update[GPU_IS_UPDATE] = 1;
            program_demand(&(ft_program_features){.leaf_count = 2, .leaves = leaves, .gpu = gpu}, demand);
            /* 10 for the copy; 13 - gap for the reduction: of equals the first. */
            const float *largest = gap < 3 || (gap == 3 && order == 1) ? update : copy;
            assert_true(demand[DEMAND_BLOCKS] == largest[GPU_BLOCKS]);
            assert_true(demand[DEMAND_THREADS] == largest[GPU_THREADS]);
            assert_true(demand[DEMAND_BLOCK_BYTES] == largest[GPU_SHARED_BYTES]);
            assert_true(demand[DEMAND_LOCAL_BYTES] == largest[GPU_LOCAL_BYTES]);
        }
    }
}

/* --- The reference GPU: 60 units at 1.4 GHz, 10 TFLOP/s, 600 GB/s --------------------------------------------- */

typedef struct device_case {
    float sheet[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES], demand[PROGRAM_DEMANDS], times[PROGRAM_DEVICE_TIMES];
} device_case;

static device_case launch_of(double blocks, double threads) {
    device_case c = {.demand = {[DEMAND_BLOCKS] = log_of(blocks), [DEMAND_THREADS] = log_of(threads)}};
    return c;
}

static double number_of(device_case *c, uint32_t index) {
    program_device_times(c->demand, c->sheet, c->times);
    return (double)c->times[index];
}

/* Microseconds of a part. */
static double us_of(device_case *c, uint32_t part) {
    return exp2(11 + 3 * number_of(c, RES_TIMES + part)) - 1;
}

static void parts_take_their_time_on_the_reference_gpu(void **state) {
    (void)state;
    device_case c = launch_of(60, 64);
    static const uint32_t demands[] = {DEMAND_OPS, DEMAND_INSTRUCTIONS, DEMAND_SHARED, DEMAND_SECTORS, DEMAND_BYTES};
    /* 5 T operations a second, twice as many instructions, 32 lanes of shared memory in 60 units, sectors of 32 bytes
     * from a cache of 2.5 times the bandwidth. */
    const double us[] = {1e9 / 5e12 * 1e6, 1e9 / 10e12 * 1e6, 1e9 / (32 * 60 * 1.4e9) * 1e6, 32e9 / 1.5e12 * 1e6,
                         1e9 / 600e9 * 1e6};
    for (uint32_t i = 0; i < 5; i++) c.demand[demands[i]] = log_of(1e9);
    for (uint32_t i = 0; i < 5; i++) expect(us_of(&c, i), us[i]);
    c.demand[DEMAND_ROUNDS] = log_of(2);
    c.demand[DEMAND_THREAD] = log_of(1000);
    expect(us_of(&c, 5), ((1 + 2) * 700 + 1000 * 5) / 1.4e3);
    double sum = 0, longest = 0;
    for (uint32_t i = 0; i < RES_PARTS; i++) {
        sum += us_of(&c, i);
        longest = fmax(longest, us_of(&c, i));
    }
    expect(number_of(&c, RES_LONGEST), (log2(1 + longest) - 12) / 3);
    expect(number_of(&c, RES_SUM), (log2(1 + sum) - 12) / 3);
    expect(number_of(&c, RES_OVER_SUM), fmin(2 * 8, 2 * log2(sum / (1e9 / 600e9 * 1e6))));
    c.demand[DEMAND_BLOCKS] = log_of(90); /* one and a half for each unit: a quarter of the time is idle */
    expect(us_of(&c, 0), us[0] / 0.75);
    expect(us_of(&c, 4), us[4]);
    c.demand[DEMAND_BLOCKS] = log_of(60 * 32 + 60); /* 32 are resident: another round */
    expect(us_of(&c, 5), 2 * ((1 + 2) * 700 + 1000 * 5) / 1.4e3);
}

/* With nothing to do, the bound is 0.1 us; latency is 700 clocks, 0.5 us; absent parts are far below. */
static void ratios_are_clamped(void **state) {
    (void)state;
    device_case c = launch_of(60, 64);
    expect(number_of(&c, RES_OVER + 5), log2(0.5 / 0.1));
    expect(number_of(&c, RES_OVER), -8);
    expect(number_of(&c, RES_OVER_LONGEST), 2 * log2(0.5 / 0.1));
    c.demand[DEMAND_SECTORS] = log_of(1e12);
    expect(number_of(&c, RES_OVER + 3), 8);
    expect(number_of(&c, RES_OVER_LONGEST), 16);
}

static void residency_is_limited_by_each_resource(void **state) {
    (void)state;
    device_case c = launch_of(60, 32); /* 64 by threads, but 32 blocks at most */
    expect(number_of(&c, RES_BLOCKS), 5);
    c = launch_of(60, 512); /* 2048 / 512 */
    expect(number_of(&c, RES_BLOCKS), 2);
    c = launch_of(60, 64);
    c.demand[DEMAND_LOCAL_BYTES] = log_of(4 * 40); /* 24 + 40 registers: 65536 / (64 * 64) */
    expect(number_of(&c, RES_BLOCKS), 4);
    c.demand[DEMAND_LOCAL_BYTES] = log_of(4 * 1000); /* 255 at most */
    expect(number_of(&c, RES_BLOCKS), 2);
    c = launch_of(60, 64);
    c.demand[DEMAND_BLOCK_BYTES] = log_of(200 << 10); /* more than a unit has */
    expect(number_of(&c, RES_BLOCKS), -1);
    c.demand[DEMAND_BLOCK_BYTES] = log_of(24 << 10);
    expect(number_of(&c, RES_BLOCKS), 2);
    expect(number_of(&c, RES_SHARED), 0.25);
}

static void blocks_are_distributed_over_units(void **state) {
    (void)state;
    device_case c = launch_of(60, 64); /* a block for each unit, where 32 fit */
    expect(number_of(&c, RES_THREADS), 64.0 / 2048);
    expect(number_of(&c, RES_WARPS), log2(2) / 2);
    expect(number_of(&c, RES_ROUNDS), log2(1.0 / 32) / 3);
    expect(number_of(&c, RES_LAST_ROUND), 4); /* log2 of 32 is 5: limited */
    expect(number_of(&c, RES_SHARE), 0);
    expect(number_of(&c, RES_WARP_FILL), 1);
    c = launch_of(480, 48); /* eight blocks of one and a half warps, which fill two */
    expect(number_of(&c, RES_SHARE), 1);
    expect(number_of(&c, RES_THREADS), 8 * 64.0 / 2048);
    expect(number_of(&c, RES_WARP_FILL), 0.75);
    c = launch_of(90, 64);
    expect(number_of(&c, RES_LAST_SHARE), log2(2 / 1.5));
    c = launch_of(60 * 40, 64); /* more than are resident */
    expect(number_of(&c, RES_THREADS), 1);
    expect(number_of(&c, RES_LAST_ROUND), log2(2 / 1.25));
}

/* From all registers of a thread on, over a quarter of a factor of two. */
static void spilling_is_gradual(void **state) {
    (void)state;
    device_case c = launch_of(60, 64);
    c.demand[DEMAND_LOCAL_BYTES] = log_of(4 * 262); /* 16 more: 278 of 255 */
    expect(number_of(&c, RES_SPILLED), log2(278.0 / 255) / 0.25);
    c.demand[DEMAND_OPS] = log_of(75e9);
    expect(us_of(&c, 7), 1e6 * log2(278.0 / 255) / 0.25);
}

/* Units times resident blocks share the cache: below 16 and above 1024 the nearest size counts. */
static void waves_are_interpolated_within_their_range(void **state) {
    (void)state;
    device_case c = launch_of(6000, 64);
    for (int i = 0; i < 4; i++) c.demand[DEMAND_WAVES + i] = log_of(600e9 / 32 * (4 - i) * 1e-3);
    expect(us_of(&c, 6), 1000); /* 60 * 32 blocks */
    c.sheet[3] = (float)(log2(8.0 / 60) / 2);
    c.demand[DEMAND_THREADS] = log_of(1024);
    c.demand[DEMAND_BLOCK_BYTES] = log_of(96 << 10);
    expect(us_of(&c, 6), 4000); /* 8 units with a block each */
    c.sheet[3] = (float)(log2(32.0 / 60) / 2);
    expect(us_of(&c, 6), 1000 * sqrt(4.0 * 3.0)); /* 32 is halfway between 16 and 64 */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(indices_match_feature_names),
                                       cmocka_unit_test(demand_sums_the_stores),
                                       cmocka_unit_test(reductions_count_bank_conflicts),
                                       cmocka_unit_test(unrolled_copies_divide_once),
                                       cmocka_unit_test(blocks_fill_units),
                                       cmocka_unit_test(accumulators_spill),
                                       cmocka_unit_test(waves_share_the_cache),
                                       cmocka_unit_test(larger_parts_take_longer),
                                       cmocka_unit_test(ratios_to_the_lower_bound_ignore_the_size),
                                       cmocka_unit_test(operations_are_weighted),
                                       cmocka_unit_test(copies_count_indices_and_vectors),
                                       cmocka_unit_test(copies_count_memory),
                                       cmocka_unit_test(reductions_reuse_loads_by_accumulators),
                                       cmocka_unit_test(reductions_read_shared_memory),
                                       cmocka_unit_test(the_launch_is_that_of_the_largest_store),
                                       cmocka_unit_test(parts_take_their_time_on_the_reference_gpu),
                                       cmocka_unit_test(ratios_are_clamped),
                                       cmocka_unit_test(residency_is_limited_by_each_resource),
                                       cmocka_unit_test(blocks_are_distributed_over_units),
                                       cmocka_unit_test(spilling_is_gradual),
                                       cmocka_unit_test(waves_are_interpolated_within_their_range)};
    return cmocka_run_group_tests_name("predictor/program_demand", tests, NULL, NULL);
}
