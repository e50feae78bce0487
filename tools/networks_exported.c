/* networks_exported.c - transformers in the operators of ONNX Runtime (com.microsoft): what its exporters write. */
#include "networks.h"

enum { FLOAT = 1, UINT8 = 2, INT32 = 6, INT64 = 7, FLOAT16 = 10 }; /* element types of onnx.proto */

/* The domain and its version 1 apply to the operator added last. */
static void of_runtime(builder *b) {
    set_domain(b, "com.microsoft");
}

/* --- Language model, 4-bit weights ---------------------------------------------------------------------------------
 */

enum {
    WIDTH = 2048,
    LAYERS = 16,
    HEADS = 32,
    KV_HEADS = 8,
    HEAD = WIDTH / HEADS,
    INNER = 8192,
    WORDS = 128256,
    LONGEST = 131072,
    BLOCK = 32 /* weights that share a scale */
};

/* A linear layer with weights in blocks of 32 along the inputs: 16 bytes, a scale and half a byte of zero point each.
 */
static const char *linear4(builder *b, const char *x, const char *name, int in, int out) {
    int blocks = in / BLOCK;
    const char *weights = typed_weight(b, format(b, "%s.MatMulNBits.qweight", name), UINT8, 3, out, blocks, BLOCK / 2);
    const char *scales = typed_weight(b, format(b, "%s.MatMulNBits.scales", name), FLOAT16, 2, out, blocks);
    const char *zeros = typed_weight(b, format(b, "%s.MatMulNBits.qzeros", name), UINT8, 2, out, blocks / 2);
    const char *y = op(b, "MatMulNBits", x, weights, scales, zeros, NULL);
    of_runtime(b);
    set_int(b, "K", in);
    set_int(b, "N", out);
    set_int(b, "bits", 4);
    set_int(b, "block_size", BLOCK);
    return y;
}

static const char *norm_weight(builder *b, const char *name) {
    return typed_weight(b, format(b, "%s.layernorm.weight", name), FLOAT16, 1, WIDTH);
}

/* Normalises the sum of the residual and what the last layer adds to it; *sum becomes that sum. The outputs between are
 * statistics that inference does not ask for. */
static const char *skip_norm(builder *b, const char **sum, const char *x, const char *name, bool is_last) {
    const char *y = op(b, "SkipSimplifiedLayerNormalization", *sum, x, norm_weight(b, name), NULL);
    of_runtime(b);
    set_float(b, "epsilon", 1e-5);
    if (is_last) return y;
    no_output(b);
    no_output(b);
    *sum = more_output(b);
    return y;
}

typedef struct positions {
    const char *lengths, *total, *cosines, *sines;
} positions;

/* Lengths of the sequences and of the longest one, from the mask. */
static positions positions_of(builder *b, const char *mask) {
    positions p;
    const char *lengths = op(b, "Sub", op(b, "ReduceSum", mask, list(b, 1, 1), NULL), list(b, 1, 1), NULL);
    p.lengths = op(b, "Cast", lengths, NULL);
    set_int(b, "to", INT32);
    const char *total = op(b, "Gather", op(b, "Shape", mask, NULL), integer(b, 1), NULL);
    p.total = op(b, "Cast", total, NULL);
    set_int(b, "to", INT32);
    p.cosines = typed_weight(b, "cos_cache", FLOAT16, 2, LONGEST, HEAD / 2);
    p.sines = typed_weight(b, "sin_cache", FLOAT16, 2, LONGEST, HEAD / 2);
    return p;
}

static const char *grouped_attention(builder *b, const char *x, int layer, const positions *p) {
    const char *name = format(b, "model.layers.%d.attn", layer);
    const char *past = format(b, "past_key_values.%d.key", layer),
               *values = format(b, "past_key_values.%d.value", layer);
    input(b, past, FLOAT16, 4, DIM_BATCH, KV_HEADS, DIM_PAST, HEAD);
    input(b, values, FLOAT16, 4, DIM_BATCH, KV_HEADS, DIM_PAST, HEAD);
    const char *q = linear4(b, x, format(b, "%s.q_proj", name), WIDTH, WIDTH);
    const char *k = linear4(b, x, format(b, "%s.k_proj", name), WIDTH, KV_HEADS * HEAD);
    const char *v = linear4(b, x, format(b, "%s.v_proj", name), WIDTH, KV_HEADS * HEAD);
    const char *y =
        op(b, "GroupQueryAttention", q, k, v, past, values, p->lengths, p->total, p->cosines, p->sines, NULL);
    of_runtime(b);
    set_int(b, "num_heads", HEADS);
    set_int(b, "kv_num_heads", KV_HEADS);
    set_int(b, "do_rotary", 1);
    const char *new_keys = more_output(b), *new_values = more_output(b);
    output(b, new_keys, FLOAT16, 4, DIM_BATCH, KV_HEADS, DIM_TOTAL, HEAD);
    output(b, new_values, FLOAT16, 4, DIM_BATCH, KV_HEADS, DIM_TOTAL, HEAD);
    return linear4(b, y, format(b, "%s.o_proj", name), WIDTH, WIDTH);
}

