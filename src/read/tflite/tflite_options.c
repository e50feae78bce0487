/* tflite_options.c - options of builtin TFLite operators as attributes.
 *
 * An operator's options are a table of one of many types (a union). Each row below is one field of one of them: the
 * number of the union member, how to read the field, and the attribute it becomes: ONNX's name when ONNX has such an
 * attribute, else the schema's. Members without fields, and fields without influence on the cost (fixed-point
 * details, seeds), have no row. tflite_call.c reads the fields of sub-graphs. */
#include "read/tflite/tflite.h"

#include <stdio.h>
#include <string.h>

typedef enum option_kind {
    OPTION_INT,
    OPTION_LONG,
    OPTION_BOOL,
    OPTION_BYTE, /* small enumerations */
    OPTION_FLOAT,
    OPTION_STRING,
    OPTION_INTS,       /* [int] */
    OPTION_LONGS,      /* [long] */
    OPTION_FLOATS,     /* [float] */
    OPTION_SPATIAL,    /* two or three int fields, combined as height, width or depth, height, width */
    OPTION_PADDING,    /* SAME, VALID */
    OPTION_ACTIVATION, /* omitted when there is none */
    OPTION_DTYPE,
    OPTION_MIRROR,
} option_kind;

typedef struct option {
    uint8_t member;
    uint8_t kind;
    uint8_t fields[3]; /* one, or those of OPTION_SPATIAL; a field 0 ends them, as no such list begins at field 0 */
    uint8_t fallback;  /* the schema's default */
    const char *attr;
} option;

