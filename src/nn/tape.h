/* tape.h - tensors, and the record of what was done to them.
 *
 * A tensor is a matrix of floats, rows x cols, dense. Operations (ops.h) take tensors and a tape, and give a tensor
 * that lives until the tape begins again. While a tape trains, each operation also notes how to go back; tape_backward
 * walks the notes from the loss to the parameters. While it infers, nothing is noted, dropout is off, and batch norms
 * use their running statistics: the code of a network is the same for both.
 *
 *     tape_begin(t, TAPE_TRAIN, seed, 0);
 *     tensor *x = tape_input(t, rows, cols, features);
 *     tensor *y = nn_linear(t, x, tape_param(t, w), tape_param(t, b), ACT_RELU);
 *     tape_backward(t, nn_loss(t, y, target, &options));     // gradients: tape_gradient(t)
 *     FT_TRY(tape_status(t, error));
 *
 * When memory runs out, operations return NULL and take NULL, and tape_status tells; nobody has to look before. Shapes
 * that do not fit are mistakes of the programmer (assert). One tape belongs to one thread; parameters may be shared. */
#ifndef NN_TAPE_H
#define NN_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "nn/params.h"
#include "nn/workspace.h"

typedef struct tensor {
    float *data;
    float *grad; /* NULL until somebody adds to it */
    uint32_t rows, cols;
    bool needs_grad; /* a parameter, or made from one, on a tape that trains */
    bool has_grad;   /* grad holds something */
} tensor;

static inline size_t tensor_size(const tensor *x) {
    return (size_t)x->rows * x->cols;
}

typedef struct tape tape;
typedef struct tape_node tape_node;
/* Adds to the gradients of the inputs what the gradients of the outputs say. May overwrite the latter. */
typedef void tape_backward_rule(tape *t, tape_node *n);

/* What an operation notes; operations that need more have it behind (tape_record with a larger size). */
struct tape_node {
    tape_backward_rule *backward;
    tape_node *before;
    tensor *out, *second_out; /* the second may be NULL */
    tensor *in[5];
};

typedef enum tape_mode { TAPE_INFER, TAPE_TRAIN } tape_mode;

struct tape {
    const params *parameters;
    tensor *param_tensors; /* one for each parameter */
    float *gradient;       /* as long as the block of parameters; NULL until the tape trains */
    float *own_gradient;   /* the same, when the tape has allocated it */
    float *scratch;        /* for gemm */
    workspace memory;
    tape_node *last;
    tape_mode mode;
    bool has_failed;
    float state_share; /* of this tape in what a step learns for state: 1 / tapes of the step */
    rng random;        /* of dropout */
};

/* `memory_limit` in bytes bounds what one step may take. `parameters` have to be finished and outlive the tape. */
ft_status tape_new(const params *parameters, size_t memory_limit, tape **result, ft_error *error);
void tape_free(tape *t);

/* Forgets the last step. Seed and stream decide what dropout drops. */
void tape_begin(tape *t, tape_mode mode, uint64_t seed, uint64_t stream);
/* The same for training, with a gradient of the caller's, unset. */
void tape_begin_into(tape *t, float *gradient, uint64_t seed, uint64_t stream);
/* Forgets what was done but keeps the gradients of parameters: what follows adds to them. */
void tape_continue(tape *t, uint64_t seed, uint64_t stream);

/* The caller's own numbers, not copied: they have to stay until the next tape_begin. */
tensor *tape_input(tape *t, uint32_t rows, uint32_t cols, const float *data);
tensor *tape_zeros(tape *t, uint32_t rows, uint32_t cols);
tensor *tape_param(tape *t, param_id id);

/* Gradients of `loss` (1 x 1) by all parameters: tape_gradient, complete, zero where the loss does not depend on one.
 * For state they hold what to add to it. */
void tape_backward(tape *t, tensor *loss);
static inline const float *tape_gradient(const tape *t) {
    return t->gradient;
}
ft_status tape_status(const tape *t, ft_error *error);

/* --- For operations ------------------------------------------------------------------------------------------- */

void *tape_alloc(tape *t, size_t count,
                 size_t size); /* not zeroed; NULL, and the tape has failed, when out of memory */
/* A new tensor with unset data; it needs a gradient when the tape trains and `needs_grad`. NULL: the tape has failed.
 */
tensor *tape_tensor(tape *t, uint32_t rows, uint32_t cols, bool needs_grad);
/* Notes how to go back from `out`, when it needs that; `size` bytes from the struct's begin on are zeroed. NULL:
 * nothing has to be noted, or the tape has failed. */
void *tape_record(tape *t, tensor *out, tape_backward_rule *backward, size_t size);
/* The gradient of x to add to; zeroed at first. NULL when nobody needs it. */
float *tape_grad(tape *t, tensor *x);
/* The same for who can also write instead of add: unset when *adds is false. */
float *tape_grad_uninit(tape *t, tensor *x, bool *adds);

#endif
