/* dtype.c - element types, and the names of formats and operator classes. */
#include <string.h>

#include "foretell/foretell.h"
#include "graph/graph.h"

static const char *const names[] = {
#define NAME(id, text, bits, is_float) [id] = (text),
    FT_DTYPE_LIST(NAME)
#undef NAME
};

enum { DTYPE_COUNT = sizeof names / sizeof names[0] };

const char *ft_dtype_name(ft_dtype dtype) {
    return (unsigned)dtype < DTYPE_COUNT ? names[dtype] : "unknown";
}

unsigned ft_dtype_bits(ft_dtype dtype) {
    return dtype_info_of(dtype).bits;
}

bool ft_dtype_is_float(ft_dtype dtype) {
    return dtype_info_of(dtype).is_float;
}

bool ft_dtype_parse(const char *text, ft_dtype *dtype) {
    if (text == NULL || dtype == NULL) return false;
    static const struct {
        const char *text;
        ft_dtype dtype;
    } shorts[] = {
        {"fp32", FT_FLOAT32}, {"float", FT_FLOAT32}, {"f32", FT_FLOAT32},  {"fp16", FT_FLOAT16},   {"half", FT_FLOAT16},
        {"f16", FT_FLOAT16},  {"bf16", FT_BFLOAT16}, {"fp64", FT_FLOAT64}, {"double", FT_FLOAT64}, {"fp8", FT_FLOAT8},
        {"i8", FT_INT8},      {"u8", FT_UINT8},      {"i4", FT_INT4},      {"u4", FT_UINT4},
    };
    for (unsigned i = 1; i < DTYPE_COUNT; i++) {
        if (strcmp(text, names[i]) == 0) {
            *dtype = (ft_dtype)i;
            return true;
        }
    }
    for (unsigned i = 0; i < sizeof shorts / sizeof shorts[0]; i++) {
        if (strcmp(text, shorts[i].text) == 0) {
            *dtype = shorts[i].dtype;
            return true;
        }
    }
    return false;
}

/* Indexed by TensorProto.DataType; the newest types are not in every onnx.proto. */
static const ft_dtype onnx_dtypes[] = {
    FT_DTYPE_UNKNOWN, FT_FLOAT32, FT_UINT8,   FT_INT8,   FT_UINT16, FT_INT16,     FT_INT32,      FT_INT64,    FT_STRING,
    FT_BOOL,          FT_FLOAT16, FT_FLOAT64, FT_UINT32, FT_UINT64, FT_COMPLEX64, FT_COMPLEX128, FT_BFLOAT16, FT_FLOAT8,
    FT_FLOAT8,        FT_FLOAT8,  FT_FLOAT8,  FT_UINT4,  FT_INT4,   FT_FLOAT4,    FT_FLOAT8,     FT_UINT2,    FT_INT2,
};

ft_dtype dtype_of_onnx(int64_t data_type) {
    bool is_known = data_type >= 0 && data_type < (int64_t)(sizeof onnx_dtypes / sizeof onnx_dtypes[0]);
    return is_known ? onnx_dtypes[data_type] : FT_DTYPE_UNKNOWN;
}

static const struct {
    const char *name;
    const char *text;
} formats[] = {[FT_FORMAT_UNKNOWN] = {"unknown", "unknown format"},
#define FORMAT_ROW(id, name, text, extensions, identified_by) [FT_FORMAT_##id] = {#name, text},
               FT_FORMAT_LIST(FORMAT_ROW)
#undef FORMAT_ROW
};

const char *ft_format_name(ft_format format) {
    return (unsigned)format < sizeof formats / sizeof formats[0] ? formats[format].name : "unknown";
}

const char *ft_format_text(ft_format format) {
    return (unsigned)format < sizeof formats / sizeof formats[0] ? formats[format].text : "unknown";
}

const char *ft_op_class_name(ft_op_class op_class) {
    switch (op_class) {
#define NAME(id, text)                                                                                                 \
    case id:                                                                                                           \
        return text;
        FT_OP_CLASS_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *ft_version_string(void) {
    return TEXT(FT_VERSION_MAJOR) "." TEXT(FT_VERSION_MINOR) "." TEXT(FT_VERSION_PATCH);
}
