/* builder.c - ONNX messages of builder.h, packed by protobuf-c and streamed to the file.
 *
 * All weights share one block of pseudo-random numbers, as long as the longest of them: a model with hundreds of
 * megabytes of weights is written with the memory of its largest tensor. */
#include "builder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"

enum { OPSET = 17, IR_VERSION = 8 };

struct builder {
    build_options options;
    Onnx__GraphProto graph;
    Onnx__NodeProto *last; /* operator that attribute calls modify */
    unsigned outputs_made; /* for generated names */
    void **blocks;         /* everything allocated, for one free at the end */
    size_t block_count;
    size_t longest_weight; /* bytes */
};

static void *checked(void *memory) {
    if (memory) return memory;
    fputs("makemodel: out of memory\n", stderr);
    exit(1);
}

static void *take(builder *b, size_t size) {
    b->blocks = checked(realloc(b->blocks, (b->block_count + 1) * sizeof *b->blocks));
    return b->blocks[b->block_count++] = checked(calloc(1, size ? size : 1));
}

static char *keep(builder *b, const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(take(b, size), text, size);
}

const char *format(builder *b, const char *pattern, ...) {
    char text[256];
    va_list args;
    va_start(args, pattern);
    vsnprintf(text, sizeof text, pattern, args);
    va_end(args);
    return keep(b, text);
}

/* Appends to a list of a message; the old lists are freed with the rest. Doubling keeps their sum small. */
static void append(builder *b, void ***items, size_t *count, void *item) {
    if ((*count & (*count - 1)) == 0) {
        void **larger = take(b, (*count ? 2 * *count : 1) * sizeof *larger);
        if (*count) memcpy(larger, *items, *count * sizeof *larger);
        *items = larger;
    }
    (*items)[(*count)++] = item;
}

#define APPEND(b, message, field, item) append((b), (void ***)&(message)->field, &(message)->n_##field, (item))

builder *builder_new(const char *name, build_options options) {
    builder *b = checked(calloc(1, sizeof *b));
    b->options = options;
    onnx__graph_proto__init(&b->graph);
    b->graph.name = keep(b, name);
    return b;
}

const build_options *builder_options(const builder *b) {
    return &b->options;
}

/* --- Inputs, outputs, stored tensors --------------------------------------------------------------------------- */

static Onnx__TensorShapeProto__Dimension *dimension(builder *b, int64_t value) {
    Onnx__TensorShapeProto__Dimension *dim = take(b, sizeof *dim);
    onnx__tensor_shape_proto__dimension__init(dim);
    if (value == DIM_BATCH && b->options.batch > 0) value = b->options.batch;
    if (value < 0) {
        dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        static const char *const names[] = {[-DIM_BATCH] = "batch",
                                            [-DIM_SEQUENCE] = "sequence",
                                            [-DIM_DETECTIONS] = "detections",
                                            [-DIM_PAST] = "past_sequence",
                                            [-DIM_TOTAL] = "total_sequence"};
        dim->dim_param = keep(b, names[-value]);
    } else {
        dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        dim->dim_value = value;
    }
    return dim;
}

static Onnx__ValueInfoProto *value_info(builder *b, const char *name, int type, int rank, va_list dims) {
    Onnx__TensorShapeProto *shape = take(b, sizeof *shape);
    onnx__tensor_shape_proto__init(shape);
    for (int i = 0; i < rank; i++) APPEND(b, shape, dim, dimension(b, va_arg(dims, int)));
    Onnx__TypeProto__Tensor *tensor = take(b, sizeof *tensor);
    onnx__type_proto__tensor__init(tensor);
    tensor->has_elem_type = 1;
    tensor->elem_type = type;
    tensor->shape = shape;
    Onnx__TypeProto *kind = take(b, sizeof *kind);
    onnx__type_proto__init(kind);
    kind->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    kind->tensor_type = tensor;
    Onnx__ValueInfoProto *info = take(b, sizeof *info);
    onnx__value_info_proto__init(info);
    info->name = keep(b, name);
    info->type = kind;
    return info;
}

const char *input(builder *b, const char *name, int type, int rank, ...) {
    va_list dims;
    va_start(dims, rank);
    Onnx__ValueInfoProto *info = value_info(b, name, type, rank, dims);
    va_end(dims);
    APPEND(b, &b->graph, input, info);
    return info->name;
}

