/* Tests of what a program asks of a GPU: sums over stores, and how its blocks fill the units of a device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "predictor/program_demand.h"
#include "support/program_seen.h"

static double amount(const seen *s, uint32_t leaf, const char *name) {
    return exp2(feature(&s->f, leaf, name)) - 1;
}

/* The first of the made-up schedules: 2 blocks of 3 threads, each 6 virtual ones; 1944 turns of a reduction that reads
 * two shared buffers and has 6 x 9 sums in a thread. */
static void test_sums(void **state) {
    (void)state;
    const seen s = see_record("tests/program/schedules.jsonl", 1);
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
    assert_true(demand[DEMAND_COMMANDS] > demand[DEMAND_OPS]);
    /* Touched: 132 elements of the image, 24 of the filters, 324 of the result. */
    double unique = amount(&s, 1, "global.unique") + amount(&s, 2, "global.unique") + amount(&s, 4, "global.unique");
    assert_true(unique >= 132 + 24 + 324 - 0.1 && fabs(exp2(demand[DEMAND_BYTES]) - 1 - 4 * unique) < 0.1);
    forget(&s);
    program_demand(&(ft_program_features){0}, demand);
    for (int i = 0; i < PROGRAM_DEMANDS; i++) assert_true(demand[i] == 0);
}

static float log_of(double amount) {
    return (float)log2(1 + amount);
}

/* On the usual GPU: 60 units of 2048 threads with 96 KB of shared memory. */
static void test_blocks_on_units(void **state) {
    (void)state;
    const float usual[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0};
    float demand[PROGRAM_DEMANDS] = {0}, met[PROGRAM_MET], fewer[PROGRAM_MET];
    demand[DEMAND_BLOCKS] = log_of(600);
    demand[DEMAND_THREADS] = log_of(256);
    program_meet(demand, usual, met);
    assert_true(fabs(met[0] - 3) < 1e-5 && fabs(met[1] - 1) < 1e-5); /* eight blocks fill a unit with threads */
    assert_true(fabs(met[3] - log2(2 / (600.0 / 480))) < 1e-5);      /* 480 at once, and the rest */
    assert_true(fabs(met[5]) < 1e-5 && fabs(met[7] - 1) < 1e-5);     /* ten for each unit */
    demand[DEMAND_BLOCK_BYTES] = log_of(40 << 10);
    program_meet(demand, usual, fewer);
    assert_true(fabs(fewer[0] - 1) < 1e-5); /* two of 40 KB */
    demand[DEMAND_LOCAL_BYTES] = log_of(4 * 488);
    program_meet(demand, usual, fewer);
    assert_true(fabs(fewer[0]) < 1e-5); /* one, whose threads have no register left, */
    assert_true(fabs(fewer[8] - log2(512.0 / 255)) < 1e-4);
}

/* A part that is larger takes longer, on a slower device too, and nothing is ever infinite. */
static void test_times(void **state) {
    (void)state;
    float usual[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES] = {0}, demand[PROGRAM_DEMANDS] = {0}, met[PROGRAM_MET],
                                       more[PROGRAM_MET];
    demand[DEMAND_BLOCKS] = log_of(60);
    demand[DEMAND_THREADS] = log_of(64);
    demand[DEMAND_BYTES] = log_of(600e6);
    program_meet(demand, usual, met);
    assert_true(fabs(met[14] - (log2(1 + 1000) - 11) / 3) < 1e-4); /* 600 MB at 600 GB/s: 1000 us */
    assert_true(met[16] >= met[14] - 1.0F / 3 - 1e-4F && met[17] >= met[16]);
    usual[1] = -0.5F; /* half of the bandwidth */
    program_meet(demand, usual, more);
    assert_true(fabs(more[14] - (log2(1 + 2000) - 11) / 3) < 1e-4);
    for (int i = 0; i < PROGRAM_DEMANDS; i++) demand[i] = 120;
    program_meet(demand, usual, more);
    for (int i = 0; i < PROGRAM_MET; i++) assert_true(isfinite(more[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_blocks_on_units),
                                       cmocka_unit_test(test_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
