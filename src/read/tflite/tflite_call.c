/* tflite_call.c - inlining of sub-graphs that operators call.
 *
 * The caller's tensors replace the inputs of the sub-graph, and its results replace the caller's outputs, so no
 * operator remains for the call itself. Rules (docs/formats/tflite.md):
 *   CALL, STABLEHLO_COMPOSITE  the sub-graph;
 *   IF, STABLEHLO_CASE         the branch with the most operators, the first of equals;
 *   WHILE, STABLEHLO_WHILE     the condition and the body, in a loop (tflite_loop.c);
 *   CALL_ONCE                  nothing: it runs at initialisation, not at each inference.
 * Recursion and nesting beyond FT_MAX_DEPTH are errors. */
#include "read/tflite/tflite.h"

#include <string.h>

ft_status tflite_callee(tflite_model *model, const tflite_site *site, int64_t index, tflite_frame *inner) {
    if (index < 0 || index >= model->subgraphs.count)
        return ft_fail(model->error, FT_ERR_DAMAGED, "calls sub-graph %lld, but there are only %u", (long long)index,
                       model->subgraphs.count);
    if (model->is_open[index])
        return ft_fail(model->error, FT_ERR_GRAPH, "sub-graph %lld calls itself, directly or through others",
                       (long long)index);
    if (model->depth >= FT_MAX_DEPTH)
        return ft_fail(model->error, FT_ERR_LIMIT, "sub-graphs are nested more than %d deep", FT_MAX_DEPTH);
    *inner = (tflite_frame){.loop = site->loop};
    inner->prefix =
        arena_format(&model->scratch, "%s%s_%u/", site->frame->prefix, site->op->code->type, site->op->index);
    if (inner->prefix == NULL) return FT_NOMEM(model->error);
    FT_TRY(tflite_add_work(model, strlen(inner->prefix) / 4));
    return tflite_frame_open(model, index, inner);
}

ft_status tflite_inline(tflite_model *model, const tflite_site *site, int64_t index, tflite_list *results) {
    tflite_frame inner;
    FT_TRY(tflite_callee(model, site, index, &inner));
    if (inner.inputs.count > site->given.count)
        return ft_fail(model->error, FT_ERR_GRAPH, "sub-graph %lld has %u inputs, but the call passes %u",
                       (long long)index, inner.inputs.count, site->given.count);
    for (uint32_t i = 0; i < inner.inputs.count; i++)
        inner.map[flat_int_at(&inner.inputs, i, FLAT_I32)] = site->given.items[i];
    model->is_open[index] = true;
    model->depth++;
    ft_status status = tflite_add_operators(model, &inner);
    model->is_open[index] = false;
    model->depth--;
    FT_TRY(status);
    return tflite_map_tensors(model, &inner, &inner.outputs, results);
}

/* Replaces the operator's outputs by the results of the sub-graph. */
static ft_status return_results(tflite_model *model, const tflite_site *site, const tflite_list *results) {
    const flat_vector *outputs = &site->op->outputs;
    if (results->count < outputs->count)
        return ft_fail(model->error, FT_ERR_GRAPH,
                       "the called sub-graph returns %u tensors, but the call has %u outputs", results->count,
                       outputs->count);
    for (uint32_t i = 0; i < outputs->count; i++) {
        int64_t output = flat_int_at(outputs, i, FLAT_I32);
        if (output == -1) continue;
        if (site->frame->map[output] != TFLITE_UNMAPPED)
            return ft_fail(model->error, FT_ERR_GRAPH, "tensor %lld is read before the sub-graph that computes it",
                           (long long)output);
        site->frame->map[output] = results->items[i];
    }
    return FT_OK;
}

static uint32_t operator_count(tflite_model *model, int64_t index) {
    if (index < 0 || index >= model->subgraphs.count) return 0;
    flat_table table = flat_table_at(&model->subgraphs, (uint32_t)index);
    return flat_tables(&table, SUBGRAPH_OPERATORS).count;
}

/* The first input is the condition; the others are arguments of the branch. */
static ft_status inline_branch(tflite_model *model, tflite_site *site, const int64_t *branches, uint32_t count,
                               tflite_list *results) {
    if (count == 0) return ft_fail(model->error, FT_ERR_GRAPH, "it has no branch");
    if (site->given.count == 0) return ft_fail(model->error, FT_ERR_GRAPH, "it has no condition");
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (operator_count(model, branches[i]) > operator_count(model, branches[best])) best = i;
    }
    site->given.items++;
    site->given.count--;
    return tflite_inline(model, site, branches[best], results);
}

static ft_status inline_case(tflite_model *model, tflite_site *site, const flat_table *options, tflite_list *results) {
    flat_vector list = flat_numbers(options, 0, FLAT_I32);
    int64_t branches[FT_MAX_DEPTH];
    if (list.count > FT_MAX_DEPTH)
        return ft_fail(model->error, FT_ERR_LIMIT, "it has %u branches; at most %d are supported", list.count,
                       FT_MAX_DEPTH);
    for (uint32_t i = 0; i < list.count; i++) branches[i] = flat_int_at(&list, i, FLAT_I32);
    return inline_branch(model, site, branches, list.count, results);
}

static ft_status inline_called(tflite_model *model, tflite_site *site, tflite_list *results) {
    flat_table options = flat_child(&site->op->table, OPERATOR_OPTIONS);
    flat_table options_2 = flat_child(&site->op->table, OPERATOR_OPTIONS_2);
    int64_t pair[] = {flat_int(&options, 0, FLAT_I32, 0), flat_int(&options, 1, FLAT_I32, 0)};
    int64_t pair_2[] = {flat_int(&options_2, 0, FLAT_I32, 0), flat_int(&options_2, 1, FLAT_I32, 0)};
    switch (site->op->code->builtin) {
    case BUILTIN_CALL:
        return tflite_inline(model, site, pair[0], results);
    case BUILTIN_STABLEHLO_COMPOSITE:
        return tflite_inline(model, site, pair_2[1], results);
    case BUILTIN_IF:
        return inline_branch(model, site, pair, 2, results);
    case BUILTIN_STABLEHLO_CASE:
        return inline_case(model, site, &options_2, results);
    case BUILTIN_WHILE:
        return tflite_inline_loop(model, site, pair[0], pair[1], results);
    default:
        return tflite_inline_loop(model, site, pair_2[0], pair_2[1], results);
    }
}

ft_status tflite_call(tflite_model *model, tflite_frame *frame, const tflite_operator *op, bool *is_call) {
    *is_call = true;
    switch (op->code->builtin) {
    case BUILTIN_CALL_ONCE:
        return FT_OK;
    case BUILTIN_CALL:
    case BUILTIN_STABLEHLO_COMPOSITE:
    case BUILTIN_IF:
    case BUILTIN_STABLEHLO_CASE:
    case BUILTIN_WHILE:
    case BUILTIN_STABLEHLO_WHILE:
        break;
    default:
        *is_call = false;
        return FT_OK;
    }
    tflite_site site = {.frame = frame, .op = op, .loop = frame->loop};
    tflite_list results;
    FT_TRY(tflite_map_tensors(model, frame, &op->inputs, &site.given));
    FT_TRY(inline_called(model, &site, &results));
    return return_results(model, &site, &results);
}
