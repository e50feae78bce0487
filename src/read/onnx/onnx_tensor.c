/* onnx_tensor.c - tensor types, constants and their values.
 *
 * A constant is its shape, its type and the size of its payload; only small ones keep their elements, for constant
 * folding. External data files are never opened: the model states their size. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "read/element.h"
#include "read/onnx/onnx.h"
#include "read/strip.h"
#include "read/wire.h"

/* --- Types ------------------------------------------------------------------------------------------------------- */

/* Only inputs introduce symbols. Exporters invent a name for every unknown dimension, and those of inner tensors add
 * nothing to shape inference. */
static ft_status set_symbol(onnx_builder *b, const char *symbol, bool may_name, int64_t *dim) {
    uint32_t index;
    bool is_known = map_get(&b->symbols, symbol, &index);
    *dim = is_known ? -1 - (int64_t)index : FT_DIM_UNKNOWN;
    if (is_known || !may_name || symbol[0] == '\0') return FT_OK;
    FT_TRY(graph_symbol(b->graph, symbol, dim, b->error));
    index = (uint32_t)(-1 - *dim);
    return map_set(&b->symbols, b->graph->symbols[index], index) ? FT_OK : FT_NOMEM(b->error);
}

static ft_status bad_type(onnx_builder *b, const ft_tensor *t) {
    return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: invalid type of tensor '%s'", t->name);
}

/* A dimension is a number, a name, or neither. Some writers use -1 for "unknown". */
static ft_status set_dim(onnx_builder *b, ft_tensor *t, const wire_field *dim, bool may_name) {
    if (t->rank >= FT_MAX_RANK)
        return ft_fail(b->error, FT_ERR_LIMIT, "tensor '%s' has more than %d dimensions", t->name, FT_MAX_RANK);
    int64_t *to = &t->dims[t->rank++];
    *to = FT_DIM_UNKNOWN;
    const uint8_t *at = dim->data, *end = dim->data + dim->size;
    wire_field field;
    wire_step step;
    while ((step = wire_next(&at, end, &field)) == WIRE_FIELD) {
        if (field.number == 1 && field.type == WIRE_VARINT) {
            *to = field.varint <= INT64_MAX ? (int64_t)field.varint : FT_DIM_UNKNOWN;
        } else if (field.number == 2 && field.type == WIRE_BYTES) {
            const char *symbol = arena_string(b->scratch, (const char *)field.data, field.size);
            if (symbol == NULL) return FT_NOMEM(b->error);
            FT_TRY(set_symbol(b, symbol, may_name, to));
        }
    }
    return step == WIRE_END ? FT_OK : bad_type(b, t);
}

static ft_status set_shape(onnx_builder *b, ft_tensor *t, const wire_field *shape, bool may_name) {
    const uint8_t *at = shape->data, *end = shape->data + shape->size;
    wire_field field;
    wire_step step;
    t->rank = 0;
    while ((step = wire_next(&at, end, &field)) == WIRE_FIELD) {
        if (field.number == 1 && field.type == WIRE_BYTES) FT_TRY(set_dim(b, t, &field, may_name));
    }
    return step == WIRE_END ? FT_OK : bad_type(b, t);
}

/* A TypeProto.Tensor or SparseTensor. */
static ft_status set_tensor_type(onnx_builder *b, ft_tensor *t, const wire_field *type, bool may_name) {
    const uint8_t *at = type->data, *end = type->data + type->size;
    wire_field field;
    wire_step step;
    while ((step = wire_next(&at, end, &field)) == WIRE_FIELD) {
        if (field.number == 1 && field.type == WIRE_VARINT)
            t->dtype = dtype_of_onnx((int64_t)field.varint);
        else if (field.number == 2 && field.type == WIRE_BYTES)
            FT_TRY(set_shape(b, t, &field, may_name));
    }
    return step == WIRE_END ? FT_OK : bad_type(b, t);
}

