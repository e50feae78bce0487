/* search.h - the course of a search: which configuration is trained next, and with how much effort.
 *
 * Trials come in generations. The points of a generation are chosen (tpe.h) by the losses of the generations before it,
 * and the generation climbs its rungs (halving.h). What is asked for next follows from the seed and the losses alone,
 * so a search can be played again from a journal, and the number of workers makes no difference.
 *
 * Trial 0 are the defaults: what a user has who does not search. It climbs to the last rung whatever its loss, so that
 * there is something to compare with. */
#ifndef LEARN_SEARCH_H
#define LEARN_SEARCH_H

#include "learn/search/halving.h"
#include "learn/search/space.h"

enum { SEARCH_MAX_TRIALS = 100000, SEARCH_MAX_GENERATION = 4096, SEARCH_MAX_FACTOR = 64 };

typedef struct search_options {
    uint64_t seed;
    uint32_t trials;
    uint32_t generation; /* trials in each, but for the last */
    uint32_t rungs, factor;
    const double *usual; /* the point that the defaults are, NaN where they are none of the space; NULL: not known */
} search_options;

typedef struct search_trial {
    double values[SPACE_MAX_KEYS];
    uint32_t asked;                   /* rungs that it was sent to */
    uint32_t done;                    /* rungs that it has a loss of, or failed on */
    double losses[HALVING_MAX_RUNGS]; /* NaN: failed */
} search_trial;

/* A trial and what it would have on the last rung. */
typedef struct search_rank {
    uint32_t trial;
    double outlook; /* NaN: it failed */
} search_rank;

typedef struct search {
    search_options options;
    const space *space;
    search_trial *trials; /* those chosen so far */
    uint32_t count;
    uint32_t first;      /* of the generation at hand */
    uint32_t rung;       /* that it is on */
    search_rank *ranked; /* room for all */
    const double **points;
} search;

/* One training. */
typedef struct search_job {
    uint32_t trial, rung;
} search_job;

/* The space outlives the search. */
ft_status search_open(search *s, const space *space, const search_options *options, ft_error *error);
void search_free(search *s);

/* What to train now, in any order; `jobs` has room for a generation. Each must be told before the next call. None: the
 * search is over. */
uint32_t search_next(search *s, search_job *jobs);
/* A loss, the lower the better; NaN when the training failed. */
void search_tell(search *s, search_job job, double loss);

/* The best trial of the highest rung that any has a loss of; FT_NONE when there is none. */
uint32_t search_best(const search *s);
/* The loss of the highest rung that a trial has, NaN when it failed there or has none. */
double search_loss(const search_trial *t);

#endif
