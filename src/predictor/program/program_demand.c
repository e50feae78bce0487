/* program_demand.c - sums the demand of a program over its stores, and computes the time of a device for each part. */
#include "predictor/program/program_demand.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "predictor/program/program_features.h"
#include "program/feature_gpu.h"

/* --- Demand --------------------------------------------------------------------------------------- */

enum { WAVE_SIZES = PROGRAM_DEMANDS - DEMAND_WAVES };

static double amount(float logarithm) {
    return fmax(0, exp2((double)logarithm) - 1);
}

/* Interpolates a feature per trip of a reduction at a window of as many trips as the thread has accumulators: compilers
 * always unroll the loops over these. `windows`: log2 for windows of 4, 16, ... trips; `alone`: for a single trip. */
static double per_trip_of_accumulators(const float *gpu, const float *windows, double alone) {
    enum { SIZES = 5 };
    double accumulators = log2(fmax(1, amount(gpu[GPU_LOCAL_BYTES]) / ELEMENT_BYTES)), before = alone, size = 0;
    for (int i = 0; i < SIZES; i++) {
        if (accumulators <= size + 2) return exp2(before + (windows[i] - before) * (accumulators - size) / 2);
        before = windows[i];
        size += 2;
    }
    return exp2(before);
}

/* A single trip loads two operands. */
static double loads_per_trip(const float *gpu) {
    static const double MAX_LOADS = 4;
    return fmin(fmin(MAX_LOADS, exp2((double)gpu[GPU_UNROLLED_LOADS])),
                per_trip_of_accumulators(gpu, gpu + GPU_WINDOW_LOADS, 1));
}

/* Cycles of shared memory per trip, for the loads of a warp. */
static double cycles_per_trip(const float *f, const float *gpu) {
    double alone = amount(gpu[GPU_SHARED_READ_REQUESTS]) * WARP / fmax(1, amount(f[LEAF_TRIPS]));
    return fmin(exp2((double)gpu[GPU_UNROLLED_CYCLES]),
                per_trip_of_accumulators(gpu, gpu + GPU_WINDOW_CYCLES, log2(fmax(1, alone))));
}

/* A whole number of blocks, threads or bytes: logarithms are inexact. */
static double whole(float logarithm) {
    return round(amount(logarithm));
}

typedef struct demand_sums {
    double ops, instructions, shared, sectors, bytes, rounds, thread;
    double loop_spills;
    double waves[WAVE_SIZES];
} demand_sums;

/* Float operations of a lane, weighted by their typical throughput. */
static double count_ops(const float *f) {
    return fmax(amount(f[LEAF_FLOAT_ADD]), amount(f[LEAF_FLOAT_MUL])) + amount(f[LEAF_FLOAT_CMP]) +
           4 * amount(f[LEAF_FLOAT_MATH]) + 8 * amount(f[LEAF_FLOAT_DIV]);
}

static double count_index_ops(const float *f) {
    return amount(f[LEAF_INT_ADD]) + amount(f[LEAF_INT_MUL]) + 3 * amount(f[LEAF_INT_DIV]) + amount(f[LEAF_INT_CMP]) +
           amount(f[LEAF_LOGIC]) + amount(f[LEAF_SELECT]);
}

static void add_reduction(const float *f, const float *gpu, double fill, demand_sums *s) {
    double per_trip = loads_per_trip(gpu), loads = amount(f[LEAF_TRIPS]) * per_trip / fill;
    if (amount(gpu[GPU_SHARED_READS]) > 0)
        s->shared += amount(f[LEAF_TRIPS]) * cycles_per_trip(f, gpu) / fill;
    else
        s->sectors += loads / WARP * fmax(1, amount(gpu[GPU_GLOBAL_READ_REPEATS]));
    s->instructions += loads;
    s->rounds = fmax(s->rounds, amount(gpu[GPU_ROUNDS]));
    s->thread += amount(gpu[GPU_THREAD_TRIPS]) * (1 + per_trip);
}

/* In an unrolled loop a thread computes the common part of the index once, then increments addresses. The loop is
 * unrolled if the remaining trips are as many as rounds, up to rounding of logarithms. */
