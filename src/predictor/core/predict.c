/* predict.c - predictions of one predictor file: bound graphs and a request in, a result with each metric of the file
 * out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/options.h"
#include "foretell/device.h"
#include "graph/arguments.h"
#include "predictor/core/predictor.h"

/* Memory that a result points into. */
typedef struct result_owner {
    arena memory;
    model_view view;
    ft_device *sheet; /* of a device that the request names without a data sheet */
    ft_metric_result *metrics;
} result_owner;

static ft_status fail_device(const ft_predictor *predictor, const char *device, ft_error *error) {
    uint32_t count = ft_predictor_device_count(predictor);
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "the predictor was not trained on the device '%s', but on %u others: '%s'%s", device, count,
                   ft_predictor_device(predictor, 0), count > 1 ? ", ..." : "");
}

/* For a device that the predictor was not trained on: its data sheet, if the predictor reads those. */
static ft_status find_sheet(const ft_predictor *predictor, const ft_request *request, result_owner *owner,
                            target_device *target, ft_error *error) {
    if (!predictor_reads_sheets(predictor)) return fail_device(predictor, request->device, error);
    if (request->sheet == NULL && owner->sheet == NULL) FT_TRY(ft_device_open(request->device, &owner->sheet, error));
    target->sheet = request->sheet != NULL ? request->sheet : owner->sheet;
    return FT_OK;
}

static ft_status find_target(const ft_predictor *predictor, const ft_request *request, result_owner *owner,
                             target_device *target, ft_error *error) {
    uint32_t count = ft_predictor_device_count(predictor);
    if (request->device == NULL && count > 1)
        return ft_fail(error, FT_ERR_USAGE, "the predictor was trained on %u devices ('%s', ...): name one", count,
                       ft_predictor_device(predictor, 0));
    *target =
        predictor_target(predictor, request->device != NULL ? predictor_device_index(predictor, request->device) : 0);
    if (target->index == FT_NONE) FT_TRY(find_sheet(predictor, request, owner, target, error));
    if (!predictor_supports_mode(predictor, request->mode))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor was trained on %s only, not on %s",
                       request->mode == FT_TRAIN ? "inference" : "training",
                       request->mode == FT_TRAIN ? "training" : "inference");
    return FT_OK;
}

/* Adds the metric of one predictor of the file. */
static ft_status add_metric(const ft_predictor *predictor, const ft_request *request, result_owner *owner,
                            ft_result *result, ft_error *error) {
    target_device target;
    model_output p = {0};
    bool is_first = result->metric_count == 0;
    FT_TRY(find_target(predictor, request, owner, &target, error));
    const predict_input in = {.view = &owner->view, .target = &target, .memory = &owner->memory, .has_parts = is_first};
    FT_TRY(predictor_predict(predictor, &in, &p, error));
    ft_metric_result *m = &owner->metrics[result->metric_count++];
    *m = predictor_metric_result(predictor, target.index, &p);
    if (!is_first) return FT_OK;
    m->parts = p.parts;
    m->part_count = p.part_count;
    result->coverage_ratio = p.coverage_ratio;
    return FT_OK;
}

static ft_status fill(const ft_predictor *first, const ft_request *request, result_owner *owner, ft_result *result,
                      ft_error *error) {
    uint32_t count = 0;
    for (const ft_predictor *p = first; p != NULL; p = ft_predictor_next(p)) count++;
    owner->metrics = ARENA_ARRAY(&owner->memory, ft_metric_result, count);
    if (owner->metrics == NULL) return FT_NOMEM(error);
    result->metrics = owner->metrics;
    for (const ft_predictor *p = first; p != NULL; p = ft_predictor_next(p)) {
        ft_error reason = {.message = ""};
        ft_status status = add_metric(p, request, owner, result, &reason);
        if (status == FT_ERR_UNSUPPORTED && p != first)
            continue; /* the predictors of a file may have different devices */
        if (status != FT_OK) return ft_fail(error, status, "%s", reason.message);
    }
    return FT_OK;
}

static ft_status parallel_check(const ft_parallel *p, ft_error *error) {
    const uint32_t ranks[] = {p->tensor, p->pipeline, p->expert, p->context, p->data};
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        if (ranks[i] > FT_MAX_RANKS)
            return ft_fail(error, FT_ERR_USAGE, "request: %u ranks are not possible; use 1 to %d", ranks[i],
                           FT_MAX_RANKS);
    if ((unsigned)p->sharding > FT_SHARD_WEIGHTS)
        return ft_fail(error, FT_ERR_USAGE, "request: sharding %u is unknown", (unsigned)p->sharding);
    return FT_OK;
}

