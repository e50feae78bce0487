/* torch_train.c - training of one network of the torch-sum predictor on the times of whole models.
 *
 * There are no labels of kernels: the network learns their times from sums alone, and from one prior, that memory-bound
 * kernels reach most of a GPU's bandwidth. Without it, models in which such kernels always come with convolutions do
 * not determine the time of either.
 *
 * A step has a batch of labels, those of a graph together, since they share kernels. The contents of steps and shards
 * depend on the seed alone, so the result is the same for any number of threads, and after a resume. */
#include "predictor/torch/torch_train.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/rng.h"
#include "nn/math/nnls.h"
#include "predictor/torch/torch_shard.h"

enum {
    SHARDS = 4,     /* of a step; fixed, since results depend on it. Fewer share more kernels, more use more threads */
    MIN_STEPS = 48, /* of an epoch */
};

/* Maximum factor on the number of steps where batches are small. Late steps overfit few labels, which is good for
 * relatives of measured models and bad for unseen families. Chosen on folds 3 to 5 of timm. */
static const double MAX_EXTRA_STEPS = 4, MAX_EXTRA_STEPS_FAMILIES = 1.6;

static const uint64_t NOISE_SEED = 0x6e6f697365; /* other than that of the shuffle */

struct torch_training {
    const torch_data *data;
    const torch_config *config;
    torch_side side;
    torch_net *net;
    descent descent;
    float *inputs;     /* of every kernel: count x TORCH_FEATURES */
    float *zeros;      /* as many as the mix of all settings */
    uint32_t *labels;  /* training labels, sorted by graph */
    uint32_t *group;   /* start of the labels of each graph; group_count + 1 */
    uint32_t *shuffle; /* of the groups, in the current epoch */
    uint32_t *order;   /* of the labels */
    uint32_t label_count, group_count;
    uint32_t order_epoch; /* epoch of `order`; UINT32_MAX: none */
    uint32_t batch, steps_per_epoch;
    torch_shard shards[SHARDS];
    torch_infer *infer;
};

/* --- The loss ------------------------------------------------------------------------------------------------ */

static tensor *shard_loss(void *user, tape *tp, uint32_t number) {
    const torch_training *t = user;
    const torch_shard *s = &t->shards[number];
    const torch_config *c = t->config;
    tensor *log_multipliers, *unit_costs, *logs = torch_shard_forward(s, t->net, tp, &log_multipliers, &unit_costs);
    float pairs = (float)s->pairs.count * SHARDS;
    loss_options fit = {.kind = LOSS_HUBER, .delta = (float)c->delta, .scale = (float)(1 / (c->delta * t->batch))};
    loss_options penalty = {.kind = LOSS_MSE, .scale = (float)c->penalty / (pairs * TORCH_TERMS)};
    loss_options prior = {.kind = LOSS_MSE, .scale = (float)c->prior / pairs, .weights = s->prior_weights};
    tensor *loss = nn_add(tp, nn_loss(tp, logs, s->targets, &fit), nn_loss(tp, log_multipliers, s->zeros, &penalty));
    float own = (float)(c->own / (SHARDS * TORCH_TERMS * (double)t->net->size.settings));
    loss = nn_add(tp, loss, torch_net_own(t->net, tp, t->zeros, own));
    if (!(c->prior > 0)) return loss;
    return nn_add(tp, loss, nn_loss(tp, nn_slice_columns(tp, unit_costs, TORCH_MOVED, 1), s->prior_targets, &prior));
}

/* --- Initial unit costs -------------------------------------------------------------------------------------- */

/* Typical time of a unit of each term, relative to the data sheet. */
static const double TYPICAL[TORCH_TERMS] = {
    [TORCH_LAUNCHES] = 1, [TORCH_PRODUCTS] = 2, [TORCH_VECTOR_PRODUCTS] = 4, [TORCH_ATTENDED] = 3, [TORCH_SCORES] = 0.1,
    [TORCH_MOVED] = 1.15, [TORCH_CASTS] = 1,    [TORCH_WEIGHTS] = 1,         [TORCH_FLOPS] = 1,    [TORCH_SERIAL] = 1};

/* The terms of a label at the rates of the data sheet, as shares of its time. */
static void shares_of(const torch_data *data, const torch_label *label, double shares[static TORCH_TERMS]) {
    const torch_setting *setting = &data->settings[label->setting];
    const torch_program *program = &data->programs[label->program];
    const torch_sheet *sheet = &data->sheets[setting->device];
    double anchors[TORCH_ANCHORS], time = exp((double)label->log_us);
    torch_sheet_anchors(sheet, setting, anchors);
    for (uint32_t k = 0; k < TORCH_TERMS; k++) shares[k] = 0;
    for (uint32_t i = program->start; i < program->start + program->count; i++) {
        float amounts[TORCH_TERMS];
        const torch_row *row = &torch_data_rows(data)[data->launches[i].row];
        torch_amounts(row, torch_sheet_side(sheet), anchors, label->batch, data->launches[i].times, amounts);
        for (uint32_t k = 0; k < TORCH_TERMS; k++) shares[k] += amounts[k] / time;
    }
}

