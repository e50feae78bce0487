/* shape_contrib.c - shape rules of attention and of ONNX Runtime's own operators (com.microsoft). */
#include "graph/geometry.h"
#include "graph/shape.h"

/* --- Attention ----------------------------------------------------------------------------------------------- */

/* Keys or values of the cache. */
static ft_status set_cache(infer *in, const attention_geometry *g, uint32_t output, uint32_t past_input, int64_t size) {
    const ft_tensor *past = input_known(in, past_input), *x = input_at(in, 0);
    if (output == 0) return FT_OK;
    ft_dtype dtype = past != NULL ? past->dtype : g->typed != 0 ? input_at(in, g->typed)->dtype : x->dtype;
    if (past != NULL && g->is_paged) return shape_set_like(in, output, past);
    if (past != NULL) size = past->dims[past->rank - 1]; /* may be packed */
    int64_t stacked[5] = {2, g->batch, g->kv_heads, g->present, size};
    return shape_set(in, output, dtype, g->is_stacked ? stacked : stacked + 1, g->is_stacked ? 5 : 4);
}

ft_status shape_attention(infer *in) {
    attention_geometry g;
    int64_t width;
    if (!attention_geometry_of(in->graph, in->op, &g)) return FT_OK;
    if (!num_mul_i64(g.heads, g.value_size, &width)) return shape_fail(in, "the heads are too wide");
    const ft_tensor *like = input_at(in, g.typed);
    ft_dtype dtype = like != NULL ? like->dtype : FT_DTYPE_UNKNOWN;
    int64_t apart[4] = {g.batch, g.heads, g.queries, g.value_size}, together[3] = {g.batch, g.queries, width};
    if (g.is_time_first) together[0] = g.queries, together[1] = g.batch;
    if (g.is_tokens) together[1] = g.tokens;
    if (g.has_head_axis)
        FT_TRY(shape_set(in, 0, dtype, apart, 4));
    else
        FT_TRY(shape_set(in, 0, dtype, g.is_tokens ? together + 1 : together, g.is_tokens ? 2 : 3));
    FT_TRY(set_cache(in, &g, g.present_key, g.past_key, g.head_size));
    FT_TRY(set_cache(in, &g, g.present_value, g.past_value, g.value_size));
    int64_t scores[4] = {g.batch, g.heads, g.queries, g.present};
    return g.scores != 0 ? shape_set(in, g.scores, dtype, scores, 4) : FT_OK;
}

/* LinearAttention(q [b, t, heads * k], k, v [b, t, heads * v], state): a state of k x v per head of keys. */
ft_status shape_linear_attention(infer *in) {
    const ft_tensor *q = input_known(in, 0), *v = input_known(in, 2);
    int64_t heads = op_attr_int(in->op, "q_num_heads", 0), kv_heads = op_attr_int(in->op, "kv_num_heads", 0);
    int64_t window = op_attr_int(in->op, "state_window", 0);
    if (q == NULL || v == NULL || q->rank != 3 || v->rank != 3 || heads <= 0 || kv_heads <= 0) return FT_OK;
    const ft_tensor *past = input_at(in, 3);
    int64_t value_size = v->dims[2] / kv_heads, y[3] = {q->dims[0], q->dims[1], 0};
    if (!num_mul_i64(heads > kv_heads ? heads : kv_heads, value_size, &y[2])) return FT_OK;
    int64_t state[5] = {window, q->dims[0], kv_heads, q->dims[2] / heads, value_size};
    FT_TRY(shape_set(in, 0, q->dtype, y, 3));
    return shape_set(in, 1, past != NULL ? past->dtype : q->dtype, window > 0 ? state : state + 1, window > 0 ? 5 : 4);
}

