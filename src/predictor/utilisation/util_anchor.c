/* util_anchor.c - the arithmetic of utilisation, and the fit of its constants. */
#include "predictor/utilisation/util_anchor.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *const util_output_names[UTIL_OUTPUTS] = {
    [UTIL_BUSY] = "gpu_util_ratio", [UTIL_ACTIVE] = "sm_active_ratio", [UTIL_OCCUPANCY] = "sm_occupancy_ratio"};

/* --- Arithmetic ---------------------------------------------------------------------------------------------- */

typedef struct kernel_times {
    double us, filled_us, resident_us;
} kernel_times;

static kernel_times times_of(const util_sums sums[static UTIL_KINDS], const double *c) {
    kernel_times t = {0, 0, 0};
    for (int k = 0; k < UTIL_KINDS; k++) {
        const util_sums *s = &sums[k];
        double rate = 1e6 * c[UTIL_RATE + k], fixed = c[UTIL_FIXED + k];
        t.us += rate * s->time + fixed * s->launches;
        t.filled_us += rate * s->filled_time + fixed * s->filled_launches;
        t.resident_us += rate * s->resident_time + fixed * s->resident_launches;
    }
    return t;
}

static void set_values(const kernel_times *t, double step_us, const double *c, double values[static UTIL_OUTPUTS]) {
    double step = fmax(step_us, 1e-9);
    values[UTIL_BUSY] = fmin(t->us / step, 1);
    values[UTIL_ACTIVE] = fmin(c[UTIL_FILLED] * t->filled_us / step, 1);
    values[UTIL_OCCUPANCY] = fmin(c[UTIL_RESIDENT] * t->resident_us / step, 1);
}

void util_anchor_of(const util_totals *totals, const double constants[static UTIL_CONSTANTS], util_anchor *anchor) {
    const double *c = constants;
    kernel_times all = {0, 0, 0};
    for (int p = 0; p < UTIL_PHASES; p++) {
        kernel_times t = times_of(totals->sums[p], c);
        all.us += t.us;
        all.filled_us += t.filled_us;
        all.resident_us += t.resident_us;
    }
    bool has_update = totals->sums[UTIL_UPDATE][UTIL_OPTIMIZER].launches > 0;
    anchor->kernels_us = all.us;
    anchor->launch_us = c[UTIL_LAUNCH] * totals->launches + (has_update ? c[UTIL_LAUNCH_TENSOR] * totals->tensors : 0);
    anchor->loader_us = totals->has_loader * (c[UTIL_LOADER] + c[UTIL_LOADER_SAMPLE] * totals->samples +
                                              1e-3 * c[UTIL_LOADER_ELEM] * totals->input_elems);
    anchor->step_us = anchor->loader_us + fmax(all.us, anchor->launch_us);
    set_values(&all, anchor->step_us, c, anchor->values);
    anchor->values[UTIL_BUSY] = fmin(fmax(all.us, anchor->launch_us) / fmax(anchor->step_us, 1e-9), 1);
}

void util_anchor_peaks(const util_totals *totals, const double constants[static UTIL_CONSTANTS],
                       double peaks[static UTIL_OUTPUTS + 1]) {
    double values[UTIL_OUTPUTS];
    memset(peaks, 0, (UTIL_OUTPUTS + 1) * sizeof *peaks);
    for (int p = 0; p < UTIL_PHASES; p++) {
        kernel_times t = times_of(totals->sums[p], constants);
        double launches = 0, tensors = p == UTIL_UPDATE ? totals->tensors : 0;
        for (int k = 0; k < UTIL_KINDS && p != UTIL_UPDATE; k++) launches += totals->sums[p][k].launches;
        if (!(t.us > 0)) continue;
        double host = constants[UTIL_LAUNCH] * launches + constants[UTIL_LAUNCH_TENSOR] * tensors;
        set_values(&t, fmax(t.us, host), constants, values);
        for (int i = 0; i < UTIL_OUTPUTS; i++) peaks[i] = fmax(peaks[i], values[i]);
        double moved_us = 1e6 * totals->phase_bytes[p] / totals->bandwidth;
        peaks[UTIL_OUTPUTS] = fmax(peaks[UTIL_OUTPUTS], fmin(moved_us / fmax(t.us, host), 1));
    }
}

/* --- Fit ----------------------------------------------------------------------------------------------------- */

/* Typical values, and how strongly a fit stays near them unless measurements say otherwise: rates of the hardware more
 * than habits of the host. */
