/* cycles.c - the performance model of one pass.
 *
 * The MAC engine works on a block while the output stage writes the block before it, so a pass takes the slower of the
 * two for each block, plus the other one once. Neither is faster than the command stream, which waits for the data of a
 * block to be read and written. Elementwise passes have only the output stage. */
#include "npu/cycles.h"

#include <assert.h>
#include <math.h>

static const npu_memory *memory_of(const npu_arch *arch, npu_area area) {
    return &arch->memories[area];
}

double npu_burst_bytes(const npu_arch *arch, const npu_map_access *access, double bytes) {
    const npu_shape block = access->block;
    assert(access->area < NPU_AREAS && access->elem_bytes > 0);
    double bits = 8.0 * access->elem_bytes, length;
    if (!access->is_linear) {
        if (bits * 16 * (double)access->shape.w / 8 == (double)block.c)
            length = bits * (double)block.c * (double)block.w;
        else
            length = 16 * bits * (double)block.w * (access->is_read ? 1 : arch->cores);
    } else if (access->is_read) {
        bool is_whole = access->elem_bytes == block.c;
        length = bits * (double)block.c * (is_whole ? (double)block.w : 1);
    } else if (block.c <= 16 && access->elem_bytes == block.c) {
        length = bits * (double)block.c * (double)block.w;
    } else {
        length = npu_min(npu_min(64 * 8, 16 * bits * arch->cores), (double)block.c * bits);
    }
    double burst = memory_of(arch, access->area)->burst_bytes;
    length = npu_min(burst, floor(length / 8));
    return bytes * (burst / length);
}

double npu_transfer_cycles(const npu_arch *arch, npu_area from, npu_area to, double bytes) {
    assert(bytes >= 0 && from < NPU_AREAS && to < NPU_AREAS);
    const npu_memory *source = memory_of(arch, from), *target = memory_of(arch, to);
    return npu_max(floor(bytes / source->bytes_per_cycle) + source->read_latency,
                   floor(bytes / target->bytes_per_cycle));
}

/* Memory cycles to read and write one block. */
static double block_memory_cycles(const npu_arch *arch, const npu_pass_query *q) {
    const npu_memory *in = memory_of(arch, q->ifm_area), *out = memory_of(arch, q->ofm_area);
    double ifm = (double)npu_elems(npu_shape_min(q->ifm, q->config->ifm));
    double ofm = (double)npu_elems(npu_shape_min(q->ofm, q->config->ofm));
    npu_map_access load = npu_ifm_access(q), store = npu_ofm_access(q);
    double loaded = npu_burst_bytes(arch, &load, ifm), stored = npu_burst_bytes(arch, &store, ofm);
    return in->read_latency + loaded / in->bytes_per_cycle + out->write_latency + stored / out->bytes_per_cycle;
}

static npu_stage stage_of(const npu_pass_query *q) {
    const npu_pass *p = q->pass;
    bool is_elementwise = p->block == BLOCK_ELEMENTWISE;
    if (is_elementwise && q->ifm_bytes == 4)
        return p->is_unary ? STAGE_BINARY_32 : STAGE_UNARY_32; /* swapped in Vela as well */
    if (p->math == MATH_MUL && q->ofm_bytes == 4) return STAGE_MUL_TO_32;
    if (p->math == MATH_MUL || (!is_elementwise && q->config->has_acc40)) return STAGE_MUL;
    if (p->math == MATH_ADD) return STAGE_ADD;
    return p->math == MATH_MAX_POOL ? STAGE_MAX : STAGE_OTHER;
}

static double output_cycles_per_elem(const npu_arch *arch, const npu_pass_query *q) {
    double cycles = arch->stage_cycles[stage_of(q)];
    if (q->pass->activation == ACTIVATION_TABLE) cycles = npu_max(cycles, arch->table_cycles);
    if (q->pass->activation == ACTIVATION_CLAMP) cycles = npu_max(cycles, arch->clamp_cycles);
    if (q->pass->block != BLOCK_ELEMENTWISE) return cycles;
    double elems = (double)npu_elems(q->config->ofm);
    double command = (block_memory_cycles(arch, q) + cycles * elems) / 4;
    return npu_max(cycles, command / elems);
}

