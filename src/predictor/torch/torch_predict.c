/* torch_predict.c - predictions of a trained torch-sum predictor.
 *
 * The outputs of the networks for a kernel do not depend on device, setting or batch. They are computed once per model
 * and kept in the model view; a further device, setting or batch costs a few exponentials per distinct kernel. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cost/cost.h"
#include "graph/graph.h"
#include "predictor/core/host.h"
#include "predictor/torch/torch_model.h"

/* --- Kernels of a model -------------------------------------------------------------------------------------- */

/* Properties of a request that the kernels of a model depend on. */
typedef struct kernel_variant {
    torch_side side;
    torch_runtime runtime;
    bool is_compiled;
    torch_precision precision;
} kernel_variant;

static const ft_rules *rules_of(const torch_model *m, const kernel_variant *v) {
    if (v->runtime == TORCH_TENSORRT) return m->rules.tensorrt;
    if (v->runtime == TORCH_ONNXRUNTIME) return m->rules.onnxruntime;
    return v->is_compiled ? m->rules.compiled : m->rules.eager;
}

/* Finds the distinct rows of kernels. Most kernels of a model repeat others, whose rows are not computed again. */
static ft_status find_rows(const torch_kernel *kernels, uint32_t count, model_view *s, torch_precision precision,
                           row_table *rows, uint32_t *row_of, ft_error *error) {
    double batch = (double)ft_graph_batch(s->bound);
    row_table distinct = {.size = sizeof *kernels};
    uint32_t *row_of_distinct = ARENA_ARRAY(&s->memory, uint32_t, count), known = 0, number = 0;
    ft_status status = row_of_distinct != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < count; i++) {
        status = row_table_add(&distinct, &kernels[i], &number, error);
        if (status == FT_OK && number == known) {
            torch_row row;
            torch_row_of(&kernels[i], batch, precision, &row);
            status = row_table_add(rows, &row, &row_of_distinct[known++], error);
        }
        if (status == FT_OK) row_of[i] = row_of_distinct[number];
    }
    row_table_free(&distinct);
    return status;
}

static ft_status make_view(const torch_model *m, const kernel_variant *v, model_view *s, torch_view *view,
                           ft_error *error) {
    torch_kernel *kernels;
    uint32_t count;
    row_table table = {.size = sizeof(torch_row)};
    FT_TRY(torch_kernels_of(s, rules_of(m, v), &s->memory, &kernels, &count, error));
    if (count == 0) return ft_fail(error, FT_ERR_GRAPH, "the model launches no kernel: there is nothing to predict");
    uint32_t *row_of = ARENA_ARRAY(&s->memory, uint32_t, count);
    if (row_of == NULL) return FT_NOMEM(error);
    ft_status status = find_rows(kernels, count, s, v->precision, &table, row_of, error);
    size_t each = (size_t)table.count * m->config.basis * TORCH_TERMS;
    torch_row *rows = arena_copy(&s->memory, table.rows, table.count * sizeof *rows);
    float *basis = ARENA_ARRAY(&s->memory, float, each * m->config.members + 1);
    bool *is_covered = ARENA_ARRAY(&s->memory, bool, (size_t)table.count + 1);
    if (status == FT_OK && (rows == NULL || basis == NULL || is_covered == NULL)) status = FT_NOMEM(error);
    if (status == FT_OK && !torch_model_hidden(m, v->side, rows, table.count, basis)) status = FT_NOMEM(error);
    for (uint32_t i = 0; status == FT_OK && i < table.count; i++)
        is_covered[i] = torch_scaling_covers(&m->scaling[v->side], &rows[i]);
    *view = (torch_view){.kernel_count = count, .row_of = row_of, .rows = rows, .row_count = table.count};
    view->basis = basis;
    view->is_covered = is_covered;
    row_table_free(&table);
    return status;
}

