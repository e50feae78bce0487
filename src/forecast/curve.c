/* curve.c - metrics as functions of the batch: values and ends of intervals never fall when the batch grows.
 *
 * Predictors answer for one batch at a time, and nothing in a network, in boosted trees or in a replayed allocator
 * makes a larger batch take more. So a request is answered from a curve. Its points are the powers of two, the same for
 * every request; a point has the larger of what is predicted at its batch and of the point before. Between two points a
 * curve is a straight line. That is monotone whatever is predicted, and it is what predictors mean: amounts of work
 * grow in proportion to the batch. Measured batches are powers of two in nearly all data, so their predictions stay.
 *
 * The search for the largest batch (fits.c) and the results of requests read the same curve, so they agree. */
#include "forecast/job.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

enum { CURVE_POINTS = 48, LARGE_MODEL = 4096 }; /* operators */

enum { END_LOW, END_VALUE, END_HIGH, ENDS };

typedef struct curve_value {
    const char *metric;
    double ends[ENDS];
    bool is_raised; /* the value is that of a smaller batch, */
    ft_provenance provenance;
} curve_value;

typedef struct curve_point {
    uint32_t count; /* 0: nothing can be predicted at the batch nor at smaller ones */
    curve_value *values;
} curve_point;

struct context_curve {
    context_curve *next;
    ft_request request; /* of any batch */
    uint32_t point_count;
    curve_point points[CURVE_POINTS];
};

static double batch_of(uint32_t point) {
    return ldexp(1, (int)point);
}

/* --- Finding a curve ----------------------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool is_same_plan(const ft_request *a, const ft_request *b) {
    const ft_parallel *p = &a->parallel, *q = &b->parallel;
    const ft_training *s = &a->training, *t = &b->training;
    return p->tensor == q->tensor && p->pipeline == q->pipeline && p->expert == q->expert && p->context == q->context &&
           p->data == q->data && p->has_sequence == q->has_sequence && p->sharding == q->sharding &&
           s->recompute == t->recompute && s->precision == t->precision && s->micro_batch == t->micro_batch &&
           s->accumulation == t->accumulation && s->loss_chunks == t->loss_chunks && s->lora_rank == t->lora_rank &&
           s->has_packed_base == t->has_packed_base && s->has_packed_head == t->has_packed_head &&
           is_same_text(s->lora_targets, t->lora_targets);
}

static bool is_same(const ft_request *a, const ft_request *b) {
    if (!is_same_plan(a, b)) return false;
    return a->sheet == b->sheet && a->mode == b->mode && a->dtype == b->dtype && a->optimizer == b->optimizer &&
           strcmp(a->device, b->device) == 0 && strcmp(a->setting, b->setting) == 0;
}

static ft_status find_curve(forecast_context *c, const ft_request *resolved, context_curve **found, ft_error *error) {
    context_curve *item = c->curves;
    while (item != NULL && !is_same(&item->request, resolved)) item = item->next;
    if (item == NULL) {
        item = ARENA_NEW(&c->memory, context_curve);
        if (item == NULL) return FT_NOMEM(error);
        item->request = *resolved;
        item->next = c->curves;
        c->curves = item;
    }
    *found = item;
    return FT_OK;
}

/* --- Points -------------------------------------------------------------------------------------------------- */

static const curve_value *find_value(const curve_point *p, const char *metric) {
    for (uint32_t i = 0; i < p->count; i++)
        if (strcmp(p->values[i].metric, metric) == 0) return &p->values[i];
    return NULL;
}

/* The end of an interval that was not predicted is as far from the value as at the batch before. Where no interval is
 * known at the smallest batch, none is at any. */
static void raise_value(curve_value *v, const curve_value *before) {
    double ratio[ENDS];
    if (before == NULL) return;
    v->is_raised = before->ends[END_VALUE] > v->ends[END_VALUE];
    if (v->is_raised) v->provenance = before->provenance;
    for (int i = 0; i < ENDS; i++) ratio[i] = before->ends[i] / before->ends[END_VALUE];
    for (int i = 0; i < ENDS; i++) {
        double end = isnan(v->ends[i]) ? v->ends[END_VALUE] * ratio[i] : v->ends[i];
        v->ends[i] = isnan(before->ends[i]) ? NAN : fmax(end, before->ends[i]);
    }
}

