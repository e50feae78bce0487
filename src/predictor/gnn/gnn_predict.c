/* gnn_predict.c - asking a trained graph network. It says all columns at once, so what it said of a subject is kept for
 * the next device. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/records.h"
#include "predictor/core/family_common.h"
#include "predictor/gnn/gnn_family.h"
#include "predictor/gnn/gnn_infer.h"

/* --- Views --------------------------------------------------------------------------------------------------- */

static ft_status view_of(const gnn_model *m, model_view *s, const gnn_inference **found, ft_error *error) {
    gnn_inference *v = model_view_kept(s, m);
    if (v == NULL) {
        FT_TRY(gnn_inference_make(m, s, m->columns, m->column_count, &s->memory, &v, error));
        model_view_keep(s, m, v);
    }
    *found = v;
    return FT_OK;
}

ft_status gnn_precompute(const void *model, model_view *const *subjects, uint32_t count, ft_error *error) {
    const gnn_model *m = model;
    arena memory;
    arena_init(&memory, GNN_EXTRACT_MEMORY);
    gnn_inference **views = ARENA_ARRAY(&memory, gnn_inference *, (size_t)count + 1);
    model_view **seen = ARENA_ARRAY(&memory, model_view *, (size_t)count + 1);
    uint32_t seen_count = 0;
    ft_status status = views != NULL && seen != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t i = 0; i < count && status == FT_OK; i++) {
        ft_error reason;
        model_view *s = subjects[i];
        if (model_view_kept(s, m) != NULL) continue; /* a model of several metrics is asked for each of them */
        ft_status looked =
            gnn_inference_prepare(m, s, m->column_count, &memory, &s->memory, &views[seen_count], &reason);
        if (looked == FT_OK) seen[seen_count++] = s;
    }
    if (status == FT_OK) status = gnn_inference_run(m, views, seen_count, m->columns, m->column_count, &memory, error);
    for (uint32_t i = 0; i < seen_count && status == FT_OK; i++) model_view_keep(seen[i], m, views[i]);
    arena_free(&memory);
    return status;
}

/* --- Columns ------------------------------------------------------------------------------------------------- */

/* On a device or (index FT_NONE) on any. */
static bool is_of(const gnn_column *column, const target_device *where) {
    return (where->index == FT_NONE || column->device == where->index) && column->metric == where->output;
}

/* Tells some of what the metric was measured with on the device. */
static ft_status fail_column(const gnn_model *m, const ft_request *query, const target_device *where, ft_error *error) {
    enum { SHOWN = 3 };
    uint32_t shown = 0;
    ft_fail(error, FT_ERR_UNSUPPORTED, "%s was not trained on mode '%s', type '%s', setting '%s' on this device",
            m->kind->name, record_mode_name(query->mode), ft_dtype_name(query->dtype),
            query->setting != NULL ? query->setting : "");
    for (uint32_t c = 0; error != NULL && c < m->column_count && shown < SHOWN; c++) {
        const gnn_column *column = &m->columns[c];
        size_t length = strlen(error->message);
        if (!is_of(column, where)) continue;
        snprintf(error->message + length, sizeof error->message - length, "%s %s %s%s%s",
                 shown == 0 ? "; it was on" : ",", record_mode_name(column->mode), ft_dtype_name(column->dtype),
                 column->setting[0] != '\0' ? " " : "", column->setting);
        shown++;
    }
    return FT_ERR_UNSUPPORTED;
}

/* The column that a question is about, on a device or (index FT_NONE) on any. What it leaves open (type, setting) is
 * that which was measured most; what it says must have been measured. */
static ft_status find_column(const gnn_model *m, const ft_request *query, const target_device *where, uint32_t *found,
                             ft_error *error) {
    const char *setting = query->setting != NULL ? query->setting : "";
    uint32_t best = FT_NONE;
    for (uint32_t c = 0; c < m->column_count; c++) {
        const gnn_column *column = &m->columns[c];
        if (!is_of(column, where) || column->mode != query->mode) continue;
        if (query->dtype != FT_DTYPE_UNKNOWN && column->dtype != FT_DTYPE_UNKNOWN && column->dtype != query->dtype)
            continue;
        if (setting[0] != '\0' && strcmp(column->setting, setting) != 0) continue;
        bool is_exact = strcmp(column->setting, setting) == 0;
        bool was_exact = best != FT_NONE && strcmp(m->columns[best].setting, setting) == 0;
        if (best == FT_NONE || (is_exact && !was_exact) ||
            (is_exact == was_exact && column->labels > m->columns[best].labels))
            best = c;
    }
    *found = best;
    return best != FT_NONE ? FT_OK : fail_column(m, query, where, error);
}

/* What is said of a device that was not in training, from its data sheet: as a column of its own, like one that was. */
static ft_status view_elsewhere(const gnn_model *m, model_view *s, const gnn_column *like, const ft_device *sheet,
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

/* What is said of a place: *column of *found. */
static ft_status view_at(const gnn_model *m, model_view *s, const target_device *where, arena *memory,
                         const gnn_inference **found, uint32_t *column, ft_error *error) {
    FT_TRY(find_column(m, &s->query, where, column, error));
    if (where->index != FT_NONE) return view_of(m, s, found, error);
    FT_TRY(view_elsewhere(m, s, &m->columns[*column], where->sheet, memory, found, error));
    *column = 0;
    return FT_OK;
}

static ft_status tell(const gnn_inference *v, uint32_t column, bool is_met, model_output *out, ft_error *error) {
    static const double MIN_SPREAD = 0.01, UNKNOWN_SPREAD = 0.1, ELSEWHERE = 3;
    double value = v->values[column];
    if (!isfinite(value)) return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    double spread = MIN_SPREAD + v->spread[column] + UNKNOWN_SPREAD * (1 - v->known_ratio);
    *out = (model_output){.value = fmax(value, MIN_PREDICTED_VALUE),
                          .spread = is_met ? spread : spread * ELSEWHERE,
                          .coverage_ratio = v->known_ratio,
                          .provenance = is_met ? FT_LEARNED : FT_EXTRAPOLATED};
    return FT_OK;
}

ft_status gnn_predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    const gnn_model *m = model;
    const gnn_inference *v = NULL;
    uint32_t column;
    FT_TRY(view_at(m, in->view, in->target, in->memory, &v, &column, error));
    return tell(v, column, in->target->index != FT_NONE, out, error);
}

ft_status gnn_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                      ft_error *error) {
    const gnn_model *m = model;
    const gnn_inference *v = NULL;
    uint32_t column;
    FT_TRY(view_at(m, in->view, in->target, in->memory, &v, &column, error));
    FT_TRY(tell(v, column, in->target->index != FT_NONE, out, error));
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
