/* totals_gbt.c - the family "totals-gbt": boosted trees on the totals of a graph. */
#include "predictor/baseline/gbt.h"
#include "predictor/baseline/totals.h"
#include "predictor/core/families.h"

static ft_status look(void *extractor, model_view *s, arena *memory, float *row, double *coverage_ratio,
                      ft_error *error) {
    (void)extractor;
    (void)memory;
    FT_TRY(totals_of(s, row, error));
    *coverage_ratio = s->cost.coverage_ratio;
    return FT_OK;
}

static const gbt_rows totals = {.columns = TOTALS_COUNT, .look = look};

GBT_FAMILY(totals_gbt, totals, "totals-gbt", TOTALS_SCHEMA,
           "boosted trees on totals of the graph, for models like those it was trained on");
