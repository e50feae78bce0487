/* gpu_predict.c - predictions of a "gpu-kernels" predictor: the sum over the launches of a model, or the time that the
 * host needs to launch them, and the intervals of both. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "predictor/core/scan.h"
#include "predictor/gpu/gpu_model.h"

/* --- Launches of a model -------------------------------------------------------------------------------------- */

typedef struct gpu_view {
    gpu_runtime runtime;
    gpu_work *works; /* distinct ones: models repeat most of their kernels */
    uint32_t work_count;
    uint32_t *work_of, *kernel_of; /* per launch */
    uint32_t count;
    const ft_rules *rules;
} gpu_view;

static ft_status find_distinct(const gpu_work *works, gpu_view *view, arena *memory, ft_error *error) {
    row_table table = {.size = sizeof *works};
    view->work_of = ARENA_ARRAY(memory, uint32_t, (size_t)view->count + 1);
    view->kernel_of = ARENA_ARRAY(memory, uint32_t, (size_t)view->count + 1);
    if (view->work_of == NULL || view->kernel_of == NULL) return FT_NOMEM(error);
    ft_status status = FT_OK;
    for (uint32_t i = 0; status == FT_OK && i < view->count; i++) {
        gpu_work work;
        memcpy(&work, &works[i], sizeof work); /* padding too: rows are compared by their bytes */
        view->kernel_of[i] = work.kernel;
        work.kernel = 0;
        status = row_table_add(&table, &work, &view->work_of[i], error);
    }
    view->work_count = table.count;
    if (status == FT_OK) view->works = arena_copy(memory, table.rows, table.count * sizeof *works);
    if (status == FT_OK && view->works == NULL) status = FT_NOMEM(error);
    row_table_free(&table);
    return status;
}

static ft_status find_view(const gpu_model *m, model_view *s, const gpu_view **out, ft_error *error) {
    const void *key = &m->view_keys[0];
    gpu_view *view = model_view_cached(s, key);
    if (view == NULL) {
        view = ARENA_NEW(&s->memory, gpu_view);
        if (view == NULL) return FT_NOMEM(error);
        gpu_runtime_of(&s->request, &view->runtime);
        view->rules = view->runtime.is_compiled ? m->compiled : m->eager;
        gpu_work *works;
        FT_TRY(gpu_works_of(s, view->rules, &view->runtime, &s->memory, &works, &view->count, error));
        FT_TRY(find_distinct(works, view, &s->memory, error));
        if (view->count == 0)
            return ft_fail(error, FT_ERR_GRAPH, "the model launches no kernel: there is nothing to predict");
        model_view_cache(s, key, view);
    }
    *out = view;
    return FT_OK;
}

/* --- Sums ----------------------------------------------------------------------------------------------------- */

typedef struct sums {
    double total_us, covered_us, known_us, launches;
    double bias[GPU_KINDS]; /* per kind: time times width of its mean error */
    double squares;         /* of time times width, of each launch */
    double width;           /* of the only launch */
} sums;

static ft_dtype dtype_of(const model_view *s) {
    return s->request.dtype != FT_DTYPE_UNKNOWN ? s->request.dtype : FT_FLOAT32;
}

/* Launches of a model queue up, so that they cost less than one that is measured alone. */
static void add_launches(const gpu_model *m, const gpu_view *view, const gpu_sheet *sheet, uint32_t device,
                         ft_dtype dtype, gpu_time *each, double *times, sums *sum) {
    for (uint32_t i = 0; i < view->work_count; i++) {
        gpu_row row;
        gpu_row_of(&view->works[i], sheet, dtype, &view->runtime, &row);
        each[i] = gpu_model_time(m, device, &view->works[i], &row, dtype);
        if (view->count > 1) each[i].us = gpu_queued_us(&row, each[i].us);
    }
    for (uint32_t i = 0; i < view->count; i++) {
        const gpu_work *w = &view->works[view->work_of[i]];
        const gpu_time t = each[view->work_of[i]];
        double us = w->times * t.us;
        times[view->kernel_of[i]] += us;
        sum->total_us += us;
        sum->launches += ceil(w->times);
        if (t.is_known_kind) sum->covered_us += us;
        if (t.is_known_device) sum->known_us += us;
        sum->bias[w->kind] += us * t.bias_width;
        sum->squares += us * us * t.width * t.width;
        sum->width = t.width;
    }
}

/* Half of the 90 % interval: errors of kinds on a device are common to all launches of a kind, the rest is not. */
static double find_width(const gpu_view *view, const sums *sum) {
    static const double MODEL_WIDTH = 0.2; /* what launches do not explain: allocation, clocks, versions */
    if (view->count == 1) return sum->width;
    double squares = sum->squares / (sum->total_us * sum->total_us) + MODEL_WIDTH * MODEL_WIDTH;
    for (uint32_t k = 0; k < GPU_KINDS; k++) squares += pow(sum->bias[k] / sum->total_us, 2);
    return sqrt(squares);
}

