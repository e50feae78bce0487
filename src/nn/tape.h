/* tape.h - tensors and the tape of operations on them: reverse-mode automatic differentiation.
 *
 * A tensor is a dense matrix of floats, rows x cols. Operations (ops.h) take tensors and a tape, and return a tensor
 * that lives until the tape begins again. While a tape trains, each operation also records its backward rule;
 * tape_backward runs the records from the loss to the parameters. During inference nothing is recorded, dropout is off,
 * and batch norms use their running statistics: the code of a network is the same for both.
 *
 *     tape_begin(t, TAPE_TRAIN, seed, 0);
 *     tensor *x = tape_input(t, rows, cols, features);
 *     tensor *y = nn_linear(t, x, tape_param(t, w), tape_param(t, b), ACT_RELU);
 *     tape_backward(t, nn_loss(t, y, target, &options));     // gradients: tape_gradient(t)
 *     FT_TRY(tape_status(t, error));
 *
 * When memory runs out, operations return NULL and accept NULL, and tape_status reports it; there is no need to check
 * before. Shapes that do not match are programming errors (assert). A tape is used by one thread; parameters may be
 * shared. */
#ifndef NN_TAPE_H
#define NN_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "nn/math/workspace.h"
#include "nn/params.h"

typedef struct tensor {
    float *data; /* rows x cols */
    float *grad; /* rows x cols; NULL until a backward rule adds to it */
    uint32_t rows, cols;
    bool needs_grad; /* a parameter, or computed from one, on a tape that trains */
    bool has_grad;   /* grad is initialised */
} tensor;

static inline size_t tensor_size(const tensor *x) {
    return (size_t)x->rows * x->cols;
}

typedef struct tape tape;
typedef struct tape_node tape_node;
/* Adds to the gradients of the inputs, given those of the outputs, which it may overwrite. */
typedef void tape_backward_rule(tape *t, tape_node *n);

/* Record of an operation; those that need more data begin with it (tape_record with a larger size). */
struct tape_node {
    tape_backward_rule *backward;
    tape_node *previous;
    tensor *out, *second_out; /* the second may be NULL */
    tensor *in[5];
};

typedef enum tape_mode { TAPE_INFER, TAPE_TRAIN } tape_mode;

struct tape {
    const params *parameters;
    tensor *param_tensors; /* one for each parameter */
    float *gradient;       /* as long as the block of parameters; NULL during inference */
    float *own_gradient;   /* allocated by the tape; NULL: the caller provides it */
    float *scratch;        /* for gemm */
    workspace memory;
    tape_node *last;
    tape_mode mode;
    bool has_failed;
    float state_share; /* of this tape in the change of state by a step: 1 / parts of the step */
    rng random;        /* for dropout */
};

/* `memory_limit`: bytes that one step may allocate. `parameters` must be finished and outlive the tape. */
ft_status tape_new(const params *parameters, size_t memory_limit, tape **result, ft_error *error);
void tape_free(tape *t);

/* Clears the tape for a new step. Seed and stream determine dropout. */
void tape_begin(tape *t, tape_mode mode, uint64_t seed, uint64_t stream);
/* The same for training into the caller's gradient (total_count floats, uninitialised). */
void tape_begin_into(tape *t, float *gradient, uint64_t seed, uint64_t stream);
/* Clears the tape but keeps the gradients of parameters: following backward passes add to them. */
void tape_continue(tape *t, uint64_t seed, uint64_t stream);

/* data: rows x cols, not copied; must stay valid until the next tape_begin. */
tensor *tape_input(tape *t, uint32_t rows, uint32_t cols, const float *data);
tensor *tape_zeros(tape *t, uint32_t rows, uint32_t cols);
tensor *tape_param(tape *t, param_id id);

/* Gradients of `loss` (1, 1) by all parameters, in tape_gradient; zero where the loss does not depend on one. The
 * gradient of state is what to add to it. */
void tape_backward(tape *t, tensor *loss);
static inline const float *tape_gradient(const tape *t) {
    return t->gradient;
}
ft_status tape_status(const tape *t, ft_error *error);

/* --- For operations ------------------------------------------------------------------------------------------ */

/* Uninitialised memory; NULL, and the tape has failed, when out of memory. */
void *tape_alloc(tape *t, size_t count, size_t size);
/* A new tensor with uninitialised data; it needs a gradient when the tape trains and `needs_grad`. NULL: the tape has
 * failed. */
tensor *tape_tensor(tape *t, uint32_t rows, uint32_t cols, bool needs_grad);
/* Records the backward rule of `out`, when it needs a gradient, in a node of `size` bytes, zeroed. NULL: no record is
 * needed, or the tape has failed. */
void *tape_record(tape *t, tensor *out, tape_backward_rule *backward, size_t size);
/* The gradient of x to add to, zeroed on first use; rows x cols. NULL when x needs none. */
float *tape_grad(tape *t, tensor *x);
/* The same for rules that can write instead of add: uninitialised when *adds is false. */
float *tape_grad_uninit(tape *t, tensor *x, bool *adds);

#endif
