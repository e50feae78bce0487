/* gguf_names.c - the weights of a GGUF file by the names that the graph has for them: "attn/q_proj" of layer 3 is
 * "blk.3.attn_q.weight". */
#include <stdio.h>
#include <string.h>

#include "read/language/gguf.h"

typedef struct weight_name {
    const char *path, *part; /* of the graph; no part: it is the ending of the name in the file as well */
    const char *names;       /* in the file, alternatives separated by spaces; the first that is there counts */
} weight_name;

/* clang-format off */
static const weight_name weight_names[] = {
    {"embed_tokens", NULL, "token_embd"}, {"embed_positions", NULL, "position_embd"},
    {"embed_layernorm", NULL, "token_embd_norm"}, {"norm", NULL, "output_norm"}, {"lm_head", NULL, "output"},

    {"input_layernorm", NULL, "attn_norm"},
    {"post_attention_layernorm", NULL, "post_attention_norm attn_norm_2 ffn_norm"},
    {"pre_feedforward_layernorm", NULL, "ffn_norm post_attention_norm"},
    {"post_feedforward_layernorm", NULL, "post_ffw_norm"},

    {"attn/q_proj", NULL, "attn_q"}, {"attn/k_proj", NULL, "attn_k"}, {"attn/v_proj", NULL, "attn_v"},
    {"attn/qkv_proj", NULL, "attn_qkv"}, {"attn/o_proj", NULL, "attn_output"},
    {"attn/q_norm", NULL, "attn_q_norm"}, {"attn/k_norm", NULL, "attn_k_norm"}, {"attn", "sinks", "attn_sinks.weight"},
    {"attn/q_a_proj", NULL, "attn_q_a"}, {"attn/q_a_layernorm", NULL, "attn_q_a_norm"},
    {"attn/q_b_proj", NULL, "attn_q_b"}, {"attn/kv_a_proj", NULL, "attn_kv_a_mqa"},
    {"attn/kv_a_layernorm", NULL, "attn_kv_a_norm"}, {"attn/kv_b_proj", NULL, "attn_kv_b"},

    {"mlp/gate_proj", NULL, "ffn_gate"}, {"mlp/up_proj", NULL, "ffn_up"}, {"mlp/down_proj", NULL, "ffn_down"},
    {"mlp/gate_up_proj", NULL, "ffn_up"},

    {"moe/router", "e_score_correction_bias", "exp_probs_b.bias"}, {"moe/router", NULL, "ffn_gate_inp"},
    {"moe/experts", "gate_proj.weight", "ffn_gate_exps.weight"},
    {"moe/experts", "up_proj.weight", "ffn_up_exps.weight"},
    {"moe/experts", "down_proj.weight", "ffn_down_exps.weight"},
    {"moe/experts", "gate_proj.bias", "ffn_gate_exps.bias"}, {"moe/experts", "up_proj.bias", "ffn_up_exps.bias"},
    {"moe/experts", "down_proj.bias", "ffn_down_exps.bias"},
    {"moe/shared_expert/gate_proj", NULL, "ffn_gate_shexp"}, {"moe/shared_expert/up_proj", NULL, "ffn_up_shexp"},
    {"moe/shared_expert/down_proj", NULL, "ffn_down_shexp"}, {"moe/shared_expert_gate", NULL, "ffn_gate_inp_shexp"},

    {"mixer/in_proj", NULL, "ssm_in"}, {"mixer/conv1d", NULL, "ssm_conv1d"}, {"mixer/x_proj", NULL, "ssm_x"},
    {"mixer/dt_proj", NULL, "ssm_dt"}, {"mixer/out_proj", NULL, "ssm_out"}, {"mixer/norm", NULL, "ssm_norm"},
    {"mixer", "A_log", "ssm_a"}, {"mixer", "D", "ssm_d"}, {"mixer", "dt_bias", "ssm_dt.bias"},
};
/* clang-format on */

static uint32_t find_name(gguf_stored *g, uint32_t layer, const char *name, size_t length, const char *ending) {
    char full[256];
    uint32_t index;
    int size = layer == FT_NONE ? snprintf(full, sizeof full, "%.*s", (int)length, name)
                                : snprintf(full, sizeof full, "blk.%u.%.*s", layer, (int)length, name);
    if (size < 0 || (size_t)size + strlen(ending) + 2 > sizeof full) return FT_NONE;
    if (ending[0] != '\0') snprintf(full + size, sizeof full - (size_t)size, ".%s", ending);
    return map_get(&g->weights->names, full, &index) ? index : FT_NONE;
}

