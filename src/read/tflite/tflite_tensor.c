/* tflite_tensor.c - tensors of a TFLite model and their buffers.
 *
 * A tensor is added to the graph at its first use by an operator, an input or an output. The output of an operator
 * is an activation; a tensor with bytes in a buffer (inside the FlatBuffer, after it in files over 2 GB, or in
 * another file) is a constant; the rest is state that persists between runs, which to the graph is one more input.
 * Payloads are read only when they are small enough for constant folding. */
#include "base/num.h"
#include "read/element.h"
#include "read/tflite/tflite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct payload {
    const uint8_t *bytes; /* NULL when it is in another file */
    uint64_t size;        /* 0: no payload */
} payload;

static int compare_externals(const void *key, const void *item) {
    uint32_t a = ((const tflite_external *)key)->id, b = ((const tflite_external *)item)->id;
    return (a > b) - (a < b);
}

static uint64_t external_length(const tflite_model *model, uint32_t id) {
    tflite_external key = {.id = id};
    const tflite_external *found = NULL;
    if (model->external_count > 0)
        found = bsearch(&key, model->externals, model->external_count, sizeof key, compare_externals);
    return found != NULL ? found->length : 0;
}

/* The payload of a tensor. An offset above 1 is used by large files: it counts from the start of the file. */
static ft_status find_payload(tflite_model *model, const flat_table *tensor, uint32_t buffer, payload *found) {
    *found = (payload){0};
    uint32_t external = (uint32_t)flat_int(tensor, TENSOR_EXTERNAL_BUFFER, FLAT_U32, 0);
    if (external != 0) {
        found->size = external_length(model, external);
        return FT_OK;
    }
    if (buffer == 0) return FT_OK;
    if (buffer >= model->buffers.count)
        return ft_fail(model->error, FT_ERR_DAMAGED, "refers to buffer %u, but there are only %u", buffer,
                       model->buffers.count);
    flat_table table = flat_table_at(&model->buffers, buffer);
    uint64_t offset = (uint64_t)flat_int(&table, BUFFER_OFFSET, FLAT_U64, 0);
    if (offset > 1) {
        uint64_t size = (uint64_t)flat_int(&table, BUFFER_SIZE, FLAT_U64, 0);
        if (offset > model->file.size || size > model->file.size - offset)
            return ft_fail(
                model->error, FT_ERR_DAMAGED,
                "truncated: its buffer %u (offset %llu, %llu bytes) runs past the end of the file (%zu bytes)", buffer,
                (unsigned long long)offset, (unsigned long long)size, model->file.size);
        *found = (payload){.bytes = model->file.bytes + offset, .size = size};
        return FT_OK;
    }
    flat_vector data = flat_numbers(&table, BUFFER_DATA, FLAT_U8);
    if (data.count > 0) *found = (payload){.bytes = model->file.bytes + data.at, .size = data.count};
    return FT_OK;
}

/* --- Small constants --------------------------------------------------------------------------------------------- */

/* The storage of the elements of a type; false for types whose values are not kept. */
static bool storage_of(ft_dtype dtype, flat_kind *kind) {
    switch (dtype) {
    case FT_FLOAT32:
        *kind = FLAT_F32;
        return true;
    case FT_FLOAT64:
        *kind = FLAT_F64;
        return true;
    case FT_FLOAT16:
    case FT_BFLOAT16:
    case FT_UINT16:
        *kind = FLAT_U16;
        return true;
    case FT_INT8:
        *kind = FLAT_I8;
        return true;
    case FT_UINT8:
        *kind = FLAT_U8;
        return true;
    case FT_BOOL:
        *kind = FLAT_BOOL;
        return true;
    case FT_INT16:
        *kind = FLAT_I16;
        return true;
    case FT_INT32:
        *kind = FLAT_I32;
        return true;
    case FT_UINT32:
        *kind = FLAT_U32;
        return true;
    case FT_INT64:
        *kind = FLAT_I64;
        return true;
    case FT_UINT64:
        *kind = FLAT_U64;
        return true;
    default:
        return false;
    }
}

