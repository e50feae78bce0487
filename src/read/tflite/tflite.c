/* tflite.c - reader of TFLite models (FlatBuffers, schema version 3).
 *
 * The graph is the main sub-graph, number 0, with every sub-graph it calls inlined. Operators have no names in the
 * format: each gets the name of its first output. tflite.h lists the files of the reader. */
#include "read/tflite/tflite.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/opdef.h"
#include "read/read.h"

ft_status tflite_add_work(tflite_model *model, uint64_t work) {
    model->work += work + 1;
    if (model->work <= TFLITE_MAX_WORK) return FT_OK;
    return ft_fail(model->error, FT_ERR_LIMIT,
                   "the model has more than %" PRIu64 " operators, tensors and references after inlining",
                   TFLITE_MAX_WORK);
}

/* --- Operators --------------------------------------------------------------------------------------------------- */

static ft_status read_codes(tflite_model *model, const flat_table *root) {
    flat_vector codes = flat_tables(root, MODEL_CODES);
    FT_TRY(tflite_add_work(model, codes.count));
    model->code_count = codes.count;
    model->codes = ARENA_ARRAY(&model->scratch, tflite_code, codes.count);
    if (model->codes == NULL) return FT_NOMEM(model->error);
    for (uint32_t i = 0; i < codes.count; i++) {
        flat_table code = flat_table_at(&codes, i);
        size_t length;
        const char *custom = flat_string(&code, CODE_CUSTOM, &length);
        int64_t old = flat_int(&code, CODE_DEPRECATED_BUILTIN, FLAT_I8, 0);
        int64_t builtin = flat_int(&code, CODE_BUILTIN, FLAT_I32, 0);
        if (builtin < old) builtin = old;
        const char *type = tflite_builtin_name(builtin);
        if (builtin == BUILTIN_CUSTOM && custom != NULL && length > 0) {
            FT_TRY(tflite_add_work(model, length / 16));
            type = arena_string(&model->scratch, custom, length < 256 ? length : 256);
        } else if (type == NULL) {
            type = arena_format(&model->scratch, "BUILTIN_%" PRId64, builtin);
        }
        if (type == NULL) return FT_NOMEM(model->error);
        model->codes[i] = (tflite_code){.builtin = builtin, .type = type};
    }
    return flat_check(&model->file, model->error);
}

/* Custom operators named Flex* are TensorFlow's own operators. Only classes whose rules accept TensorFlow's
 * attribute names are looked up; the others get their shapes from the file and their cost from their bytes. */
static const ft_opdef *find_flex(const char *type) {
    const ft_opdef *def = strncmp(type, "Flex", 4) == 0 ? opdef_find(FT_FORMAT_NNMETER, type + 4) : NULL;
    if (def == NULL) return NULL;
    switch (def->op_class) {
    case FT_CLASS_ELEMENTWISE:
    case FT_CLASS_ACTIVATION:
    case FT_CLASS_MATMUL:
        return def;
    default:
        return NULL;
    }
}

ft_status tflite_map_tensors(tflite_model *model, tflite_frame *frame, const flat_vector *vector, tflite_list *list) {
    FT_TRY(tflite_add_work(model, vector->count));
    list->count = vector->count;
    list->items = ARENA_ARRAY(&model->scratch, uint32_t, vector->count);
    if (list->items == NULL) return FT_NOMEM(model->error);
    for (uint32_t i = 0; i < vector->count; i++)
        FT_TRY(tflite_tensor(model, frame, flat_int_at(vector, i, FLAT_I32), &list->items[i]));
    return FT_OK;
}

static ft_status add_plain(tflite_model *model, tflite_frame *frame, const tflite_operator *op) {
    ft_attr attrs[TFLITE_MAX_ATTRS];
    tflite_list inputs, outputs;
    ft_op spec = {.type = op->code->type, .loop = frame->loop};
    FT_TRY(tflite_map_tensors(model, frame, &op->inputs, &inputs));
    FT_TRY(tflite_map_tensors(model, frame, &op->outputs, &outputs));
    bool is_custom = op->code->builtin == BUILTIN_CUSTOM;
    if (is_custom)
        FT_TRY(tflite_custom_options(model, &op->table, attrs, &spec.attr_count));
    else
        FT_TRY(tflite_options(model, &op->table, &inputs, attrs, &spec.attr_count));
    FT_TRY(tflite_quantization(model, frame, op, attrs, &spec.attr_count));
    assert(spec.attr_count <= TFLITE_MAX_ATTRS);
    spec.attrs = arena_copy(&model->graph->memory, attrs, spec.attr_count * sizeof attrs[0]);
    if (spec.attrs == NULL) return FT_NOMEM(model->error);
    spec.inputs = inputs.items;
    spec.input_count = inputs.count;
    spec.outputs = outputs.items;
    spec.output_count = outputs.count;
    bool has_output = outputs.count > 0 && outputs.items[0] != FT_NONE;
    spec.name = has_output ? model->graph->tensors[outputs.items[0]].name : "";
    if (spec.name[0] == '\0') spec.name = arena_format(&model->scratch, "%s%s_%u", frame->prefix, spec.type, op->index);
    if (spec.name == NULL) return FT_NOMEM(model->error);
    spec.def = is_custom ? find_flex(spec.type) : NULL;
    FT_TRY(flat_check(&model->file, model->error));
    return graph_add_op(model->graph, &spec, model->error);
}

