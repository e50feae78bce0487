/* attention.c - multi-head self-attention within segments.
 *
 * Segments have any length L and are not padded. Scores after softmax are kept for the backward pass: heads * L^2
 * floats per segment. Shapes: q, k, v, out and their gradients are (N, C), a head has W = C / heads columns of them. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "nn/math/gemm.h"
#include "nn/math/loops.h"
#include "nn/ops.h"

typedef struct attention_node {
    tape_node node; /* in: q, k, v (N, C), head_bias (P, heads) or NULL */
    attention_options options;
    float *scores; /* after softmax: L x L for each head of each segment */
    float *mask;   /* of dropout, as scores; or NULL */
} attention_node;

/* One head of one segment. */
typedef struct head {
    size_t offset;          /* of its first element in q, k, v and out */
    size_t stride;          /* C */
    uint32_t length, width; /* L, W */
    size_t square;          /* offset into scores */
    size_t pair;            /* offset into pairs of rows: bias, head_bias */
    uint32_t number, heads;
} head;

/* Called for each head of each segment, in order. bias: L x L, or NULL. */
typedef void each_head(void *user, const head *h, const float *bias);

static void for_heads(const tensor *q, const attention_options *o, each_head *each, void *user) {
    head h = {.stride = q->cols, .width = q->cols / o->heads, .heads = o->heads};
    for (uint32_t i = 0; i < o->s.count; i++) {
        h.length = o->s.start[i + 1] - o->s.start[i];
        size_t square = (size_t)h.length * h.length;
        for (uint32_t k = 0; k < o->heads && h.length > 0; k++, h.square += square) {
            h.offset = o->s.start[i] * h.stride + (size_t)k * h.width;
            h.number = k;
            each(user, &h, o->bias == NULL ? NULL : o->bias + h.pair);
        }
        h.pair += square;
    }
}

static float scale_of(const head *h) {
    return 1.0f / sqrtf((float)h->width);
}

/* --- Forward ------------------------------------------------------------------------------------------------- */

typedef struct forward_pass {
    tape *t;
    const float *q, *k, *v;
    float *out, *scores, *dropped; /* dropped: scores times mask of one head, L x L */
    const float *mask;
    const tensor *head_bias;
} forward_pass;

/* scores: (L), one row of a head. Elements of the bias are `heads` apart. */
static void add_head_bias(const head *h, const tensor *bias, size_t row, float *scores) {
    const float *from = bias->data + (h->pair + row * h->length) * h->heads + h->number;
    for (size_t j = 0; j < h->length; j++) scores[j] += from[j * h->heads];
}

static void forward_head(void *user, const head *h, const float *bias) {
    forward_pass *f = user;
    uint32_t n = h->length;
    float *scores = f->scores + h->square;
    gemm_term product = {f->q + h->offset, f->k + h->offset, h->stride, h->stride, h->width, false, true};
    gemm(&(gemm_job){.m = n, .n = n, .terms = &product, .term_count = 1, .c = scores, .c_stride = n}, f->t->scratch);
    for (size_t i = 0; i < n; i++) {
        float *row = scores + i * n;
        loop_scale(n, scale_of(h), row, row);
        if (bias != NULL) loop_add(n, bias + i * n, row);
        if (f->head_bias != NULL) add_head_bias(h, f->head_bias, i, row);
        loop_softmax(n, row, row);
    }
    if (f->mask != NULL) {
        loop_product((size_t)n * n, scores, f->mask + h->square, f->dropped);
        scores = f->dropped;
    }
    gemm_term weighted = {scores, f->v + h->offset, n, h->stride, n, false, false};
    gemm(
        &(gemm_job){
            .m = n, .n = h->width, .terms = &weighted, .term_count = 1, .c = f->out + h->offset, .c_stride = h->stride},
        f->t->scratch);
}

/* --- Backward ------------------------------------------------------------------------------------------------ */

typedef struct backward_pass {
    tape *t;
    const float *q, *k, *v, *dout;
    float *dq, *dk, *dv, *dbias; /* NULL where not needed */
    const float *scores, *mask;
    float *work, *dscores; /* L x L each, of one head */
} backward_pass;

/* c (L, W) += square (L, L) b (L, W); b and c are columns of q, k, v, or their gradients. */
static void add_product(tape *t, const head *h, const float *square, bool is_transposed, const float *b, float *c) {
    gemm_term term = {square, b + h->offset, h->length, h->stride, h->length, is_transposed, false};
    gemm(&(gemm_job){.m = h->length,
                     .n = h->width,
                     .terms = &term,
                     .term_count = 1,
                     .c = c + h->offset,
                     .c_stride = h->stride,
                     .adds_to_c = true},
         t->scratch);
}

