/* kernel_train.c - training of one network of the kernel-sum predictor on the times of whole models.
 *
 * There are no labels of kernels: the network learns their times from sums alone. A step runs the network once per
 * distinct kernel of each shard of a batch of models, sums the times of each model's kernels, and compares the
 * logarithm of the sum with that of the label. The contents of steps and shards depend on the seed alone, so the result
 * is the same for any number of threads, and after a resume. */
#include "predictor/kernel/kernel_train.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/math/nnls.h"
#include "predictor/kernel/kernel_shard.h"

enum {
    SHARDS = 4, /* of a step; fixed, since results depend on it. Fewer share more kernels, more use more threads */
    CHECK_PART = 256, /* models in one part of a check */
};

struct kernel_training {
    const kernel_side *side;
    const kernel_config *config;
    kernel_net *net;
    descent descent;
    float *inputs; /* of every kernel of the table: count x KERNEL_FEATURES */
    uint32_t *order;
    uint32_t order_epoch; /* epoch of `order`; UINT32_MAX: none */
    uint32_t batch, steps_per_epoch;
    uint32_t label_count; /* of the current step */
    kernel_shard shards[SHARDS];
};

static tensor *shard_loss(void *user, tape *tp, uint32_t number) {
    const kernel_training *t = user;
    const kernel_shard *s = &t->shards[number];
    uint32_t devices = t->side->device_count;
    tensor *log_multipliers, *logs = kernel_shard_forward(s, t->net, tp, &log_multipliers);
    double cells = (double)s->kernel_count * devices * KERNEL_TERMS;
    loss_options penalty = {.kind = LOSS_MSE, .scale = (float)(t->config->penalty / (cells * SHARDS))};
    tensor *loss = nn_loss(tp, log_multipliers, s->zeros, &penalty);
    for (uint32_t d = 0; d < devices; d++) {
        loss_options fit = {.kind = LOSS_HUBER, .delta = (float)t->config->delta};
        fit.weights = s->weights + (size_t)d * s->model_count;
        fit.scale = (float)(1 / (t->config->delta * t->label_count));
        tensor *column = devices > 1 ? nn_slice_columns(tp, logs, d, 1) : logs;
        loss = nn_add(tp, loss, nn_loss(tp, column, s->targets + (size_t)d * s->model_count, &fit));
    }
    return loss;
}

/* --- Initial unit costs -------------------------------------------------------------------------------------- */

/* Normal equations of a least-squares fit of the relative error: amounts of the terms of each model, divided by its
 * label on device d. */
static void normal_equations(const kernel_side *side, uint32_t d, double *gram, double *moment, double *squares) {
    const kernel_models *models = &side->train;
    uint32_t count = 0;
    for (uint32_t m = 0; m < models->count; m++) {
        double label = models->labels[(size_t)m * models->devices + d], sum[KERNEL_TERMS] = {0};
        if (isnan(label)) continue;
        for (uint32_t j = models->start[m]; j < models->start[m + 1]; j++)
            for (uint32_t k = 0; k < KERNEL_TERMS; k++)
                sum[k] += kernel_table_rows(&side->kernels)[models->index[j]].terms[k];
        for (uint32_t k = 0; k < KERNEL_TERMS; k++) sum[k] /= label;
        for (uint32_t k = 0; k < KERNEL_TERMS; k++) {
            for (uint32_t l = 0; l < KERNEL_TERMS; l++) gram[k * KERNEL_TERMS + l] += sum[k] * sum[l];
            moment[k] += sum[k];
        }
        count++;
    }
    for (uint32_t k = 0; k < KERNEL_TERMS; k++) squares[k] = count > 0 ? gram[k * KERNEL_TERMS + k] / count : 0;
}

/* Logarithms of the unit costs (KERNEL_TERMS) that fit the training models of device d best with all multipliers 1, by
 * non-negative least squares. A term of cost zero starts at a small share of the time, since its logarithm could not
 * be trained. */
