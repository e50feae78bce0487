/* predictor_answer.c - the public question: bound graphs and a query in, an estimate for each metric of the file out.
 */
#include <stdlib.h>

#include "base/error.h"
#include "foretell/device.h"
#include "predictor/core/predictor.h"

/* What an answer points into. */
typedef struct answer_owner {
    arena memory;
    model_view view;
    ft_device *sheet; /* of a device that was asked for by name only */
    ft_metric_result *estimates;
} answer_owner;

static ft_status fail_device(const ft_predictor *predictor, const char *device, ft_error *error) {
    uint32_t count = ft_predictor_device_count(predictor);
    return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor does not know the device '%s'; it knows %u: '%s'%s",
                   device, count, ft_predictor_device(predictor, 0), count > 1 ? ", ..." : "");
}

/* A device that is none of those it was trained on: its data sheet may do. */
static ft_status find_sheet(const ft_predictor *predictor, const ft_request *query, answer_owner *owner,
                            target_device *where, ft_error *error) {
    if (!predictor_takes_any_device(predictor)) return fail_device(predictor, query->device, error);
    if (query->sheet == NULL && owner->sheet == NULL) FT_TRY(ft_device_open(query->device, &owner->sheet, error));
    where->sheet = query->sheet != NULL ? query->sheet : owner->sheet;
    return FT_OK;
}

static ft_status find_place(const ft_predictor *predictor, const ft_request *query, answer_owner *owner,
                            target_device *where, ft_error *error) {
    uint32_t count = ft_predictor_device_count(predictor);
    if (query->device == NULL && count > 1)
        return ft_fail(error, FT_ERR_USAGE, "the predictor knows %u devices ('%s', ...): say which", count,
                       ft_predictor_device(predictor, 0));
    *where = predictor_place(predictor, query->device != NULL ? predictor_device_index(predictor, query->device) : 0);
    if (where->index == FT_NONE) FT_TRY(find_sheet(predictor, query, owner, where, error));
    if (!predictor_knows_mode(predictor, query->mode))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor was trained on %s only, and is asked for %s",
                       query->mode == FT_TRAIN ? "inference" : "training",
                       query->mode == FT_TRAIN ? "training" : "inference");
    return FT_OK;
}

/* Adds what one predictor of a file says. */
static ft_status add_estimate(const ft_predictor *predictor, const ft_request *query, answer_owner *owner,
                              ft_prediction *answer, ft_error *error) {
    target_device where;
    model_output p = {0};
    bool is_first = answer->metric_count == 0;
    FT_TRY(find_place(predictor, query, owner, &where, error));
    const predict_input in = {.view = &owner->view, .target = &where, .memory = &owner->memory, .has_parts = is_first};
    FT_TRY(predictor_predict(predictor, &in, &p, error));
    owner->estimates[answer->metric_count++] = predictor_estimate(predictor, where.index, &p);
    if (!is_first) return FT_OK;
    answer->parts = p.parts;
    answer->part_count = p.part_count;
    answer->coverage_ratio = p.coverage_ratio;
    return FT_OK;
}

static ft_status fill(const ft_predictor *first, const ft_request *query, answer_owner *owner, ft_prediction *answer,
                      ft_error *error) {
    uint32_t count = 0;
    for (const ft_predictor *p = first; p != NULL; p = ft_predictor_next(p)) count++;
    owner->estimates = ARENA_ARRAY(&owner->memory, ft_metric_result, count);
    if (owner->estimates == NULL) return FT_NOMEM(error);
    answer->metrics = owner->estimates;
    for (const ft_predictor *p = first; p != NULL; p = ft_predictor_next(p)) {
        ft_error reason = {.message = ""};
        ft_status status = add_estimate(p, query, owner, answer, &reason);
        if (status == FT_ERR_UNSUPPORTED && p != first) continue; /* not all of a file need know the same devices */
        if (status != FT_OK) return ft_fail(error, status, "%s", reason.message);
    }
    return FT_OK;
}

static ft_status begin(const ft_graph *bound, const ft_request *query, ft_prediction *answer, ft_error *error) {
    answer_owner *owner = calloc(1, sizeof *owner);
    *answer = (ft_prediction){.owner = owner};
    if (owner == NULL) return FT_NOMEM(error);
    arena_init(&owner->memory, FT_MAX_GRAPH_BYTES);
    model_view_init(&owner->view, bound, query);
    return FT_OK;
}

/* An answer that was begun is one, or none at all. */
static ft_status finish(const ft_predictor *predictor, const ft_request *query, ft_prediction *answer,
                        ft_error *error) {
    ft_status status = fill(predictor, query, answer->owner, answer, error);
    if (status != FT_OK) ft_prediction_free(answer);
    return status;
}

ft_status ft_predictor_predict(const ft_predictor *predictor, const ft_graph *bound, const ft_request *query,
                               ft_prediction *answer, ft_error *error) {
    ft_prediction made;
    FT_TRY(begin(bound, query, &made, error));
    FT_TRY(finish(predictor, query, &made, error));
    *answer = made;
    return FT_OK;
}

/* What all need on a device that is known is worked out for all of them. A failure is no loss: each is asked about
 * afterwards anyway. */
static void precompute(const ft_predictor *predictor, const ft_request *query, const ft_prediction *answers,
                       uint32_t count) {
    model_view **subjects = calloc((size_t)count + 1, sizeof *subjects);
    uint32_t begun = 0;
    for (uint32_t i = 0; subjects != NULL && i < count; i++)
        if (answers[i].owner != NULL) subjects[begun++] = &((answer_owner *)answers[i].owner)->view;
    for (const ft_predictor *p = predictor; subjects != NULL && p != NULL; p = ft_predictor_next(p)) {
        const family *f = predictor_family(p);
        bool is_known = query->device == NULL || predictor_device_index(p, query->device) != FT_NONE;
        ft_error ignored;
        if (f->optional.precompute != NULL && is_known)
            f->optional.precompute(predictor_model(p), subjects, begun, &ignored);
    }
    free(subjects);
}

ft_status ft_predictor_predict_many(const ft_predictor *predictor, const ft_graph *const *bound, uint32_t count,
                                    const ft_request *query, ft_prediction *answers, ft_error *errors) {
    ft_status first = FT_OK;
    for (uint32_t i = 0; i < count; i++) errors[i].status = begin(bound[i], query, &answers[i], &errors[i]);
    precompute(predictor, query, answers, count);
    for (uint32_t i = 0; i < count; i++) {
        if (errors[i].status == FT_OK) errors[i].status = finish(predictor, query, &answers[i], &errors[i]);
        if (first == FT_OK) first = errors[i].status;
    }
    return first;
}

void ft_prediction_free(ft_prediction *answer) {
    if (answer == NULL) return;
    answer_owner *owner = answer->owner;
    if (owner != NULL) {
        model_view_free(&owner->view);
        ft_device_free(owner->sheet);
        arena_free(&owner->memory);
        free(owner);
    }
    *answer = (ft_prediction){0};
}