/* Parameters are updated by one more kernel, which reads and writes them and the optimiser's state. */
static ft_status optimizer_us(const gpu_sheet *sheet, model_view *s, double *us, ft_error *error) {
    const ft_cost *cost;
    FT_TRY(model_view_cost(s, &cost, error));
    static const double EFFICIENCY = 0.8;
    double bytes = (double)cost->optimizer.read_bytes + (double)cost->optimizer.write_bytes;
    *us = s->request.mode == FT_TRAIN ? 1e6 * bytes / (double)sheet->rates[GPU_BANDWIDTH] / EFFICIENCY : 0;
    return FT_OK;
}

/* --- Predictions --------------------------------------------------------------------------------------------- */

/* Time of the host to launch a kernel, with Python; one launch that was measured alone contains it. */
static double host_us(const gpu_view *view) {
    static const double EAGER_US = 12, COMPILED_US = 6, GRAPH_US = 2;
    if (view->runtime.source != GPU_EAGER) return GRAPH_US;
    return view->runtime.is_compiled ? COMPILED_US : EAGER_US;
}

static ft_status make_parts(const ft_kernels *kernels, const double *times, double optimizer, arena *memory,
                            model_output *out, ft_error *error) {
    out->parts = ARENA_ARRAY(memory, ft_part, (size_t)kernels->count + 2);
    if (out->parts == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *kernel = &kernels->items[i];
        out->parts[i] = (ft_part){.type = kernel->type, .ops = kernel->ops, .op_count = kernel->op_count};
        out->parts[i].value = times[i];
    }
    out->part_count = kernels->count;
    if (optimizer > 0) out->parts[out->part_count++] = (ft_part){.type = "optimizer", .value = optimizer};
    return FT_OK;
}

static void set_provenance(const sums *sum, ft_mode mode, double launch_scale, model_output *out) {
    static const double MOSTLY = 0.5, ASSUMED_WIDTH = 0.4;
    out->coverage_ratio = fmin(sum->covered_us / sum->total_us, 1);
    if (launch_scale > 1) {
        out->provenance = FT_ASSUMED;
        out->reason = "the host launches kernels slower than they run; its overhead is assumed";
        out->spread += ASSUMED_WIDTH;
    } else if (sum->known_us < MOSTLY * sum->total_us) {
        out->provenance = FT_EXTRAPOLATED;
        out->reason = "kernels of this type were measured on other devices; they are extrapolated by the data sheet";
    } else if (mode == FT_TRAIN && sum->launches > 1) {
        out->provenance = FT_EXTRAPOLATED;
        out->reason = "gradients were not measured; they are extrapolated from products of their sizes";
    }
}

ft_status gpu_model_predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const gpu_model *m = model;
    const gpu_view *view = NULL;
    const ft_kernels *kernels;
    uint32_t device = in->target->index;
    gpu_sheet sheet;
    if (device != FT_NONE)
        sheet = m->sheets[device];
    else
        FT_TRY(gpu_sheet_read(in->target->sheet, &sheet, error));
    FT_TRY(find_view(m, in->view, &view, error));
    FT_TRY(model_view_kernels(in->view, view->rules, &kernels, error));
    double *times = ARENA_ARRAY(in->memory, double, (size_t)kernels->count + 1), optimizer;
    gpu_time *each = ARENA_ARRAY(in->memory, gpu_time, (size_t)view->work_count + 1);
    if (times == NULL || each == NULL) return FT_NOMEM(error);
    FT_TRY(optimizer_us(&sheet, in->view, &optimizer, error));
    sums sum = {0};
    add_launches(m, view, &sheet, device, dtype_of(in->view), each, times, &sum);
    if (!(sum.total_us > 0 && isfinite(sum.total_us)))
        return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    *out = (model_output){.value = sum.total_us + optimizer, .provenance = FT_LEARNED};
    out->spread = find_width(view, &sum);
    double launch = view->count > 1 ? host_us(view) * sum.launches : 0, scale = fmax(launch / out->value, 1);
    out->value *= scale;
    set_provenance(&sum, in->view->request.mode, scale, out);
    if (!in->has_parts) return FT_OK;
    for (uint32_t i = 0; i < kernels->count; i++) times[i] *= scale;
    FT_TRY(make_parts(kernels, times, optimizer * scale, in->memory, out, error));
    for (uint32_t i = 0; i < out->part_count && scale > 1; i++) out->parts[i].bound = FT_BOUND_LAUNCH;
    return FT_OK;
}