void output(builder *b, const char *name, int type, int rank, ...) {
    va_list dims;
    va_start(dims, rank);
    APPEND(b, &b->graph, output, value_info(b, name, type, rank, dims));
    va_end(dims);
}

static Onnx__TensorProto *stored(builder *b, const char *name, int type, size_t rank) {
    Onnx__TensorProto *tensor = take(b, sizeof *tensor);
    onnx__tensor_proto__init(tensor);
    tensor->name = keep(b, name);
    tensor->has_data_type = 1;
    tensor->data_type = type;
    tensor->n_dims = rank;
    tensor->dims = take(b, rank * sizeof *tensor->dims);
    APPEND(b, &b->graph, initializer, tensor);
    return tensor;
}

static const char *stored_weight(builder *b, const char *name, int type, int rank, va_list dims) {
    Onnx__TensorProto *tensor = stored(b, name, type, (size_t)rank);
    size_t bytes = type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT8     ? 1
                   : type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16 ? 2
                                                                    : sizeof(float);
    for (int i = 0; i < rank; i++) {
        tensor->dims[i] = va_arg(dims, int);
        bytes *= (size_t)tensor->dims[i];
    }
    if (b->options.has_weights) {
        tensor->has_raw_data = 1;
        tensor->raw_data.len = bytes; /* the data is generated when the file is written */
        if (bytes > b->longest_weight) b->longest_weight = bytes;
    }
    return tensor->name;
}

const char *weight(builder *b, const char *name, int rank, ...) {
    va_list dims;
    va_start(dims, rank);
    const char *made = stored_weight(b, name, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, rank, dims);
    va_end(dims);
    return made;
}

const char *typed_weight(builder *b, const char *name, int type, int rank, ...) {
    va_list dims;
    va_start(dims, rank);
    const char *made = stored_weight(b, name, type, rank, dims);
    va_end(dims);
    return made;
}

static Onnx__TensorProto *stored_integers(builder *b, size_t rank, size_t count) {
    Onnx__TensorProto *tensor =
        stored(b, format(b, "const_%zu", b->graph.n_initializer), ONNX__TENSOR_PROTO__DATA_TYPE__INT64, rank);
    tensor->n_int64_data = count;
    tensor->int64_data = take(b, count * sizeof *tensor->int64_data);
    return tensor;
}

const char *list(builder *b, int count, ...) {
    Onnx__TensorProto *tensor = stored_integers(b, 1, (size_t)count);
    tensor->dims[0] = count;
    va_list values;
    va_start(values, count);
    for (int i = 0; i < count; i++) tensor->int64_data[i] = va_arg(values, int);
    va_end(values);
    return tensor->name;
}

const char *integer(builder *b, int64_t value) {
    Onnx__TensorProto *tensor = stored_integers(b, 0, 1);
    tensor->int64_data[0] = value;
    return tensor->name;
}

static Onnx__TensorProto *stored_numbers(builder *b, size_t rank, size_t count) {
    Onnx__TensorProto *tensor =
        stored(b, format(b, "const_%zu", b->graph.n_initializer), ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, rank);
    tensor->n_float_data = count;
    tensor->float_data = take(b, count * sizeof *tensor->float_data);
    return tensor;
}

const char *number(builder *b, double value) {
    Onnx__TensorProto *tensor = stored_numbers(b, 0, 1);
    tensor->float_data[0] = (float)value;
    return tensor->name;
}

const char *numbers(builder *b, int count, ...) {
    Onnx__TensorProto *tensor = stored_numbers(b, 1, (size_t)count);
    tensor->dims[0] = count;
    va_list values;
    va_start(values, count);
    for (int i = 0; i < count; i++) tensor->float_data[i] = (float)va_arg(values, double);
    va_end(values);
    return tensor->name;
}

/* --- Operators -------------------------------------------------------------------------------------------------- */

const char *more_output(builder *b) {
    const char *name = format(b, "%s_%u", b->last->op_type, b->outputs_made++);
    APPEND(b, b->last, output, (char *)name);
    return name;
}

void more_input(builder *b, const char *name) {
    APPEND(b, b->last, input, (char *)name);
}

void no_output(builder *b) {
    APPEND(b, b->last, output, keep(b, ""));
}

