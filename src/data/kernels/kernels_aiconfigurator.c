/* kernels_aiconfigurator.c - operators of language models that NVIDIA measured in vLLM, SGLang and TensorRT-LLM.
 *
 * Latencies are milliseconds. The device is a column, or the name of the file ("h100_sxm"). Sizes of collectives are
 * elements of the type, of the larger of input and result. Storage of fewer bits than the arithmetic (fp8 caches, 4-bit
 * weights) is written as int8 or int4, since floats of a record are held in its one type. Modules of several operators
 * (MLA with its projections) are skipped. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/kernels/kernels.h"

/* --- Common ------------------------------------------------------------------------------------------------------ */

/* How the set spells a type: of the arithmetic, and of the weights where they are stored in fewer bits. */
static const struct type_name {
    const char *name;
    ft_dtype dtype;
    const char *weights; /* a suffix of their shape; "": the same type */
} type_names[] = {
    {"bfloat16", FT_BFLOAT16, ""},
    {"float16", FT_FLOAT16, ""},
    {"half", FT_FLOAT16, ""},
    {"int8", FT_INT8, ""},
    {"fp8", FT_FLOAT8, ""},
    {"fp8_block", FT_FLOAT8, ""},
    {"nvfp4", FT_FLOAT4, ""},
    {"sq", FT_INT8, ""},
    {"int8_wo", FT_FLOAT16, ":int8"},
    {"int4_wo", FT_FLOAT16, ":int4"},
    {"w4a16_mxfp4", FT_BFLOAT16, ":int4"},
    {"w4a8_mxfp4_mxfp8", FT_FLOAT8, ":int4"},
};

typedef struct llm_row {
    kernel_row row;
    char device[80], name[40], type[40];
    char kernel[128];
    const struct type_name *dtype;
} llm_row;

/* Reads what all operators have; `type` is the column of the type. False when it is of an unknown type. */
static bool read_common(const kernel_reader *r, const char *type, llm_row *l) {
    char framework[40], version[40];
    *l = (llm_row){.row = kernel_row_new()};
    kernel_text(r, "device", l->device, sizeof l->device);
    if (l->device[0] == '\0') snprintf(l->device, sizeof l->device, "%.79s", r->stem);
    kernel_text(r, "op_name", l->name, sizeof l->name);
    kernel_text(r, "kernel_source", l->kernel, sizeof l->kernel);
    kernel_text(r, "framework", framework, sizeof framework);
    kernel_text(r, "version", version, sizeof version);
    l->row.device = l->device;
    l->row.name = l->name;
    l->row.family = "aiconfigurator";
    l->row.time_us = kernel_number(r, "latency_ms") * 1e3;
    l->row.power_w = kernel_number(r, "power_w");
    kernel_setting(&l->row, "framework=%.30s;version=%.30s;kernel=%.120s", framework, version, l->kernel);
    if (!isnan(l->row.power_w) && !isnan(kernel_number(r, "power_limit_w")))
        kernel_setting_add(&l->row, "power_limit=%g", kernel_number(r, "power_limit_w"));
    if (type == NULL) return true;
    kernel_text(r, type, l->type, sizeof l->type);
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (strcmp(type_names[i].name, l->type) != 0) continue;
        l->dtype = &type_names[i];
        l->row.dtype = l->dtype->dtype;
        return true;
    }
    return false;
}

static ft_status skip_type(kernel_reader *r) {
    return kernel_skip(r, "an unknown type of the arithmetic");
}

static ft_status skip_size(kernel_reader *r) {
    return kernel_skip(r, "a size of the operator is missing");
}

/* --- Products ---------------------------------------------------------------------------------------------------- */

static ft_status read_gemm(kernel_reader *r) {
    llm_row l;
    int64_t n, k;
    if (!read_common(r, "gemm_dtype", &l)) return skip_type(r);
    if (!kernel_size(r, "m", &l.row.batch) || !kernel_size(r, "n", &n) || !kernel_size(r, "k", &k)) return skip_size(r);
    l.row.op = "Gemm";
    kernel_inputs(&l.row, "Nx%lld;%lldx%lld%s:weight", (long long)k, (long long)n, (long long)k, l.dtype->weights);
    kernel_attributes(&l.row, "transB=1");
    kernel_setting_add(&l.row, "type=%s", l.type);
    return kernel_add(r, &l.row);
}