/* Sorted by member. */
static const option options_1[] = {
    {1, OPTION_PADDING, {0}, 0, "auto_pad"}, /* CONV_2D */
    {1, OPTION_SPATIAL, {2, 1}, 1, "strides"},
    {1, OPTION_ACTIVATION, {3}, 0, "activation"},
    {1, OPTION_SPATIAL, {5, 4}, 1, "dilations"},
    {2, OPTION_PADDING, {0}, 0, "auto_pad"}, /* DEPTHWISE_CONV_2D */
    {2, OPTION_SPATIAL, {2, 1}, 1, "strides"},
    {2, OPTION_INT, {3}, 0, "depth_multiplier"},
    {2, OPTION_ACTIVATION, {4}, 0, "activation"},
    {2, OPTION_SPATIAL, {6, 5}, 1, "dilations"},
    {3, OPTION_INT, {0}, 0, "num_channels"}, /* CONCAT_EMBEDDINGS */
    {4, OPTION_BYTE, {0}, 0, "type"},        /* LSH_PROJECTION */
    {5, OPTION_PADDING, {0}, 0, "auto_pad"}, /* pools */
    {5, OPTION_SPATIAL, {2, 1}, 1, "strides"},
    {5, OPTION_SPATIAL, {4, 3}, 1, "kernel_shape"},
    {5, OPTION_ACTIVATION, {5}, 0, "activation"},
    {6, OPTION_INT, {0}, 0, "rank"}, /* SVDF */
    {6, OPTION_ACTIVATION, {1}, 0, "activation"},
    {7, OPTION_ACTIVATION, {0}, 0, "activation"}, /* RNN */
    {8, OPTION_ACTIVATION, {0}, 0, "activation"}, /* FULLY_CONNECTED */
    {8, OPTION_BYTE, {1}, 0, "weights_format"},
    {8, OPTION_BOOL, {2}, 0, "keep_num_dims"},
    {9, OPTION_FLOAT, {0}, 0, "beta"}, /* SOFTMAX */
    {10, OPTION_INT, {0}, 0, "axis"},  /* CONCATENATION */
    {10, OPTION_ACTIVATION, {1}, 0, "activation"},
    {11, OPTION_ACTIVATION, {0}, 0, "activation"}, /* ADD */
    {12, OPTION_ACTIVATION, {0}, 0, "activation"}, /* L2_NORMALIZATION */
    {13, OPTION_INT, {0}, 0, "radius"},            /* LOCAL_RESPONSE_NORMALIZATION */
    {13, OPTION_FLOAT, {1}, 0, "bias"},
    {13, OPTION_FLOAT, {2}, 0, "alpha"},
    {13, OPTION_FLOAT, {3}, 0, "beta"},
    {14, OPTION_ACTIVATION, {0}, 0, "activation"}, /* LSTM */
    {14, OPTION_FLOAT, {1}, 0, "cell_clip"},
    {14, OPTION_FLOAT, {2}, 0, "proj_clip"},
    {14, OPTION_BYTE, {3}, 0, "kernel_type"},
    {15, OPTION_BOOL, {2}, 0, "align_corners"}, /* RESIZE_BILINEAR */
    {15, OPTION_BOOL, {3}, 0, "half_pixel_centers"},
    {17, OPTION_INTS, {0}, 0, "shape"},     /* RESHAPE */
    {18, OPTION_INT, {0}, 0, "ngram_size"}, /* SKIP_GRAM */
    {18, OPTION_INT, {1}, 0, "max_skip_size"},
    {18, OPTION_BOOL, {2}, 0, "include_all_ngrams"},
    {19, OPTION_INT, {0}, 0, "blocksize"},         /* SPACE_TO_DEPTH */
    {20, OPTION_BYTE, {0}, 0, "combiner"},         /* EMBEDDING_LOOKUP_SPARSE */
    {21, OPTION_ACTIVATION, {0}, 0, "activation"}, /* MUL */
    {23, OPTION_INT, {0}, 0, "axis"},              /* GATHER */
    {23, OPTION_INT, {1}, 0, "batch_dims"},
    {27, OPTION_BOOL, {0}, 0, "keepdims"},         /* MEAN, SUM, REDUCE_* */
    {28, OPTION_ACTIVATION, {0}, 0, "activation"}, /* SUB */
    {29, OPTION_ACTIVATION, {0}, 0, "activation"}, /* DIV */
    {30, OPTION_INTS, {0}, 0, "axes"},             /* SQUEEZE */
    {31, OPTION_BOOL, {0}, 0, "time_major"},       /* UNIDIRECTIONAL_SEQUENCE_RNN */
    {31, OPTION_ACTIVATION, {1}, 0, "activation"},
    {32, OPTION_INT, {0}, 0, "begin_mask"}, /* STRIDED_SLICE */
    {32, OPTION_INT, {1}, 0, "end_mask"},
    {32, OPTION_INT, {2}, 0, "ellipsis_mask"},
    {32, OPTION_INT, {3}, 0, "new_axis_mask"},
    {32, OPTION_INT, {4}, 0, "shrink_axis_mask"},
    {32, OPTION_BOOL, {5}, 0, "offset"},
    {35, OPTION_INT, {0}, 0, "num_splits"},    /* SPLIT */
    {37, OPTION_DTYPE, {1}, 0, "to"},          /* CAST */
    {40, OPTION_DTYPE, {0}, 0, "output_type"}, /* ARG_MAX */
    {49, OPTION_PADDING, {0}, 0, "auto_pad"},  /* TRANSPOSE_CONV */
    {49, OPTION_SPATIAL, {2, 1}, 1, "strides"},
    {49, OPTION_ACTIVATION, {3}, 0, "activation"},
    {55, OPTION_DTYPE, {0}, 2, "output_type"}, /* SHAPE */
    {57, OPTION_DTYPE, {0}, 0, "output_type"}, /* ARG_MIN */
    {58, OPTION_FLOAT, {0}, 0, "min"},         /* FAKE_QUANT */
    {58, OPTION_FLOAT, {1}, 0, "max"},
    {58, OPTION_INT, {2}, 0, "num_bits"},
    {58, OPTION_BOOL, {3}, 0, "narrow_range"},
    {59, OPTION_INT, {0}, 0, "values_count"}, /* PACK */
    {59, OPTION_INT, {1}, 0, "axis"},
    {61, OPTION_INT, {0}, 0, "axis"}, /* ONE_HOT */
    {64, OPTION_INT, {0}, 0, "num"},  /* UNPACK */
    {64, OPTION_INT, {1}, 0, "axis"},
    {69, OPTION_ACTIVATION, {0}, 0, "activation"}, /* BIDIRECTIONAL_SEQUENCE_LSTM */
    {69, OPTION_FLOAT, {1}, 0, "cell_clip"},
    {69, OPTION_FLOAT, {2}, 0, "proj_clip"},
    {69, OPTION_BOOL, {3}, 0, "merge_outputs"},
    {69, OPTION_BOOL, {4}, 1, "time_major"},
    {70, OPTION_BOOL, {0}, 0, "time_major"}, /* BIDIRECTIONAL_SEQUENCE_RNN */
    {70, OPTION_ACTIVATION, {1}, 0, "activation"},
    {70, OPTION_BOOL, {2}, 0, "merge_outputs"},
    {71, OPTION_ACTIVATION, {0}, 0, "activation"}, /* UNIDIRECTIONAL_SEQUENCE_LSTM */
    {71, OPTION_FLOAT, {1}, 0, "cell_clip"},
    {71, OPTION_FLOAT, {2}, 0, "proj_clip"},
    {71, OPTION_BOOL, {3}, 0, "time_major"},
    {71, OPTION_BOOL, {5}, 0, "diagonal_recurrent_tensors"},
    {74, OPTION_BOOL, {0}, 0, "align_corners"}, /* RESIZE_NEAREST_NEIGHBOR */
    {74, OPTION_BOOL, {1}, 0, "half_pixel_centers"},
    {75, OPTION_FLOAT, {0}, 0, "alpha"},        /* LEAKY_RELU */
    {77, OPTION_MIRROR, {0}, 0, "mode"},        /* MIRROR_PAD */
    {79, OPTION_INT, {0}, 0, "num_splits"},     /* SPLIT_V */
    {80, OPTION_DTYPE, {0}, 2, "idx_out_type"}, /* UNIQUE */
    {87, OPTION_INT, {0}, 0, "time_axis"},      /* REVERSE_SEQUENCE */
    {87, OPTION_INT, {1}, 0, "batch_axis"},
    {94, OPTION_INT, {0}, 0, "blocksize"}, /* DEPTH_TO_SPACE */
    {101, OPTION_BOOL, {0}, 0, "adj_x"},   /* BATCH_MATMUL */
    {101, OPTION_BOOL, {1}, 0, "adj_y"},
    {102, OPTION_BOOL, {0}, 0, "exclusive"}, /* CUMSUM */
    {102, OPTION_BOOL, {1}, 0, "reverse"},
    {106, OPTION_PADDING, {0}, 0, "auto_pad"}, /* CONV_3D, CONV_3D_TRANSPOSE */
    {106, OPTION_SPATIAL, {1, 3, 2}, 1, "strides"},
    {106, OPTION_ACTIVATION, {4}, 0, "activation"},
    {106, OPTION_SPATIAL, {5, 7, 6}, 1, "dilations"},
    {107, OPTION_INT, {0}, 0, "table_id"},     /* HASHTABLE */
    {111, OPTION_STRING, {0}, 0, "container"}, /* VAR_HANDLE */
    {111, OPTION_STRING, {1}, 0, "shared_name"},
    {115, OPTION_FLOATS, {0}, 0, "boundaries"}, /* BUCKETIZE */
    {116, OPTION_BOOL, {0}, 0, "approximate"},  /* GELU */
};

