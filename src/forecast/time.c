/* time.c - how long a step takes: from a predictor, or, where none can tell, from the data sheet. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cost/sizes.h"
#include "forecast/answer.h"
#include "forecast/work.h"

/* Below this share of known kernels people are told. */
static const double LITTLE_KNOWN = 0.9;

static const char *mode_text(ft_mode mode) {
    return mode == FT_TRAIN ? "training" : "inference";
}

/* --- What bounds it ------------------------------------------------------------------------------------------ */

/* The whole model as one part, for predictors that see only the whole. */
static ft_part whole_of(const answer *a, uint32_t *ops) {
    uint32_t count = ft_graph_op_count(a->view->bound), taken = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!ft_graph_ops(a->view->bound)[i].is_folded) ops[taken++] = i;
    return (ft_part){.type = "model", .ops = ops, .op_count = taken, .value = a->out->time.value};
}

/* Sums the time of parts by what bounds each; the largest share is what bounds the model. */
static void settle_bound(ft_result *out, const ft_part *parts, uint32_t count, const ft_bound *bounds) {
    double sums[4] = {0}, total = 0;
    for (uint32_t i = 0; i < count; i++) {
        sums[bounds[i]] += parts[i].value;
        total += parts[i].value;
    }
    for (uint32_t b = FT_BOUND_COMPUTE; b <= FT_BOUND_LAUNCH; b++)
        if (sums[b] > sums[out->bound]) out->bound = (ft_bound)b;
    out->bound_ratio = total > 0 && out->bound != FT_BOUND_UNKNOWN ? sums[out->bound] / total : 0;
}

static ft_status add_bounds(answer *a, ft_error *error) {
    arena *memory = &a->study->memory;
    ft_result *out = a->out;
    const limits l = limits_of(a->sheet, out->request.dtype);
    const ft_cost_options options = answer_cost_options(a);
    ft_part whole;
    const ft_part *parts = out->kernels;
    uint32_t count = out->kernel_count;
    if (!limits_are_known(&l)) return FT_OK;
    if (count == 0) {
        uint32_t *ops = ARENA_ARRAY(memory, uint32_t, (size_t)ft_graph_op_count(a->view->bound) + 1);
        if (ops == NULL) return FT_NOMEM(error);
        whole = whole_of(a, ops);
        parts = &whole;
        count = 1;
    }
    part_work *work;
    ft_bound *bounds = ARENA_ARRAY(memory, ft_bound, (size_t)count + 1);
    if (bounds == NULL || !work_of_parts(a->view->bound, a->cost, &options, parts, count, memory, &work))
        return FT_NOMEM(error);
    bool can_wait = work_can_wait(a->sheet);
    for (uint32_t i = 0; i < count; i++) {
        double least_s;
        bounds[i] = work_bound(&work[i], &l, &least_s);
        if (can_wait && work_waits(&parts[i], least_s)) bounds[i] = FT_BOUND_LAUNCH;
    }
    settle_bound(out, parts, count, bounds);
    if (parts == out->kernels) out->kernel_bounds = bounds;
    return FT_OK;
}

/* --- From the data sheet alone ------------------------------------------------------------------------------- */

static ft_status roofline_parts(answer *a, const limits *l, ft_error *error) {
    arena *memory = &a->study->memory;
    const ft_cost_options options = answer_cost_options(a);
    const ft_rules *rules;
    const ft_kernels *kernels;
    FT_TRY(study_rules_of(a->study, ft_device_runtime(a->sheet), &rules, error));
    FT_TRY(model_view_kernels(a->view, rules, &kernels, error));
    ft_part *parts = ARENA_ARRAY(memory, ft_part, (size_t)kernels->count + 1);
    part_work *work;
    if (parts == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *k = &kernels->items[i];
        parts[i] = (ft_part){.type = k->type, .ops = k->ops, .op_count = k->op_count};
    }
    if (!work_of_parts(a->view->bound, a->cost, &options, parts, kernels->count, memory, &work)) return FT_NOMEM(error);
    double total_us = 0;
    for (uint32_t i = 0; i < kernels->count; i++) {
        double least_s;
        work_bound(&work[i], l, &least_s);
        parts[i].value = least_s * 1e6;
        total_us += parts[i].value;
    }
    a->out->kernels = parts;
    a->out->kernel_count = kernels->count;
    a->out->time.value = total_us;
    return FT_OK;
}

