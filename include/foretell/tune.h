/* tune.h - hyper-parameter search and ablation of predictor families.
 *
 *     ft_tune_options options = ft_tune_options_default();
 *     options.trial.family = "totals-gbt";
 *     ft_tuning tuning;
 *     if (ft_tune(data, "search", &options, &tuning, &error) != FT_OK) ...
 *     // search/best.json is a config for ft_train_options
 */
#ifndef FORETELL_TUNE_H
#define FORETELL_TUNE_H

#include "foretell/learn.h"

FT_C_BEGIN

/* Data, family and score of the trials of a search or an ablation. */
typedef struct ft_trial_options {
    const char *family;          /* NULL: the default */
    const char *metric;          /* NULL: "time_us" */
    const char *split;           /* NULL: "random" */
    const char *config;          /* settings of all trials, a JSON object; NULL: none */
    const char *const *settings; /* "key=value", override `config` */
    uint32_t setting_count;
    const char *objective; /* a score of ft_score: mean over devices, all model families. NULL: "mape" */
    uint64_t seed;
    uint32_t workers; /* parallel trials; 0: one per core. The result does not depend on it */
    uint32_t threads; /* of all workers together; 0: one per core */
    double time_s;    /* no trial begins after this time; 0: no limit */
    bool is_resumed;  /* continue the journal in the folder */
    bool keeps_runs;  /* keep the run folders of trials, in trials/ */
    ft_progress *progress;
    void *user;
} ft_trial_options;

/* --- Searching ----------------------------------------------------------------------------------------------- */

typedef struct ft_tune_options {
    ft_trial_options trial;
    const char
        *space; /* the search space, JSON (docs/tuning.md); NULL: the settings that the family declares as searched */
    const char *const *ranges; /* "rate=log-real:1e-4..0.1", added to the space */
    uint32_t range_count;
    uint32_t trials;     /* number of configurations; the first has the default settings */
    uint32_t generation; /* number of trials chosen together */
    uint32_t rungs;      /* of successive halving; 1: every trial gets the full effort */
    uint32_t factor;     /* 1 / factor of the trials are promoted to the next rung, with factor times the effort */
    const char *effort;  /* the setting that rungs scale, like "steps"; NULL: the one that the family declares */
} ft_tune_options;

/* 36 trials in generations of 9 on 3 rungs, factor 3; "time_us", "random", "mape". */
FT_API ft_tune_options ft_tune_options_default(void);

/* A searched setting: a number, or one of several choices, given as JSON. */
typedef struct ft_tune_key {
    const char *name;
    bool is_log;
    double lo, hi;              /* of a number */
    const char *const *choices; /* NULL: a number */
    uint32_t choice_count;
} ft_tune_key;

/* One configuration. */
typedef struct ft_trial {
    uint32_t index;
    uint32_t rungs;       /* number of rungs that it was trained on */
    const double *scores; /* objective on each rung; NaN where it failed */
    double objective;     /* on the last rung */
    const char *config;   /* JSON, with the full effort */
    const double *values; /* per key: its number, or the index of its choice; NaN when it is inactive */
    const char *error;    /* reason of a failure; NULL: none */
} ft_trial;

typedef struct ft_tuning {
    const char *family, *metric, *split, *objective;
    uint64_t seed;
    bool is_higher_better;
    uint32_t rungs, factor;
    const ft_tune_key *keys;
    uint32_t key_count;
    const ft_trial *trials; /* by index; the first has the default settings */
    uint32_t count;
    uint32_t best; /* FT_NONE: every trial failed */
    uint32_t failed;
    bool is_complete; /* false: stopped by the time limit */
    void *owner;
} ft_tuning;

/* Searches for the settings with the best objective on the validation part of a split; the test part is not evaluated.
 * `folder` gets journal.jsonl (from which a search is resumed), trials.csv, trials.svg, and best.json, the best
 * settings. The same data, options and seed yield the same trials, whatever the number of workers. */
FT_API ft_status ft_tune(const ft_dataset *data, const char *folder, const ft_tune_options *options, ft_tuning *tuning,
                         ft_error *error);
FT_API void ft_tuning_free(ft_tuning *tuning);
/* Writes the `top` best trials and the defaults; as CSV all trials. */
FT_API ft_status ft_tuning_write(const ft_tuning *tuning, uint32_t top, const ft_style *style, FILE *stream,
                                 ft_error *error);
/* Plots the objective by trial with the best so far, and the objective against each key; .svg or .png. */
FT_API ft_status ft_tuning_plot(const ft_tuning *tuning, const char *path, ft_error *error);

/* --- Ablation ------------------------------------------------------------------------------------------------ */

typedef struct ft_ablate_options {
    ft_trial_options trial;
    const char *const *factors; /* "rounds=0": settings that switch a factor off, one at a time */
    uint32_t factor_count;      /* 0: those that the family declares */
    uint32_t seeds;             /* trainings of each, with seeds from trial.seed on, which also change the split */
    ft_split_part part;         /* scored part: FT_PART_VALID or FT_PART_TEST */
} ft_ablate_options;

/* 3 seeds, the validation part; "time_us", "random", "mape". */
FT_API ft_ablate_options ft_ablate_options_default(void);

/* Differences are to the same seed with all factors. Standard deviations are NaN for a single seed. */
typedef struct ft_factor {
    const char *name; /* "all", then "rounds=0", ... */
    uint32_t n;       /* successful trainings */
    double value, value_deviation;
    double difference, difference_deviation; /* NaN for the first */
    const double *values;                    /* by seed, NaN where it failed */
    const char *error;                       /* the first failure, or NULL */
} ft_factor;

typedef struct ft_ablation {
    const char *family, *metric, *split, *objective;
    uint64_t seed;
    uint32_t seeds;
    ft_split_part part;
    bool is_higher_better;
    const ft_factor *factors;
    uint32_t count;
    bool is_complete;
    void *owner;
} ft_ablation;

/* Trains with all factors, and with each factor switched off. `folder` gets journal.jsonl and ablation.csv. */
FT_API ft_status ft_ablate(const ft_dataset *data, const char *folder, const ft_ablate_options *options,
                           ft_ablation *ablation, ft_error *error);
FT_API void ft_ablation_free(ft_ablation *ablation);
FT_API ft_status ft_ablation_write(const ft_ablation *ablation, const ft_style *style, FILE *stream, ft_error *error);

FT_C_END

#endif