static const option options_2[] = {
    {1, OPTION_LONG, {0}, 0, "axis"},                  /* STABLEHLO_CONCATENATE */
    {2, OPTION_LONGS, {0}, 0, "broadcast_dimensions"}, /* STABLEHLO_BROADCAST_IN_DIM */
    {3, OPTION_LONGS, {0}, 0, "starts"},               /* STABLEHLO_SLICE */
    {3, OPTION_LONGS, {1}, 0, "ends"},
    {3, OPTION_LONGS, {2}, 0, "steps"},
    {4, OPTION_LONGS, {0}, 0, "strides"}, /* STABLEHLO_CONVOLUTION */
    {4, OPTION_LONGS, {1}, 0, "padding"},
    {4, OPTION_LONGS, {2}, 0, "lhs_dilation"},
    {4, OPTION_LONGS, {3}, 0, "dilations"},
    {4, OPTION_LONG, {5}, 0, "input_batch_dimension"},
    {4, OPTION_LONG, {6}, 0, "input_feature_dimension"},
    {4, OPTION_LONGS, {7}, 0, "input_spatial_dimensions"},
    {4, OPTION_LONG, {8}, 0, "kernel_input_feature_dimension"},
    {4, OPTION_LONG, {9}, 0, "kernel_output_feature_dimension"},
    {4, OPTION_LONGS, {10}, 0, "kernel_spatial_dimensions"},
    {4, OPTION_LONG, {11}, 0, "output_batch_dimension"},
    {4, OPTION_LONG, {12}, 0, "output_feature_dimension"},
    {4, OPTION_LONGS, {13}, 0, "output_spatial_dimensions"},
    {4, OPTION_LONG, {14}, 1, "group"},
    {5, OPTION_STRING, {0}, 0, "call_target_name"},  /* STABLEHLO_CUSTOM_CALL */
    {6, OPTION_LONGS, {0}, 0, "axes"},               /* STABLEHLO_REDUCE */
    {7, OPTION_LONGS, {1}, 0, "update_window_dims"}, /* STABLEHLO_SCATTER */
    {7, OPTION_LONG, {4}, 0, "index_vector_dim"},
    {8, OPTION_INT, {0}, 0, "comparison_direction"}, /* STABLEHLO_COMPARE */
    {9, OPTION_LONGS, {0}, 0, "slice_sizes"},        /* STABLEHLO_DYNAMIC_SLICE */
    {10, OPTION_LONGS, {0}, 0, "edge_padding_low"},  /* STABLEHLO_PAD */
    {10, OPTION_LONGS, {1}, 0, "edge_padding_high"},
    {10, OPTION_LONGS, {2}, 0, "interior_padding"},
    {11, OPTION_LONG, {0}, 0, "axis"},          /* STABLEHLO_IOTA */
    {13, OPTION_LONGS, {0}, 0, "kernel_shape"}, /* STABLEHLO_REDUCE_WINDOW */
    {13, OPTION_LONGS, {1}, 0, "strides"},
    {13, OPTION_LONGS, {3}, 0, "dilations"},
    {13, OPTION_LONGS, {4}, 0, "padding"},
    {14, OPTION_LONG, {0}, 0, "axis"},         /* STABLEHLO_SORT */
    {16, OPTION_LONGS, {0}, 0, "offset_dims"}, /* STABLEHLO_GATHER */
    {16, OPTION_LONGS, {1}, 0, "collapsed_slice_dims"},
    {16, OPTION_LONGS, {2}, 0, "start_index_map"},
    {16, OPTION_LONG, {3}, 0, "index_vector_dim"},
    {16, OPTION_LONGS, {4}, 0, "slice_sizes"},
    {17, OPTION_LONGS, {0}, 0, "perm"}, /* STABLEHLO_TRANSPOSE */
};