static ft_status find_view(const torch_model *m, const kernel_variant *v, model_view *s, const torch_view **out,
                           ft_error *error) {
    const void *key =
        &m->keys[v->side][v->runtime * TORCH_PROGRAM_CODES + torch_program_code(v->is_compiled, v->precision)];
    model_view *owner = model_view_owner(s);
    torch_view *view = model_view_cached(owner, key);
    if (view == NULL) {
        view = ARENA_NEW(&owner->memory, torch_view);
        if (view == NULL) return FT_NOMEM(error);
        FT_TRY(make_view(m, v, owner, view, error));
        model_view_cache(owner, key, view);
    }
    *out = view;
    return FT_OK;
}

/* --- Requests ------------------------------------------------------------------------------------------------ */

/* A request, and the measured setting that it is predicted from. */
typedef struct resolved_request {
    torch_setting requested; /* what the request left open is as in the measured setting */
    torch_sheet sheet;       /* of the requested device */
    torch_match match;
    uint32_t cost_row; /* of unit costs: that of the measured setting, or of its group for another device */
    torch_side side;   /* of the networks: that of the measured setting */
    double batch;
    host_request host;
    torch_runtime runtime;
    bool is_int8; /* rates of int8, everything else as in float16 */
} resolved_request;

/* Types that PyTorch computes whole models in, and that were measured. Others would be taken for the nearest of them.
 */
static ft_status check_dtype(ft_dtype dtype, torch_runtime runtime, ft_error *error) {
    bool is_known = (runtime != TORCH_PYTORCH && dtype == FT_INT8) || dtype == FT_DTYPE_UNKNOWN ||
                    dtype == FT_FLOAT32 || dtype == FT_FLOAT16 || dtype == FT_BFLOAT16;
    if (is_known) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED, "PyTorch was measured in float32, float16 and bfloat16, not in %s",
                   ft_dtype_name(dtype));
}

/* Engines of a file: no autocast, channels last in 16 bits, pointwise operators compiled, TensorFloat-32 for all
 * products. */
static ft_status resolve_runtime(resolved_request *r, ft_error *error) {
    torch_setting *s = &r->requested;
    if (s->mode == FT_TRAIN)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s runs inference only", torch_runtime_name(r->runtime));
    if (!r->sheet.is_gpu)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s is predicted on GPUs only", torch_runtime_name(r->runtime));
    r->is_int8 = s->dtype == FT_INT8;
    if (r->is_int8) s->dtype = FT_FLOAT16;
    s->is_mixed = TORCH_NO;
    s->is_compiled = TORCH_YES;
    s->is_nhwc = s->dtype == FT_FLOAT32 ? TORCH_NO : TORCH_YES;
    s->tf32 = TORCH_TF32_ALL;
    return FT_OK;
}

static ft_status resolve_request(const torch_model *m, const model_view *s, const target_device *target,
                                 resolved_request *r, ft_error *error) {
    FT_TRY(torch_runtime_parse(s->request.setting, &r->runtime, error));
    FT_TRY(check_dtype(s->request.dtype, r->runtime, error));
    FT_TRY(torch_setting_parse(s->request.setting, s->request.mode, s->request.dtype, &r->requested, error));
    FT_TRY(host_request_parse(s->request.setting, &r->host, error));
    r->requested.device = target->index;
    if (target->index != FT_NONE)
        r->sheet = m->sheets[target->index];
    else
        FT_TRY(torch_sheet_read(target->sheet, &r->sheet, error));
    if (r->runtime != TORCH_PYTORCH) FT_TRY(resolve_runtime(r, error));
    r->match = torch_setting_nearest(m->settings, m->sheets, m->setting_count, &r->requested, &r->sheet);
    if (r->match.setting == FT_NONE) return ft_fail(error, FT_ERR_UNSUPPORTED, "the predictor has no setting");
    assert(r->match.setting < m->setting_count);
    const torch_setting *known = &m->settings[r->match.setting];
    r->side = torch_sheet_side(&m->sheets[known->device]);
    r->cost_row =
        known->device == r->requested.device ? r->match.setting : m->setting_count + m->groups[r->match.setting];
    if (r->requested.dtype == FT_DTYPE_UNKNOWN) r->requested.dtype = known->dtype;
    if (r->requested.is_mixed == TORCH_OPEN) r->requested.is_mixed = known->is_mixed;
    assert(r->requested.is_compiled != TORCH_OPEN && r->requested.is_nhwc != TORCH_OPEN);
    r->batch = (double)ft_graph_batch(s->bound);
    return FT_OK;
}

