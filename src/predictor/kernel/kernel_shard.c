/* kernel_shard.c - fills shards of a training step and runs the network on them. */
#include "predictor/kernel/kernel_shard.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void kernel_shard_free(kernel_shard *s) {
    free(s->row_of);
    free(s->kernels);
    free(s->start);
    free(s->index);
    free(s->inputs);
    free(s->amounts);
    free(s->zeros);
    free(s->targets);
    free(s->weights);
    *s = (kernel_shard){0};
}

bool kernel_shard_open(kernel_shard *s, uint32_t kernels) {
    s->row_of = calloc(kernels > 0 ? kernels : 1, sizeof *s->row_of);
    return s->row_of != NULL;
}

static bool grow(void *items, size_t count, size_t size) {
    void **pointer = items;
    void *moved = realloc(*pointer, count > 0 ? count * size : 1);
    if (moved != NULL) *pointer = moved;
    return moved != NULL;
}

/* Reserves memory for the worst case: all launched kernels differ. */
static bool reserve_models(kernel_shard *s, uint32_t models, uint32_t launches, uint32_t devices) {
    if (models + 1 > s->start_capacity) {
        if (!grow(&s->start, models + 1, sizeof *s->start) ||
            !grow(&s->targets, (size_t)models * devices, sizeof(float)) ||
            !grow(&s->weights, (size_t)models * devices, sizeof(float)))
            return false;
        s->start_capacity = models + 1;
    }
    if (launches > s->index_capacity) {
        if (!grow(&s->index, launches, sizeof *s->index)) return false;
        s->index_capacity = launches;
    }
    return true;
}

static bool reserve_rows(kernel_shard *s, uint32_t rows, uint32_t devices) {
    if (rows <= s->row_capacity) return true;
    size_t cells = (size_t)rows * devices * KERNEL_TERMS;
    if (!grow(&s->kernels, rows, sizeof *s->kernels) ||
        !grow(&s->inputs, (size_t)rows * KERNEL_FEATURES, sizeof(float)) || !grow(&s->amounts, cells, sizeof(float)) ||
        !grow(&s->zeros, cells, sizeof(float)))
        return false;
    memset(s->zeros, 0, cells * sizeof(float));
    s->row_capacity = rows;
    return true;
}

/* Adds a kernel unless it is there; returns its row in the shard. */
static uint32_t add_kernel(kernel_shard *s, uint32_t kernel) {
    if (s->row_of[kernel] == 0) {
        s->kernels[s->kernel_count++] = kernel;
        s->row_of[kernel] = s->kernel_count;
    }
    return s->row_of[kernel] - 1;
}

bool kernel_shard_fill(kernel_shard *s, const kernel_side *side, const float *inputs, const kernel_models *models,
                       const uint32_t *indices, uint32_t first, uint32_t count) {
    uint32_t devices = models->devices, launches = 0;
    assert(devices == side->device_count && s->row_of != NULL);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t m = indices != NULL ? indices[i] : first + i;
        launches += models->start[m + 1] - models->start[m];
    }
    uint32_t max_rows = launches < side->kernels.count ? launches : side->kernels.count;
    if (!reserve_models(s, count, launches, devices) || !reserve_rows(s, max_rows, devices)) return false;
    s->model_count = count;
    s->kernel_count = 0;
    s->start[0] = 0;
    for (uint32_t i = 0, at = 0; i < count; i++) {
        uint32_t m = indices != NULL ? indices[i] : first + i;
        for (uint32_t j = models->start[m]; j < models->start[m + 1]; j++)
            s->index[at++] = add_kernel(s, models->index[j]);
        s->start[i + 1] = at;
        for (uint32_t d = 0; d < devices; d++) {
            double label = models->labels[(size_t)m * devices + d];
            s->weights[(size_t)d * count + i] = isnan(label) ? 0 : 1;
            s->targets[(size_t)d * count + i] = isnan(label) ? 0 : (float)log(label);
        }
    }
    for (uint32_t i = 0; i < s->kernel_count; i++) {
        uint32_t kernel = s->kernels[i];
        memcpy(s->inputs + (size_t)i * KERNEL_FEATURES, inputs + (size_t)kernel * KERNEL_FEATURES,
               KERNEL_FEATURES * sizeof(float));
        kernel_net_amounts(&kernel_table_rows(&side->kernels)[kernel], devices,
                           s->amounts + (size_t)i * devices * KERNEL_TERMS);
        s->row_of[kernel] = 0;
    }
    return true;
}

tensor *kernel_shard_forward(const kernel_shard *s, const kernel_net *net, tape *t, tensor **log_multipliers) {
    tensor *times = kernel_net_times(net, t, s->kernel_count, s->inputs, s->amounts, log_multipliers);
    neighbours launches = {.rows = s->model_count, .start = s->start, .index = s->index};
    return nn_activate(t, nn_neighbour_sum(t, times, launches), ACT_LOG);
}
