/* digraph_flow.c - along which edges messages go: as the graph has them, against it, or both ways at once. */
#include <string.h>

#include "predictor/peers/digraph.h"

typedef struct flow_parts {
    uint32_t *from, *to, *edge, *start;
    uint32_t count;
} flow_parts;

static void add(flow_parts *f, uint32_t from, uint32_t to, uint32_t edge) {
    f->from[f->count] = from;
    f->to[f->count] = to;
    f->edge[f->count++] = edge;
}

/* Nodes in their order, of each what comes in, what goes out, and the loop, as far as they are wanted. */
static bool make_flow(tape *t, const gnn_batch *b, bool is_along, bool is_against, bool has_loops, digraph_flow *flow) {
    size_t most = (size_t)b->edges * ((size_t)is_along + is_against) + (has_loops ? b->nodes : 0) + 1;
    flow_parts f = {.from = tape_alloc(t, most, sizeof *f.from),
                    .to = tape_alloc(t, most, sizeof *f.to),
                    .edge = tape_alloc(t, most, sizeof *f.edge),
                    .start = tape_alloc(t, (size_t)b->nodes + 1, sizeof *f.start)};
    if (t->has_failed) return false;
    f.start[0] = 0;
    for (uint32_t v = 0; v < b->nodes; v++) {
        for (uint32_t e = b->edges_into.start[v]; is_along && e < b->edges_into.start[v + 1]; e++)
            add(&f, b->from[e], v, e);
        for (uint32_t i = b->targets.start[v]; is_against && i < b->targets.start[v + 1]; i++)
            add(&f, b->targets.index[i], v, b->edges_out.index[i]);
        if (has_loops) add(&f, v, v, FT_NONE);
        f.start[v + 1] = f.count;
    }
    *flow = (digraph_flow){.count = f.count,
                           .from = f.from,
                           .to = f.to,
                           .edge = f.edge,
                           .into = {b->nodes, f.start},
                           .sources = {b->nodes, f.start, f.from}};
    return true;
}

bool digraph_flows_of(tape *t, const gnn_batch *batch, digraph_direction direction, bool has_loops,
                      digraph_flows *flows) {
    bool is_both = direction == DIGRAPH_BIDIRECTED;
    flows->count = is_both ? 2 : 1;
    if (!make_flow(t, batch, true, direction == DIGRAPH_UNDIRECTED, has_loops, &flows->items[0])) return false;
    return !is_both || make_flow(t, batch, false, true, has_loops, &flows->items[1]);
}