static double count_copy_index_ops(const float *f, const float *gpu) {
    static const double STEPS_PER_TRIP = 3;
    double all = count_index_ops(f), rounds = fmax(1, amount(gpu[GPU_ROUNDS]));
    bool is_unrolled = amount(gpu[GPU_UNROLLED_LEFT]) < 1.5 * rounds;
    return is_unrolled ? fmin(all, all / rounds + STEPS_PER_TRIP * amount(f[LEAF_TRIPS])) : all;
}

/* A vector is one instruction, with one index; trips that a guard skips need none. */
static void add_copy(const float *f, const float *gpu, double fill, demand_sums *s) {
    static const double INSTRUCTIONS_PER_TRIP = 8, MAX_WIDTH = 4;
    double width = fmin(MAX_WIDTH, fmax(1, amount(f[LEAF_VECTOR])));
    double reads = amount(gpu[GPU_GLOBAL_READS]) + amount(gpu[GPU_SHARED_READS]),
           active = reads > 0 ? fmin(1, reads / fmax(1, amount(f[LEAF_TRIPS]))) : 1;
    s->shared += amount(gpu[GPU_SHARED_READ_REQUESTS]) * WARP;
    s->sectors += amount(gpu[GPU_GLOBAL_READ_REQUESTS]);
    s->instructions += (reads + active * count_copy_index_ops(f, gpu)) / (fill * width);
    s->thread += amount(gpu[GPU_THREAD_TRIPS]) * INSTRUCTIONS_PER_TRIP / width;
}

static void add_store(const float *f, const float *gpu, demand_sums *s) {
    double fill = fmax(1.0 / WARP, gpu[GPU_WARP_FILL]), ops = count_ops(f) / fill;
    if (gpu[GPU_IS_UPDATE] > 0)
        add_reduction(f, gpu, fill, s);
    else
        add_copy(f, gpu, fill, s);
    s->ops += ops;
    s->shared += amount(gpu[GPU_SHARED_WRITE_REQUESTS]) * WARP;
    s->sectors += amount(gpu[GPU_GLOBAL_WRITE_REQUESTS]);
    s->instructions += ops + amount(gpu[GPU_GLOBAL_WRITES]) + amount(gpu[GPU_SHARED_WRITES]);
    if (gpu[GPU_GLOBAL_READS] > 0 || gpu[GPU_GLOBAL_WRITES] > 0)
        s->bytes += amount(gpu[GPU_GLOBAL_UNIQUE]) * ELEMENT_BYTES;
    s->loop_spills += amount(f[LEAF_TRIPS]) * amount(gpu[GPU_UNROLLED_SPILLS]) / UNROLL_SPILL_TRIPS / fill;
    for (int i = 0; i < WAVE_SIZES; i++) s->waves[i] += amount(gpu[GPU_WAVE_SECTORS + i]);
}

/* The store with the most trips; reductions are preferred to the copies that feed them. */
static const float *find_largest(const ft_program_features *f) {
    const float *largest = f->gpu;
    double max_trips = -1;
    for (size_t i = 0; i < f->leaf_count; i++) {
        const float *gpu = f->gpu + i * FT_PROGRAM_GPU_FEATURES;
        double trips = gpu[GPU_BLOCKS] + gpu[GPU_THREADS] + gpu[GPU_THREAD_TRIPS] + (gpu[GPU_IS_UPDATE] > 0 ? 3 : 0);
        if (trips > max_trips) {
            max_trips = trips;
            largest = gpu;
        }
    }
    return largest;
}

void program_demand(const ft_program_features *f, float demand[static PROGRAM_DEMANDS]) {
    demand_sums s = {0};
    memset(demand, 0, PROGRAM_DEMANDS * sizeof *demand);
    if (f->leaf_count == 0) return;
    for (size_t i = 0; i < f->leaf_count; i++)
        add_store(f->leaves + i * FT_PROGRAM_FEATURES, f->gpu + i * FT_PROGRAM_GPU_FEATURES, &s);
    const double all[] = {s.ops, s.instructions, s.shared, s.sectors, s.bytes, s.rounds, s.thread};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) demand[i] = (float)log2(1 + all[i]);
    const float *gpu = find_largest(f);
    demand[DEMAND_BLOCKS] = gpu[GPU_BLOCKS];
    demand[DEMAND_THREADS] = gpu[GPU_THREADS];
    demand[DEMAND_BLOCK_BYTES] = gpu[GPU_SHARED_BYTES];
    demand[DEMAND_LOCAL_BYTES] = gpu[GPU_LOCAL_BYTES];
    demand[DEMAND_LOOP_SPILLS] = (float)log2(1 + s.loop_spills);
    for (int i = 0; i < WAVE_SIZES; i++) demand[DEMAND_WAVES + i] = (float)log2(1 + s.waves[i]);
}

