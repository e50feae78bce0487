/* linear.c - linear layers: sums of matrix products, bias, activation.
 *
 * Shapes: x (N, K), w (K, C), bias (1, C), out (N, C). */
#include <assert.h>

#include "nn/math/gemm.h"
#include "nn/math/loops.h"
#include "nn/ops.h"

enum { MAX_TERMS = 2 };

/* in: x (N, K), w (K, C), y (N, L), v (L, C), b (1, C); y and v, and b, may be NULL */
typedef struct linear_node {
    tape_node node;
    bool has_relu;
} linear_node;

/* dw (K, C) += x' (K, N) dout (N, C) */
static void weight_gradient(tape *t, const tensor *x, tensor *w, const tensor *out) {
    bool adds;
    float *grad = tape_grad_uninit(t, w, &adds);
    if (grad == NULL) return;
    gemm_term term = {
        .a = x->data, .a_stride = x->cols, .a_transposed = true, .b = out->grad, .b_stride = out->cols, .k = x->rows};
    gemm_job job = {
        .m = w->rows, .n = w->cols, .terms = &term, .term_count = 1, .c = grad, .c_stride = w->cols, .adds_to_c = adds};
    gemm(&job, t->scratch);
}

/* dx (N, K) += dout (N, C) w' (C, K) */
static void input_gradient(tape *t, tensor *x, const tensor *w, const tensor *out) {
    bool adds;
    float *grad = tape_grad_uninit(t, x, &adds);
    if (grad == NULL) return;
    gemm_term term = {
        .a = out->grad, .a_stride = out->cols, .b = w->data, .b_stride = w->cols, .b_transposed = true, .k = out->cols};
    gemm_job job = {
        .m = x->rows, .n = x->cols, .terms = &term, .term_count = 1, .c = grad, .c_stride = x->cols, .adds_to_c = adds};
    gemm(&job, t->scratch);
}

/* Applies the gradient of relu to dout (N, C) in place, and adds that of the bias (1, C). */
static void bias_gradient(tape *t, tensor *bias, tensor *out, bool has_relu) {
    float *grad = bias == NULL ? NULL : tape_grad(t, bias);
    if (grad != NULL && has_relu)
        loop_relu_backward_sums(out->rows, out->cols, out->data, out->grad, grad);
    else if (grad != NULL)
        loop_add_column_sums(out->rows, out->cols, out->grad, grad);
    else if (has_relu)
        loop_relu_backward(tensor_size(out), out->data, out->grad);
}

static void linear_backward(tape *t, tape_node *n) {
    tensor *out = n->out;
    bias_gradient(t, n->in[4], out, ((linear_node *)n)->has_relu);
    for (int i = 0; i < 2 * MAX_TERMS && n->in[i] != NULL; i += 2) {
        weight_gradient(t, n->in[i], n->in[i + 1], out);
        input_gradient(t, n->in[i], n->in[i + 1], out);
    }
}

static bool needs_grad(const tensor *x) {
    return x != NULL && x->needs_grad;
}

/* in: as in linear_node. */
static tensor *product(tape *t, tensor *const in[5], bool has_relu) {
    if (t->has_failed) return NULL;
    const tensor *x = in[0], *w = in[1], *bias = in[4];
    bool needs = needs_grad(bias);
    gemm_term terms[MAX_TERMS];
    const uint32_t count = in[2] == NULL ? 1 : MAX_TERMS;
    for (uint32_t k = 0, i = 0; k < count; k++, i += 2) {
        assert(in[i]->cols == in[i + 1]->rows && in[i]->rows == x->rows && in[i + 1]->cols == w->cols);
        terms[k] = (gemm_term){.a = in[i]->data,
                               .a_stride = in[i]->cols,
                               .b = in[i + 1]->data,
                               .b_stride = in[i + 1]->cols,
                               .k = in[i]->cols};
        needs = needs || in[i]->needs_grad || in[i + 1]->needs_grad;
    }
    assert(bias == NULL || (bias->rows == 1 && bias->cols == w->cols));
    tensor *out = tape_tensor(t, x->rows, w->cols, needs);
    if (out == NULL) return NULL;
    gemm_job job = {.m = out->rows,
                    .n = out->cols,
                    .terms = terms,
                    .term_count = count,
                    .c = out->data,
                    .c_stride = out->cols,
                    .bias = bias == NULL ? NULL : bias->data,
                    .has_relu = has_relu};
    gemm(&job, t->scratch);
    linear_node *n = tape_record(t, out, linear_backward, sizeof *n);
    if (n == NULL) return out;
    for (int i = 0; i < 5; i++) n->node.in[i] = in[i];
    n->has_relu = has_relu;
    return out;
}

tensor *nn_linear2(tape *t, tensor *x, tensor *w, tensor *y, tensor *v, tensor *b, activation act) {
    tensor *out = product(t, (tensor *[5]){x, w, y, v, b}, act == ACT_RELU);
    return act == ACT_RELU ? out : nn_activate(t, out, act);
}

tensor *nn_linear(tape *t, tensor *x, tensor *w, tensor *b, activation act) {
    return nn_linear2(t, x, w, NULL, NULL, b, act);
}

tensor *nn_matmul(tape *t, tensor *x, tensor *w) {
    return nn_linear(t, x, w, NULL, ACT_NONE);
}
