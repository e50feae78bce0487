/* graphdef_node.c - nodes that become operators, and those that become none.
 *
 * Nodes that return one of their inputs (Identity, ReadVariableOp, the writes to lists of tensors) become no operator:
 * their readers read that input. Lists of tensors (TensorList, TensorArray) are represented by the tensors that are put
 * into them: an element that is read from one is a slice, the list that a loop has written is a stack. */
#include <assert.h>
#include <string.h>

#include "read/tensorflow/graphdef.h"

/* --- Outputs ----------------------------------------------------------------------------------------------------- */

typedef struct output_row {
    const char *op;
    const char *names; /* of its outputs, in order; NULL: as read */
    uint32_t count;    /* 0: as many as are read */
    const char *attr;  /* or: the attribute that has their number */
} output_row;

static const output_row output_rows[] = {
    {"Split", NULL, 0, "num_split"},
    {"SplitV", NULL, 0, "num_split"},
    {"Unpack", NULL, 0, "num"},
    {"TopK", "values indices", 2, NULL},
    {"TopKV2", "values indices", 2, NULL},
    {"Switch", "output_false output_true", 2, NULL},
    {"RefSwitch", "output_false output_true", 2, NULL},
    {"Merge", "output value_index", 0, NULL},
    {"Unique", "y idx", 0, NULL},
    {"UniqueV2", "y idx", 0, NULL},
    {"MaxPoolWithArgmax", "output argmax", 0, NULL},
    {"FusedBatchNorm", "y batch_mean batch_variance reserve_space_1 reserve_space_2", 0, NULL},
    {"FusedBatchNormV2", "y batch_mean batch_variance reserve_space_1 reserve_space_2", 0, NULL},
    {"FusedBatchNormV3", "y batch_mean batch_variance reserve_space_1 reserve_space_2 reserve_space_3", 0, NULL},
    {"NonMaxSuppressionV4", "selected_indices valid_outputs", 2, NULL},
    {"NonMaxSuppressionV5", "selected_indices selected_scores valid_outputs", 3, NULL},
    {"TensorArrayV3", "handle flow", 0, NULL},
    {"TensorListPopBack", "output_handle tensor", 0, NULL},
};

static const output_row *find_outputs(const char *op) {
    for (size_t i = 0; i < sizeof output_rows / sizeof output_rows[0]; i++)
        if (strcmp(output_rows[i].op, op) == 0) return &output_rows[i];
    return NULL;
}

bool gd_output_slot(const char *op, const char *output, uint32_t *slot) {
    const output_row *row = find_outputs(op);
    size_t length = strlen(output);
    if (row == NULL || row->names == NULL) return false;
    *slot = 0;
    for (const char *at = row->names;; ++*slot) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, output, length) == 0) return true;
        if (at[word] == '\0') return false;
        at += word + 1;
    }
}

ft_status gd_output_count(gd_builder *b, const Tf__Node *node, uint32_t *count) {
    const output_row *row = find_outputs(gd_text(node->op));
    *count = 0;
    if (row == NULL) return FT_OK;
    int64_t number = row->attr != NULL ? gd_attr_int(node, row->attr, 0) : row->count;
    if (number < 0 || number > GD_MAX_OUTPUTS)
        return ft_fail(b->error, FT_ERR_LIMIT, "node '%.200s' has %lld outputs; at most %d are supported",
                       gd_text(node->name), (long long)number, GD_MAX_OUTPUTS);
    *count = (uint32_t)number;
    return FT_OK;
}

/* --- Nodes that become no operator ------------------------------------------------------------------------------- */

typedef struct alias_row {
    const char *op;
    uint8_t input; /* that it returns */
} alias_row;

static const alias_row alias_rows[] = {
    {"Identity", 0},
    {"StopGradient", 0},
    {"PreventGradient", 0},
    {"CheckNumerics", 0},
    {"Snapshot", 0},
    {"DeepCopy", 0},
    {"ReadVariableOp", 0},
    {"PlaceholderWithDefault", 0},
    {"RefIdentity", 0},
    {"EnsureShape", 0},
    {"Print", 0},
    {"TensorListFromTensor", 0},
    {"TensorListSetItem", 2},
    {"TensorListPushBack", 1},
    {"TensorArrayWriteV3", 2},
    {"TensorArrayScatterV3", 2},
    {"TensorArrayUnstackV3", 1},
    {"CheckNumericsV2", 0},
};

static ft_status add_alias(gd_builder *b, gd_frame *f, gd_vertex *v, uint32_t input) {
    gd_value context = gd_context(b, f, v);
    for (uint32_t k = 0; k < v->value_count && k < 1; k++) {
        FT_TRY(gd_input(b, f, v, input, &v->values[k]));
        v->values[k].loop = context.loop;
        v->values[k].branch = context.branch;
    }
    return FT_OK;
}

