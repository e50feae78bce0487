/* gnn_predict.c - predictions of a trained graph network. A pass outputs all columns, so its results are kept in the
 * model view for further devices. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/records.h"
#include "predictor/core/family_common.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/gnn/gnn_infer.h"

/* --- Inference --------------------------------------------------------------------------------------------------- */

static ft_status cached_inference(const gnn_model *m, model_view *s, const gnn_inference **found, ft_error *error) {
    gnn_inference *v = model_view_cached(s, m);
    if (v == NULL) {
        FT_TRY(gnn_inference_make(m, s, m->columns, m->column_count, &s->memory, &v, error));
        model_view_cache(s, m, v);
    }
    *found = v;
    return FT_OK;
}

ft_status gnn_precompute(const void *model, model_view *const *views, uint32_t count, ft_error *error) {
    const gnn_model *m = model;
    arena memory;
    arena_init(&memory, GNN_EXTRACT_MEMORY);
    gnn_inference **results = ARENA_ARRAY(&memory, gnn_inference *, (size_t)count + 1);
    model_view **prepared = ARENA_ARRAY(&memory, model_view *, (size_t)count + 1);
    uint32_t prepared_count = 0;
    ft_status status = results != NULL && prepared != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t i = 0; i < count && status == FT_OK; i++) {
        ft_error reason;
        model_view *s = views[i];
        if (model_view_cached(s, m) != NULL) continue; /* another metric of the same model */
        ft_status extracted =
            gnn_inference_prepare(m, s, m->column_count, &memory, &s->memory, &results[prepared_count], &reason);
        if (extracted == FT_OK) prepared[prepared_count++] = s;
    }
    if (status == FT_OK)
        status = gnn_inference_run(m, results, prepared_count, m->columns, m->column_count, &memory, error);
    for (uint32_t i = 0; i < prepared_count && status == FT_OK; i++) model_view_cache(prepared[i], m, results[i]);
    arena_free(&memory);
    return status;
}

/* --- Columns ------------------------------------------------------------------------------------------------- */

/* Whether a column has the metric, and the device unless that is any (FT_NONE). */
static bool is_candidate(const gnn_column *column, const target_device *target) {
    return (target->index == FT_NONE || column->device == target->index) && column->metric == target->output;
}

/* Reports some of the columns in which the metric was measured on the device. */
static ft_status fail_column(const gnn_model *m, const ft_request *request, const target_device *target,
                             ft_error *error) {
    enum { SHOWN = 3 };
    uint32_t shown = 0;
    ft_fail(error, FT_ERR_UNSUPPORTED, "%s was not trained on mode '%s', type '%s', setting '%s' on this device",
            m->kind->name, record_mode_name(request->mode), ft_dtype_name(request->dtype),
            request->setting != NULL ? request->setting : "");
    for (uint32_t c = 0; error != NULL && c < m->column_count && shown < SHOWN; c++) {
        const gnn_column *column = &m->columns[c];
        size_t length = strlen(error->message);
        if (!is_candidate(column, target)) continue;
        snprintf(error->message + length, sizeof error->message - length, "%s %s %s%s%s",
                 shown == 0 ? "; it was on" : ",", record_mode_name(column->mode), ft_dtype_name(column->dtype),
                 column->setting[0] != '\0' ? " " : "", column->setting);
        shown++;
    }
    return FT_ERR_UNSUPPORTED;
}

/* The column of a request, on a device or (FT_NONE) on any. Open type and setting match the column with most labels;
 * given ones must have been measured. */
