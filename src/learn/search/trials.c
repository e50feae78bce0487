/* trials.c - runs trainings in parallel and records their outcomes in the journal. */
#include "learn/search/trials.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/outfile.h"
#include "foretell/foretell.h"
#include "learn/search/objective.h"
#include "learn/train/run.h"
#include "learn/train/run_config.h"
#include "learn/train/train.h"
#include "predictor/core/settings.h"

enum { PROGRESS_STEPS = 10000 };
static const double CHECKPOINT_INTERVAL_S = 20;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- Opening ------------------------------------------------------------------------------------------------- */

static ft_status count_threads(trials *t, ft_error *error) {
    pool *counted = NULL;
    FT_TRY(pool_new(t->options->threads, &counted, error));
    t->threads = pool_threads(counted);
    t->workers = t->options->workers > 0 ? t->options->workers : t->threads;
    pool_free(counted);
    return FT_OK;
}

ft_status trials_prepare(trials *t, const ft_dataset *data, const char *folder, const ft_trial_options *options,
                         ft_split_part part, ft_error *error) {
    *t = (trials){.data = data, .folder = folder, .options = options, .part = part, .lock = PTHREAD_MUTEX_INITIALIZER};
    t->started_s = now_s();
    FT_TRY(train_family(options->family, &t->family, error));
    FT_TRY(objective_find(options->objective, &t->objective, error));
    t->setting_count = settings_of(t->family, t->settings, FT_MAX_SETTINGS);
    if (t->setting_count > FT_MAX_SETTINGS) t->setting_count = FT_MAX_SETTINGS;
    FT_TRY(config_parse(options->config, options->settings, options->setting_count, &t->base, error));
    FT_TRY(trials_check_config(t, t->base, error));
    return count_threads(t, error);
}

ft_status trials_check_config(const trials *t, const json_t *config, ft_error *error) {
    double taken[FT_MAX_SETTINGS];
    return t->setting_count > 0 ? settings_parse(config, t->settings, t->setting_count, taken, error) : FT_OK;
}

const ft_setting *trials_setting(const trials *t, const char *name) {
    for (uint32_t i = 0; i < t->setting_count; i++)
        if (strcmp(t->settings[i].name, name) == 0) return &t->settings[i];
    return NULL;
}

/* Everything that affects the outcome of trainings: a journal with another header belongs to another search. */
static json_t *header_of(const trials *t, json_t *what) {
    const ft_trial_options *o = t->options;
    json_t *header =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:O}", "foretell_journal", JOURNAL_VERSION,
                  "version", ft_version_string(), "family", t->family->name, "schema", t->family->schema, "metric",
                  o->metric != NULL ? o->metric : "time_us", "split", o->split != NULL ? o->split : "random",
                  "objective", t->objective->key, "part", ft_split_part_name(t->part), "data", ft_dataset_hash(t->data),
                  "seed", (json_int_t)o->seed, "config", t->base);
    if (header != NULL && !json_merge(header, what)) {
        json_decref(header);
        header = NULL;
    }
    json_decref(what);
    return header;
}

static ft_status make_folder(const char *path, ft_error *error) {
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))) return FT_OK;
    return ft_fail_file(error, path, "cannot create the folder", errno);
}

static char *path_in(const trials *t, const char *name) {
    char *path;
    return asprintf(&path, "%s/%s", t->folder, name) < 0 ? NULL : path;
}

ft_status trials_open(trials *t, const char *round_name, json_t *what, ft_error *error) {
    json_t *header = header_of(t, what);
    char *path = path_in(t, "journal.jsonl");
    ft_status status = header != NULL && path != NULL ? make_folder(t->folder, error) : FT_NOMEM(error);
    if (status == FT_OK && t->options->is_resumed && access(path, F_OK) != 0)
        status = ft_fail(error, FT_ERR_USAGE, "%s: no journal to resume", path);
    if (status == FT_OK) status = journal_open(&t->journal, round_name, path, header, t->options->is_resumed, error);
    free(path);
    json_decref(header);
    return status;
}

