/* adapters.c - a model as it is trained: without the caches of inference, and with low-rank adapters (LoRA) where only
 * those are trained.
 *
 * An adapter is two products beside a frozen one: y = x W + dropout(x) A B. All stored tensors of the base model are
 * frozen, so they have no gradient, no optimiser state, and their products need not keep their inputs. Matrices of a
 * packed base are held in 4 bits with a scale of 8 bits for each block of 64 and a float32 one for each 256 of these,
 * and unpacked for each product. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cost/layers.h"
#include "graph/geometry.h"
#include "training/training.h"

enum { BLOCK = 64, BLOCKS_PER_SCALE = 256, MAX_LISTED = 24, NAME_SIZE = 256 };

typedef struct adapter_builder {
    const ft_graph *from;
    ft_graph *graph;
    const ft_training *training;
    arena memory;
    model_layers layers;
    uint32_t added; /* adapters */
    ft_error *error;
} adapter_builder;

/* --- Targets ----------------------------------------------------------------------------------------------------- */

static uint32_t weight_of(const ft_graph *graph, const ft_op *op) {
    uint32_t i = op->def->w == 0 ? 1 : op->def->w;
    const ft_tensor *w = op_input(graph, op, i), *x = op_input(graph, op, op->def->x);
    if (op->is_folded || op->def->cost != COST_MATMUL || op->def->packed_inputs != 0 || w == NULL || x == NULL)
        return FT_NONE;
    bool is_matrix = w->role == FT_CONSTANT && w->rank == 2 && dtype_info_of(w->dtype).is_float;
    return is_matrix && op->outputs[0] != FT_NONE ? op->inputs[i] : FT_NONE;
}

static bool is_in_layer(const adapter_builder *b, uint32_t op) {
    return b->layers.of_op[op] > 0 && b->layers.of_op[op] <= b->layers.count;
}

/* Whether a name has a part between dots that is one of the words of a list separated by commas. */
static bool has_part(const char *name, const char *list) {
    for (const char *at = list; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        size_t length = strcspn(at, ",");
        for (const char *part = name; *part != '\0'; part += strcspn(part, "."), part += *part == '.')
            if (strcspn(part, ".") == length && length > 0 && strncmp(part, at, length) == 0) return true;
    }
    return false;
}

static bool is_target(const adapter_builder *b, uint32_t op, uint32_t weight) {
    const char *targets = b->training->lora_targets;
    if (b->training->lora_rank == 0 || weight == FT_NONE) return false;
    if (targets == NULL || strcmp(targets, "all") == 0) return is_in_layer(b, op);
    return has_part(b->from->tensors[weight].name, targets);
}

/* The part of a weight's name before ".weight". */
static size_t module_of(const char *name, const char **start) {
    const char *end = strrchr(name, '.');
    if (end == NULL) end = name + strlen(name);
    *start = end;
    while (*start > name && (*start)[-1] != '.') --*start;
    return (size_t)(end - *start);
}

/* "no product is called 'foo'; there are: q_proj, k_proj, ..." */
static ft_status fail_target(const adapter_builder *b, const char *target, size_t length) {
    char list[512] = "";
    for (uint32_t k = 0; k < b->from->op_count; k++) {
        uint32_t w = weight_of(b->from, &b->from->ops[k]);
        const char *module;
        size_t size = w == FT_NONE ? 0 : module_of(b->from->tensors[w].name, &module), used = strlen(list);
        char one[64];
        snprintf(one, sizeof one, "%.*s", (int)size, size > 0 ? module : "");
        if (size == 0 || size >= sizeof one || has_part(one, list) || used + size + 2 > sizeof list) continue;
        snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? "," : "", one);
    }
    return ft_fail(b->error, FT_ERR_USAGE, "lora: no product of '%s' is called '%.*s'; there are: %s", b->from->name,
                   (int)length, target, list);
}

static ft_status check_targets(const adapter_builder *b) {
    const char *targets = b->training->lora_targets;
    if (b->training->lora_rank == 0 || targets == NULL || strcmp(targets, "all") == 0) return FT_OK;
    for (const char *at = targets; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        char word[64];
        size_t length = strcspn(at, ",");
        bool is_found = false;
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        for (uint32_t k = 0; k < b->from->op_count && !is_found; k++) {
            uint32_t w = weight_of(b->from, &b->from->ops[k]);
            is_found = w != FT_NONE && has_part(b->from->tensors[w].name, word);
        }
        if (!is_found) return fail_target(b, at, length);
    }
    return FT_OK;
}