static ft_status time_from_sheet(answer *a, ft_error *error) {
    ft_result *out = a->out;
    const limits l = limits_of(a->sheet, out->request.dtype);
    if (!limits_are_known(&l)) {
        out->no_time = a->refusal != NULL
                           ? a->refusal
                           : "no predictor knows this device in this mode, and its data sheet lacks peak or bandwidth";
        return FT_OK;
    }
    FT_TRY(roofline_parts(a, &l, error));
    out->time.source = FT_ANALYTIC;
    out->time_by = "roofline";
    if (a->refusal != NULL)
        return answer_note(a, error, "%s: the time is what the data sheet allows at best, and real ones are longer",
                           a->refusal);
    return answer_note(
        a, error,
        "no predictor has seen %s on %s: the time is what the data sheet allows at best, and real ones are "
        "longer",
        mode_text(out->request.mode), out->request.device);
}

/* --- Types that nobody measured ------------------------------------------------------------------------------ */

/* A quantised model is worked on in the integers of its weights, whatever its floats are held in. */
static ft_dtype worked_in(const answer *a) {
    const ft_graph *graph = a->view->bound;
    uint64_t whole = 0, quantised = 0;
    ft_dtype type = a->out->request.dtype;
    if (a->out->request.mode == FT_TRAIN) return type;
    for (uint32_t i = 0; i < a->cost->op_count; i++) {
        const ft_op *op = &ft_graph_ops(graph)[i];
        uint64_t macs = a->cost->ops[i].forward.macs;
        if (macs == 0 || op->input_count < 2 || op->inputs[1] == FT_NONE) continue;
        const ft_tensor *weights = &ft_graph_tensors(graph)[op->inputs[1]];
        whole += macs;
        if (!size_is_quantised(weights)) continue;
        quantised += macs;
        type = weights->dtype == FT_UINT8 ? FT_INT8 : weights->dtype;
    }
    return 2 * quantised > whole ? type : a->out->request.dtype;
}

/* A type that the predictor tells of by its bytes alone, and that nobody has compared with anything. */
static bool is_new_type(const answer *a, const told *t) {
    return t->where.index != FT_NONE &&
           !predictor_knows_dtype(t->predictor, worked_in(a), answer_usual_dtype(a->sheet));
}

static ft_metric_result call_assumed(ft_metric_result e) {
    e.lo = e.hi = NAN;
    e.source = FT_ASSUMED;
    return e;
}

/* --- From a predictor ---------------------------------------------------------------------------------------- */

/* A share is never more than all, whatever a network says. */
static ft_metric_result within_reason(ft_metric_result e) {
    static const char share[] = "_ratio";
    size_t length = strlen(e.metric), end = sizeof share - 1;
    if (length < end || strcmp(e.metric + length - end, share) != 0) return e;
    double *const values[] = {&e.value, &e.lo, &e.hi};
    for (size_t i = 0; i < 3; i++)
        if (*values[i] > 1) *values[i] = 1;
    return e;
}