static ft_status initial_unit_costs(const kernel_side *side, uint32_t d, float *unit_costs, ft_error *error) {
    static const double SMALL_SHARE = 0.02, NEGLIGIBLE_COST = 1e-9;
    double gram[KERNEL_TERMS * KERNEL_TERMS] = {0}, moment[KERNEL_TERMS] = {0}, squares[KERNEL_TERMS], x[KERNEL_TERMS];
    normal_equations(side, d, gram, moment, squares);
    /* Scale columns to unit length: amounts differ by ten orders of magnitude. */
    double ridge[KERNEL_TERMS];
    for (uint32_t k = 0; k < KERNEL_TERMS; k++) {
        double scale = squares[k] > 0 ? sqrt(squares[k]) : 1;
        moment[k] /= scale;
        ridge[k] = 1e-6 * side->train.count;
        for (uint32_t l = 0; l < KERNEL_TERMS; l++) {
            gram[k * KERNEL_TERMS + l] /= scale;
            gram[l * KERNEL_TERMS + k] /= scale;
        }
    }
    FT_TRY(
        nnls_solve(&(nnls_problem){.count = KERNEL_TERMS, .gram = gram, .moment = moment, .ridge = ridge}, x, error));
    for (uint32_t k = 0; k < KERNEL_TERMS; k++) {
        double min_cost = SMALL_SHARE / KERNEL_TERMS;
        double cost = squares[k] > 0 ? fmax(x[k], min_cost) / sqrt(squares[k]) : NEGLIGIBLE_COST;
        unit_costs[k] = (float)log(cost);
    }
    return FT_OK;
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

ft_status kernel_training_new(const kernel_training_options *options, kernel_net *net, kernel_training **out,
                              ft_error *error) {
    const kernel_side *side = options->side;
    const kernel_config *config = options->config;
    kernel_training *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(error);
    *t = (kernel_training){.side = side, .config = config, .net = net};
    t->order_epoch = UINT32_MAX;
    uint32_t models = 0, kernels = side->kernels.count;
    for (uint32_t i = 0; i < side->train.count; i++) models += side->train.repeats[i];
    assert(models > 0 && config->batch > 0 && net->devices == side->device_count);
    const descent_options down = {.rate = config->rate,
                                  .steps = config->steps,
                                  .parts = SHARDS,
                                  .seed = options->seed,
                                  .threads = options->threads};
    t->batch = config->batch < models ? config->batch : models;
    t->steps_per_epoch = models / t->batch;
    t->inputs = malloc((size_t)kernels * KERNEL_FEATURES * sizeof(float));
    t->order = malloc(models * sizeof *t->order);
    bool has_memory = t->inputs != NULL && t->order != NULL;
    for (uint32_t i = 0; i < SHARDS; i++) {
        has_memory = kernel_shard_open(&t->shards[i], kernels) && has_memory;
    }
    ft_status status = has_memory ? FT_OK : FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < kernels; i++)
        kernel_scaling_apply(options->scaling, &kernel_table_rows(&side->kernels)[i],
                             t->inputs + (size_t)i * KERNEL_FEATURES);
    for (uint32_t d = 0; status == FT_OK && d < side->device_count; d++)
        status =
            initial_unit_costs(side, d, params_values(&net->values, net->unit_costs) + (size_t)d * KERNEL_TERMS, error);
    if (status == FT_OK) status = descent_open(&t->descent, &net->values, &down, error);
    if (status != FT_OK)
        kernel_training_free(t);
    else
        *out = t;
    return status;
}

void kernel_training_free(kernel_training *t) {
    if (t == NULL) return;
    descent_close(&t->descent);
    for (uint32_t i = 0; i < SHARDS; i++) kernel_shard_free(&t->shards[i]);
    free(t->inputs);
    free(t->order);
    free(t);
}

/* The order of an epoch depends on the seed and the epoch alone. */
static const uint32_t *step_models(kernel_training *t) {
    const kernel_models *models = &t->side->train;
    uint32_t epoch = t->descent.done / t->steps_per_epoch;
    if (epoch != t->order_epoch) {
        rng random;
        uint32_t count = 0;
        rng_init(&random, t->descent.options.seed, epoch);
        for (uint32_t i = 0; i < models->count; i++)
            for (uint32_t j = 0; j < models->repeats[i]; j++) t->order[count++] = i;
        rng_shuffle(&random, t->order, count);
        t->order_epoch = epoch;
    }
    return t->order + (size_t)(t->descent.done % t->steps_per_epoch) * t->batch;
}