/* --- Frozen and packed weights ----------------------------------------------------------------------------------- */

static void freeze(const adapter_builder *b) {
    for (uint32_t i = 0; i < b->graph->tensor_count; i++)
        if (b->graph->tensors[i].role == FT_CONSTANT) b->graph->tensors[i].is_frozen = true;
}

/* The product behind the last layer, with a matrix that no other operator reads (a table of words may). */
static bool is_head(const adapter_builder *b, uint32_t op, uint32_t weight) {
    return b->layers.of_op[op] > b->layers.count && b->from->tensors[weight].use_count == 1;
}

static void pack(const adapter_builder *b) {
    for (uint32_t k = 0; k < b->from->op_count; k++) {
        uint32_t w = weight_of(b->from, &b->from->ops[k]);
        if (w == FT_NONE || !(is_in_layer(b, k) || (b->training->has_packed_head && is_head(b, k, w)))) continue;
        uint64_t elems = tensor_elems(b->from, &b->from->tensors[w]), blocks = num_div_up(elems, BLOCK);
        uint64_t scales = num_add_sat(blocks, num_mul_sat(num_div_up(blocks, BLOCKS_PER_SCALE), 4));
        b->graph->tensors[w].held_bytes = num_add_sat(num_div_up(elems, 2), scales);
    }
}

/* --- Adapters ---------------------------------------------------------------------------------------------------- */

/* Columns of the product: the last dimension of its result. */
static ft_status add_matrix(const adapter_builder *b, uint32_t like, const char *part, int64_t rows, int64_t columns,
                            uint32_t *made) {
    char name[NAME_SIZE];
    const ft_tensor *w = &b->graph->tensors[like];
    snprintf(name, sizeof name, "%.200s.lora_%s", w->name, part);
    ft_tensor t = {.name = name, .dtype = w->dtype, .role = FT_CONSTANT, .rank = 2, .dims = {rows, columns}};
    return graph_add_tensor(b->graph, &t, made, b->error);
}

static ft_status add_value(const adapter_builder *b, uint32_t like, int64_t width, const char *suffix, uint32_t *made) {
    FT_TRY(training_like(b->graph, like, suffix, made, b->error));
    ft_tensor *t = &b->graph->tensors[*made];
    t->dims[t->rank - 1] = width;
    return FT_OK;
}

static ft_status add_adapter(adapter_builder *b, const ft_op *op, uint32_t weight) {
    const ft_tensor *x = op_input(b->from, op, op->def->x), *y = op_output(b->from, op, 0);
    uint32_t in = op->inputs[op->def->x], out = op->outputs[0];
    int64_t rank = b->training->lora_rank, width = y->dims[y->rank - 1];
    uint32_t base, dropped, low, high, a, up;
    char name[4][NAME_SIZE];
    static const char *const ops[4] = {"Dropout", "down/MatMul", "up/MatMul", "Add"};
    for (int i = 0; i < 4; i++) snprintf(name[i], sizeof name[i], "%.200s/lora/%s", op->name, ops[i]);
    FT_TRY(add_matrix(b, weight, "a", x->dims[x->rank - 1], rank, &a));
    FT_TRY(add_matrix(b, weight, "b", rank, width, &up));
    FT_TRY(training_like(b->graph, out, "base", &base, b->error));
    FT_TRY(training_like(b->graph, in, "dropout", &dropped, b->error));
    FT_TRY(add_value(b, in, rank, "lora_a", &low));
    FT_TRY(add_value(b, out, width, "lora_b", &high));
    ft_op copy = *op;
    copy.outputs = &base;
    copy.output_count = 1;
    FT_TRY(graph_add_op(b->graph, &copy, b->error));
    FT_TRY(training_op(b->graph, "Dropout", name[0], &in, 1, dropped, b->error));
    FT_TRY(training_op(b->graph, "MatMul", name[1], (const uint32_t[]){dropped, a}, 2, low, b->error));
    FT_TRY(training_op(b->graph, "MatMul", name[2], (const uint32_t[]){low, up}, 2, high, b->error));
    b->added++;
    return training_op(b->graph, "Add", name[3], (const uint32_t[]){base, high}, 2, out, b->error);
}

