/* onnx_subgraph.c - inlining of the bodies of If, Loop, Scan and SequenceMap.
 *
 * If: a constant condition selects its branch; otherwise both are inlined and joined by IfMerge, and binding selects
 * the one whose condition folds to true, or else the one with more nodes, so that the cost is that of the longer
 * branch. Loop, Scan, SequenceMap: the body appears once, inside a loop whose trip count binding infers. Carried
 * values are connected to their first value. Three operators of foretell's own stand at the boundary: LoopIndex is
 * the trip number, LoopSlice the trip's slice of a scanned tensor, LoopStack concatenates the results of the trips. */
#include <assert.h>
#include <string.h>

#include "read/onnx/onnx.h"

/* A body while it is inlined. */
typedef struct body {
    const Onnx__NodeProto *node;
    const Onnx__GraphProto *graph;
    onnx_scope scope;
    onnx_frame inner;
    const onnx_frame *outer;
    uint32_t *results; /* tensors of the body's outputs */
    uint32_t first_new;
} body;

bool onnx_has_body(const Onnx__NodeProto *node) {
    if (!onnx_is_standard(node->domain) || node->op_type == NULL) return false;
    return strcmp(node->op_type, "If") == 0 || strcmp(node->op_type, "Loop") == 0 ||
           strcmp(node->op_type, "Scan") == 0 || strcmp(node->op_type, "SequenceMap") == 0;
}

static ft_status invalid_node(onnx_builder *b, const Onnx__NodeProto *node, const char *what) {
    return ft_fail(b->error, FT_ERR_GRAPH, "operator '%s' (%s): %s", onnx_node_name(node), node->op_type, what);
}

/* A sub-graph attribute. onnx_function.c rejects those passed by the caller of a function. */
static ft_status find_body(onnx_builder *b, const onnx_frame *frame, const Onnx__NodeProto *node, const char *name,
                           const Onnx__GraphProto **graph) {
    const Onnx__AttributeProto *attr = onnx_find_attr(frame, node, name);
    if (attr == NULL || attr->g == NULL)
        return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: operator '%s' (%s) has no sub-graph '%s'",
                       onnx_node_name(node), node->op_type, name);
    *graph = attr->g;
    return FT_OK;
}

/* --- Shared by all ----------------------------------------------------------------------------------------------- */

static void open_body(onnx_builder *b, body *body, const onnx_frame *outer, uint32_t loop) {
    body->outer = outer;
    onnx_scope_open(&body->scope, outer->scope);
    body->inner = *outer;
    body->inner.scope = &body->scope;
    body->inner.loop = loop;
    body->inner.depth++;
    body->first_new = b->graph->tensor_count;
}

/* Adds the body, whose inputs are bound, and finds the tensors of its outputs. */
static ft_status fill_body(onnx_builder *b, body *body) {
    const Onnx__GraphProto *graph = body->graph;
    FT_TRY(onnx_add_graph(b, &body->inner, graph));
    body->results = ARENA_ARRAY(&body->scope.memory, uint32_t, graph->n_output);
    if (body->results == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < graph->n_output; i++)
        FT_TRY(onnx_scope_read(b, &body->inner, onnx_text(graph->output[i]->name), &body->results[i]));
    return onnx_scope_resolve(b, &body->inner);
}

static ft_status export_result(onnx_builder *b, const body *body, size_t output, size_t result) {
    assert(output < body->node->n_output);
    assert(result < body->graph->n_output);
    return onnx_scope_export(b, body->outer, body->node->output[output], body->results[result], body->first_new);
}

/* A LoopIndex, LoopSlice or LoopStack operator: reads `from` (FT_NONE: nothing), computes `to`. */
typedef struct boundary_op {
    const char *type, *name;
    uint32_t from, to;
    int64_t axis;
    uint32_t loop; /* whose boundary it is at */
} boundary_op;

static ft_status add_boundary_op(onnx_builder *b, const onnx_frame *frame, const boundary_op *spec) {
    ft_attr *attrs = ARENA_ARRAY(&b->graph->memory, ft_attr, 2);
    if (attrs == NULL) return FT_NOMEM(b->error);
    FT_TRY(graph_attr_int(b->graph, &attrs[0], "axis", spec->axis, b->error));
    FT_TRY(graph_attr_int(b->graph, &attrs[1], "body", spec->loop, b->error));
    ft_op op = {.name = onnx_full_name(frame, spec->name),
                .type = spec->type,
                .inputs = &spec->from,
                .outputs = &spec->to,
                .input_count = spec->from != FT_NONE,
                .output_count = 1,
                .attr_count = 2,
                .attrs = attrs,
                .loop = frame->loop,
                .branch = frame->branch};
    return op.name != NULL ? graph_add_op(b->graph, &op, b->error) : FT_NOMEM(b->error);
}