/* GatedDeltaNet(q [tokens, heads, k], k, v [tokens, heads, v], ends, decay, beta, state): V-major states. */
ft_status shape_delta_net(infer *in) {
    const ft_tensor *q = input_known(in, 0), *k = input_known(in, 1), *v = input_known(in, 2);
    const ft_tensor *ends = input_known(in, 3), *past = input_known(in, 6);
    int64_t capacity = op_attr_int(in->op, "state_update_capacity", 0);
    if (q == NULL || k == NULL || v == NULL || q->rank != 3 || k->rank != 3 || v->rank != 3) return FT_OK;
    int64_t y[3] = {q->dims[0], q->dims[1] > v->dims[1] ? q->dims[1] : v->dims[1], v->dims[2]};
    FT_TRY(shape_set(in, 0, q->dtype, y, 3));
    int64_t batch = ends != NULL && ends->rank == 1 ? ends->dims[0] - 1 : past != NULL ? past->dims[0] : 1;
    int64_t state[4] = {batch, v->dims[1], v->dims[2], q->dims[2]}, keys, deltas, update[2] = {batch, 0};
    FT_TRY(shape_set(in, 1, FT_FLOAT32, state, 4));
    if (!num_mul_i64(k->dims[1], k->dims[2], &keys) || !num_mul_i64(v->dims[1], v->dims[2], &deltas) ||
        !num_mul_i64(capacity, v->dims[1] + keys + deltas, &update[1]))
        return FT_OK;
    return shape_set(in, 2, FT_FLOAT32, update, 2);
}

/* Both results are like the first input. */
ft_status shape_gates(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    FT_TRY(shape_set_like(in, 0, x));
    return shape_set_like(in, 1, x);
}

/* GemmaRotaryEmbedding(angles, q, rotated q, k, rotated k): q and k. */
ft_status shape_gemma_rotary(infer *in) {
    const ft_tensor *q = input_known(in, 1), *k = input_known(in, 3);
    if (q != NULL) FT_TRY(shape_set_like(in, 0, q));
    return k != NULL ? shape_set_like(in, 1, k) : FT_OK;
}

/* RelativePositionBias(table [buckets, heads], queries, keys). */
ft_status shape_position_bias(infer *in) {
    const ft_tensor *table = input_known(in, 0);
    int64_t queries, keys;
    if (table == NULL || table->rank != 2 || !input_size(in, 1, &queries) || !input_size(in, 2, &keys)) return FT_OK;
    int64_t dims[4] = {1, table->dims[1], queries, keys};
    return shape_set(in, 0, table->dtype, dims, 4);
}

/* GatedRelativePositionBias(q [b, s, width], bias, positions [1, heads, s, s], weights, ...). */
ft_status shape_gated_position_bias(infer *in) {
    const ft_tensor *q = input_known(in, 0), *positions = input_known(in, 2), *offsets = input_known(in, 6);
    if (q == NULL || positions == NULL || positions->rank != 4) return FT_OK;
    if (q->rank != 3 && (offsets == NULL || offsets->rank != 2)) return FT_OK;
    ft_tensor y = *positions;
    y.dims[0] = q->rank == 3 ? q->dims[0] : offsets->dims[0];
    return shape_set_like(in, 0, &y);
}

/* RemovePadding(x [b, s, width], lengths [b]): tokens, their offsets, ends of the sequences, longest sequence. How many
 * tokens are padding is in the data: as many as there may be. */
ft_status shape_remove_padding(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL || x->rank != 3) return FT_OK;
    int64_t tokens, one = 1, ends = x->dims[0] + 1;
    if (!num_mul_i64(x->dims[0], x->dims[1], &tokens)) return FT_OK;
    int64_t dims[2] = {tokens, x->dims[2]};
    FT_TRY(shape_set(in, 0, x->dtype, dims, 2));
    FT_TRY(shape_set(in, 1, FT_INT32, x->dims, 2));
    FT_TRY(shape_set(in, 2, FT_INT32, &ends, 1));
    return shape_set(in, 3, FT_INT32, &one, 1);
}

/* RestorePadding(x [tokens, width], offsets [b, s]). */
ft_status shape_restore_padding(infer *in) {
    const ft_tensor *x = input_known(in, 0), *offsets = input_known(in, 1);
    if (x == NULL || offsets == NULL || x->rank != 2 || offsets->rank != 2) return FT_OK;
    int64_t dims[3] = {offsets->dims[0], offsets->dims[1], x->dims[1]};
    return shape_set(in, 0, x->dtype, dims, 3);
}

