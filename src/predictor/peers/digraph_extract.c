/* digraph_extract.c - feature extraction of "digraph": kernels as nodes with sizes and amounts of work as logarithms,
 * tensors between them as edges. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"
#include "predictor/core/kernel_rows.h"
#include "predictor/peers/digraph.h"

const char *const digraph_nodes[DIGRAPH_RULES] = {"operators", "tflite-cpu", "tflite-gpu", "openvino-vpu",
                                                  "torch-compile"};

/* Of a kernel row: sizes, flags of groups and of fused operators, and amounts as logarithms. The kind is a row of the
 * embedding; 0 is the unknown kind. */
enum { FLAGS = KERNEL_GROUPS + KERNEL_FUSED, NODE_VALUES = KERNEL_SIZES + FLAGS + KERNEL_TERMS };

uint32_t digraph_vectors(const digraph_options *options) {
    return options->encoding == DIGRAPH_NO_ENCODING ? 0 : (uint32_t)options->vectors;
}

gnn_widths digraph_widths(const void *own) {
    uint32_t vectors = digraph_vectors(own);
    return (gnn_widths){.kinds = KERNEL_KINDS,
                        .node_values = NODE_VALUES,
                        .node_marks = 2 * vectors,
                        .edge_values = 1,
                        .global_values = 2,
                        .global_marks = vectors};
}

ft_status digraph_open(const void *own, void **extractor, ft_error *error) {
    const digraph_options *o = own;
    ft_rules *rules;
    /* Rules of eager PyTorch fuse nothing. */
    FT_TRY(ft_rules_open(o->nodes == 0 ? "torch-eager" : digraph_nodes[o->nodes], &rules, error));
    *extractor = rules;
    return FT_OK;
}

void digraph_close(void *extractor) {
    ft_rules_free(extractor);
}

static void extract_node(const kernel_row *row, uint32_t *kind, float *values) {
    *kind = 0;
    for (uint32_t i = 0; i + 1 < KERNEL_KINDS; i++)
        if (row->features[FLAG_KIND + i] > 0) *kind = i + 1;
    memcpy(values, row->features, KERNEL_SIZES * sizeof(float));
    values += KERNEL_SIZES;
    memcpy(values, row->features + FLAG_GROUP, KERNEL_GROUPS * sizeof(float));
    memcpy(values + KERNEL_GROUPS, row->features + FLAG_FUSED, KERNEL_FUSED * sizeof(float));
    values += FLAGS;
    for (uint32_t i = 0; i < KERNEL_TERMS; i++) values[i] = (float)log2(1 + (double)row->terms[i]);
}

/* --- Edges --------------------------------------------------------------------------------------------------- */

typedef struct edge {
    uint32_t from, to;
    double bytes;
} edge;

static int by_ends(const void *left, const void *right) {
    const edge *a = left, *b = right;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Edges between kernels, sorted; each pair once, with the bytes of all its tensors. */
static ft_status find_edges(const ft_graph *graph, const ft_kernels *kernels, arena *memory, edge **found,
                            uint32_t *count, ft_error *error) {
    size_t max_edges = 1;
    for (uint32_t i = 0; i < graph->tensor_count; i++) max_edges += graph->tensors[i].use_count;
    edge *edges = ARENA_ARRAY(memory, edge, max_edges);
    uint32_t all = 0, kept = 0;
    if (edges == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const ft_tensor *t = &graph->tensors[i];
        uint32_t from = t->producer != FT_NONE ? kernels->kernel_of_op[t->producer] : FT_NONE;
        for (uint32_t k = 0; from != FT_NONE && k < t->use_count; k++) {
            uint32_t to = kernels->kernel_of_op[t->uses[k]];
            if (to == FT_NONE || to == from) continue;
            edges[all++] = (edge){from, to, (double)ft_tensor_bytes(graph, t)};
        }
    }
    assert(all < max_edges);
    qsort(edges, all, sizeof *edges, by_ends);
    for (uint32_t i = 0; i < all; i++) {
        if (kept > 0 && by_ends(&edges[kept - 1], &edges[i]) == 0)
            edges[kept - 1].bytes += edges[i].bytes;
        else
            edges[kept++] = edges[i];
    }
    *found = edges;
    *count = kept;
    return FT_OK;
}

ft_status digraph_extract(const void *own, const void *extractor, model_view *s, arena *memory, gnn_sample *sample,
                          ft_error *error) {
    const gnn_widths widths = digraph_widths(own);
    const ft_kernels *kernels;
    kernel_row *rows;
    edge *edges = NULL;
    uint32_t nodes, edge_count = 0;
    FT_TRY(model_view_kernels(s, extractor, &kernels, error));
    FT_TRY(kernel_rows_extract(s, extractor, memory, &rows, &nodes, error));
    FT_TRY(find_edges(s->bound, kernels, memory, &edges, &edge_count, error));
    if (!gnn_sample_open(sample, &widths, nodes, edge_count, memory)) return FT_NOMEM(error);
    for (uint32_t i = 0; i < nodes; i++)
        extract_node(&rows[i], &sample->kinds[i], sample->node_values + (size_t)i * NODE_VALUES);
    for (uint32_t i = 0; i < edge_count; i++) {
        sample->from[i] = edges[i].from;
        sample->to[i] = edges[i].to;
        sample->edge_values[i] = (float)log2(1 + edges[i].bytes);
    }
    sample->global_values[0] = (float)log2(1.0 + nodes);
    sample->global_values[1] = (float)log2((double)ft_graph_batch(s->bound));
    return digraph_vectors(own) > 0 ? digraph_encode(own, sample, memory, error) : FT_OK;
}
