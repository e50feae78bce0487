/* gnn_scaling.c - see gnn_scaling.h. */
#include "predictor/gnn/gnn_scaling.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

/* Inputs further out than this many deviations say no more than that they are far out. */
static const float FARTHEST = 10;

/* The four rows of one group of values. */
typedef struct group {
    float *mean, *inverse, *least, *most;
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

static float *seen_kinds(const gnn_scaling *s) {
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

/* Rows that occur several times count as often. */
static void fit_group(group g, const float *rows, size_t stride, const uint32_t *times, uint32_t count) {
    for (uint32_t c = 0; c < g.width; c++) {
        double sum = 0, squares = 0, total = 0;
        float least = INFINITY, most = -INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            float value = rows[i * stride + c];
            if (times[i] == 0) continue;
            total += times[i];
            sum += (double)times[i] * value;
            least = fminf(least, value);
            most = fmaxf(most, value);
        }
        double mean = total > 0 ? sum / total : 0;
        for (uint32_t i = 0; i < count; i++) {
            double spread = rows[i * stride + c] - mean;
            squares += times[i] * spread * spread;
        }
        double deviation = total > 0 ? sqrt(squares / total) : 0;
        g.mean[c] = (float)mean;
        g.inverse[c] = deviation > 1e-6 ? (float)(1 / deviation) : 0;
        g.least[c] = total > 0 ? least : 0;
        g.most[c] = total > 0 ? most : 0;
    }
}

static void count_rows(uint32_t *times, uint32_t rows, const uint32_t *of, uint32_t count) {
    for (uint32_t i = 0; i < rows; i++) times[i] = 0;
    for (uint32_t i = 0; i < count; i++) times[of[i]]++;
}

ft_status gnn_scaling_fit(gnn_scaling *s, const gnn_data *data, ft_error *error) {
    uint32_t most = data->nodes.count > data->edges.count ? data->nodes.count : data->edges.count;
    if (data->train_count > most) most = data->train_count;
    uint32_t *times = malloc(((size_t)most + 1) * sizeof *times);
    if (times == NULL) return FT_NOMEM(error);
    const gnn_graph *last = &data->graphs[data->train_count - 1]; /* those of the training part stand first */
    size_t width = s->widths.node_values, global = (size_t)s->widths.global_values + s->widths.global_marks;
    count_rows(times, data->nodes.count, data->node_row, last->first_node + last->nodes);
    fit_group(group_of(s, NODES), gnn_node_values(data, 0), width + 1, times, data->nodes.count);
    for (uint32_t i = 0; i < data->nodes.count; i++)
        if (times[i] > 0) seen_kinds(s)[gnn_node_kind(data, i)] = 1;
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
            out[r * g.width + c] = fminf(fmaxf(x, -FARTHEST), FARTHEST);
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
    return seen_kinds(s)[kind] > 0 ? kind : 0;
}

/* A value may lie a little outside of what was seen. */
static bool is_within(group g, const float *row) {
    for (uint32_t c = 0; c < g.width; c++) {
        float slack = 0.05F * (g.most[c] - g.least[c]) + 1e-6F;
        if (!(row[c] >= g.least[c] - slack && row[c] <= g.most[c] + slack)) return false;
    }
    return true;
}

double gnn_scaling_coverage(const gnn_scaling *s, const gnn_sample *sample) {
    group nodes = group_of(s, NODES);
    uint32_t known = 0;
    for (uint32_t i = 0; i < sample->nodes; i++)
        known += seen_kinds(s)[sample->kinds[i]] > 0 && is_within(nodes, sample->node_values + (size_t)i * nodes.width);
    return sample->nodes > 0 ? sample->known_ratio * known / sample->nodes : 0;
}

void gnn_scale_sample(const gnn_scaling *s, gnn_sample *sample) {
    gnn_scale_nodes(s, sample->node_values, sample->nodes, sample->node_values);
    gnn_scale_edges(s, sample->edge_values, sample->edges, sample->edge_values);
    gnn_scale_globals(s, sample->global_values, 1, sample->global_values);
    for (uint32_t i = 0; i < sample->nodes; i++) sample->kinds[i] = gnn_scale_kind(s, sample->kinds[i]);
}