void trials_close(trials *t) {
    char *path = t->journal.file != NULL ? path_in(t, "trials") : NULL;
    if (path != NULL) rmdir(path); /* fails when runs are kept */
    free(path);
    journal_close(&t->journal);
    json_decref(t->base);
    t->base = NULL;
    pthread_mutex_destroy(&t->lock);
}

ft_status trials_write(const trials *t, const char *name, const buf *text, ft_error *error) {
    char *path = path_in(t, name);
    if (path == NULL || text->failed) {
        free(path);
        return FT_NOMEM(error);
    }
    ft_status status = outfile_write(path, text->data, text->length, error);
    free(path);
    return status;
}

/* --- Progress ------------------------------------------------------------------------------------------------ */

/* A worker's current job. */
typedef struct worker_job {
    trials *t;
    trial_job *job;
} worker_job;

/* Called under the lock. Returns false to stop. */
static bool report_progress(trials *t) {
    assert(t->running_count == 0 || t->running != NULL);
    double done = t->done_cost;
    for (uint32_t i = 0; i < t->running_count; i++)
        if (!t->running[i].is_done) done += t->running[i].done_ratio * t->running[i].cost;
    double ratio = t->total_cost > 0 ? fmin(done / t->total_cost, 1) : 0;
    if (!t->is_stopped && t->options->progress != NULL &&
        !t->options->progress(t->options->user, (uint64_t)(ratio * PROGRESS_STEPS), PROGRESS_STEPS, t->what))
        t->is_stopped = true;
    return !t->is_stopped;
}

static bool on_progress(void *user, uint64_t done, uint64_t total, const char *what) {
    const worker_job *w = user;
    (void)what;
    pthread_mutex_lock(&w->t->lock);
    w->job->done_ratio = total > 0 ? (double)done / (double)total : 0;
    bool may_continue = report_progress(w->t);
    pthread_mutex_unlock(&w->t->lock);
    return may_continue;
}

static void stop(trials *t, const ft_error *problem) {
    if (t->status == FT_OK) {
        t->status = problem->status;
        t->problem = *problem;
    }
    t->is_stopped = true;
}

/* --- One training -------------------------------------------------------------------------------------------- */

static char *run_path(const trials *t, const trial_job *job) {
    char *path;
    return asprintf(&path, "%s/trials/%05u-%u", t->folder, job->trial, job->round) < 0 ? NULL : path;
}

static ft_status train_in(worker_job *w, const char *path, const char *config, uint32_t threads, ft_error *error) {
    const trials *t = w->t;
    ft_train_options options = {.family = t->family->name,
                                .metric = t->options->metric,
                                .split = t->options->split,
                                .config = config,
                                .seed = w->job->seed,
                                .threads = threads,
                                .is_untested = t->part != FT_PART_TEST,
                                .progress = on_progress,
                                .user = w};
    struct stat info;
    options.is_resumed = stat(path, &info) == 0;
    ft_status status = train_run(t->data, path, &options, CHECKPOINT_INTERVAL_S, NULL, error);
    if (!options.is_resumed || status == FT_OK || status == FT_ERR_CANCELLED) return status;
    /* The remains of another version or of a bad disk: start over. */
    run_remove(path);
    options.is_resumed = false;
    return train_run(t->data, path, &options, CHECKPOINT_INTERVAL_S, NULL, error);
}