/* The products that replace the expansion of the cache in MLA, with DeepSeek's sizes: 128 x 512 per head. */
static ft_status read_mla_product(kernel_reader *r) {
    llm_row l;
    int64_t heads;
    if (!read_common(r, "bmm_dtype", &l)) return skip_type(r);
    if (!kernel_size(r, "num_tokens", &l.row.batch) || !kernel_size(r, "num_heads", &heads)) return skip_size(r);
    bool is_before = strcmp(l.name, "mla_gen_pre") == 0;
    int from = is_before ? 128 : 512, to = is_before ? 512 : 128;
    l.row.op = "MatMul";
    kernel_inputs(&l.row, "%lldxNx%d;%lldx%dx%d:weight", (long long)heads, from, (long long)heads, from, to);
    kernel_setting_add(&l.row, "type=%s", l.type);
    return kernel_add(r, &l.row);
}

/* Experts of one rank: those that it has of all under expert parallelism, and its share of their width under tensor
 * parallelism. The batch is the number of tokens that reach them. */
static ft_status read_experts(kernel_reader *r) {
    llm_row l;
    int64_t tokens, hidden, inter, chosen, experts, tp, ep;
    char spread[40];
    if (!read_common(r, "moe_dtype", &l)) return skip_type(r);
    if (!kernel_size(r, "num_tokens", &tokens) || !kernel_size(r, "hidden_size", &hidden) ||
        !kernel_size(r, "inter_size", &inter) || !kernel_size(r, "topk", &chosen) ||
        !kernel_size(r, "num_experts", &experts) || !kernel_size(r, "moe_tp_size", &tp) ||
        !kernel_size(r, "moe_ep_size", &ep) || experts / ep < 1 || inter / tp < 1)
        return skip_size(r);
    long long local = experts / ep, width = inter / tp, h = hidden;
    bool is_spread = chosen < ep; /* a token needs the experts of some ranks only */
    if (is_spread && tokens > FT_MAX_DIM / chosen) return skip_size(r);
    l.row.batch = is_spread ? (tokens * chosen + ep - 1) / ep : tokens;
    l.row.op = "MoE";
    kernel_inputs(&l.row, "Nx%lld;Nx%lld;%lldx%lldx%lld%s:weight;;%lldx%lldx%lld%s:weight;;%lldx%lldx%lld%s:weight", h,
                  local, local, width, h, l.dtype->weights, local, h, width, l.dtype->weights, local, width, h,
                  l.dtype->weights);
    kernel_attributes(&l.row, "k=%lld;activation_type=silu", is_spread ? 1LL : (long long)(chosen / ep));
    kernel_setting_add(&l.row, "type=%s;tokens=%lld;topk=%lld;ep=%lld;tp=%lld;spread=%s", l.type, (long long)tokens,
                       (long long)chosen, (long long)ep, (long long)tp,
                       kernel_text(r, "distribution", spread, sizeof spread));
    return kernel_add(r, &l.row);
}

/* --- Attention --------------------------------------------------------------------------------------------------- */