static const char *activation_name(int64_t activation) {
    static const char *const names[] = {NULL, "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"};
    return activation > 0 && activation < 6 ? names[activation] : NULL;
}

static ft_status add_text(tflite_model *model, const flat_table *table, const option *o, ft_attr *attr) {
    size_t length;
    const char *text = flat_string(table, o->fields[0], &length);
    FT_TRY(tflite_add_work(model, length / 16));
    const char *copy = arena_string(&model->scratch, text != NULL ? text : "", text != NULL ? length : 0);
    if (copy == NULL) return FT_NOMEM(model->error);
    return graph_attr_string(model->graph, attr, o->attr, copy, model->error);
}

static ft_status add_list(tflite_model *model, const flat_table *table, const option *o, ft_attr *attr) {
    flat_kind kind = o->kind == OPTION_INTS ? FLAT_I32 : o->kind == OPTION_LONGS ? FLAT_I64 : FLAT_F32;
    flat_vector list = flat_numbers(table, o->fields[0], kind);
    if (list.count > FT_FOLD_MAX_ELEMS)
        return ft_fail(model->error, FT_ERR_LIMIT, "option '%s' has %u elements; at most %d are supported", o->attr,
                       list.count, FT_FOLD_MAX_ELEMS);
    FT_TRY(tflite_add_work(model, list.count / 4));
    if (kind == FLAT_F32) {
        double floats[FT_FOLD_MAX_ELEMS];
        for (uint32_t i = 0; i < list.count; i++) floats[i] = flat_float_at(&list, i, kind);
        return graph_attr_floats(model->graph, attr, o->attr, floats, list.count, model->error);
    }
    int64_t ints[FT_FOLD_MAX_ELEMS];
    for (uint32_t i = 0; i < list.count; i++) ints[i] = flat_int_at(&list, i, kind);
    return graph_attr_ints(model->graph, attr, o->attr, ints, list.count, model->error);
}

