/* program_demand.c - see program_demand.h. */
#include "predictor/program/program_demand.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "predictor/program/program_feature_index.h"
#include "program/feature_gpu.h"

/* --- What is asked for --------------------------------------------------------------------------------------- */

enum { WAVE_SIZES = PROGRAM_DEMANDS - DEMAND_WAVES };

static double amount(float logarithm) {
    return fmax(0, exp2((double)logarithm) - 1);
}

/* What a reduction needs per turn when its thread keeps what as many turns load as it has sums: a compiler writes the
 * loops over these out, whatever it does with the others. `windows` are logarithms for 4, 16, ... turns, `alone` is
 * that for a turn alone. */
static double per_turn_of_sums(const float *gpu, const float *windows, double alone) {
    enum { SIZES = 5 };
    double sums = log2(fmax(1, amount(gpu[GPU_LOCAL_BYTES]) / ELEMENT_BYTES)), before = alone, size = 0;
    for (int i = 0; i < SIZES; i++) {
        if (sums <= size + 2) return exp2(before + (windows[i] - before) * (sums - size) / 2);
        before = windows[i];
        size += 2;
    }
    return exp2(before);
}

/* A turn alone loads two operands. */
static double loads_per_turn(const float *gpu) {
    static const double MOST = 4;
    return fmin(fmin(MOST, exp2((double)gpu[GPU_UNROLLED_LOADS])), per_turn_of_sums(gpu, gpu + GPU_WINDOW_LOADS, 1));
}

/* Of shared memory, for the loads of a warp. */
static double cycles_per_turn(const float *f, const float *gpu) {
    double alone = amount(gpu[GPU_SHARED_READ_REQUESTS]) * WARP / fmax(1, amount(f[LEAF_TRIPS]));
    return fmin(exp2((double)gpu[GPU_UNROLLED_CYCLES]),
                per_turn_of_sums(gpu, gpu + GPU_WINDOW_CYCLES, log2(fmax(1, alone))));
}

/* Of what is cut to whole blocks, warps and bytes: logarithms are rounded. */
static double whole(float logarithm) {
    return round(amount(logarithm));
}

typedef struct sums {
    double ops, instructions, shared, sectors, bytes, rounds, thread;
    double moves;
    double waves[WAVE_SIZES];
} sums;

/* Operations on floats that a lane takes time for; the weights are those of usual compilers. */
static double count_ops(const float *f) {
    return fmax(amount(f[LEAF_FLOAT_ADD]), amount(f[LEAF_FLOAT_MUL])) + amount(f[LEAF_FLOAT_CMP]) +
           4 * amount(f[LEAF_FLOAT_MATH]) + 8 * amount(f[LEAF_FLOAT_DIV]);
}

static double count_index_ops(const float *f) {
    return amount(f[LEAF_INT_ADD]) + amount(f[LEAF_INT_MUL]) + 3 * amount(f[LEAF_INT_DIV]) + amount(f[LEAF_INT_CMP]) +
           amount(f[LEAF_LOGIC]) + amount(f[LEAF_SELECT]);
}

static void add_reduction(const float *f, const float *gpu, double fill, sums *s) {
    double per_turn = loads_per_turn(gpu), loads = amount(f[LEAF_TRIPS]) * per_turn / fill;
    if (amount(gpu[GPU_SHARED_READS]) > 0)
        s->shared += amount(f[LEAF_TRIPS]) * cycles_per_turn(f, gpu) / fill;
    else
        s->sectors += loads / WARP * fmax(1, amount(gpu[GPU_GLOBAL_READ_REPEATS]));
    s->instructions += loads;
    s->rounds = fmax(s->rounds, amount(gpu[GPU_ROUNDS]));
    s->thread += amount(gpu[GPU_THREAD_TRIPS]) * (1 + per_turn);
}

/* What is the same in all rounds of a loop that is written out, a thread works out once; the rest is steps from one
 * address to the next. Turns that are left are as many as rounds then, but for what logarithms were rounded. */
static double count_copy_index_ops(const float *f, const float *gpu) {
    static const double STEPS_PER_TURN = 3;
    double all = count_index_ops(f), rounds = fmax(1, amount(gpu[GPU_ROUNDS]));
    bool is_written_out = amount(gpu[GPU_UNROLLED_LEFT]) < 1.5 * rounds;
    return is_written_out ? fmin(all, all / rounds + STEPS_PER_TURN * amount(f[LEAF_TRIPS])) : all;
}