/* Logarithms of the unit costs that fit the labels of a group of settings best with all multipliers 1: least squares of
 * the relative error, regularised towards the typical values. */
static ft_status initial_unit_costs(const torch_data *data, uint32_t group, const bool *is_out,
                                    float unit_costs[static TORCH_TERMS], ft_error *error) {
    static const double PULL = 0.003, MAX_RATIO = 30;
    double gram[TORCH_TERMS * TORCH_TERMS] = {0}, moment[TORCH_TERMS] = {0}, ridge[TORCH_TERMS];
    double lower[TORCH_TERMS], upper[TORCH_TERMS], x[TORCH_TERMS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < data->train.count; i++) {
        const torch_label *label = &data->train.items[i];
        if (data->groups[label->setting] != group || (is_out != NULL && is_out[data->programs[label->program].graph]))
            continue;
        double shares[TORCH_TERMS];
        shares_of(data, label, shares);
        for (uint32_t k = 0; k < TORCH_TERMS; k++) {
            for (uint32_t l = 0; l < TORCH_TERMS; l++) gram[k * TORCH_TERMS + l] += shares[k] * shares[l];
            moment[k] += shares[k];
        }
        count++;
    }
    for (uint32_t k = 0; k < TORCH_TERMS; k++) {
        ridge[k] = PULL * (count + 1) / (TYPICAL[k] * TYPICAL[k]);
        lower[k] = TYPICAL[k] / MAX_RATIO;
        upper[k] = TYPICAL[k] * MAX_RATIO;
    }
    nnls_problem problem = {.count = TORCH_TERMS, .gram = gram, .moment = moment, .ridge = ridge};
    problem.prior = TYPICAL;
    problem.lower = lower;
    problem.upper = upper;
    FT_TRY(nnls_solve(&problem, x, error));
    for (uint32_t k = 0; k < TORCH_TERMS; k++) unit_costs[k] = (float)log(x[k]);
    return FT_OK;
}

/* --- Creating -------------------------------------------------------------------------------------------------- */

static bool is_learned(const torch_training *t, const bool *is_out, uint32_t label) {
    const torch_label *l = &t->data->train.items[label];
    return torch_label_side(t->data, l) == t->side && (is_out == NULL || !is_out[t->data->programs[l->program].graph]);
}

/* Sorts the training labels by graph, otherwise in their order. */
static bool group_labels(torch_training *t, const bool *is_out) {
    const torch_data *data = t->data;
    uint32_t graphs = 0, count = data->train.count;
    for (uint32_t i = 0; i < data->program_count; i++)
        if (data->programs[i].graph >= graphs) graphs = data->programs[i].graph + 1;
    uint32_t *at = calloc((size_t)graphs + 1, sizeof *at);
    t->labels = malloc(((size_t)count + 1) * sizeof *t->labels);
    t->order = malloc(((size_t)count + 1) * sizeof *t->order);
    t->group = malloc(((size_t)graphs + 2) * sizeof *t->group);
    t->shuffle = malloc(((size_t)graphs + 1) * sizeof *t->shuffle);
    bool has_memory = at != NULL && t->labels != NULL && t->order != NULL && t->group != NULL && t->shuffle != NULL;
    if (has_memory) {
        for (uint32_t i = 0; i < count; i++)
            if (is_learned(t, is_out, i)) at[data->programs[data->train.items[i].program].graph]++;
        uint32_t sum = 0;
        for (uint32_t g = 0; g < graphs; g++) {
            uint32_t some = at[g];
            at[g] = sum;
            if (some > 0) t->group[t->group_count++] = sum;
            sum += some;
        }
        t->label_count = t->group[t->group_count] = sum;
        for (uint32_t i = 0; i < count; i++) {
            if (is_learned(t, is_out, i)) t->labels[at[data->programs[data->train.items[i].program].graph]++] = i;
        }
    }
    free(at);
    return has_memory;
}

