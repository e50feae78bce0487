#include "nn/descent.h"

#include <string.h>

#include "base/error.h"

static const size_t TAPE_LIMIT = (size_t)4 << 30;

ft_status descent_open(descent *d, params *values, const descent_options *options, ft_error *error) {
    *d = (descent){.options = *options, .values = values, .cycle = schedule_options_default(SCHEDULE_ONE_CYCLE)};
    d->cycle.rate = options->rate;
    d->cycle.total_steps = options->steps;
    optim_options adam = optim_options_default(OPTIM_ADAM);
    ft_status status = optim_new(&adam, values->trained_count, NULL, 0, &d->optimizer, error);
    if (status == FT_OK)
        status = parallel_new(values, options->parts, options->threads, TAPE_LIMIT, &d->workers, error);
    if (status != FT_OK) descent_close(d);
    return status;
}

void descent_close(descent *d) {
    parallel_free(d->workers);
    optim_free(d->optimizer);
    *d = (descent){0};
}

ft_status descent_step(descent *d, uint32_t parts, parallel_loss *loss, void *user, double *total, ft_error *error) {
    FT_TRY(parallel_train(d->workers, parts, loss, user, d->options.seed + d->done, total, error));
    schedule_state plain = schedule_begin();
    double rate = schedule_rate(&d->cycle, &plain, d->done);
    optim_step(d->optimizer, d->values->values, parallel_gradient(d->workers), rate, d->options.threads);
    d->done++;
    return FT_OK;
}

/* --- Stopping and going on ----------------------------------------------------------------------------------- */

static size_t optimizer_floats(const descent *d) {
    return (optim_state_size(d->optimizer) + sizeof(float) - 1) / sizeof(float);
}

size_t descent_state_size(const descent *d) {
    return d->values->total_count + optimizer_floats(d);
}

void descent_save(const descent *d, float *state) {
    size_t count = d->values->total_count;
    memcpy(state, d->values->values, count * sizeof(float));
    memset(state + count, 0, optimizer_floats(d) * sizeof(float));
    optim_save(d->optimizer, state + count);
}

ft_status descent_load(descent *d, const float *state, uint32_t done, ft_error *error) {
    size_t count = d->values->total_count;
    if (done > d->options.steps)
        return ft_fail(error, FT_ERR_DAMAGED, "the checkpoint has more steps than the training");
    FT_TRY(optim_load(d->optimizer, state + count, optim_state_size(d->optimizer), error));
    memcpy(d->values->values, state, count * sizeof(float));
    d->done = done;
    return FT_OK;
}