/* A vector is one command, with one index; turns that a guard keeps away need none. */
static void add_copy(const float *f, const float *gpu, double fill, sums *s) {
    static const double COMMANDS_PER_TURN = 8, WIDEST = 4;
    double width = fmin(WIDEST, fmax(1, amount(f[LEAF_VECTOR])));
    double reads = amount(gpu[GPU_GLOBAL_READS]) + amount(gpu[GPU_SHARED_READS]),
           active = reads > 0 ? fmin(1, reads / fmax(1, amount(f[LEAF_TRIPS]))) : 1;
    s->shared += amount(gpu[GPU_SHARED_READ_REQUESTS]) * WARP;
    s->sectors += amount(gpu[GPU_GLOBAL_READ_REQUESTS]);
    s->instructions += (reads + active * count_copy_index_ops(f, gpu)) / (fill * width);
    s->thread += amount(gpu[GPU_THREAD_TRIPS]) * COMMANDS_PER_TURN / width;
}

static void add_store(const float *f, const float *gpu, sums *s) {
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
    s->moves += amount(f[LEAF_TRIPS]) * amount(gpu[GPU_UNROLLED_SPILLS]) / UNROLL_SPILL_TRIPS / fill;
    for (int i = 0; i < WAVE_SIZES; i++) s->waves[i] += amount(gpu[GPU_WAVE_SECTORS + i]);
}

/* The store with most turns, a reduction before what fills memory for it. */
static const float *find_largest(const ft_program_features *seen) {
    const float *largest = seen->gpu;
    double most = -1;
    for (size_t i = 0; i < seen->leaf_count; i++) {
        const float *gpu = seen->gpu + i * FT_PROGRAM_GPU_FEATURES;
        double turns = gpu[GPU_BLOCKS] + gpu[GPU_THREADS] + gpu[GPU_THREAD_TRIPS] + (gpu[GPU_IS_UPDATE] > 0 ? 3 : 0);
        if (turns > most) {
            most = turns;
            largest = gpu;
        }
    }
    return largest;
}

void program_demand(const ft_program_features *seen, float demand[static PROGRAM_DEMANDS]) {
    sums s = {0};
    memset(demand, 0, PROGRAM_DEMANDS * sizeof *demand);
    if (seen->leaf_count == 0) return;
    for (size_t i = 0; i < seen->leaf_count; i++)
        add_store(seen->leaves + i * FT_PROGRAM_FEATURES, seen->gpu + i * FT_PROGRAM_GPU_FEATURES, &s);
    const double all[] = {s.ops, s.instructions, s.shared, s.sectors, s.bytes, s.rounds, s.thread};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) demand[i] = (float)log2(1 + all[i]);
    const float *gpu = find_largest(seen);
    demand[DEMAND_BLOCKS] = gpu[GPU_BLOCKS];
    demand[DEMAND_THREADS] = gpu[GPU_THREADS];
    demand[DEMAND_BLOCK_BYTES] = gpu[GPU_SHARED_BYTES];
    demand[DEMAND_LOCAL_BYTES] = gpu[GPU_LOCAL_BYTES];
    demand[DEMAND_LOOP_SPILLS] = (float)log2(1 + s.moves);
    for (int i = 0; i < WAVE_SIZES; i++) demand[DEMAND_WAVES + i] = (float)log2(1 + s.waves[i]);
}

/* --- What a device makes of it ------------------------------------------------------------------------------- */

/* How the blocks of a launch lie on the units of a device. */
typedef struct filling {
    double warps;    /* of a block */
    double resident; /* blocks that a unit takes at once; 1/2 where not even one seems to fit */
    double rounds;   /* of all units, until all blocks are done */
    double share;    /* blocks per unit */
    double active;   /* threads that a unit has at once */
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
    f.rounds = blocks / (l->units * f.resident);
    f.active = fmin(f.resident, ceil(f.share)) * lanes;
    return f;
}

/* log2 of how much longer the last, incomplete round makes it; few blocks on a large device are no matter of rounds. */
static float last_round(double rounds) {
    return (float)fmin(4, log2(ceil(rounds) / rounds));
}

static double ramp(double value, double from, double to) {
    return fmin(1, fmax(0, (value - from) / (to - from)));
}

/* Whether sums are in memory, between 0 and 1: there are more than a thread has registers for them. All threads of a
 * block share what a block may have, and compilers are told how many they are. */
static double spill(const float *demand, const program_limits *l, const filling *f) {
    static const double MIN_REGISTERS = 16; /* for all but the sums, when a compiler has to save them */
    static const double BLOCK_REGISTERS = 65536;
    double registers = MIN_REGISTERS + whole(demand[DEMAND_LOCAL_BYTES]) / ELEMENT_BYTES,
           most = fmin(l->thread_registers, BLOCK_REGISTERS / (f->warps * l->warp_threads));
    return ramp(log2(registers / most), 0, 0.25);
}