/* Prefill has as many queries as new tokens, decode one; both see the tokens that are cached already (`step`). */
static ft_status read_attention(kernel_reader *r) {
    llm_row l;
    int64_t queries, heads, kv_heads, size, step = 0;
    char cache[16];
    if (!read_common(r, "attn_dtype", &l)) return skip_type(r);
    if (!kernel_size(r, "batch_size", &l.row.batch) || !kernel_size(r, "isl", &queries) ||
        !kernel_size(r, "num_heads", &heads) || !kernel_size(r, "num_key_value_heads", &kv_heads) ||
        !kernel_size(r, "head_dim", &size))
        return skip_size(r);
    if (!kernel_size(r, "step", &step)) step = 0;
    double window = kernel_number(r, "window_size"); /* NaN: all tokens */
    kernel_text(r, "kv_cache_dtype", cache, sizeof cache);
    const char *stored = strcmp(cache, "fp8") == 0 && l.row.dtype != FT_FLOAT8 ? ":int8" : "";
    bool is_decode = strcmp(l.name, "generation_attention") == 0;
    long long keys = (long long)queries + step, q = is_decode ? 1 : (long long)queries, d = size;
    l.row.op = "Attention";
    kernel_inputs(&l.row, "Nx%lldx%lldx%lld;Nx%lldx%lldx%lld%s;Nx%lldx%lldx%lld%s", (long long)heads, q, d,
                  (long long)kv_heads, keys, d, stored, (long long)kv_heads, keys, d, stored);
    if (window >= 1 && window < 1e9)
        kernel_attributes(&l.row, "is_causal=1;local_window_size=%lld", (long long)window);
    else
        kernel_attributes(&l.row, "is_causal=1");
    kernel_setting_add(&l.row, "type=%s;cache=%s;cached=%lld", l.type, cache, (long long)step);
    return kernel_add(r, &l.row);
}

static ft_status read_encoder(kernel_reader *r) {
    llm_row l;
    int64_t length, heads, size;
    if (!read_common(r, "attn_dtype", &l)) return skip_type(r);
    if (!kernel_size(r, "batch_size", &l.row.batch) || !kernel_size(r, "isl", &length) ||
        !kernel_size(r, "num_heads", &heads) || !kernel_size(r, "head_dim", &size))
        return skip_size(r);
    long long h = heads, s = length, d = size;
    l.row.op = "Attention";
    kernel_inputs(&l.row, "Nx%lldx%lldx%lld;Nx%lldx%lldx%lld;Nx%lldx%lldx%lld", h, s, d, h, s, d, h, s, d);
    kernel_setting_add(&l.row, "type=%s", l.type);
    return kernel_add(r, &l.row);
}

/* --- Linear attention -------------------------------------------------------------------------------------------- */

/* Sizes of a layer with a state: groups of keys, heads of values, and the size of each. */
typedef struct state_sizes {
    int64_t batch, tokens, keys, key_size, values, value_size, window;
} state_sizes;

/* A layer is a causal convolution over queries, keys and values, and the recurrence; each row has one of the two. */
static ft_status add_state_kernel(kernel_reader *r, llm_row *l, const state_sizes *s, const char *rule) {
    long long tokens = s->tokens, keys = (long long)s->keys * s->key_size,
              values = (long long)s->values * s->value_size;
    char model[120];
    kernel_setting_add(&l->row, "model=%s", kernel_text(r, "model_name", model, sizeof model));
    l->row.batch = s->batch;
    l->row.dtype = FT_BFLOAT16;
    l->row.name = l->kernel;
    if (strncmp(l->kernel, "causal_conv1d", 13) == 0) {
        long long channels = 2 * keys + values;
        l->row.op = "Conv";
        kernel_inputs(&l->row, "Nx%lldx%lld;%lldx1x%lld:weight", channels, tokens, channels, (long long)s->window);
        kernel_attributes(&l->row, "group=%lld;pads=%lldx0", channels, (long long)s->window - 1);
        return kernel_add(r, &l->row);
    }
    l->row.op = "LinearAttention";
    kernel_inputs(&l->row, "Nx%lldx%lld;Nx%lldx%lld;Nx%lldx%lld", tokens, keys, tokens, keys, tokens, values);
    kernel_attributes(&l->row, "q_num_heads=%lld;kv_num_heads=%lld;update_rule=%s", (long long)s->keys,
                      (long long)s->values, rule);
    return kernel_add(r, &l->row);
}

static bool read_state_sizes(kernel_reader *r, state_sizes *s) {
    char phase[16];
    if (!kernel_size(r, "batch_size", &s->batch) || !kernel_size(r, "d_conv", &s->window)) return false;
    s->tokens = 1;
    bool is_decode = strcmp(kernel_text(r, "phase", phase, sizeof phase), "generation") == 0;
    return is_decode || kernel_size(r, "seq_len", &s->tokens);
}

