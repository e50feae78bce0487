/* cache.c - finding the caches of a language model.
 *
 * No format marks them. An input is a cache when attention reads it as past keys or values, when an operator with a
 * recurrent state reads it, or when it has the name that every exporter gives (past_key_values.0.key, past_states.0).
 * Sizes follow from the shape: batch first (behind the 2 of stacked keys and values), rows before the size of a head.
 */
#include "cost/cache.h"

#include <string.h>

#include "graph/geometry.h"

/* --- Recognising ------------------------------------------------------------------------------------------------- */

static bool begins_with(const char *name, const char *start) {
    return strncmp(name, start, strlen(start)) == 0;
}

/* "present_key_values.0.key" of Optimum, "present.0.key" of ONNX Runtime GenAI. */
static bool is_named_cache(const ft_tensor *t) {
    return begins_with(t->name, t->role == FT_INPUT ? "past" : "present");
}

static bool has_cache_shape(const ft_tensor *t) {
    return t->rank >= 3 && t->rank <= 5 && dtype_info_of(t->dtype).bits <= 32;
}

/* The operator that reads a tensor as its past keys, values or state; FT_NONE: there is none. */
static uint32_t reader_of_past(const ft_graph *model, uint32_t tensor) {
    const ft_tensor *t = &model->tensors[tensor];
    for (uint32_t i = 0; i < t->use_count; i++) {
        const ft_op *op = &model->ops[t->uses[i]];
        uint32_t past[2];
        if (!op_past_inputs(model, op, past)) continue;
        for (uint32_t k = 0; k < 2; k++)
            if (past[k] != 0 && past[k] < op->input_count && op->inputs[past[k]] == tensor) return t->uses[i];
    }
    return FT_NONE;
}

/* --- Sizes ------------------------------------------------------------------------------------------------------- */

static int32_t batch_axis(const ft_tensor *t) {
    return t->rank == 5 ? 1 : 0;
}

/* Elements of one sequence without the axis that grows; 0 when another dimension is not known. */
static uint64_t elems_without(const ft_tensor *t, int32_t axis) {
    uint64_t elems = 1;
    for (int32_t i = 0; i < t->rank; i++) {
        if (i == axis || i == batch_axis(t)) continue;
        if (t->dims[i] <= 0) return 0;
        elems = num_mul_sat(elems, (uint64_t)t->dims[i]);
    }
    return elems;
}

/* Attention has rows before the size of a head, and so has what is kept of an encoder; of other caches only a symbol
 * grows. */
static int32_t growing_axis(const ft_graph *model, const ft_tensor *t, uint32_t op, bool is_of_input) {
    int32_t axis = t->rank - 2;
    bool is_attention = op != FT_NONE && model->ops[op].def->cost == COST_ATTENTION;
    return axis > batch_axis(t) && (is_attention || is_of_input || t->dims[axis] < 0) ? axis : -1;
}

static bool describe(const ft_graph *model, uint32_t tensor, uint32_t op, cache_tensor *cache) {
    const ft_tensor *t = &model->tensors[tensor];
    bool is_of_input = strstr(t->name, ".encoder.") != NULL || strstr(t->name, "cross") != NULL;
    *cache = (cache_tensor){
        .tensor = tensor, .op = op, .axis = growing_axis(model, t, op, is_of_input), .is_of_input = is_of_input};
    cache->elems = elems_without(t, cache->axis);
    if (cache->elems == 0) return false;
    if (cache->axis >= 0) cache->length = t->dims[cache->axis];
    cache->is_index = strstr(t->name, ".index") != NULL;
    if (op == FT_NONE) return true;
    int64_t window = op_attr_int(&model->ops[op], "local_window_size", 0);
    if (window > 0) cache->window = (uint64_t)window;
    return true;
}

/* Whether a tensor is a cache; *op: the operator that reads it, or FT_NONE. */
static bool is_cache(const ft_graph *model, uint32_t tensor, uint32_t *op) {
    const ft_tensor *t = &model->tensors[tensor];
    *op = FT_NONE;
    if (!has_cache_shape(t)) return false;
    if (t->role == FT_INPUT) *op = reader_of_past(model, tensor);
    return *op != FT_NONE || is_named_cache(t);
}

static void add_caches(const ft_graph *model, const index_list *from, cache_tensor *items, uint32_t *count) {
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t op;
        if (is_cache(model, from->items[i], &op)) *count += describe(model, from->items[i], op, &items[*count]);
    }
}

static bool is_any_of_input(const cache_list *caches) {
    for (uint32_t i = 0; i < caches->count; i++)
        if (caches->items[i].is_of_input) return true;
    return false;
}

bool caches_exist(const ft_graph *model) {
    const index_list *lists[] = {&model->inputs, &model->outputs};
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++)
        for (uint32_t i = 0; i < lists[l]->count; i++) {
            cache_tensor cache;
            uint32_t op;
            if (is_cache(model, lists[l]->items[i], &op) && describe(model, lists[l]->items[i], op, &cache))
                return true;
        }
    return false;
}

bool caches_find(const ft_graph *model, arena *memory, cache_list *caches) {
    size_t room = (size_t)model->inputs.count + model->outputs.count + 1;
    cache_tensor *items = ARENA_ARRAY(memory, cache_tensor, room);
    *caches = (cache_list){.items = items};
    if (items == NULL) return false;
    add_caches(model, &model->inputs, items, &caches->count);
    uint32_t inputs = caches->count;
    if (is_any_of_input(caches)) return true;
    add_caches(model, &model->outputs, items, &caches->count);
    if (inputs == 0) return true;
    uint32_t kept = inputs; /* of outputs, only those that no input continues: of an encoder in the same graph */
    for (uint32_t i = inputs; i < caches->count; i++)
        if (items[i].is_of_input) items[kept++] = items[i];
    caches->count = kept;
    return true;
}
