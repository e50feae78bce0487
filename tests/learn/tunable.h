/* tunable.h - a family for tests whose error is a known function of its settings, so that a search has something to
 * find. It stands in for all families, which the linker then leaves out; a test program includes this file once.
 *
 *     gain    best at 0.01; the further from it, in ratios, the worse
 *     kind    "plain", "better", or "broken", which cannot be fitted
 *     steps   the effort: the more, the smaller the error that is left
 *     extra   0 leaves something useful out */
#ifndef TESTS_TUNABLE_H
#define TESTS_TUNABLE_H

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/settings.h"
#include "support/factor_model.h"

enum { GAIN, KIND, STEPS, EXTRA, SETTING_COUNT };

static const char *const kinds[] = {"plain", "better", "broken"};

static const ft_setting settings[SETTING_COUNT] = {
    [GAIN] = {"gain", "how much", FT_SETTING_REAL, 0.3, 1e-6, 10, .is_searched = true, .is_log = true, .from = 1e-4,
              .to = 1},
    [KIND] = {.name = "kind",
              .text = "which",
              .kind = FT_SETTING_WORD,
              .words = kinds,
              .word_count = 3,
              .is_searched = true},
    [STEPS] = {"steps", "how long", FT_SETTING_INT, 90, 1, 1e6, .is_effort = true},
    [EXTRA] = {"extra", "something useful", FT_SETTING_INT, 1, 0, 1, .off = "0"},
};

static atomic_uint fits;

/* How often a model was fitted in this process. */
static uint32_t tunable_fits(void) {
    return fits;
}

static double bias_of(const double *v, uint64_t seed) {
    double off = log10(v[GAIN] / 0.01);
    return 0.05 * off * off + (v[KIND] == 1 ? 0 : 0.1) + 0.5 / v[STEPS] + (v[EXTRA] == 0 ? 0.2 : 0) +
           0.001 * (double)seed;
}

static ft_status fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    double v[SETTING_COUNT], sums[MAX_DEVICES] = {0};
    uint32_t counts[MAX_DEVICES] = {0};
    FT_TRY(settings_parse(context->config, settings, SETTING_COUNT, v, error));
    atomic_fetch_add(&fits, 1);
    if (v[KIND] == 2) return ft_fail(error, FT_ERR_UNSUPPORTED, "broken as asked for");
    if (!context->progress(context->user, 0.5, "fitting")) return FT_ERR_CANCELLED;
    for (uint32_t i = 0; i < set->train.count; i++) {
        const fit_row *row = &set->train.items[i];
        sums[row->device] += log(row->label / (row->graph % 9 + 1)); /* operators of a graph of toy_data */
        counts[row->device]++;
    }
    factor_model *m = *out = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    m->device_count = set->device_count;
    for (uint32_t d = 0; d < set->device_count; d++) m->log_factor[d] = sums[d] / counts[d] + bias_of(v, context->seed);
    return FT_OK;
}

static const family tunable = {.name = "tunable",
                               .text = "for tests",
                               .schema = "tunable-1",
                               .settings = settings,
                               .setting_count = SETTING_COUNT,
                               .fit = fit,
                               .save = factor_save,
                               .load = factor_load,
                               .predict = factor_predict,
                               .free = factor_free};

#endif