static void backward_head(void *user, const head *h, const float *bias) {
    (void)bias;
    backward_pass *b = user;
    uint32_t n = h->length;
    size_t square = (size_t)n * n;
    const float *scores = b->scores + h->square, *mask = b->mask == NULL ? NULL : b->mask + h->square;
    if (b->dv != NULL) { /* dv += scores' dout */
        if (mask != NULL) loop_product(square, scores, mask, b->work);
        add_product(b->t, h, mask != NULL ? b->work : scores, true, b->dout, b->dv);
    }
    if (b->dq == NULL && b->dk == NULL && b->dbias == NULL) return;
    gemm_term term = {b->dout + h->offset, b->v + h->offset, h->stride, h->stride, h->width, false, true};
    gemm(&(gemm_job){.m = n, .n = n, .terms = &term, .term_count = 1, .c = b->work, .c_stride = n}, b->t->scratch);
    if (mask != NULL) loop_product(square, b->work, mask, b->work);
    memset(b->dscores, 0, square * sizeof *b->dscores);
    for (size_t i = 0; i < square; i += n) loop_softmax_backward(n, scores + i, b->work + i, b->dscores + i);
    for (size_t i = 0; b->dbias != NULL && i < square; i++)
        b->dbias[(h->pair + i) * h->heads + h->number] += b->dscores[i];
    loop_scale(square, scale_of(h), b->dscores, b->dscores);
    if (b->dq != NULL) add_product(b->t, h, b->dscores, false, b->k, b->dq);
    if (b->dk != NULL) add_product(b->t, h, b->dscores, true, b->q, b->dk);
}

static uint32_t longest(segments s) {
    uint32_t length = 0;
    for (uint32_t i = 0; i < s.count; i++)
        if (s.start[i + 1] - s.start[i] > length) length = s.start[i + 1] - s.start[i];
    return length;
}

static void attention_backward(tape *t, tape_node *node) {
    const attention_node *n = (attention_node *)node;
    tensor *q = node->in[0], *k = node->in[1], *v = node->in[2];
    size_t length = longest(n->options.s);
    backward_pass b = {.t = t,
                       .q = q->data,
                       .k = k->data,
                       .v = v->data,
                       .dout = node->out->grad,
                       .scores = n->scores,
                       .mask = n->mask};
    b.dq = tape_grad(t, q);
    b.dk = tape_grad(t, k);
    b.dv = tape_grad(t, v);
    b.dbias = node->in[3] != NULL ? tape_grad(t, node->in[3]) : NULL;
    b.work = tape_alloc(t, length * length, sizeof *b.work);
    b.dscores = tape_alloc(t, length * length, sizeof *b.dscores);
    if (!t->has_failed) for_heads(q, &n->options, backward_head, &b);
}

/* --- The operation ------------------------------------------------------------------------------------------- */

static size_t score_count(const attention_options *o) {
    size_t sum = 0;
    for (uint32_t i = 0; i < o->s.count; i++) {
        size_t length = o->s.start[i + 1] - o->s.start[i];
        sum += length * length;
    }
    return sum * o->heads;
}

tensor *nn_attention(tape *t, tensor *q, tensor *k, tensor *v, const attention_options *options) {
    if (t->has_failed) return NULL;
    assert(options->heads > 0 && q->cols % options->heads == 0 && options->s.start[options->s.count] == q->rows);
    assert(q->rows == k->rows && q->rows == v->rows && q->cols == k->cols && q->cols == v->cols);
    size_t count = score_count(options), length = longest(options->s);
    bool drops = t->mode == TAPE_TRAIN && options->dropout > 0;
    tensor *bias = options->head_bias;
    assert(bias == NULL || (bias->cols == options->heads && bias->rows == count / options->heads));
    tensor *out = tape_tensor(t, q->rows, q->cols,
                              q->needs_grad || k->needs_grad || v->needs_grad || (bias != NULL && bias->needs_grad));
    float *scores = tape_alloc(t, count, sizeof *scores), *mask = drops ? tape_alloc(t, count, sizeof *mask) : NULL;
    float *dropped = drops ? tape_alloc(t, length * length, sizeof *dropped) : NULL;
    if (t->has_failed) return NULL;
    if (drops) dropout_mask(&t->random, options->dropout, count, mask);
    forward_pass f = {.t = t,
                      .q = q->data,
                      .k = k->data,
                      .v = v->data,
                      .out = out->data,
                      .scores = scores,
                      .dropped = dropped,
                      .mask = mask,
                      .head_bias = bias};
    for_heads(q, options, forward_head, &f);
    attention_node *n = tape_record(t, out, attention_backward, sizeof *n);
    if (n == NULL) return out;
    n->node.in[0] = q;
    n->node.in[1] = k;
    n->node.in[2] = v;
    n->node.in[3] = bias;
    n->options = *options;
    n->scores = scores;
    n->mask = mask;
    return out;
}
