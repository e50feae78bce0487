/* graphdef_const.c - types, shapes, constants, variables and inputs.
 *
 * A constant is its shape, its type and the size of its payload; only small ones keep their elements, for constant
 * folding. The payload of a TensorProto is in `tensor_content`, or in a list for its type, in which the last element
 * stands for all that follow. */
#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "read/element.h"
#include "read/strip.h"
#include "read/tensorflow/graphdef.h"

/* --- Types ------------------------------------------------------------------------------------------------------- */

typedef struct type_row {
    uint8_t dtype, onnx; /* onnx: its number in ONNX, 0 = none */
} type_row;

/* By number of TensorFlow's DataType. Quantised types are integers; resources and variants are no tensors. */
static const type_row types[] = {
    [1] = {FT_FLOAT32, 1},  [2] = {FT_FLOAT64, 11},     [3] = {FT_INT32, 6},     [4] = {FT_UINT8, 2},
    [5] = {FT_INT16, 5},    [6] = {FT_INT8, 3},         [7] = {FT_STRING, 8},    [8] = {FT_COMPLEX64, 14},
    [9] = {FT_INT64, 7},    [10] = {FT_BOOL, 9},        [11] = {FT_INT8, 3},     [12] = {FT_UINT8, 2},
    [13] = {FT_INT32, 6},   [14] = {FT_BFLOAT16, 16},   [15] = {FT_INT16, 5},    [16] = {FT_UINT16, 4},
    [17] = {FT_UINT16, 4},  [18] = {FT_COMPLEX128, 15}, [19] = {FT_FLOAT16, 10}, [22] = {FT_UINT32, 12},
    [23] = {FT_UINT64, 13}, [24] = {FT_FLOAT8, 19},     [25] = {FT_FLOAT8, 17},  [29] = {FT_INT4, 22},
    [30] = {FT_UINT4, 21},
};

enum { REF_TYPES = 100, TYPES = sizeof types / sizeof types[0] };

static type_row type_of(int64_t type) {
    if (type > REF_TYPES) type -= REF_TYPES; /* a reference to a variable of the type */
    return type > 0 && type < TYPES ? types[type] : (type_row){FT_DTYPE_UNKNOWN, 0};
}

ft_dtype gd_dtype(int64_t type) {
    return (ft_dtype)type_of(type).dtype;
}

int64_t gd_dtype_as_onnx(int64_t type) {
    return type_of(type).onnx;
}

/* --- Shapes ------------------------------------------------------------------------------------------------------ */

/* A dimension of -1 is a symbol of an input, and unknown in any other tensor. */
static ft_status open_dim(gd_builder *b, const ft_tensor *t, bool is_input, int32_t axis, int64_t *dim) {
    *dim = FT_DIM_UNKNOWN;
    if (!is_input) return FT_OK;
    const char *symbol = axis == 0 ? "batch" : arena_format(b->scratch, "%s_d%d", t->name, axis);
    if (symbol == NULL) return FT_NOMEM(b->error);
    return graph_symbol(b->graph, symbol, dim, b->error);
}

ft_status gd_set_shape(gd_builder *b, ft_tensor *t, const Tf__Shape *shape, bool is_input) {
    t->rank = -1;
    if (shape == NULL || shape->unknown_rank) return FT_OK;
    if (shape->n_dim > FT_MAX_RANK)
        return ft_fail(b->error, FT_ERR_LIMIT, "tensor '%.200s' has %zu dimensions; at most %d are supported", t->name,
                       shape->n_dim, FT_MAX_RANK);
    t->rank = (int32_t)shape->n_dim;
    for (int32_t i = 0; i < t->rank; i++) {
        t->dims[i] = shape->dim[i]->size;
        if (t->dims[i] >= 0) continue;
        if (t->dims[i] != -1 || t->role == FT_CONSTANT)
            return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: dimension %d of tensor '%.200s' is %lld", i, t->name,
                           (long long)t->dims[i]);
        FT_TRY(open_dim(b, t, is_input, i, &t->dims[i]));
    }
    return FT_OK;
}

/* --- Values ------------------------------------------------------------------------------------------------------ */

