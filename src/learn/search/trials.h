/* trials.h - runs the trainings of a search in parallel, each in its own run folder, and records them in the journal.
 *
 * Shared by tune.c and ablate.c. A training that fails by itself (it diverged, its settings are incompatible) is a
 * result; one that fails for an external reason (no memory, no disk space, cancelled) ends the search. */
#ifndef LEARN_TRIALS_H
#define LEARN_TRIALS_H

#include <pthread.h>

#include "base/buf.h"
#include "foretell/tune.h"
#include "learn/score/metrics.h"
#include "learn/search/journal.h"
#include "predictor/core/family.h"

/* One training. */
typedef struct trial_job {
    uint32_t trial, round;
    json_t *config; /* borrowed */
    uint64_t seed;
    double cost;      /* expected duration, relative to other jobs */
    double objective; /* output: NaN when it failed */
    bool is_done;
    double done_ratio; /* progress while it runs */
} trial_job;

typedef struct trials {
    const ft_dataset *data;
    const char *folder;
    const ft_trial_options *options;
    const family *family;
    ft_setting settings[FT_MAX_SETTINGS]; /* those that the family declares */
    uint32_t setting_count;               /* 0: it declares none */
    const score_field *objective;
    ft_split_part part;
    json_t *base; /* settings of all trials */
    journal journal;
    uint32_t threads, workers;
    /* progress */
    double total_cost, done_cost; /* of all jobs of the search; of the finished ones */
    double started_s;
    bool is_out_of_time;
    trial_job *running; /* the current jobs */
    uint32_t running_count;
    pthread_mutex_t lock; /* of the journal and of the following fields */
    ft_status status;     /* of the first failure that ends the search */
    ft_error problem;
    bool is_stopped;
    char what[96]; /* stage, for progress */
} trials;

/* Checks the options. `part` is the part that is scored. */
ft_status trials_prepare(trials *t, const ft_dataset *data, const char *folder, const ft_trial_options *options,
                         ft_split_part part, ft_error *error);
/* Whether the settings are valid, as far as the family declares them. */
ft_status trials_check_config(const trials *t, const json_t *config, ft_error *error);
/* One of the family's settings; NULL when it declares none of that name. */
const ft_setting *trials_setting(const trials *t, const char *name);
/* Makes or finds the folder and opens the journal. `what` describes the search and is added to the header, next to the
 * options; its reference is taken over. */
ft_status trials_open(trials *t, const char *round_name, json_t *what, ft_error *error);
void trials_close(trials *t);

/* Trains the jobs that are not in the journal. When time is up or the search is stopped, some jobs are not done. */
ft_status trials_run(trials *t, trial_job *jobs, uint32_t count, ft_error *error);

/* Writes a file of the search folder, whole or not at all. */
ft_status trials_write(const trials *t, const char *name, const buf *text, ft_error *error);

/* The CSV files of the folder: one row per trial and rung; one row per factor. */
void tuning_csv(const ft_tuning *tuning, buf *out);
void ablation_csv(const ft_ablation *ablation, buf *out);

#endif
