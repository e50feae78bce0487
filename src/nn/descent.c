/* descent.c - the training loop: steps, validation, saving and resuming. */
#include "nn/descent.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/math/loops.h"

enum { CHECK_STEPS = 250 };

static const size_t TAPE_LIMIT = (size_t)4 << 30;

/* --- Opening ------------------------------------------------------------------------------------------------- */

static ft_status set_schedule(descent *d, ft_error *error) {
    const schedule_options *wanted = d->options.schedule;
    d->cycle = wanted != NULL ? *wanted : schedule_options_default(SCHEDULE_ONE_CYCLE);
    d->cycle.rate = d->options.rate;
    d->cycle.total_steps = d->options.steps;
    d->schedule = schedule_begin();
    d->reports = early_stop_begin();
    return wanted != NULL ? schedule_check(&d->cycle, error) : FT_OK;
}

/* Allocates the copies of the values. */
static ft_status make_room(descent *d, ft_error *error) {
    size_t count = d->values->total_count;
    if (d->options.average > 0) {
        d->average = block_new(count);
        d->saved = block_new(count);
        if (d->average == NULL || d->saved == NULL) return FT_NOMEM(error);
        memcpy(d->average, d->values->values, count * sizeof(float));
    }
    if (d->options.keeps_best) {
        d->best = block_new(count);
        if (d->best == NULL) return FT_NOMEM(error);
        memcpy(d->best, d->values->values, count * sizeof(float));
    }
    return FT_OK;
}

ft_status descent_open(descent *d, params *values, const descent_options *options, ft_error *error) {
    assert(values->values != NULL);
    *d = (descent){.options = *options, .values = values};
    if (d->options.check_steps == 0) d->options.check_steps = CHECK_STEPS;
    optim_options adam = optim_options_default(OPTIM_ADAM);
    ft_status status = set_schedule(d, error);
    if (status == FT_OK)
        status = optim_new(options->optimizer != NULL ? options->optimizer : &adam, values->trained_count, NULL, 0,
                           &d->optimizer, error);
    if (status == FT_OK)
        status = parallel_new(values, options->parts, options->threads, TAPE_LIMIT, &d->workers, error);
    if (status == FT_OK) status = make_room(d, error);
    d->options.schedule = NULL; /* the caller's: not used after this call */
    d->options.optimizer = NULL;
    if (status != FT_OK) descent_close(d);
    return status;
}

