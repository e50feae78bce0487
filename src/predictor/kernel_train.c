/* kernel_train.c - one network of the kernel-sum predictor, trained on what whole models take.
 *
 * No kernel was ever measured: the network learns what kernels take from their sums alone. A step takes a batch of
 * models, computes each distinct kernel of a shard once, adds the times of each model's kernels up, and compares the
 * logarithm of the sum with that of the label. What is in which step and shard depends on the seed alone, so the result
 * is the same for any number of threads, and a training that was stopped goes on as if it had not been. */
#include "predictor/kernel_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "nn/nnls.h"
#include "nn/optim.h"
#include "nn/parallel.h"
#include "nn/schedule.h"

enum {
    SHARDS = 4,       /* of a step, always: fewer share more kernels, more keep more threads busy */
    CHECK_PART = 256, /* models in one part of a check */
};

static const size_t TAPE_LIMIT = (size_t)4 << 30;

/* Memory of one shard: the kernels and models that it looks at. */
typedef struct shard {
    uint32_t model_count, kernel_count, launch_count;
    uint32_t *place; /* per kernel of the table: its row in the shard + 1, 0 = not in it */
    uint32_t *kernels;
    uint32_t *start, *index; /* as in kernel_models */
    uint32_t start_capacity, index_capacity, row_capacity;
    float *inputs, *amounts, *zeros;
    float *targets, *weights; /* per device a column of models */
} shard;

struct kernel_training {
    const kernel_side *side;
    const kernel_config *config;
    uint64_t seed;
    kernel_net *net;
    float *inputs; /* of every kernel of the table: count x KERNEL_FEATURES */
    uint32_t *order;
    uint32_t order_epoch; /* that `order` is of; UINT32_MAX: none */
    uint32_t batch, steps_per_epoch, done;
    uint32_t label_count; /* in the step at hand */
    optim *optimizer;
    schedule_options cycle;
    pool *threads;
    parallel *workers;
    shard shards[SHARDS];
};

/* --- Shards -------------------------------------------------------------------------------------------------- */

static void shard_free(shard *s) {
    free(s->place);
    free(s->kernels);
    free(s->start);
    free(s->index);
    free(s->inputs);
    free(s->amounts);
    free(s->zeros);
    free(s->targets);
    free(s->weights);
    *s = (shard){0};
}

static bool widen(void *items, size_t count, size_t size) {
    void **place = items;
    void *moved = realloc(*place, count > 0 ? count * size : 1);
    if (moved != NULL) *place = moved;
    return moved != NULL;
}

/* Room for what the models launch, at worst all different kernels. */
static bool shard_reserve(shard *s, uint32_t models, uint32_t launches, uint32_t devices) {
    if (models + 1 > s->start_capacity) {
        if (!widen(&s->start, models + 1, sizeof *s->start) ||
            !widen(&s->targets, (size_t)models * devices, sizeof(float)) ||
            !widen(&s->weights, (size_t)models * devices, sizeof(float)))
            return false;
        s->start_capacity = models + 1;
    }
    if (launches > s->index_capacity) {
        if (!widen(&s->index, launches, sizeof *s->index)) return false;
        s->index_capacity = launches;
    }
    return true;
}

static bool shard_reserve_rows(shard *s, uint32_t rows, uint32_t devices) {
    if (rows <= s->row_capacity) return true;
    size_t prices = (size_t)rows * devices * KERNEL_TERMS;
    if (!widen(&s->kernels, rows, sizeof *s->kernels) ||
        !widen(&s->inputs, (size_t)rows * KERNEL_FEATURES, sizeof(float)) ||
        !widen(&s->amounts, prices, sizeof(float)) || !widen(&s->zeros, prices, sizeof(float)))
        return false;
    memset(s->zeros, 0, prices * sizeof(float));
    s->row_capacity = rows;
    return true;
}

/* Notes a kernel and gives its row in the shard. */
static uint32_t shard_row(shard *s, uint32_t kernel) {
    if (s->place[kernel] == 0) {
        s->kernels[s->kernel_count++] = kernel;
        s->place[kernel] = s->kernel_count;
    }
    return s->place[kernel] - 1;
}

