/* torch_cost.c - see torch_cost.h. */
#include "predictor/torch/torch_cost.h"

#include "nn/loops.h"
#include "nn/vmath.h"
#include "predictor/torch/torch_amounts.h"

bool torch_term_list_make(const torch_row *rows, uint32_t row_count, torch_side side,
                          const double anchors[static TORCH_TERMS], double batch, arena *memory,
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

/* How far the ways of a term bend its price, once the column has mixed them. */
static float log_multiplier(const float *basis, const float *mix, uint32_t basis_count) {
    float log_multipliers = 0;
    for (uint32_t i = 0; i < basis_count; i++) log_multipliers += basis[i * TORCH_TERMS] * mix[i * TORCH_TERMS];
    return log_multipliers;
}

/* From bends to prices, and from there to times. */
SIMD_CLONES static void pay(uint32_t count, const float *restrict amounts, const float *restrict unit_costs,
                            float bound, float *restrict times) {
    for (uint32_t i = 0; i < count; i++) {
        float tanh = 2 * vmath_sigmoid(2 * times[i] / bound) - 1;
        times[i] = amounts[i] * vmath_exp(unit_costs[i] + bound * tanh);
    }
}

void torch_term_list_cost(torch_term_list *list, const torch_model *m, torch_side side, uint32_t member,
                          uint32_t setting, const float *basis) {
    const torch_weights *w = &m->members[side][member];
    uint32_t outputs = m->config.basis * TORCH_TERMS;
    const float *mix = w->mix + (size_t)setting * outputs, *unit_costs = w->unit_costs + (size_t)setting * TORCH_TERMS;
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t term = list->terms[i];
        list->unit_costs[i] = unit_costs[term];
        list->times[i] = log_multiplier(basis + (size_t)list->rows[i] * outputs + term, mix + term, m->config.basis);
    }
    pay(list->count, list->amounts, list->unit_costs, (float)m->config.bound, list->times);
}