/* Sectors that come from memory when so many blocks share a cache. */
static double wave_sectors(const float *demand, double blocks) {
    double place = fmin(fmax(0, (log2(blocks) - 4) / 2), WAVE_SIZES - 1);
    int below = (int)fmin(floor(place), WAVE_SIZES - 2);
    const float *at = demand + DEMAND_WAVES + below;
    return exp2(at[0] + (at[1] - at[0]) * (place - below)) - 1;
}

static double moves_per_op(const float *demand) {
    return amount(demand[DEMAND_LOOP_SPILLS]) / fmax(1, amount(demand[DEMAND_OPS]));
}

/* Seconds for each part of the demand, if there were no other. */
static void find_times(const float *demand, const program_limits *l, const filling *f, double spilled,
                       double seconds[static RES_PARTS]) {
    enum { SUM_BYTES = 2 * ELEMENT_BYTES };
    static const double SHARED_LANES = 32, CACHE_OVER_MEMORY = 2.5, ROUND_CLOCKS = 700, COMMAND_CLOCKS = 5;
    double clocks = l->units * l->clock_hz * f->share / ceil(f->share), bandwidth = l->bandwidth_bytes_per_s;
    double ops = amount(demand[DEMAND_OPS]), sum_seconds = SUM_BYTES / bandwidth;
    double thread = (1 + amount(demand[DEMAND_ROUNDS])) * ROUND_CLOCKS + amount(demand[DEMAND_THREAD]) * COMMAND_CLOCKS;
    seconds[0] = ops / (l->unit_lanes * clocks);
    seconds[1] = amount(demand[DEMAND_INSTRUCTIONS]) / (2 * l->unit_lanes * clocks);
    seconds[2] = amount(demand[DEMAND_SHARED]) / (SHARED_LANES * clocks);
    seconds[3] = amount(demand[DEMAND_SECTORS]) * SECTOR_BYTES / (CACHE_OVER_MEMORY * bandwidth);
    seconds[4] = amount(demand[DEMAND_BYTES]) / bandwidth;
    seconds[5] = ceil(f->rounds) * thread / l->clock_hz;
    seconds[6] = wave_sectors(demand, l->units * f->resident) * SECTOR_BYTES / bandwidth;
    seconds[7] = spilled * ops * sum_seconds;
    seconds[8] = amount(demand[DEMAND_LOOP_SPILLS]) * sum_seconds;
}

/* If all units were always full: operations, and the bytes that have to come at all. */
static double least_seconds(const float *demand, const program_limits *l) {
    static const double LEAST = 1e-7;
    double ops = amount(demand[DEMAND_OPS]) / (l->unit_lanes * l->units * l->clock_hz);
    return fmax(LEAST, fmax(ops, amount(demand[DEMAND_BYTES]) / l->bandwidth_bytes_per_s));
}

static float over(double seconds, double least) {
    static const double NOTHING = 1e-12, FARTHEST = 8;
    return (float)fmin(FARTHEST, fmax(-FARTHEST, log2(fmax(seconds, NOTHING) / least)));
}

void program_device_times(const float demand[static PROGRAM_DEMANDS], const float *sheet,
                          float times[static PROGRAM_DEVICE_TIMES]) {
    const program_limits l = program_limits_of(sheet);
    const filling f = fill_units(demand, &l);
    const double spilled = spill(demand, &l, &f);
    double seconds[RES_PARTS], sum = 0, longest = 0, least = least_seconds(demand, &l);
    find_times(demand, &l, &f, spilled, seconds);
    for (int i = 0; i < RES_PARTS; i++) {
        sum += seconds[i];
        longest = fmax(longest, seconds[i]);
        times[RES_TIMES + i] = (float)((log2(1 + 1e6 * seconds[i]) - 11) / RES_TIME_UNIT);
        times[RES_OVER + i] = over(seconds[i], least);
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
    times[RES_LOOP_SPILLS] = (float)(log2(1 + UNROLL_SPILL_TRIPS * moves_per_op(demand)) / 4);
    times[RES_SHARED] = (float)(whole(demand[DEMAND_BLOCK_BYTES]) / l.unit_shared_bytes);
    times[RES_LONGEST] = (float)((log2(1 + 1e6 * longest) - 12) / RES_TIME_UNIT);
    times[RES_SUM] = (float)((log2(1 + 1e6 * sum) - 12) / RES_TIME_UNIT);
    times[RES_OVER_LONGEST] = 2 * over(longest, least);
    times[RES_OVER_SUM] = 2 * over(sum, least);
}
