/* predictor_answer.c - the public question: a bound graph and a query in, an estimate for each metric of the file out.
 */
#include <stdlib.h>

#include "base/error.h"
#include "foretell/device.h"
#include "predictor/predictor.h"

/* What an answer points into. */
typedef struct answer_owner {
    arena memory;
    subject subject;
    ft_device *sheet; /* of a device that was asked for by name only */
    ft_estimate *estimates;
} answer_owner;

static ft_status fail_device(const ft_predictor *predictor, const char *device, ft_error *error) {
    uint32_t count = ft_predictor_device_count(predictor);
    return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor does not know the device '%s'; it knows %u: '%s'%s",
                   device, count, ft_predictor_device(predictor, 0), count > 1 ? ", ..." : "");
}

/* A device that is none of those it was trained on: its data sheet may do. */
static ft_status find_sheet(const ft_predictor *predictor, const ft_query *query, answer_owner *owner, place *where,
                            ft_error *error) {
    if (!predictor_takes_any_device(predictor)) return fail_device(predictor, query->device, error);
    if (query->sheet == NULL && owner->sheet == NULL) FT_TRY(ft_device_open(query->device, &owner->sheet, error));
    where->sheet = query->sheet != NULL ? query->sheet : owner->sheet;
    return FT_OK;
}

static ft_status find_place(const ft_predictor *predictor, const ft_query *query, answer_owner *owner, place *where,
                            ft_error *error) {
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
static ft_status add_estimate(const ft_predictor *predictor, const ft_query *query, answer_owner *owner,
                              ft_answer *answer, ft_error *error) {
    place where;
    prediction p = {0};
    bool is_first = answer->metric_count == 0;
    FT_TRY(find_place(predictor, query, owner, &where, error));
    FT_TRY(predictor_predict(predictor, &owner->subject, &where, is_first, &owner->memory, &p, error));
    owner->estimates[answer->metric_count++] = predictor_estimate(predictor, where.index, &p);
    if (!is_first) return FT_OK;
    answer->parts = p.parts;
    answer->part_count = p.part_count;
    answer->coverage_ratio = p.coverage_ratio;
    return FT_OK;
}

static ft_status fill(const ft_predictor *first, const ft_query *query, answer_owner *owner, ft_answer *answer,
                      ft_error *error) {
    uint32_t count = 0;
    for (const ft_predictor *p = first; p != NULL; p = ft_predictor_next(p)) count++;
    owner->estimates = ARENA_ARRAY(&owner->memory, ft_estimate, count);
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

ft_status ft_predictor_answer(const ft_predictor *predictor, const ft_graph *bound, const ft_query *query,
                              ft_answer *answer, ft_error *error) {
    answer_owner *owner = calloc(1, sizeof *owner);
    if (owner == NULL) return FT_NOMEM(error);
    arena_init(&owner->memory, FT_MAX_GRAPH_BYTES);
    subject_init(&owner->subject, bound, query);
    ft_answer made = {.owner = owner};
    ft_status status = fill(predictor, query, owner, &made, error);
    if (status == FT_OK)
        *answer = made;
    else
        ft_answer_free(&made);
    return status;
}

void ft_answer_free(ft_answer *answer) {
    if (answer == NULL) return;
    answer_owner *owner = answer->owner;
    if (owner != NULL) {
        subject_free(&owner->subject);
        ft_device_free(owner->sheet);
        arena_free(&owner->memory);
        free(owner);
    }
    *answer = (ft_answer){0};
}
