/* shape.h - shape and fold rules: the ones that the operator table names, and the functions they are written with.
 *
 * Binding visits the operators in order. For each it calls the shape rule of its table entry, which reads the shapes
 * (and small values) of the inputs and sets those of the outputs. A rule that lacks information leaves an output alone,
 * and the shape declared in the file is used. A rule that finds a contradiction fails with shape_fail(), and binding
 * stops. When all inputs of an operator have values, its fold rule computes those of the outputs. */
#ifndef GRAPH_SHAPE_H
#define GRAPH_SHAPE_H

#include <assert.h>

#include "graph/graph.h"
#include "graph/opdef.h"

/* --- The rules ----------------------------------------------------------------------------------------------- */

/* shape_elementwise.c */
shape_rule shape_same, shape_broadcast, shape_compare, shape_where, shape_cast, shape_quantize, shape_dequantize,
    shape_dynamic_quantize, shape_random_like, shape_dropout, shape_reduce, shape_arg_reduce, shape_bitcast;

/* shape_windows.c */
shape_rule shape_conv, shape_conv_transpose, shape_pool, shape_max_unpool, shape_global_pool;

/* shape_layers.c */
shape_rule shape_matmul, shape_fully_connected, shape_batch_norm, shape_layer_norm, shape_loss, shape_det,
    shape_recurrent, shape_einsum, shape_resize, shape_roi_align, shape_grid_sample, shape_dft, shape_window,
    shape_stft;

/* shape_contrib.c */
shape_rule shape_attention, shape_linear_attention, shape_delta_net, shape_gates, shape_gemma_rotary,
    shape_position_bias, shape_gated_position_bias, shape_remove_padding, shape_restore_padding, shape_skip_norm,
    shape_skip_group_norm, shape_embed_norm, shape_packed_product, shape_causal_conv, shape_split_gelu,
    shape_bitmask_dropout, shape_mul_integer, shape_int8, shape_gather_quantized, shape_crop_resize;

/* shape_collective.c */
shape_rule shape_all_gather, shape_reduce_scatter;

/* shape_move.c */
shape_rule shape_reshape, shape_flatten, shape_transpose, shape_squeeze, shape_unsqueeze, shape_concat, shape_split,
    shape_slice, shape_gather, shape_gather_elements, shape_gather_nd, shape_expand, shape_tile, shape_pad,
    shape_depth_to_space, shape_space_to_depth;

/* shape_select.c */
shape_rule shape_shape, shape_size, shape_constant_of_shape, shape_range, shape_one_hot, shape_top_k, shape_non_zero,
    shape_nms, shape_compress, shape_unique, shape_loop_slice, shape_loop_index, shape_loop_stack, shape_random;

/* shape_tflite.c */
shape_rule shape_split_axis_first, shape_split_v, shape_slice_size, shape_strided_slice, shape_unpack, shape_pack,
    shape_gather_batch, shape_embedding, shape_hashtable_lookup, shape_one_hot_depth, shape_fill, shape_scatter_shape,
    shape_sparse_to_dense, shape_broadcast_args, shape_resize_size, shape_pad_pairs, shape_space_to_batch,
    shape_batch_to_space, shape_dilate, shape_lstm, shape_bidirectional_lstm, shape_rnn, shape_svdf, shape_nms_limit,
    shape_detections, shape_matrix_diag, shape_segment, shape_rfft2d, shape_like_second, shape_each;

/* shape_ncnn.c */
shape_rule shape_inner_product, shape_binary_blob, shape_reduce_blob, shape_adaptive_pool, shape_reshape_blob,
    shape_squeeze_blob, shape_permute_blob, shape_slice_blob, shape_crop_blob, shape_pad_blob, shape_interp_blob,
    shape_tile_blob, shape_recurrent_blob;

/* fold.c */
fold_rule fold_copy, fold_shape, fold_size, fold_gather, fold_concat, fold_slice, fold_split, fold_range, fold_fill,
    fold_expand, fold_transpose, fold_cast;

/* fold_math.c */
fold_rule fold_binary, fold_unary, fold_where, fold_reduce;

/* fold_tflite.c */
fold_rule fold_split_axis_first, fold_split_v, fold_slice_size, fold_strided_slice, fold_unpack, fold_pack,
    fold_gather_batch, fold_fill_value, fold_rank, fold_broadcast_args, fold_sparse_to_dense;

/* --- For all rules: inputs, outputs, failures (shape.c) ------------------------------------------------------- */

struct infer {
    ft_graph *graph; /* being bound */
    const ft_op *op;
    ft_error *error;
};

/* Input `i`, or NULL when it is absent. */
static inline const ft_tensor *input_at(const infer *in, uint32_t i) {
    return op_input(in->graph, in->op, i);
}

/* Input `i` when it is present and its shape is known, or NULL. */
const ft_tensor *input_known(const infer *in, uint32_t i);

