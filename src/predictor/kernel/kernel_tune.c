/* kernel_tune.c - trains the networks of a kernel-sum predictor further, on a few models of a new kind.
 *
 * Dozens of models are easily overfitted. Three measures prevent it: few steps, an anchor on the values of the last
 * layer, and the central moment discrepancy (CMD): the first five moments of the hidden outputs on the measured kernels
 * must stay near their old values, so that the features stay valid for other devices and models. */
#include "predictor/kernel/kernel_model.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/descent.h"
#include "predictor/kernel/kernel_data.h"
#include "predictor/kernel/kernel_shard.h"

enum { MOMENTS = 5, STEPS = 60 };

/* Not tuned: few steps, and for all layers a third of the learning rate of training. */
static const double LAST_RATE = 0.01, RATE = 0.003, ANCHOR = 0.01, DISCREPANCY = 1;

/* State of the tuning of one network. */
typedef struct tuning {
    const tune_options *options;
    const kernel_config *config;
    const kernel_side *side;
    kernel_net *net;
    float *inputs; /* of every kernel of the side */
    kernel_shard shard;
    uint32_t label_count;
    float *old;     /* values of the network before tuning */
    float *moments; /* MOMENTS x hidden: of the hidden outputs before tuning */
} tuning;

/* --- Central moments ----------------------------------------------------------------------------------------- */

static ft_status find_moments(tuning *u, ft_error *error) {
    tape *t = NULL;
    uint32_t hidden = u->net->hidden;
    FT_TRY(tape_new(&u->net->values, (size_t)1 << 30, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    tensor *x = kernel_net_hidden(u->net, t, u->shard.kernel_count, u->shard.inputs);
    moments of_x = nn_moments(t, x);
    for (uint32_t k = 0; k < MOMENTS; k++) {
        const tensor *moment = nn_next_moment(t, x, &of_x);
        if (moment != NULL) memcpy(u->moments + (size_t)k * hidden, moment->data, hidden * sizeof(float));
    }
    ft_status status = tape_status(t, error);
    tape_free(t);
    return status;
}

static tensor *discrepancy(const tuning *u, tape *t, tensor *hidden) {
    tensor *sum = NULL;
    moments of_hidden = nn_moments(t, hidden);
    for (uint32_t k = 0; k < MOMENTS; k++) {
        tensor *moment = nn_next_moment(t, hidden, &of_hidden);
        loss_options off = {.kind = LOSS_MSE, .scale = (float)DISCREPANCY};
        tensor *one = nn_loss(t, moment, u->moments + (size_t)k * u->net->hidden, &off);
        sum = sum != NULL ? nn_add(t, sum, one) : one;
    }
    return sum;
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

static const float *old_of(const tuning *u, param_id id) {
    return u->old + (params_values(&u->net->values, id) - u->net->values.values);
}

static tensor *anchor(const tuning *u, tape *t) {
    const param_id held[] = {u->net->last.weight, u->net->last.bias, u->net->unit_costs};
    tensor *sum = NULL;
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        loss_options off = {.kind = LOSS_MSE, .scale = (float)ANCHOR};
        tensor *one = nn_loss(t, tape_param(t, held[i]), old_of(u, held[i]), &off);
        sum = sum != NULL ? nn_add(t, sum, one) : one;
    }
    return sum;
}

static tensor *loss_of(void *user, tape *t, uint32_t part) {
    (void)part;
    const tuning *u = user;
    const kernel_shard *s = &u->shard;
    uint32_t devices = u->side->device_count;
    tensor *hidden = kernel_net_hidden(u->net, t, s->kernel_count, s->inputs);
    tensor *terms = kernel_net_term_times(u->net, t, hidden, s->kernel_count, s->amounts, NULL);
    tensor *times = nn_matmul(t, terms, tape_input(t, devices * KERNEL_TERMS, devices, u->net->summation));
    neighbours launches = {.rows = s->model_count, .start = s->start, .index = s->index};
    tensor *logs = nn_activate(t, nn_neighbour_sum(t, times, launches), ACT_LOG);
    tensor *loss = anchor(u, t);
    if (!u->options->is_last && u->options->distance != TUNE_NO_DISTANCE)
        loss = nn_add(t, loss, discrepancy(u, t, hidden));
    for (uint32_t d = 0; d < devices; d++) {
        loss_options fit = {.kind = LOSS_HUBER, .delta = (float)u->config->delta};
        fit.weights = s->weights + (size_t)d * s->model_count;
        fit.scale = (float)(1 / (u->config->delta * u->label_count));
        tensor *column = devices > 1 ? nn_slice_columns(t, logs, d, 1) : logs;
        loss = nn_add(t, loss, nn_loss(t, column, s->targets + (size_t)d * s->model_count, &fit));
    }
    return loss;
}

/* Restores the hidden layers. */
static void restore_hidden(const tuning *u) {
    const param_id held[] = {u->net->first.weight, u->net->first.bias, u->net->second.weight, u->net->second.bias};
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        float *values = params_values(&u->net->values, held[i]);
        const param *p = &u->net->values.items[held[i]];
        memcpy(values, old_of(u, held[i]), (size_t)p->rows * p->cols * sizeof *values);
    }
}

static ft_status descend(tuning *u, uint64_t seed, ft_error *error) {
    descent d;
    uint32_t steps = u->options->steps > 0 ? u->options->steps : STEPS;
    const descent_options down = {
        .rate = u->options->is_last ? LAST_RATE : RATE, .steps = steps, .parts = 1, .seed = seed, .threads = NULL};
    FT_TRY(descent_open(&d, &u->net->values, &down, error));
    ft_status status = FT_OK;
    for (uint32_t i = 0; status == FT_OK && i < steps; i++) {
        double total;
        status = descent_step(&d, 1, loss_of, u, &total, error);
        if (u->options->is_last) restore_hidden(u);
    }
    descent_close(&d);
    return status;
}

/* --- Networks ------------------------------------------------------------------------------------------------ */

static ft_status tune_net(tuning *u, uint64_t seed, ft_error *error) {
    size_t count = u->net->values.total_count;
    assert(u->label_count > 0);
    u->old = malloc(count * sizeof *u->old);
    u->moments = calloc((size_t)MOMENTS * u->net->hidden, sizeof *u->moments);
    ft_status status = u->old != NULL && u->moments != NULL ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) memcpy(u->old, u->net->values.values, count * sizeof *u->old);
    if (status == FT_OK) status = find_moments(u, error);
    if (status == FT_OK) status = descend(u, seed, error);
    free(u->old);
    free(u->moments);
    return status;
}