ft_status request_check(const ft_request *request, ft_error *error) {
    FT_TRY(mode_check(request->mode, "request: mode", error));
    FT_TRY(dtype_check(request->dtype, "request: dtype", error));
    FT_TRY(optimizer_check(request->optimizer, "request: optimizer", error));
    FT_TRY(parallel_check(&request->parallel, error));
    FT_TRY(training_check(&request->training, error));
    if (request->batch >= 0 && request->batch <= FT_MAX_DIM) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "a batch of %lld is not possible; use 1 to %lld", (long long)request->batch,
                   (long long)FT_MAX_DIM);
}

static ft_status begin(const ft_graph *bound, const ft_request *request, ft_result *result, ft_error *error) {
    *result = (ft_result){0};
    FT_REQUIRE(error, bound);
    FT_TRY(request_check(request, error));
    FT_TRY(graph_check_bound(bound, "predictors need", error));
    result_owner *owner = calloc(1, sizeof *owner);
    *result = (ft_result){.request = *request, .owner = owner};
    if (owner == NULL) return FT_NOMEM(error);
    arena_init(&owner->memory, FT_MAX_GRAPH_BYTES);
    model_view_init(&owner->view, bound, request);
    return FT_OK;
}

/* Completes a result, or frees it. */
static ft_status finish(const ft_predictor *predictor, const ft_request *request, ft_result *result, ft_error *error) {
    ft_status status = fill(predictor, request, result->owner, result, error);
    if (status != FT_OK) ft_result_free(result);
    return status;
}

ft_status ft_predictor_predict(const ft_predictor *predictor, const ft_graph *bound, const ft_request *request,
                               ft_result *result, ft_error *error) {
    FT_REQUIRE(error, predictor, bound, request, result);
    ft_result made;
    FT_TRY(begin(bound, request, &made, error));
    FT_TRY(finish(predictor, request, &made, error));
    *result = made;
    return FT_OK;
}

/* Computes together what all graphs need on a known device. A failure is ignored: each graph is predicted afterwards
 * anyway, and reports its own. */
static void precompute(const ft_predictor *predictor, const ft_request *request, const ft_result *results,
                       uint32_t count) {
    model_view **views = calloc((size_t)count + 1, sizeof *views);
    uint32_t begun = 0;
    for (uint32_t i = 0; views != NULL && i < count; i++)
        if (results[i].owner != NULL) views[begun++] = &((result_owner *)results[i].owner)->view;
    for (const ft_predictor *p = predictor; views != NULL && p != NULL; p = ft_predictor_next(p)) {
        const family *f = predictor_family(p);
        bool is_known = request->device == NULL || predictor_device_index(p, request->device) != FT_NONE;
        ft_error ignored;
        if (f->optional.precompute != NULL && is_known)
            f->optional.precompute(predictor_model(p), views, begun, &ignored);
    }
    free(views);
}

ft_status ft_predictor_predict_many(const ft_predictor *predictor, const ft_graph *const *bound, uint32_t count,
                                    const ft_request *request, ft_result *results, ft_error *errors) {
    ft_error *error = count > 0 ? errors : NULL;
    FT_REQUIRE(error, predictor, request);
    if (count > 0) FT_REQUIRE(error, bound, results, errors);
    ft_status first = FT_OK;
    for (uint32_t i = 0; i < count; i++) errors[i].status = begin(bound[i], request, &results[i], &errors[i]);
    precompute(predictor, request, results, count);
    for (uint32_t i = 0; i < count; i++) {
        if (errors[i].status == FT_OK) errors[i].status = finish(predictor, request, &results[i], &errors[i]);
        if (first == FT_OK) first = errors[i].status;
    }
    return first;
}

void ft_result_free(ft_result *result) {
    if (result == NULL) return;
    result_owner *owner = result->owner;
    if (owner != NULL) {
        model_view_free(&owner->view);
        ft_device_free(owner->sheet);
        arena_free(&owner->memory);
        free(owner);
    }
    *result = (ft_result){0};
}

const ft_metric_result *ft_result_metric(const ft_result *result, const char *metric) {
    if (result == NULL || metric == NULL) return NULL;
    for (uint32_t i = 0; i < result->metric_count; i++)
        if (strcmp(result->metrics[i].metric, metric) == 0) return &result->metrics[i];
    return NULL;
}

const ft_metric_result *ft_result_time(const ft_result *result) {
    return result != NULL ? ft_result_metric(result, "time_us") : NULL;
}

const ft_metric_result *ft_result_memory(const ft_result *result) {
    return result != NULL ? ft_result_metric(result, "peak_bytes") : NULL;
}

void metric_result_set_provenance(ft_metric_result *m, ft_provenance provenance, double coverage_ratio) {
    double covered = fmin(fmax(coverage_ratio, 0), 1);
    memset(m->shares, 0, sizeof m->shares);
    if (provenance == FT_LEARNED) {
        m->shares[FT_LEARNED] = covered;
        m->shares[FT_EXTRAPOLATED] = 1 - covered;
        provenance = covered >= 0.5 ? FT_LEARNED : FT_EXTRAPOLATED;
    } else {
        m->shares[provenance] = 1;
    }
    m->provenance = provenance;
}