/* Fills a shard with models; `numbers` picks them, NULL: from `first` on. */
static bool shard_fill(shard *s, const kernel_training *t, const kernel_models *models, const uint32_t *numbers,
                       uint32_t first, uint32_t count) {
    uint32_t devices = models->devices, launches = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t m = numbers != NULL ? numbers[i] : first + i;
        launches += models->start[m + 1] - models->start[m];
    }
    uint32_t most = launches < t->side->kernels.count ? launches : t->side->kernels.count;
    if (!shard_reserve(s, count, launches, devices) || !shard_reserve_rows(s, most, devices)) return false;
    s->model_count = count;
    s->kernel_count = 0;
    s->start[0] = 0;
    for (uint32_t i = 0, at = 0; i < count; i++) {
        uint32_t m = numbers != NULL ? numbers[i] : first + i;
        for (uint32_t j = models->start[m]; j < models->start[m + 1]; j++)
            s->index[at++] = shard_row(s, models->index[j]);
        s->start[i + 1] = at;
        for (uint32_t d = 0; d < devices; d++) {
            double label = models->labels[(size_t)m * devices + d];
            s->weights[(size_t)d * count + i] = isnan(label) ? 0 : 1;
            s->targets[(size_t)d * count + i] = isnan(label) ? 0 : (float)log(label);
        }
    }
    for (uint32_t i = 0; i < s->kernel_count; i++) {
        uint32_t kernel = s->kernels[i];
        memcpy(s->inputs + (size_t)i * KERNEL_FEATURES, t->inputs + (size_t)kernel * KERNEL_FEATURES,
               KERNEL_FEATURES * sizeof(float));
        kernel_net_amounts(&t->side->kernels.rows[kernel], devices, s->amounts + (size_t)i * devices * KERNEL_TERMS);
        s->place[kernel] = 0;
    }
    return true;
}

/* The logarithm of what each model of a shard takes: models x devices. */
static tensor *shard_forward(const shard *s, const kernel_net *net, tape *tp, tensor **bend) {
    tensor *times = kernel_net_times(net, tp, s->kernel_count, s->inputs, s->amounts, bend);
    neighbours launches = {.rows = s->model_count, .start = s->start, .index = s->index};
    return nn_activate(tp, nn_neighbour_sum(tp, times, launches), ACT_LOG);
}

static tensor *shard_loss(void *user, tape *tp, uint32_t number) {
    const kernel_training *t = user;
    const shard *s = &t->shards[number];
    uint32_t devices = t->side->device_count;
    tensor *bend, *logs = shard_forward(s, t->net, tp, &bend);
    double prices = (double)s->kernel_count * devices * KERNEL_TERMS;
    loss_options penalty = {.kind = LOSS_MSE, .scale = (float)(t->config->penalty / (prices * SHARDS))};
    tensor *loss = nn_loss(tp, bend, s->zeros, &penalty);
    for (uint32_t d = 0; d < devices; d++) {
        loss_options fit = {.kind = LOSS_HUBER, .delta = (float)t->config->delta};
        fit.weights = s->weights + (size_t)d * s->model_count;
        fit.scale = (float)(1 / (t->config->delta * t->label_count));
        tensor *column = devices > 1 ? nn_columns(tp, logs, d, 1) : logs;
        loss = nn_add(tp, loss, nn_loss(tp, column, s->targets + (size_t)d * s->model_count, &fit));
    }
    return loss;
}

/* --- Where training starts ----------------------------------------------------------------------------------- */

/* How much of each term the models with a label for device d have, per unit of label: count x terms, row by row into
 * the normal equations of a relative-error least squares. */
static void normal_equations(const kernel_side *side, uint32_t d, double *gram, double *moment, double *squares) {
    const kernel_models *models = &side->train;
    uint32_t count = 0;
    for (uint32_t m = 0; m < models->count; m++) {
        double label = models->labels[(size_t)m * models->devices + d], sum[KERNEL_TERMS] = {0};
        if (isnan(label)) continue;
        for (uint32_t j = models->start[m]; j < models->start[m + 1]; j++)
            for (uint32_t k = 0; k < KERNEL_TERMS; k++) sum[k] += side->kernels.rows[models->index[j]].terms[k];
        for (uint32_t k = 0; k < KERNEL_TERMS; k++) sum[k] /= label;
        for (uint32_t k = 0; k < KERNEL_TERMS; k++) {
            for (uint32_t l = 0; l < KERNEL_TERMS; l++) gram[k * KERNEL_TERMS + l] += sum[k] * sum[l];
            moment[k] += sum[k];
        }
        count++;
    }
    for (uint32_t k = 0; k < KERNEL_TERMS; k++) squares[k] = count > 0 ? gram[k * KERNEL_TERMS + k] / count : 0;
}

