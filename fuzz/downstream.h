/* downstream.h - processing of a graph that a fuzz target read: a hostile file also reaches binding, costs, memory,
 * fusion and reports. */
#ifndef FUZZ_DOWNSTREAM_H
#define FUZZ_DOWNSTREAM_H

#include <stdlib.h>

#include "foretell/foretell.h"
#include "npu/estimate.h"
#include "read/read.h"

/* Graphs beyond this size take too long for a fuzzer and show nothing that small ones do not. */
enum { DOWNSTREAM_MAX_OPS = 2000 };

/* A rule set of each kind, opened once: parsing them takes longer than all the rest. */
static inline const ft_rules *downstream_rules(int mode) {
    static ft_rules *rules[2];
    static const char *const names[] = {"tflite-gpu", "torch-compile"};
    ft_error error;
    if (rules[mode] == NULL && ft_rules_open(names[mode], &rules[mode], &error) != FT_OK) abort();
    return rules[mode];
}

/* Costs, memory and kernels of a bound graph; the first failure, or FT_OK. */
static inline ft_status downstream_costs(const ft_graph *bound, ft_error *error) {
    ft_cost_options options = ft_cost_options_default();
    ft_status status = FT_OK;
    for (int mode = FT_INFER; mode <= FT_TRAIN && status == FT_OK; mode++) {
        ft_cost cost = {0};
        ft_memory memory;
        options.mode = (ft_mode)mode;
        status = ft_cost_compute(bound, &options, &cost, error);
        if (status == FT_OK) status = ft_memory_plan(bound, &options, &memory, NULL, NULL, error);
        if (status == FT_OK && memory.peak_bytes < memory.weight_bytes) abort();
        ft_kernels kernels = {0};
        if (status == FT_OK) status = ft_graph_fuse(bound, downstream_rules(mode), &kernels, error);
        for (uint32_t i = 0; i < kernels.count; i++) (void)ft_cost_kernel(bound, &cost, &kernels, i);
        ft_kernels_free(&kernels);
        ft_cost_free(&cost);
    }
    return status;
}

/* Lowering to accelerators. */
static inline ft_status downstream_npu(const ft_graph *bound, ft_error *error) {
    arena memory;
    npu_net net;
    npu_estimate estimate;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    ft_status status = npu_lower(bound, &memory, &net, error);
    for (int i = 0; i < NPU_ARCHS && status == FT_OK; i++) {
        status = npu_estimate_make(&net, &npu_archs[i], &npu_default_compression, &memory, &estimate, error);
        if (status == FT_OK && !(estimate.sum.total >= 0 && estimate.sram_bytes >= 0)) abort();
    }
    arena_free(&memory);
    return status;
}

/* Binds at the exported batch and at another one, and computes everything for both. */
static inline ft_status downstream(const ft_graph *graph, ft_error *error) {
    ft_status status = FT_OK;
    if (ft_graph_op_count(graph) > DOWNSTREAM_MAX_OPS) return FT_OK;
    for (int64_t batch = 0; batch <= 3 && status == FT_OK; batch += 3) {
        ft_graph *bound = NULL;
        status = ft_graph_bind(graph, &(ft_binding){.batch = batch}, &bound, error);
        if (status == FT_OK) status = downstream_costs(bound, error);
        if (status == FT_OK) status = downstream_npu(bound, error);
        ft_graph_free(bound);
    }
    return status;
}

/* The body of a reader's fuzz target. The reader is called directly, so that bytes which do not look like its format
 * reach it too. */
static inline int downstream_of(const reader *r, const char *path, const uint8_t *data, size_t size) {
    const read_origin origin = {.path = path, .is_on_disk = false};
    ft_graph *graph = NULL;
    ft_error error;
    r->matches(data, size);
    if (r->read(data, size, &origin, &graph, &error) == FT_OK) downstream(graph, &error);
    ft_graph_free(graph);
    return 0;
}

#endif