static const torch_setting *measured_setting(const torch_model *m, const resolved_request *r) {
    return &m->settings[r->match.setting];
}

/* Time of the requested mode over that of the measured one: the backward pass takes about twice the forward pass. */
static double mode_ratio(const torch_model *m, const resolved_request *r) {
    static const double TRAINING = COST_TRAINING_FORWARDS;
    if (measured_setting(m, r)->mode == r->requested.mode) return 1;
    return r->requested.mode == FT_TRAIN ? TRAINING : 1 / TRAINING;
}

/* --- Ensemble ------------------------------------------------------------------------------------------------ */

/* Predictions of the members: the mean time of each distinct row, and the sum over all kernels by member. */
typedef struct ensemble_result {
    double *times;
    double sums[TORCH_MAX_MEMBERS];
} ensemble_result;

static const float *basis_of(const torch_model *m, const torch_view *view, uint32_t member) {
    return view->basis + (size_t)member * view->row_count * m->config.basis * TORCH_TERMS;
}

/* Where cuDNN has another algorithm for the request than for the measured setting, kernels are scaled. */
static ft_status list_terms(const torch_model *m, const torch_view *view, const resolved_request *r, arena *memory,
                            torch_term_list *list, ft_error *error) {
    double anchors[TORCH_ANCHORS];
    torch_sheet_anchors(&r->sheet, &r->requested, anchors);
    if (r->is_int8) torch_int8_anchors(&r->sheet, anchors);
    if (!torch_term_list_make(view->rows, view->row_count, r->side, anchors, r->batch, memory, list))
        return FT_NOMEM(error);
    const torch_setting *known = measured_setting(m, r);
    for (uint32_t i = 0; r->sheet.is_gpu && i < list->count; i++) {
        const torch_row *row = &view->rows[list->rows[i]];
        list->amounts[i] *= torch_algorithm_ratio(&r->sheet, &r->requested, row) /
                            torch_algorithm_ratio(&m->sheets[known->device], known, row);
    }
    return FT_OK;
}

static ft_status run_ensemble(const torch_model *m, const torch_view *view, const resolved_request *r, arena *memory,
                              ensemble_result *e, ft_error *error) {
    uint32_t members = m->config.members;
    assert(members > 0 && members <= TORCH_MAX_MEMBERS);
    double ratio = mode_ratio(m, r);
    torch_term_list list;
    FT_TRY(list_terms(m, view, r, memory, &list, error));
    uint32_t *launches = ARENA_ARRAY(memory, uint32_t, (size_t)view->row_count + 1);
    e->times = ARENA_ARRAY(memory, double, (size_t)view->row_count + 1);
    if (launches == NULL || e->times == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < view->kernel_count; i++) launches[view->row_of[i]]++;
    for (uint32_t j = 0; j < members; j++) {
        torch_term_list_cost(&list, m, r->side, j, r->cost_row, basis_of(m, view, j));
        for (uint32_t i = 0; i < list.count;) {
            uint32_t row = list.rows[i];
            float sum = 0;
            while (i < list.count && list.rows[i] == row) sum += list.times[i++];
            e->times[row] += ratio * sum / members;
            e->sums[j] += ratio * sum * launches[row];
        }
    }
    return FT_OK;
}

