#include "predictor/core/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double GATHERED = 0.05; /* of the time, before the first network */

/* The unit at hand. */
typedef struct progress {
    const series *s;
    uint32_t unit;
    descent *descent;
} progress;

/* --- Checkpoints --------------------------------------------------------------------------------------------- */

/* A checkpoint is this, then the values of the finished networks, then the state of the training at hand. */
typedef struct checkpoint_head {
    uint32_t unit, steps;
    uint64_t floats;
} checkpoint_head;

static size_t finished_floats(const series *s, uint32_t units) {
    size_t count = 0;
    for (uint32_t u = 0; u < units; u++) count += s->values(s->user, u)->total_count;
    return count;
}

static ft_status save_checkpoint(const progress *p, ft_error *error) {
    const series *s = p->s;
    if (s->context->save == NULL) return FT_OK;
    size_t floats = finished_floats(s, p->unit) + descent_state_size(p->descent);
    checkpoint_head head = {.unit = p->unit, .steps = p->descent->done, .floats = floats};
    char *bytes = malloc(sizeof head + floats * sizeof(float));
    if (bytes == NULL) return FT_NOMEM(error);
    memcpy(bytes, &head, sizeof head);
    float *at = (float *)(void *)(bytes + sizeof head);
    for (uint32_t u = 0; u < p->unit; u++) {
        const params *finished = s->values(s->user, u);
        memcpy(at, finished->values, finished->total_count * sizeof(float));
        at += finished->total_count;
    }
    descent_save(p->descent, at);
    ft_status status = s->context->save(s->context->user, bytes, sizeof head + floats * sizeof(float), error);
    free(bytes);
    return status;
}

/* The state of the training at hand, as a checkpoint has it; NULL: none. */
typedef struct saved_state {
    const float *state;
    size_t floats;
    uint32_t steps;
} saved_state;

static ft_status foreign_checkpoint(ft_error *error) {
    return ft_fail(error, FT_ERR_DAMAGED, "the checkpoint is not of this training; start again without --resume");
}

/* Brings back the networks that a checkpoint has finished. */
static ft_status open_checkpoint(progress *p, saved_state *saved, ft_error *error) {
    const series *s = p->s;
    size_t size = 0;
    const char *bytes = s->context->load != NULL ? s->context->load(s->context->user, &size) : NULL;
    checkpoint_head head;
    *saved = (saved_state){0};
    if (bytes == NULL) return FT_OK;
    if (size < sizeof head) return foreign_checkpoint(error);
    memcpy(&head, bytes, sizeof head);
    if (head.floats != (size - sizeof head) / sizeof(float) || head.unit >= s->units ||
        finished_floats(s, head.unit) > head.floats)
        return foreign_checkpoint(error);
    const float *at = (const float *)(const void *)(bytes + sizeof head);
    for (uint32_t u = 0; u < head.unit; u++) {
        const params *finished = s->values(s->user, u);
        memcpy(finished->values, at, finished->total_count * sizeof(float));
        at += finished->total_count;
    }
    p->unit = head.unit;
    *saved = (saved_state){at, head.floats - finished_floats(s, head.unit), head.steps};
    return FT_OK;
}

/* --- Training ------------------------------------------------------------------------------------------------ */

static ft_status write_log(const progress *p, double loss, ft_error *error) {
    const series *s = p->s;
    double mape = NAN;
    descent_use_average(p->descent);
    ft_status status = s->check(s->user, &mape, error);
    if (status == FT_OK) descent_report(p->descent, mape);
    descent_restore_values(p->descent);
    FT_TRY(status);
    if (s->context->log == NULL) return FT_OK;
    json_t *line = s->describe(s->user);
    if (line == NULL || json_object_set_new(line, "step", json_integer(p->descent->done)) != 0 ||
        json_object_set_new(line, "loss", json_real(loss)) != 0) {
        json_decref(line);
        return FT_NOMEM(error);
    }
    if (isfinite(mape)) json_object_set_new(line, "valid_mape", json_real(mape));
    s->context->log(s->context->user, line);
    return FT_OK;
}

static bool may_go_on(const progress *p) {
    const fit_context *context = p->s->context;
    double units = p->unit + (double)p->descent->done / p->descent->options.steps;
    double ratio = GATHERED + (1 - GATHERED) * units / p->s->units;
    return context->progress == NULL || context->progress(context->user, ratio, "training");
}

static ft_status train_unit(const progress *p, ft_error *error) {
    while (!descent_is_done(p->descent)) {
        double loss;
        if (!may_go_on(p)) {
            FT_TRY(save_checkpoint(p, error));
            return ft_fail(error, FT_ERR_CANCELLED, "stopped");
        }
        FT_TRY(p->s->step(p->s->user, &loss, error));
        if (!descent_is_validation_due(p->descent)) continue;
        if (!isfinite(loss)) return ft_fail(error, FT_ERR_LIMIT, "training diverged: try a smaller rate");
        FT_TRY(write_log(p, loss, error));
        FT_TRY(save_checkpoint(p, error));
    }
    descent_finish(p->descent);
    return FT_OK;
}

static ft_status go_on(const progress *p, const saved_state *saved, ft_error *error) {
    if (saved->state == NULL) return FT_OK;
    if (saved->floats != descent_state_size(p->descent)) return foreign_checkpoint(error);
    return descent_load(p->descent, saved->state, saved->steps, error);
}

ft_status series_train(const series *s, ft_error *error) {
    progress p = {.s = s};
    saved_state saved;
    FT_TRY(open_checkpoint(&p, &saved, error));
    for (; p.unit < s->units; p.unit++, saved.state = NULL) {
        FT_TRY(s->begin(s->user, p.unit, s->context->seed * 1000003 + p.unit, &p.descent, error));
        if (p.descent == NULL) continue;
        ft_status status = go_on(&p, &saved, error);
        if (status == FT_OK) status = train_unit(&p, error);
        s->end(s->user);
        FT_TRY(status);
    }
    return FT_OK;
}
