/* tape.c - the tape: memory of a step, records of operations, backward pass. */
#include "nn/tape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "nn/math/gemm.h"

ft_status tape_new(const params *parameters, size_t memory_limit, tape **result, ft_error *error) {
    assert(parameters->values != NULL);
    tape *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(error);
    t->parameters = parameters;
    workspace_init(&t->memory, memory_limit);
    t->param_tensors = calloc(parameters->count > 0 ? parameters->count : 1, sizeof *t->param_tensors);
    t->scratch = block_new(GEMM_SCRATCH);
    if (t->param_tensors == NULL || t->scratch == NULL) {
        tape_free(t);
        return FT_NOMEM(error);
    }
    *result = t;
    return FT_OK;
}

void tape_free(tape *t) {
    if (t == NULL) return;
    workspace_free(&t->memory);
    free(t->param_tensors);
    free(t->own_gradient);
    free(t->scratch);
    free(t);
}

static void clear(tape *t, uint64_t seed, uint64_t stream) {
    workspace_reset(&t->memory);
    t->last = NULL;
    rng_init(&t->random, seed, stream);
}

static void begin(tape *t, tape_mode mode, float *gradient, uint64_t seed, uint64_t stream) {
    const params *p = t->parameters;
    clear(t, seed, stream);
    t->mode = mode;
    t->gradient = gradient;
    t->has_failed = mode == TAPE_TRAIN && gradient == NULL;
    t->state_share = 1;
    for (uint32_t i = 0; i < p->count; i++) {
        const param *item = &p->items[i];
        t->param_tensors[i] = (tensor){.data = p->values + item->offset,
                                       .grad = gradient == NULL ? NULL : gradient + item->offset,
                                       .rows = item->rows,
                                       .cols = item->cols,
                                       .needs_grad = gradient != NULL};
    }
}

void tape_begin(tape *t, tape_mode mode, uint64_t seed, uint64_t stream) {
    if (mode == TAPE_TRAIN && t->own_gradient == NULL) t->own_gradient = block_new(t->parameters->total_count);
    begin(t, mode, mode == TAPE_TRAIN ? t->own_gradient : NULL, seed, stream);
}

void tape_begin_into(tape *t, float *gradient, uint64_t seed, uint64_t stream) {
    begin(t, TAPE_TRAIN, gradient, seed, stream);
}

void tape_continue(tape *t, uint64_t seed, uint64_t stream) {
    if (!t->has_failed) clear(t, seed, stream);
}

void *tape_alloc(tape *t, size_t count, size_t size) {
    size_t bytes;
    void *block = NULL;
    if (!t->has_failed && num_mul_size(count, size, &bytes)) block = workspace_alloc(&t->memory, bytes);
    if (block == NULL) t->has_failed = true;
    return block;
}

static tensor *new_tensor(tape *t, uint32_t rows, uint32_t cols) {
    tensor *x = tape_alloc(t, 1, sizeof *x);
    if (x != NULL) *x = (tensor){.rows = rows, .cols = cols};
    return x;
}

tensor *tape_tensor(tape *t, uint32_t rows, uint32_t cols, bool needs_grad) {
    tensor *x = new_tensor(t, rows, cols);
    if (x == NULL) return NULL;
    x->data = tape_alloc(t, tensor_size(x), sizeof *x->data);
    if (x->data == NULL) return NULL;
    x->needs_grad = needs_grad && t->mode == TAPE_TRAIN;
    return x;
}

tensor *tape_input(tape *t, uint32_t rows, uint32_t cols, const float *data) {
    tensor *x = new_tensor(t, rows, cols);
    if (x != NULL) x->data = (float *)data; /* operations never write to the data of their inputs */
    return x;
}

tensor *tape_zeros(tape *t, uint32_t rows, uint32_t cols) {
    tensor *x = tape_tensor(t, rows, cols, false);
    if (x != NULL) memset(x->data, 0, tensor_size(x) * sizeof *x->data);
    return x;
}

tensor *tape_param(tape *t, param_id id) {
    assert(id < t->parameters->count);
    return t->has_failed ? NULL : &t->param_tensors[id];
}

void *tape_record(tape *t, tensor *out, tape_backward_rule *backward, size_t size) {
    assert(size >= sizeof(tape_node));
    if (t->has_failed || !out->needs_grad) return NULL;
    tape_node *n = tape_alloc(t, 1, size);
    if (n == NULL) return NULL;
    memset(n, 0, size);
    n->backward = backward;
    n->previous = t->last;
    n->out = out;
    t->last = n;
    return n;
}

float *tape_grad_uninit(tape *t, tensor *x, bool *adds) {
    if (!x->needs_grad) return NULL;
    if (x->grad == NULL) x->grad = tape_alloc(t, tensor_size(x), sizeof *x->grad);
    if (x->grad == NULL) return NULL;
    *adds = x->has_grad;
    x->has_grad = true;
    return x->grad;
}

float *tape_grad(tape *t, tensor *x) {
    bool adds = true;
    float *grad = tape_grad_uninit(t, x, &adds);
    if (!adds) memset(grad, 0, tensor_size(x) * sizeof *grad);
    return grad;
}

static bool has_grad(const tensor *x) {
    return x != NULL && x->has_grad;
}

void tape_backward(tape *t, tensor *loss) {
    if (t->has_failed) return;
    assert(t->mode == TAPE_TRAIN && t->gradient != NULL && tensor_size(loss) == 1);
    if (loss->needs_grad) {
        float *one = tape_grad(t, loss);
        if (one != NULL) *one = 1;
    }
    for (tape_node *n = t->last; n != NULL && !t->has_failed; n = n->previous) {
        if (!has_grad(n->out) && !has_grad(n->second_out)) continue;
        if (tape_grad(t, n->out) == NULL) continue;
        n->backward(t, n);
    }
    for (uint32_t i = 0; i < t->parameters->count; i++) tape_grad(t, &t->param_tensors[i]);
}

ft_status tape_status(const tape *t, ft_error *error) {
    if (!t->has_failed) return FT_OK;
    return ft_fail(error, FT_ERR_NOMEM,
                   "out of memory: a step of the network needs more than is free, or more than its limit of %zu MB",
                   t->memory.limit >> 20);
}