/* --- Device times ------------------------------------------------------------------------------- */

/* Distribution of the blocks of a launch over the units of a device. */
typedef struct filling {
    double warps;    /* of a block */
    double resident; /* blocks resident on a unit; 1/2 if not even one fits */
    double rounds;   /* of all units until all blocks are done */
    double share;    /* blocks per unit */
    double active;   /* threads resident on a unit */
    double registers;
} filling;

static filling fill_units(const float *demand, const program_limits *l) {
    static const double OTHER_REGISTERS = 24, MAX_BLOCKS = 32;
    double blocks = fmax(1, whole(demand[DEMAND_BLOCKS])), threads = fmax(1, whole(demand[DEMAND_THREADS])),
           shared = whole(demand[DEMAND_BLOCK_BYTES]);
    filling f = {.warps = ceil(threads / l->warp_threads),
                 .registers = OTHER_REGISTERS + whole(demand[DEMAND_LOCAL_BYTES]) / ELEMENT_BYTES,
                 .share = blocks / l->units};
    double lanes = f.warps * l->warp_threads;
    f.resident = fmin(floor(l->unit_threads / lanes), MAX_BLOCKS);
    f.resident = fmin(f.resident, floor(l->unit_registers / (fmin(f.registers, l->thread_registers) * lanes)));
    if (shared > 0) f.resident = fmin(f.resident, floor(l->unit_shared_bytes / shared));
    f.resident = fmax(f.resident, 0.5);
    assert(f.resident > 0);
    f.rounds = blocks / (l->units * f.resident);
    f.active = fmin(f.resident, ceil(f.share)) * lanes;
    return f;
}

/* log2 of the slowdown by the incomplete last round, limited for few blocks on a large device. */
static float last_round(double rounds) {
    return (float)fmin(4, log2(ceil(rounds) / rounds));
}

static double ramp(double value, double from, double to) {
    return fmin(1, fmax(0, (value - from) / (to - from)));
}

/* Whether accumulators exceed the registers of a thread and spill to memory, from 0 to 1. The threads of a block share
 * its registers, and compilers know their number. */
static double spill(const float *demand, const program_limits *l, const filling *f) {
    static const double MIN_REGISTERS = 16; /* of a thread besides accumulators, at least */
    static const double BLOCK_REGISTERS = 65536;
    double registers = MIN_REGISTERS + whole(demand[DEMAND_LOCAL_BYTES]) / ELEMENT_BYTES,
           available = fmin(l->thread_registers, BLOCK_REGISTERS / (f->warps * l->warp_threads));
    return ramp(log2(registers / available), 0, 0.25);
}

/* Sectors from memory when `blocks` blocks share a cache, interpolated. */
static double wave_sectors(const float *demand, double blocks) {
    double position = fmin(fmax(0, (log2(blocks) - 4) / 2), WAVE_SIZES - 1);
    int below = (int)fmin(floor(position), WAVE_SIZES - 2);
    const float *at = demand + DEMAND_WAVES + below;
    return exp2(at[0] + (at[1] - at[0]) * (position - below)) - 1;
}

static double loop_spills_per_op(const float *demand) {
    return amount(demand[DEMAND_LOOP_SPILLS]) / fmax(1, amount(demand[DEMAND_OPS]));
}

