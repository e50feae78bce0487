/* kernels_serving.c - operators and collectives that vidur and PipeWeave measured, and Orion's kernels.
 *
 * vidur: a row has the operators of one layer at a number of tokens, milliseconds, float16. PipeWeave: products in fp8,
 * microseconds; its analytic features are not measurements and are ignored. Both have collectives by bytes. Orion's
 * kernels have no shapes, and are skipped. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/kernels/kernels.h"

/* --- vidur: operators of a layer --------------------------------------------------------------------------------- */

/* Sizes on one rank of tensor parallelism. */
typedef struct layer_sizes {
    long long width, heads, kv_heads, head_size, inter, vocabulary;
    bool is_gated;
    char model[80], device[32];
    int64_t tokens, ranks;
} layer_sizes;

static bool read_layer(const kernel_reader *r, layer_sizes *l) {
    int64_t width, heads, kv_heads, inter, vocabulary;
    char gated[8];
    if (!kernel_size(r, "n_embd", &width) || !kernel_size(r, "n_head", &heads) ||
        !kernel_size(r, "n_kv_head", &kv_heads) || !kernel_size(r, "n_expanded_embd", &inter) ||
        !kernel_size(r, "vocab_size", &vocabulary) || !kernel_size(r, "num_tokens", &l->tokens) ||
        !kernel_size(r, "num_tensor_parallel_workers", &l->ranks) || width < heads)
        return false;
    l->width = width;
    l->head_size = width / heads;
    l->heads = heads > l->ranks ? heads / l->ranks : 1;
    l->kv_heads = kv_heads > l->ranks ? kv_heads / l->ranks : 1;
    l->inter = inter > l->ranks ? inter / l->ranks : 1;
    l->vocabulary = vocabulary > l->ranks ? vocabulary / l->ranks : 1;
    l->is_gated = strcmp(kernel_text(r, "use_gated_mlp", gated, sizeof gated), "True") == 0;
    kernel_text(r, "model", l->model, sizeof l->model);
    kernel_text(r, "device", l->device, sizeof l->device);
    return true;
}

static void set_linear(kernel_row *row, long long from, long long to) {
    row->op = "Gemm";
    kernel_inputs(row, "Nx%lld;%lldx%lld:weight", from, to, from);
    kernel_attributes(row, "transB=1");
}

static void set_norm(kernel_row *row, const layer_sizes *l) {
    row->op = l->is_gated ? "RMSNormalization" : "LayerNormalization";
    kernel_inputs(row, l->is_gated ? "Nx%lld;%lld:weight" : "Nx%lld;%lld:weight;%lld:weight", l->width, l->width,
                  l->width);
    kernel_attributes(row, "axis=-1");
}

static void set_operator(kernel_row *row, const char *op, const layer_sizes *l) {
    long long heads = l->heads * l->head_size, all = heads + 2 * l->kv_heads * l->head_size;
    if (strcmp(op, "attn_pre_proj") == 0) set_linear(row, l->width, all);
    if (strcmp(op, "attn_post_proj") == 0) set_linear(row, heads, l->width);
    if (strcmp(op, "mlp_up_proj") == 0) set_linear(row, l->width, l->is_gated ? 2 * l->inter : l->inter);
    if (strcmp(op, "mlp_down_proj") == 0) set_linear(row, l->inter, l->width);
    if (strstr(op, "layernorm") != NULL) set_norm(row, l);
    if (strcmp(op, "emb") == 0) {
        row->op = "Gather";
        kernel_inputs(row, "%lldx%lld:weight;N:int64", l->vocabulary, l->width);
    } else if (strcmp(op, "attn_rope") == 0) {
        row->op = "RotaryEmbedding";
        kernel_inputs(row, "Nx1x%lld;Nx1x%lld;Nx1x%lld", heads + l->kv_heads * l->head_size, (l->head_size + 1) / 2,
                      (l->head_size + 1) / 2);
        kernel_attributes(row, "num_heads=%lld", l->heads + l->kv_heads);
    } else if (strcmp(op, "mlp_act") == 0) { /* the gate is multiplied in the same kernel */
        row->op = l->is_gated ? "Mul" : "Gelu";
        kernel_inputs(row, l->is_gated ? "Nx%lld;Nx%lld" : "Nx%lld", l->inter, l->inter);
    } else if (strcmp(op, "add") == 0) {
        row->op = "Add";
        kernel_inputs(row, "Nx%lld;Nx%lld", l->width, l->width);
    }
}

/* From milliseconds; what is left of equal runs by rounding is no deviation. */
static double deviation(double ms) {
    return ms >= 1e-9 ? ms * 1e3 : NAN;
}