/* Sequences, maps and optionals have no rank: their content is unknown before the model runs. */
ft_status onnx_set_type(onnx_builder *b, ft_tensor *t, const Onnx__ValueInfoProto *info, bool may_name) {
    if (info->base.n_unknown_fields == 0) return FT_OK;
    const ProtobufCMessageUnknownField *type = &info->base.unknown_fields[0];
    const uint8_t *at = type->data, *end = type->data + type->len;
    uint64_t length; /* protobuf-c stores it before the bytes */
    wire_field field;
    wire_step step = wire_varint(&at, end, &length);
    while (step == WIRE_FIELD && (step = wire_next(&at, end, &field)) == WIRE_FIELD) {
        if (field.type != WIRE_BYTES || (field.number != 1 && field.number != 8)) continue;
        t->is_sparse = field.number == 8;
        FT_TRY(set_tensor_type(b, t, &field, may_name));
    }
    return step == WIRE_END ? FT_OK : bad_type(b, t);
}

/* --- Values ------------------------------------------------------------------------------------------------------ */

/* Element i as bits, from whichever field stores the elements. Types narrower than a byte are packed, the first
 * element in the lowest bits, also in int32_data. */
static bool element_bits(const Onnx__TensorProto *p, ft_dtype dtype, size_t i, uint64_t *bits) {
    unsigned width = ft_dtype_bits(dtype);
    size_t per_byte = width < 8 ? 8 / width : 1, at = i / per_byte, bytes = width < 8 ? 1 : width / 8;
    if (p->has_raw_data) {
        if (at >= p->raw_data.len / bytes) return false;
        *bits = element_load(p->raw_data.data + at * bytes, (unsigned)bytes);
    } else if (at < p->n_int32_data) {
        *bits = (uint64_t)(int64_t)p->int32_data[at];
    } else if (at < p->n_int64_data) {
        *bits = (uint64_t)p->int64_data[at];
    } else if (at < p->n_uint64_data) {
        *bits = p->uint64_data[at];
    } else if (at < p->n_float_data) {
        uint32_t single;
        memcpy(&single, &p->float_data[at], sizeof single);
        *bits = single;
    } else if (at < p->n_double_data) {
        memcpy(bits, &p->double_data[at], sizeof *bits);
    } else {
        return false;
    }
    if (width < 8) *bits = *bits >> i % per_byte * width & ((UINT64_C(1) << width) - 1);
    if (element_is_unsigned(dtype) && width < 64) *bits &= (UINT64_C(1) << width) - 1;
    return true;
}

static bool has_payload(const Onnx__TensorProto *p) {
    return p->segment != NULL && p->segment->begin > 0;
}

/* The element count of the dims, or -1 when they are invalid or overflow. */
static int64_t count_elems(const Onnx__TensorProto *p) {
    int64_t elems = 1;
    for (size_t i = 0; i < p->n_dims; i++) {
        if (p->dims[i] < 0 || !num_mul_i64(elems, p->dims[i], &elems)) return -1;
    }
    return elems;
}

ft_status onnx_read_value(onnx_builder *b, const Onnx__TensorProto *p, const ft_value **value) {
    *value = NULL;
    ft_dtype dtype = dtype_of_onnx(p->data_type);
    int64_t count = count_elems(p), *ints;
    double *floats;
    bool is_here = count == 0 || (has_payload(p) && !(p->segment->end & STRIP_OMITTED));
    if (!is_here || !element_is_kept(dtype) || count < 0 || count > element_max_count(dtype)) return FT_OK;
    bool is_float = ft_dtype_is_float(dtype);
    const ft_value *v =
        is_float ? graph_value_floats(b->graph, count, &floats) : graph_value_ints(b->graph, count, &ints);
    if (v == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < (size_t)count; i++) {
        uint64_t bits;
        if (!element_bits(p, dtype, i, &bits)) return FT_OK; /* too few elements: no value */
        if (is_float)
            floats[i] = element_float(bits, dtype);
        else
            ints[i] = element_int(bits, dtype);
    }
    *value = v;
    return FT_OK;
}

/* --- Constants --------------------------------------------------------------------------------------------------- */