static ft_status prepare(torch_training *t, const torch_training_options *options, ft_error *error) {
    const torch_data *data = t->data;
    uint32_t kernels = data->kernels.count;
    bool has_memory = group_labels(t, options->is_out);
    t->inputs = malloc(((size_t)kernels * TORCH_FEATURES + 1) * sizeof(float));
    t->zeros = calloc((size_t)t->net->size.settings * t->net->size.basis * TORCH_TERMS + 1, sizeof(float));
    for (uint32_t i = 0; i < SHARDS; i++) has_memory = torch_shard_open(&t->shards[i], data) && has_memory;
    if (!has_memory || t->inputs == NULL || t->zeros == NULL) return FT_NOMEM(error);
    if (t->label_count == 0) return ft_fail(error, FT_ERR_USAGE, "there is nothing to learn from");
    /* An epoch has a minimum number of steps, also with few labels. */
    t->batch = t->label_count / MIN_STEPS + 1;
    if (t->batch > t->config->batch) t->batch = t->config->batch;
    t->steps_per_epoch = t->label_count / t->batch;
    assert(t->batch > 0 && t->steps_per_epoch > 0);
    /* Smaller batches carry less information and cost less, so there are more steps. */
    double more = (double)t->config->batch / t->batch,
           max_more = t->config->families ? MAX_EXTRA_STEPS_FAMILIES : MAX_EXTRA_STEPS;
    const descent_options down = {.rate = t->config->rate,
                                  .steps = (uint32_t)(t->config->steps * (more < max_more ? more : max_more)),
                                  .parts = SHARDS,
                                  .seed = options->seed,
                                  .threads = options->threads};
    for (uint32_t i = 0; i < kernels; i++)
        torch_scaling_apply(options->scaling, &torch_data_rows(data)[i], t->inputs + (size_t)i * TORCH_FEATURES);
    for (uint32_t g = 0; g < data->group_count; g++) {
        float *unit_costs = params_values(&t->net->values, t->net->unit_costs);
        FT_TRY(initial_unit_costs(data, g, options->is_out,
                                  unit_costs + (size_t)(data->setting_count + g) * TORCH_TERMS, error));
    }
    FT_TRY(torch_infer_new(data, t->inputs, t->net, options->threads, &t->infer, error));
    return descent_open(&t->descent, &t->net->values, &down, error);
}

ft_status torch_training_new(const torch_training_options *options, torch_net *net, torch_training **out,
                             ft_error *error) {
    torch_training *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(error);
    assert(net->size.settings == options->data->setting_count && net->size.groups == options->data->group_count);
    *t = (torch_training){.data = options->data, .config = options->config, .side = options->side, .net = net};
    t->order_epoch = UINT32_MAX;
    ft_status status = prepare(t, options, error);
    if (status != FT_OK)
        torch_training_free(t);
    else
        *out = t;
    return status;
}

void torch_training_free(torch_training *t) {
    if (t == NULL) return;
    descent_close(&t->descent);
    torch_infer_free(t->infer);
    for (uint32_t i = 0; i < SHARDS; i++) torch_shard_free(&t->shards[i]);
    free(t->inputs);
    free(t->zeros);
    free(t->labels);
    free(t->group);
    free(t->shuffle);
    free(t->order);
    free(t);
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

/* The order of an epoch depends on the seed and the epoch alone. */
static const uint32_t *step_labels(torch_training *t) {
    uint32_t epoch = t->descent.done / t->steps_per_epoch;
    if (epoch != t->order_epoch) {
        rng random;
        uint32_t count = 0;
        rng_init(&random, t->descent.options.seed, epoch);
        for (uint32_t i = 0; i < t->group_count; i++) t->shuffle[i] = i;
        rng_shuffle(&random, t->shuffle, t->group_count);
        for (uint32_t i = 0; i < t->group_count; i++) {
            uint32_t group = t->shuffle[i];
            for (uint32_t j = t->group[group]; j < t->group[group + 1]; j++) t->order[count++] = t->labels[j];
        }
        t->order_epoch = epoch;
    }
    return t->order + (size_t)(t->descent.done % t->steps_per_epoch) * t->batch;
}

/* Shards of the step at hand, filled by any thread. */
typedef struct shard_filling {
    torch_training *training;
    const uint32_t *labels;
    uint32_t shards;
    atomic_bool has_failed;
} shard_filling;

static void fill_shard(void *user, uint32_t i, uint32_t worker) {
    (void)worker;
    shard_filling *f = user;
    torch_training *t = f->training;
    uint32_t first = (uint32_t)((uint64_t)t->batch * i / f->shards),
             end = (uint32_t)((uint64_t)t->batch * (i + 1) / f->shards);
    torch_shard *s = &t->shards[i];
    s->noise = t->side == TORCH_CPU ? t->config->noise : 0;
    rng_init(&s->random, t->descent.options.seed ^ NOISE_SEED, (uint64_t)t->descent.done * SHARDS + i);
    if (!torch_shard_fill(s, t->data, t->inputs, t->data->train.items, f->labels + first, end - first))
        atomic_store(&f->has_failed, true);
}

ft_status torch_training_step(torch_training *t, double *loss, ft_error *error) {
    shard_filling f = {.training = t, .labels = step_labels(t), .shards = t->batch < SHARDS ? t->batch : SHARDS};
    pool_run(t->descent.options.threads, f.shards, fill_shard, &f);
    if (atomic_load(&f.has_failed)) return FT_NOMEM(error);
    return descent_step(&t->descent, f.shards, shard_loss, t, loss, error);
}

descent *torch_training_descent(torch_training *t) {
    return &t->descent;
}

ft_status torch_training_infer(torch_training *t, const torch_label *labels, uint32_t count, float *logs,
                               ft_error *error) {
    return torch_infer_labels(t->infer, labels, NULL, count, logs, error);
}