static bool load_list(const Tf__Tensor *p, size_t i, uint64_t *bits) {
    if (p->n_int_val > 0) {
        *bits = (uint64_t)(int64_t)p->int_val[i < p->n_int_val ? i : p->n_int_val - 1];
    } else if (p->n_int64_val > 0) {
        *bits = (uint64_t)p->int64_val[i < p->n_int64_val ? i : p->n_int64_val - 1];
    } else if (p->n_bool_val > 0) {
        *bits = p->bool_val[i < p->n_bool_val ? i : p->n_bool_val - 1] != 0;
    } else if (p->n_half_val > 0) {
        *bits = (uint64_t)(int64_t)p->half_val[i < p->n_half_val ? i : p->n_half_val - 1];
    } else if (p->n_uint32_val > 0) {
        *bits = p->uint32_val[i < p->n_uint32_val ? i : p->n_uint32_val - 1];
    } else if (p->n_uint64_val > 0) {
        *bits = p->uint64_val[i < p->n_uint64_val ? i : p->n_uint64_val - 1];
    } else if (p->n_double_val > 0) {
        memcpy(bits, &p->double_val[i < p->n_double_val ? i : p->n_double_val - 1], sizeof *bits);
    } else {
        return false;
    }
    return true;
}

/* Element i as bits; false when the payload is too short. */
static bool load_element(const Tf__Tensor *p, ft_dtype dtype, size_t i, uint64_t *bits) {
    unsigned width = ft_dtype_bits(dtype) / 8;
    *bits = 0;
    if (p->has_tensor_content && p->tensor_content.len > 0) {
        if (width == 0 || i >= p->tensor_content.len / width) return false;
        *bits = element_load(p->tensor_content.data + i * width, width);
        return true;
    }
    if (p->n_float_val > 0) {
        uint32_t single;
        memcpy(&single, &p->float_val[i < p->n_float_val ? i : p->n_float_val - 1], sizeof single);
        *bits = single;
        return dtype == FT_FLOAT32;
    }
    return load_list(p, i, bits);
}

static uint64_t payload_bytes(const Tf__Tensor *p) {
    return p->segment != NULL && p->segment->begin > 0 ? (uint64_t)p->segment->begin : 0;
}

static ft_status read_value(gd_builder *b, const Tf__Tensor *p, ft_tensor *t) {
    int64_t count = 1, *ints;
    double *floats;
    for (int32_t i = 0; i < t->rank; i++)
        if (!num_mul_i64(count, t->dims[i], &count)) return FT_OK;
    bool is_omitted = p->segment != NULL && (p->segment->end & STRIP_OMITTED) != 0;
    if (is_omitted || !element_is_kept(t->dtype) || count > element_max_count(t->dtype)) return FT_OK;
    bool is_float = ft_dtype_is_float(t->dtype);
    const ft_value *v =
        is_float ? graph_value_floats(b->graph, count, &floats) : graph_value_ints(b->graph, count, &ints);
    if (v == NULL) return FT_NOMEM(b->error);
    for (size_t i = 0; i < (size_t)count; i++) {
        uint64_t bits;
        if (!load_element(p, t->dtype, i, &bits)) return FT_OK; /* no value */
        if (is_float)
            floats[i] = element_float(bits, t->dtype);
        else
            ints[i] = element_int(bits, t->dtype);
    }
    t->value = v;
    return FT_OK;
}

/* --- Constants --------------------------------------------------------------------------------------------------- */

/* The size of raw data is implied by shape and type; any other size is damage. */
static ft_status check_raw_size(gd_builder *b, const Tf__Tensor *p, const ft_tensor *t) {
    bool is_raw = p->segment != NULL && (p->segment->end & STRIP_RAW) != 0 && payload_bytes(p) > 0;
    if (!is_raw || !element_is_kept(t->dtype)) return FT_OK;
    uint64_t expected = num_mul_sat((uint64_t)shape_elems(t->dims, t->rank), num_div_up(ft_dtype_bits(t->dtype), 8));
    if (payload_bytes(p) == expected) return FT_OK;
    char shape[128];
    return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: constant '%.200s' (%s, %s) has %llu bytes of data, not %llu",
                   t->name, ft_dtype_name(t->dtype), shape_text(b->graph, t, shape, sizeof shape),
                   (unsigned long long)payload_bytes(p), (unsigned long long)expected);
}

