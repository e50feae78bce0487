/* gnn_ask.c - asking a trained graph network. It says all columns at once, so what it said of a subject is kept for the
 * next device. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "predictor/baselines.h"
#include "predictor/gnn_family.h"
#include "predictor/gnn_model.h"

static const size_t TAPE_LIMIT = (size_t)1 << 30;
static const uint64_t LOOK_LIMIT = (uint64_t)1 << 30;

/* What the members say of a subject. */
typedef struct view {
    double *values; /* per column, of all members together */
    double *away;   /* per column: how far the members are from each other, relative */
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

/* Adds what one network says to sums of values and of squares. */
static ft_status ask_member(const model *m, gnn_member *member, const gnn_batch *batch, double *sums, double *squares,
                            ft_error *error) {
    tape *t = NULL;
    FT_TRY(take_tape(member, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *said = m->kind->forward(member->net, t, batch);
    ft_status status = tape_status(t, error);
    for (uint32_t c = 0; status == FT_OK && c < m->column_count; c++) {
        double value = said->data[c] * m->columns[c].scale + m->columns[c].shift;
        sums[c] += value;
        squares[c] += value * value;
    }
    give_tape(member, t);
    return status;
}

/* Members are averaged before the transform is undone: logarithms of times, where it is one. */
static ft_status ask(const model *m, const gnn_batch *batch, view *v, ft_error *error) {
    double members = m->member_count;
    gnn_target target = (gnn_target)m->plan.shared.target;
    for (uint32_t i = 0; i < m->member_count; i++)
        FT_TRY(ask_member(m, &m->members[i], batch, v->values, v->away, error));
    for (uint32_t c = 0; c < m->column_count; c++) {
        double mean = v->values[c] / members, variance = fmax(0, v->away[c] / members - mean * mean);
        double deviation = sqrt(variance * members / fmax(1, members - 1));
        v->values[c] = gnn_label_of(target, mean);
        v->away[c] = target == GNN_TARGET_RAW ? deviation / fmax(fabs(mean), BASELINE_LEAST) : deviation;
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

static ft_status view_of(const model *m, subject *s, const view **found, ft_error *error) {
    view *v = subject_kept(s, m);
    gnn_batch batch;
    arena memory;
    if (v == NULL) {
        v = ARENA_NEW(&s->memory, view);
        if (v == NULL) return FT_NOMEM(error);
        v->values = ARENA_ARRAY(&s->memory, double, (size_t)m->column_count);
        v->away = ARENA_ARRAY(&s->memory, double, (size_t)m->column_count);
        if (v->values == NULL || v->away == NULL) return FT_NOMEM(error);
        arena_init(&memory, LOOK_LIMIT);
        ft_status status = look(m, s, &memory, &batch, &v->known_ratio, error);
        if (status == FT_OK) status = ask(m, &batch, v, error);
        arena_free(&memory);
        FT_TRY(status);
        subject_keep(s, m, v);
    }
    *found = v;
    return FT_OK;
}

/* --- Columns ------------------------------------------------------------------------------------------------- */

/* The column of the first metric that a question is about. What it leaves open (type, setting) is that which was
 * measured most; what it says must have been measured. */
static ft_status find_column(const model *m, const ft_query *query, uint32_t device, uint32_t *found, ft_error *error) {
    const char *setting = query->setting != NULL ? query->setting : "";
    uint32_t best = FT_NONE;
    for (uint32_t c = 0; c < m->column_count; c++) {
        const gnn_column *column = &m->columns[c];
        if (column->device != device || column->metric != 0 || column->mode != query->mode) continue;
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
    if (best != FT_NONE) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED, "%s was not trained on mode '%s', type '%s', setting '%s' on this device",
                   m->kind->name, query->mode == FT_TRAIN ? "train" : "infer", ft_dtype_name(query->dtype), setting);
}

ft_status gnn_predict(const model *m, subject *s, const place *where, bool has_parts, arena *memory, prediction *out,
                      ft_error *error) {
    static const double LEAST_SPREAD = 0.01, UNKNOWN_SPREAD = 0.1;
    (void)has_parts;
    (void)memory;
    const view *v = NULL;
    uint32_t column;
    FT_TRY(find_column(m, &s->query, where->index, &column, error));
    FT_TRY(view_of(m, s, &v, error));
    double value = v->values[column];
    if (!isfinite(value)) return ft_fail(error, FT_ERR_LIMIT, "the model is too large or too small for this predictor");
    *out = (prediction){.value = fmax(value, BASELINE_LEAST),
                        .spread = LEAST_SPREAD + v->away[column] + UNKNOWN_SPREAD * (1 - v->known_ratio),
                        .coverage_ratio = v->known_ratio,
                        .source = FT_LEARNED};
    return FT_OK;
}

uint32_t gnn_column_count(const model *m) {
    return m->column_count;
}

ft_status gnn_predict_all(const model *m, subject *s, double *values, ft_error *error) {
    const view *v = NULL;
    FT_TRY(view_of(m, s, &v, error));
    memcpy(values, v->values, m->column_count * sizeof *values);
    return FT_OK;
}