static uint32_t count_labels(const kernel_models *models, const uint32_t *indices, uint32_t count) {
    uint32_t labels = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < models->devices; d++)
            labels += !isnan(models->labels[(size_t)indices[i] * models->devices + d]);
    return labels;
}

ft_status kernel_training_step(kernel_training *t, double *loss, ft_error *error) {
    const uint32_t *indices = step_models(t);
    uint32_t shards = t->batch < SHARDS ? t->batch : SHARDS;
    assert(t->descent.done < t->descent.options.steps);
    t->label_count = count_labels(&t->side->train, indices, t->batch);
    for (uint32_t i = 0; i < shards; i++) {
        uint32_t first = (uint32_t)((uint64_t)t->batch * i / shards),
                 end = (uint32_t)((uint64_t)t->batch * (i + 1) / shards);
        if (!kernel_shard_fill(&t->shards[i], t->side, t->inputs, &t->side->train, indices + first, 0, end - first))
            return FT_NOMEM(error);
    }
    return descent_step(&t->descent, shards, shard_loss, t, loss, error);
}

descent *kernel_training_descent(kernel_training *t) {
    return &t->descent;
}

/* --- Validation ------------------------------------------------------------------------------------------------ */

typedef struct check {
    kernel_training *t;
    kernel_shard *shards; /* one for each part */
    double *errors;       /* summed by part */
    uint32_t *labelled;   /* counted by part */
} check;

static void check_part(void *user, tape *tp, uint32_t part) {
    const check *c = user;
    const kernel_shard *s = &c->shards[part];
    const tensor *logs = kernel_shard_forward(s, c->t->net, tp, NULL);
    if (logs == NULL) return;
    uint32_t devices = c->t->side->device_count;
    for (uint32_t d = 0; d < devices; d++) {
        for (uint32_t i = 0; i < s->model_count; i++) {
            if (s->weights[(size_t)d * s->model_count + i] == 0) continue;
            float miss = logs->data[(size_t)i * devices + d] - s->targets[(size_t)d * s->model_count + i];
            c->errors[part] += fabs(exp((double)miss) - 1);
            c->labelled[part]++;
        }
    }
}

static ft_status run_check(check *c, uint32_t parts, double *mape, ft_error *error) {
    const kernel_models *valid = &c->t->side->valid;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t first = i * CHECK_PART, left = valid->count - first;
        bool is_filled = kernel_shard_open(&c->shards[i], c->t->side->kernels.count) &&
                         kernel_shard_fill(&c->shards[i], c->t->side, c->t->inputs, valid, NULL, first,
                                           left < CHECK_PART ? left : CHECK_PART);
        free(c->shards[i].row_of); /* only used while filling */
        c->shards[i].row_of = NULL;
        if (!is_filled) return FT_NOMEM(error);
    }
    FT_TRY(parallel_infer(c->t->descent.workers, parts, check_part, c, error));
    double sum = 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i < parts; i++) {
        sum += c->errors[i];
        count += c->labelled[i];
    }
    *mape = count > 0 ? 100 * sum / (double)count : NAN;
    return FT_OK;
}

ft_status kernel_training_check(kernel_training *t, double *mape, ft_error *error) {
    uint32_t parts = (t->side->valid.count + CHECK_PART - 1) / CHECK_PART;
    check c = {.t = t, .shards = calloc(parts + 1, sizeof(kernel_shard)), .errors = calloc(parts + 1, sizeof(double))};
    c.labelled = calloc(parts + 1, sizeof(uint32_t));
    bool has_memory = c.shards != NULL && c.errors != NULL && c.labelled != NULL;
    ft_status status = has_memory ? run_check(&c, parts, mape, error) : FT_NOMEM(error);
    for (uint32_t i = 0; c.shards != NULL && i < parts; i++) kernel_shard_free(&c.shards[i]);
    free(c.shards);
    free(c.errors);
    free(c.labelled);
    return status;
}