static uint32_t find_row(gguf_stored *g, uint32_t layer, const weight_name *row, const char *part) {
    const char *name = row->names;
    while (*name != '\0') {
        size_t length = strcspn(name, " ");
        uint32_t index = find_name(g, layer, name, length, row->part == NULL ? part : "");
        if (index != FT_NONE) return index;
        name += length;
        name += strspn(name, " ");
    }
    return FT_NONE;
}

static bool is_plain_float(const weight *w) {
    return w->type->block_elems == 1 && dtype_info_of(w->type->dtype).is_float;
}

/* Keys and values of latent attention are expanded by one matrix in older files and by two in newer ones, which may
 * differ in type: both together are blocks of a row. */
static bool find_halves(gguf_stored *g, uint32_t layer, language_block *block) {
    uint32_t keys = find_name(g, layer, "attn_k_b", 8, "weight"), values = find_name(g, layer, "attn_v_b", 8, "weight");
    if (keys == FT_NONE || values == FT_NONE) return false;
    const weight *k = &g->weights->items[keys], *v = &g->weights->items[values];
    uint64_t row = v->rank > 0 ? (uint64_t)v->dims[v->rank - 1] : 0, rows = row > 0 ? (k->elems + v->elems) / row : 0;
    if (rows == 0 || (k->elems + v->elems) % row != 0 || (k->bytes + v->bytes) % rows != 0) return false;
    if (row > INT32_MAX || (k->bytes + v->bytes) / rows > INT32_MAX) return false;
    g->is_used[keys] = g->is_used[values] = true;
    *block = (language_block){.block_elems = (int32_t)row,
                              .block_bytes = (int32_t)((k->bytes + v->bytes) / rows),
                              .bytes = k->bytes + v->bytes};
    if (!is_plain_float(k) || v->type != k->type) return true;
    block->dtype = k->type->dtype;
    block->block_elems = 1;
    block->block_bytes = k->type->block_bytes;
    return true;
}

static bool find(language_stored *stored, uint32_t layer, const char *path, const char *part, language_block *block) {
    gguf_stored *g = stored->owner;
    uint32_t index = FT_NONE;
    for (size_t i = 0; i < sizeof weight_names / sizeof weight_names[0] && index == FT_NONE; i++) {
        const weight_name *row = &weight_names[i];
        bool is_part = row->part == NULL || strcmp(row->part, part) == 0;
        if (is_part && strcmp(row->path, path) == 0) index = find_row(g, layer, row, part);
    }
    if (index == FT_NONE) return strcmp(path, "attn/kv_b_proj") == 0 && find_halves(g, layer, block);
    const weight *w = &g->weights->items[index];
    if (w->type->block_elems == 1 && !is_plain_float(w)) return false; /* integers */
    g->is_used[index] = true;
    *block = (language_block){w->type->dtype, w->type->block_elems, w->type->block_bytes, w->bytes};
    return true;
}

ft_status gguf_stored_init(gguf_stored *g, const weight_list *weights, ft_error *error) {
    *g = (gguf_stored){.base = {.find = find, .owner = g}, .weights = weights};
    g->is_used = ARENA_ARRAY(weights->memory, bool, (size_t)weights->count + 1);
    if (g->is_used == NULL) return FT_NOMEM(error);
    memset(g->is_used, 0, weights->count * sizeof *g->is_used);
    return FT_OK;
}

/* Tables of rotary positions are no parameters: a config.json's model computes them. */
static bool is_table(const char *name) {
    return strstr(name, "rope_freqs") != NULL || strstr(name, "rope_factors_") != NULL ||
           strstr(name, "attn_rot_embd") != NULL;
}

bool gguf_stored_is_whole(const gguf_stored *g, const char **left) {
    uint64_t elems = 0;
    *left = "some are missing";
    if (g->base.missing > 0) return false;
    for (uint32_t i = 0; i < g->weights->count; i++) {
        const weight *w = &g->weights->items[i];
        if (g->is_used[i]) elems = num_add_sat(elems, w->elems);
        if (g->is_used[i] || is_table(w->name)) continue;
        *left = w->name;
        return false;
    }
    *left = "one stands for several";
    return elems == g->base.elems;
}