static ft_status train_and_score(worker_job *w, const char *path, uint32_t threads, ft_error *error) {
    char *config = json_dumps(w->job->config, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (config == NULL) return FT_NOMEM(error);
    ft_status status = train_in(w, path, config, threads, error);
    free(config);
    FT_TRY(status);
    return objective_of_run(path, ft_split_part_name(w->t->part), w->t->objective, &w->job->objective, error);
}

/* Whether a failure is specific to this training; others would hit every training. */
static bool is_specific(ft_status status) {
    return status != FT_ERR_CANCELLED && status != FT_ERR_NOMEM && status != FT_ERR_IO;
}

static void end_job(worker_job *w, double seconds, const ft_error *failure) {
    trials *t = w->t;
    trial_job *job = w->job;
    ft_error problem = {0};
    const journal_entry entry = {.trial = job->trial,
                                 .round = job->round,
                                 .config = job->config,
                                 .objective = job->objective,
                                 .error = failure != NULL ? failure->message : NULL,
                                 .seconds = seconds};
    pthread_mutex_lock(&t->lock);
    if (journal_add(&t->journal, &entry, &problem) != FT_OK) stop(t, &problem);
    job->is_done = t->status == FT_OK;
    t->done_cost += job->cost;
    report_progress(t);
    pthread_mutex_unlock(&t->lock);
}

/* Whether another training may begin: there is time left, and the search was not stopped. */
static bool may_begin(trials *t) {
    pthread_mutex_lock(&t->lock);
    if (t->options->time_s > 0 && now_s() - t->started_s > t->options->time_s) t->is_out_of_time = true;
    bool may = report_progress(t) && !t->is_out_of_time;
    pthread_mutex_unlock(&t->lock);
    return may;
}

static void do_job(worker_job *w, uint32_t threads) {
    ft_error error = {0};
    char *path = run_path(w->t, w->job);
    double began = now_s();
    w->job->objective = NAN;
    ft_status status = path != NULL ? train_and_score(w, path, threads, &error) : FT_NOMEM(&error);
    if (status == FT_OK || is_specific(status)) {
        end_job(w, now_s() - began, status == FT_OK ? NULL : &error);
        if (!w->t->options->keeps_runs) run_remove(path);
    } else {
        pthread_mutex_lock(&w->t->lock);
        stop(w->t, &error);
        pthread_mutex_unlock(&w->t->lock);
    }
    free(path);
}

/* --- All trainings ------------------------------------------------------------------------------------------- */

typedef struct batch {
    trials *t;
    trial_job **jobs;
    uint32_t threads; /* of each */
} batch;

static void do_part(void *user, uint32_t part, uint32_t worker) {
    (void)worker;
    const batch *b = user;
    worker_job job = {.t = b->t, .job = b->jobs[part]};
    if (may_begin(b->t)) do_job(&job, b->threads);
}

/* Takes the outcome of a job from the journal, which must have the same settings. */
static ft_status restore(trials *t, trial_job *job, ft_error *error) {
    const journal_entry *known = journal_find(&t->journal, job->trial, job->round);
    if (known == NULL) return FT_OK;
    if (!json_equal(known->config, job->config))
        return ft_fail(
            error, FT_ERR_DAMAGED,
            "%s/journal.jsonl: trial %u has other settings than this search chooses: the journal was changed",
            t->folder, job->trial);
    job->objective = known->objective;
    job->is_done = true;
    t->done_cost += job->cost;
    return FT_OK;
}

static ft_status run_all(trials *t, trial_job **jobs, uint32_t count, ft_error *error) {
    uint32_t parallel = t->workers < count ? t->workers : count;
    assert(parallel > 0);
    pool *workers = NULL;
    char *path = path_in(t, "trials");
    ft_status status = path != NULL ? make_folder(path, error) : FT_NOMEM(error);
    free(path);
    FT_TRY(status);
    FT_TRY(pool_new(parallel, &workers, error));
    batch b = {.t = t, .jobs = jobs, .threads = t->threads > parallel ? t->threads / parallel : 1};
    pool_run(workers, count, do_part, &b);
    pool_free(workers);
    return FT_OK;
}

ft_status trials_run(trials *t, trial_job *jobs, uint32_t count, ft_error *error) {
    trial_job **left = calloc(count + 1, sizeof *left);
    uint32_t left_count = 0;
    ft_status status = left != NULL ? FT_OK : FT_NOMEM(error);
    t->running = jobs;
    t->running_count = count;
    for (uint32_t i = 0; i < count && status == FT_OK; i++) {
        status = restore(t, &jobs[i], error);
        if (!jobs[i].is_done) left[left_count++] = &jobs[i];
    }
    if (status == FT_OK && left_count > 0) status = run_all(t, left, left_count, error);
    free(left);
    t->running_count = 0;
    FT_TRY(status);
    if (t->status == FT_OK && t->is_stopped) t->status = FT_ERR_CANCELLED;
    if (t->status == FT_ERR_CANCELLED)
        return ft_fail(error, FT_ERR_CANCELLED, "%s: stopped; the same command with --resume continues the search",
                       t->folder);
    if (t->status != FT_OK) *error = t->problem;
    return t->status;
}
