/* gnn_scaling.c - fits and applies the scaling of features, and scales the training data. */
#include "predictor/gnn/gnn_scaling.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Inputs are clamped to this many standard deviations. */
static const float MAX_DEVIATIONS = 10;

/* The four rows of one group of values. */
typedef struct group {
    float *mean, *inverse, *min, *max;
    uint32_t width;
} group;

typedef enum group_name { NODES, EDGES, GLOBALS } group_name;

static group group_of(const gnn_scaling *s, group_name name) {
    const gnn_widths *w = &s->widths;
    size_t before = name == NODES ? 0 : name == EDGES ? w->node_values : (size_t)w->node_values + w->edge_values;
    uint32_t width = name == NODES ? w->node_values : name == EDGES ? w->edge_values : w->global_values;
    float *at = s->floats + 4 * before;
    return (group){at, at + width, at + 2 * (size_t)width, at + 3 * (size_t)width, width};
}

static float *trained_kinds(const gnn_scaling *s) {
    return s->floats + s->count - s->widths.kinds;
}

ft_status gnn_scaling_open(gnn_scaling *s, const gnn_widths *w, ft_error *error) {
    size_t count = 4 * ((size_t)w->node_values + w->edge_values + w->global_values) + w->kinds;
    *s = (gnn_scaling){.widths = *w, .floats = calloc(count + 1, sizeof(float)), .count = count};
    return s->floats != NULL ? FT_OK : FT_NOMEM(error);
}

void gnn_scaling_free(gnn_scaling *s) {
    free(s->floats);
    *s = (gnn_scaling){0};
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

/* Rows are weighted by their number of occurrences. */
static void fit_group(group g, const float *rows, size_t stride, const uint32_t *times, uint32_t count) {
    for (uint32_t c = 0; c < g.width; c++) {
        double sum = 0, squares = 0, total = 0;
        float min = INFINITY, max = -INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            float value = rows[i * stride + c];
            if (times[i] == 0) continue;
            total += times[i];
            sum += (double)times[i] * value;
            min = fminf(min, value);
            max = fmaxf(max, value);
        }
        double mean = total > 0 ? sum / total : 0;
        for (uint32_t i = 0; i < count; i++) {
            double spread = rows[i * stride + c] - mean;
            squares += times[i] * spread * spread;
        }
        double deviation = total > 0 ? sqrt(squares / total) : 0;
        g.mean[c] = (float)mean;
        g.inverse[c] = deviation > 1e-6 ? (float)(1 / deviation) : 0;
        g.min[c] = total > 0 ? min : 0;
        g.max[c] = total > 0 ? max : 0;
    }
}

static void count_rows(uint32_t *times, uint32_t rows, const uint32_t *of, uint32_t count) {
    for (uint32_t i = 0; i < rows; i++) times[i] = 0;
    for (uint32_t i = 0; i < count; i++) times[of[i]]++;
}

ft_status gnn_scaling_fit(gnn_scaling *s, const gnn_data *data, ft_error *error) {
    assert(data->train_count > 0);
    uint32_t max = data->nodes.count > data->edges.count ? data->nodes.count : data->edges.count;
    if (data->train_count > max) max = data->train_count;
    uint32_t *times = malloc(((size_t)max + 1) * sizeof *times);
    if (times == NULL) return FT_NOMEM(error);
    const gnn_graph *last = &data->graphs[data->train_count - 1]; /* graphs of the training part come first */
    size_t width = s->widths.node_values, global = (size_t)s->widths.global_values + s->widths.global_marks;
    count_rows(times, data->nodes.count, data->node_row, last->first_node + last->nodes);
    fit_group(group_of(s, NODES), gnn_node_values(data, 0), width + 1, times, data->nodes.count);
    for (uint32_t i = 0; i < data->nodes.count; i++)
        if (times[i] > 0) trained_kinds(s)[gnn_node_kind(data, i)] = 1;
    if (s->widths.edge_values > 0) {
        count_rows(times, data->edges.count, data->edge_row, last->first_edge + last->edges);
        fit_group(group_of(s, EDGES), (const float *)(const void *)data->edges.rows, s->widths.edge_values, times,
                  data->edges.count);
    }
    for (uint32_t i = 0; i < data->train_count; i++) times[i] = 1;
    fit_group(group_of(s, GLOBALS), data->globals, global, times, data->train_count);
    free(times);
    return FT_OK;
}

/* --- Applying ------------------------------------------------------------------------------------------------ */

static void scale_rows(group g, const float *in, size_t rows, float *out) {
    for (size_t r = 0; r < rows; r++) {
        for (uint32_t c = 0; c < g.width; c++) {
            float x = (in[r * g.width + c] - g.mean[c]) * g.inverse[c];
            out[r * g.width + c] = fminf(fmaxf(x, -MAX_DEVIATIONS), MAX_DEVIATIONS);
        }
    }
}

