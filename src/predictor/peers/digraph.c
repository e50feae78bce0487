/* digraph.c - settings of the family "digraph", and the family. */
#include "predictor/peers/digraph.h"

#include "base/error.h"
#include "predictor/core/families.h"
#include "predictor/gnn/gnn_family.h"

static const char *const layers[DIGRAPH_LAYERS] = {"gcn", "gin", "gine", "gat", "gps"};
static const char *const directions[DIGRAPH_DIRECTIONS] = {"undirected", "directed", "bidirected"};
static const char *const readouts[DIGRAPH_READOUTS] = {"sum", "log-sum"};

static const char *const encodings[DIGRAPH_ENCODINGS] = {"none", "laplacian", "magnetic"};
static const char *const forms[DIGRAPH_FORMS] = {"plain", "stable"};

/* Chosen on the validation part of DGRL's split of CG; docs/accuracy-networks.md lists the alternatives. */
static void defaults(gnn_options *shared, void *own) {
    digraph_options *o = own;
    shared->hidden = 64;
    shared->layers = 2;
    shared->steps = 9000;
    shared->batch = 16; /* many small steps learn faster than few large ones */
    shared->rate = 0.01;
    shared->check = 1000;
    *o = (digraph_options){.heads = 4,
                           .vectors = 10,
                           .charge = 0.1,
                           .head = 0,
                           .layer = DIGRAPH_GIN,
                           .direction = DIGRAPH_BIDIRECTED,
                           .readout = DIGRAPH_LOG_SUM,
                           .nodes = 1};
}

static void keys(void *own, config_list *list) {
    digraph_options *o = own;
    config_add_whole(list, "head", 0, 4, &o->head);
    config_add_whole(list, "heads", 1, DIGRAPH_MAX_HEADS, &o->heads);
    config_add_whole(list, "vectors", 1, DIGRAPH_MAX_VECTORS, &o->vectors);
    config_add_number(list, "charge", 0, 0.5, &o->charge);
    config_add_choice(list, "encoding", encodings, DIGRAPH_ENCODINGS, &o->encoding);
    config_add_choice(list, "encoding_form", forms, DIGRAPH_FORMS, &o->form);
    config_add_choice(list, "layer", layers, DIGRAPH_LAYERS, &o->layer);
    config_add_choice(list, "direction", directions, DIGRAPH_DIRECTIONS, &o->direction);
    config_add_choice(list, "readout", readouts, DIGRAPH_READOUTS, &o->readout);
    config_add_choice(list, "nodes", digraph_nodes, DIGRAPH_RULES, &o->nodes);
}

/* The stable form needs a layer with edge features, and heads divide the width. */
static ft_status check(const gnn_options *shared, const void *own, ft_error *error) {
    const digraph_options *o = own;
    bool has_heads = o->layer == DIGRAPH_GAT || o->layer == DIGRAPH_GPS;
    bool is_stable = o->encoding != DIGRAPH_NO_ENCODING && o->form == DIGRAPH_STABLE;
    if (has_heads && (uint32_t)shared->hidden % (uint32_t)o->heads != 0)
        return ft_fail(error, FT_ERR_USAGE, "config: hidden=%g is not divisible by heads=%g", shared->hidden, o->heads);
    if (is_stable && o->layer < DIGRAPH_GINE)
        return ft_fail(error, FT_ERR_USAGE,
                       "config: encoding_form=stable needs edge features, which layer=%s does not use; use gine, "
                       "gat or gps",
                       layers[o->layer]);
    return FT_OK;
}

static const gnn_kind kind = {.name = "digraph",
                              .schema = DIGRAPH_SCHEMA,
                              .own_size = sizeof(digraph_options),
                              .defaults = defaults,
                              .keys = keys,
                              .check = check,
                              .widths = digraph_widths,
                              .open = digraph_open,
                              .close = digraph_close,
                              .extract = digraph_extract,
                              .build = digraph_build,
                              .forward = digraph_forward};

GNN_FAMILY(digraph, kind, "digraph", DIGRAPH_SCHEMA,
           "a network over the directed graph of kernels: GCN, GIN, GINE, GAT or GPS");