/* Prices that fit best without any bend. A term that gets nothing starts at a small share of the time: the logarithm of
 * zero could never grow. */
static ft_status start_prices(const kernel_side *side, uint32_t d, float *prices, ft_error *error) {
    static const double SMALL_SHARE = 0.02, NEGLIGIBLE_PRICE = 1e-9;
    double gram[KERNEL_TERMS * KERNEL_TERMS] = {0}, moment[KERNEL_TERMS] = {0}, squares[KERNEL_TERMS], x[KERNEL_TERMS];
    normal_equations(side, d, gram, moment, squares);
    /* Columns to unit length: amounts differ by ten orders of magnitude. */
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
        double least = SMALL_SHARE / KERNEL_TERMS;
        double price = squares[k] > 0 ? fmax(x[k], least) / sqrt(squares[k]) : NEGLIGIBLE_PRICE;
        prices[k] = (float)log(price);
    }
    return FT_OK;
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

ft_status kernel_training_new(const kernel_side *side, const kernel_scaling *scaling, const kernel_config *config,
                              uint64_t seed, pool *threads, kernel_net *net, kernel_training **out, ft_error *error) {
    kernel_training *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(error);
    *t = (kernel_training){.side = side, .config = config, .seed = seed, .net = net, .threads = threads};
    t->order_epoch = UINT32_MAX;
    uint32_t models = 0, kernels = side->kernels.count;
    for (uint32_t i = 0; i < side->train.count; i++) models += side->train.repeats[i];
    optim_options adam = optim_options_default(OPTIM_ADAM);
    t->cycle = schedule_options_default(SCHEDULE_ONE_CYCLE);
    t->cycle.rate = config->rate;
    t->cycle.total_steps = config->steps;
    t->batch = config->batch < models ? config->batch : models;
    t->steps_per_epoch = models / t->batch;
    t->inputs = malloc((size_t)kernels * KERNEL_FEATURES * sizeof(float));
    t->order = malloc(models * sizeof *t->order);
    bool has_memory = t->inputs != NULL && t->order != NULL;
    for (uint32_t i = 0; i < SHARDS; i++) {
        t->shards[i].place = calloc(kernels, sizeof(uint32_t));
        has_memory = has_memory && t->shards[i].place != NULL;
    }
    ft_status status = has_memory ? FT_OK : FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < kernels; i++)
        kernel_scaling_apply(scaling, &side->kernels.rows[i], t->inputs + (size_t)i * KERNEL_FEATURES);
    for (uint32_t d = 0; status == FT_OK && d < side->device_count; d++)
        status = start_prices(side, d, params_values(&net->values, net->prices) + (size_t)d * KERNEL_TERMS, error);
    if (status == FT_OK) status = optim_new(&adam, net->values.trained_count, NULL, 0, &t->optimizer, error);
    if (status == FT_OK) status = parallel_new(&net->values, SHARDS, threads, TAPE_LIMIT, &t->workers, error);
    if (status != FT_OK)
        kernel_training_free(t);
    else
        *out = t;
    return status;
}

void kernel_training_free(kernel_training *t) {
    if (t == NULL) return;
    parallel_free(t->workers);
    optim_free(t->optimizer);
    for (uint32_t i = 0; i < SHARDS; i++) shard_free(&t->shards[i]);
    free(t->inputs);
    free(t->order);
    free(t);
}

/* Every epoch has an order of its own, which depends on the seed and the epoch alone. */
static const uint32_t *step_models(kernel_training *t) {
    const kernel_models *models = &t->side->train;
    uint32_t epoch = t->done / t->steps_per_epoch;
    if (epoch != t->order_epoch) {
        rng random;
        uint32_t count = 0;
        rng_init(&random, t->seed, epoch);
        for (uint32_t i = 0; i < models->count; i++)
            for (uint32_t j = 0; j < models->repeats[i]; j++) t->order[count++] = i;
        rng_shuffle(&random, t->order, count);
        t->order_epoch = epoch;
    }
    return t->order + (size_t)(t->done % t->steps_per_epoch) * t->batch;
}

static uint32_t count_labels(const kernel_models *models, const uint32_t *numbers, uint32_t count) {
    uint32_t labels = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < models->devices; d++)
            labels += !isnan(models->labels[(size_t)numbers[i] * models->devices + d]);
    return labels;
}

