/* train.c - a training run: checks the options, fits, calibrates, scores and writes.
 *
 * All errors in the options are found before the run folder is made, so that a mistake leaves nothing behind. */
#include "learn/train/train.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "foretell/foretell.h"
#include "learn/score/filter.h"
#include "learn/train/fold_scores.h"
#include "learn/train/run_config.h"
#include "learn/train/train_output.h"

static const double CHECKPOINT_INTERVAL_S = 5;

ft_train_options ft_train_options_default(void) {
    return (ft_train_options){.metric = "time_us", .split = "random"};
}

typedef struct job {
    const ft_dataset *data;
    const ft_train_options *options;
    const char *folder;
    run_mode mode;
    double interval_s;
    ft_error *error;
    /* computed */
    const family *family;
    json_t *config;
    json_t *folds; /* hashes; NULL: none */
    ft_split split;
    fitset rows;
    buf config_text;
    run_folder run;
    fit_session session;
    pool *threads;
} job;

/* --- Options ------------------------------------------------------------------------------------------------- */

ft_status train_family(const char *name, const family **found, ft_error *error) {
    *found = name != NULL ? family_find(name) : families[0];
    if (*found != NULL) return FT_OK;
    buf names = {0};
    for (uint32_t i = 0; i < ft_family_count(); i++) buf_format(&names, "%s%s", i > 0 ? ", " : "", ft_family_name(i));
    ft_fail(error, FT_ERR_USAGE, "no family '%s'; the families are %s", name, names.data != NULL ? names.data : "none");
    buf_free(&names);
    return FT_ERR_USAGE;
}

static ft_status prepare(job *j) {
    const ft_train_options *o = j->options;
    const char *metric = o->metric != NULL ? o->metric : "time_us", *split = o->split != NULL ? o->split : "random";
    FT_TRY(train_family(o->family, &j->family, j->error));
    if (j->folder != NULL) FT_TRY(run_check(j->folder, &j->mode, j->error));
    FT_TRY(config_parse(o->config, o->settings, o->setting_count, &j->config, j->error));
    FT_TRY(ft_split_make(j->data, split, o->seed, &j->split, j->error));
    FT_TRY(filter_split(&o->filter, j->data, &j->split, j->error));
    if (j->family->metric != NULL && strcmp(metric, j->family->metric) != 0)
        return ft_fail(j->error, FT_ERR_USAGE, "the family '%s' predicts %s, not %s: use --metric %s", j->family->name,
                       j->family->metric, metric, j->family->metric);
    if (strchr(metric, ',') != NULL && !family_can(j->family, FAMILY_MULTI_METRIC))
        return ft_fail(j->error, FT_ERR_USAGE,
                       "the family '%s' learns one metric at a time: train it once for each of %s, and join the files "
                       "with 'foretell bundle'",
                       j->family->name, metric);
    FT_TRY(fitset_make(j->data, &j->split, metric, family_can(j->family, FAMILY_OPERATORS), &j->rows, j->error));
    if (family_can(j->family, FAMILY_FEW_PARAMETERS)) fitset_calibrate_on_all(&j->rows);
    if (o->fold_count > 0) FT_TRY(fold_hashes(o->folds, o->fold_count, &j->folds, j->error));
    const config_facts facts = {.family = j->family,
                                .config = j->config,
                                .split = &j->split,
                                .filter = &o->filter,
                                .rows = &j->rows,
                                .seed = o->seed,
                                .folds = j->folds};
    return config_write(&facts, &j->config_text, j->error);
}

/* --- The run ------------------------------------------------------------------------------------------------- */

static void log_start(job *j) {
    run_log(&j->run,
            json_pack("{s:s, s:s, s:b, s:I, s:I, s:I}", "event", "start", "version", ft_version_string(), "is_resumed",
                      j->session.state != NULL, "threads", (json_int_t)pool_threads(j->threads), "train",
                      (json_int_t)j->rows.set.train.count, "valid", (json_int_t)j->rows.set.valid.count));
}

static ft_status fit(job *j, void **fitted) {
    fit_context context = {.config = j->config, .seed = j->options->seed, .threads = j->threads};
    fit_session_connect(&j->session, &context);
    FT_TRY(j->family->fit(&j->rows.set, &context, fitted, j->error));
    run_log(&j->run, json_pack("{s:s}", "event", "fitted"));
    return FT_OK;
}

static ft_status write_files(job *j, const train_output *out) {
    FT_TRY(run_write(&j->run, "predictor.ftm", out->predictor.data, out->predictor.length, j->error));
    FT_TRY(run_check_log(&j->run, j->error));
    return run_write(&j->run, "metrics.json", out->metrics.data, out->metrics.length, j->error);
}