/* --- Convolutions, pooling, reductions ----------------------------------------------------------------------- */

/* A block in micro-blocks. */
typedef struct units {
    int64_t x, y, z;
    npu_shape ifm, ofm;
    int32_t depth;
} units;

static units units_of(const npu_arch *arch, const npu_pass_query *q) {
    const npu_pass *p = q->pass;
    units u = {.ifm = npu_shape_min(q->ifm, q->config->ifm), .ofm = npu_shape_min(q->ofm, q->config->ofm)};
    int64_t unit_w = arch->ublock_w, unit_h = arch->ublock_h;
    bool has_rows = p->block == BLOCK_CONV || p->block == BLOCK_DEPTHWISE || p->block == BLOCK_VECTOR;
    if (arch->ublock_h == 2 && has_rows && q->ofm.h == 1 && q->ofm.w % 2 == 0 && p->kernel_h == 1) {
        unit_w = 4;
        unit_h = 1;
        u.ofm.h = 1;
    }
    u.x = npu_div_up(u.ofm.w, unit_w);
    u.y = npu_div_up(u.ofm.h, unit_h);
    u.z = npu_div_up(u.ofm.c, arch->ublock_d);
    return u;
}

/* One sub-kernel over one block. */
static double sub_kernel_cycles(const npu_arch *arch, const npu_pass_query *q, const units *u, int64_t elems) {
    const npu_pass *p = q->pass;
    double per_unit = 4.0 * (double)(u->x * u->y), weights = 4.0 * arch->ublock_d, cycles, steps = 1;
    bool is_part = p->block == BLOCK_CONV && q->config->is_part_kernel;
    int64_t depth_units = npu_div_up(u->ifm.c, 8);
    switch (p->block) {
    case BLOCK_POOL:
        cycles = (double)((elems > 4 ? elems : 4) * u->x * u->y * u->z) * (q->ifm_bytes == 2 ? 2 : 1);
        break;
    case BLOCK_DEPTHWISE:
        steps = (double)npu_div_up(elems, 4);
        cycles = npu_max(weights, per_unit * (q->ifm_bytes == 2 ? 2 : 1)) * steps * (double)u->z;
        break;
    default:
        steps = (double)(is_part ? npu_div_up(elems, q->ifm_bytes == 2 ? 2 : 4) : elems);
        cycles = npu_max(weights, per_unit) * steps * (double)u->z * (is_part ? (double)depth_units : 1);
        break;
    }
    double delay = q->config->has_acc40 && arch->macs == 128 ? 3 : 2, wait = 0;
    if (u->x == 1 && u->y == 1) {
        if (u->z == 1)
            wait = delay * steps;
        else if (steps > 1)
            wait = delay * (steps - 1) * (double)u->z;
    }
    return cycles + wait * (is_part ? (double)depth_units : 1);
}

static int64_t engine_cycles(const npu_arch *arch, const npu_pass_query *q) {
    const npu_pass *p = q->pass;
    units u = units_of(arch, q);
    int64_t limit = p->block == BLOCK_VECTOR ? 1 : 8;
    double engine = 0;
    for (int64_t y = 0; y < p->kernel_h; y += limit) {
        int64_t h = p->kernel_h - y < limit ? p->kernel_h - y : limit;
        for (int64_t x = 0; x < p->kernel_w; x += limit)
            engine += sub_kernel_cycles(arch, q, &u, h * (p->kernel_w - x < limit ? p->kernel_w - x : limit));
    }
    if (p->block == BLOCK_CONV || p->block == BLOCK_VECTOR || p->block == BLOCK_REDUCE)
        engine *= (double)npu_div_up(q->ifm.c, u.ifm.c);
    engine /= arch->cores;
    double blocks = (double)npu_div_up(q->ofm.n, u.ofm.n) * (double)npu_div_up(q->ofm.h, u.ofm.h) *
                    (double)npu_div_up(q->ofm.w, u.ofm.w) * (double)npu_div_up(q->ofm.c, u.ofm.c);
    double output = ceil(output_cycles_per_elem(arch, q) * (double)npu_elems(u.ofm));
    if (p->bias_bytes > 0)
        output = npu_max(output, 10.0 * (double)u.ofm.c * memory_of(arch, q->const_area)->read_latency / 256);
    double command = (block_memory_cycles(arch, q) + output + engine) / 4;
    engine = npu_max(engine, command);
    output = npu_max(output, command);
    return (int64_t)(engine > output ? engine * blocks + output : output * blocks + engine);
}

