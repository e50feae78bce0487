/* torch_hidden.c - forward pass of the layers that all settings share: from features to the basis of log-multipliers.
 * Used for predictions; torch_net.c has the differentiable pass for training. */
#include <assert.h>
#include <stdlib.h>

#include "nn/math/gemm.h"
#include "nn/math/loops.h"
#include "predictor/torch/torch_model.h"

/* A dense layer: y = x w + bias. */
typedef struct dense {
    uint32_t in, out;
    const float *w, *bias; /* in x out; out */
} dense;

static void apply_dense(const dense *d, const float *x, uint32_t rows, float *scratch, float *y) {
    gemm_term term = {.a = x, .b = d->w, .a_stride = d->in, .b_stride = d->out, .k = d->in};
    gemm_job job = {
        .m = rows, .n = d->out, .terms = &term, .term_count = 1, .c = y, .c_stride = d->out, .bias = d->bias};
    gemm(&job, scratch);
}

/* Position of a flag that is set. */
typedef struct set_flag {
    uint32_t row, flag;
} set_flag;

static uint32_t find_flags(const float *inputs, uint32_t rows, set_flag *flags) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows; i++, inputs += TORCH_FEATURES)
        for (uint32_t f = TORCH_SIZES; f < TORCH_FEATURES; f++)
            if (inputs[f] != 0) flags[count++] = (set_flag){i, f};
    return count;
}

/* Inputs of the first layer: rows x TORCH_FEATURES, with the list of set flags. */
typedef struct first_inputs {
    const float *inputs;
    uint32_t rows;
    const set_flag *flags;
    uint32_t flag_count;
} first_inputs;

/* Most inputs are flags, and most of these are zero: only the weights of set flags are added. */
static void first_layer(const first_inputs *x, uint32_t hidden, const torch_weights *w, float *scratch, float *y) {
    const float *inputs = x->inputs;
    uint32_t rows = x->rows;
    gemm_term term = {.a = inputs, .b = w->first, .a_stride = TORCH_FEATURES, .b_stride = hidden, .k = TORCH_SIZES};
    gemm_job job = {.m = rows, .n = hidden, .terms = &term, .term_count = 1, .c = y, .c_stride = hidden};
    gemm(&job, scratch);
    for (uint32_t i = 0; i < x->flag_count; i++)
        loop_add_scaled(hidden, inputs[(size_t)x->flags[i].row * TORCH_FEATURES + x->flags[i].flag],
                        w->first + (size_t)x->flags[i].flag * hidden, y + (size_t)x->flags[i].row * hidden);
    for (uint32_t i = 0; i < rows; i++) loop_add_scaled(hidden, 1, w->first_bias, y + (size_t)i * hidden);
}

bool torch_model_hidden(const torch_model *m, torch_side side, const torch_row *rows, uint32_t count, float *basis) {
    uint32_t hidden = m->config.hidden, outputs = m->config.basis * TORCH_TERMS;
    size_t units = (size_t)count * hidden;
    assert(hidden > 0 && outputs > 0);
    float *room = malloc(((size_t)count * TORCH_FEATURES + 2 * units + GEMM_SCRATCH + 1) * sizeof *room);
    set_flag *flags = malloc(((size_t)count * TORCH_FLAGS + 1) * sizeof *flags);
    if (room == NULL || flags == NULL) {
        free(room);
        free(flags);
        return false;
    }
    float *inputs = room, *x = room + (size_t)count * TORCH_FEATURES, *y = x + units, *scratch = y + units;
    for (uint32_t i = 0; i < count; i++)
        torch_scaling_apply(&m->scaling[side], &rows[i], inputs + (size_t)i * TORCH_FEATURES);
    const first_inputs first = {inputs, count, flags, find_flags(inputs, count, flags)};
    for (uint32_t j = 0; j < m->config.members; j++, basis += (size_t)count * outputs) {
        const torch_weights *w = &m->members[side][j];
        const dense second = {hidden, hidden, w->second, w->second_bias},
                    last = {hidden, outputs, w->last, w->last_bias};
        first_layer(&first, hidden, w, scratch, x);
        loop_silu(units, x);
        apply_dense(&second, x, count, scratch, y);
        loop_silu(units, y);
        apply_dense(&last, y, count, scratch, basis);
    }
    free(room);
    free(flags);
    return true;
}