static ft_status set_dims(onnx_builder *b, ft_tensor *t, const int64_t *dims, size_t count) {
    if (count > FT_MAX_RANK)
        return ft_fail(b->error, FT_ERR_LIMIT, "constant '%s' has %zu dimensions; at most %d are supported", t->name,
                       count, FT_MAX_RANK);
    t->rank = (int32_t)count;
    for (size_t i = 0; i < count; i++) {
        if (dims[i] < 0)
            return ft_fail(b->error, FT_ERR_GRAPH, "constant '%s': dimension %zu is negative (%lld)", t->name, i,
                           (long long)dims[i]);
        t->dims[i] = dims[i];
    }
    return FT_OK;
}

static uint64_t dense_bytes(const ft_tensor *t) {
    uint64_t elems = (uint64_t)shape_elems(t->dims, t->rank);
    return num_div_up(num_mul_sat(elems, ft_dtype_bits(t->dtype)), 8);
}

/* The size that external_data states, or that of the shape. */
static uint64_t external_bytes(const Onnx__TensorProto *p, const ft_tensor *t) {
    for (size_t i = 0; i < p->n_external_data; i++) {
        const char *value = onnx_text(p->external_data[i]->value);
        if (strcmp(onnx_text(p->external_data[i]->key), "length") != 0) continue;
        char *end;
        errno = 0;
        unsigned long long bytes = strtoull(value, &end, 10);
        if (value[0] >= '0' && value[0] <= '9' && *end == '\0' && errno == 0) return bytes;
    }
    return dense_bytes(t);
}

static uint64_t stored_bytes(const Onnx__TensorProto *p, const ft_tensor *t) {
    if (has_payload(p)) return (uint64_t)p->segment->begin;
    bool is_external = p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    return is_external ? external_bytes(p, t) : 0;
}

/* The size of raw data is implied by shape and type; any other size is damage. */
static ft_status check_raw_size(onnx_builder *b, const Onnx__TensorProto *p, const ft_tensor *t) {
    bool is_raw = has_payload(p) && (p->segment->end & STRIP_RAW);
    if (!is_raw || t->dtype == FT_DTYPE_UNKNOWN || t->dtype == FT_STRING) return FT_OK;
    if ((uint64_t)p->segment->begin == dense_bytes(t)) return FT_OK;
    char shape[128];
    return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: constant '%s' (%s, %s) has %llu bytes of data instead of %llu",
                   t->name, ft_dtype_name(t->dtype), shape_text(b->graph, t, shape, sizeof shape),
                   (unsigned long long)p->segment->begin, (unsigned long long)dense_bytes(t));
}

ft_status onnx_add_constant(onnx_builder *b, const char *name, const Onnx__TensorProto *p, uint32_t *tensor) {
    ft_tensor t = {.name = name, .role = FT_CONSTANT, .dtype = dtype_of_onnx(p->data_type)};
    FT_TRY(set_dims(b, &t, p->dims, p->n_dims));
    t.stored_bytes = stored_bytes(p, &t);
    FT_TRY(check_raw_size(b, p, &t));
    FT_TRY(onnx_read_value(b, p, &t.value));
    return graph_add_tensor(b->graph, &t, tensor, b->error);
}

ft_status onnx_add_sparse(onnx_builder *b, const char *name, const Onnx__SparseTensorProto *p, uint32_t *tensor) {
    ft_tensor t = {.name = name, .role = FT_CONSTANT, .is_sparse = true};
    FT_TRY(set_dims(b, &t, p->dims, p->n_dims));
    const Onnx__TensorProto *parts[] = {p->values, p->indices};
    if (p->values != NULL) t.dtype = dtype_of_onnx(p->values->data_type);
    for (int i = 0; i < 2; i++) {
        if (parts[i] == NULL) continue;
        ft_tensor part = {.name = name, .dtype = dtype_of_onnx(parts[i]->data_type)};
        FT_TRY(set_dims(b, &part, parts[i]->dims, parts[i]->n_dims));
        t.stored_bytes = num_add_sat(t.stored_bytes, stored_bytes(parts[i], &part));
    }
    return graph_add_tensor(b->graph, &t, tensor, b->error);
}