/* --- All block types ----------------------------------------------------------------------------------------- */

static npu_shape round_depth(npu_shape s, bool is_linear) {
    if (!is_linear) s.c = npu_round_up(s.c, 16);
    return s;
}

int64_t npu_engine_cycles(const npu_arch *arch, const npu_pass_query *q) {
    assert(q->pass != NULL && q->config != NULL);
    if (q->pass->block == BLOCK_COPY) return 0;
    if (q->pass->block != BLOCK_ELEMENTWISE) return engine_cycles(arch, q);
    return (int64_t)ceil(output_cycles_per_elem(arch, q) * (double)npu_elems(round_depth(q->ofm, q->ofm_linear)));
}

static void elementwise_reads(const npu_pass_query *q, npu_access *a) {
    double whole = (double)npu_elems(round_depth(q->ofm, q->ifm_linear));
    bool has_second = !q->pass->is_unary;
    if (npu_elems(q->ifm) == 1) {
        if (q->ifm_bytes > 1) a->ifm = (double)npu_elems(round_depth(q->ifm, q->ifm_linear));
        if (has_second) a->ifm2 = whole;
        return;
    }
    a->ifm = whole;
    if (!has_second) return;
    if (npu_elems(q->ifm2) > 1)
        a->ifm2 = whole;
    else if (q->ifm2_bytes > 1)
        a->ifm2 = (double)npu_elems(round_depth(q->ifm2, q->ifm_linear));
}

static void kernel_reads(const npu_pass_query *q, npu_access *a) {
    const npu_pass *p = q->pass;
    npu_shape ifm = npu_shape_min(q->ifm, q->config->ifm), ofm = npu_shape_min(q->ofm, q->config->ofm);
    bool is_flat = p->block == BLOCK_DEPTHWISE || p->block == BLOCK_POOL;
    int64_t limit = p->block == BLOCK_VECTOR ? 1 : 8;
    double pieces = (double)(npu_div_up(p->kernel_w, limit) * npu_div_up(p->kernel_h, limit));
    double blocks = (double)npu_div_up(q->ofm.n, ofm.n) * (double)npu_div_up(q->ofm.h, ofm.h) *
                    (double)npu_div_up(q->ofm.w, ofm.w) * (is_flat ? 1 : (double)npu_div_up(q->ofm.c, ofm.c));
    a->ifm = (double)(ifm.h * ifm.w) * (double)round_depth(q->ifm, q->ifm_linear).c * pieces * blocks;
    if (p->block == BLOCK_POOL || p->block == BLOCK_REDUCE) return;
    double kernel = (double)p->kernel_w * p->kernel_h * (is_flat ? 1 : (double)q->ifm.c);
    a->weights = kernel * (double)(is_flat ? q->ifm.c : ofm.c) * blocks;
    a->scales = (double)q->ofm.c;
}

npu_access npu_count_accesses(const npu_pass_query *q) {
    npu_access a = {0};
    if (q->pass->block == BLOCK_COPY) return a;
    if (q->pass->block == BLOCK_ELEMENTWISE)
        elementwise_reads(q, &a);
    else
        kernel_reads(q, &a);
    a.ofm = (double)npu_elems(round_depth(q->ofm, q->ofm_linear));
    return a;
}
