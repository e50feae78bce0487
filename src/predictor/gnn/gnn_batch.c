/* gnn_batch.c - allocates samples and joins them into batches, with edges sorted by target and by source. */
#include <assert.h>
#include <string.h>

#include "predictor/gnn/gnn.h"

bool gnn_sample_open(gnn_sample *s, const gnn_widths *widths, uint32_t nodes, uint32_t edges, arena *memory) {
    *s = (gnn_sample){.nodes = nodes, .edges = edges, .known_ratio = 1};
    /* One element more than needed, so that empty arrays are not NULL. */
    s->kinds = ARENA_ARRAY(memory, uint32_t, (size_t)nodes + 1);
    s->node_values = ARENA_ARRAY(memory, float, (size_t)nodes * widths->node_values + 1);
    s->node_marks = ARENA_ARRAY(memory, float, (size_t)nodes * widths->node_marks + 1);
    s->from = ARENA_ARRAY(memory, uint32_t, (size_t)edges + 1);
    s->to = ARENA_ARRAY(memory, uint32_t, (size_t)edges + 1);
    s->edge_values = ARENA_ARRAY(memory, float, (size_t)edges * widths->edge_values + 1);
    s->global_values = ARENA_ARRAY(memory, float, (size_t)widths->global_values + 1);
    s->global_marks = ARENA_ARRAY(memory, float, (size_t)widths->global_marks + 1);
    return s->kinds != NULL && s->node_values != NULL && s->node_marks != NULL && s->from != NULL && s->to != NULL &&
           s->edge_values != NULL && s->global_values != NULL && s->global_marks != NULL;
}

/* Arrays of a batch under construction. */
typedef struct joining {
    uint32_t nodes, edges;
    uint32_t *kinds, *from, *to, *node_start, *edge_start, *in_start, *out_start, *out_nodes, *out_edges, *at;
    float *node_values, *node_marks, *edge_values, *global_values, *global_marks;
} joining;

static bool reserve(joining *j, const gnn_widths *w, uint32_t samples, arena *memory) {
    size_t nodes = (size_t)j->nodes + 1, edges = (size_t)j->edges + 1;
    uint32_t **indices[] = {&j->kinds, &j->node_start, &j->edge_start, &j->in_start,  &j->out_start,
                            &j->at,    &j->from,       &j->to,         &j->out_nodes, &j->out_edges};
    const size_t counts[] = {nodes, (size_t)samples + 1, (size_t)samples + 1, nodes, nodes, nodes, edges, edges, edges,
                             edges};
    float **floats[] = {&j->node_values, &j->node_marks, &j->edge_values, &j->global_values, &j->global_marks};
    const size_t sizes[] = {nodes * w->node_values, nodes * w->node_marks, edges * w->edge_values,
                            (size_t)samples * w->global_values, (size_t)samples * w->global_marks};
    bool has_memory = true;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        *indices[i] = ARENA_ARRAY(memory, uint32_t, counts[i]);
        has_memory = has_memory && *indices[i] != NULL;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        *floats[i] = ARENA_ARRAY(memory, float, sizes[i] + 1);
        has_memory = has_memory && *floats[i] != NULL;
    }
    return has_memory;
}

static void copy_floats(float *to, const float *from, size_t count) {
    if (count > 0) memcpy(to, from, count * sizeof(float));
}

/* Sets start[i] to the number of entries of `of` below i. */
static void count_starts(uint32_t *start, uint32_t rows, const uint32_t *of, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) start[of[i] + 1]++;
    for (uint32_t i = 0; i < rows; i++) start[i + 1] += start[i];
}

/* Edges of a sample sorted by target; stable. */
static void add_edges(joining *j, const gnn_widths *w, const gnn_sample *s, uint32_t node, uint32_t edge) {
    uint32_t *start = j->at; /* nodes + 1 entries are enough for one sample */
    memset(start, 0, ((size_t)s->nodes + 1) * sizeof *start);
    count_starts(start, s->nodes, s->to, s->edges);
    for (uint32_t e = 0; e < s->edges; e++) {
        assert(s->from[e] < s->nodes && s->to[e] < s->nodes);
        uint32_t at = edge + start[s->to[e]]++;
        j->from[at] = node + s->from[e];
        j->to[at] = node + s->to[e];
        copy_floats(j->edge_values + (size_t)at * w->edge_values, s->edge_values + (size_t)e * w->edge_values,
                    w->edge_values);
    }
}

static void add_sample(joining *j, const gnn_widths *w, const gnn_sample *s, uint32_t number) {
    size_t node = j->node_start[number], nodes = s->nodes;
    memcpy(j->kinds + node, s->kinds, nodes * sizeof *s->kinds);
    copy_floats(j->node_values + node * w->node_values, s->node_values, nodes * w->node_values);
    copy_floats(j->node_marks + node * w->node_marks, s->node_marks, nodes * w->node_marks);
    copy_floats(j->global_values + (size_t)number * w->global_values, s->global_values, w->global_values);
    copy_floats(j->global_marks + (size_t)number * w->global_marks, s->global_marks, w->global_marks);
    add_edges(j, w, s, (uint32_t)node, j->edge_start[number]);
    j->node_start[number + 1] = (uint32_t)(node + nodes);
    j->edge_start[number + 1] = j->edge_start[number] + s->edges;
}

static void sort_by_source(joining *j) {
    count_starts(j->in_start, j->nodes, j->to, j->edges);
    count_starts(j->out_start, j->nodes, j->from, j->edges);
    memcpy(j->at, j->out_start, ((size_t)j->nodes + 1) * sizeof *j->at);
    for (uint32_t e = 0; e < j->edges; e++) {
        uint32_t at = j->at[j->from[e]]++;
        j->out_nodes[at] = j->to[e];
        j->out_edges[at] = e;
    }
}

bool gnn_batch_join(gnn_batch *b, const gnn_widths *widths, const gnn_sample *const *samples, uint32_t count,
                    arena *memory) {
    joining j = {0};
    for (uint32_t i = 0; i < count; i++) {
        j.nodes += samples[i]->nodes;
        j.edges += samples[i]->edges;
    }
    if (!reserve(&j, widths, count, memory)) return false;
    for (uint32_t i = 0; i < count; i++) add_sample(&j, widths, samples[i], i);
    assert(j.node_start[count] == j.nodes && j.edge_start[count] == j.edges);
    sort_by_source(&j);
    *b = (gnn_batch){.widths = *widths,
                     .samples = count,
                     .nodes = j.nodes,
                     .edges = j.edges,
                     .kinds = j.kinds,
                     .node_values = j.node_values,
                     .node_marks = j.node_marks,
                     .edge_values = j.edge_values,
                     .global_values = j.global_values,
                     .global_marks = j.global_marks,
                     .from = j.from,
                     .to = j.to,
                     .nodes_of = {count, j.node_start},
                     .edges_of = {count, j.edge_start},
                     .edges_into = {j.nodes, j.in_start},
                     .sources = {j.nodes, j.in_start, j.from},
                     .targets = {j.nodes, j.out_start, j.out_nodes},
                     .edges_out = {j.nodes, j.out_start, j.out_edges}};
    return true;
}