ft_status gd_add_const(gd_builder *b, const Tf__Node *node, const char *name, uint32_t *tensor) {
    const Tf__Value *value = gd_attr(node, "value");
    if (value == NULL || value->tensor == NULL)
        return ft_fail(b->error, FT_ERR_DAMAGED, "damaged: Const '%.200s' has no value", name);
    const Tf__Tensor *p = value->tensor;
    ft_tensor t = {.name = name, .role = FT_CONSTANT, .dtype = gd_dtype(p->dtype)};
    FT_TRY(gd_set_shape(b, &t, p->tensor_shape, false));
    if (t.rank < 0) t.rank = 0; /* no shape is that of a scalar */
    FT_TRY(check_raw_size(b, p, &t));
    t.stored_bytes = payload_bytes(p);
    if (t.stored_bytes > 0 || b->model->find_stored == NULL) {
        if (t.stored_bytes > 0) FT_TRY(read_value(b, p, &t));
    } else {
        gd_stored stored = {0};
        FT_TRY(b->model->find_stored(b->model->context, b->graph, gd_text(node->name), &t, &stored, b->error));
        t.stored_bytes = stored.bytes;
        t.value = stored.value;
    }
    bool is_empty = false;
    for (int32_t i = 0; i < t.rank; i++) is_empty = is_empty || t.dims[i] == 0;
    if (is_empty && t.value == NULL) FT_TRY(read_value(b, p, &t));
    return graph_add_tensor(b->graph, &t, tensor, b->error);
}

ft_status gd_add_variable(gd_builder *b, const Tf__Node *node, const char *name, uint32_t *tensor) {
    const Tf__Value *shape = gd_attr(node, "shape"), *dtype = gd_attr(node, "dtype");
    ft_tensor t = {.name = name, .role = FT_CONSTANT, .dtype = gd_dtype(dtype != NULL ? dtype->type : 0)};
    t.rank = -1;
    if (shape != NULL && shape->shape != NULL) {
        t.role = FT_ACTIVATION; /* its dimensions may be open */
        FT_TRY(gd_set_shape(b, &t, shape->shape, false));
        t.role = FT_CONSTANT;
        for (int32_t i = 0; i < t.rank; i++)
            if (t.dims[i] < 0) t.rank = -1;
    }
    return graph_add_tensor(b->graph, &t, tensor, b->error);
}

/* --- Inputs ------------------------------------------------------------------------------------------------------ */

/* The shape of output `slot` of an input: "shape", "output_shapes" (iterators), "_output_shapes". */
static const Tf__Shape *source_shape(const Tf__Node *node, uint32_t slot) {
    const Tf__Value *shape = gd_attr(node, "shape");
    if (shape != NULL && shape->shape != NULL) return shape->shape;
    static const char *const lists[] = {"output_shapes", "_output_shapes"};
    for (int i = 0; i < 2; i++) {
        const Tf__Value *list = gd_attr(node, lists[i]);
        if (list != NULL && list->list != NULL && slot < list->list->n_shape) return list->list->shape[slot];
    }
    return NULL;
}

static int32_t source_type(const Tf__Node *node, uint32_t slot) {
    const Tf__Value *dtype = gd_attr(node, "dtype"), *list = gd_attr(node, "output_types");
    if (dtype != NULL) return dtype->type;
    return list != NULL && list->list != NULL && slot < list->list->n_type ? list->list->type[slot] : 0;
}

/* A decoded image: its size is not known, its channels may be. */
static ft_status set_image(gd_builder *b, const Tf__Node *node, ft_tensor *t) {
    int64_t channels = gd_attr_int(node, "channels", 0);
    t->dtype = FT_UINT8;
    t->rank = 3;
    t->dims[2] = channels > 0 ? channels : 3;
    for (int32_t i = 0; i < 2; i++) {
        const char *symbol = arena_format(b->scratch, "%s_d%d", t->name, i);
        if (symbol == NULL) return FT_NOMEM(b->error);
        FT_TRY(graph_symbol(b->graph, symbol, &t->dims[i], b->error));
    }
    return FT_OK;
}

ft_status gd_add_source(gd_builder *b, const Tf__Node *node, const char *name, uint32_t slot, uint32_t *tensor) {
    enum { FIRST_SCALAR_VERSION = 24 }; /* before it, files have an empty shape for an unknown one */
    ft_tensor t = {.name = name, .role = FT_INPUT, .dtype = gd_dtype(source_type(node, slot))};
    const Tf__Versions *versions = b->model->graph->versions;
    if (strncmp(gd_text(node->op), "Decode", 6) == 0) {
        FT_TRY(set_image(b, node, &t));
    } else {
        FT_TRY(gd_set_shape(b, &t, source_shape(node, slot), true));
        if (t.rank == 0 && versions != NULL && versions->producer < FIRST_SCALAR_VERSION) t.rank = -1;
    }
    FT_TRY(graph_add_tensor(b->graph, &t, tensor, b->error));
    return graph_add_input(b->graph, *tensor, b->error);
}