static ft_status write_output(job *j, const void *fitted, const fold_scores *folds, ft_evaluation *tested) {
    const train_output_inputs inputs = {.family = j->family,
                                        .model = fitted,
                                        .rows = &j->rows,
                                        .split = &j->split,
                                        .seed = j->options->seed,
                                        .threads = j->options->threads,
                                        .is_untested = j->options->is_untested,
                                        .folds = folds,
                                        .session = &j->session};
    train_output out;
    FT_TRY(train_output_make(&inputs, &out, j->error));
    run_log(&j->run, json_pack("{s:s}", "event", "complete"));
    ft_status status = write_files(j, &out);
    if (status == FT_OK) status = run_finish(&j->run, j->error);
    if (status == FT_OK && tested != NULL) {
        *tested = out.tested;
        out.tested = (ft_evaluation){0};
    }
    train_output_free(&out);
    return status;
}

static ft_status finish(job *j, const void *fitted, ft_evaluation *tested) {
    fold_scores folds = {0};
    const fold_inputs inputs = {.runs = j->options->folds,
                                .run_count = j->options->fold_count,
                                .family = j->family,
                                .rows = &j->rows,
                                .threads = j->options->threads,
                                .session = &j->session};
    if (inputs.run_count == 0) return write_output(j, fitted, NULL, tested);
    FT_TRY(fold_scores_make(&inputs, &folds, j->error));
    ft_status status = write_output(j, fitted, &folds, tested);
    fold_scores_free(&folds);
    return status;
}

static ft_status fit_and_finish(job *j, ft_evaluation *tested) {
    void *fitted = NULL;
    FT_TRY(fit_session_open(&j->session, j->error));
    FT_TRY(pool_new(j->options->threads, &j->threads, j->error));
    log_start(j);
    ft_status status = fit(j, &fitted);
    if (status == FT_OK) status = finish(j, fitted, tested);
    if (fitted != NULL) j->family->free(fitted);
    return status;
}

/* The run was asked to stop: brings the last state that the family saved to disk. */
static ft_status stop(job *j) {
    ft_error failure;
    if (fit_session_flush(&j->session, &failure) != FT_OK)
        return ft_fail(j->error, failure.status, "stopped, and the checkpoint could not be written: %s",
                       failure.message);
    run_log(&j->run, json_pack("{s:s}", "event", "stopped"));
    if (j->session.state == NULL)
        return ft_fail(j->error, FT_ERR_CANCELLED,
                       "%s: stopped before the first checkpoint: there is nothing to resume", j->folder);
    return ft_fail(j->error, FT_ERR_CANCELLED, "%s: stopped; the same command with --resume continues the run",
                   j->folder);
}

static ft_status run(job *j, ft_evaluation *tested) {
    FT_TRY(run_open(j->folder, &j->mode, &j->config_text, &j->run, j->error));
    if (j->run.is_complete) return run_finish(&j->run, j->error); /* interrupted after its last file was written */
    j->session = (fit_session){.run = &j->run,
                               .identity = hash_bytes(j->config_text.data, j->config_text.length),
                               .interval_s = j->interval_s,
                               .progress = j->options->progress,
                               .user = j->options->user};
    ft_status status = fit_and_finish(j, tested);
    if (status == FT_ERR_CANCELLED) status = stop(j);
    pool_free(j->threads);
    fit_session_free(&j->session);
    return status;
}

static void free_job(job *j) {
    buf_free(&j->config_text);
    fitset_free(&j->rows);
    ft_split_free(&j->split);
    json_decref(j->config);
    json_decref(j->folds);
}

ft_status train_run(const ft_dataset *data, const char *run_folder, const ft_train_options *options, double interval_s,
                    ft_evaluation *tested, ft_error *error) {
    job j = {.data = data,
             .options = options,
             .folder = run_folder,
             .mode = {.is_resumed = options->is_resumed, .is_forced = options->is_forced},
             .interval_s = interval_s,
             .run = {.lock = -1},
             .error = error};
    if (tested != NULL) *tested = (ft_evaluation){0};
    ft_status status = prepare(&j);
    if (status == FT_OK) {
        status = run(&j, tested);
        run_close(&j.run);
    }
    free_job(&j);
    return status;
}

ft_status train_check(const ft_dataset *data, const ft_train_options *options, ft_error *error) {
    job j = {.data = data, .options = options, .run = {.lock = -1}, .error = error};
    ft_status status = prepare(&j);
    free_job(&j);
    return status;
}

ft_status ft_train(const ft_dataset *data, const char *run_folder, const ft_train_options *options,
                   ft_evaluation *tested, ft_error *error) {
    FT_REQUIRE(error, data, run_folder, options);
    return train_run(data, run_folder, options, CHECKPOINT_INTERVAL_S, tested, error);
}