static ft_status add_operator(tflite_model *model, tflite_frame *frame, tflite_operator *op) {
    int64_t code = flat_int(&op->table, OPERATOR_CODE, FLAT_U32, 0);
    if (code >= model->code_count)
        return ft_fail(model->error, FT_ERR_DAMAGED, "refers to operator code %lld, but there are only %u",
                       (long long)code, model->code_count);
    op->code = &model->codes[code];
    op->inputs = flat_numbers(&op->table, OPERATOR_INPUTS, FLAT_I32);
    op->outputs = flat_numbers(&op->table, OPERATOR_OUTPUTS, FLAT_I32);
    FT_TRY(flat_check(&model->file, model->error));
    bool is_call;
    FT_TRY(tflite_call(model, frame, op, &is_call));
    if (!is_call) FT_TRY(add_plain(model, frame, op));
    return flat_check(&model->file, model->error);
}

ft_status tflite_add_operators(tflite_model *model, tflite_frame *frame) {
    for (uint32_t i = 0; i < frame->operators.count; i++) {
        tflite_operator op = {.table = flat_table_at(&frame->operators, i), .index = i};
        ft_status status = flat_check(&model->file, model->error);
        if (status == FT_OK) status = add_operator(model, frame, &op);
        if (status == FT_OK) continue;
        if (model->has_location) return status;
        model->has_location = true;
        return ft_fail_prefix(model->error, status, "sub-graph %u, operator %u (%s)", frame->index, i,
                              op.code != NULL ? op.code->type : "?");
    }
    return FT_OK;
}

/* --- Sub-graphs -------------------------------------------------------------------------------------------------- */

static ft_status mark_origin(tflite_model *model, tflite_frame *frame, const flat_vector *list, tflite_origin origin,
                             const char *what) {
    FT_TRY(tflite_add_work(model, list->count));
    for (uint32_t i = 0; i < list->count; i++) {
        int64_t index = flat_int_at(list, i, FLAT_I32);
        if (index == -1 && origin == TFLITE_COMPUTED) continue;
        if (index < 0 || index >= frame->tensors.count)
            return ft_fail(model->error, FT_ERR_DAMAGED,
                           "sub-graph %u: %s refers to tensor %lld, but there are only %u", frame->index, what,
                           (long long)index, frame->tensors.count);
        frame->origin[index] = (uint8_t)origin;
    }
    return FT_OK;
}

ft_status tflite_frame_open(tflite_model *model, int64_t index, tflite_frame *frame) {
    assert(index >= 0 && index < model->subgraphs.count);
    flat_table table = flat_table_at(&model->subgraphs, (uint32_t)index);
    frame->index = (uint32_t)index;
    model->is_used[index] = true;
    frame->tensors = flat_tables(&table, SUBGRAPH_TENSORS);
    frame->operators = flat_tables(&table, SUBGRAPH_OPERATORS);
    frame->inputs = flat_numbers(&table, SUBGRAPH_INPUTS, FLAT_I32);
    frame->outputs = flat_numbers(&table, SUBGRAPH_OUTPUTS, FLAT_I32);
    FT_TRY(flat_check(&model->file, model->error));
    FT_TRY(tflite_add_work(model, (uint64_t)frame->tensors.count + frame->operators.count));
    frame->map = ARENA_ARRAY(&model->scratch, uint32_t, frame->tensors.count);
    frame->origin = ARENA_ARRAY(&model->scratch, uint8_t, frame->tensors.count);
    if (frame->map == NULL || frame->origin == NULL) return FT_NOMEM(model->error);
    for (uint32_t i = 0; i < frame->tensors.count; i++) frame->map[i] = TFLITE_UNMAPPED;
    for (uint32_t i = 0; i < frame->operators.count; i++) {
        flat_table op = flat_table_at(&frame->operators, i);
        flat_vector outputs = flat_numbers(&op, OPERATOR_OUTPUTS, FLAT_I32);
        FT_TRY(mark_origin(model, frame, &outputs, TFLITE_COMPUTED, "an operator's output"));
    }
    FT_TRY(mark_origin(model, frame, &frame->inputs, TFLITE_FED, "an input"));
    return flat_check(&model->file, model->error);
}

static ft_status read_main(tflite_model *model) {
    tflite_frame main = {.prefix = ""};
    FT_TRY(tflite_frame_open(model, 0, &main));
    for (uint32_t i = 0; i < main.inputs.count; i++) {
        uint32_t tensor;
        FT_TRY(tflite_tensor(model, &main, flat_int_at(&main.inputs, i, FLAT_I32), &tensor));
        if (model->graph->tensors[tensor].role != FT_INPUT) FT_TRY(graph_add_input(model->graph, tensor, model->error));
    }
    model->is_open[0] = true;
    FT_TRY(tflite_add_operators(model, &main));
    FT_TRY(tflite_add_work(model, main.outputs.count));
    for (uint32_t i = 0; i < main.outputs.count; i++) {
        uint32_t tensor;
        FT_TRY(tflite_tensor(model, &main, flat_int_at(&main.outputs, i, FLAT_I32), &tensor));
        if (tensor == FT_NONE) return ft_fail(model->error, FT_ERR_DAMAGED, "output %u of the model is missing", i);
        if (!model->graph->tensors[tensor].is_output) FT_TRY(graph_add_output(model->graph, tensor, model->error));
    }
    return FT_OK;
}

