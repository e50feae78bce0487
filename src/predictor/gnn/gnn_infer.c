/* gnn_infer.c - feature extraction and inference with the members of a trained graph network. */
#include "predictor/gnn/gnn_infer.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"

static const size_t TAPE_LIMIT = (size_t)1 << 30;

/* --- Features ------------------------------------------------------------------------------------------------- */

ft_status gnn_inference_prepare(const gnn_model *m, model_view *s, uint32_t column_count, arena *memory, arena *room,
                                gnn_inference **out, ft_error *error) {
    assert(column_count > 0);
    uint32_t width = m->kind->has_hidden ? (uint32_t)m->plan.shared.hidden : 0;
    gnn_inference *v = ARENA_NEW(room, gnn_inference);
    if (v == NULL) return FT_NOMEM(error);
    v->values = ARENA_ARRAY(room, double, (size_t)column_count);
    v->spread = ARENA_ARRAY(room, double, (size_t)column_count);
    if (width > 0) v->hidden = ARENA_ARRAY(room, float, (size_t)column_count *width);
    if (v->values == NULL || v->spread == NULL || (width > 0 && v->hidden == NULL)) return FT_NOMEM(error);
    FT_TRY(m->kind->extract(m->plan.own, m->extractor, s, memory, &v->sample, error));
    if (v->sample.nodes == 0) return ft_fail(error, FT_ERR_GRAPH, "the model has no operators to predict from");
    v->known_ratio = gnn_scaling_coverage(&m->scaling, &v->sample);
    gnn_scale_sample(&m->scaling, &v->sample);
    *out = v;
    return FT_OK;
}

/* --- Networks ------------------------------------------------------------------------------------------------ */

/* A tape: the spare one or, if another thread has it, a new one. */
static ft_status take_tape(gnn_member *member, tape **t, ft_error *error) {
    *t = atomic_exchange(&member->spare, NULL);
    return *t != NULL ? FT_OK : tape_new(&member->values, TAPE_LIMIT, t, error);
}

static void return_tape(gnn_member *member, tape *t) {
    tape_free(atomic_exchange(&member->spare, t));
}

/* Adds the outputs of one network to the sums of values and of squares; `hidden`, the input of the last layer, may be
 * NULL. */
static void add_predicted(gnn_inference *v, const float *predicted, const float *hidden, uint32_t hidden_width,
                          uint32_t columns) {
    for (uint32_t c = 0; c < columns; c++) {
        double value = predicted[c];
        v->values[c] += value;
        v->spread[c] += value * value;
    }
    if (hidden == NULL) return;
    memcpy(v->hidden, hidden, (size_t)columns * hidden_width * sizeof *hidden);
    v->hidden_width = hidden_width;
}

/* The first network also outputs the input of its last layer, for explanations. */
static ft_status run_member(const gnn_model *m, uint32_t number, const gnn_batch *batch, gnn_inference *const *items,
                            ft_error *error) {
    gnn_member *member = &m->members[number];
    gnn_batch own = *batch;
    tensor *hidden = NULL;
    tape *t = NULL;
    if (number == 0 && m->kind->has_hidden) own.hidden = &hidden;
    FT_TRY(take_tape(member, &t, error));
    tape_begin(t, TAPE_INFER, 0, 0);
    const tensor *predicted = m->kind->forward(member->net, t, &own);
    ft_status status = tape_status(t, error);
    uint32_t columns = batch->columns, width = hidden != NULL ? hidden->cols : 0;
    assert(width <= m->plan.shared.hidden);
    for (size_t i = 0; status == FT_OK && i < batch->samples; i++)
        add_predicted(items[i], predicted->data + i * columns, width > 0 ? hidden->data + i * columns * width : NULL,
                      width, columns);
    return_tape(member, t);
    return status;
}

/* Members are averaged before the label transform is inverted: as logarithms of times, usually. */
static void average(const gnn_model *m, const gnn_column *columns, uint32_t column_count, gnn_inference *v) {
    double members = m->member_count;
    assert(m->member_count > 0);
    for (uint32_t c = 0; c < column_count; c++) {
        double mean = v->values[c] / members, variance = fmax(0, v->spread[c] / members - mean * mean);
        double deviation = sqrt(variance * members / fmax(1, members - 1));
        v->values[c] = label_of_target(&columns[c].scale, mean);
        v->spread[c] = label_spread(&columns[c].scale, mean, deviation);
    }
}

ft_status gnn_inference_run(const gnn_model *m, gnn_inference *const *items, uint32_t count, const gnn_column *columns,
                            uint32_t column_count, arena *memory, ft_error *error) {
    gnn_batch batch;
    if (count == 0) return FT_OK;
    const gnn_sample **samples = ARENA_ARRAY(memory, const gnn_sample *, count);
    if (samples == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < count; i++) samples[i] = &items[i]->sample;
    if (!gnn_batch_join(&batch, &m->plan.widths, samples, count, memory)) return FT_NOMEM(error);
    batch.columns = column_count;
    batch.column_values = gnn_column_values(columns, column_count, m->plan.widths.column_values, memory);
    if (batch.column_values == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < m->member_count; i++) FT_TRY(run_member(m, i, &batch, items, error));
    for (uint32_t i = 0; i < count; i++) {
        average(m, columns, column_count, items[i]);
        items[i]->sample = (gnn_sample){0}; /* its memory is freed first */
    }
    return FT_OK;
}

ft_status gnn_inference_make(const gnn_model *m, model_view *s, const gnn_column *columns, uint32_t column_count,
                             arena *room, gnn_inference **out, ft_error *error) {
    arena memory;
    arena_init(&memory, GNN_EXTRACT_MEMORY);
    ft_status status = gnn_inference_prepare(m, s, column_count, &memory, room, out, error);
    if (status == FT_OK) status = gnn_inference_run(m, out, 1, columns, column_count, &memory, error);
    arena_free(&memory);
    return status;
}