/* Standard deviation of the logarithms of the members' sums. */
static double disagreement(const ensemble_result *e, uint32_t members) {
    double mean = 0, squares = 0;
    for (uint32_t j = 0; j < members; j++) mean += log(e->sums[j]) / members;
    for (uint32_t j = 0; j < members; j++) squares += (log(e->sums[j]) - mean) * (log(e->sums[j]) - mean);
    return members > 1 ? sqrt(squares / (members - 1)) : 0;
}

/* A batch is small when it is below a fourth of those measured. */
static const double SMALL_BATCH = 4;

/* --- Assumptions --------------------------------------------------------------------------------------------- */

/* Training was measured on one GPU only, so the ratio to others is not known. */
static bool is_borrowed_training(const torch_model *m, const resolved_request *r) {
    return r->requested.mode == FT_TRAIN && measured_setting(m, r)->device != r->requested.device;
}

/* CPUs were measured at batch 1; the effect of larger batches on caches and memory is extrapolated from the sizes of
 * other kernels. */
static bool is_far_batch(const torch_model *m, const resolved_request *r) {
    static const double MUCH_LARGER = 4;
    return !r->sheet.is_gpu && r->batch >= MUCH_LARGER * measured_setting(m, r)->typical_batch;
}

/* Batches of a GPU beyond those measured: the time is assumed to grow in proportion. */
static bool is_large_batch(const torch_model *m, const resolved_request *r) {
    static const double MUCH_LARGER = 4;
    return r->sheet.is_gpu && r->batch > MUCH_LARGER * measured_setting(m, r)->typical_batch;
}

static bool is_assumed(const torch_model *m, const resolved_request *r) {
    return r->runtime != TORCH_PYTORCH || r->match.is_assumed || is_borrowed_training(m, r) || is_far_batch(m, r) ||
           torch_sheet_lacks_type(&r->sheet, r->requested.dtype);
}

/* Half the interval of a measured setting: the error on held-out architectures, widened where members disagree more
 * than on 95 % of the validation models. */
static double measured_width(const torch_model *m, const resolved_request *r, double spread) {
    double width = m->widths[r->match.setting], typical = m->typical_spread[r->side];
    return typical > 0 && spread > typical ? width * spread / typical : width;
}

/* Uncertainty from disagreement of the members, kernels unlike those of training, and a setting of another device. Old
 * files have no widths: their spread is calibrated. */
static double find_spread(const torch_model *m, const resolved_request *r, const ensemble_result *e, double coverage) {
    static const double MIN_SPREAD = 0.02, UNKNOWN = 0.3, ASSUMED = 0.1, OTHER_DEVICE = 0.02;
    static const double WIDTH_OF_SPREAD = 3;
    double spread = disagreement(e, m->config.members), more = UNKNOWN * (1 - coverage);
    if (is_assumed(m, r)) more += ASSUMED;
    if (measured_setting(m, r)->device != r->requested.device) more += OTHER_DEVICE;
    return m->widths != NULL ? measured_width(m, r, spread) + WIDTH_OF_SPREAD * more : MIN_SPREAD + spread + more;
}

/* --- The host ------------------------------------------------------------------------------------------------ */

static ft_status time_at(const torch_model *m, const torch_view *view, const resolved_request *r, double batch,
                         arena *memory, double *time, ft_error *error) {
    ensemble_result e = {0};
    resolved_request other = *r;
    other.batch = batch;
    FT_TRY(run_ensemble(m, view, &other, memory, &e, error));
    *time = 0;
    for (uint32_t i = 0; i < view->kernel_count; i++) *time += e.times[view->row_of[i]];
    return FT_OK;
}

/* A host that the request does not name: at batches that were measured the GPU did not wait, and the number of launches
 * is the same at every batch. So a step takes no longer than one at a fourth of the measured batch, if steps of that
 * length were measured: the shortest took 1.3 ms. */
