/* onnx_strip.c - the fields of an ONNX file that the pre-pass of strip.c keeps. */
#include "read/onnx/onnx.h"

#include "read/strip.h"

typedef enum message {
    MODEL,
    OPSET,
    ENTRY,
    FUNCTION,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    SPARSE_TENSOR,
    VALUE_INFO,
    MESSAGE_COUNT,
} message;

static const char *const message_names[MESSAGE_COUNT] = {
    "model", "opset", "metadata", "function", "graph", "node", "attribute", "tensor", "sparse tensor", "value",
};

static const strip_rule rules[MESSAGE_COUNT][STRIP_FIELDS] = {
    [MODEL] = {[1] = {STRIP_INT, 0},
               [2] = {STRIP_SHORT_BYTES, 0},
               [3] = {STRIP_SHORT_BYTES, 0},
               [7] = {STRIP_CHILD, GRAPH},
               [8] = {STRIP_CHILDREN, OPSET},
               [14] = {STRIP_CHILDREN, ENTRY},
               [25] = {STRIP_CHILDREN, FUNCTION}},
    [OPSET] = {[1] = {STRIP_SHORT_BYTES, 0}, [2] = {STRIP_INT, 0}},
    [ENTRY] = {[1] = {STRIP_SHORT_BYTES, 0}, [2] = {STRIP_SHORT_BYTES, 0}},
    [FUNCTION] = {[1] = {STRIP_BYTES, 0},
                  [4] = {STRIP_BYTES, 0},
                  [5] = {STRIP_BYTES, 0},
                  [7] = {STRIP_CHILDREN, NODE},
                  [10] = {STRIP_BYTES, 0},
                  [11] = {STRIP_CHILDREN, ATTRIBUTE},
                  [13] = {STRIP_BYTES, 0}},
    [GRAPH] = {[1] = {STRIP_CHILDREN, NODE},
               [2] = {STRIP_SHORT_BYTES, 0},
               [5] = {STRIP_CHILDREN, TENSOR},
               [11] = {STRIP_CHILDREN, VALUE_INFO},
               [12] = {STRIP_CHILDREN, VALUE_INFO},
               [13] = {STRIP_CHILDREN, VALUE_INFO},
               [15] = {STRIP_CHILDREN, SPARSE_TENSOR}},
    [NODE] = {[1] = {STRIP_BYTES, 0},
              [2] = {STRIP_BYTES, 0},
              [3] = {STRIP_BYTES, 0},
              [4] = {STRIP_BYTES, 0},
              [5] = {STRIP_CHILDREN, ATTRIBUTE},
              [7] = {STRIP_BYTES, 0},
              [8] = {STRIP_BYTES, 0}},
    [ATTRIBUTE] = {[1] = {STRIP_BYTES, 0},
                   [2] = {STRIP_FLOAT, 0},
                   [3] = {STRIP_INT, 0},
                   [4] = {STRIP_SHORT_BYTES, 0},
                   [5] = {STRIP_CHILD, TENSOR},
                   [6] = {STRIP_CHILD, GRAPH},
                   [7] = {STRIP_FLOATS, 0},
                   [8] = {STRIP_INTS, 0},
                   [9] = {STRIP_SHORT_BYTES, 0},
                   [20] = {STRIP_INT, 0},
                   [21] = {STRIP_BYTES, 0},
                   [22] = {STRIP_CHILD, SPARSE_TENSOR}},
    [TENSOR] = {[1] = {STRIP_INTS, 0},
                [2] = {STRIP_DATA_TYPE, 0},
                [4] = {STRIP_FLOAT_PAYLOAD, 0},
                [5] = {STRIP_INT_PAYLOAD, 0},
                [6] = {STRIP_TEXT_PAYLOAD, 0},
                [7] = {STRIP_INT_PAYLOAD, 0},
                [8] = {STRIP_BYTES, 0},
                [9] = {STRIP_RAW_PAYLOAD, 0},
                [10] = {STRIP_DOUBLE_PAYLOAD, 0},
                [11] = {STRIP_INT_PAYLOAD, 0},
                [13] = {STRIP_CHILDREN, ENTRY},
                [14] = {STRIP_INT, 0}},
    [SPARSE_TENSOR] = {[1] = {STRIP_CHILD, TENSOR}, [2] = {STRIP_CHILD, TENSOR}, [3] = {STRIP_INTS, 0}},
    [VALUE_INFO] = {[1] = {STRIP_BYTES, 0}, [2] = {STRIP_RENUMBER, 0}},
};

/* int32, int64, uint32, uint64, and a type that is not known yet. */
enum { INDEX_TYPES = 1 << 0 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13, SEGMENT_FIELD = 3 };

ft_status onnx_strip(const uint8_t *bytes, size_t size, filecopy *file, uint8_t **stripped, size_t *stripped_size,
                     ft_error *error) {
    static const strip_format format = {.rules = rules,
                                        .names = message_names,
                                        .root = MODEL,
                                        .index_types = INDEX_TYPES,
                                        .type_field = ONNX_TYPE_FIELD,
                                        .segment_field = SEGMENT_FIELD};
    return strip_file(&format, bytes, size, file, stripped, stripped_size, error);
}
