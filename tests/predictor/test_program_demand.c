/* Tests of what a program asks of a GPU: sums over stores, and how its blocks fill the units of a device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predictor/program/program_demand.h"
#include "predictor/program/program_features.h"
#include "support/program_features.h"

static double amount(const lowered *s, uint32_t leaf, const char *name) {
    return exp2(feature(&s->f, leaf, name)) - 1;
}

/* Places are those of the numbers that they are named after. */
static void test_places(void **state) {
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

/* The first of the made-up schedules: 2 blocks of 3 threads, each 6 virtual ones; 1944 turns of a reduction that reads
 * two shared buffers and has 6 x 9 sums in a thread. */
static void test_sums(void **state) {
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
    /* What fills shared memory and what writes the result ask for sectors as their features say, the reduction for
     * none; of shared memory they ask beside the reduction, whose thread keeps what it has loaded. */
    double sectors = 0, shared = 0;
    for (uint32_t i = 0; i < s.f.leaf_count; i++) {
        sectors += amount(&s, i, "global.read.requests") + amount(&s, i, "global.write.requests");
        shared += 32 * amount(&s, i, "shared.write.requests");
    }
    assert_true(sectors > 0 && fabs(exp2(demand[DEMAND_SECTORS]) - 1 - sectors) < 0.01);
    assert_true(exp2(demand[DEMAND_SHARED]) - 1 > shared && exp2(demand[DEMAND_SHARED]) - 1 < 2 * 1944 / fill);
    assert_true(demand[DEMAND_INSTRUCTIONS] > demand[DEMAND_OPS]);
    /* Touched: 132 elements of the image, 24 of the filters, 324 of the result. */
    double unique = amount(&s, 1, "global.unique") + amount(&s, 2, "global.unique") + amount(&s, 4, "global.unique");
    assert_true(unique >= 132 + 24 + 324 - 0.1 && fabs(exp2(demand[DEMAND_BYTES]) - 1 - 4 * unique) < 0.1);
    close_program(&s);
    program_demand(&(ft_program_features){0}, demand);
    for (int i = 0; i < PROGRAM_DEMANDS; i++) assert_true(demand[i] == 0);
}

static float log_of(double amount) {
    return (float)log2(1 + amount);
}

/* What the loads of a reduction take of shared memory: each operand as often as its banks are busy, none for the other.
 * The fifth of the schedules reads images that three threads ask the same bank for, and filters. */
static void test_shared(void **state) {
    (void)state;
    const lowered s = lower_record("tests/program/schedules.jsonl", 5);
    float demand[PROGRAM_DEMANDS];
    program_demand(&s.f, demand);
    double turns = amount(&s, 3, "outer_prod"), fill = 3.0 / 32, shared = 0;
    for (uint32_t i = 0; i < s.f.leaf_count; i++) shared += 32 * amount(&s, i, "shared.write.requests");
    shared += turns / fill * fmin(exp2(feature(&s.f, 3, "unrolled.cycles")), exp2(feature(&s.f, 3, "window64.cycles")));
    assert_true(fabs(exp2(demand[DEMAND_SHARED]) - 1 - shared) < 0.01 * shared);
    close_program(&s);
}

/* A store that fills memory in 16 rounds, with two divisions for each of 1024 turns. Where its loop is written out, a
 * thread divides once for all rounds. */
static void test_copies(void **state) {
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

/* On the usual GPU: 60 units of 2048 threads with 96 KB of shared memory. */
static void test_blocks_on_units(void **state) {
    (void)state;
    const float usual[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0};
    float demand[PROGRAM_DEMANDS] = {0}, times[PROGRAM_DEVICE_TIMES], fewer[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(600);
    demand[DEMAND_THREADS] = log_of(256);
    program_device_times(demand, usual, times);
    assert_true(fabs(times[RES_BLOCKS] - 3) < 1e-5 &&
                fabs(times[RES_THREADS] - 1) < 1e-5); /* eight blocks fill a unit with threads */
    assert_true(fabs(times[RES_LAST_ROUND] - log2(2 / (600.0 / 480))) < 1e-5); /* 480 at once, and the rest */
    assert_true(fabs(times[RES_LAST_SHARE]) < 1e-5 && fabs(times[RES_WARP_FILL] - 1) < 1e-5); /* ten for each unit */
    demand[DEMAND_BLOCK_BYTES] = log_of(40 << 10);
    program_device_times(demand, usual, fewer);
    assert_true(fabs(fewer[RES_BLOCKS] - 1) < 1e-5); /* two of 40 KB */
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 488);
    program_device_times(demand, usual, fewer);
    assert_true(fabs(fewer[RES_BLOCKS]) < 1e-5); /* one, whose threads have no register left */
}

/* Sums stay in registers as long as there are some for everything else, and as long as loops can be written out. */
static void test_sums_in_memory(void **state) {
    (void)state;
    float usual[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0}, demand[PROGRAM_DEMANDS] = {0},
                                       times[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(60);
    demand[DEMAND_THREADS] = log_of(64);
    demand[DEMAND_OPS] = log_of(75e9);
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 239);
    program_device_times(demand, usual, times);
    assert_true(times[RES_SPILLED] == 0 && times[RES_LOOP_SPILLS] == 0);
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 400);
    program_device_times(demand, usual, times);
    assert_true(times[RES_SPILLED] == 1);
    assert_true(fabs(times[RES_TIMES + 7] - (log2(1 + 1e6) - 11) / 3) < 1e-4); /* 75 G sums of 8 bytes, at 600 GB/s */
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 96);
    program_device_times(demand, usual, times);
    assert_true(times[RES_SPILLED] == 0);
    demand[DEMAND_THREADS] = log_of(1024); /* which leaves each of them 64 registers */
    program_device_times(demand, usual, times);
    assert_true(times[RES_SPILLED] == 1);
    demand[DEMAND_THREADS] = log_of(64);
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 48);
    usual[PROGRAM_SHEET_VALUES + 4] = (float)(log2(64.0 / 255) / 2);
    program_device_times(demand, usual, times);
    assert_true(times[RES_SPILLED] == 0);
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 64);
    program_device_times(demand, usual, times);
    assert_true(times[RES_SPILLED] == 1);
    demand[DEMAND_LOOP_SPILLS] = log_of(75e9 / 16);
    program_device_times(demand, usual, times);
    assert_true(fabs(times[RES_LOOP_SPILLS] - log2(1 + 256 / 16) / 4) < 1e-5);
    assert_true(fabs(times[RES_TIMES + 8] - (log2(1 + 1e6 / 16) - 11) / 3) < 1e-4);
}

