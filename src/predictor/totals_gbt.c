/* totals_gbt.c - the family "totals-gbt": boosted trees on the totals of a graph. */
#include "predictor/baselines.h"
#include "predictor/gbt.h"
#include "predictor/totals.h"

static ft_status look(void *eyes, subject *s, arena *memory, float *row, double *coverage_ratio, ft_error *error) {
    (void)eyes;
    (void)memory;
    FT_TRY(totals_of(s, row, error));
    *coverage_ratio = s->cost.coverage_ratio;
    return FT_OK;
}

static const gbt_rows totals = {.columns = TOTALS_COUNT, .look = look};

static ft_status fit(const fit_set *set, const fit_context *context, model **out, ft_error *error) {
    return gbt_fit(&totals, set, context, out, error);
}

static ft_status load(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, model **out, ft_error *error) {
    (void)devices;
    return gbt_load(&totals, params, block, count, device_count, out, error);
}

const family family_totals_gbt = {
    .name = "totals-gbt",
    .text = "boosted trees on totals of the graph, for models like those it was trained on",
    .schema = TOTALS_SCHEMA,
    .settings = gbt_settings,
    .setting_count = GBT_SETTINGS,
    .fit = fit,
    .save = gbt_save,
    .load = load,
    .predict = gbt_predict,
    .free = gbt_free,
};
