/* gnn_ask.c - asking a trained graph network. It says all columns at once, so what it said of a subject is kept for the
 * next device. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/records.h"
#include "predictor/baselines.h"
#include "predictor/gnn_family.h"
#include "predictor/gnn_model.h"

static const size_t TAPE_LIMIT = (size_t)1 << 30;
static const uint64_t LOOK_LIMIT = (uint64_t)1 << 30;

/* What the members say of a subject. */
typedef struct view {
    double *values; /* per column, of all members together */
    double *away;   /* per column: how far the members are from each other, relative */
    float *hidden;  /* per column what the last layer of the first member sees; NULL: it does not tell */
    uint32_t hidden_width;
    double known_ratio;
} view;

/* --- Networks ------------------------------------------------------------------------------------------------ */

/* A tape for a question: the spare one, or, when another thread has that, a new one. */
static ft_status take_tape(gnn_member *member, tape **t, ft_error *error) {
    *t = atomic_exchange(&member->spare, NULL);
    return *t != NULL ? FT_OK : tape_new(&member->values, TAPE_LIMIT, t, error);
}

static void give_tape(gnn_member *member, tape *t) {
    tape_free(atomic_exchange(&member->spare, t));
}

/* Adds what one network says of columns to sums of values and of squares; of the first also what its last layer sees,
 * for those who ask what a prediction is made of. The view is in `room`. */