static const char *gated_layer(builder *b, const char *x, int layer) {
    const char *name = format(b, "model.layers.%d.mlp", layer);
    const char *gate = linear4(b, x, format(b, "%s.gate_proj", name), WIDTH, INNER);
    const char *up = linear4(b, x, format(b, "%s.up_proj", name), WIDTH, INNER);
    const char *active = op(b, "Mul", gate, op(b, "Sigmoid", gate, NULL), NULL);
    return linear4(b, op(b, "Mul", active, up, NULL), format(b, "%s.down_proj", name), INNER, WIDTH);
}

void llama_1b_int4(builder *b) {
    const char *words = input(b, "input_ids", INT64, 2, DIM_BATCH, DIM_SEQUENCE);
    const char *mask = input(b, "attention_mask", INT64, 2, DIM_BATCH, DIM_TOTAL);
    positions p = positions_of(b, mask);
    const char *table = typed_weight(b, "model.embed_tokens.weight", FLOAT16, 2, WORDS, WIDTH);
    const char *sum = op(b, "Gather", table, words, NULL);
    const char *x = op(b, "SimplifiedLayerNormalization", sum, norm_weight(b, "model.layers.0.input"), NULL);
    set_float(b, "epsilon", 1e-5);
    set_int(b, "axis", -1);
    for (int i = 0; i < LAYERS; i++) {
        x = grouped_attention(b, x, i, &p);
        x = skip_norm(b, &sum, x, format(b, "model.layers.%d.post_attention", i), false);
        x = gated_layer(b, x, i);
        x = skip_norm(b, &sum, x, format(b, "model.layers.%d.final_norm", i + 1), i == LAYERS - 1);
    }
    output(b, linear4(b, x, "lm_head", WIDTH, WORDS), FLOAT16, 3, DIM_BATCH, DIM_SEQUENCE, WORDS);
}

/* --- Text encoder, fused -------------------------------------------------------------------------------------------
 */

enum { BERT_WIDTH = 768, BERT_HEADS = 12, BERT_LAYERS = 12, BERT_INNER = 3072, BERT_WORDS = 30522, BERT_LONGEST = 512 };

static const char *vector(builder *b, const char *name, int width) {
    return weight(b, name, 1, width);
}

static const char *product(builder *b, const char *x, const char *name, int in, int out) {
    return op(b, "MatMul", x, weight(b, format(b, "%s.weight", name), 2, in, out), NULL);
}

/* Adds the bias of the layer before, adds the residual, and normalises. */
static const char *residual_norm(builder *b, const char *x, const char *residual, const char *name) {
    const char *scale = vector(b, format(b, "%s.gamma", name), BERT_WIDTH);
    const char *shift = vector(b, format(b, "%s.beta", name), BERT_WIDTH);
    const char *bias = vector(b, format(b, "%s.bias", name), BERT_WIDTH);
    const char *y = op(b, "SkipLayerNormalization", x, residual, scale, shift, bias, NULL);
    of_runtime(b);
    set_float(b, "epsilon", 1e-12);
    return y;
}

static const char *encoder_layer(builder *b, const char *x, const char *lengths, int layer) {
    const char *name = format(b, "encoder.layer.%d", layer);
    const char *weights = weight(b, format(b, "%s.qkv.weight", name), 2, BERT_WIDTH, 3 * BERT_WIDTH);
    const char *bias = vector(b, format(b, "%s.qkv.bias", name), 3 * BERT_WIDTH);
    const char *y = op(b, "Attention", x, weights, bias, lengths, NULL);
    of_runtime(b);
    set_int(b, "num_heads", BERT_HEADS);
    y = product(b, y, format(b, "%s.attention.output", name), BERT_WIDTH, BERT_WIDTH);
    x = residual_norm(b, y, x, format(b, "%s.attention.norm", name));
    y = product(b, x, format(b, "%s.intermediate", name), BERT_WIDTH, BERT_INNER);
    y = op(b, "BiasGelu", y, vector(b, format(b, "%s.intermediate.bias", name), BERT_INNER), NULL);
    of_runtime(b);
    y = product(b, y, format(b, "%s.output", name), BERT_INNER, BERT_WIDTH);
    return residual_norm(b, y, x, format(b, "%s.norm", name));
}

void bert_optimized(builder *b) {
    const char *words = input(b, "input_ids", INT32, 2, DIM_BATCH, DIM_SEQUENCE);
    const char *segments = input(b, "token_type_ids", INT32, 2, DIM_BATCH, DIM_SEQUENCE);
    const char *mask = input(b, "attention_mask", INT32, 2, DIM_BATCH, DIM_SEQUENCE);
    const char *word_table = weight(b, "embeddings.word", 2, BERT_WORDS, BERT_WIDTH);
    const char *position_table = weight(b, "embeddings.position", 2, BERT_LONGEST, BERT_WIDTH);
    const char *segment_table = weight(b, "embeddings.type", 2, 2, BERT_WIDTH);
    const char *scale = vector(b, "embeddings.gamma", BERT_WIDTH), *shift = vector(b, "embeddings.beta", BERT_WIDTH);
    const char *x = op(b, "EmbedLayerNormalization", words, segments, word_table, position_table, segment_table, scale,
                       shift, mask, NULL);
    of_runtime(b);
    set_float(b, "epsilon", 1e-12);
    const char *lengths = more_output(b);
    for (int i = 0; i < BERT_LAYERS; i++) x = encoder_layer(b, x, lengths, i);
    output(b, x, FLOAT, 3, DIM_BATCH, DIM_SEQUENCE, BERT_WIDTH);
}
