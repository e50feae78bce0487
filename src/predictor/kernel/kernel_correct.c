/* kernel_correct.c - mix features of a model, and the boosted trees that predict the correction of its sum. */
#include "predictor/kernel/kernel_correct.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "nn/tree/boost.h"

static const double MAX_LOG_FACTOR = 0.1;
static const double MAX_LOG_LABEL = 0.15; /* larger residuals are clamped to this */
/* Residual above which the loss grows faster than its square. Measurement noise is one-sided: some measurements are
 * much too slow, none much too fast. A prediction between the typical time and these puts more models within 10 %. */
static const double TAIL = 0.05;

/* --- Mix features -------------------------------------------------------------------------------------- */

static const uint32_t spread_sizes[MIX_SPREADS] = {FEATURE_IN_HEIGHT, FEATURE_IN_CHANNELS, FEATURE_OUT_CHANNELS,
                                                   FEATURE_MOVED, FEATURE_PRODUCT};

/* Features are logarithms to base 2. */
static uint32_t window_class(float window) {
    return window < 0.5F ? 0 : window < 1.7F ? 1 : window < 2.5F ? 2 : 3;
}

static uint32_t height_class(float height) {
    return height < 0 ? 0 : height < MIX_HEIGHTS - 1 ? (uint32_t)height : MIX_HEIGHTS - 1;
}

void kernel_mix_add(kernel_mix *mix, const kernel_row *row, double time) {
    assert(!(time < 0));
    const float *f = row->features;
    mix->total += time;
    mix->launches += 1;
    mix->longest = fmax(mix->longest, time);
    mix->product += row->terms[TERM_PRODUCT] + row->terms[TERM_DEPTHWISE];
    mix->moved += row->terms[TERM_MOVED];
    mix->weights += row->terms[TERM_WEIGHTS] + row->terms[TERM_DENSE];
    for (uint32_t k = 0; k < KERNEL_KINDS; k++)
        if (f[FLAG_KIND + k] != 0) mix->by_kind[k] += time;
    for (uint32_t i = 0; i < KERNEL_SIZES; i++) mix->sizes[i] += time * f[i];
    for (uint32_t i = 0; i < MIX_SPREADS; i++) mix->squares[i] += time * f[spread_sizes[i]] * f[spread_sizes[i]];
    bool is_depthwise = row->terms[TERM_DEPTHWISE] > 0;
    if (!is_depthwise && row->terms[TERM_PRODUCT] <= 0) return;
    mix->by_window[is_depthwise][window_class(f[FEATURE_WINDOW])] += time;
    mix->by_height[is_depthwise][height_class(f[FEATURE_OUT_HEIGHT])] += time;
}

/* Shares of the total time. */
static float *add_shares(const double *times, uint32_t count, double total, float *to) {
    for (uint32_t i = 0; i < count; i++) *to++ = (float)(times[i] / total);
    return to;
}

void kernel_mix_finish(const kernel_mix *mix, float features[static MIX_FEATURES]) {
    assert(mix->launches > 0);
    const double amounts[] = {mix->product, mix->moved, mix->weights};
    float *to = add_shares(mix->by_kind, KERNEL_KINDS, mix->total, features);
    for (uint32_t i = 0; i < 2; i++) {
        to = add_shares(mix->by_window[i], MIX_WINDOWS, mix->total, to);
        to = add_shares(mix->by_height[i], MIX_HEIGHTS, mix->total, to);
    }
    to = add_shares(mix->sizes, KERNEL_SIZES, mix->total, to);
    for (uint32_t i = 0; i < MIX_SPREADS; i++) {
        double mean = mix->sizes[spread_sizes[i]] / mix->total;
        *to++ = (float)sqrt(fmax(mix->squares[i] / mix->total - mean * mean, 0));
    }
    *to++ = (float)log2(mix->total);
    *to++ = (float)log2(mix->launches);
    *to++ = (float)(mix->longest / mix->total);
    for (uint32_t i = 0; i < 3; i++) *to++ = (float)log2(1 + amounts[i]);
    assert(to == features + MIX_FEATURES);
}