static ft_status add_spatial(tflite_model *model, const flat_table *table, const option *o, ft_attr *attr) {
    int64_t sizes[3];
    size_t count = 0;
    for (; count < 3 && o->fields[count] != 0; count++)
        sizes[count] = flat_int(table, o->fields[count], FLAT_I32, o->fallback);
    return graph_attr_ints(model->graph, attr, o->attr, sizes, count, model->error);
}

/* Writes *attr and increments the count; leaves both when the option is absent. */
static ft_status add_option(tflite_model *model, const flat_table *table, const option *o, ft_attr *attr,
                            uint32_t *count) {
    static const uint8_t kinds[] = {
        [OPTION_INT] = FLAT_I32,    [OPTION_LONG] = FLAT_I64, [OPTION_BOOL] = FLAT_BOOL, [OPTION_BYTE] = FLAT_I8,
        [OPTION_PADDING] = FLAT_I8, [OPTION_DTYPE] = FLAT_I8, [OPTION_MIRROR] = FLAT_I8, [OPTION_ACTIVATION] = FLAT_I8,
    };
    ft_graph *graph = model->graph;
    ft_error *error = model->error;
    uint8_t field = o->fields[0];
    ++*count;
    switch ((option_kind)o->kind) {
    case OPTION_FLOAT:
        return graph_attr_float(graph, attr, o->attr, flat_float(table, field, FLAT_F32, 0), error);
    case OPTION_STRING:
        return add_text(model, table, o, attr);
    case OPTION_INTS:
    case OPTION_LONGS:
    case OPTION_FLOATS:
        return add_list(model, table, o, attr);
    case OPTION_SPATIAL:
        return add_spatial(model, table, o, attr);
    default:
        break;
    }
    int64_t value = flat_int(table, field, (flat_kind)kinds[o->kind], o->fallback);
    switch ((option_kind)o->kind) {
    case OPTION_PADDING:
        return graph_attr_string(graph, attr, o->attr, value == 0 ? "SAME_UPPER" : "VALID", error);
    case OPTION_MIRROR:
        return graph_attr_string(graph, attr, o->attr, value == 0 ? "reflect" : "symmetric", error);
    case OPTION_DTYPE:
        return graph_attr_int(graph, attr, o->attr, tflite_dtype_as_onnx(value), error);
    case OPTION_ACTIVATION:
        if (activation_name(value) != NULL)
            return graph_attr_string(graph, attr, o->attr, activation_name(value), error);
        --*count;
        return FT_OK;
    default:
        return graph_attr_int(graph, attr, o->attr, value, error);
    }
}

/* --- STABLEHLO_DOT_GENERAL --------------------------------------------------------------------------------------- */

