/* weights.c - bytes of the stored tensors of a rank, in the format that the request asks for.
 *
 * Only matrices of layers are packed, as runtimes do: products in a layer, and experts. The choice of experts, norms
 * and biases keep the type of activations; words and head too, unless the format has bits for them. */
#include <string.h>

#include "base/error.h"
#include "graph/geometry.h"
#include "serving/serving.h"

typedef enum weight_kind {
    WEIGHT_OTHER,
    WEIGHT_MATRIX,
    WEIGHT_EXPERT,
    WEIGHT_ROUTER,
    WEIGHT_TABLE,
    WEIGHT_HEAD,
    WEIGHT_SCALE, /* of a packed matrix */
} weight_kind;

typedef struct weight_use {
    weight_kind kind;
    uint32_t op, input;
} weight_use;

typedef struct weight_list {
    const ft_graph *graph;
    const serving_setup *setup;
    const model_layers *layers;
    weight_use *uses; /* per tensor */
    bool has_experts;
} weight_list;

/* --- Kinds ------------------------------------------------------------------------------------------------------- */

/* Whether the result of an operator is what experts are chosen by, itself or behind an operator or two. */
static bool leads_to_choice(const ft_graph *graph, const ft_op *op, int steps) {
    const ft_tensor *y = op_output(graph, op, 0);
    for (uint32_t u = 0; y != NULL && u < y->use_count; u++) {
        const ft_op *reader = &graph->ops[y->uses[u]];
        if (reader->def->cost == COST_MOE) {
            if (reader->input_count > 1 && reader->inputs[1] == op->outputs[0]) return true;
        } else if (steps > 0 && reader->def->cost != COST_MATMUL && leads_to_choice(graph, reader, steps - 1)) {
            return true;
        }
    }
    return false;
}

static bool is_lookup(const ft_op *op) {
    return op_is(op, "Gather") || op_is(op, "GatherBlockQuantized");
}

static weight_kind kind_of(const weight_list *l, uint32_t k, uint32_t i) {
    enum { MAX_STEPS = 2 };
    const ft_op *op = &l->graph->ops[k];
    const ft_tensor *t = op_input(l->graph, op, i);
    if (i < 32 && (op->def->scale_inputs >> i & 1) != 0) return WEIGHT_SCALE;
    if (t->rank < 2) return WEIGHT_OTHER;
    if (is_lookup(op)) return i == 0 ? WEIGHT_TABLE : WEIGHT_OTHER;
    if (op->def->cost == COST_MOE) return i >= 2 && t->rank == 3 ? WEIGHT_EXPERT : WEIGHT_OTHER;
    if (op->def->cost != COST_MATMUL || i == op->def->x) return WEIGHT_OTHER;
    if (l->layers->of_op[k] == 0) return WEIGHT_OTHER;
    if (l->layers->of_op[k] > l->layers->count) return WEIGHT_HEAD;
    return leads_to_choice(l->graph, op, MAX_STEPS) ? WEIGHT_ROUTER : WEIGHT_MATRIX;
}

/* A tensor that is words and head at once is the head. */
static void find_uses(weight_list *l) {
    const ft_graph *graph = l->graph;
    for (uint32_t k = 0; k < graph->op_count; k++) {
        const ft_op *op = &graph->ops[k];
        for (uint32_t i = 0; i < op->input_count && !op->is_folded; i++) {
            const ft_tensor *t = op_input(graph, op, i);
            if (t == NULL || t->role != FT_CONSTANT) continue;
            weight_use *use = &l->uses[op->inputs[i]];
            weight_kind kind = kind_of(l, k, i);
            l->has_experts |= kind == WEIGHT_EXPERT;
            if (use->kind == WEIGHT_OTHER || kind == WEIGHT_HEAD) *use = (weight_use){kind, k, i};
        }
    }
}

/* --- Bits -------------------------------------------------------------------------------------------------------- */

/* Whether a name has one of some words between its dots and slashes. */
static bool has_word(const char *name, const char *const *words) {
    for (; *words != NULL; words++)
        for (const char *at = strstr(name, *words); at != NULL; at = strstr(at + 1, *words)) {
            char after = at[strlen(*words)];
            if ((at == name || at[-1] == '.' || at[-1] == '/') && (after == '\0' || after == '.' || after == '/'))
                return true;
        }
    return false;
}