/* An input of the body that a boundary operator computes. */
static ft_status make_input(onnx_builder *b, body *body, size_t input, const char *type, uint32_t from, int64_t axis) {
    assert(input < body->graph->n_input);
    const Onnx__ValueInfoProto *info = body->graph->input[input];
    const char *name = onnx_text(info->name);
    uint32_t tensor;
    if (name[0] == '\0') return invalid_node(b, body->node, "an input of its body has no name");
    FT_TRY(onnx_scope_types(b, &body->scope, &body->graph->input[input], 1));
    FT_TRY(onnx_scope_define(b, &body->inner, name, &tensor));
    if (from == FT_NONE) {
        b->graph->tensors[tensor].dtype = FT_INT64;
        b->graph->tensors[tensor].rank = 0;
    }
    return add_boundary_op(b, &body->inner, &(boundary_op){type, name, from, tensor, axis, body->inner.loop});
}

/* An input of the body that is a tensor from outside. */
static ft_status pass_input(onnx_builder *b, body *body, size_t input, const char *actual) {
    assert(input < body->graph->n_input);
    uint32_t tensor;
    FT_TRY(onnx_scope_read(b, body->outer, actual, &tensor));
    if (tensor == FT_NONE) return invalid_node(b, body->node, "a loop-carried value has no initial value");
    return onnx_scope_bind(b, &body->inner, onnx_text(body->graph->input[input]->name), tensor);
}

static ft_status stack_result(onnx_builder *b, const body *body, size_t output, size_t result, int64_t axis) {
    assert(output < body->node->n_output);
    assert(result < body->graph->n_output);
    const char *name = body->node->output[output];
    uint32_t from = body->results[result], to;
    if (name[0] == '\0') return FT_OK;
    if (from == FT_NONE) return invalid_node(b, body->node, "an output of its body has no value");
    FT_TRY(onnx_scope_define(b, body->outer, name, &to));
    if (b->graph->tensors[to].dtype == FT_DTYPE_UNKNOWN) b->graph->tensors[to].dtype = b->graph->tensors[from].dtype;
    return add_boundary_op(b, body->outer, &(boundary_op){"LoopStack", name, from, to, axis, body->inner.loop});
}

/* --- If ---------------------------------------------------------------------------------------------------------- */

static ft_status check_output_count(onnx_builder *b, const body *body) {
    if (body->node->n_output <= body->graph->n_output) return FT_OK;
    return invalid_node(b, body->node, "has more outputs than its branch");
}

/* One branch of an If. Its results outlive its scope: they are in the memory of `body`. */
static ft_status build_branch(onnx_builder *b, body *body, const Onnx__GraphProto *graph, const graph_branch *branch,
                              uint32_t *index, uint32_t **results) {
    struct body side = {.node = body->node, .graph = graph};
    open_body(b, &side, body->outer, body->outer->loop);
    ft_status status = graph_add_branch(b->graph, branch, index, b->error);
    side.inner.branch = *index;
    if (status == FT_OK) status = check_output_count(b, &side);
    if (status == FT_OK) status = fill_body(b, &side);
    if (status == FT_OK) {
        *results = arena_copy(&body->scope.memory, side.results, graph->n_output * sizeof *side.results);
        if (*results == NULL) status = FT_NOMEM(b->error);
    }
    onnx_scope_close(&side.scope);
    return status;
}

/* An output of the If, from the outputs of both branches. */
static ft_status merge_branches(onnx_builder *b, const body *body, size_t output, const uint32_t values[2],
                                uint32_t branch) {
    const char *name = body->node->output[output];
    uint32_t to;
    if (name[0] == '\0') return FT_OK;
    if (values[0] == FT_NONE || values[1] == FT_NONE)
        return invalid_node(b, body->node, "an output of a branch has no value");
    FT_TRY(onnx_scope_define(b, body->outer, name, &to));
    ft_attr *attr = ARENA_NEW(&b->graph->memory, ft_attr);
    if (attr == NULL) return FT_NOMEM(b->error);
    FT_TRY(graph_attr_int(b->graph, attr, "branch", branch, b->error));
    ft_op op = {.name = onnx_full_name(body->outer, name),
                .type = "IfMerge",
                .inputs = values,
                .outputs = &to,
                .input_count = 2,
                .output_count = 1,
                .attr_count = 1,
                .attrs = attr,
                .loop = body->outer->loop,
                .branch = body->outer->branch};
    return op.name != NULL ? graph_add_op(b->graph, &op, b->error) : FT_NOMEM(b->error);
}

