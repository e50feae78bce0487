/* rules.h - the shape and fold rules that the operator table names. shape.h tells how a rule is written.
 *
 * shape_*.c hold the shape rules, fold*.c the fold rules. */
#ifndef GRAPH_RULES_H
#define GRAPH_RULES_H

#include "graph/opdef.h"

/* shape_elementwise.c */
shape_rule shape_same, shape_broadcast, shape_compare, shape_where, shape_cast, shape_quantize, shape_dequantize,
    shape_dynamic_quantize, shape_random_like, shape_dropout, shape_reduce, shape_arg_reduce, shape_bitcast;

/* shape_windows.c */
shape_rule shape_conv, shape_conv_transpose, shape_pool, shape_max_unpool, shape_global_pool;

/* shape_layers.c */
shape_rule shape_matmul, shape_fully_connected, shape_batch_norm, shape_layer_norm, shape_loss, shape_det,
    shape_recurrent, shape_attention, shape_einsum, shape_resize, shape_roi_align, shape_grid_sample, shape_dft,
    shape_window, shape_stft;

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
    shape_detections, shape_matrix_diag, shape_segment, shape_rfft2d, shape_like_second;

/* fold.c */
fold_rule fold_copy, fold_shape, fold_size, fold_gather, fold_concat, fold_slice, fold_split, fold_range, fold_fill,
    fold_expand, fold_transpose, fold_cast;

/* fold_math.c */
fold_rule fold_binary, fold_unary, fold_where, fold_reduce;

/* fold_tflite.c */
fold_rule fold_split_axis_first, fold_split_v, fold_slice_size, fold_strided_slice, fold_unpack, fold_pack,
    fold_gather_batch, fold_fill_value, fold_rank, fold_broadcast_args;

#endif
