/* sequence_net.c - settings and network of the kinds over rows of a program. */
#include "predictor/program/sequence_net.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "predictor/gnn/gnn_model.h"
#include "predictor/program/program_demand.h"

enum { MAX_HEAD = 8 };

const char *const sequence_last[] = {"head", "sheet", "place", "met", "out", "slope", NULL};
static const char *const column_names[] = {"device", "shared"}, *const readout_names[] = {"pooled", "counted"};

struct gnn_net {
    uint32_t layers, head_layers;
    gnn_widths widths;
    param_id kinds;
    layer_linear values, marks, out;
    layer_linear sheet, device; /* of a device: hidden layer, and its input to the head */
    layer_linear times;         /* device times, as input to the head */
    param_id slope;             /* of the target over the combined time of the parts */
    layer_encoder encoders[GNN_MAX_LAYERS];
    bool is_counted;
    sequence_count counted;
    layer_linear head[MAX_HEAD];
};

void sequence_defaults(gnn_options *shared, void *own) {
    sequence_options *o = own;
    shared->hidden = 96;
    shared->layers = 2;
    shared->steps = 8000;
    shared->batch = 256;
    shared->average = 0.999;
    shared->dropout = 0.1;
    shared->rate = 0.002;
    *o = (sequence_options){.heads = 4, .inner = 2, .head = 2, .columns = SEQUENCE_SHARED};
}

void sequence_keys(void *own, config_list *list) {
    sequence_options *o = own;
    config_add_whole(list, "heads", 1, 64, &o->heads);
    config_add_whole(list, "inner", 1, 16, &o->inner);
    config_add_whole(list, "head", 0, MAX_HEAD, &o->head);
    config_add_choice(list, "columns", column_names, 2, &o->columns);
    config_add_choice(list, "readout", readout_names, 2, &o->readout);
}

uint32_t sequence_column_values(const void *own) {
    const sequence_options *o = own;
    return o != NULL && o->columns == SEQUENCE_SHARED ? PROGRAM_SHEET_VALUES : 0;
}

ft_status sequence_check(const gnn_options *shared, const void *own, ft_error *error) {
    const sequence_options *o = own;
    if (o->columns == SEQUENCE_SHARED && o->head < 1)
        return ft_fail(error, FT_ERR_USAGE, "config: columns=shared needs head=1 or more");
    if ((uint32_t)shared->hidden % (uint32_t)o->heads == 0) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "config: hidden=%.0f is not divisible by heads=%.0f", shared->hidden, o->heads);
}

gnn_net *sequence_build(const gnn_plan *plan, params *p) {
    const sequence_options *o = plan->own;
    const gnn_widths *w = &plan->widths;
    uint32_t width = (uint32_t)plan->shared.hidden;
    encoder_options encoder = {.width = width,
                               .heads = (uint32_t)o->heads,
                               .inner = width * (uint32_t)o->inner,
                               .dropout = (float)plan->shared.dropout,
                               .act = ACT_GELU,
                               .is_norm_first = true};
    gnn_net *n = calloc(1, sizeof *n);
    char name[64];
    assert(plan->shared.layers <= GNN_MAX_LAYERS && o->head <= MAX_HEAD);
    if (n == NULL) return NULL;
    *n = (gnn_net){.layers = (uint32_t)plan->shared.layers, .head_layers = (uint32_t)o->head, .widths = *w};
    if (w->kinds > 0) n->kinds = params_add(p, w->kinds, width, PARAM_NORMAL, "kinds");
    n->values = layer_linear_add(p, "values", w->node_values, width, true);
    if (w->node_marks > 0) n->marks = layer_linear_add(p, "marks", w->node_marks, width, false);
    for (uint32_t i = 0; i < n->layers; i++) {
        snprintf(name, sizeof name, "encoder%u", i);
        n->encoders[i] = layer_encoder_add(p, name, &encoder);
    }
    n->is_counted = o->readout == SEQUENCE_COUNTED;
    if (n->is_counted) n->counted = sequence_count_add(p, width);
    uint32_t inputs = (n->is_counted ? 3 : 2) * width + w->global_values + w->global_marks - w->demand_marks;
    for (uint32_t i = 0; i < n->head_layers; i++, inputs = width) {
        snprintf(name, sizeof name, "head%u", i);
        n->head[i] = layer_linear_add(p, name, inputs, width, true);
    }
    if (w->column_values > 0) {
        n->sheet = layer_linear_add(p, "sheet", w->column_values, width, true);
        n->device = layer_linear_add(p, "place", width, width, false);
    }
    uint32_t outputs = w->column_values > 0 ? 1 : plan->outputs;
    if (w->demand_marks > 0) {
        n->times = layer_linear_add(p, "met", PROGRAM_DEVICE_TIMES, width, false);
        n->slope = params_add(p, 1, 1, PARAM_ONES, "slope");
        outputs = RES_PARTS;
    }
    n->out = layer_linear_add(p, "out", inputs, outputs, true);
    return n;
}