static ft_status build_both_branches(onnx_builder *b, body *body, const Onnx__GraphProto *const branches[2],
                                     uint32_t condition) {
    uint64_t counts[2];
    uint32_t *results[2], indices[2];
    for (int i = 0; i < 2; i++)
        FT_TRY(onnx_count_nodes(b, branches[i]->node, branches[i]->n_node, body->outer->depth, &counts[i]));
    for (int i = 0; i < 2; i++) {
        bool is_longer = i == 0 ? counts[0] >= counts[1] : counts[1] > counts[0];
        graph_branch branch = {body->outer->branch, condition, .is_then = i == 0, .is_default = is_longer};
        FT_TRY(build_branch(b, body, branches[i], &branch, &indices[i], &results[i]));
    }
    for (size_t i = 0; i < body->node->n_output; i++)
        FT_TRY(merge_branches(b, body, i, (uint32_t[]){results[0][i], results[1][i]}, indices[0]));
    return FT_OK;
}

static ft_status build_if(onnx_builder *b, body *body) {
    const Onnx__NodeProto *node = body->node;
    const Onnx__GraphProto *branches[2];
    uint32_t condition;
    FT_TRY(find_body(b, body->outer, node, "then_branch", &branches[0]));
    FT_TRY(find_body(b, body->outer, node, "else_branch", &branches[1]));
    FT_TRY(onnx_scope_read(b, body->outer, node->n_input > 0 ? node->input[0] : "", &condition));
    if (condition == FT_NONE) return invalid_node(b, node, "has no condition");
    const ft_value *value = b->graph->tensors[condition].value;
    if (value == NULL || value->count != 1 || value->ints == NULL)
        return build_both_branches(b, body, branches, condition);
    body->graph = branches[value->ints[0] != 0 ? 0 : 1];
    FT_TRY(check_output_count(b, body));
    FT_TRY(fill_body(b, body));
    for (size_t i = 0; i < node->n_output; i++) FT_TRY(export_result(b, body, i, i));
    return FT_OK;
}

/* --- Loop -------------------------------------------------------------------------------------------------------- */

/* The condition inside the body: the given one, or "true". */
static ft_status pass_condition(onnx_builder *b, body *body) {
    const Onnx__NodeProto *node = body->node;
    const char *name = onnx_text(body->graph->input[1]->name);
    if (node->n_input > 1 && node->input[1][0] != '\0') return pass_input(b, body, 1, node->input[1]);
    ft_tensor t = {.name = name, .role = FT_CONSTANT, .dtype = FT_BOOL};
    int64_t *ints;
    ft_value *value = graph_value_ints(b->graph, 1, &ints);
    uint32_t tensor;
    if (value == NULL) return FT_NOMEM(b->error);
    ints[0] = 1;
    t.value = value;
    FT_TRY(graph_add_tensor(b->graph, &t, &tensor, b->error));
    return onnx_scope_bind(b, &body->inner, name, tensor);
}

/* Inputs: trip count, condition, carried...; of the body: trip number, condition, carried...; outputs of the body:
 * condition, carried..., stacked...; outputs: carried..., stacked... */
static ft_status build_loop(onnx_builder *b, body *body) {
    const Onnx__NodeProto *node = body->node;
    FT_TRY(find_body(b, body->outer, node, "body", &body->graph));
    size_t carried = node->n_input > 2 ? node->n_input - 2 : 0;
    if (body->graph->n_input != carried + 2 || body->graph->n_output < carried + 1 ||
        node->n_output > body->graph->n_output - 1)
        return invalid_node(b, node, "its inputs and outputs do not match those of its body");
    uint32_t loop;
    graph_loop spec = {.parent = body->outer->loop, .trip_tensor = FT_NONE, .scan_tensor = FT_NONE, .trips = 1};
    if (node->n_input > 0) FT_TRY(onnx_scope_read(b, body->outer, node->input[0], &spec.trip_tensor));
    FT_TRY(graph_add_loop(b->graph, &spec, &loop, b->error));
    body->inner.loop = loop;
    FT_TRY(make_input(b, body, 0, "LoopIndex", FT_NONE, 0));
    FT_TRY(pass_condition(b, body));
    for (size_t i = 0; i < carried; i++) FT_TRY(pass_input(b, body, i + 2, node->input[i + 2]));
    FT_TRY(fill_body(b, body));
    for (size_t i = 0; i < node->n_output; i++)
        FT_TRY(i < carried ? export_result(b, body, i, i + 1) : stack_result(b, body, i, i + 1, 0));
    return FT_OK;
}

/* --- Scan -------------------------------------------------------------------------------------------------------- */

static int64_t axis_at(const Onnx__AttributeProto *axes, size_t i, int64_t fallback) {
    return axes != NULL && i < axes->n_ints ? axes->ints[i] : fallback;
}

/* Inputs: carried..., scanned...; outputs: carried..., stacked... In opset 8 the sequence lengths come first and
 * every tensor has a leading batch dimension. */