/* What comes from memory depends on how many blocks a device has under way: 60 here, so nearly the 64 of a wave. */
static void test_waves(void **state) {
    (void)state;
    const float usual[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0};
    float demand[PROGRAM_DEMANDS] = {0}, times[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(6000);
    demand[DEMAND_THREADS] = log_of(1024);
    demand[DEMAND_BLOCK_BYTES] = log_of(96 << 10);
    for (int i = 0; i < 4; i++) demand[DEMAND_WAVES + i] = log_of(ldexp(1, 30 - 2 * i) * 600e9 / 32 / (1 << 30));
    program_device_times(demand, usual, times);
    double us = exp2(11 + 3 * times[RES_TIMES + 6]) - 1;
    assert_true(fabs(us - 1e6 * 16 / 60) < 1); /* a second with 16 blocks, and as much less as there are more */
}

/* A part that is larger takes longer, on a slower device too, and nothing is ever infinite. */
static void test_times(void **state) {
    (void)state;
    float usual[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0}, demand[PROGRAM_DEMANDS] = {0},
                                       times[PROGRAM_DEVICE_TIMES], more[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(60);
    demand[DEMAND_THREADS] = log_of(64);
    demand[DEMAND_BYTES] = log_of(600e6);
    program_device_times(demand, usual, times);
    assert_true(fabs(times[RES_TIMES + 4] - (log2(1 + 1000) - 11) / 3) < 1e-4); /* 600 MB at 600 GB/s: 1000 us */
    assert_true(times[RES_LONGEST] >= times[RES_TIMES + 4] - 1.0F / 3 - 1e-4F && times[RES_SUM] >= times[RES_LONGEST]);
    usual[1] = -0.5F; /* half of the bandwidth */
    program_device_times(demand, usual, more);
    assert_true(fabs(more[RES_TIMES + 4] - (log2(1 + 2000) - 11) / 3) < 1e-4);
    for (int i = 0; i < PROGRAM_DEMANDS; i++) demand[i] = 120;
    program_device_times(demand, usual, more);
    for (int i = 0; i < PROGRAM_DEVICE_TIMES; i++) assert_true(isfinite(more[i]));
}

/* How far a program is from the least that its task allows does not depend on how large the task is. */
static void test_over_the_least(void **state) {
    (void)state;
    float usual[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0}, demand[PROGRAM_DEMANDS] = {0},
                                       times[PROGRAM_DEVICE_TIMES], larger[PROGRAM_DEVICE_TIMES];
    demand[DEMAND_BLOCKS] = log_of(60);
    demand[DEMAND_THREADS] = log_of(64);
    demand[DEMAND_BYTES] = log_of(600e6);
    demand[DEMAND_SECTORS] = log_of(600e6 * 4 * 2.5 / 32); /* each of them four times, from a cache 2.5 times as fast */
    program_device_times(demand, usual, times);
    assert_true(fabs(times[RES_OVER + 4]) < 1e-4 && fabs(times[RES_OVER + 3] - 2) < 1e-4);
    assert_true(fabs(times[RES_OVER_LONGEST] - 4) < 1e-3 && times[RES_OVER_SUM] >= times[RES_OVER_LONGEST]);
    assert_true(times[RES_OVER] == -8); /* there are no operations */
    demand[DEMAND_BYTES] += 3;
    demand[DEMAND_SECTORS] += 3;
    program_device_times(demand, usual, larger);
    assert_true(larger[RES_LONGEST] > times[RES_LONGEST]);
    assert_true(fabs(larger[RES_OVER + 3] - 2) < 1e-4 && fabs(larger[RES_OVER_LONGEST] - 4) < 1e-3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places),          cmocka_unit_test(test_sums),
                                       cmocka_unit_test(test_shared),          cmocka_unit_test(test_copies),
                                       cmocka_unit_test(test_blocks_on_units), cmocka_unit_test(test_times),
                                       cmocka_unit_test(test_sums_in_memory),  cmocka_unit_test(test_waves),
                                       cmocka_unit_test(test_over_the_least)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
