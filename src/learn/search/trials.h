/* trials.h - trainings of a search: several at a time, each in a run folder of its own, and a line of the journal each.
 *
 * A bench of trials is what tune.c and ablate.c have in common: it knows what is trained and how it is scored, but not
 * why. A training that fails by itself (it diverged, its settings do not go together) is a result; one that fails for a
 * reason outside of it (no memory, no disk, a wish to stop) ends the search. */
#ifndef LEARN_TRIALS_H
#define LEARN_TRIALS_H

#include <pthread.h>

#include "foretell/tune.h"
#include "learn/score/metrics.h"
#include "learn/search/journal.h"
#include "predictor/core/family.h"

/* One training. */
typedef struct trial_job {
    uint32_t trial, turn;
    json_t *config; /* borrowed */
    uint64_t seed;
    double cost;      /* how long it takes, relative to others */
    double objective; /* afterwards: NaN when it failed */
    bool is_done;
    double done; /* share of it while it runs */
} trial_job;

typedef struct trials {
    const ft_dataset *data;
    const char *folder;
    const ft_trial_options *options;
    const family *family;
    ft_setting settings[FT_MAX_SETTINGS]; /* that it declares */
    uint32_t setting_count;               /* 0: it does not tell */
    const score_field *objective;
    ft_split_part part;
    json_t *base; /* settings that all have */
    journal journal;
    uint32_t threads, workers;
    /* how far it is */
    double total_cost, done_cost; /* of all jobs there will be; of those that are done */
    double started_s;
    bool is_out_of_time;
    trial_job *running; /* the jobs at hand */
    uint32_t running_count;
    pthread_mutex_t lock; /* of the journal and of what follows */
    ft_status status;     /* of the first failure that ends the search */
    ft_error problem;
    bool is_stopped;
    char what[96]; /* for progress */
} trials;

/* Looks at the options; *error says what is wrong with them. `default_part` is what is scored. */
ft_status trials_prepare(trials *t, const ft_dataset *data, const char *folder, const ft_trial_options *options,
                         ft_split_part part, ft_error *error);
/* Whether the family takes these settings, as far as it tells. */
ft_status trials_check_config(const trials *t, const json_t *config, ft_error *error);
/* One of the family's settings; NULL when it has none of that name. */
const ft_setting *trials_setting(const trials *t, const char *name);
/* Makes the folder, or finds it, and opens the journal. `what` describes the search; its reference is taken over. The
 * rest of the header is what the options say. */
ft_status trials_open(trials *t, const char *turn_name, json_t *what, ft_error *error);
void trials_close(trials *t);

/* Trains what the journal does not have. When time is up, or when it is asked to stop, some jobs are not done. */
ft_status trials_run(trials *t, trial_job *jobs, uint32_t count, ft_error *error);

/* Writes one of the files of the folder, whole or not at all. */
ft_status trials_write(const trials *t, const char *name, const buf *text, ft_error *error);

#endif