const char *op(builder *b, const char *type, ...) {
    Onnx__NodeProto *node = take(b, sizeof *node);
    onnx__node_proto__init(node);
    node->op_type = keep(b, type);
    node->name = keep(b, format(b, "%s_%zu", type, b->graph.n_node));
    va_list inputs;
    va_start(inputs, type);
    for (const char *name; (name = va_arg(inputs, const char *)) != NULL;) APPEND(b, node, input, (char *)name);
    va_end(inputs);
    APPEND(b, &b->graph, node, node);
    b->last = node;
    return more_output(b);
}

void set_domain(builder *b, const char *name) {
    b->last->domain = keep(b, name);
}

static Onnx__AttributeProto *attribute(builder *b, const char *name, int type) {
    Onnx__AttributeProto *a = take(b, sizeof *a);
    onnx__attribute_proto__init(a);
    a->name = keep(b, name);
    a->has_type = 1;
    a->type = (Onnx__AttributeProto__AttributeType)type;
    APPEND(b, b->last, attribute, a);
    return a;
}

void set_ints(builder *b, const char *name, int count, ...) {
    Onnx__AttributeProto *a = attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    a->n_ints = (size_t)count;
    a->ints = take(b, a->n_ints * sizeof *a->ints);
    va_list values;
    va_start(values, count);
    for (int i = 0; i < count; i++) a->ints[i] = va_arg(values, int);
    va_end(values);
}

void set_int(builder *b, const char *name, int64_t value) {
    Onnx__AttributeProto *a = attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    a->has_i = 1;
    a->i = value;
}

void set_float(builder *b, const char *name, double value) {
    Onnx__AttributeProto *a = attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = 1;
    a->f = (float)value;
}

void set_string(builder *b, const char *name, const char *value) {
    Onnx__AttributeProto *a = attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    a->has_s = 1;
    a->s.data = (uint8_t *)keep(b, value);
    a->s.len = strlen(value);
}

/* --- Writing ---------------------------------------------------------------------------------------------------- */

/* Floats in [-0.05, 0.05) that, like trained weights, do not compress. */
static void fill_weights(builder *b) {
    if (!b->longest_weight) return;
    size_t count = (b->longest_weight + sizeof(float) - 1) / sizeof(float);
    float *block = take(b, count * sizeof *block);
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        block[i] = ((float)(state >> 8) / (float)(1u << 24) - 0.5f) * 0.1f;
    }
    for (size_t i = 0; i < b->graph.n_initializer; i++) {
        Onnx__TensorProto *tensor = b->graph.initializer[i];
        if (tensor->has_raw_data) tensor->raw_data.data = (uint8_t *)block;
    }
}

static Onnx__OperatorSetIdProto *opset(builder *b, const char *name, int64_t version) {
    Onnx__OperatorSetIdProto *set = take(b, sizeof *set);
    onnx__operator_set_id_proto__init(set);
    set->domain = keep(b, name);
    set->has_version = 1;
    set->version = version;
    return set;
}

typedef struct file_buffer {
    ProtobufCBuffer base;
    FILE *file;
} file_buffer;

static void write_to_file(ProtobufCBuffer *base, size_t length, const uint8_t *bytes) {
    fwrite(bytes, 1, length, ((file_buffer *)base)->file); /* a failure stays in ferror() */
}

bool builder_write(builder *b, const char *path) {
    fill_weights(b);
    Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
    APPEND(b, &model, opset_import, opset(b, "", OPSET));
    for (size_t i = 0; i < b->graph.n_node; i++) {
        const char *other = b->graph.node[i]->domain;
        bool is_listed = !other || !*other;
        for (size_t k = 0; k < model.n_opset_import && !is_listed; k++)
            is_listed = !strcmp(model.opset_import[k]->domain, other);
        if (!is_listed) APPEND(b, &model, opset_import, opset(b, other, 1));
    }
    model.has_ir_version = 1;
    model.ir_version = IR_VERSION;
    model.producer_name = "foretell-makemodel";
    model.graph = &b->graph;

    file_buffer buffer = {{.append = write_to_file}, fopen(path, "wb")};
    bool ok = buffer.file != NULL;
    if (ok) {
        onnx__model_proto__pack_to_buffer(&model, &buffer.base);
        ok = !ferror(buffer.file);
        ok = !fclose(buffer.file) && ok;
    }
    int saved = errno;
    for (size_t i = 0; i < b->block_count; i++) free(b->blocks[i]);
    free(b->blocks);
    free(b);
    errno = saved;
    return ok;
}