static ft_status limit_step(const torch_model *m, const torch_view *view, const resolved_request *r, arena *memory,
                            host_effect *effect, ft_error *error) {
    static const double SHORTEST_MEASURED_US = 1000;
    double longest;
    if (effect->step_us <= SHORTEST_MEASURED_US) return FT_OK;
    FT_TRY(time_at(m, view, r, measured_setting(m, r)->typical_batch / SMALL_BATCH, memory, &longest, error));
    host_effect_limit(effect, fmax(longest, SHORTEST_MEASURED_US));
    return FT_OK;
}

/* A product on a few rows takes its time to fill the GPU and to reduce over its depth, which launches from Python hide:
 * 12 us by ResNet-50 in TensorRT at batch 1 on a T4 (docs/hosts.md). */
static double fill_us(const torch_row *row) {
    static const double FILL_US = 12;
    return row->terms[TORCH_PRODUCTS] > 0 || row->terms[TORCH_VECTOR_PRODUCTS] > 0 ? FILL_US : 0;
}

static host_runtime host_runtime_of(const resolved_request *r) {
    if (r->runtime == TORCH_TENSORRT) return HOST_ENGINE;
    if (r->runtime == TORCH_ONNXRUNTIME) return HOST_SESSION;
    return r->requested.is_compiled == TORCH_YES ? HOST_COMPILED : HOST_EAGER;
}

/* Batches far below those measured, and hosts that the request names, may keep the GPU waiting. */
static ft_status find_launches(const torch_model *m, const torch_view *view, const resolved_request *r,
                               const double *times, arena *memory, host_effect *effect, ft_error *error) {
    *effect = (host_effect){0};
    bool is_small = r->batch < measured_setting(m, r)->typical_batch / SMALL_BATCH;
    bool is_engine = r->runtime != TORCH_PYTORCH; /* not measured at any batch */
    if (!r->sheet.is_gpu || (!is_small && !r->host.is_given && !is_engine)) return FT_OK;
    double *gpu_us = ARENA_ARRAY(memory, double, (size_t)view->kernel_count + 1);
    for (uint32_t i = 0; gpu_us != NULL && i < view->kernel_count; i++)
        gpu_us[i] = times[view->row_of[i]] + (is_engine ? fill_us(&view->rows[view->row_of[i]]) : 0);
    if (gpu_us == NULL) return FT_NOMEM(error);
    const host_run run = {.request = &r->host,
                          .runtime = host_runtime_of(r),
                          .mode = r->requested.mode,
                          .is_mixed = torch_setting_precision(&r->requested).is_mixed,
                          .gpu_us = gpu_us,
                          .count = view->kernel_count};
    FT_TRY(host_effect_make(&run, memory, effect, error));
    return r->host.is_given || is_engine ? FT_OK : limit_step(m, view, r, memory, effect, error);
}