/* --- Caches ------------------------------------------------------------------------------------------------------ */

/* Attention without the caches that it reads and writes: training has none. */
static ft_status copy_attention(adapter_builder *b, const ft_op *op) {
    attention_geometry g;
    if (!attention_geometry_of(b->from, op, &g) || g.past_key == 0) return graph_add_op(b->graph, op, b->error);
    uint32_t *inputs = arena_copy(&b->memory, op->inputs, (op->input_count + 1) * sizeof *inputs);
    uint32_t *outputs = arena_copy(&b->memory, op->outputs, (op->output_count + 1) * sizeof *outputs);
    const uint32_t past[] = {g.past_key, g.past_value}, present[] = {g.present_key, g.present_value};
    if (inputs == NULL || outputs == NULL) return FT_NOMEM(b->error);
    for (int i = 0; i < 2; i++) {
        if (past[i] > 0 && past[i] < op->input_count) inputs[past[i]] = FT_NONE;
        bool is_dropped = present[i] > 0 && present[i] < op->output_count && outputs[present[i]] != FT_NONE;
        if (is_dropped && b->from->tensors[outputs[present[i]]].use_count == 0) outputs[present[i]] = FT_NONE;
    }
    ft_op copy = *op;
    copy.inputs = inputs;
    copy.outputs = outputs;
    return graph_add_op(b->graph, &copy, b->error);
}

/* --- The graph --------------------------------------------------------------------------------------------------- */

static ft_status copy_outputs(adapter_builder *b) {
    bool *is_made = ARENA_ARRAY(&b->memory, bool, (size_t)b->graph->tensor_count + 1);
    if (is_made == NULL) return FT_NOMEM(b->error);
    for (uint32_t k = 0; k < b->graph->op_count; k++)
        for (uint32_t o = 0; o < b->graph->ops[k].output_count; o++)
            if (b->graph->ops[k].outputs[o] != FT_NONE) is_made[b->graph->ops[k].outputs[o]] = true;
    for (uint32_t i = 0; i < b->from->outputs.count; i++) {
        uint32_t output = b->from->outputs.items[i];
        if (b->from->tensors[output].role != FT_ACTIVATION || is_made[output])
            FT_TRY(graph_add_output(b->graph, output, b->error));
    }
    return FT_OK;
}

static ft_status fill(adapter_builder *b) {
    if (!layers_find(b->from, &b->memory, &b->layers)) return FT_NOMEM(b->error);
    FT_TRY(check_targets(b));
    if (b->training->lora_rank > 0) freeze(b);
    if (b->training->has_packed_base) pack(b);
    for (uint32_t k = 0; k < b->from->op_count; k++) {
        const ft_op *op = &b->from->ops[k];
        uint32_t weight = weight_of(b->from, op);
        if (is_target(b, k, weight))
            FT_TRY(add_adapter(b, op, weight));
        else if (op->def->cost == COST_ATTENTION && !op->is_folded)
            FT_TRY(copy_attention(b, op));
        else
            FT_TRY(graph_add_op(b->graph, op, b->error));
    }
    if (b->training->lora_rank > 0 && b->added == 0)
        return ft_fail(b->error, FT_ERR_USAGE, "lora: '%s' has no product that an adapter could be added to",
                       b->from->name);
    FT_TRY(copy_outputs(b));
    return training_copy_end(b->from, b->graph, b->error);
}

ft_status training_graph_make(const ft_graph *bound, const ft_training *training, ft_graph **graph, ft_error *error) {
    adapter_builder b = {.from = bound, .training = training, .error = error};
    FT_TRY(training_copy_tensors(bound, &b.graph, error));
    arena_init(&b.memory, FT_MAX_GRAPH_BYTES);
    ft_status status = fill(&b);
    arena_free(&b.memory);
    if (status == FT_OK)
        *graph = b.graph;
    else
        ft_graph_free(b.graph);
    return status;
}