/* --- The model --------------------------------------------------------------------------------------------------- */

static ft_status set_text(tflite_model *model, const char *key, const flat_table *table, uint32_t field) {
    size_t length;
    const char *text = flat_string(table, field, &length);
    if (text == NULL || length == 0) return FT_OK;
    const char *copy = arena_string(&model->scratch, text, length < 4096 ? length : 4096);
    if (copy == NULL) return FT_NOMEM(model->error);
    return graph_set_meta(model->graph, key, copy, model->error);
}

static ft_status set_number(tflite_model *model, const char *key, int64_t number) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, number);
    return graph_set_meta(model->graph, key, text, model->error);
}

static ft_status set_meta(tflite_model *model, const flat_table *root) {
    FT_TRY(set_text(model, "description", root, MODEL_DESCRIPTION));
    FT_TRY(set_number(model, "schema_version", flat_int(root, MODEL_VERSION, FLAT_U32, 0)));
    FT_TRY(set_number(model, "subgraphs", model->subgraphs.count));
    uint32_t skipped = 0;
    for (uint32_t i = 0; i < model->subgraphs.count; i++) skipped += !model->is_used[i];
    if (skipped > 0) FT_TRY(set_number(model, "skipped_subgraphs", skipped));
    if (model->quantized_count == 0) return FT_OK;
    char text[128];
    snprintf(text, sizeof text, "%" PRIu32 " of %" PRIu32 " stored tensors quantised, %" PRIu32 " of them per channel",
             model->quantized_count, model->stored_count, model->per_channel_count);
    return graph_set_meta(model->graph, "quantized", text, model->error);
}

static ft_status read_model(tflite_model *model) {
    flat_table root = flat_root(&model->file);
    model->subgraphs = flat_tables(&root, MODEL_SUBGRAPHS);
    model->buffers = flat_tables(&root, MODEL_BUFFERS);
    FT_TRY(flat_check(&model->file, model->error));
    int64_t version = flat_int(&root, MODEL_VERSION, FLAT_U32, 0);
    if (version != 3)
        return ft_fail(model->error, FT_ERR_UNSUPPORTED,
                       "schema version %lld is not supported, only version 3: convert the model again",
                       (long long)version);
    if (model->subgraphs.count == 0) return ft_fail(model->error, FT_ERR_DAMAGED, "the model has no sub-graph");
    FT_TRY(tflite_add_work(model, (uint64_t)model->subgraphs.count + model->buffers.count));
    model->is_open = ARENA_ARRAY(&model->scratch, bool, model->subgraphs.count);
    model->is_used = ARENA_ARRAY(&model->scratch, bool, model->subgraphs.count);
    model->tensor_of_buffer = ARENA_ARRAY(&model->scratch, uint32_t, model->buffers.count);
    if (model->is_open == NULL || model->is_used == NULL || model->tensor_of_buffer == NULL)
        return FT_NOMEM(model->error);
    for (uint32_t i = 0; i < model->buffers.count; i++) model->tensor_of_buffer[i] = FT_NONE;
    FT_TRY(read_codes(model, &root));
    FT_TRY(tflite_read_externals(model, &root));
    FT_TRY(read_main(model));
    FT_TRY(set_meta(model, &root));
    FT_TRY(flat_check(&model->file, model->error));
    return graph_finish(model->graph, model->error);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool matches_parts(const uint8_t *bytes, size_t size, filecopy *file) {
    if (size < 8) return false;
    filecopy_load(file, bytes, 8);
    return memcmp(bytes + 4, "TFL3", 4) == 0;
}

static bool tflite_matches(const uint8_t *bytes, size_t size) {
    return matches_parts(bytes, size, NULL);
}

static ft_status tflite_read(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                             ft_error *error) {
    tflite_model model = {.error = error};
    ft_status status = graph_new(FT_FORMAT_TFLITE, FT_NHWC, base_name(origin->path), &model.graph, error);
    if (status == FT_OK) {
        flat_open(&model.file, bytes, size, origin->file);
        arena_init(&model.scratch, FT_MAX_GRAPH_BYTES);
        status = read_model(&model);
        arena_free(&model.scratch);
    }
    if (status != FT_OK) {
        ft_graph_free(model.graph);
        return ft_fail_prefix(error, status, "%s", origin->path);
    }
    *graph = model.graph;
    return FT_OK;
}

const reader tflite_reader = {
    .format = FT_FORMAT_TFLITE, .matches = tflite_matches, .read = tflite_read, .matches_parts = matches_parts};
