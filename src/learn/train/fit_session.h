/* fit_session.h - the callbacks of a running fit: progress, log and checkpoints.
 *
 * Families save their state as often as they like. The session copies it at once and writes it to disk every few
 * seconds, and always when the run is stopped: a killed process loses at most those seconds. */
#ifndef LEARN_FIT_SESSION_H
#define LEARN_FIT_SESSION_H

#include "base/hash.h"
#include "learn/train/run.h"
#include "predictor/core/family.h"

typedef struct fit_session {
    run_folder *run;
    hash128 identity;  /* of the run */
    double interval_s; /* between two checkpoints on disk */
    ft_progress *progress;
    void *user;
    /* private */
    double written_s; /* time of the last checkpoint on disk */
    void *state;
    size_t size;
    bool is_dirty; /* the state is newer than the checkpoint on disk */
    bool is_cancelled;
} fit_session;

/* Loads the checkpoint of an interrupted run, if there is one. */
ft_status fit_session_open(fit_session *s, ft_error *error);
void fit_session_free(fit_session *s);
/* Writes the state to disk unless it is there already. */
ft_status fit_session_flush(fit_session *s, ft_error *error);

/* Sets the callbacks of a context. */
void fit_session_connect(fit_session *s, fit_context *context);

/* The fit is the first FIT_SESSION_SHARE of a run's progress; later stages each report a range of the rest. */
typedef struct fit_session_range {
    fit_session *session;
    double from, to;
    const char *what;
} fit_session_range;

/* An ft_progress whose user is a fit_session_range. */
bool fit_session_progress(void *range, uint64_t done, uint64_t total, const char *what);

#define FIT_SESSION_SHARE 0.94

#endif