/* Adds the metrics of a job as the next point. */
static ft_status add_point(context_curve *curve, const forecast_job *job, arena *memory, ft_error *error) {
    uint32_t number = curve->point_count;
    const curve_point none = {0}, *before = number > 0 ? &curve->points[number - 1] : &none;
    curve_point *p = &curve->points[number];
    p->values = ARENA_ARRAY(memory, curve_value, (size_t)job->out->metric_count + before->count + 1);
    if (p->values == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < job->out->metric_count; i++) {
        const ft_metric_result *m = &job->metrics[i];
        if (isnan(m->value) || job_is_ratio(m->metric)) continue;
        curve_value *v = &p->values[p->count++];
        *v = (curve_value){.metric = m->metric,
                           .provenance = m->provenance,
                           .ends = {[END_LOW] = m->lo, [END_VALUE] = m->value, [END_HIGH] = m->hi}};
        raise_value(v, find_value(before, m->metric));
    }
    for (uint32_t i = 0; i < before->count; i++)
        if (find_value(p, before->values[i].metric) == NULL) p->values[p->count++] = before->values[i];
    curve->point_count++;
    return FT_OK;
}

/* The next point where nothing can be predicted: the line through the two points before goes on. */
static ft_status add_missing(context_curve *curve, arena *memory, ft_error *error) {
    uint32_t number = curve->point_count;
    if (number > 0) {
        const curve_point *last = &curve->points[number - 1], *first = number > 1 ? &curve->points[number - 2] : last;
        curve_point *p = &curve->points[number];
        p->values = ARENA_ARRAY(memory, curve_value, (size_t)last->count + 1);
        if (p->values == NULL) return FT_NOMEM(error);
        p->count = last->count;
        for (uint32_t i = 0; i < last->count; i++) {
            const curve_value *from = find_value(first, last->values[i].metric);
            p->values[i] = last->values[i];
            for (int end = 0; from != NULL && end < ENDS; end++)
                p->values[i].ends[end] += 2 * (last->values[i].ends[end] - from->ends[end]);
        }
    }
    curve->point_count++;
    return FT_OK;
}

static ft_status predict_point(forecast_context *c, context_curve *curve, arena *memory, ft_error *error) {
    ft_request request = curve->request;
    ft_result out = {0};
    forecast_job job = {.context = c, .out = &out, .is_point = true};
    request.batch = INT64_C(1) << curve->point_count;
    ft_error refusal;
    ft_status status = job_predict(&job, &request, &refusal);
    if (status == FT_ERR_NOMEM || status == FT_ERR_INTERNAL) return ft_fail(error, status, "%s", refusal.message);
    return status == FT_OK ? add_point(curve, &job, memory, error) : add_missing(curve, memory, error);
}

/* The bound graphs of a large model would take too much memory together: they are made one at a time. */
static ft_status evaluate_point(forecast_context *c, context_curve *curve, ft_error *error) {
    if (ft_graph_op_count(c->model) < LARGE_MODEL) return predict_point(c, curve, &c->memory, error);
    forecast_context own;
    context_init(&own, c->set, c->model, c->shapes);
    ft_status status = predict_point(&own, curve, &c->memory, error);
    context_free(&own);
    return status;
}

/* Evaluates a curve up to a batch. `job`, if any, has the metrics at that batch already. */
static ft_status reach(forecast_context *c, context_curve *curve, double batch, const forecast_job *job,
                       ft_error *error) {
    while (curve->point_count < CURVE_POINTS && (curve->point_count == 0 || batch_of(curve->point_count - 1) < batch)) {
        if (job != NULL && batch_of(curve->point_count) == batch)
            FT_TRY(add_point(curve, job, &c->memory, error));
        else
            FT_TRY(evaluate_point(c, curve, error));
    }
    return FT_OK;
}

/* --- Values -------------------------------------------------------------------------------------------------- */

/* False: there is no point with the metric. The order of the ends holds exactly, whatever was rounded. */
static bool value_at(const context_curve *curve, const char *metric, double batch, curve_value *value) {
    uint32_t next = 0;
    while (next + 1 < curve->point_count && batch_of(next) < batch) next++;
    if (curve->point_count == 0) return false;
    const curve_value *upper = find_value(&curve->points[next], metric), *lower = upper;
    if (next > 0) lower = find_value(&curve->points[next - 1], metric);
    if (upper == NULL) return false;
    double from = next > 0 ? batch_of(next - 1) : 1, share = next > 0 ? fmin((batch - from) / from, 1) : 1;
    *value = *upper;
    for (int i = 0; i < ENDS; i++) {
        double start = lower != NULL ? lower->ends[i] : 0, end = upper->ends[i];
        value->ends[i] = isnan(end) ? NAN : share == 1 ? end : fmin(start + (end - start) * share, end);
    }
    if (value->ends[END_LOW] > value->ends[END_VALUE]) value->ends[END_LOW] = value->ends[END_VALUE];
    if (value->ends[END_HIGH] < value->ends[END_VALUE]) value->ends[END_HIGH] = value->ends[END_VALUE];
    return true;
}

