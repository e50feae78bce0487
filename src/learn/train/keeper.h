/* keeper.h - what a fit sees of the run around it: how far it is, its log, and the state that it can go on from.
 *
 * Families save their state as often as they like. It is copied at once and goes to the disk every few seconds, and
 * in any case when the run is asked to stop; a process that is killed loses those seconds and nothing else. */
#ifndef LEARN_KEEPER_H
#define LEARN_KEEPER_H

#include "base/hash.h"
#include "learn/train/run.h"
#include "predictor/core/family.h"

typedef struct keeper {
    run_folder *run;
    hash128 identity;  /* of the run */
    double interval_s; /* between two checkpoints on the disk */
    ft_progress *progress;
    void *user;
    /* its own */
    double written_s; /* when the state went to the disk last */
    void *state;
    size_t size;
    bool is_dirty; /* not on the disk yet */
    bool is_cancelled;
} keeper;

/* Takes the state of a run that was stopped, if there is one. */
ft_status keeper_open(keeper *k, ft_error *error);
void keeper_free(keeper *k);
/* Puts what is not on the disk yet there. */
ft_status keeper_flush(keeper *k, ft_error *error);

/* Fills in the calls of a context. */
void keeper_serve(keeper *k, fit_context *context);

/* How far the whole run is: the fit is the first part, what comes after it goes through a range. */
typedef struct keeper_range {
    keeper *keeper;
    double from, to;
    const char *what;
} keeper_range;

/* An ft_progress whose user is a keeper_range. */
bool keeper_progress(void *range, uint64_t done, uint64_t total, const char *what);

#define KEEPER_FIT_SHARE 0.94 /* of the whole run */

#endif