static ft_status add_identities(gd_builder *b, gd_frame *f, gd_vertex *v) {
    for (uint32_t k = 0; k < v->value_count; k++) FT_TRY(gd_input(b, f, v, k, &v->values[k]));
    return FT_OK;
}

static bool find_alias(const char *op, uint32_t *input) {
    for (size_t i = 0; i < sizeof alias_rows / sizeof alias_rows[0]; i++) {
        if (strcmp(alias_rows[i].op, op) != 0) continue;
        *input = alias_rows[i].input;
        return true;
    }
    return false;
}

/* --- Inputs and variables ---------------------------------------------------------------------------------------- */

bool gd_is_source(const char *op) {
    static const char *const sources[] = {"Placeholder", "PlaceholderV2", "DecodeJpeg", "DecodePng",
                                          "DecodeBmp",   "DecodeImage",   "DecodeGif",  "IteratorGetNext"};
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (strcmp(sources[i], op) == 0) return true;
    return false;
}

static bool is_variable(const char *op) {
    static const char *const variables[] = {"VarHandleOp", "VariableV2", "Variable", "AutoReloadVariable"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (strcmp(variables[i], op) == 0) return true;
    return false;
}

/* Constants, variables, inputs: tensors that no operator computes. *is_stored: it is one of them. */
static ft_status add_stored(gd_builder *b, gd_frame *f, gd_vertex *v, bool *is_stored) {
    const char *op = gd_text(v->node->op);
    bool is_const = strcmp(op, "Const") == 0, is_source = gd_is_source(op);
    *is_stored = is_const || is_source || is_variable(op);
    for (uint32_t k = 0; k < v->value_count && *is_stored; k++) {
        const char *name = gd_output_name(b, f, v, k);
        uint32_t tensor;
        if (name == NULL) return FT_NOMEM(b->error);
        if (k > 0 && !is_source) break;
        if (is_const)
            FT_TRY(gd_add_const(b, v->node, name, &tensor));
        else if (is_source)
            FT_TRY(gd_add_source(b, v->node, name, k, &tensor));
        else
            FT_TRY(gd_add_variable(b, v->node, name, &tensor));
        v->values[k] = (gd_value){.tensor = tensor, .loop = f->loop, .branch = f->branch};
    }
    return FT_OK;
}

/* --- Operators of foretell's own --------------------------------------------------------------------------------- */

ft_status gd_add_own(gd_builder *b, const char *name, const gd_op *op, gd_value *value) {
    ft_tensor t = {.name = name, .rank = -1};
    if (op->input_count > 0) t.dtype = b->graph->tensors[op->inputs[0]].dtype;
    ft_op spec = {.name = name,
                  .type = op->type,
                  .def = opdef_find(FT_FORMAT_ONNX, op->def),
                  .inputs = op->inputs,
                  .input_count = op->input_count,
                  .outputs = &value->tensor,
                  .output_count = 1,
                  .loop = value->loop,
                  .branch = value->branch};
    if (spec.def == NULL) spec.def = opdef_find(FT_FORMAT_TENSORFLOW, op->def);
    assert(spec.def != NULL);
    if (op->attr != NULL) {
        ft_attr *attrs = ARENA_ARRAY(&b->graph->memory, ft_attr, 2);
        if (attrs == NULL) return FT_NOMEM(b->error);
        FT_TRY(graph_attr_int(b->graph, &attrs[spec.attr_count++], op->attr, op->number, b->error));
        if (strcmp(op->attr, "body") == 0)
            FT_TRY(graph_attr_int(b->graph, &attrs[spec.attr_count++], "axis", 0, b->error));
        spec.attrs = attrs;
    }
    FT_TRY(graph_add_tensor(b->graph, &t, &value->tensor, b->error));
    return graph_add_op(b->graph, &spec, b->error);
}

/* An element of a list: its list is a tensor of all elements. */
static ft_status add_slice(gd_builder *b, gd_frame *f, gd_vertex *v, uint32_t list) {
    gd_value from, value = gd_context(b, f, v);
    const char *name = gd_output_name(b, f, v, 0);
    if (name == NULL) return FT_NOMEM(b->error);
    FT_TRY(gd_input(b, f, v, list, &from));
    const gd_op op = {gd_text(v->node->op), "LoopSlice", &from.tensor, 1, "axis", 0};
    FT_TRY(gd_add_own(b, name, &op, &value));
    if (v->value_count > 0) v->values[0] = value;
    return FT_OK;
}

/* All elements of a list that a loop has written. A list that no loop returned is the tensor that was put in. */
static ft_status add_stack(gd_builder *b, gd_frame *f, gd_vertex *v, uint32_t list) {
    gd_value from, value = gd_context(b, f, v);
    const char *name = gd_output_name(b, f, v, 0);
    if (name == NULL) return FT_NOMEM(b->error);
    FT_TRY(gd_input(b, f, v, list, &from));
    if (from.body == 0) return add_alias(b, f, v, list);
    const gd_op op = {gd_text(v->node->op), "LoopStack", &from.tensor, 1, "body", from.body};
    FT_TRY(gd_add_own(b, name, &op, &value));
    if (v->value_count > 0) v->values[0] = value;
    return FT_OK;
}

static ft_status add_list_op(gd_builder *b, gd_frame *f, gd_vertex *v, bool *is_list) {
    *is_list = true;
    if (gd_is(v, "TensorListGetItem")) return add_slice(b, f, v, 0);
    if (gd_is(v, "TensorArrayReadV3")) return add_slice(b, f, v, 2);
    if (gd_is(v, "TensorListStack")) return add_stack(b, f, v, 0);
    if (gd_is(v, "TensorArrayGatherV3")) return add_stack(b, f, v, 2);
    *is_list = false;
    return FT_OK;
}

/* --- Operators --------------------------------------------------------------------------------------------------- */

/* The type that an attribute gives to the outputs; else shape rules find it. */
static ft_dtype output_type(const Tf__Node *node) {
    static const char *const names[] = {"output_type", "out_type", "DstT", "Tout", "dtype"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const Tf__Value *value = gd_attr(node, names[i]);
        if (value != NULL && value->has_type) return gd_dtype(value->type);
    }
    return FT_DTYPE_UNKNOWN;
}

static ft_status add_outputs(gd_builder *b, gd_frame *f, gd_vertex *v, uint32_t *outputs) {
    const Tf__Value *declared = gd_attr(v->node, "_output_shapes");
    gd_value context = gd_context(b, f, v);
    for (uint32_t k = 0; k < v->value_count; k++) {
        ft_tensor t = {.name = gd_output_name(b, f, v, k), .rank = -1};
        if (t.name == NULL) return FT_NOMEM(b->error);
        if (k == 0) t.dtype = output_type(v->node);
        if (declared != NULL && declared->list != NULL && k < declared->list->n_shape)
            FT_TRY(gd_set_shape(b, &t, declared->list->shape[k], false));
        FT_TRY(graph_add_tensor(b->graph, &t, &outputs[k], b->error));
        v->values[k] = context;
        v->values[k].tensor = outputs[k];
    }
    return FT_OK;
}

static ft_status add_op(gd_builder *b, gd_frame *f, gd_vertex *v) {
    gd_value context = gd_context(b, f, v), in;
    ft_op op = {.type = gd_text(v->node->op), .loop = context.loop, .branch = context.branch};
    uint32_t *list = ARENA_ARRAY(b->scratch, uint32_t, (size_t)v->input_count + v->value_count);
    op.name = gd_output_name(b, f, v, 0);
    if (list == NULL || op.name == NULL) return FT_NOMEM(b->error);
    if (op.type[0] == '\0') return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: node '%.200s' has no operator", op.name);
    for (uint32_t i = 0; i < v->input_count; i++) {
        FT_TRY(gd_input(b, f, v, i, &in));
        list[i] = in.tensor;
    }
    op.inputs = list;
    op.input_count = v->input_count;
    op.outputs = list + v->input_count;
    op.output_count = v->value_count;
    op.def = opdef_find(b->model->format, op.type);
    if (op.def == NULL) op.def = ft_opdef_unknown();
    FT_TRY(gd_set_attrs(b, v->node, &op));
    FT_TRY(add_outputs(b, f, v, list + v->input_count));
    return graph_add_op(b->graph, &op, b->error);
}

ft_status gd_add_vertex(gd_builder *b, gd_frame *f, gd_vertex *v) {
    bool is_done;
    uint32_t input;
    FT_TRY(gd_add_work(b, 1));
    FT_TRY(add_stored(b, f, v, &is_done));
    if (is_done) return FT_OK;
    if (find_alias(gd_text(v->node->op), &input)) return add_alias(b, f, v, input);
    if (gd_is(v, "IdentityN")) return add_identities(b, f, v);
    if (gd_is(v, "NoOp")) return FT_OK;
    FT_TRY(gd_control(b, f, v, &is_done));
    if (is_done) return FT_OK;
    FT_TRY(add_list_op(b, f, v, &is_done));
    if (is_done) return FT_OK;
    FT_TRY(gd_call(b, f, v, &is_done));
    return is_done ? FT_OK : add_op(b, f, v);
}