/* --- Parts --------------------------------------------------------------------------------------------------- */

/* Parts that stay as they are computed when memory is settled: what is known exactly. */
static bool is_exact(const char *part) {
    static const char *const names[] = {"weights", "gradients", "optimizer", "master_weights", "gathered", "context"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(part, names[i]) == 0) return true;
    return false;
}

/* Parts add up to the value after it has changed: those that are estimates are scaled, or all if that is not enough. */
ft_status job_scale_parts(forecast_job *job, ft_metric_result *m, double value, ft_error *error) {
    double sum = 0, exact = 0;
    for (uint32_t i = 0; i < m->part_count; i++) {
        sum += m->parts[i].value;
        if (is_exact(m->parts[i].type)) exact += m->parts[i].value;
    }
    if (m->part_count == 0 || !(sum > 0) || value == m->value) return FT_OK;
    ft_part *parts = arena_copy(&job->context->memory, m->parts, m->part_count * sizeof *parts);
    if (parts == NULL) return FT_NOMEM(error);
    bool keeps_exact = sum > exact && value + (sum - m->value) > exact;
    double left = keeps_exact ? exact : 0, ratio = (value + (sum - m->value) - left) / (sum - left);
    for (uint32_t i = 0; i < m->part_count; i++)
        if (!keeps_exact || !is_exact(parts[i].type)) parts[i].value *= ratio;
    m->parts = parts;
    return FT_OK;
}

static ft_status settle_metric(forecast_job *job, const context_curve *curve, ft_metric_result *m, ft_error *error) {
    double batch = (double)job->out->request.batch;
    curve_value v;
    if (isnan(m->value) || job_is_ratio(m->metric) || !value_at(curve, m->metric, batch, &v)) return FT_OK;
    FT_TRY(job_scale_parts(job, m, v.ends[END_VALUE], error));
    m->lo = v.ends[END_LOW];
    m->value = v.ends[END_VALUE];
    m->hi = v.ends[END_HIGH];
    if (v.is_raised && v.provenance > m->provenance) metric_result_set_provenance(m, v.provenance, 0);
    assert(!(m->lo > m->value) && !(m->hi < m->value));
    return FT_OK;
}

/* --- Requests ------------------------------------------------------------------------------------------------ */

ft_status curve_settle(forecast_job *job, ft_error *error) {
    forecast_context *c = job->context;
    context_curve *curve;
    double batch = (double)job->out->request.batch;
    assert(batch >= 1);
    FT_TRY(find_curve(c, &job->out->request, &curve, error));
    FT_TRY(reach(c, curve, batch, job, error));
    for (uint32_t i = 0; i < job->out->metric_count; i++) FT_TRY(settle_metric(job, curve, &job->metrics[i], error));
    return FT_OK;
}

ft_status curve_memory(forecast_context *c, const ft_request *given, int64_t batch, ft_metric_result *memory,
                       ft_request *resolved, ft_error *error) {
    ft_result out = {0};
    forecast_job job = {.context = c, .out = &out, .is_point = true};
    context_curve *curve;
    curve_value v = {.ends = {NAN, NAN, NAN}};
    FT_TRY(job_resolve(&job, given, error));
    *resolved = out.request;
    if (request_is_served(c, given)) {
        out.request.batch = batch;
        return serving_memory_at(&job, memory, error);
    }
    FT_TRY(find_curve(c, &out.request, &curve, error));
    FT_TRY(reach(c, curve, (double)batch, NULL, error));
    if (!value_at(curve, "peak_bytes", (double)batch, &v)) { /* for the reason */
        ft_request at_batch = out.request;
        at_batch.batch = batch;
        FT_TRY(job_predict(&job, &at_batch, error));
    }
    *memory = (ft_metric_result){
        .metric = "peak_bytes", .lo = v.ends[END_LOW], .value = v.ends[END_VALUE], .hi = v.ends[END_HIGH]};
    return FT_OK;
}