/* The other metrics of the predictor's file, but for memory. */
static ft_status add_others(answer *a, const told *t, bool is_doubted, ft_error *error) {
    ft_metric_result *others = NULL;
    for (const ft_predictor *p = t->entry->predictor; p != NULL; p = ft_predictor_next(p)) {
        const char *metric = ft_predictor_metric(p);
        target_device where = predictor_place(p, predictor_device_index(p, a->out->request.device));
        if (p == t->predictor || strcmp(metric, "peak_bytes") == 0 || where.index == FT_NONE ||
            !predictor_knows_mode(p, a->out->request.mode))
            continue;
        if (others == NULL) others = ARENA_ARRAY(&a->study->memory, ft_metric_result, 64);
        if (others == NULL) return FT_NOMEM(error);
        model_output says;
        const predict_input in = {.view = a->view, .target = &where, .memory = &a->study->memory};
        ft_status status = predictor_predict(p, &in, &says, error);
        if (status == FT_ERR_UNSUPPORTED) continue; /* this metric was not measured so */
        FT_TRY(status);
        if (a->out->other_count == 64) continue;
        ft_metric_result told_so = within_reason(predictor_estimate(p, where.index, &says));
        others[a->out->other_count++] = is_doubted ? call_assumed(told_so) : told_so;
    }
    a->out->others = others;
    return FT_OK;
}

/* In whatever mode. */
static bool is_measured(const answer *a, const char *device) {
    for (uint32_t i = 0; i < ft_predictor_set_device_count(a->study->box); i++)
        if (strcmp(ft_predictor_set_device(a->study->box, i), device) == 0) return true;
    return false;
}

/* A setting that nobody looks at is most often a slip of the pen: it must not look as if it had been heeded. */
static ft_status note_ignored_settings(answer *a, const told *t, ft_error *error) {
    const char *keys = predictor_family(t->predictor)->setting_keys, *setting = a->out->request.setting;
    for (const char *at = setting; keys != NULL && *at != '\0';) {
        size_t length = strcspn(at, ";"), key = strcspn(at, "=;");
        if (!text_has_word(keys, at, key))
            FT_TRY(answer_note(a, error, "the setting '%.*s' is not looked at: of settings, this predictor knows %s",
                               (int)length, at, keys[0] != '\0' ? keys : "none"));
        at += length + (at[length] == ';');
    }
    return FT_OK;
}

static ft_status note_what_is_unsure(answer *a, const told *t, bool is_doubted, ft_error *error) {
    const ft_request *request = &a->out->request;
    bool is_new_device = t->where.index == FT_NONE, is_other_mode = is_new_device && is_measured(a, request->device);
    if (is_new_device)
        FT_TRY(answer_note(a, error, "nobody measured %s%s%s: the time is inferred from the data sheet",
                           is_other_mode ? mode_text(request->mode) : "", is_other_mode ? " on " : "",
                           request->device));
    if (is_doubted)
        FT_TRY(answer_note(a, error, "nobody measured %s on %s: the time is inferred from the size of numbers",
                           ft_dtype_name(worked_in(a)), request->device));
    if (t->says.source == FT_ASSUMED)
        FT_TRY(answer_note(a, error, "nothing like this setting was measured: part of the time is assumed"));
    if (t->says.coverage_ratio < LITTLE_KNOWN)
        FT_TRY(answer_note(a, error, "%.0f %% of the time is of kernels unlike those measured on %s",
                           100 * (1 - t->says.coverage_ratio), request->device));
    return FT_OK;
}

ft_status answer_time(answer *a, ft_error *error) {
    ft_result *out = a->out;
    told t;
    out->time = (ft_metric_result){.metric = "time_us", .value = NAN, .lo = NAN, .hi = NAN, .source = FT_ASSUMED};
    FT_TRY(answer_ask(a, "time_us", &t, error));
    if (t.entry == NULL) {
        FT_TRY(time_from_sheet(a, error));
    } else {
        bool is_doubted = is_new_type(a, &t);
        out->time = predictor_estimate(t.predictor, t.where.index, &t.says);
        if (is_doubted) out->time = call_assumed(out->time);
        out->time_by = t.entry->path;
        out->coverage_ratio = is_doubted ? 0 : t.says.coverage_ratio;
        out->kernels = t.says.parts;
        out->kernel_count = t.says.part_count;
        FT_TRY(add_others(a, &t, is_doubted, error));
        FT_TRY(note_ignored_settings(a, &t, error));
        FT_TRY(note_what_is_unsure(a, &t, is_doubted, error));
    }
    return isnan(out->time.value) ? FT_OK : add_bounds(a, error);
}
