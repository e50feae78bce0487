/* torch_train.c - one network of the torch-sum predictor, trained on what whole models take.
 *
 * No kernel was ever measured: the network learns what kernels take from their sums alone, and from one thing that is
 * known beforehand, that kernels which do nothing but move bytes reach most of a GPU's bandwidth. Without it, models
 * of one kind, in which such kernels always come with convolutions, leave open which of the two takes how long.
 *
 * A step takes a batch of labels, those of a graph together, as they share kernels. What is in which step and shard
 * depends on the seed alone, so the result is the same for any number of threads, and a training that was stopped goes
 * on as if it had not been. */
#include "predictor/torch/torch_train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "predictor/torch/torch_infer.h"
#include "predictor/torch/torch_start.h"

enum {
    SHARDS = 4,     /* of a step, always: fewer share more kernels, more keep more threads busy */
    MIN_STEPS = 48, /* of an epoch */
};

/* Steps where batches are small, times those of the configuration. Late steps teach few labels by heart: that is good
 * for relatives of what was measured, and bad for families that nobody has seen. Chosen on folds 3 to 5 of timm. */
static const double MAX_MORE = 4, MAX_MORE_FAMILIES = 1.6;

static const uint64_t NOISE_SEED = 0x6e6f697365; /* apart from what shuffles labels */

struct torch_training {
    const torch_data *data;
    const torch_config *config;
    torch_side side;
    torch_net *net;
    descent descent;
    float *inputs;     /* of every kernel: count x TORCH_FEATURES */
    float *zeros;      /* as many as the mix of all columns */
    uint32_t *labels;  /* those to learn from, sorted by graph */
    uint32_t *group;   /* where the labels of each graph begin; one more than there are */
    uint32_t *shuffle; /* of the groups, of the epoch at hand */
    uint32_t *order;   /* of the labels */
    uint32_t label_count, group_count;
    uint32_t order_epoch; /* that `order` is of; UINT32_MAX: none */
    uint32_t batch, steps_per_epoch;
    torch_shard shards[SHARDS];
    torch_infer *asker;
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
    float own = (float)(c->own / (SHARDS * TORCH_TERMS * (double)t->net->settings));
    loss = nn_add(tp, loss, torch_net_own(t->net, tp, t->zeros, own));
    if (!(c->prior > 0)) return loss;
    return nn_add(tp, loss, nn_loss(tp, nn_slice_columns(tp, unit_costs, TORCH_MOVED, 1), s->prior_targets, &prior));
}

/* --- Making -------------------------------------------------------------------------------------------------- */

static bool is_learned(const torch_training *t, const bool *is_out, uint32_t label) {
    const torch_label *l = &t->data->train.items[label];
    return torch_label_side(t->data, l) == t->side && (is_out == NULL || !is_out[t->data->programs[l->program].graph]);
}

/* Sorts the labels to learn from by graph, keeping their order otherwise. */
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

static ft_status prepare(torch_training *t, const torch_scaling *scaling, const bool *is_out, uint64_t seed,
                         pool *threads, ft_error *error) {
    const torch_data *data = t->data;
    uint32_t kernels = data->kernels.count;
    bool has_memory = group_labels(t, is_out);
    t->inputs = malloc(((size_t)kernels * TORCH_FEATURES + 1) * sizeof(float));
    t->zeros = calloc((size_t)t->net->settings * t->net->basis * TORCH_TERMS + 1, sizeof(float));
    for (uint32_t i = 0; i < SHARDS; i++) has_memory = torch_shard_open(&t->shards[i], data) && has_memory;
    if (!has_memory || t->inputs == NULL || t->zeros == NULL) return FT_NOMEM(error);
    if (t->label_count == 0) return ft_fail(error, FT_ERR_USAGE, "there is nothing to learn from");
    /* An epoch has a number of steps, also where little was measured. */
    t->batch = t->label_count / MIN_STEPS + 1;
    if (t->batch > t->config->batch) t->batch = t->config->batch;
    t->steps_per_epoch = t->label_count / t->batch;
    /* Smaller batches tell less each, and cost less. */
    double more = (double)t->config->batch / t->batch, most = t->config->families ? MAX_MORE_FAMILIES : MAX_MORE;
    const descent_options down = {.rate = t->config->rate,
                                  .steps = (uint32_t)(t->config->steps * (more < most ? more : most)),
                                  .parts = SHARDS,
                                  .seed = seed,
                                  .threads = threads};
    for (uint32_t i = 0; i < kernels; i++)
        torch_scaling_apply(scaling, &torch_data_rows(data)[i], t->inputs + (size_t)i * TORCH_FEATURES);
    for (uint32_t g = 0; g < data->group_count; g++) {
        float *unit_costs = params_values(&t->net->values, t->net->unit_costs);
        FT_TRY(
            initial_unit_costs(data, g, is_out, unit_costs + (size_t)(data->setting_count + g) * TORCH_TERMS, error));
    }
    FT_TRY(torch_infer_new(data, t->inputs, t->net, threads, &t->asker, error));
    return descent_open(&t->descent, &t->net->values, &down, error);
}

ft_status torch_training_new(const torch_data *data, const torch_scaling *scaling, const torch_config *config,
                             torch_side side, const bool *is_out, uint64_t seed, pool *threads, torch_net *net,
                             torch_training **out, ft_error *error) {
    torch_training *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(error);
    *t = (torch_training){.data = data, .config = config, .side = side, .net = net};
    t->order_epoch = UINT32_MAX;
    ft_status status = prepare(t, scaling, is_out, seed, threads, error);
    if (status != FT_OK)
        torch_training_free(t);
    else
        *out = t;
    return status;
}

void torch_training_free(torch_training *t) {
    if (t == NULL) return;
    descent_close(&t->descent);
    torch_infer_free(t->asker);
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

/* Every epoch has an order of its own, which depends on the seed and the epoch alone. */
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

ft_status torch_training_step(torch_training *t, double *loss, ft_error *error) {
    const uint32_t *numbers = step_labels(t);
    uint32_t shards = t->batch < SHARDS ? t->batch : SHARDS;
    for (uint32_t i = 0; i < shards; i++) {
        uint32_t first = (uint32_t)((uint64_t)t->batch * i / shards),
                 end = (uint32_t)((uint64_t)t->batch * (i + 1) / shards);
        t->shards[i].noise = t->side == TORCH_CPU ? t->config->noise : 0;
        rng_init(&t->shards[i].random, t->descent.options.seed ^ NOISE_SEED, (uint64_t)t->descent.done * SHARDS + i);
        if (!torch_shard_fill(&t->shards[i], t->data, t->inputs, t->data->train.items, numbers + first, end - first))
            return FT_NOMEM(error);
    }
    return descent_step(&t->descent, shards, shard_loss, t, loss, error);
}

descent *torch_training_descent(torch_training *t) {
    return &t->descent;
}

ft_status torch_training_infer(torch_training *t, const torch_label *labels, uint32_t count, float *logs,
                               ft_error *error) {
    return torch_infer_labels(t->asker, labels, NULL, count, logs, error);
}