/* --- Norms --------------------------------------------------------------------------------------------------- */

/* The fourth output is the sum that is normalised: the next layer adds to it. */
ft_status shape_skip_norm(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL || x->rank < 1) return FT_OK;
    ft_tensor stats = *x;
    stats.dims[stats.rank - 1] = 1;
    FT_TRY(shape_set_like(in, 0, x));
    FT_TRY(shape_set(in, 1, FT_FLOAT32, stats.dims, stats.rank));
    FT_TRY(shape_set(in, 2, FT_FLOAT32, stats.dims, stats.rank));
    return shape_set_like(in, 3, x);
}

ft_status shape_skip_group_norm(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    FT_TRY(shape_set_like(in, 0, x));
    return shape_set_like(in, 1, x);
}

/* EmbedLayerNormalization(words [b, s], segments, table [words, width], ...): embedding, lengths, sum before the norm.
 */
ft_status shape_embed_norm(infer *in) {
    const ft_tensor *words = input_known(in, 0), *table = input_known(in, 2), *scale = input_known(in, 5);
    if (words == NULL || table == NULL || words->rank != 2 || table->rank != 2) return FT_OK;
    int64_t dims[3] = {words->dims[0], words->dims[1], table->dims[1]};
    bool is_quantised = !dtype_info_of(table->dtype).is_float && table->dtype != FT_DTYPE_UNKNOWN;
    ft_dtype dtype = !is_quantised ? table->dtype : FT_FLOAT32;
    if (is_quantised && scale != NULL && dtype_info_of(scale->dtype).is_float) dtype = scale->dtype;
    FT_TRY(shape_set(in, 0, dtype, dims, 3));
    FT_TRY(shape_set(in, 1, FT_INT32, dims, 1));
    return shape_set(in, 2, dtype, dims, 3);
}

/* --- Products ------------------------------------------------------------------------------------------------ */

/* Packed weights: one result of n columns; gate and up have one of half of them, a projection of three has three. The
 * last output is the sum that is normalised before. */
ft_status shape_packed_product(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    int64_t k, n, kv = op_attr_int(in->op, "Nkv", 0);
    if (x == NULL || x->rank < 1 || !packed_matrix(in->graph, in->op, &k, &n)) return FT_OK;
    if (x->dims[x->rank - 1] != k)
        return shape_fail(in, "weights of %lld rows do not fit an input that ends in %lld", (long long)k,
                          (long long)x->dims[x->rank - 1]);
    bool is_triple = op_is(in->op, "MatMulNBitsQkv"), is_gated = op_is(in->op, "MatMulNBitsMlp");
    ft_tensor y = *x;
    y.dims[y.rank - 1] = is_gated ? n / 2 : is_triple ? n - 2 * kv : n;
    FT_TRY(shape_set_like(in, 0, &y));
    y.dims[y.rank - 1] = kv;
    for (uint32_t i = 1; is_triple && i < 3; i++) FT_TRY(shape_set_like(in, i, &y));
    return is_gated || is_triple ? shape_set_like(in, is_triple ? 3 : 1, x) : FT_OK;
}

/* CausalConvWithState(x, weight [channels, 1, k], bias, state): the state keeps the last positions. */
ft_status shape_causal_conv(infer *in) {
    const ft_tensor *x = input_known(in, 0), *weight = input_known(in, 1);
    int64_t window = op_attr_int(in->op, "state_window", 0), length;
    if (x == NULL || weight == NULL || x->rank < 3 || weight->rank < 3 || x->rank + (window > 0) > FT_MAX_RANK)
        return FT_OK;
    FT_TRY(shape_set_like(in, 0, x));
    if (!num_mul_i64(weight->dims[weight->rank - 1] - 1, op_attr_int(in->op, "dilation", 1), &length)) return FT_OK;
    ft_tensor state = *x;
    state.dims[op_is_nhwc(in->graph, in->op) ? 1 : x->rank - 1] = length;
    if (window <= 0) return shape_set_like(in, 1, &state);
    int64_t dims[FT_MAX_RANK] = {window};
    for (int32_t i = 0; i < state.rank; i++) dims[i + 1] = state.dims[i];
    return shape_set(in, 1, state.dtype, dims, state.rank + 1);
}