/* Sets the shape of output `i`, if the operator has it. A known type stays; an unknown one becomes `dtype`. */
ft_status shape_set(infer *in, uint32_t i, ft_dtype dtype, const int64_t *dims, int32_t rank);
ft_status shape_set_like(infer *in, uint32_t i, const ft_tensor *like);

/* "operator 'x' (Conv): ..." as FT_ERR_GRAPH. */
ft_status shape_fail(const infer *in, const char *format, ...) FT_PRINTF(2, 3);

/* The same for an input whose shape does not match the weights; `weight` NULL: does not match the pooling window. */
ft_status shape_fail_mismatch(const infer *in, const ft_tensor *x, const ft_tensor *weight);

/* The output type of a product with data input `x`: the type of `x`, but int32 for the "Integer" operators and float32
 * for those that dequantise their result. */
ft_dtype shape_product_type(const infer *in, const ft_tensor *x);

/* A negative axis counts from the end. False when it is out of range for `rank`. */
bool axis_normalize(int64_t axis, int32_t rank, int32_t *normal);

/* The integers of attribute `name`, or else those of input `i`; false when neither is known. Many operators moved
 * such operands from attributes to inputs in later opsets. */
bool ints_of(const infer *in, const char *name, uint32_t i, const int64_t **ints, int64_t *count);

/* The elements of input `i` as integers, or the first as a number; false when they are not known. */
bool input_ints(const infer *in, uint32_t i, const int64_t **ints, int64_t *count);
bool input_number(const infer *in, uint32_t i, double *number);
/* The first element of input `i` as a size or an axis: false also when it is not between -FT_MAX_DIM and FT_MAX_DIM. */
bool input_size(const infer *in, uint32_t i, int64_t *size);

/* Sets is_axis[] for the axes listed in attribute "axes" or input `i`. *has_axes: at least one is listed. False when
 * they are not known or out of range. */
bool axes_of(const infer *in, uint32_t i, int32_t rank, bool is_axis[FT_MAX_RANK], bool *has_axes);

/* The shape two shapes broadcast to. False when they do not. */
bool broadcast_dims(const ft_tensor *a, const ft_tensor *b, int64_t dims[FT_MAX_RANK], int32_t *rank);

/* Trip count of a loop, as far as it is known during binding: at least 1. */
uint64_t loop_trips(const ft_graph *graph, uint32_t loop);

/* --- Slices of ONNX and TensorFlow (slice.c) ------------------------------------------------------------------ */

typedef struct strided_slice {
    int64_t begin[FT_MAX_RANK], stride[FT_MAX_RANK]; /* per dimension of the input */
    int64_t count[FT_MAX_RANK];                      /* elements selected of each */
    int64_t dims[FT_MAX_RANK];                       /* of the output: dimensions removed and inserted */
    int32_t rank;
    const char *fault; /* why the slice is not valid, or NULL */
} strided_slice;

/* TensorFlow's StridedSlice. False when the operands are not known. */
bool strided_slice_of(const infer *in, strided_slice *slice);

/* ONNX's Slice(x, starts, ends, axes, steps), in old opsets with attributes. False when the operands are not known. */
bool axis_slice_of(const infer *in, strided_slice *slice);

/* --- For fold rules: reading and writing values (fold.c) ------------------------------------------------------ */

/* The value of an output while it is computed. */
typedef struct fold_result {
    int64_t count;
    int64_t *ints; /* one of the two */
    double *floats;
} fold_result;

/* Allocates the value of output `i`. False when the output is absent, or its size is not known or too large. */
bool fold_begin(infer *in, uint32_t i, bool is_float, fold_result *r);

/* The same, and false also when the output does not have `count` elements. */
bool fold_begin_count(infer *in, uint32_t i, bool is_float, int64_t count, fold_result *r);

/* Output `i` becomes a strided part of the row-major tensor `x`: begin, stride and count per dimension. */
void fold_strided(infer *in, uint32_t i, const ft_tensor *x, const int64_t *begin, const int64_t *stride,
                  const int64_t *count);

/* Removes the value of output `i`, for a rule that finds on the way that it cannot compute it. */
void fold_discard(infer *in, uint32_t i);

/* An element as a number; a number as an integer, saturated to the range of int64. */
double fold_number(const ft_value *v, int64_t i);
int64_t fold_int(double number);

/* Index of the element of `t` that is at flat index `flat` of a tensor with shape `dims`. Dimensions are aligned at
 * the end and repeat, as in broadcasting and tiling. */
int64_t fold_broadcast_index(const ft_tensor *t, const int64_t *dims, int32_t rank, int64_t flat);

/* Copies an element of a value of the same kind. */
static inline void fold_element(fold_result *r, int64_t to, const ft_value *from, int64_t i) {
    assert(to >= 0 && to < r->count && i >= 0 && i < from->count);
    if (r->ints != NULL) {
        assert(from->ints != NULL);
        r->ints[to] = from->ints[i];
    } else {
        assert(from->floats != NULL);
        r->floats[to] = from->floats[i];
    }
}

#endif