/* Sets the provenance, and the reason: the data that is missing where the value is not learned. */
static ft_status set_provenance(const torch_model *m, const resolved_request *r, const host_effect *launch,
                                arena *memory, model_output *out, ft_error *error) {
    char text[200] = "";
    if (is_assumed(m, r) || is_large_batch(m, r)) out->provenance = FT_EXTRAPOLATED;
    bool is_waiting = launch->elapsed_us != NULL && 2 * launch->ratio > 1;
    if (r->runtime != TORCH_PYTORCH) {
        out->provenance = FT_EXTRAPOLATED;
        snprintf(text, sizeof text, "%s was not measured on this device; its kernels are extrapolated from PyTorch",
                 torch_runtime_name(r->runtime));
    } else if (is_waiting && r->host.is_given) {
        out->provenance = FT_EXTRAPOLATED;
        snprintf(text, sizeof text, "launches take %.3g us a kernel on this host%s%s%s",
                 launch->launches.forward_us + launch->launches.backward_us, r->host.name[0] != '\0' ? " (" : "",
                 r->host.name, r->host.name[0] != '\0' ? ")" : "");
    } else if (is_waiting) {
        out->provenance = launch->ratio > 1 ? FT_ASSUMED : FT_EXTRAPOLATED;
        snprintf(text, sizeof text,
                 "batch %g was not measured on this device; launches are those of a typical host (%.3g us a kernel; "
                 "--host and --launch-us say otherwise)",
                 r->batch, launch->launches.forward_us + launch->launches.backward_us);
    } else if (is_borrowed_training(m, r)) {
        snprintf(text, sizeof text, "training was not measured on this device; it is extrapolated from another one");
    } else if (is_far_batch(m, r) || is_large_batch(m, r)) {
        snprintf(text, sizeof text, "batch %g was not measured on this device; it is extrapolated from smaller ones",
                 r->batch);
    } else if (torch_sheet_lacks_type(&r->sheet, r->requested.dtype)) {
        snprintf(text, sizeof text, "the data sheet has no matrix units for %s; products have the rate of float32",
                 ft_dtype_name(r->requested.dtype));
    } else if (r->match.is_assumed) {
        char difference[TORCH_DIFFERENCE_SIZE];
        torch_setting_difference(measured_setting(m, r), &r->requested, difference);
        snprintf(text, sizeof text, "%s; the nearest measured setting is used", difference);
    }
    if (text[0] == '\0') return FT_OK;
    out->reason = arena_string(memory, text, strlen(text));
    return out->reason != NULL ? FT_OK : FT_NOMEM(error);
}

/* --- Predictions --------------------------------------------------------------------------------------------- */

/* The part of a kernel is its own time and the time that the GPU waits for it. */
static ft_status make_parts(const ft_kernels *kernels, const torch_view *view, const double *times,
                            const host_effect *launch, arena *memory, model_output *out, ft_error *error) {
    assert(kernels->count == view->kernel_count);
    out->parts = ARENA_ARRAY(memory, ft_part, (size_t)kernels->count + 1);
    if (out->parts == NULL) return FT_NOMEM(error);
    out->part_count = kernels->count;
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *kernel = &kernels->items[i];
        out->parts[i] = (ft_part){.type = kernel->type, .ops = kernel->ops, .op_count = kernel->op_count};
        double own_us = times[view->row_of[i]];
        out->parts[i].value = launch->elapsed_us != NULL ? launch->elapsed_us[i] : own_us;
        if (out->parts[i].value > 2 * own_us) out->parts[i].bound = FT_BOUND_LAUNCH;
    }
    return FT_OK;
}

/* A prediction, and what an explanation of it needs. */
typedef struct prediction {
    resolved_request request;
    const torch_view *view;
    model_output output;
} prediction;

static ft_status predict(const torch_model *m, const predict_input *in, prediction *p, ft_error *error) {
    *p = (prediction){.output.provenance = FT_LEARNED};
    resolved_request *r = &p->request;
    model_output *out = &p->output;
    ensemble_result e = {0};
    FT_TRY(resolve_request(m, in->view, in->target, r, error));
    const kernel_variant variant = {.side = r->side,
                                    .runtime = r->runtime,
                                    .is_compiled = r->requested.is_compiled == TORCH_YES,
                                    .precision = torch_setting_precision(&r->requested)};
    FT_TRY(find_view(m, &variant, in->view, &p->view, error));
    const torch_view *view = p->view;
    FT_TRY(run_ensemble(m, view, r, in->memory, &e, error));
    double value = 0, covered = 0;
    for (uint32_t i = 0; i < view->kernel_count; i++) {
        double time = e.times[view->row_of[i]];
        value += time;
        if (view->is_covered[view->row_of[i]]) covered += time;
    }
    if (!(value > 0 && isfinite(value)))
        return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    out->value = value;
    out->coverage_ratio = covered / value;
    host_effect launch;
    FT_TRY(find_launches(m, view, r, e.times, in->memory, &launch, error));
    out->spread = find_spread(m, r, &e, out->coverage_ratio);
    if (launch.elapsed_us != NULL) {
        out->value = launch.step_us;
        if (2 * launch.ratio > 1) out->spread = host_effect_width(&launch, out->spread);
    }
    FT_TRY(set_provenance(m, r, &launch, in->memory, out, error));
    if (!in->has_parts) return FT_OK;
    const ft_kernels *kernels;
    FT_TRY(model_view_kernels(in->view, rules_of(m, &variant), &kernels, error));
    return make_parts(kernels, view, e.times, &launch, in->memory, out, error);
}