/* --- Elementwise and lookup ---------------------------------------------------------------------------------- */

/* Half of the last dimension is multiplied by the activation of the other. */
ft_status shape_split_gelu(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL || x->rank < 1) return FT_OK;
    ft_tensor y = *x;
    y.dims[y.rank - 1] /= 2;
    return shape_set_like(in, 0, &y);
}

/* The mask has a bit per element, in words of 32. */
ft_status shape_bitmask_dropout(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    if (x == NULL) return FT_OK;
    int64_t words = (int64_t)num_div_up((uint64_t)shape_elems(x->dims, x->rank), 32);
    FT_TRY(shape_set_like(in, 0, x));
    return shape_set(in, 1, FT_UINT32, &words, 1);
}

/* MulInteger(a, zero point, b, zero point). */
ft_status shape_mul_integer(infer *in) {
    const ft_tensor *a = input_known(in, 0), *b = input_known(in, 2);
    int64_t dims[FT_MAX_RANK];
    int32_t rank;
    if (a == NULL || b == NULL) return FT_OK;
    if (!broadcast_dims(a, b, dims, &rank)) return shape_fail(in, "the shapes of its inputs do not broadcast");
    return shape_set(in, 0, FT_INT32, dims, rank);
}

ft_status shape_int8(infer *in) {
    const ft_tensor *x = input_known(in, 0);
    return x != NULL ? shape_set(in, 0, FT_INT8, x->dims, x->rank) : FT_OK;
}

/* GatherBlockQuantized(data, indices, scales, zero points): as Gather of the unpacked data. */
ft_status shape_gather_quantized(infer *in) {
    const ft_tensor *x = input_known(in, 0), *indices = input_known(in, 1), *scales = input_at(in, 2);
    int32_t axis, rank = 0;
    if (x == NULL || indices == NULL || x->rank < 1) return FT_OK;
    if (!axis_normalize(op_attr_int(in->op, "gather_axis", 0), x->rank, &axis))
        return shape_fail(in, "the axis is out of range");
    int64_t dims[FT_MAX_RANK], bits = op_attr_int(in->op, "bits", 4);
    if (x->rank - 1 + indices->rank > FT_MAX_RANK) return shape_set(in, 0, x->dtype, x->dims, FT_MAX_RANK + 1);
    ft_tensor data = *x;                                            /* packed along the last dimension */
    int64_t width = packed_blocks(in->op, 0, x->dims[x->rank - 1]); /* of GGUF: there are no scales beside them */
    if (width >= 0)
        data.dims[data.rank - 1] = width;
    else if (x->dtype == FT_UINT8 && (bits == 2 || bits == 4))
        data.dims[data.rank - 1] *= 8 / bits;
    for (int32_t i = 0; i < axis; i++) dims[rank++] = data.dims[i];
    for (int32_t i = 0; i < indices->rank; i++) dims[rank++] = indices->dims[i];
    for (int32_t i = axis + 1; i < data.rank; i++) dims[rank++] = data.dims[i];
    return shape_set(in, 0, scales != NULL ? scales->dtype : width >= 0 ? FT_FLOAT16 : FT_FLOAT32, dims, rank);
}

/* CropAndResize(x [n, c, h, w], boxes [count, 4], images, size [2]). */
ft_status shape_crop_resize(infer *in) {
    const ft_tensor *x = input_known(in, 0), *boxes = input_known(in, 1);
    const int64_t *size;
    int64_t count;
    if (x == NULL || boxes == NULL || x->rank != 4 || boxes->rank != 2) return FT_OK;
    if (!input_ints(in, 3, &size, &count) || count != 2) return FT_OK;
    int64_t dims[4] = {boxes->dims[0], x->dims[1], size[0], size[1]};
    return shape_set(in, 0, x->dtype, dims, 4);
}
