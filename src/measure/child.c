/* child.c - runs a model in the process that was made for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "measure/inputs.h"
#include "measure/measure.h"
#include "measure/ort.h"

#define WARM_UP_SHARE 0.25 /* of the budget, at most */

enum { WARM_UP_RUNS = 3 };

/* The file has no weights when it is smaller than they are, and none are beside it. */
static bool lacks_weights(const child_job *job) {
    uint64_t stored = 0, needed = 0;
    const ft_tensor *tensors = ft_graph_tensors(job->bound);
    for (uint32_t i = 0; i < ft_graph_tensor_count(job->bound); i++) {
        if (tensors[i].role != FT_CONSTANT) continue;
        stored += tensors[i].stored_bytes;
        needed += ft_tensor_bytes(job->bound, &tensors[i]);
    }
    return stored < needed / 2;
}

static ft_status open_session(const child_job *job, const ort *o, const char *profile, ort_session **session) {
    ort_session_options options = {.threads = job->options->threads, .profile = profile};
    ft_error *error = &job->result->error;
    ft_status status = ort_session_open(o, job->path, &options, session, error);
    if (status == FT_ERR_UNSUPPORTED && lacks_weights(job))
        return ft_fail(error, status,
                       "the file has no weights, and the runtime needs them; export the model with its weights");
    return status;
}

static bool has_time(double begin_us, double budget_us) {
    return clock_us(CLOCK_MONOTONIC) - begin_us < budget_us;
}

static ft_status warm_up(const child_job *job, const ort *o, ort_session *session, model_io *io) {
    ft_error *error = &job->result->error;
    bool is_finite;
    double begin = clock_us(CLOCK_MONOTONIC);
    FT_TRY(model_io_run(o, session, io, error));
    FT_TRY(model_io_is_finite(o, io, &is_finite, error));
    if (!is_finite) job->result->measurement.noise = FT_NOISE_NAN;
    for (int i = 1; i < WARM_UP_RUNS && has_time(begin, WARM_UP_SHARE * job->options->seconds * 1e6); i++)
        FT_TRY(model_io_run(o, session, io, error));
    return FT_OK;
}

/* Until processor and wall time are steady, or the budget ends; at least RUNS_MIN runs unless these take too long. */
static ft_status time_runs(const child_job *job, const ort *o, ort_session *session, model_io *io, run_series *runs) {
    double begin = clock_us(CLOCK_MONOTONIC), budget = job->options->seconds * 1e6;
    uint32_t next_check = RUNS_MIN;
    while (runs->count < RUNS_MAX) {
        double wall = clock_us(CLOCK_MONOTONIC), cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        FT_TRY(model_io_run(o, session, io, &job->result->error));
        runs->cpu_us[runs->count] = clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        runs->wall_us[runs->count++] = clock_us(CLOCK_MONOTONIC) - wall;
        bool is_over = !has_time(begin, budget);
        if (is_over && (runs->count >= RUNS_MIN || !has_time(begin, 4 * budget))) return FT_OK;
        if (runs->count < next_check) continue;
        /* A tenth of the budget at least: a few fast runs are steady by chance. */
        if (!has_time(begin, budget / 10) && runs_are_steady(runs->cpu_us, runs->count) &&
            runs_are_steady(runs->wall_us, runs->count))
            return FT_OK;
        next_check = runs->count + runs->count / 4 + 1;
    }
    return FT_OK;
}

static ft_status measure_runs(const child_job *job, const ort *o, ort_session *session, model_io *io) {
    run_series runs = {.wall_us = calloc(RUNS_MAX, sizeof(double)), .cpu_us = calloc(RUNS_MAX, sizeof(double))};
    ft_status status = runs.wall_us != NULL && runs.cpu_us != NULL ? FT_OK : FT_NOMEM(&job->result->error);
    if (status == FT_OK) status = warm_up(job, o, session, io);
    if (status == FT_OK) status = time_runs(job, o, session, io, &runs);
    if (status == FT_OK) runs_summarize(&runs, &job->result->measurement);
    free(runs.wall_us);
    free(runs.cpu_us);
    return status;
}

/* With a session of its own: profiling makes runs slower. */
static ft_status profile_runs(const child_job *job, const ort *o, ort_session *session, model_io *io) {
    child_result *r = job->result;
    double begin = clock_us(CLOCK_MONOTONIC);
    for (int i = 0; i < RUNS_PROFILED && (i < RUNS_MIN || has_time(begin, job->options->seconds * 1e6)); i++)
        FT_TRY(model_io_run(o, session, io, &r->error));
    char *path;
    FT_TRY(ort_check(o, o->end_profiling(session, o->allocator, &path), "profile", &r->error));
    int wrote = snprintf(r->profile, sizeof r->profile, "%s", path);
    if (wrote < 0 || (size_t)wrote >= sizeof r->profile)
        return ft_fail(&r->error, FT_ERR_LIMIT, "the path of the profile is too long");
    return FT_OK;
}

typedef ft_status session_work(const child_job *job, const ort *o, ort_session *session, model_io *io);

static ft_status in_session(const child_job *job, const ort *o, const char *profile, session_work *work) {
    ort_session *session;
    model_io io;
    double begin = clock_us(CLOCK_MONOTONIC);
    FT_TRY(open_session(job, o, profile, &session));
    if (profile == NULL) job->result->measurement.load_us = clock_us(CLOCK_MONOTONIC) - begin;
    ft_status status = model_io_make(o, session, job->bound, job->options->seed, &io, &job->result->error);
    if (status == FT_OK) status = work(job, o, session, &io);
    model_io_free(o, &io);
    o->release_session(session);
    return status;
}

void child_run(const child_job *job) {
    child_result *r = job->result;
    ort o = {0};
    r->measurement.threads = job->options->threads;
    r->measurement.batch = ft_graph_batch(job->bound);
    r->status = ort_load(job->options->runtime, &o, &r->error);
    r->is_begun = r->status == FT_OK;
    if (r->status == FT_OK) r->status = in_session(job, &o, NULL, measure_runs);
    if (r->status == FT_OK && job->profile_prefix != NULL)
        r->status = in_session(job, &o, job->profile_prefix, profile_runs);
}