static ft_status tune_side(const kernel_side *side, const kernel_model *m, kernel_side_model *s,
                           const tune_options *options, const fit_context *context, ft_error *error) {
    tuning u = {.options = options, .config = &m->config, .side = side};
    uint32_t kernels = side->kernels.count;
    u.inputs = malloc(((size_t)kernels * KERNEL_FEATURES + 1) * sizeof *u.inputs);
    bool has_memory = u.inputs != NULL && kernel_shard_open(&u.shard, kernels);
    for (uint32_t i = 0; has_memory && i < kernels; i++)
        kernel_scaling_apply(&s->scaling, &kernel_table_rows(&side->kernels)[i],
                             u.inputs + (size_t)i * KERNEL_FEATURES);
    has_memory = has_memory && kernel_shard_fill(&u.shard, side, u.inputs, &side->train, NULL, 0, side->train.count);
    for (uint32_t i = 0; i < side->train.count * side->device_count; i++)
        u.label_count += !isnan(side->train.labels[i]);
    ft_status status = has_memory ? FT_OK : FT_NOMEM(error);
    for (uint32_t j = 0; status == FT_OK && j < s->net_count; j++) {
        u.net = &s->nets[j];
        status = tune_net(&u, context->seed + j, error);
    }
    kernel_shard_free(&u.shard);
    free(u.inputs);
    return status;
}

/* A copy of a model. */
static ft_status copy_model(const kernel_model *from, kernel_model **out, ft_error *error) {
    json_t *params = NULL;
    float_block block = {0};
    void *loaded = NULL;
    ft_status status = kernel_model_save(from, &params, &block, error);
    if (status == FT_OK)
        status = kernel_model_load(params, block.items, block.count, NULL, from->device_count, &loaded, error);
    json_decref(params);
    if (status != FT_OK) {
        float_block_free(&block);
        return status;
    }
    *out = loaded;
    (*out)->block = block.items; /* trees point into it */
    return FT_OK;
}

ft_status kernel_tune(const void *model, const fit_set *set, const tune_options *options, const fit_context *context,
                      void **out, ft_error *error) {
    const kernel_model *from = model;
    kernel_data data;
    kernel_model *m = NULL;
    FT_TRY(copy_model(from, &m, error));
    ft_status status = kernel_data_gather(set, context, &m->runtimes, m->config.has_array, &data, error);
    if (status == FT_OK) {
        for (uint32_t i = 0; status == FT_OK && i < data.side_count; i++)
            if (data.sides[i].train.count > 0)
                status = tune_side(&data.sides[i], m, &m->sides[i], options, context, error);
        kernel_data_free(&data);
    }
    if (status != FT_OK)
        kernel_model_free(m);
    else
        *out = m;
    return status;
}