/* Keeps the elements when there are few and the payload is complete. Quantised bytes are codes, not values, so they
 * are not kept, except int32, as old converters put a scale on shape operands too. */
static ft_status keep_value(tflite_model *model, ft_tensor *spec, const payload *data, bool is_quantized) {
    flat_kind kind;
    bool has_zero = false;
    for (int32_t i = 0; i < spec->rank; i++) has_zero = has_zero || spec->dims[i] == 0;
    int64_t count = has_zero ? 0 : shape_elems(spec->dims, spec->rank);
    if (spec->rank < 0 || (count == 0 && !has_zero) || count > FT_FOLD_MAX_ELEMS) return FT_OK;
    if (!storage_of(spec->dtype, &kind) || (is_quantized && flat_width(kind) < 4)) return FT_OK;
    size_t width = flat_width(kind);
    if (count > 0 && (data->bytes == NULL || data->size != (uint64_t)count * width)) return FT_OK;
    FT_TRY(tflite_add_work(model, (uint64_t)count / 8));
    if (count > 0) flat_load(&model->file, data->bytes, (size_t)data->size);
    if (ft_dtype_is_float(spec->dtype)) {
        double *floats;
        spec->value = graph_value_floats(model->graph, count, &floats);
        for (int64_t i = 0; spec->value != NULL && i < count; i++) {
            const uint8_t *at = data->bytes + (size_t)i * width;
            floats[i] = element_float(element_load(at, (unsigned)width), spec->dtype);
        }
    } else {
        int64_t *ints;
        spec->value = graph_value_ints(model->graph, count, &ints);
        for (int64_t i = 0; spec->value != NULL && i < count; i++)
            ints[i] = flat_load_int(data->bytes + (size_t)i * width, kind);
    }
    return spec->value != NULL ? FT_OK : FT_NOMEM(model->error);
}

/* --- Tensors ----------------------------------------------------------------------------------------------------- */

/* The symbol of an open dimension of a fed tensor: "batch", or a name with the number of the dimension. */
static ft_status add_symbol(tflite_model *model, uint32_t i, int64_t stored, ft_tensor *spec) {
    int64_t *dim = &spec->dims[i];
    if (i == 0) FT_TRY(graph_symbol(model->graph, "batch", dim, model->error));
    int64_t exported = i == 0 ? graph_exported_size(model->graph, *dim) : 0;
    if (i == 0 && (exported == 0 || stored <= 0 || exported == stored)) return FT_OK;
    const char *symbol = arena_format(&model->scratch, "%s_d%u", spec->name, i); /* or not the batch of other inputs */
    if (symbol == NULL) return FT_NOMEM(model->error);
    return graph_symbol(model->graph, symbol, dim, model->error);
}

/* Dimension `i` of a tensor that the model leaves open. The size that is stored beside it is what the interpreter runs
 * by default; a stored 1 stands for "any size" except of the batch. Computed tensors are inferred; where no rule can,
 * the first dimension is the batch when it has that size. */
static ft_status read_open_dim(tflite_model *model, uint32_t i, bool is_fed, int64_t stored, ft_tensor *spec) {
    spec->dims[i] = FT_DIM_UNKNOWN;
    if (!is_fed) {
        int64_t batch;
        if (i > 0 || stored <= 0) return FT_OK;
        FT_TRY(graph_symbol(model->graph, "batch", &batch, model->error));
        if (graph_exported_size(model->graph, batch) == stored) spec->dims[i] = batch;
        return FT_OK;
    }
    FT_TRY(add_symbol(model, i, stored, spec));
    if (stored <= 0 || (stored == 1 && i > 0)) return FT_OK;
    return graph_set_exported_size(model->graph, spec->dims[i], stored, model->error);
}