static ft_status read_layer_row(kernel_reader *r) {
    static const char *const ops[] = {
        "emb",         "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj", "post_attention_layernorm",
        "mlp_up_proj", "mlp_act",         "mlp_down_proj", "add"};
    layer_sizes l;
    char name[128], column[80];
    if (!read_layer(r, &l)) return kernel_skip(r, "a size of the layer is missing");
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        kernel_row row = kernel_row_new();
        snprintf(column, sizeof column, "time_stats.%s.median", ops[i]);
        row.time_us = kernel_number(r, column) * 1e3;
        if (isnan(row.time_us)) continue; /* an operator that the model does not have */
        snprintf(column, sizeof column, "time_stats.%s.std", ops[i]);
        row.time_std_us = deviation(kernel_number(r, column));
        snprintf(name, sizeof name, "%s.%s", l.model, ops[i]);
        row.name = name;
        row.family = "vidur";
        row.device = l.device;
        row.dtype = FT_FLOAT16;
        row.batch = l.tokens;
        kernel_setting(&row, "framework=vllm;tp=%lld", (long long)l.ranks);
        set_operator(&row, ops[i], &l);
        FT_TRY(kernel_add(r, &row));
    }
    return FT_OK;
}

/* --- Collectives by bytes ---------------------------------------------------------------------------------------- */

/* Elements are those of float16. */
static ft_status add_collective(kernel_reader *r, kernel_row *row) {
    char op[16];
    int64_t bytes, ranks, local;
    kernel_text(r, "collective", op, sizeof op);
    if (!kernel_size(r, "size_bytes", &bytes) || !kernel_size(r, "num_workers", &ranks) ||
        !kernel_size(r, "devices_per_node", &local))
        return kernel_skip(r, "a size of the collective is missing");
    row->op = strcmp(op, "all_reduce") == 0 ? "AllReduce" : strcmp(op, "send_recv") == 0 ? "SendRecv" : NULL;
    if (row->op == NULL) return kernel_skip(r, "an unknown collective");
    row->name = op;
    row->dtype = FT_FLOAT16;
    kernel_inputs(row, "%lld", (long long)(bytes + 1) / 2);
    kernel_attributes(row, "group_size=%lld", (long long)ranks);
    kernel_setting_add(row, "per_node=%lld", (long long)local);
    return kernel_add(r, row);
}

/* Clusters are named after their GPU: "a100_pairwise_nvlink". */
static ft_status read_cluster(kernel_reader *r) {
    kernel_row row = kernel_row_new();
    char cluster[48], device[48];
    kernel_text(r, "cluster", cluster, sizeof cluster);
    snprintf(device, sizeof device, "%.*s", (int)strcspn(cluster, "_"), cluster);
    row.device = device;
    row.family = "vidur";
    row.time_us = kernel_number(r, "median_ms") * 1e3;
    row.time_std_us = deviation(kernel_number(r, "std_ms"));
    kernel_setting(&row, "cluster=%s", cluster);
    return add_collective(r, &row);
}

static ft_status read_exchange(kernel_reader *r) {
    kernel_row row = kernel_row_new();
    char device[48];
    row.device = kernel_text(r, "device", device, sizeof device);
    row.family = "pipeweave";
    row.time_us = kernel_number(r, "median_ms") * 1e3;
    return add_collective(r, &row);
}

/* --- PipeWeave: products in fp8 ---------------------------------------------------------------------------------- */

static ft_status read_fp8(kernel_reader *r) {
    kernel_row row = kernel_row_new();
    char device[48], split[16];
    int64_t n, k;
    if (!kernel_size(r, "M", &row.batch) || !kernel_size(r, "N", &n) || !kernel_size(r, "K", &k))
        return kernel_skip(r, "M, N or K is not a size");
    row.device = kernel_text(r, "hardware", device, sizeof device);
    row.part = kernel_text(r, "split", split, sizeof split);
    row.name = "gemm";
    row.family = "pipeweave";
    row.dtype = FT_FLOAT8;
    row.time_us = kernel_number(r, "avg_duration_us");
    set_linear(&row, k, n);
    return kernel_add(r, &row);
}

static ft_status read_orion(kernel_reader *r) {
    return kernel_skip(r, "a kernel without shapes");
}

const kernel_layout serving_layouts[] = {
    {"vidur operators", "model time_stats.mlp_up_proj.median n_embd n_expanded_embd num_tokens", read_layer_row},
    {"vidur collectives", "cluster collective median_ms num_workers size_bytes devices_per_node", read_cluster},
    {"PipeWeave collectives", "device collective median_ms num_workers size_bytes devices_per_node", read_exchange},
    {"PipeWeave products", "split M N K avg_duration_us hardware", read_fp8},
    {"Orion kernels", "workload seq kernel profile sm_needed duration_ns", read_orion},
    {NULL, NULL, NULL},
};
