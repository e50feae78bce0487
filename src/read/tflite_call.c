/* tflite_call.c - operators that run other sub-graphs: those are unfolded in place.
 *
 * The tensors a caller gives take the place of the sub-graph's inputs, and what the sub-graph returns takes the place
 * of the caller's outputs, so no operator is left for the call itself. Rules (docs/formats/tflite.md):
 *   CALL, STABLEHLO_COMPOSITE  the sub-graph;
 *   IF, STABLEHLO_CASE         the branch with the most operators, the first of equals;
 *   WHILE, STABLEHLO_WHILE     the condition and the body, in a loop whose trip count is not known;
 *   CALL_ONCE                  nothing: it runs when the model is set up, not at each inference.
 * A sub-graph that calls itself is refused; so is nesting beyond FT_MAX_DEPTH. */
#include "read/tflite.h"

/* Whether the sub-graph is already being unfolded, or lies too deep. */
static ft_status check_nesting(tflite_model *model, int64_t index) {
    if (index < 0 || index >= model->subgraphs.count)
        return ft_fail(model->error, FT_ERR_DAMAGED, "it calls sub-graph %lld, and there are %u", (long long)index,
                       model->subgraphs.count);
    if (model->is_open[index])
        return ft_fail(model->error, FT_ERR_GRAPH, "sub-graph %lld calls itself, directly or through others",
                       (long long)index);
    if (model->depth >= FT_MAX_DEPTH)
        return ft_fail(model->error, FT_ERR_LIMIT, "sub-graphs are nested more than %d deep", FT_MAX_DEPTH);
    return FT_OK;
}

typedef struct call_site {
    tflite_frame *frame; /* of the caller */
    const tflite_operator *op;
    uint32_t skip; /* inputs that are not for the sub-graph */
    uint32_t loop;
} call_site;

/* Unfolds a sub-graph. What it returns becomes the caller's outputs when `has_results`. */
static ft_status unfold(tflite_model *model, const call_site *site, int64_t index, bool has_results) {
    const tflite_operator *op = site->op;
    FT_TRY(check_nesting(model, index));
    tflite_frame inner = {.loop = site->loop};
    inner.prefix = arena_format(&model->scratch, "%s%s_%u/", site->frame->prefix, op->code->type, op->index);
    if (inner.prefix == NULL) return FT_NOMEM(model->error);
    FT_TRY(tflite_frame_open(model, index, &inner));
    if (inner.inputs.count > op->inputs.count || op->inputs.count - inner.inputs.count < site->skip)
        return ft_fail(model->error, FT_ERR_GRAPH, "sub-graph %lld takes %u inputs, and %u are given", (long long)index,
                       inner.inputs.count, op->inputs.count);
    for (uint32_t i = 0; i < inner.inputs.count; i++) {
        uint32_t given;
        FT_TRY(tflite_tensor(model, site->frame, flat_int_at(&op->inputs, i + site->skip, FLAT_I32), &given));
        inner.map[flat_int_at(&inner.inputs, i, FLAT_I32)] = given;
    }
    model->is_open[index] = true;
    model->depth++;
    ft_status status = tflite_add_operators(model, &inner);
    model->is_open[index] = false;
    model->depth--;
    if (status != FT_OK || !has_results) return status;
    if (inner.outputs.count < op->outputs.count)
        return ft_fail(model->error, FT_ERR_GRAPH, "sub-graph %lld has %u outputs, and %u are asked for",
                       (long long)index, inner.outputs.count, op->outputs.count);
    for (uint32_t i = 0; i < op->outputs.count; i++) {
        int64_t output = flat_int_at(&op->outputs, i, FLAT_I32);
        uint32_t result;
        FT_TRY(tflite_tensor(model, &inner, flat_int_at(&inner.outputs, i, FLAT_I32), &result));
        if (output == -1) continue;
        if (site->frame->map[output] != TFLITE_UNMAPPED)
            return ft_fail(model->error, FT_ERR_GRAPH, "its output %u (tensor %lld) is read before it is made", i,
                           (long long)output);
        site->frame->map[output] = result;
    }
    return FT_OK;
}

static uint32_t operator_count(tflite_model *model, int64_t index) {
    if (index < 0 || index >= model->subgraphs.count) return 0;
    flat_table table = flat_table_at(&model->subgraphs, (uint32_t)index);
    return flat_tables(&table, SUBGRAPH_OPERATORS).count;
}

static ft_status unfold_loop(tflite_model *model, call_site site, int64_t condition, int64_t body) {
    graph_loop loop = {.parent = site.loop, .trip_tensor = FT_NONE, .scan_tensor = FT_NONE, .trips = 1};
    FT_TRY(graph_add_loop(model->graph, &loop, &site.loop, model->error));
    FT_TRY(unfold(model, &site, condition, false));
    return unfold(model, &site, body, true);
}

static ft_status unfold_branch(tflite_model *model, call_site site, const int64_t *branches, uint32_t count) {
    if (count == 0) return ft_fail(model->error, FT_ERR_GRAPH, "it has no branch");
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (operator_count(model, branches[i]) > operator_count(model, branches[best])) best = i;
    }
    site.skip = 1; /* the condition */
    return unfold(model, &site, branches[best], true);
}

static ft_status unfold_case(tflite_model *model, call_site site, const flat_table *options) {
    flat_vector list = flat_numbers(options, 0, FLAT_I32);
    int64_t branches[FT_MAX_DEPTH];
    if (list.count > FT_MAX_DEPTH)
        return ft_fail(model->error, FT_ERR_LIMIT, "it has %u branches; at most %d are supported", list.count,
                       FT_MAX_DEPTH);
    for (uint32_t i = 0; i < list.count; i++) branches[i] = flat_int_at(&list, i, FLAT_I32);
    return unfold_branch(model, site, branches, list.count);
}

ft_status tflite_call(tflite_model *model, tflite_frame *frame, const tflite_operator *op, bool *is_call) {
    call_site site = {.frame = frame, .op = op, .loop = frame->loop};
    flat_table options = flat_child(&op->table, OPERATOR_OPTIONS);
    flat_table options_2 = flat_child(&op->table, OPERATOR_OPTIONS_2);
    *is_call = true;
    switch (op->code->builtin) {
    case BUILTIN_CALL_ONCE:
        return FT_OK;
    case BUILTIN_CALL:
        return unfold(model, &site, flat_int(&options, 0, FLAT_U32, 0), true);
    case BUILTIN_STABLEHLO_COMPOSITE:
        return unfold(model, &site, flat_int(&options_2, 1, FLAT_I32, 0), true);
    case BUILTIN_IF: {
        int64_t branches[] = {flat_int(&options, 0, FLAT_I32, 0), flat_int(&options, 1, FLAT_I32, 0)};
        return unfold_branch(model, site, branches, 2);
    }
    case BUILTIN_STABLEHLO_CASE:
        return unfold_case(model, site, &options_2);
    case BUILTIN_WHILE:
        return unfold_loop(model, site, flat_int(&options, 0, FLAT_I32, 0), flat_int(&options, 1, FLAT_I32, 0));
    case BUILTIN_STABLEHLO_WHILE:
        return unfold_loop(model, site, flat_int(&options_2, 0, FLAT_I32, 0), flat_int(&options_2, 1, FLAT_I32, 0));
    default:
        *is_call = false;
        return FT_OK;
    }
}