static ft_status build_scan(onnx_builder *b, body *body) {
    const Onnx__NodeProto *node = body->node;
    FT_TRY(find_body(b, body->outer, node, "body", &body->graph));
    bool is_old = b->opset == 8;
    size_t first = is_old ? 1 : 0;
    int64_t scanned = onnx_find_int(body->outer, node, "num_scan_inputs", -1);
    const Onnx__GraphProto *graph = body->graph;
    if (node->n_input < first || graph->n_input != node->n_input - first || scanned < 1 ||
        (uint64_t)scanned > graph->n_input || node->n_output > graph->n_output)
        return invalid_node(b, node, "its inputs and outputs do not match those of its body");
    size_t carried = graph->n_input - (size_t)scanned;
    if (graph->n_output < carried) return invalid_node(b, node, "its body returns fewer values than it carries");
    const Onnx__AttributeProto *in_axes = onnx_find_attr(body->outer, node, "scan_input_axes");
    const Onnx__AttributeProto *out_axes = onnx_find_attr(body->outer, node, "scan_output_axes");
    int64_t axis = axis_at(in_axes, 0, is_old);
    graph_loop spec = {.parent = body->outer->loop, .trip_tensor = FT_NONE, .trips = 1};
    if (axis < -FT_MAX_RANK || axis >= FT_MAX_RANK) return invalid_node(b, node, "a scan axis is out of range");
    spec.scan_axis = (int32_t)axis;
    FT_TRY(onnx_scope_read(b, body->outer, node->input[first + carried], &spec.scan_tensor));
    if (spec.scan_tensor == FT_NONE) return invalid_node(b, node, "a scanned input is missing");
    FT_TRY(graph_add_loop(b->graph, &spec, &body->inner.loop, b->error));
    for (size_t i = 0; i < carried; i++) FT_TRY(pass_input(b, body, i, node->input[first + i]));
    for (size_t i = carried; i < graph->n_input; i++) {
        uint32_t from;
        FT_TRY(onnx_scope_read(b, body->outer, node->input[first + i], &from));
        if (from == FT_NONE) return invalid_node(b, node, "a scanned input is missing");
        FT_TRY(make_input(b, body, i, "LoopSlice", from, axis_at(in_axes, i - carried, is_old)));
    }
    FT_TRY(fill_body(b, body));
    for (size_t i = 0; i < node->n_output; i++)
        FT_TRY(i < carried ? export_result(b, body, i, i)
                           : stack_result(b, body, i, i, axis_at(out_axes, i - carried, is_old)));
    return FT_OK;
}

/* --- SequenceMap ------------------------------------------------------------------------------------------------- */

/* The length of a sequence is unknown before the model runs: the body counts once. */
static ft_status build_map(onnx_builder *b, body *body) {
    const Onnx__NodeProto *node = body->node;
    FT_TRY(find_body(b, body->outer, node, "body", &body->graph));
    if (body->graph->n_input != node->n_input || node->n_output > body->graph->n_output)
        return invalid_node(b, node, "its inputs and outputs do not match those of its body");
    graph_loop spec = {.parent = body->outer->loop, .trip_tensor = FT_NONE, .scan_tensor = FT_NONE, .trips = 1};
    FT_TRY(graph_add_loop(b->graph, &spec, &body->inner.loop, b->error));
    for (size_t i = 0; i < node->n_input; i++) {
        uint32_t from;
        FT_TRY(onnx_scope_read(b, body->outer, node->input[i], &from));
        if (from == FT_NONE) return invalid_node(b, node, "an input is missing");
        bool is_tensor = b->graph->tensors[from].rank >= 0; /* shared by all elements */
        FT_TRY(is_tensor ? pass_input(b, body, i, node->input[i]) : make_input(b, body, i, "LoopSlice", from, 0));
    }
    FT_TRY(fill_body(b, body));
    for (size_t i = 0; i < node->n_output; i++) FT_TRY(stack_result(b, body, i, i, 0));
    return FT_OK;
}

ft_status onnx_add_body(onnx_builder *b, const onnx_frame *frame, const Onnx__NodeProto *node) {
    assert(onnx_has_body(node));
    if (frame->depth >= FT_MAX_DEPTH)
        return ft_fail(b->error, FT_ERR_LIMIT, "functions and sub-graphs are nested more than %d deep", FT_MAX_DEPTH);
    body body = {.node = node};
    open_body(b, &body, frame, frame->loop);
    ft_status status;
    switch (node->op_type[0]) {
    case 'I':
        status = build_if(b, &body);
        break;
    case 'L':
        status = build_loop(b, &body);
        break;
    default:
        status = strcmp(node->op_type, "Scan") == 0 ? build_scan(b, &body) : build_map(b, &body);
    }
    onnx_scope_close(&body.scope);
    return status;
}
