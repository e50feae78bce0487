/* ensemble.c - see ensemble.h. */
#include "predictor/core/ensemble.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double GATHERING_RATIO = 0.05; /* of the progress, passed before the first network */

/* --- Checkpoints --------------------------------------------------------------------------------------------- */

/* A checkpoint is this head, the values of the finished networks, and the state of the training at hand. */
typedef struct checkpoint_head {
    uint32_t index, steps; /* of the network in training */
    uint64_t floats;       /* after the head */
} checkpoint_head;

static size_t finished_floats(const ensemble *e, uint32_t networks) {
    size_t count = 0;
    for (uint32_t i = 0; i < networks; i++) count += e->values(e->user, i)->total_count;
    return count;
}

static ft_status save_checkpoint(const ensemble *e, const ensemble_member *member, ft_error *error) {
    if (e->context->save == NULL) return FT_OK;
    size_t floats = finished_floats(e, member->index) + descent_state_size(member->descent);
    checkpoint_head head = {.index = member->index, .steps = member->descent->done, .floats = floats};
    char *bytes = malloc(sizeof head + floats * sizeof(float));
    if (bytes == NULL) return FT_NOMEM(error);
    memcpy(bytes, &head, sizeof head);
    float *at = (float *)(void *)(bytes + sizeof head);
    for (uint32_t i = 0; i < member->index; i++) {
        const params *finished = e->values(e->user, i);
        memcpy(at, finished->values, finished->total_count * sizeof(float));
        at += finished->total_count;
    }
    assert((size_t)(at - (float *)(void *)(bytes + sizeof head)) + descent_state_size(member->descent) == floats);
    descent_save(member->descent, at);
    ft_status status = e->context->save(e->context->user, bytes, sizeof head + floats * sizeof(float), error);
    free(bytes);
    return status;
}

/* The state of the training at hand in a checkpoint; state NULL: none. */
typedef struct saved_state {
    const float *state;
    size_t floats;
    uint32_t steps;
} saved_state;

static ft_status fail_foreign(ft_error *error) {
    return ft_fail(error, FT_ERR_DAMAGED, "the checkpoint is not of this training; start again without --resume");
}

/* Restores the networks that a checkpoint has finished; *index is the one that it stopped in. */
static ft_status open_checkpoint(const ensemble *e, uint32_t *index, saved_state *saved, ft_error *error) {
    size_t size = 0;
    const char *bytes = e->context->load != NULL ? e->context->load(e->context->user, &size) : NULL;
    checkpoint_head head;
    *saved = (saved_state){0};
    *index = 0;
    if (bytes == NULL) return FT_OK;
    if (size < sizeof head) return fail_foreign(error);
    memcpy(&head, bytes, sizeof head);
    if (head.floats != (size - sizeof head) / sizeof(float) || head.index >= e->count ||
        finished_floats(e, head.index) > head.floats)
        return fail_foreign(error);
    const float *at = (const float *)(const void *)(bytes + sizeof head);
    for (uint32_t i = 0; i < head.index; i++) {
        const params *finished = e->values(e->user, i);
        memcpy(finished->values, at, finished->total_count * sizeof(float));
        at += finished->total_count;
    }
    *index = head.index;
    *saved = (saved_state){at, head.floats - finished_floats(e, head.index), head.steps};
    return FT_OK;
}

/* --- Training ------------------------------------------------------------------------------------------------ */

static ft_status write_log(const ensemble *e, const ensemble_member *member, double loss, ft_error *error) {
    double mape = NAN;
    descent_use_average(member->descent);
    ft_status status = e->validate(e->user, member, &mape, error);
    if (status == FT_OK) descent_report(member->descent, mape);
    descent_restore_values(member->descent);
    FT_TRY(status);
    if (e->context->log == NULL) return FT_OK;
    json_t *line = json_with(e->describe(e->user, member->index), "step", json_integer(member->descent->done));
    line = json_with(line, "loss", json_real(loss));
    if (isfinite(mape)) line = json_with(line, "valid_mape", json_real(mape));
    if (line == NULL) return FT_NOMEM(error);
    e->context->log(e->context->user, line);
    return FT_OK;
}

/* Reports progress; false: the caller of the fit wants it to stop. */
static bool may_continue(const ensemble *e, const ensemble_member *member) {
    const fit_context *context = e->context;
    double networks = member->index + (double)member->descent->done / member->descent->options.steps;
    double ratio = GATHERING_RATIO + (1 - GATHERING_RATIO) * networks / e->count;
    return context->progress == NULL || context->progress(context->user, ratio, "training");
}

static ft_status train_member(const ensemble *e, const ensemble_member *member, ft_error *error) {
    while (!descent_is_done(member->descent)) {
        double loss;
        if (!may_continue(e, member)) {
            FT_TRY(save_checkpoint(e, member, error));
            return ft_fail(error, FT_ERR_CANCELLED, "stopped");
        }
        FT_TRY(e->step(e->user, member, &loss, error));
        if (!descent_is_validation_due(member->descent)) continue;
        if (!isfinite(loss)) return ft_fail(error, FT_ERR_LIMIT, "training diverged: try a smaller rate");
        FT_TRY(write_log(e, member, loss, error));
        FT_TRY(save_checkpoint(e, member, error));
    }
    descent_finish(member->descent);
    return FT_OK;
}

static ft_status resume(const ensemble_member *member, const saved_state *saved, ft_error *error) {
    if (saved->state == NULL) return FT_OK;
    if (saved->floats != descent_state_size(member->descent)) return fail_foreign(error);
    return descent_load(member->descent, saved->state, saved->steps, error);
}

ft_status ensemble_train(const ensemble *e, ft_error *error) {
    saved_state saved;
    uint32_t index;
    FT_TRY(open_checkpoint(e, &index, &saved, error));
    for (; index < e->count; index++, saved.state = NULL) {
        ensemble_member member = {.index = index, .seed = e->context->seed * 1000003 + index};
        FT_TRY(e->begin(e->user, &member, error));
        if (member.descent == NULL) continue;
        ft_status status = resume(&member, &saved, error);
        if (status == FT_OK) status = train_member(e, &member, error);
        e->end(e->user, &member);
        FT_TRY(status);
    }
    return FT_OK;
}