ft_status kernel_training_step(kernel_training *t, double *loss, ft_error *error) {
    const uint32_t *numbers = step_models(t);
    uint32_t shards = t->batch < SHARDS ? t->batch : SHARDS;
    t->label_count = count_labels(&t->side->train, numbers, t->batch);
    for (uint32_t i = 0; i < shards; i++) {
        uint32_t first = (uint32_t)((uint64_t)t->batch * i / shards),
                 end = (uint32_t)((uint64_t)t->batch * (i + 1) / shards);
        if (!shard_fill(&t->shards[i], t, &t->side->train, numbers + first, 0, end - first)) return FT_NOMEM(error);
    }
    FT_TRY(parallel_train(t->workers, shards, shard_loss, t, t->seed + t->done, loss, error));
    schedule_state plain = schedule_begin();
    double rate = schedule_rate(&t->cycle, &plain, t->done);
    optim_step(t->optimizer, t->net->values.values, parallel_gradient(t->workers), rate, t->threads);
    t->done++;
    return FT_OK;
}

uint32_t kernel_training_done(const kernel_training *t) {
    return t->done;
}

/* --- Checking ------------------------------------------------------------------------------------------------ */

typedef struct check {
    kernel_training *t;
    shard *shards;      /* one for each part */
    double *errors;     /* summed by part */
    uint32_t *labelled; /* counted by part */
} check;

static void check_part(void *user, tape *tp, uint32_t part) {
    const check *c = user;
    const shard *s = &c->shards[part];
    const tensor *logs = shard_forward(s, c->t->net, tp, NULL);
    if (logs == NULL) return;
    uint32_t devices = c->t->side->device_count;
    for (uint32_t d = 0; d < devices; d++) {
        for (uint32_t i = 0; i < s->model_count; i++) {
            if (s->weights[(size_t)d * s->model_count + i] == 0) continue;
            double ratio = exp(logs->data[(size_t)i * devices + d] - s->targets[(size_t)d * s->model_count + i]);
            c->errors[part] += fabs(ratio - 1);
            c->labelled[part]++;
        }
    }
}

static ft_status run_check(check *c, uint32_t parts, double *mape, ft_error *error) {
    const kernel_models *valid = &c->t->side->valid;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t first = i * CHECK_PART, left = valid->count - first;
        c->shards[i].place = calloc(c->t->side->kernels.count, sizeof(uint32_t));
        bool is_filled = c->shards[i].place != NULL &&
                         shard_fill(&c->shards[i], c->t, valid, NULL, first, left < CHECK_PART ? left : CHECK_PART);
        free(c->shards[i].place); /* only filling needs it */
        c->shards[i].place = NULL;
        if (!is_filled) return FT_NOMEM(error);
    }
    FT_TRY(parallel_infer(c->t->workers, parts, check_part, c, error));
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
    check c = {.t = t, .shards = calloc(parts + 1, sizeof(shard)), .errors = calloc(parts + 1, sizeof(double))};
    c.labelled = calloc(parts + 1, sizeof(uint32_t));
    bool has_memory = c.shards != NULL && c.errors != NULL && c.labelled != NULL;
    ft_status status = has_memory ? run_check(&c, parts, mape, error) : FT_NOMEM(error);
    for (uint32_t i = 0; c.shards != NULL && i < parts; i++) shard_free(&c.shards[i]);
    free(c.shards);
    free(c.errors);
    free(c.labelled);
    return status;
}

/* --- Stopping and going on ----------------------------------------------------------------------------------- */

static size_t optimizer_floats(const kernel_training *t) {
    return (optim_state_size(t->optimizer) + sizeof(float) - 1) / sizeof(float);
}

size_t kernel_training_state_size(const kernel_training *t) {
    return t->net->values.total_count + optimizer_floats(t);
}

void kernel_training_save(const kernel_training *t, float *state) {
    size_t count = t->net->values.total_count;
    memcpy(state, t->net->values.values, count * sizeof(float));
    memset(state + count, 0, optimizer_floats(t) * sizeof(float));
    optim_save(t->optimizer, state + count);
}

ft_status kernel_training_load(kernel_training *t, const float *state, uint32_t done, ft_error *error) {
    size_t count = t->net->values.total_count;
    if (done > t->config->steps)
        return ft_fail(error, FT_ERR_DAMAGED, "the checkpoint has more steps than the training");
    FT_TRY(optim_load(t->optimizer, state + count, optim_state_size(t->optimizer), error));
    memcpy(t->net->values.values, state, count * sizeof(float));
    t->done = done;
    return FT_OK;
}
