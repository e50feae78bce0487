/* torch_cost.h - what kernels take: amounts of work, times prices that networks bend.
 *
 * Most kernels have work of a few kinds, so a bill lists what there is, and pays it in one go: this is most of what a
 * further device or batch costs. */
#ifndef PREDICTOR_TORCH_COST_H
#define PREDICTOR_TORCH_COST_H

#include "predictor/torch/torch_model.h"

/* Terms that are not zero, row by row. */
typedef struct torch_term_list {
    uint32_t count;
    uint32_t *rows, *terms;
    float *amounts;    /* anchored */
    float *unit_costs; /* bent: logarithms */
    float *times;      /* of the member that was asked last */
} torch_term_list;

/* Of all rows, once each. False when out of memory. */
bool torch_term_list_make(const torch_row *rows, uint32_t row_count, torch_side side,
                          const double anchors[static TORCH_TERMS], double batch, arena *memory, torch_term_list *list);
/* What all of it takes in a column, or in column_count + a group, by a member that has these ways for the rows. */
void torch_term_list_cost(torch_term_list *list, const torch_model *m, torch_side side, uint32_t member,
                          uint32_t setting, const float *basis);

#endif