ft_status torch_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    prediction p;
    FT_TRY(predict(model, in, &p, error));
    *out = p.output;
    return FT_OK;
}

/* --- Explanations -------------------------------------------------------------------------------------------- */

/* Flags of the setting follow the features of a row: the error on a new device may depend on the setting, eager or
 * compiled for instance. */
enum { SETTING_FLAGS = 5, EXPLAINED_FEATURES = TORCH_FEATURES + SETTING_FLAGS };

static void copy_features(const torch_row *row, const torch_setting *requested, float *features) {
    const float flags[SETTING_FLAGS] = {requested->is_compiled == TORCH_YES, requested->is_nhwc == TORCH_YES,
                                        requested->is_mixed == TORCH_YES, requested->dtype == FT_FLOAT32,
                                        requested->mode == FT_TRAIN};
    memcpy(features, row->features, sizeof row->features);
    memcpy(features + TORCH_FEATURES, flags, sizeof flags);
}

/* The time of each term of each row, averaged over the members. */
static ft_status find_terms(const torch_model *m, const prediction *p, arena *memory, double *terms, ft_error *error) {
    torch_term_list list;
    FT_TRY(list_terms(m, p->view, &p->request, memory, &list, error));
    for (uint32_t j = 0; j < m->config.members; j++) {
        torch_term_list_cost(&list, m, p->request.side, j, p->request.cost_row, basis_of(m, p->view, j));
        for (uint32_t i = 0; i < list.count; i++)
            terms[(size_t)list.rows[i] * TORCH_TERMS + list.terms[i]] += (double)list.times[i] / m->config.members;
    }
    return FT_OK;
}

ft_status torch_model_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                              ft_error *error) {
    prediction p;
    double sum = 0;
    FT_TRY(predict(model, in, &p, error));
    *out = p.output;
    const torch_view *view = p.view;
    double *times = ARENA_ARRAY(in->memory, double, (size_t)view->row_count *TORCH_TERMS);
    float *features = ARENA_ARRAY(in->memory, float, (size_t)view->row_count *EXPLAINED_FEATURES);
    if (times == NULL || features == NULL) return FT_NOMEM(error);
    FT_TRY(find_terms(model, &p, in->memory, times, error));
    for (uint32_t i = 0; i < view->row_count; i++)
        copy_features(&view->rows[i], &p.request.requested, features + (size_t)i * EXPLAINED_FEATURES);
    for (uint32_t i = 0; i < view->kernel_count; i++)
        for (uint32_t k = 0; k < TORCH_TERMS; k++) sum += times[(size_t)view->row_of[i] * TORCH_TERMS + k];
    /* The terms add up to the prediction also where the mode differs or launches dominate. */
    for (size_t i = 0; i < (size_t)view->row_count * TORCH_TERMS; i++) times[i] *= out->value / sum;
    *made_of = (explanation){.count = view->kernel_count, .row_of = view->row_of, .row_count = view->row_count};
    made_of->term_count = TORCH_TERMS;
    made_of->times = times;
    made_of->size_count = TORCH_SIZES;
    made_of->feature_count = EXPLAINED_FEATURES;
    made_of->setting_count = SETTING_FLAGS;
    made_of->features = features;
    return FT_OK;
}
