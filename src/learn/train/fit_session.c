/* fit_session.c - progress, log and checkpoints of a fit. */
#include "learn/train/fit_session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "learn/train/checkpoint.h"

enum { PROGRESS_STEPS = 10000 };

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Families may report any number, also NaN. */
static double clamp_ratio(double ratio) {
    return ratio >= 0 ? (ratio < 1 ? ratio : 1) : 0;
}

static bool report_progress(fit_session *s, double ratio, const char *what) {
    if (s->progress != NULL &&
        !s->progress(s->user, (uint64_t)(ratio * PROGRESS_STEPS), PROGRESS_STEPS, what != NULL ? what : ""))
        s->is_cancelled = true;
    return !s->is_cancelled;
}

static bool on_progress(void *user, double done_ratio, const char *what) {
    return report_progress(user, clamp_ratio(done_ratio) * FIT_SESSION_SHARE, what);
}

bool fit_session_progress(void *user, uint64_t done, uint64_t total, const char *what) {
    const fit_session_range *range = user;
    assert(range->from <= range->to);
    (void)what;
    double ratio = total > 0 ? (double)done / (double)total : 0;
    return report_progress(range->session, range->from + clamp_ratio(ratio) * (range->to - range->from), range->what);
}

static void on_log(void *user, json_t *line) {
    fit_session *s = user;
    run_log(s->run, line);
}

/* --- State --------------------------------------------------------------------------------------------------- */

ft_status fit_session_open(fit_session *s, ft_error *error) {
    char *path = run_file(s->run, "checkpoint.bin");
    if (path == NULL) return FT_NOMEM(error);
    ft_status status = checkpoint_read(path, s->identity, &s->state, &s->size, error);
    free(path);
    s->written_s = now_s();
    return status;
}

void fit_session_free(fit_session *s) {
    free(s->state);
    s->state = NULL;
}

ft_status fit_session_flush(fit_session *s, ft_error *error) {
    assert(s->run != NULL);
    if (!s->is_dirty) return FT_OK;
    char *path = run_file(s->run, "checkpoint.bin");
    if (path == NULL) return FT_NOMEM(error);
    ft_status status = checkpoint_write(path, s->identity, s->state, s->size, error);
    free(path);
    FT_TRY(status);
    run_log(s->run, json_pack("{s:s, s:I}", "event", "checkpoint", "bytes", (json_int_t)s->size));
    s->is_dirty = false;
    s->written_s = now_s();
    return run_check_log(s->run, error);
}

static ft_status on_save(void *user, const void *state, size_t size, ft_error *error) {
    fit_session *s = user;
    void *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) return FT_NOMEM(error);
    if (size > 0) memcpy(copy, state, size);
    free(s->state);
    s->state = copy;
    s->size = size;
    s->is_dirty = true;
    FT_TRY(run_check_log(s->run, error));
    return s->is_cancelled || now_s() - s->written_s >= s->interval_s ? fit_session_flush(s, error) : FT_OK;
}

static const void *on_load(void *user, size_t *size) {
    const fit_session *s = user;
    *size = s->size;
    return s->state;
}

void fit_session_connect(fit_session *s, fit_context *context) {
    context->user = s;
    context->progress = on_progress;
    context->log = on_log;
    context->save = on_save;
    context->load = on_load;
}
