/* torch_pay.c - see torch_pay.h. */
#include "predictor/torch/torch_pay.h"

#include "nn/loops.h"
#include "nn/vmath.h"
#include "predictor/torch/torch_amounts.h"

bool torch_bill_make(const torch_row *rows, uint32_t row_count, torch_side side,
                     const double anchors[static TORCH_TERMS], double batch, arena *memory, torch_bill *bill) {
    size_t room = (size_t)row_count * TORCH_TERMS + 1;
    *bill =
        (torch_bill){.rows = ARENA_ARRAY(memory, uint32_t, 2 * room), .amounts = ARENA_ARRAY(memory, float, 3 * room)};
    if (bill->rows == NULL || bill->amounts == NULL) return false;
    bill->terms = bill->rows + room;
    bill->prices = bill->amounts + room;
    bill->times = bill->prices + room;
    for (uint32_t i = 0; i < row_count; i++) {
        float amounts[TORCH_TERMS];
        torch_amounts(&rows[i], side, anchors, batch, 1, amounts);
        for (uint32_t k = 0; k < TORCH_TERMS; k++) {
            if (amounts[k] == 0) continue;
            bill->rows[bill->count] = i;
            bill->terms[bill->count] = k;
            bill->amounts[bill->count++] = amounts[k];
        }
    }
    return true;
}

/* How far the ways of a term bend its price, once the column has mixed them. */
static float bend_of(const float *ways, const float *mix, uint32_t way_count) {
    float bend = 0;
    for (uint32_t i = 0; i < way_count; i++) bend += ways[i * TORCH_TERMS] * mix[i * TORCH_TERMS];
    return bend;
}

/* From bends to prices, and from there to times. */
SIMD_CLONES static void pay(uint32_t count, const float *restrict amounts, const float *restrict prices, float bound,
                            float *restrict times) {
    for (uint32_t i = 0; i < count; i++) {
        float tanh = 2 * vmath_sigmoid(2 * times[i] / bound) - 1;
        times[i] = amounts[i] * vmath_exp(prices[i] + bound * tanh);
    }
}

void torch_bill_pay(torch_bill *bill, const model *m, torch_side side, uint32_t member, uint32_t column,
                    const float *ways) {
    const torch_weights *w = &m->members[side][member];
    uint32_t outputs = m->config.ways * TORCH_TERMS;
    const float *mix = w->mix + (size_t)column * outputs, *prices = w->prices + (size_t)column * TORCH_TERMS;
    for (uint32_t i = 0; i < bill->count; i++) {
        uint32_t term = bill->terms[i];
        bill->prices[i] = prices[term];
        bill->times[i] = bend_of(ways + (size_t)bill->rows[i] * outputs + term, mix + term, m->config.ways);
    }
    pay(bill->count, bill->amounts, bill->prices, (float)m->config.bound, bill->times);
}
