/* onnx.c - the ONNX reader: recognise, strip, decode, build, finish.
 *
 * protobuf-c generates the decoder from the system's onnx.proto. The decoder reads a validated copy of the file
 * without its weights (onnx_strip.c), and allocates from an arena with a limit. onnx.h lists the files that turn the
 * decoded model into a graph. */
#include <assert.h>
#include <string.h>

#include "read/decoder.h"
#include "read/onnx/onnx.h"
#include "read/read.h"
#include "read/wire.h"

/* --- Recognition ------------------------------------------------------------------------------------------------- */

/* ONNX has no magic number. A file is recognised as ONNX when its whole top level consists of ModelProto fields with
 * their wire types, its short strings are text, and its graph begins with fields of a GraphProto. A truncated file
 * still matches, so that the error says "truncated" and not "unknown format". Other protobuf files fail at the top
 * level: TensorFlow's begin with bytes in field 1, a TensorProto has a number in field 2. */

enum { MAX_FIELDS_CHECKED = 8, MAX_IR_VERSION = 1000, MAX_NAME_BYTES = 1024 };

static bool is_text(const wire_field *field, filecopy *file) {
    if (field->size > MAX_NAME_BYTES) return false;
    filecopy_load(file, field->data, field->size);
    for (size_t i = 0; i < field->size; i++) {
        if (field->data[i] < 0x20 || field->data[i] == 0x7f) return false;
    }
    return true;
}

static bool is_graph_field(const wire_field *field) {
    static const uint32_t numbers =
        1u << 1 | 1u << 2 | 1u << 5 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15 | 1u << 16;
    return field->type == WIRE_BYTES && field->number < 32 && (numbers >> field->number & 1);
}

/* Checks the first fields of a graph; `is_truncated` when the file ends before the graph does. */
static bool begins_like_graph(const uint8_t *at, const uint8_t *end, bool is_truncated, filecopy *file) {
    assert(at <= end);
    for (int i = 0; i < MAX_FIELDS_CHECKED; i++) {
        wire_field field;
        filecopy_load(file, at, wire_head_size(at, end));
        wire_step step = wire_next(&at, end, &field);
        if (step == WIRE_END) return true;
        if (step == WIRE_INVALID) return false;
        if (field.number != 0 && !is_graph_field(&field)) return false;
        if (step == WIRE_TRUNCATED) return is_truncated;
    }
    return true;
}

static bool is_model_field(const wire_field *field) {
    switch (field->number) {
    case 1:
    case 5:
        return field->type == WIRE_VARINT;
    case 2:
    case 3:
    case 4:
    case 6:
    case 7:
    case 8:
    case 14:
    case 20:
    case 25:
        return field->type == WIRE_BYTES;
    default:
        return field->number > 25 && field->number < 64; /* fields of future versions */
    }
}

static bool matches_parts(const uint8_t *bytes, size_t size, filecopy *file) {
    const uint8_t *at = bytes, *end = bytes + size;
    bool has_version = false, has_more = false, has_graph = false;
    for (;;) {
        wire_field field;
        filecopy_load(file, at, wire_head_size(at, end));
        wire_step step = wire_next(&at, end, &field);
        if (step == WIRE_END || (step == WIRE_TRUNCATED && field.number == 0)) break;
        if (step == WIRE_INVALID || !is_model_field(&field)) return false;
        bool is_truncated = step == WIRE_TRUNCATED;
        if (is_truncated) {
            field.data = at; /* the rest of the file */
            field.size = (size_t)(end - at);
        }
        if (field.number == 1) {
            if (!is_truncated && (field.varint < 1 || field.varint > MAX_IR_VERSION)) return false;
            has_version = true;
        } else if (field.number >= 2 && field.number <= 4) {
            if (!is_text(&field, file)) return false;
            has_more = true;
        } else if (field.number == 7) {
            if (!begins_like_graph(field.data, field.data + field.size, is_truncated, file)) return false;
            has_graph = has_graph || field.size > 0;
        } else if (field.number == 8) {
            has_more = true;
        }
        if (is_truncated) break;
    }
    return has_graph || (has_version && has_more);
}

bool onnx_matches(const uint8_t *bytes, size_t size) {
    return matches_parts(bytes, size, NULL);
}

/* --- Decoding ---------------------------------------------------------------------------------------------------- */

static ft_status decode(const uint8_t *bytes, size_t size, filecopy *file, decoder *d, const Onnx__ModelProto **model,
                        ft_error *error) {
    uint8_t *stripped;
    size_t stripped_size;
    const void *message;
    FT_TRY(onnx_strip(bytes, size, file, &stripped, &stripped_size, error));
    FT_TRY(decoder_unpack(d, &onnx__model_proto__descriptor, stripped, stripped_size, &message, error));
    *model = message;
    return FT_OK;
}