static ft_status find_column(const gnn_model *m, const ft_request *request, const target_device *target,
                             uint32_t *found, ft_error *error) {
    const char *setting = request->setting != NULL ? request->setting : "";
    uint32_t best = FT_NONE;
    for (uint32_t c = 0; c < m->column_count; c++) {
        const gnn_column *column = &m->columns[c];
        if (!is_candidate(column, target) || column->mode != request->mode) continue;
        if (request->dtype != FT_DTYPE_UNKNOWN && column->dtype != FT_DTYPE_UNKNOWN && column->dtype != request->dtype)
            continue;
        if (setting[0] != '\0' && strcmp(column->setting, setting) != 0) continue;
        bool is_exact = strcmp(column->setting, setting) == 0;
        bool was_exact = best != FT_NONE && strcmp(m->columns[best].setting, setting) == 0;
        if (best == FT_NONE || (is_exact && !was_exact) ||
            (is_exact == was_exact && column->labels > m->columns[best].labels))
            best = c;
    }
    *found = best;
    return best != FT_NONE ? FT_OK : fail_column(m, request, target, error);
}

/* Predictions for a device that was not in training, from its data sheet: a copy of column `like` with its features. */
static ft_status infer_unseen_device(const gnn_model *m, model_view *s, const gnn_column *like, const ft_device *sheet,
                                     arena *memory, const gnn_inference **found, ft_error *error) {
    gnn_column column = *like;
    gnn_inference *v = NULL;
    if (!gnn_reads_sheets(m) || sheet == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s was not trained on this device", m->kind->name);
    FT_TRY(m->kind->sheet(sheet, column.values, error));
    FT_TRY(gnn_inference_make(m, s, &column, 1, memory, &v, error));
    *found = v;
    return FT_OK;
}

/* The predictions for a request on a target device: *column of *found. */
static ft_status infer_column(const gnn_model *m, model_view *s, const target_device *target, arena *memory,
                              const gnn_inference **found, uint32_t *column, ft_error *error) {
    FT_TRY(find_column(m, &s->request, target, column, error));
    if (target->index != FT_NONE) return cached_inference(m, s, found, error);
    FT_TRY(infer_unseen_device(m, s, &m->columns[*column], target->sheet, memory, found, error));
    *column = 0;
    return FT_OK;
}

static ft_status make_output(const gnn_inference *v, uint32_t column, bool is_trained, model_output *out,
                             ft_error *error) {
    static const double MIN_SPREAD = 0.01, UNKNOWN_SPREAD = 0.1, UNSEEN_DEVICE_FACTOR = 3;
    double value = v->values[column];
    assert(!(v->spread[column] < 0));
    if (!isfinite(value)) return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    double spread = MIN_SPREAD + v->spread[column] + UNKNOWN_SPREAD * (1 - v->known_ratio);
    *out = (model_output){.value = fmax(value, MIN_PREDICTED_VALUE),
                          .spread = is_trained ? spread : spread * UNSEEN_DEVICE_FACTOR,
                          .coverage_ratio = v->known_ratio,
                          .provenance = is_trained ? FT_LEARNED : FT_EXTRAPOLATED};
    return FT_OK;
}

ft_status gnn_predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const gnn_model *m = model;
    const gnn_inference *v = NULL;
    uint32_t column;
    FT_TRY(infer_column(m, in->view, in->target, in->memory, &v, &column, error));
    return make_output(v, column, in->target->index != FT_NONE, out, error);
}

ft_status gnn_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                      ft_error *error) {
    const gnn_model *m = model;
    const gnn_inference *v = NULL;
    uint32_t column;
    FT_TRY(infer_column(m, in->view, in->target, in->memory, &v, &column, error));
    FT_TRY(make_output(v, column, in->target->index != FT_NONE, out, error));
    uint32_t width = v->hidden_width;
    double *time = ARENA_NEW(in->memory, double);
    float *features = ARENA_ARRAY(in->memory, float, (size_t)width + 1);
    if (time == NULL || features == NULL) return FT_NOMEM(error);
    *time = out->value;
    features[0] = (float)log2(fmax(out->value, MIN_PREDICTED_VALUE));
    if (width > 0) memcpy(features + 1, v->hidden + (size_t)column * width, width * sizeof *features);
    *made_of = (explanation){.count = 1, .row_count = 1, .term_count = 1, .times = time, .features = features};
    made_of->size_count = made_of->feature_count = width + 1;
    return FT_OK;
}

bool gnn_reads_sheets(const void *model) {
    const gnn_model *m = model;
    return m->plan.widths.column_values > 0;
}