/* Seconds of each part of the demand alone. */
static void find_times(const float *demand, const program_limits *l, const filling *f, double spilled,
                       double seconds[static RES_PARTS]) {
    enum { SPILL_BYTES = 2 * ELEMENT_BYTES };
    static const double SHARED_LANES = 32, CACHE_OVER_MEMORY = 2.5, ROUND_CLOCKS = 700, INSTRUCTION_CLOCKS = 5;
    double clocks = l->units * l->clock_hz * f->share / ceil(f->share), bandwidth = l->bandwidth_bytes_per_s;
    double ops = amount(demand[DEMAND_OPS]), spill_seconds = SPILL_BYTES / bandwidth;
    double thread =
        (1 + amount(demand[DEMAND_ROUNDS])) * ROUND_CLOCKS + amount(demand[DEMAND_THREAD]) * INSTRUCTION_CLOCKS;
    seconds[0] = ops / (l->unit_lanes * clocks);
    seconds[1] = amount(demand[DEMAND_INSTRUCTIONS]) / (2 * l->unit_lanes * clocks);
    seconds[2] = amount(demand[DEMAND_SHARED]) / (SHARED_LANES * clocks);
    seconds[3] = amount(demand[DEMAND_SECTORS]) * SECTOR_BYTES / (CACHE_OVER_MEMORY * bandwidth);
    seconds[4] = amount(demand[DEMAND_BYTES]) / bandwidth;
    seconds[5] = ceil(f->rounds) * thread / l->clock_hz;
    seconds[6] = wave_sectors(demand, l->units * f->resident) * SECTOR_BYTES / bandwidth;
    seconds[7] = spilled * ops * spill_seconds;
    seconds[8] = amount(demand[DEMAND_LOOP_SPILLS]) * spill_seconds;
}

/* Lower bound of the time: all units busy with operations, and distinct bytes at full bandwidth. */
static double min_seconds(const float *demand, const program_limits *l) {
    static const double MIN_SECONDS = 1e-7;
    double ops = amount(demand[DEMAND_OPS]) / (l->unit_lanes * l->units * l->clock_hz);
    return fmax(MIN_SECONDS, fmax(ops, amount(demand[DEMAND_BYTES]) / l->bandwidth_bytes_per_s));
}

static float over(double seconds, double min_time) {
    static const double MIN_TIME = 1e-12, MAX_LOG = 8;
    return (float)fmin(MAX_LOG, fmax(-MAX_LOG, log2(fmax(seconds, MIN_TIME) / min_time)));
}

void program_device_times(const float demand[static PROGRAM_DEMANDS], const float *sheet,
                          float times[static PROGRAM_DEVICE_TIMES]) {
    const program_limits l = program_limits_of(sheet);
    assert(l.units >= 1 && l.unit_lanes > 0);
    const filling f = fill_units(demand, &l);
    const double spilled = spill(demand, &l, &f);
    double seconds[RES_PARTS], sum = 0, longest = 0, min_time = min_seconds(demand, &l);
    find_times(demand, &l, &f, spilled, seconds);
    for (int i = 0; i < RES_PARTS; i++) {
        sum += seconds[i];
        longest = fmax(longest, seconds[i]);
        times[RES_TIMES + i] = (float)((log2(1 + 1e6 * seconds[i]) - 11) / RES_TIME_UNIT);
        times[RES_OVER + i] = over(seconds[i], min_time);
    }
    times[RES_BLOCKS] = (float)log2(f.resident);
    times[RES_THREADS] = (float)(f.active / l.unit_threads);
    times[RES_ROUNDS] = (float)(log2(f.rounds) / 3);
    times[RES_LAST_ROUND] = last_round(f.rounds);
    times[RES_SHARE] = (float)(log2(f.share) / 3);
    times[RES_LAST_SHARE] = last_round(f.share);
    times[RES_WARPS] = (float)(log2(f.active / WARP) / 2);
    times[RES_WARP_FILL] = (float)(fmax(1, whole(demand[DEMAND_THREADS])) / (f.warps * l.warp_threads));
    times[RES_SPILLED] = (float)spilled;
    times[RES_LOOP_SPILLS] = (float)(log2(1 + UNROLL_SPILL_TRIPS * loop_spills_per_op(demand)) / 4);
    times[RES_SHARED] = (float)(whole(demand[DEMAND_BLOCK_BYTES]) / l.unit_shared_bytes);
    times[RES_LONGEST] = (float)((log2(1 + 1e6 * longest) - 12) / RES_TIME_UNIT);
    times[RES_SUM] = (float)((log2(1 + 1e6 * sum) - 12) / RES_TIME_UNIT);
    times[RES_OVER_LONGEST] = 2 * over(longest, min_time);
    times[RES_OVER_SUM] = 2 * over(sum, min_time);
}
