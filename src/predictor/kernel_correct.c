/* kernel_correct.c - see kernel_correct.h. */
#include "predictor/kernel_correct.h"

#include <math.h>
#include <stdlib.h>

#include "nn/boost.h"

static const double LARGEST = 0.1; /* of the logarithm of the factor */

/* --- The mix of a model -------------------------------------------------------------------------------------- */

void kernel_mix_add(kernel_mix *mix, const kernel_row *row, double time) {
    mix->total += time;
    mix->launches += 1;
    mix->longest = fmax(mix->longest, time);
    for (uint32_t k = 0; k < KERNEL_KINDS; k++)
        if (row->features[FLAG_KIND + k] != 0) mix->by_kind[k] += time;
    mix->product += row->terms[TERM_PRODUCT] + row->terms[TERM_DEPTHWISE];
    mix->moved += row->terms[TERM_MOVED];
    mix->weights += row->terms[TERM_WEIGHTS] + row->terms[TERM_DENSE];
    mix->in_height += time * row->features[FEATURE_IN_HEIGHT];
    mix->in_channels += time * row->features[FEATURE_IN_CHANNELS];
    mix->out_channels += time * row->features[FEATURE_OUT_CHANNELS];
}

void kernel_mix_finish(const kernel_mix *mix, float features[static MIX_FEATURES]) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < KERNEL_KINDS; k++) features[n++] = (float)(mix->by_kind[k] / mix->total);
    features[n++] = (float)log2(mix->total);
    features[n++] = (float)log2(mix->launches);
    features[n++] = (float)(mix->longest / mix->total);
    features[n++] = (float)log2(1 + mix->product);
    features[n++] = (float)log2(1 + mix->moved);
    features[n++] = (float)log2(1 + mix->weights);
    features[n++] = (float)(mix->in_height / mix->total);
    features[n++] = (float)(mix->in_channels / mix->total);
    features[n++] = (float)(mix->out_channels / mix->total);
}

double kernel_correct(const forest *f, const kernel_mix *mix) {
    if (f == NULL) return 1;
    float features[MIX_FEATURES];
    kernel_mix_finish(mix, features);
    return exp(fmin(fmax(forest_predict_row(f, features), -LARGEST), LARGEST));
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

/* A row for each model that was measured on device d: its mix, and by what its sum is off. */
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
            kernel_mix_add(&mix, &side->kernels.rows[kernel], times[(size_t)kernel * models->devices + d]);
        }
        kernel_mix_finish(&mix, r->items + r->count * MIX_FEATURES);
        r->labels[r->count++] = (float)fmin(fmax(log(label / mix.total), -LARGEST), LARGEST);
    }
    return FT_OK;
}

static bool go_on(void *user, uint32_t round, double score, const forest *so_far) {
    (void)round;
    (void)score;
    (void)so_far;
    const fit_context *context = user;
    return context->progress == NULL || context->progress(context->user, 0.99, "correction");
}

static ft_status fit_device(const kernel_side *side, const double *times, uint32_t d, const kernel_config *config,
                            const fit_context *context, forest **out, ft_error *error) {
    residuals train, valid;
    ft_status status = residuals_of(side, &side->train, times, d, &train, error);
    ft_status checked = residuals_of(side, &side->valid, times, d, &valid, error);
    if (status == FT_OK) status = checked;
    boost_rows rows = {.items = train.items, .count = train.count, .features = MIX_FEATURES, .labels = train.labels};
    boost_rows check = {.items = valid.items, .count = valid.count, .features = MIX_FEATURES, .labels = valid.labels};
    boost_options options = boost_options_default();
    options.rounds = config->rounds;
    options.depth = 5;
    options.eta = 0.05;
    options.min_child_weight = 20;
    options.patience = 40;
    options.base = 0;
    options.seed = context->seed;
    options.threads = pool_threads(context->threads);
    boost_hooks hooks = {.user = (void *)context, .progress = go_on};
    if (status == FT_OK && train.count > 0)
        status = boost_train(&rows, check.count > 0 ? &check : NULL, &options, &hooks, NULL, out, error);
    residuals_free(&train);
    residuals_free(&valid);
    return status;
}

ft_status kernel_correct_fit(const kernel_side *side, const double *times, const kernel_config *config,
                             const fit_context *context, forest **forests, ft_error *error) {
    for (uint32_t d = 0; d < side->device_count; d++)
        FT_TRY(fit_device(side, times, d, config, context, &forests[d], error));
    return FT_OK;
}