/* Bits of a matrix of a layer, by its part in it: llama.cpp's types depend on that. */
static double matrix_bits(const packed_format *f, const char *name) {
    static const char *const values[] = {"v_proj", "attn_v", "value", NULL},
                             *const downs[] = {"down_proj", "ffn_down", "ffn_down_exps", "fc2", NULL},
                             *const outputs[] = {"o_proj", "attn_output", "out_proj", NULL},
                             *const fused[] = {"qkv_proj", "attn_qkv", "query_key_value", "in_proj_qkvz", NULL};
    if (f->value_bits > 0 && has_word(name, values)) return f->value_bits;
    if (f->down_bits > 0 && has_word(name, downs)) return f->down_bits;
    if (f->output_bits > 0 && has_word(name, outputs)) return f->output_bits;
    return f->fused_bits > 0 && has_word(name, fused) ? f->fused_bits : f->bits;
}

/* Bits of a number in the format of the request; 0: not packed, it keeps its own type. */
static double packed_bits(const weight_list *l, const weight_use *use, const char *name) {
    const packed_format *f = l->setup->weights;
    switch (use->kind) {
    case WEIGHT_MATRIX:
        return f->is_of_experts && l->has_experts ? 0 : matrix_bits(f, name);
    case WEIGHT_EXPERT:
        return matrix_bits(f, name);
    case WEIGHT_TABLE:
        return f->table_bits;
    case WEIGHT_HEAD:
        return f->head_bits;
    case WEIGHT_ROUTER:
    case WEIGHT_SCALE:
    case WEIGHT_OTHER:
        break;
    }
    return 0;
}

/* Numbers that a tensor stands for. */
static double elems_of(const weight_list *l, const weight_use *use, const ft_tensor *t) {
    const ft_op *op = &l->graph->ops[use->op];
    double elems = (double)tensor_elems(l->graph, t);
    if (t->dtype != FT_UINT8) return elems;
    bool is_stated = ft_op_attr(op, "packed_elems") != NULL || ft_op_attr(op, "packed_blocks") != NULL;
    if (is_stated || op_attr_int(op, "K", 0) > 0) return (double)packed_elems(l->graph, op, use->input);
    int64_t bits = op_attr_int(op, "bits", op_attr_int(op, "expert_weight_bits", 4));
    return bits > 0 && bits < 8 ? elems * 8 / (double)bits : elems;
}

/* --- Bytes ------------------------------------------------------------------------------------------------------- */

static bool is_wide_float(ft_dtype dtype) {
    return dtype == FT_FLOAT32 || dtype == FT_FLOAT16 || dtype == FT_BFLOAT16;
}

static double bytes_of(const weight_list *l, uint32_t tensor) {
    const serving_setup *s = l->setup;
    const ft_tensor *t = &l->graph->tensors[tensor];
    const weight_use *use = &l->uses[tensor];
    if (s->has_host_table && use->kind == WEIGHT_TABLE) return 0;
    if (s->weights != NULL && use->kind == WEIGHT_SCALE) return 0; /* the bits of a format have their share */
    double bits = s->weights != NULL ? packed_bits(l, use, t->name) : 0;
    if (bits > 0) return elems_of(l, use, t) * bits / 8;
    bool is_matrix = use->kind != WEIGHT_OTHER && use->kind != WEIGHT_ROUTER;
    if (s->weights != NULL && is_matrix && !s->weights->is_of_experts && !is_wide_float(t->dtype))
        return elems_of(l, use, t) * (double)ft_dtype_bits(s->dtype) / 8; /* packed in the file, not in the format */
    ft_dtype dtype = t->dtype == s->file_dtype && use->kind != WEIGHT_SCALE ? s->dtype : t->dtype;
    return (double)dtype_bytes(dtype, tensor_elems(l->graph, t));
}

/* Numbers that the graph has as values are arguments of operators: axes, sizes. */
static bool is_weight(const ft_tensor *t) {
    return t->role == FT_CONSTANT && t->use_count > 0 && (t->value == NULL || dtype_info_of(t->dtype).is_float);
}

static ft_status sum(weight_list *l, arena *memory, double *bytes, ft_error *error) {
    const ft_graph *graph = l->graph;
    l->uses = ARENA_ARRAY(memory, weight_use, (size_t)graph->tensor_count + 1);
    if (l->uses == NULL) return FT_NOMEM(error);
    find_uses(l);
    *bytes = 0;
    for (uint32_t t = 0; t < graph->tensor_count; t++)
        if (is_weight(&graph->tensors[t])) *bytes += bytes_of(l, t);
    return FT_OK;
}

ft_status serving_weight_bytes(const ft_graph *rank, const model_layers *layers, const serving_setup *setup,
                               double *bytes, ft_error *error) {
    weight_list list = {.graph = rank, .setup = setup, .layers = layers};
    arena memory;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    ft_status status = sum(&list, &memory, bytes, error);
    arena_free(&memory);
    return status;
}
