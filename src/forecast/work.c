/* work.c - the work of the parts of a time, and what bounds it: arithmetic, memory traffic or the launch. */
#include "forecast/job.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "cost/cost.h"
#include "cost/sizes.h"

/* --- Limits -------------------------------------------------------------------------------------------------- */

/* A type without a peak rate in the data sheet runs as the next wider one. */
static double peak_of(const ft_device *sheet, ft_dtype dtype) {
    static const char *const keys[] = {"peak_int8_ops", "peak_float16_flops", "peak_float32_flops"};
    unsigned bits = ft_dtype_bits(dtype);
    size_t first = dtype == FT_DTYPE_UNKNOWN || bits > 16 ? 2 : bits > 8 ? 1 : 0;
    for (size_t i = first; i < sizeof keys / sizeof keys[0]; i++) {
        double value = ft_device_number(sheet, keys[i]);
        if (isfinite(value)) return value;
    }
    return NAN;
}

device_limits limits_of(const ft_device *sheet, ft_dtype dtype) {
    if (sheet == NULL) return (device_limits){NAN, NAN, NAN};
    return (device_limits){peak_of(sheet, dtype), ft_device_number(sheet, "bandwidth_bytes_per_s"),
                           ft_device_number(sheet, "launch_s")};
}

bool limits_are_known(const device_limits *l) {
    return isfinite(l->flops_per_s) && isfinite(l->bytes_per_s);
}

/* --- Work ---------------------------------------------------------------------------------------------------- */

static double flops_of(const ft_op_cost *cost, ft_mode mode) {
    double flops = (double)cost->forward.flops;
    if (mode == FT_TRAIN) flops += (double)cost->backward_data.flops + (double)cost->backward_weights.flops;
    return flops;
}

/* Whether a tensor that the part computes is needed outside it. */
static bool is_used_outside(const ft_tensor *tensor, const uint32_t *part_of, uint32_t part) {
    if (tensor->is_output || tensor->use_count == 0) return true;
    for (uint32_t i = 0; i < tensor->use_count; i++)
        if (part_of[tensor->uses[i]] != part) return true;
    return false;
}

static double bytes_in(const ft_graph *bound, const ft_op *op, const ft_cost_options *options, const uint32_t *part_of,
                       uint32_t part) {
    const ft_tensor *tensors = ft_graph_tensors(bound);
    double bytes = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] == FT_NONE) continue;
        const ft_tensor *tensor = &tensors[op->inputs[i]];
        if (tensor->producer == FT_NONE || part_of[tensor->producer] != part)
            bytes += (double)size_of_tensor(bound, tensor, options);
    }
    return bytes;
}

static double bytes_out(const ft_graph *bound, const ft_op *op, const ft_cost_options *options, const uint32_t *part_of,
                        uint32_t part) {
    const ft_tensor *tensors = ft_graph_tensors(bound);
    double bytes = 0;
    for (uint32_t i = 0; i < op->output_count; i++) {
        if (op->outputs[i] == FT_NONE) continue;
        const ft_tensor *tensor = &tensors[op->outputs[i]];
        if (is_used_outside(tensor, part_of, part)) bytes += (double)size_of_tensor(bound, tensor, options);
    }
    return bytes;
}

bool work_of_parts(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options, const ft_part *parts,
                   uint32_t count, arena *memory, part_work **work) {
    uint32_t op_count = ft_graph_op_count(bound);
    uint32_t *part_of = ARENA_ARRAY(memory, uint32_t, (size_t)op_count + 1);
    *work = ARENA_ARRAY(memory, part_work, (size_t)count + 1);
    if (part_of == NULL || *work == NULL) return false;
    for (uint32_t i = 0; i < op_count; i++) part_of[i] = FT_NONE;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < parts[i].op_count; j++) {
            assert(parts[i].ops[j] < op_count && part_of[parts[i].ops[j]] == FT_NONE); /* parts share no operator */
            part_of[parts[i].ops[j]] = i;
        }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < parts[i].op_count; j++) {
            const ft_op *op = &ft_graph_ops(bound)[parts[i].ops[j]];
            double repeats = (double)op->repeats * (options->mode == FT_TRAIN ? COST_TRAINING_FORWARDS : 1);
            (*work)[i].flops += flops_of(&cost->ops[parts[i].ops[j]], options->mode);
            (*work)[i].bytes +=
                repeats * (bytes_in(bound, op, options, part_of, i) + bytes_out(bound, op, options, part_of, i));
        }
    }
    return true;
}

/* --- Bounds -------------------------------------------------------------------------------------------------- */

const char *ft_bound_name(ft_bound bound) {
    static const char *const names[] = {"unknown", "compute", "memory", "launch"};
    return (size_t)bound < sizeof names / sizeof names[0] ? names[bound] : names[0];
}

ft_bound work_bound(const part_work *work, const device_limits *l, double *min_s) {
    double compute = work->flops / l->flops_per_s, traffic = work->bytes / l->bytes_per_s;
    double launch = isfinite(l->launch_s) ? l->launch_s : 0;
    assert(work->flops >= 0 && work->bytes >= 0);
    *min_s = fmax(fmax(compute, traffic), launch);
    if (!limits_are_known(l)) return FT_BOUND_UNKNOWN;
    if (launch > compute && launch > traffic) return FT_BOUND_LAUNCH;
    return compute >= traffic ? FT_BOUND_COMPUTE : FT_BOUND_MEMORY;
}

bool work_can_wait(const ft_device *sheet) {
    assert(sheet != NULL);
    return strcmp(ft_device_kind(sheet), "gpu") == 0 && strncmp(ft_device_runtime(sheet), "torch", 5) == 0;
}

/* Kernels of a GPU under PyTorch reach a good part of the peak rates. One that takes many times its shortest possible
 * time waits for its launch, unless it takes longer than any launch does: then it is an inefficient kernel. */
bool work_waits(const ft_part *part, double min_s) {
    const double many_times = 5, longest_us = 250;
    return part->value * 1e-6 > many_times * min_s && part->value <= longest_us * part->op_count;
}