/* --- The model --------------------------------------------------------------------------------------------------- */

static ft_status set_opsets(onnx_builder *b) {
    for (size_t i = 0; i < b->model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = b->model->opset_import[i];
        bool is_standard = onnx_is_standard(set->domain);
        if (is_standard) b->opset = set->version;
        const char *key = is_standard ? "opset" : arena_format(b->scratch, "opset.%s", set->domain);
        const char *value = arena_format(b->scratch, "%lld", (long long)set->version);
        if (key == NULL || value == NULL) return FT_NOMEM(b->error);
        FT_TRY(graph_set_meta(b->graph, key, value, b->error));
    }
    return FT_OK;
}

static ft_status set_meta(onnx_builder *b) {
    const Onnx__ModelProto *m = b->model;
    const char *name = onnx_text(m->producer_name), *version = onnx_text(m->producer_version);
    const char *producer = arena_format(b->scratch, "%s%s%s", name, version[0] != '\0' ? " " : "", version);
    const char *ir = arena_format(b->scratch, "%lld", (long long)m->ir_version);
    if (producer == NULL || ir == NULL) return FT_NOMEM(b->error);
    if (producer[0] != '\0') FT_TRY(graph_set_meta(b->graph, "producer", producer, b->error));
    FT_TRY(graph_set_meta(b->graph, "ir_version", ir, b->error));
    FT_TRY(set_opsets(b));
    for (size_t i = 0; i < m->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *entry = m->metadata_props[i];
        if (onnx_text(entry->key)[0] == '\0') continue;
        FT_TRY(graph_set_meta(b->graph, entry->key, onnx_text(entry->value), b->error));
    }
    return FT_OK;
}

static ft_status add_outputs(onnx_builder *b, const onnx_frame *frame) {
    const Onnx__GraphProto *graph = b->model->graph;
    for (size_t i = 0; i < graph->n_output; i++) {
        const char *name = onnx_text(graph->output[i]->name);
        uint32_t tensor;
        FT_TRY(onnx_scope_read(b, frame, name, &tensor));
        if (tensor == FT_NONE) return ft_fail(b->error, FT_ERR_GRAPH, "graph output %zu has no name", i);
        FT_TRY(graph_add_output(b->graph, tensor, b->error));
    }
    return onnx_scope_resolve(b, frame);
}

static ft_status build(onnx_builder *b) {
    FT_TRY(set_meta(b));
    FT_TRY(onnx_index_functions(b));
    onnx_scope scope;
    onnx_scope_open(&scope, NULL);
    onnx_frame frame = {.scope = &scope, .prefix = ""};
    ft_status status = onnx_add_graph(b, &frame, b->model->graph);
    if (status == FT_OK) status = add_outputs(b, &frame);
    onnx_scope_close(&scope);
    return status == FT_OK ? graph_finish(b->graph, b->error) : status;
}

static ft_status read_model(const uint8_t *bytes, size_t size, filecopy *file, decoder *d, ft_graph **graph,
                            ft_error *error) {
    const Onnx__ModelProto *model;
    FT_TRY(decode(bytes, size, file, d, &model, error));
    if (model->graph == NULL)
        return ft_fail(error, FT_ERR_DAMAGED, "damaged: the model has no graph; the file may be truncated");
    onnx_builder b = {.model = model, .scratch = &d->memory, .allocator = &d->allocator, .error = error};
    map_init(&b.symbols, b.scratch);
    FT_TRY(graph_new(FT_FORMAT_ONNX, FT_NCHW, onnx_text(model->graph->name), &b.graph, error));
    size_t nodes = model->graph->n_node, constants = model->graph->n_initializer + model->graph->n_sparse_initializer;
    ft_status status = graph_reserve(b.graph, constants + model->graph->n_input + nodes + nodes / 8, nodes, error);
    if (status == FT_OK) status = build(&b);
    if (status == FT_OK)
        *graph = b.graph;
    else
        ft_graph_free(b.graph);
    return status;
}

static ft_status read_onnx(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                           ft_error *error) {
    decoder d;
    decoder_init(&d);
    ft_status status = read_model(bytes, size, origin->file, &d, graph, error);
    arena_free(&d.memory);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "%s", origin->path);
}

const reader onnx_reader = {
    .format = FT_FORMAT_ONNX, .matches = onnx_matches, .read = read_onnx, .matches_parts = matches_parts};