/* The shape in the file; `shape_signature`, where there is one, has -1 for dimensions that are open, as the shape
 * itself has in files of some converters. An empty shape of a computed tensor is a scalar only when the file marks it
 * so; otherwise shape inference decides. */
static ft_status read_shape(tflite_model *model, const flat_table *table, bool is_fed, ft_tensor *spec) {
    flat_vector shape = flat_numbers(table, TENSOR_SHAPE, FLAT_I32);
    flat_vector signature = flat_numbers(table, TENSOR_SHAPE_SIGNATURE, FLAT_I32);
    if (shape.count > FT_MAX_RANK)
        return ft_fail(model->error, FT_ERR_LIMIT, "has %u dimensions; at most %d are supported", shape.count,
                       FT_MAX_RANK);
    spec->rank = (int32_t)shape.count;
    if (shape.count == 0 && spec->role == FT_ACTIVATION && !is_fed && !flat_int(table, TENSOR_HAS_RANK, FLAT_BOOL, 0))
        spec->rank = -1;
    for (uint32_t i = 0; i < shape.count; i++) {
        int64_t stored = flat_int_at(&shape, i, FLAT_I32);
        bool is_open = signature.count == shape.count && flat_int_at(&signature, i, FLAT_I32) == -1;
        spec->dims[i] = stored;
        if (stored < -1 || (stored < 0 && spec->role == FT_CONSTANT))
            return ft_fail(model->error, FT_ERR_DAMAGED, "dimension %u is %lld", i, (long long)stored);
        if (stored >= 0 && (!is_open || spec->role == FT_CONSTANT)) continue;
        FT_TRY(read_open_dim(model, i, is_fed, stored, spec));
    }
    return FT_OK;
}

static ft_status read_name(tflite_model *model, const tflite_frame *frame, const flat_table *table, const char **name) {
    size_t length;
    const char *text = flat_string(table, TENSOR_NAME, &length);
    if (text == NULL) length = 0;
    /* A name ends at its first NUL. */
    if (length > 0) length = strnlen(text, length);
    FT_TRY(tflite_add_work(model, (length + strlen(frame->prefix)) / 16));
    *name = arena_format(&model->scratch, "%s%.*s", frame->prefix, (int)(length < 65536 ? length : 65536),
                         text != NULL ? text : "");
    return *name != NULL ? FT_OK : FT_NOMEM(model->error);
}

static void count_quantization(tflite_model *model, const flat_table *table, bool *is_quantized) {
    flat_table quantization = flat_child(table, TENSOR_QUANTIZATION);
    uint32_t scales = flat_numbers(&quantization, QUANTIZATION_SCALE, FLAT_F32).count;
    bool has_details = flat_int(&quantization, QUANTIZATION_DETAILS_TYPE, FLAT_U8, 0) != 0;
    *is_quantized = scales > 0 || has_details;
    model->stored_count++;
    model->quantized_count += *is_quantized;
    model->per_channel_count += scales > 1 || has_details;
}