void gnn_scale_nodes(const gnn_scaling *s, const float *in, size_t rows, float *out) {
    scale_rows(group_of(s, NODES), in, rows, out);
}

void gnn_scale_edges(const gnn_scaling *s, const float *in, size_t rows, float *out) {
    scale_rows(group_of(s, EDGES), in, rows, out);
}

void gnn_scale_globals(const gnn_scaling *s, const float *in, size_t rows, float *out) {
    scale_rows(group_of(s, GLOBALS), in, rows, out);
}

uint32_t gnn_scale_kind(const gnn_scaling *s, uint32_t kind) {
    return trained_kinds(s)[kind] > 0 ? kind : 0;
}

/* With some slack beyond the range of training. */
static bool is_within(group g, const float *row) {
    for (uint32_t c = 0; c < g.width; c++) {
        float slack = 0.05F * (g.max[c] - g.min[c]) + 1e-6F;
        if (!(row[c] >= g.min[c] - slack && row[c] <= g.max[c] + slack)) return false;
    }
    return true;
}

double gnn_scaling_coverage(const gnn_scaling *s, const gnn_sample *sample) {
    group nodes = group_of(s, NODES);
    uint32_t known = 0;
    for (uint32_t i = 0; i < sample->nodes; i++)
        known +=
            trained_kinds(s)[sample->kinds[i]] > 0 && is_within(nodes, sample->node_values + (size_t)i * nodes.width);
    return sample->nodes > 0 ? sample->known_ratio * known / sample->nodes : 0;
}

void gnn_scale_sample(const gnn_scaling *s, gnn_sample *sample) {
    gnn_scale_nodes(s, sample->node_values, sample->nodes, sample->node_values);
    gnn_scale_edges(s, sample->edge_values, sample->edges, sample->edge_values);
    gnn_scale_globals(s, sample->global_values, 1, sample->global_values);
    for (uint32_t i = 0; i < sample->nodes; i++) sample->kinds[i] = gnn_scale_kind(s, sample->kinds[i]);
}

/* --- Scaled training data ------------------------------------------------------------------------------------ */

static void scale_targets(gnn_inputs *in) {
    const gnn_data *data = in->data;
    for (size_t i = 0; i < (size_t)data->graph_count * data->column_count; i++) {
        const gnn_column *column = &data->columns[i % data->column_count];
        double label = data->labels[i];
        in->targets[i] = isnan(label) ? NAN : (float)label_to_target(&column->scale, label);
    }
}

ft_status gnn_inputs_make(gnn_inputs *in, const gnn_data *data, const gnn_scaling *scaling, ft_error *error) {
    const gnn_widths *w = &data->widths;
    size_t global = (size_t)w->global_values + w->global_marks;
    *in = (gnn_inputs){.data = data,
                       .kinds = malloc(((size_t)data->nodes.count + 1) * sizeof(uint32_t)),
                       .nodes = malloc(((size_t)data->nodes.count * w->node_values + 1) * sizeof(float)),
                       .edges = malloc(((size_t)data->edges.count * w->edge_values + 1) * sizeof(float)),
                       .globals = malloc((data->graph_count * global + 1) * sizeof(float)),
                       .targets = malloc(((size_t)data->graph_count * data->column_count + 1) * sizeof(float))};
    if (in->kinds == NULL || in->nodes == NULL || in->edges == NULL || in->globals == NULL || in->targets == NULL) {
        gnn_inputs_free(in);
        return FT_NOMEM(error);
    }
    for (uint32_t i = 0; i < data->nodes.count; i++) {
        in->kinds[i] = gnn_scale_kind(scaling, gnn_node_kind(data, i));
        gnn_scale_nodes(scaling, gnn_node_values(data, i), 1, in->nodes + (size_t)i * w->node_values);
    }
    if (data->edges.count > 0)
        gnn_scale_edges(scaling, (const float *)(const void *)data->edges.rows, data->edges.count, in->edges);
    if (global > 0) memcpy(in->globals, data->globals, data->graph_count * global * sizeof(float));
    for (size_t i = 0; global > 0 && i < data->graph_count; i++)
        gnn_scale_globals(scaling, in->globals + i * global, 1, in->globals + i * global);
    scale_targets(in);
    return FT_OK;
}

void gnn_inputs_free(gnn_inputs *in) {
    free(in->kinds);
    free(in->nodes);
    free(in->edges);
    free(in->globals);
    free(in->targets);
    *in = (gnn_inputs){0};
}
