/* keeper.c - progress, log and checkpoints of a fit. */
#include "learn/train/keeper.h"

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

/* Families are not trusted to count well. */
static double share(double ratio) {
    return ratio >= 0 ? (ratio < 1 ? ratio : 1) : 0;
}

static bool tell(keeper *k, double ratio, const char *what) {
    if (k->progress != NULL &&
        !k->progress(k->user, (uint64_t)(ratio * PROGRESS_STEPS), PROGRESS_STEPS, what != NULL ? what : ""))
        k->is_cancelled = true;
    return !k->is_cancelled;
}

static bool on_progress(void *user, double done_ratio, const char *what) {
    return tell(user, share(done_ratio) * KEEPER_FIT_SHARE, what);
}

bool keeper_progress(void *user, uint64_t done, uint64_t total, const char *what) {
    const keeper_range *range = user;
    (void)what;
    double ratio = total > 0 ? (double)done / (double)total : 0;
    return tell(range->keeper, range->from + share(ratio) * (range->to - range->from), range->what);
}

static void on_log(void *user, json_t *line) {
    keeper *k = user;
    run_log(k->run, line);
}

/* --- State --------------------------------------------------------------------------------------------------- */

ft_status keeper_open(keeper *k, ft_error *error) {
    char *path = run_file(k->run, "checkpoint.bin");
    if (path == NULL) return FT_NOMEM(error);
    ft_status status = checkpoint_read(path, k->identity, &k->state, &k->size, error);
    free(path);
    k->written_s = now_s();
    return status;
}

void keeper_free(keeper *k) {
    free(k->state);
    k->state = NULL;
}

ft_status keeper_flush(keeper *k, ft_error *error) {
    if (!k->is_dirty) return FT_OK;
    char *path = run_file(k->run, "checkpoint.bin");
    if (path == NULL) return FT_NOMEM(error);
    ft_status status = checkpoint_write(path, k->identity, k->state, k->size, error);
    free(path);
    FT_TRY(status);
    run_log(k->run, json_pack("{s:s, s:I}", "event", "checkpoint", "bytes", (json_int_t)k->size));
    k->is_dirty = false;
    k->written_s = now_s();
    return run_check_log(k->run, error);
}

static ft_status on_save(void *user, const void *state, size_t size, ft_error *error) {
    keeper *k = user;
    void *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) return FT_NOMEM(error);
    if (size > 0) memcpy(copy, state, size);
    free(k->state);
    k->state = copy;
    k->size = size;
    k->is_dirty = true;
    FT_TRY(run_check_log(k->run, error));
    return k->is_cancelled || now_s() - k->written_s >= k->interval_s ? keeper_flush(k, error) : FT_OK;
}

static const void *on_load(void *user, size_t *size) {
    const keeper *k = user;
    *size = k->size;
    return k->state;
}

void keeper_serve(keeper *k, fit_context *context) {
    context->user = k;
    context->progress = on_progress;
    context->log = on_log;
    context->save = on_save;
    context->load = on_load;
}
