/* fold_scores.h - accuracy and intervals of a predictor from runs of the same kind that each held out a part of the
 * data.
 *
 * The test part of a single split may be a handful of groups (tasks, architectures), and what is measured on it is as
 * much chance as accuracy. Runs that each held out another part have together predicted every group without having
 * learned from it. Quantiles are those of all of their cases; the coverage that is reported for the cases of a run is
 * that of the quantiles of the other runs. docs/training.md */
#ifndef LEARN_FOLD_SCORES_H
#define LEARN_FOLD_SCORES_H

#include "base/arena.h"
#include "foretell/learn.h"
#include "learn/train/fit_session.h"
#include "learn/train/fitset.h"

enum { FOLD_MIN_RUNS = 2, FOLD_MAX_RUNS = 64 };

typedef struct fold_inputs {
    const char *const *runs; /* folders of complete runs, or predictor files */
    uint32_t run_count;
    const family *family; /* that they have to be of */
    const fitset *rows;   /* of the predictor that is scored: its metrics and devices */
    uint32_t threads;
    fit_session *session; /* for progress */
} fold_inputs;

/* Of one metric. */
typedef struct fold_metric {
    ft_evaluation evaluation; /* all cases, by run; the score of each device */
    double *q90;              /* per device of the fit set */
    uint32_t *counts;         /* cases per device */
} fold_metric;

typedef struct fold_scores {
    fold_metric metrics[FITSET_MAX_METRICS]; /* set.metric, then set.others */
    uint32_t run_count;
    const char *spec; /* split of the first run */
    void *owner;
} fold_scores;

/* The hashes of the files, in the order of the runs, for config.json: the run's identity depends on them. */
ft_status fold_hashes(const char *const *runs, uint32_t count, json_t **hashes, ft_error *error);

ft_status fold_scores_make(const fold_inputs *inputs, fold_scores *out, ft_error *error);
void fold_scores_free(fold_scores *scores);

#endif