static const double initial[UTIL_CONSTANTS] = {1, 1, 1, 1, 1,   1, 1,   1, 3,  3,    3, 3,
                                               3, 3, 3, 3, 800, 4, 1.2, 8, 15, 0.95, 1, 0.93};
static const double penalties[UTIL_CONSTANTS] = {200, 200, 200, 200, 200, 200, 200, 200, 1, 1,   1,   1,
                                                 1,   1,   1,   1,   20,  20,  20,  1,   1, 100, 100, 1000};

static double loss_of(const util_sample *const *samples, uint32_t count, const double *c) {
    static const double WEIGHTS[UTIL_OUTPUTS] = {1, 1, 2}, PENALTY = 2e-4;
    double sum = 0;
    util_anchor a;
    for (uint32_t i = 0; i < count; i++) {
        util_anchor_of(&samples[i]->totals, c, &a);
        double running = samples[i]->totals.has_loader > 0 ? c[UTIL_RUNNING] : 1;
        for (int j = 0; j < UTIL_OUTPUTS; j++)
            if (!isnan(samples[i]->labels[j])) sum += WEIGHTS[j] * fabs(running * a.values[j] - samples[i]->labels[j]);
    }
    sum /= count;
    for (int i = 0; i < UTIL_CONSTANTS; i++)
        sum += PENALTY * penalties[i] * log(c[i] / initial[i]) * log(c[i] / initial[i]);
    return sum;
}

/* Changes one constant at a time by a factor, which shrinks where neither direction helps. */
void util_anchor_fit(const util_sample *const *samples, uint32_t count, double constants[static UTIL_CONSTANTS]) {
    enum { ROUNDS = 16 };
    double steps[UTIL_CONSTANTS];
    memcpy(constants, initial, UTIL_CONSTANTS * sizeof *constants);
    for (int i = 0; i < UTIL_CONSTANTS; i++) steps[i] = 0.5;
    if (count == 0) return;
    double best = loss_of(samples, count, constants);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < UTIL_CONSTANTS; i++) {
            bool is_better = false;
            for (int sign = 1; sign >= -1 && !is_better; sign -= 2) {
                double before = constants[i];
                constants[i] = before * exp(sign * steps[i]);
                if (i == UTIL_RUNNING && constants[i] > 1) constants[i] = 1;
                double loss = loss_of(samples, count, constants);
                is_better = loss < best;
                if (is_better)
                    best = loss;
                else
                    constants[i] = before;
            }
            steps[i] *= is_better ? 1.3 : 0.5;
        }
    }
}

/* --- Features ------------------------------------------------------------------------------------------------ */

void util_features_of(const util_totals *totals, const util_anchor *anchor, float features[static UTIL_FEATURES]) {
    double by_kind[UTIL_KINDS] = {0}, all = 0;
    for (int p = 0; p < UTIL_PHASES; p++)
        for (int k = 0; k < UTIL_KINDS; k++) by_kind[k] += totals->sums[p][k].time;
    for (int k = 0; k < UTIL_KINDS; k++) all += by_kind[k];
    double busy = fmax(anchor->values[UTIL_BUSY], 1e-9), seconds = fmax(all, 1e-12);
    double products = by_kind[UTIL_PRODUCT] + by_kind[UTIL_WEIGHT_GRADIENT] + by_kind[UTIL_DATA_GRADIENT];
    const double values[UTIL_FEATURES] = {
        anchor->values[UTIL_BUSY],
        anchor->values[UTIL_ACTIVE] / busy,
        anchor->values[UTIL_OCCUPANCY] / busy,
        log10(fmax(anchor->kernels_us, 1e-3)),
        log10(fmax(seconds * 1e6, 1e-3)),
        log10(fmax(anchor->kernels_us / fmax(totals->launches, 1), 1e-3)),
        anchor->loader_us / fmax(anchor->step_us, 1e-9),
        fmin(anchor->launch_us / fmax(anchor->kernels_us, 1e-9), 4),
        products / seconds,
        by_kind[UTIL_OPTIMIZER] / seconds,
        by_kind[UTIL_NORM] / seconds,
        by_kind[UTIL_DROPOUT] / seconds,
        log10(fmax(totals->launches, 1)),
        log10(fmax(totals->flops / fmax(totals->bytes, 1), 1e-3)),
    };
    for (int i = 0; i < UTIL_FEATURES; i++) features[i] = (float)values[i];
}