static ft_status ask_member(const model *m, uint32_t number, const gnn_batch *batch, arena *room, view *v,
                            ft_error *error) {
    gnn_member *member = &m->members[number];
    gnn_batch asking = *batch;
    tensor *hidden = NULL;
    tape *t = NULL;
    if (number == 0 && m->kind->has_hidden) asking.hidden = &hidden;
    FT_TRY(take_tape(member, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *said = m->kind->forward(member->net, t, &asking);
    ft_status status = tape_status(t, error);
    for (uint32_t c = 0; status == FT_OK && c < batch->columns; c++) {
        double value = said->data[c];
        v->values[c] += value;
        v->away[c] += value * value;
    }
    if (status == FT_OK && hidden != NULL) {
        v->hidden = arena_copy(room, hidden->data, tensor_size(hidden) * sizeof(float));
        v->hidden_width = hidden->cols;
        if (v->hidden == NULL) status = FT_NOMEM(error);
    }
    give_tape(member, t);
    return status;
}

/* Members are averaged before the transform is undone: logarithms of times, where it is one. */
static ft_status ask(const model *m, const gnn_batch *batch, const gnn_column *columns, arena *room, view *v,
                     ft_error *error) {
    double members = m->member_count;
    for (uint32_t i = 0; i < m->member_count; i++) FT_TRY(ask_member(m, i, batch, room, v, error));
    for (uint32_t c = 0; c < batch->columns; c++) {
        double mean = v->values[c] / members, variance = fmax(0, v->away[c] / members - mean * mean);
        double deviation = sqrt(variance * members / fmax(1, members - 1));
        v->values[c] = label_of_target(&columns[c].scale, mean);
        v->away[c] = label_spread(&columns[c].scale, mean, deviation);
    }
    return FT_OK;
}

/* --- Subjects ------------------------------------------------------------------------------------------------ */

static ft_status look(const model *m, subject *s, arena *memory, gnn_batch *batch, double *known, ft_error *error) {
    gnn_sample sample = {0};
    const gnn_sample *list[] = {&sample};
    FT_TRY(m->kind->look(m->plan.own, m->eyes, s, memory, &sample, error));
    if (sample.nodes == 0) return ft_fail(error, FT_ERR_GRAPH, "there is nothing in the model to predict from");
    *known = gnn_scaling_knows(&m->scaling, &sample);
    gnn_scale_sample(&m->scaling, &sample);
    return gnn_batch_join(batch, &m->plan.widths, list, 1, memory) ? FT_OK : FT_NOMEM(error);
}

/* The view is in `room`, what it is worked out from in `memory`. */
static ft_status look_and_ask(const model *m, subject *s, const gnn_column *columns, uint32_t count, arena *memory,
                              arena *room, view *v, ft_error *error) {
    gnn_batch batch;
    FT_TRY(look(m, s, memory, &batch, &v->known_ratio, error));
    batch.columns = count;
    batch.column_values = gnn_column_values(columns, count, m->plan.widths.column_values, memory);
    if (batch.column_values == NULL) return FT_NOMEM(error);
    return ask(m, &batch, columns, room, v, error);
}

static ft_status view_new(const model *m, subject *s, const gnn_column *columns, uint32_t count, arena *room,
                          view **made, ft_error *error) {
    arena memory;
    view *v = ARENA_NEW(room, view);
    if (v == NULL) return FT_NOMEM(error);
    v->values = ARENA_ARRAY(room, double, (size_t)count);
    v->away = ARENA_ARRAY(room, double, (size_t)count);
    if (v->values == NULL || v->away == NULL) return FT_NOMEM(error);
    arena_init(&memory, LOOK_LIMIT);
    ft_status status = look_and_ask(m, s, columns, count, &memory, room, v, error);
    arena_free(&memory);
    *made = v;
    return status;
}

static ft_status view_of(const model *m, subject *s, const view **found, ft_error *error) {
    view *v = subject_kept(s, m);
    if (v == NULL) {
        FT_TRY(view_new(m, s, m->columns, m->column_count, &s->memory, &v, error));
        subject_keep(s, m, v);
    }
    *found = v;
    return FT_OK;
}

/* --- Columns ------------------------------------------------------------------------------------------------- */

/* On a device or (index FT_NONE) on any. */
static bool is_of(const gnn_column *column, const place *where) {
    return (where->index == FT_NONE || column->device == where->index) && column->metric == where->output;
}

/* Tells some of what the metric was measured with on the device. */
static ft_status fail_column(const model *m, const ft_query *query, const place *where, ft_error *error) {
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
static ft_status find_column(const model *m, const ft_query *query, const place *where, uint32_t *found,
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
static ft_status view_elsewhere(const model *m, subject *s, const gnn_column *like, const ft_device *sheet,
                                arena *memory, const view **found, ft_error *error) {
    gnn_column column = *like;
    view *v = NULL;
    if (!gnn_reads_sheets(m) || sheet == NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s was not trained on this device", m->kind->name);
    FT_TRY(m->kind->sheet(sheet, column.values, error));
    FT_TRY(view_new(m, s, &column, 1, memory, &v, error));
    *found = v;
    return FT_OK;
}

/* What is said of a place: *column of *found. */
static ft_status view_at(const model *m, subject *s, const place *where, arena *memory, const view **found,
                         uint32_t *column, ft_error *error) {
    FT_TRY(find_column(m, &s->query, where, column, error));
    if (where->index != FT_NONE) return view_of(m, s, found, error);
    FT_TRY(view_elsewhere(m, s, &m->columns[*column], where->sheet, memory, found, error));
    *column = 0;
    return FT_OK;
}

static ft_status tell(const view *v, uint32_t column, bool is_met, prediction *out, ft_error *error) {
    static const double LEAST_SPREAD = 0.01, UNKNOWN_SPREAD = 0.1, ELSEWHERE = 3;
    double value = v->values[column];
    if (!isfinite(value)) return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    double spread = LEAST_SPREAD + v->away[column] + UNKNOWN_SPREAD * (1 - v->known_ratio);
    *out = (prediction){.value = fmax(value, BASELINE_LEAST),
                        .spread = is_met ? spread : spread * ELSEWHERE,
                        .coverage_ratio = v->known_ratio,
                        .source = is_met ? FT_LEARNED : FT_ASSUMED};
    return FT_OK;
}

ft_status gnn_predict(const model *m, subject *s, const place *where, bool has_parts, arena *memory, prediction *out,
                      ft_error *error) {
    (void)has_parts;
    const view *v = NULL;
    uint32_t column;
    FT_TRY(view_at(m, s, where, memory, &v, &column, error));
    return tell(v, column, where->index != FT_NONE, out, error);
}

ft_status gnn_look(const model *m, subject *s, const place *where, bool has_parts, arena *memory, prediction *out,
                   pieces *made_of, ft_error *error) {
    (void)has_parts;
    const view *v = NULL;
    uint32_t column;
    FT_TRY(view_at(m, s, where, memory, &v, &column, error));
    FT_TRY(tell(v, column, where->index != FT_NONE, out, error));
    uint32_t width = v->hidden != NULL ? v->hidden_width : 0;
    double *time = ARENA_NEW(memory, double);
    float *features = ARENA_ARRAY(memory, float, (size_t)width + 1);
    if (time == NULL || features == NULL) return FT_NOMEM(error);
    *time = out->value;
    features[0] = (float)log2(fmax(out->value, BASELINE_LEAST));
    if (width > 0) memcpy(features + 1, v->hidden + (size_t)column * width, width * sizeof *features);
    *made_of = (pieces){.count = 1, .row_count = 1, .term_count = 1, .times = time, .features = features};
    made_of->size_count = made_of->feature_count = width + 1;
    return FT_OK;
}

bool gnn_reads_sheets(const model *m) {
    return m->plan.widths.column_values > 0;
}
