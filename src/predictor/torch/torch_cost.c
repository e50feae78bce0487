/* torch_cost.c - times of the terms of kernels: amounts of work times unit costs times learned multipliers. */
#include "predictor/torch/torch_model.h"

#include <assert.h>

#include "nn/math/loops.h"
#include "nn/math/vmath.h"
#include "predictor/torch/torch_setting.h"

bool torch_term_list_make(const torch_row *rows, uint32_t row_count, torch_side side,
                          const double anchors[static TORCH_ANCHORS], double batch, arena *memory,
                          torch_term_list *list) {
    size_t room = (size_t)row_count * TORCH_TERMS + 1;
    *list = (torch_term_list){.rows = ARENA_ARRAY(memory, uint32_t, 2 * room),
                              .amounts = ARENA_ARRAY(memory, float, 3 * room)};
    if (list->rows == NULL || list->amounts == NULL) return false;
    list->terms = list->rows + room;
    list->unit_costs = list->amounts + room;
    list->times = list->unit_costs + room;
    for (uint32_t i = 0; i < row_count; i++) {
        float amounts[TORCH_TERMS];
        torch_amounts(&rows[i], side, anchors, batch, 1, amounts);
        for (uint32_t k = 0; k < TORCH_TERMS; k++) {
            if (amounts[k] == 0) continue;
            list->rows[list->count] = i;
            list->terms[list->count] = k;
            list->amounts[list->count++] = amounts[k];
        }
    }
    return true;
}

/* The mix of the basis functions of a term, before it is bounded. */
static float mix_basis(const float *basis, const float *mix, uint32_t basis_count) {
    float sum = 0;
    for (uint32_t i = 0; i < basis_count; i++) sum += basis[i * TORCH_TERMS] * mix[i * TORCH_TERMS];
    return sum;
}

/* Bounds the log-multipliers in `times` and replaces them by times. */
SIMD_CLONES static void find_times(uint32_t count, const float *restrict amounts, const float *restrict unit_costs,
                                   float bound, float *restrict times) {
    for (uint32_t i = 0; i < count; i++) {
        float tanh = 2 * vmath_sigmoid(2 * times[i] / bound) - 1;
        times[i] = amounts[i] * vmath_exp(unit_costs[i] + bound * tanh);
    }
}

void torch_term_list_cost(torch_term_list *list, const torch_model *m, torch_side side, uint32_t member,
                          uint32_t setting, const float *basis) {
    assert(member < m->config.members && setting < m->setting_count + m->group_count);
    const torch_weights *w = &m->members[side][member];
    uint32_t outputs = m->config.basis * TORCH_TERMS;
    const float *mix = w->mix + (size_t)setting * outputs, *unit_costs = w->unit_costs + (size_t)setting * TORCH_TERMS;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t term = list->terms[i];
        list->unit_costs[i] = unit_costs[term];
        list->times[i] = mix_basis(basis + (size_t)list->rows[i] * outputs + term, mix + term, m->config.basis);
    }
    find_times(list->count, list->amounts, list->unit_costs, (float)m->config.bound, list->times);
}
