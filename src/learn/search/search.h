/* search.h - the sequence of trials of a search: which configuration is trained next, and with how much effort.
 *
 * Trials come in generations. The points of a generation are chosen by a Parzen estimator (tpe.h) from the losses of
 * earlier generations; then the generation climbs its rungs by successive halving: on the first rung every trial gets a
 * small share of the full effort, the best 1 / `factor` of them are promoted to the next rung with `factor` times the
 * effort, and the last rung is the full effort. The next job depends on the seed and the losses alone, not on timing,
 * so a search can be replayed from its journal and the number of workers does not change it.
 *
 * Trial 0 has the default settings. It climbs to the last rung whatever its loss, as the baseline of the search. */
#ifndef LEARN_SEARCH_H
#define LEARN_SEARCH_H

#include "learn/search/space.h"

enum {
    SEARCH_MAX_TRIALS = 100000,
    SEARCH_MAX_GENERATION = 4096,
    SEARCH_MAX_FACTOR = 64,
    HALVING_MAX_RUNGS = 8,
};

/* --- Successive halving -------------------------------------------------------------------------------------- */

/* The share of the full effort on a rung: 1 on the last. */
double halving_share(uint32_t rung, uint32_t rungs, uint32_t factor);

/* Marks the trials of a rung that are promoted: one of `factor`, at least one, those with the smallest losses, the
 * earlier one of equals. A failed trial (NaN) is never promoted. Returns the number of promoted trials. */
uint32_t halving_promote(const double *losses, uint32_t count, uint32_t factor, bool *is_promoted);

/* --- Searches ------------------------------------------------------------------------------------------------ */

typedef struct search_options {
    uint64_t seed;
    uint32_t trials;
    uint32_t generation; /* trials in each but the last */
    uint32_t rungs, factor;
    const double *defaults; /* the point of the default settings, NaN where the space has none; NULL: unknown */
} search_options;

typedef struct search_trial {
    double values[SPACE_MAX_KEYS];
    uint32_t rungs_started;
    uint32_t rungs_done;              /* rungs with a loss or a failure */
    double losses[HALVING_MAX_RUNGS]; /* NaN: failed */
} search_trial;

/* A trial and its extrapolated loss on the last rung. */
typedef struct search_rank {
    uint32_t trial;
    double final_loss; /* NaN: failed */
} search_rank;

typedef struct search {
    search_options options;
    const space *space;
    search_trial *trials; /* those chosen so far */
    uint32_t count;
    uint32_t first;      /* trial of the current generation */
    uint32_t rung;       /* of the current generation */
    search_rank *ranked; /* scratch space for all trials */
    const double **points;
} search;

/* One training. */
typedef struct search_job {
    uint32_t trial, rung;
} search_job;

/* The space outlives the search. */
ft_status search_open(search *s, const space *space, const search_options *options, ft_error *error);
void search_free(search *s);

/* The jobs to train now, in any order; `jobs` has room for a generation. The loss of each must be reported before the
 * next call. Returns 0 when the search is over. */
uint32_t search_next(search *s, search_job *jobs);
/* Reports a loss, the lower the better; NaN when the training failed. */
void search_report(search *s, search_job job, double loss);

/* The best trial of the highest rung that any trial has a loss on; FT_NONE when there is none. */
uint32_t search_best(const search *s);
/* The loss on the highest rung that a trial was trained on; NaN when it failed there or was not trained. */
double search_loss(const search_trial *t);

#endif
