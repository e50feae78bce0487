/* gnn_inputs.c - see gnn_inputs.h. */
#include "predictor/gnn/gnn_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

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