static bool is_same_tensor(const ft_tensor *a, const ft_tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank && a->role == b->role && a->is_sparse == b->is_sparse &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* A constant: the existing tensor of the buffer when it is equal, or a new one. The stored bytes belong to the first
 * tensor of a buffer. */
static ft_status add_constant(tflite_model *model, const flat_table *table, ft_tensor *spec, uint32_t buffer,
                              const payload *data, uint32_t *tensor) {
    uint32_t first = buffer > 0 && buffer < model->buffers.count ? model->tensor_of_buffer[buffer] : FT_NONE;
    spec->is_sparse = flat_has(table, TENSOR_SPARSITY);
    if (first != FT_NONE && is_same_tensor(&model->graph->tensors[first], spec)) {
        *tensor = first;
        return FT_OK;
    }
    bool is_quantized;
    count_quantization(model, table, &is_quantized);
    if (first == FT_NONE) spec->stored_bytes = data->size;
    if (!spec->is_sparse) FT_TRY(keep_value(model, spec, data, is_quantized));
    FT_TRY(graph_add_tensor(model->graph, spec, tensor, model->error));
    if (buffer > 0 && buffer < model->buffers.count && first == FT_NONE) model->tensor_of_buffer[buffer] = *tensor;
    return FT_OK;
}

static bool has_no_elements(const flat_table *table) {
    flat_vector shape = flat_numbers(table, TENSOR_SHAPE, FLAT_I32);
    for (uint32_t i = 0; i < shape.count; i++) {
        if (flat_int_at(&shape, i, FLAT_I32) == 0) return true;
    }
    return false;
}

static ft_status add_tensor(tflite_model *model, tflite_frame *frame, uint32_t index, uint32_t *tensor) {
    assert(index < frame->tensors.count);
    flat_table table = flat_table_at(&frame->tensors, index);
    FT_TRY(flat_check(&model->file, model->error));
    ft_tensor spec = {.dtype = tflite_dtype(flat_int(&table, TENSOR_TYPE, FLAT_I8, 0)), .role = FT_ACTIVATION};
    FT_TRY(read_name(model, frame, &table, &spec.name));
    uint32_t buffer = (uint32_t)flat_int(&table, TENSOR_BUFFER, FLAT_U32, 0);
    payload data = {0};
    bool is_state = false;
    if (frame->origin[index] == TFLITE_STORED) {
        FT_TRY(find_payload(model, &table, buffer, &data));
        spec.role = data.size > 0 || has_no_elements(&table) ? FT_CONSTANT : FT_ACTIVATION;
        is_state = spec.role == FT_ACTIVATION && flat_int(&table, TENSOR_IS_VARIABLE, FLAT_BOOL, 0);
    }
    FT_TRY(read_shape(model, &table, is_state || frame->origin[index] == TFLITE_FED, &spec));
    FT_TRY(flat_check(&model->file, model->error));
    if (spec.role == FT_CONSTANT) return add_constant(model, &table, &spec, buffer, &data, tensor);
    FT_TRY(graph_add_tensor(model->graph, &spec, tensor, model->error));
    return is_state ? graph_add_input(model->graph, *tensor, model->error) : FT_OK;
}

ft_status tflite_tensor(tflite_model *model, tflite_frame *frame, int64_t index, uint32_t *tensor) {
    if (index == -1) {
        *tensor = FT_NONE;
        return FT_OK;
    }
    if (index < 0 || index >= frame->tensors.count)
        return ft_fail(model->error, FT_ERR_DAMAGED, "refers to tensor %lld, but there are only %u", (long long)index,
                       frame->tensors.count);
    uint32_t *mapped = &frame->map[index];
    if (*mapped == TFLITE_UNMAPPED) {
        FT_TRY(tflite_add_work(model, 1));
        ft_status status = add_tensor(model, frame, (uint32_t)index, mapped);
        if (status != FT_OK) return ft_fail_prefix(model->error, status, "tensor %lld", (long long)index);
    }
    *tensor = *mapped;
    return FT_OK;
}

ft_status tflite_read_externals(tflite_model *model, const flat_table *root) {
    flat_vector list = flat_tables(root, MODEL_EXTERNAL_BUFFERS);
    model->externals = ARENA_ARRAY(&model->scratch, tflite_external, list.count);
    if (model->externals == NULL) return FT_NOMEM(model->error);
    for (uint32_t i = 0; i < list.count; i++) {
        flat_table table = flat_table_at(&list, i);
        model->externals[i].id = (uint32_t)flat_int(&table, EXTERNAL_ID, FLAT_U32, 0);
        model->externals[i].length = (uint64_t)flat_int(&table, EXTERNAL_LENGTH, FLAT_U64, 0);
    }
    model->external_count = list.count;
    if (list.count > 0) qsort(model->externals, list.count, sizeof *model->externals, compare_externals);
    return FT_OK;
}
