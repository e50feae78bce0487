/* tune.h - settings that are searched, not guessed; and what each of them is good for.
 *
 *     ft_tune_options options = ft_tune_options_default();
 *     options.family = "totals-gbt";
 *     ft_tuning tuning;
 *     if (ft_tune(data, "search", &options, &tuning, &error) != FT_OK) ...
 *     // search/best.json is what ft_train_options.config takes
 */
#ifndef FORETELL_TUNE_H
#define FORETELL_TUNE_H

#include "foretell/learn.h"

FT_C_BEGIN

/* What is trained, how it is scored, and where it runs: the same for searches and ablations. */
typedef struct ft_trial_options {
    const char *family;          /* NULL: the default */
    const char *metric;          /* NULL: "time_us" */
    const char *split;           /* NULL: "random" */
    const char *config;          /* settings that all trials have, a JSON object; NULL: none */
    const char *const *settings; /* single ones, "key=value" */
    uint32_t setting_count;
    const char *objective; /* a score of ft_score: mean over devices, all families. NULL: "mape" */
    uint64_t seed;
    uint32_t workers; /* trials at a time; 0: one per core. The result does not depend on it */
    uint32_t threads; /* of all workers together; 0: one per core */
    double time_s;    /* no trial begins after that; 0: no limit */
    bool is_resumed;  /* go on with the journal in the folder */
    bool keeps_runs;  /* the run folders of trials stay, in trials/ */
    ft_progress *progress;
    void *user;
} ft_trial_options;

/* --- Searching ----------------------------------------------------------------------------------------------- */

typedef struct ft_tune_options {
    ft_trial_options trial;
    const char *space; /* the settings that are searched, JSON (docs/tuning.md); NULL: what the family searches */
    const char *const *ranges; /* single ones, "rate=log-real:1e-4..0.1", on top of that */
    uint32_t range_count;
    uint32_t trials;     /* configurations, of which the first are the defaults */
    uint32_t generation; /* so many are chosen at a time */
    uint32_t rungs;      /* of successive halving; 1: every trial gets the full effort */
    uint32_t factor;     /* one of so many goes on to the next rung, with as many times the effort */
    const char *effort;  /* the setting that rungs change, as "steps"; NULL: the one that the family names */
} ft_tune_options;

/* 36 trials in generations of 9 on 3 rungs, a third of them goes on; "time_us", "random", "mape". */
FT_API ft_tune_options ft_tune_options_default(void);

/* A setting that is searched: a number, or one of several choices, which are named as they are written in JSON. */
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
    uint32_t rungs;       /* that it was trained on */
    const double *scores; /* objective on each of them; NaN where it failed */
    double objective;     /* on the last of them */
    const char *config;   /* JSON, of the full effort */
    const double *values; /* per key its number, or the place of its choice; NaN when it has none */
    const char *error;    /* why it failed; NULL when it did not */
} ft_trial;

typedef struct ft_tuning {
    const char *family, *metric, *split, *objective;
    uint64_t seed;
    bool is_higher_better;
    uint32_t rungs, factor;
    const ft_tune_key *keys;
    uint32_t key_count;
    const ft_trial *trials; /* by index; the first are the defaults */
    uint32_t count;
    uint32_t best; /* FT_NONE: every trial failed */
    uint32_t failed;
    bool is_complete; /* false: time was up */
    void *owner;
} ft_tuning;

/* Searches for the settings with which a family does best on the validation part of a split; the test part is never
 * looked at. `folder` gets journal.jsonl (from which a search goes on after anything), trials.csv, trials.svg, and
 * best.json, the best settings. The same data, options and seed give the same trials, whatever the number of workers.
 */
FT_API ft_status ft_tune(const ft_dataset *data, const char *folder, const ft_tune_options *options, ft_tuning *tuning,
                         ft_error *error);
FT_API void ft_tuning_free(ft_tuning *tuning);
/* The `top` best trials and the defaults; all of them as CSV. */
FT_API ft_status ft_tuning_write(const ft_tuning *tuning, uint32_t top, const ft_style *style, FILE *stream,
                                 ft_error *error);
/* Objectives in the order of the trials, the best so far, and objective against each key; .svg or .png. */
FT_API ft_status ft_tuning_plot(const ft_tuning *tuning, const char *path, ft_error *error);

/* --- Leaving out --------------------------------------------------------------------------------------------- */

typedef struct ft_ablate_options {
    ft_trial_options trial;
    const char *const *factors; /* "rounds=0": what is left out, one at a time */
    uint32_t factor_count;      /* 0: those that the family names */
    uint32_t seeds;             /* each is trained so often, from trial.seed on, which also moves the split */
    ft_split_part part;         /* that is scored: FT_PART_VALID or FT_PART_TEST */
} ft_ablate_options;

/* 3 seeds, the validation part; "time_us", "random", "mape". */
FT_API ft_ablate_options ft_ablate_options_default(void);

/* Differences are to the same seed with everything in. Deviations are NaN for a single seed. */
typedef struct ft_factor {
    const char *name; /* "all", then "rounds=0", ... */
    uint32_t n;       /* seeds that did not fail */
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

/* Trains with everything, and without one factor after the other. `folder` gets journal.jsonl and ablation.csv. */
FT_API ft_status ft_ablate(const ft_dataset *data, const char *folder, const ft_ablate_options *options,
                           ft_ablation *ablation, ft_error *error);
FT_API void ft_ablation_free(ft_ablation *ablation);
FT_API ft_status ft_ablation_write(const ft_ablation *ablation, const ft_style *style, FILE *stream, ft_error *error);

FT_C_END

#endif
