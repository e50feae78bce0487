/* gnn_data.h - training data of graph networks: samples with labels in columns.
 *
 * A column is a metric on a device in a mode, type and setting. A graph measured in several columns is one sample with
 * several labels. Graphs share most of their nodes, so each distinct row of features is stored once, and a node is its
 * index. */
#ifndef PREDICTOR_GNN_DATA_H
#define PREDICTOR_GNN_DATA_H

#include "predictor/core/family.h"
#include "predictor/core/scan.h"
#include "predictor/gnn/gnn.h"

enum { GNN_MAX_COLUMNS = 1024, GNN_MAX_METRICS = 16, GNN_MAX_TEXT = 256 };

typedef struct gnn_column {
    uint32_t device; /* of fit_set.devices */
    uint32_t metric; /* index of gnn_data.metrics */
    ft_mode mode;
    ft_dtype dtype;
    char setting[GNN_MAX_TEXT];
    uint32_t labels; /* in the training part */
    label_scale scale;
    float values[GNN_MAX_COLUMN_VALUES]; /* features of the device, if widths.column_values > 0 */
} gnn_column;

typedef struct gnn_graph {
    uint32_t first_node, nodes, first_edge, edges;
    double known_ratio;
} gnn_graph;

typedef struct gnn_data {
    gnn_widths widths;
    const char *metrics[GNN_MAX_METRICS]; /* learned together */
    uint32_t metric_count;
    gnn_column *columns;
    uint32_t column_count, column_capacity;
    row_table nodes, marks, edges; /* distinct rows: a kind and its values; marks; values of edges */
    uint32_t *node_row, *mark_row; /* per node */
    uint32_t node_count, node_capacity, mark_capacity;
    uint32_t *from, *to, *edge_row; /* per edge */
    uint32_t edge_count, from_capacity, to_capacity, row_capacity;
    gnn_graph *graphs;
    float *globals;                    /* per graph: values, then marks */
    uint32_t graph_count, train_count; /* the training part comes first, then validation */
    uint32_t *group_of, group_count;   /* per graph: graphs of one name are a group */
    double *labels;                    /* graph_count x column_count; NaN: not measured */
} gnn_data;

/* Columns of a model that is trained further, with their label scales; new ones follow them. */
typedef struct gnn_columns {
    const gnn_column *items;
    uint32_t count;
} gnn_columns;

typedef struct gnn_data_options {
    const gnn_kind *kind;
    const gnn_plan *plan;
    const void *extractor;
    gnn_columns known; /* of the model that is trained further; none: a new model */
} gnn_data_options;

ft_status gnn_data_gather(const fit_set *set, const fit_context *context, const gnn_data_options *options,
                          gnn_data *data, ft_error *error);
void gnn_data_free(gnn_data *data);

/* Kind and values of a distinct node. */
static inline const float *gnn_node_values(const gnn_data *data, uint32_t row) {
    return (const float *)(const void *)(data->nodes.rows + (size_t)row * data->nodes.size) + 1;
}
uint32_t gnn_node_kind(const gnn_data *data, uint32_t row);

/* Features of the devices of columns, a row each, from the arena; NULL when out of memory. */
const float *gnn_column_values(const gnn_column *columns, uint32_t count, uint32_t width, arena *memory);

#endif