void descent_close(descent *d) {
    parallel_free(d->workers);
    optim_free(d->optimizer);
    free(d->average);
    free(d->best);
    free(d->saved);
    free(d->tasks);
    *d = (descent){0};
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

/* One step of the optimiser along the gradient of the workers. */
static void apply_gradient(descent *d) {
    params *values = d->values;
    float *gradient = parallel_gradient(d->workers);
    if (d->options.clip > 0) block_clip(gradient, values->trained_count, d->options.clip);
    double rate = schedule_rate(&d->cycle, &d->schedule, d->done);
    optim_step(d->optimizer, values->values, gradient, rate, d->options.threads);
    if (values->total_count > values->trained_count) parallel_update_state(d->workers, values->values);
    d->done++;
    if (d->average == NULL) return;
    /* The average begins with a smaller decay, so that the initial values have little weight. */
    double decay = fmin(d->options.average, (1.0 + d->done) / (10.0 + d->done));
    block_average(d->average, values->values, values->total_count, decay);
}

ft_status descent_step(descent *d, uint32_t parts, parallel_loss *loss, void *user, double *total, ft_error *error) {
    FT_TRY(parallel_train(d->workers, parts, loss, user, d->options.seed + d->done, total, error));
    apply_gradient(d);
    return FT_OK;
}

typedef struct task_call {
    descent_task_loss *loss;
    void *user;
    uint32_t task;
} task_call;

static tensor *loss_of_task(void *user, tape *t, uint32_t part) {
    const task_call *call = user;
    return call->loss(call->user, t, part, call->task);
}

static ft_status make_tasks(descent *d, uint32_t tasks, ft_error *error) {
    if (tasks <= d->task_capacity) return FT_OK;
    if (d->values->total_count > SIZE_MAX / sizeof(float) / 2 / tasks) return FT_NOMEM(error);
    free(d->tasks);
    d->tasks = block_new(d->values->total_count * tasks);
    d->task_capacity = d->tasks != NULL ? tasks : 0;
    return d->tasks != NULL ? FT_OK : FT_NOMEM(error);
}

enum { MAX_TASKS = 256 };

ft_status descent_step_tasks(descent *d, const descent_tasks *step, double *total, ft_error *error) {
    const uint32_t tasks = step->tasks;
    assert(tasks > 0 && tasks <= MAX_TASKS);
    size_t count = d->values->total_count, trained = d->values->trained_count;
    float *gradient = parallel_gradient(d->workers), *gradients[MAX_TASKS];
    FT_TRY(make_tasks(d, tasks, error));
    *total = 0;
    for (uint32_t i = 0; i < tasks; i++) {
        task_call call = {step->loss, step->user, i};
        double one;
        FT_TRY(parallel_train(d->workers, step->parts, loss_of_task, &call, d->options.seed + d->done, &one, error));
        gradients[i] = d->tasks + i * count;
        memcpy(gradients[i], gradient, count * sizeof(float));
        *total += one;
    }
    loop_fill(count - trained, 0, gradient + trained);
    for (uint32_t i = 0; i < tasks; i++)
        loop_add_scaled(count - trained, 1.0F / (float)tasks, gradients[i] + trained, gradient + trained);
    rng random;
    rng_init(&random, d->options.seed, UINT64_MAX - d->done);
    step->combine(gradients, tasks, trained, &random, gradient);
    apply_gradient(d);
    return FT_OK;
}

/* --- Validation ---------------------------------------------------------------------------------------------- */

bool descent_is_validation_due(const descent *d) {
    return d->done % d->options.check_steps == 0 || d->done == d->options.steps;
}

bool descent_is_done(const descent *d) {
    return d->done >= d->options.steps || early_stop_is_done(&d->reports, d->options.patience);
}

static void copy(const descent *d, const float *from, float *to) {
    memcpy(to, from, d->values->total_count * sizeof(float));
}

void descent_use_average(descent *d) {
    if (d->average == NULL) return;
    copy(d, d->values->values, d->saved);
    copy(d, d->average, d->values->values);
}

void descent_restore_values(descent *d) {
    if (d->average != NULL) copy(d, d->saved, d->values->values);
}

void descent_report(descent *d, double loss) {
    if (isnan(loss)) return;
    schedule_report(&d->cycle, &d->schedule, loss);
    bool is_better = early_stop_report(&d->reports, loss, 0);
    if (is_better && d->best != NULL) copy(d, d->values->values, d->best);
}

void descent_finish(descent *d) {
    if (d->best != NULL && d->reports.rounds > 0)
        copy(d, d->best, d->values->values);
    else if (d->average != NULL)
        copy(d, d->average, d->values->values);
}

/* --- Saving and resuming ------------------------------------------------------------------------------------- */

typedef struct report_state {
    schedule_state schedule;
    early_stop reports;
} report_state;

static size_t floats_for(size_t bytes) {
    return (bytes + sizeof(float) - 1) / sizeof(float);
}

static size_t optimizer_floats(const descent *d) {
    return floats_for(optim_state_size(d->optimizer));
}

/* Whether later steps depend on the reports. */
static bool uses_reports(const descent *d) {
    return d->best != NULL || d->options.patience > 0 || d->cycle.kind == SCHEDULE_PLATEAU;
}

size_t descent_state_size(const descent *d) {
    size_t count = d->values->total_count, size = count + optimizer_floats(d);
    if (d->average != NULL) size += count;
    if (d->best != NULL) size += count;
    if (uses_reports(d)) size += floats_for(sizeof(report_state));
    return size;
}

void descent_save(const descent *d, float *state) {
    size_t count = d->values->total_count;
    copy(d, d->values->values, state);
    state += count;
    memset(state, 0, optimizer_floats(d) * sizeof(float));
    optim_save(d->optimizer, state);
    state += optimizer_floats(d);
    if (d->average != NULL) copy(d, d->average, state);
    if (d->average != NULL) state += count;
    if (d->best != NULL) copy(d, d->best, state);
    if (d->best != NULL) state += count;
    report_state reports = {d->schedule, d->reports};
    if (uses_reports(d)) memcpy(state, &reports, sizeof reports);
}

ft_status descent_load(descent *d, const float *state, uint32_t done, ft_error *error) {
    size_t count = d->values->total_count;
    if (done > d->options.steps)
        return ft_fail(error, FT_ERR_DAMAGED,
                       "checkpoint after step %u, but the training has %u steps: not of this training", done,
                       d->options.steps);
    FT_TRY(optim_load(d->optimizer, state + count, optim_state_size(d->optimizer), error));
    copy(d, state, d->values->values);
    state += count + optimizer_floats(d);
    if (d->average != NULL) copy(d, state, d->average);
    if (d->average != NULL) state += count;
    if (d->best != NULL) copy(d, state, d->best);
    if (d->best != NULL) state += count;
    report_state reports = {d->schedule, d->reports};
    if (uses_reports(d)) memcpy(&reports, state, sizeof reports);
    d->schedule = reports.schedule;
    d->reports = reports.reports;
    d->done = done;
    return FT_OK;
}