static ft_status read_gdn(kernel_reader *r) {
    llm_row l;
    state_sizes s;
    read_common(r, NULL, &l);
    if (!read_state_sizes(r, &s) || !kernel_size(r, "num_k_heads", &s.keys) ||
        !kernel_size(r, "head_k_dim", &s.key_size) || !kernel_size(r, "num_v_heads", &s.values) ||
        !kernel_size(r, "head_v_dim", &s.value_size))
        return skip_size(r);
    return add_state_kernel(r, &l, &s, "gated_delta");
}

static ft_status read_mamba(kernel_reader *r) {
    llm_row l;
    state_sizes s;
    read_common(r, NULL, &l);
    if (!read_state_sizes(r, &s) || !kernel_size(r, "n_groups", &s.keys) || !kernel_size(r, "d_state", &s.key_size) ||
        !kernel_size(r, "nheads", &s.values) || !kernel_size(r, "head_dim", &s.value_size))
        return skip_size(r);
    return add_state_kernel(r, &l, &s, "gated");
}

static ft_status read_mla_module(kernel_reader *r) {
    return kernel_skip(r, "a module of several operators");
}

/* --- Collectives ------------------------------------------------------------------------------------------------- */

static ft_status read_collective(kernel_reader *r, const char *type) {
    llm_row l;
    int64_t size, ranks;
    char backend[64];
    if (!read_common(r, type, &l)) return skip_type(r);
    if (!kernel_size(r, "message_size", &size) || !kernel_size(r, "num_gpus", &ranks)) return skip_size(r);
    static const char *const ops[][2] = {{"all_reduce", "AllReduce"},
                                         {"all_gather", "AllGather"},
                                         {"reduce_scatter", "ReduceScatter"},
                                         {"alltoall", "AllToAll"}};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(ops[i][0], l.name) == 0) l.row.op = ops[i][1];
    if (l.row.op == NULL) return kernel_skip(r, "an unknown collective");
    if (strcmp(l.row.op, "AllGather") == 0) size = size / ranks > 1 ? size / ranks : 1;
    kernel_inputs(&l.row, "%lld", (long long)size);
    kernel_attributes(&l.row, "group_size=%lld", (long long)ranks);
    if (kernel_text(r, "backend", backend, sizeof backend)[0] != '\0')
        kernel_setting_add(&l.row, "backend=%s", backend);
    if (kernel_text(r, "implementation", backend, sizeof backend)[0] != '\0')
        kernel_setting_add(&l.row, "implementation=%s", backend);
    return kernel_add(r, &l.row);
}

static ft_status read_nccl(kernel_reader *r) {
    return read_collective(r, "nccl_dtype");
}

static ft_status read_allreduce(kernel_reader *r) {
    return read_collective(r, "allreduce_dtype");
}

#define COMMON "framework version op_name kernel_source latency_ms "

const kernel_layout aiconfigurator_layouts[] = {
    {"aiconfigurator GEMM", COMMON "gemm_dtype m n k", read_gemm},
    {"aiconfigurator attention", COMMON "attn_dtype kv_cache_dtype batch_size isl num_heads num_key_value_heads",
     read_attention},
    {"aiconfigurator encoder attention", COMMON "attn_dtype batch_size isl num_heads head_dim", read_encoder},
    {"aiconfigurator experts", COMMON "moe_dtype num_tokens hidden_size inter_size topk num_experts", read_experts},
    {"aiconfigurator MLA products", COMMON "bmm_dtype num_tokens num_heads", read_mla_product},
    {"aiconfigurator MLA modules", COMMON "mla_dtype gemm_type num_heads tp_size", read_mla_module},
    {"aiconfigurator gated delta rule", COMMON "phase d_conv num_k_heads head_k_dim num_v_heads head_v_dim", read_gdn},
    {"aiconfigurator Mamba", COMMON "phase d_conv d_state nheads head_dim n_groups", read_mamba},
    {"aiconfigurator NCCL", COMMON "nccl_dtype num_gpus message_size", read_nccl},
    {"aiconfigurator all-reduce", COMMON "allreduce_dtype num_gpus message_size", read_allreduce},
    {NULL, NULL, NULL},
};