/* --- Read-out by length -------------------------------------------------------------------------------------- */

sequence_count sequence_count_add(params *p, uint32_t width) {
    sequence_count made = {0};
    for (uint32_t rows = 1; rows <= SEQUENCE_MAX_COUNT; rows++) {
        char name[32];
        snprintf(name, sizeof name, "rows%u", rows);
        made.of[rows] = layer_linear_add(p, name, rows * width, width, true);
    }
    return made;
}

/* Segments of a length; NULL if there are none, or when out of memory. */
static uint32_t *find_length(tape *t, segments s, uint32_t length, uint32_t *count) {
    *count = 0;
    for (uint32_t i = 0; i < s.count; i++) *count += s.start[i + 1] - s.start[i] == length;
    uint32_t *found = *count > 0 ? tape_alloc(t, *count, sizeof *found) : NULL;
    for (uint32_t i = 0, k = 0; found != NULL && i < s.count; i++)
        if (s.start[i + 1] - s.start[i] == length) found[k++] = i;
    return found;
}

/* Concatenated rows times a matrix: the sum of each row times its block of the matrix. */
static tensor *apply_length(tape *t, const layer_linear *layer, tensor *x, segments s, const uint32_t *of,
                            uint32_t count, uint32_t length) {
    tensor *sum = NULL, *weights = tape_param(t, layer->weight);
    for (uint32_t row = 0; row < length; row++) {
        uint32_t *index = tape_alloc(t, count, sizeof *index);
        if (index == NULL) return NULL;
        for (uint32_t i = 0; i < count; i++) index[i] = s.start[of[i]] + row;
        tensor *part = nn_matmul(t, nn_gather(t, x, index, count), nn_slice_rows(t, weights, row * x->cols, x->cols));
        sum = sum == NULL ? part : nn_add(t, sum, part);
    }
    return nn_scatter(t, nn_add_row(t, sum, tape_param(t, layer->bias)), of, s.count);
}

tensor *sequence_count_apply(tape *t, const sequence_count *layers, tensor *x, segments s) {
    tensor *sum = NULL;
    if (t->has_failed) return NULL;
    for (uint32_t length = 1; length <= SEQUENCE_MAX_COUNT; length++) {
        uint32_t count, *of = find_length(t, s, length, &count);
        if (of == NULL) continue;
        tensor *some = apply_length(t, &layers->of[length], x, s, of, count, length);
        sum = sum == NULL ? some : nn_add(t, sum, some);
    }
    return sum != NULL ? sum : nn_scale(t, nn_segment_mean(t, x, s), 0);
}

/* --- Forward ------------------------------------------------------------------------------------------------- */

static tensor *rows_of(const gnn_net *n, tape *t, const gnn_batch *b) {
    const gnn_widths *w = &n->widths;
    tensor *x = layer_linear_apply(t, &n->values, tape_input(t, b->nodes, w->node_values, b->node_values), ACT_NONE);
    if (w->node_marks > 0) {
        tensor *marks = tape_input(t, b->nodes, w->node_marks, b->node_marks);
        x = nn_add(t, x, layer_linear_apply(t, &n->marks, marks, ACT_NONE));
    }
    if (w->kinds > 0) x = nn_add(t, x, nn_gather(t, tape_param(t, n->kinds), b->kinds, b->nodes));
    return x;
}

/* Device times of each program on each device; NULL when out of memory. */
static tensor *find_device_times(const gnn_net *n, tape *t, const gnn_batch *b) {
    const gnn_widths *w = &n->widths;
    float *times = tape_alloc(t, (size_t)b->samples * b->columns * PROGRAM_DEVICE_TIMES, sizeof *times), *row = times;
    if (times == NULL) return NULL;
    for (uint32_t i = 0; i < b->samples; i++) {
        const float *demand = b->global_marks + (size_t)(i + 1) * w->global_marks - w->demand_marks;
        for (uint32_t c = 0; c < b->columns; c++, row += PROGRAM_DEVICE_TIMES)
            program_device_times(demand, b->column_values + (size_t)c * w->column_values, row);
    }
    return tape_input(t, b->samples * b->columns, PROGRAM_DEVICE_TIMES, times);
}

