/* family_common.c - helpers that several predictor families share. */
#include "predictor/core/family_common.h"

#include <assert.h>
#include <math.h>

total_work op_work_of(const ft_op_cost *cost) {
    const ft_work *works[] = {&cost->forward, &cost->backward_data, &cost->backward_weights};
    total_work sum = {0, 0};
    for (size_t i = 0; i < 3; i++) {
        sum.flops += (double)works[i]->flops;
        sum.bytes += (double)works[i]->read_bytes + (double)works[i]->write_bytes;
    }
    return sum;
}

total_work total_work_of(const ft_cost *cost) {
    total_work sum = op_work_of(&cost->total);
    sum.flops += (double)cost->optimizer.flops;
    sum.bytes += (double)cost->optimizer.read_bytes + (double)cost->optimizer.write_bytes;
    return sum;
}

ft_status part_sum_begin(part_sum *parts, const ft_kernels *kernels, bool has_parts, arena *memory, ft_error *error) {
    *parts = (part_sum){.kernels = kernels};
    if (!has_parts) return FT_OK;
    parts->items = ARENA_ARRAY(memory, ft_part, (size_t)kernels->count + 1);
    return parts->items != NULL ? FT_OK : FT_NOMEM(error);
}

void part_sum_add(part_sum *parts, uint32_t kernel, double value) {
    const ft_kernel *k = &parts->kernels->items[kernel];
    assert(kernel < parts->kernels->count);
    parts->sum += value;
    if (parts->items == NULL) return;
    parts->items[kernel] = (ft_part){.type = k->type, .ops = k->ops, .op_count = k->op_count, .value = value};
}

void part_sum_end(part_sum *parts, double start, model_output *out) {
    start = fmax(start, MIN_PREDICTED_VALUE);
    *out = (model_output){.value = parts->sum + start, .spread = 1, .provenance = FT_LEARNED, .parts = parts->items};
    if (parts->items == NULL) return;
    parts->items[parts->kernels->count] = (ft_part){.type = "start", .value = start};
    out->part_count = parts->kernels->count + 1;
}

ft_status fit_set_check(const fit_set *set, ft_error *error) {
    for (uint32_t device = 0; device < set->device_count; device++) {
        uint32_t i = 0;
        while (i < set->train.count && set->train.items[i].device != device) i++;
        if (i == set->train.count)
            return ft_fail(
                error, FT_ERR_USAGE,
                "the training part has no record of the device '%s': choose another split or leave the device out",
                set->devices[device]);
    }
    return FT_OK;
}

ft_status usual_dtypes_find(const ft_record *records, fit_rows rows, uint32_t device_count, ft_dtype **usual,
                            arena *memory, ft_error *error) {
    static const uint32_t TYPES = 32;
    uint32_t *counts = ARENA_ARRAY(memory, uint32_t, (size_t)device_count * TYPES + 1);
    *usual = ARENA_ARRAY(memory, ft_dtype, (size_t)device_count + 1);
    if (counts == NULL || *usual == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < rows.count; i++) {
        uint32_t type = records[rows.items[i].record].dtype;
        assert(rows.items[i].device < device_count && type < TYPES);
        counts[rows.items[i].device * TYPES + type]++;
    }
    for (uint32_t d = 0; d < device_count; d++) {
        const uint32_t *own = counts + (size_t)d * TYPES;
        (*usual)[d] = FT_DTYPE_UNKNOWN;
        for (uint32_t t = 0; t < TYPES; t++)
            if (own[t] > own[(*usual)[d]]) (*usual)[d] = (ft_dtype)t;
    }
    return FT_OK;
}

ft_status params_check_empty(const json_t *params, ft_error *error) {
    if (json_object_size(params) == 0) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "has parameters, but none are expected");
}

ft_status block_check(const float *block, size_t count, double min, double max, const char *what, ft_error *error) {
    for (size_t i = 0; i < count; i++) {
        double number = (double)block[i];
        if (!(number >= min && number <= max))
            return ft_fail(error, FT_ERR_DAMAGED, "%s %zu is %g, but must be from %g to %g", what, i, number, min, max);
    }
    return FT_OK;
}

ft_status block_check_unit_costs(const float *block, size_t count, ft_error *error) {
    return block_check(block, count, 0, 1e15, "unit cost", error);
}

ft_status block_check_weights(const float *block, size_t count, ft_error *error) {
    static const double MAX_WEIGHT = 1e9;
    return block_check(block, count, -MAX_WEIGHT, MAX_WEIGHT, "weight", error);
}
