/* torch_hidden.c - what the networks of a torch-sum predictor make of features; see torch_model.h. */
#include <stdlib.h>

#include "nn/gemm.h"
#include "nn/loops.h"
#include "predictor/torch/torch_model.h"

static void layer(const float *x, uint32_t rows, uint32_t in, uint32_t out, const float *w, const float *bias,
                  float *scratch, float *y) {
    gemm_term term = {.a = x, .b = w, .a_stride = in, .b_stride = out, .k = in};
    gemm_job job = {.m = rows, .n = out, .terms = &term, .term_count = 1, .c = y, .c_stride = out, .bias = bias};
    gemm(&job, scratch);
}

/* A flag that is not zero. */
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

/* Most inputs are flags, and most of those are zero: only what is there is added. */
static void first_layer(const float *inputs, uint32_t rows, uint32_t hidden, const set_flag *flags, uint32_t flag_count,
                        const torch_weights *w, float *scratch, float *y) {
    gemm_term term = {.a = inputs, .b = w->first, .a_stride = TORCH_FEATURES, .b_stride = hidden, .k = TORCH_SIZES};
    gemm_job job = {.m = rows, .n = hidden, .terms = &term, .term_count = 1, .c = y, .c_stride = hidden};
    gemm(&job, scratch);
    for (uint32_t i = 0; i < flag_count; i++)
        loop_add_scaled(hidden, inputs[(size_t)flags[i].row * TORCH_FEATURES + flags[i].flag],
                        w->first + (size_t)flags[i].flag * hidden, y + (size_t)flags[i].row * hidden);
    for (uint32_t i = 0; i < rows; i++) loop_add_scaled(hidden, 1, w->first_bias, y + (size_t)i * hidden);
}

bool torch_model_hidden(const torch_model *m, torch_side side, const torch_row *rows, uint32_t count, float *basis) {
    uint32_t hidden = m->config.hidden, outputs = m->config.basis * TORCH_TERMS;
    size_t units = (size_t)count * hidden;
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
    uint32_t flag_count = find_flags(inputs, count, flags);
    for (uint32_t j = 0; j < m->config.members; j++, basis += (size_t)count * outputs) {
        const torch_weights *w = &m->members[side][j];
        first_layer(inputs, count, hidden, flags, flag_count, w, scratch, x);
        loop_silu(units, x);
        layer(x, count, hidden, hidden, w->second, w->second_bias, scratch, y);
        loop_silu(units, y);
        layer(y, count, hidden, outputs, w->last, w->last_bias, scratch, basis);
    }
    free(room);
    free(flags);
    return true;
}