/* The time of a program is that of its longest part, or longer where others do not overlap with it: the root of the sum
 * of squares. The network predicts a factor for each part (as a logarithm). */
static tensor *combine_parts(const gnn_net *n, tape *t, tensor *times, tensor *factors) {
    static const float SQUARES = 2 * (float)RES_TIME_UNIT * 0.693147181f;
    assert(t->has_failed || times == NULL || times->cols == PROGRAM_DEVICE_TIMES);
    tensor *parts = nn_add(t, factors, nn_slice_columns(t, times, RES_TIMES, RES_PARTS));
    return nn_mul_row(t, nn_smooth_max(t, parts, SQUARES), tape_param(t, n->slope));
}

/* Each program on each device: the first layer of the head adds contributions of both. Rows are ordered by program,
 * then device, so that the single output column has the layout samples x columns. */
static tensor *forward_devices(const gnn_net *n, tape *t, const gnn_batch *b, tensor *programs) {
    uint32_t pairs = b->samples * b->columns;
    uint32_t *sample = tape_alloc(t, pairs, sizeof *sample), *column = tape_alloc(t, pairs, sizeof *column);
    if (sample == NULL || column == NULL) return NULL;
    for (uint32_t i = 0; i < pairs; i++) {
        sample[i] = i / b->columns;
        column[i] = i % b->columns;
    }
    tensor *sheets = tape_input(t, b->columns, n->widths.column_values, b->column_values);
    tensor *devices = layer_linear_apply(t, &n->sheet, sheets, ACT_GELU);
    devices = layer_linear_apply(t, &n->device, devices, ACT_NONE);
    programs = layer_linear_apply(t, &n->head[0], programs, ACT_NONE);
    tensor *x = nn_add(t, nn_gather(t, programs, sample, pairs), nn_gather(t, devices, column, pairs));
    tensor *times = n->widths.demand_marks > 0 ? find_device_times(n, t, b) : NULL;
    if (times != NULL) x = nn_add(t, x, layer_linear_apply(t, &n->times, times, ACT_NONE));
    x = nn_activate(t, x, ACT_GELU);
    for (uint32_t i = 1; i < n->head_layers; i++) x = layer_linear_apply(t, &n->head[i], x, ACT_GELU);
    if (b->hidden != NULL) *b->hidden = x;
    x = layer_linear_apply(t, &n->out, x, ACT_NONE);
    return times != NULL ? combine_parts(n, t, times, x) : x;
}

/* Global marks without the demand at their end; NULL when out of memory. */
static tensor *copy_marks(tape *t, const gnn_batch *b, const gnn_widths *w) {
    uint32_t width = w->global_marks - w->demand_marks;
    if (w->demand_marks == 0) return tape_input(t, b->samples, width, b->global_marks);
    float *marks = tape_alloc(t, (size_t)b->samples * width, sizeof *marks);
    for (uint32_t i = 0; marks != NULL && i < b->samples; i++)
        memcpy(marks + (size_t)i * width, b->global_marks + (size_t)i * w->global_marks, width * sizeof *marks);
    return marks != NULL ? tape_input(t, b->samples, width, marks) : NULL;
}

tensor *sequence_forward(const gnn_net *n, tape *t, const gnn_batch *b) {
    const gnn_widths *w = &n->widths;
    tensor *x = rows_of(n, t, b);
    for (uint32_t i = 0; i < n->layers; i++) x = layer_encoder_apply(t, &n->encoders[i], x, b->nodes_of, NULL);
    tensor *inputs[5] = {nn_segment_mean(t, x, b->nodes_of), nn_segment_max(t, x, b->nodes_of)};
    uint32_t parts = 2;
    if (n->is_counted) inputs[parts++] = sequence_count_apply(t, &n->counted, x, b->nodes_of);
    if (w->global_values > 0) inputs[parts++] = tape_input(t, b->samples, w->global_values, b->global_values);
    if (w->global_marks > w->demand_marks) inputs[parts++] = copy_marks(t, b, w);
    x = nn_concat_columns(t, parts, inputs);
    if (w->column_values > 0) return forward_devices(n, t, b, x);
    for (uint32_t i = 0; i < n->head_layers; i++) x = layer_linear_apply(t, &n->head[i], x, ACT_GELU);
    return layer_linear_apply(t, &n->out, x, ACT_NONE);
}