double kernel_correct(const forest *f, const kernel_mix *mix) {
    if (f == NULL) return 1;
    float features[MIX_FEATURES];
    kernel_mix_finish(mix, features);
    return exp(fmin(fmax(forest_predict_row(f, features), -MAX_LOG_FACTOR), MAX_LOG_FACTOR));
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

typedef struct residuals {
    float *items, *labels;
    size_t count;
} residuals;

static void residuals_free(residuals *r) {
    free(r->items);
    free(r->labels);
}

/* A row for each model measured on device d: its mix, and the log-ratio of label and sum. */
static ft_status residuals_of(const kernel_side *side, const kernel_models *models, const double *times, uint32_t d,
                              residuals *r, ft_error *error) {
    *r = (residuals){0};
    r->items = malloc(((size_t)models->count + 1) * MIX_FEATURES * sizeof(float));
    r->labels = malloc(((size_t)models->count + 1) * sizeof(float));
    if (r->items == NULL || r->labels == NULL) return FT_NOMEM(error);
    for (uint32_t m = 0; m < models->count; m++) {
        double label = models->labels[(size_t)m * models->devices + d];
        kernel_mix mix = {0};
        if (isnan(label)) continue;
        for (uint32_t j = models->start[m]; j < models->start[m + 1]; j++) {
            uint32_t kernel = models->index[j];
            kernel_mix_add(&mix, &kernel_table_rows(&side->kernels)[kernel],
                           times[(size_t)kernel * models->devices + d]);
        }
        kernel_mix_finish(&mix, r->items + r->count * MIX_FEATURES);
        r->labels[r->count++] = (float)fmin(fmax(log(label / mix.total), -MAX_LOG_LABEL), MAX_LOG_LABEL);
    }
    return FT_OK;
}

typedef struct correction_fit {
    const fit_context *context;
    residuals train, valid;
} correction_fit;

/* The loss of a residual r is r^2 / 2 + r^4 / (4 TAIL^2). */
static ft_status gradient(void *user, const float *margins, float *gradients, float *hessians, ft_error *error) {
    (void)error;
    const residuals *r = &((const correction_fit *)user)->train;
    for (size_t i = 0; i < r->count; i++) {
        double off = (double)margins[i] - r->labels[i], far = off * off / (TAIL * TAIL);
        gradients[i] = (float)(off * (1 + far));
        hessians[i] = (float)(1 + 3 * far);
    }
    return FT_OK;
}

static double score(void *user, const float *margins) {
    const residuals *r = &((const correction_fit *)user)->valid;
    double sum = 0;
    for (size_t i = 0; i < r->count; i++) {
        double off = (double)margins[i] - r->labels[i], square = off * off;
        sum += square / 2 + square * square / (4 * TAIL * TAIL);
    }
    return sum / (double)r->count;
}

static bool report_progress(void *user, uint32_t round, double score, const forest *so_far) {
    (void)round;
    (void)score;
    (void)so_far;
    const fit_context *context = ((const correction_fit *)user)->context;
    return context->progress == NULL || context->progress(context->user, 0.99, "correction");
}

static boost_rows rows_of(const residuals *r) {
    return (boost_rows){.items = r->items, .count = r->count, .features = MIX_FEATURES, .labels = r->labels};
}

static ft_status fit_device(const kernel_side *side, const double *times, uint32_t d, const kernel_config *config,
                            const fit_context *context, forest **out, ft_error *error) {
    correction_fit c = {.context = context};
    ft_status status = residuals_of(side, &side->train, times, d, &c.train, error);
    ft_status checked = residuals_of(side, &side->valid, times, d, &c.valid, error);
    if (status == FT_OK) status = checked;
    boost_rows rows = rows_of(&c.train), check = rows_of(&c.valid);
    boost_options options = boost_options_default();
    options.rounds = config->rounds;
    options.depth = 5;
    options.eta = 0.05;
    options.min_child_weight = 20;
    options.subsample =
        0.6; /* residuals are mostly noise: trees fitted to different rows and features average it out */
    options.colsample = 0.3;
    options.patience = check.count > 0 ? 40 : 0;
    options.base = 0;
    options.seed = context->seed;
    options.threads = pool_threads(context->threads);
    boost_hooks hooks = {.user = &c, .gradient = gradient, .score = score, .progress = report_progress};
    if (status == FT_OK && c.train.count > 0)
        status = boost_train(&rows, check.count > 0 ? &check : NULL, &options, &hooks, NULL, out, error);
    residuals_free(&c.train);
    residuals_free(&c.valid);
    return status;
}

ft_status kernel_correct_fit(const kernel_side *side, const double *times, const kernel_config *config,
                             const fit_context *context, forest **forests, ft_error *error) {
    for (uint32_t d = 0; d < side->device_count; d++)
        FT_TRY(fit_device(side, times, d, config, context, &forests[d], error));
    return FT_OK;
}