enum { MEMBER_DOT_GENERAL = 12, DOT_BATCH = 0, DOT_CONTRACT = 2 };

/* Gives each paired dimension of the right operand the label of its partner on the left, and marks both. */
static bool label_pairs(const flat_table *table, uint32_t lhs_field, char *left, int32_t left_rank, char *right,
                        int32_t right_rank, char *labels) {
    flat_vector a = flat_numbers(table, lhs_field, FLAT_I64), b = flat_numbers(table, lhs_field + 1, FLAT_I64);
    if (a.count != b.count || a.count > FT_MAX_RANK) return false;
    for (uint32_t i = 0; i < a.count; i++) {
        int64_t l = flat_int_at(&a, i, FLAT_I64), r = flat_int_at(&b, i, FLAT_I64);
        if (l < 0 || l >= left_rank || r < 0 || r >= right_rank) return false;
        right[r] = left[l];
        labels[i] = left[l];
    }
    labels[a.count] = '\0';
    return true;
}

/* The product as an Einsum equation, "abc,adc->abd": batch dimensions, free dimensions of the left, of the right. */
static bool dot_equation(const flat_table *table, int32_t left_rank, int32_t right_rank, char text[64]) {
    char left[FT_MAX_RANK + 1] = "abcdefgh", right[FT_MAX_RANK + 1] = "ijklmnop";
    char batch[FT_MAX_RANK + 1], summed[FT_MAX_RANK + 1], free[2 * FT_MAX_RANK + 1];
    if (left_rank < 0 || right_rank < 0) return false;
    left[left_rank] = right[right_rank] = '\0';
    if (!label_pairs(table, DOT_BATCH, left, left_rank, right, right_rank, batch)) return false;
    if (!label_pairs(table, DOT_CONTRACT, left, left_rank, right, right_rank, summed)) return false;
    size_t count = 0;
    for (const char *c = left; *c != '\0'; c++) {
        if (strchr(batch, *c) == NULL && strchr(summed, *c) == NULL) free[count++] = *c;
    }
    for (const char *c = right; *c != '\0'; c++) {
        if (*c >= 'i') free[count++] = *c;
    }
    free[count] = '\0';
    snprintf(text, 64, "%s,%s->%s%s", left, right, batch, free);
    return true;
}

static ft_status add_equation(tflite_model *model, const flat_table *table, const tflite_list *inputs, ft_attr *attr,
                              uint32_t *count) {
    char text[64];
    if (inputs->count != 2 || inputs->items[0] == FT_NONE || inputs->items[1] == FT_NONE) return FT_OK;
    const ft_tensor *tensors = model->graph->tensors;
    if (!dot_equation(table, tensors[inputs->items[0]].rank, tensors[inputs->items[1]].rank, text)) return FT_OK;
    ++*count;
    return graph_attr_string(model->graph, attr, "equation", text, model->error);
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

ft_status tflite_options(tflite_model *model, const flat_table *op, const tflite_list *inputs, ft_attr *attrs,
                         uint32_t *count) {
    const option *list = options_1, *end = list + sizeof options_1 / sizeof options_1[0];
    int64_t member = flat_int(op, OPERATOR_OPTIONS_TYPE, FLAT_U8, 0);
    flat_table table = flat_child(op, OPERATOR_OPTIONS);
    *count = 0;
    if (member == 0) {
        list = options_2;
        end = list + sizeof options_2 / sizeof options_2[0];
        member = flat_int(op, OPERATOR_OPTIONS_2_TYPE, FLAT_U8, 0);
        table = flat_child(op, OPERATOR_OPTIONS_2);
        if (member == MEMBER_DOT_GENERAL) return add_equation(model, &table, inputs, attrs, count);
    }
    /* A union member may be present without a table, which means all defaults. */
    for (; list < end && list->member <= member; list++) {
        if (list->member == member) FT_TRY(add_option(model, &table, list, &attrs[*count], count));
    }
    return FT_OK;
}
