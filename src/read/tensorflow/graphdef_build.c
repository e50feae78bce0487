/* graphdef_build.c - inputs and outputs of the model; the graph.
 *
 * A signature names the outputs. Without one, they are the results that no node reads and that depend on an input:
 * a file also holds nodes that initialise, save and train, which only order each other. */
#include <assert.h>
#include <string.h>

#include "read/tensorflow/graphdef.h"

/* --- Outputs ----------------------------------------------------------------------------------------------------- */

/* Operators whose result is not a result of the model. */
static bool is_service(const char *op) {
    static const char *const services[] = {"NoOp",      "Assert",      "SaveV2",
                                           "RestoreV2", "SaveSlices",  "Const",
                                           "PrintV2",   "Placeholder", "MergeV2Checkpoints",
                                           "Variable",  "VariableV2",  "VarHandleOp"};
    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++)
        if (strcmp(services[i], op) == 0) return true;
    return strncmp(op, "Assign", 6) == 0 || strstr(op, "Summary") != NULL;
}

/* Marks the vertices that depend on an input of the model; *count: how many are inputs. */
static bool *find_fed(gd_builder *b, gd_frame *f, uint32_t *count) {
    bool *is_fed = ARENA_ARRAY(b->scratch, bool, f->count);
    uint32_t *next = ARENA_ARRAY(b->scratch, uint32_t, f->count);
    bool *is_seen = ARENA_ARRAY(b->scratch, bool, f->count);
    *count = 0;
    if (is_fed == NULL || next == NULL || is_seen == NULL) return NULL;
    for (uint32_t i = 0; i < f->count; i++) {
        uint32_t depth = 0;
        if (is_seen[i]) continue;
        is_seen[i] = true;
        f->stack[depth++] = i;
        while (depth > 0) {
            uint32_t at = f->stack[depth - 1];
            const gd_vertex *v = &f->vertices[at];
            if (next[at] < v->input_count) {
                uint32_t from = v->inputs[next[at]++].vertex;
                if (!is_seen[from]) f->stack[depth++] = from;
                is_seen[from] = true;
                continue;
            }
            bool is_source = v->node != NULL && gd_is_source(gd_text(v->node->op));
            *count += is_source;
            is_fed[at] = is_source;
            for (uint32_t k = 0; k < v->input_count; k++) is_fed[at] = is_fed[at] || is_fed[v->inputs[k].vertex];
            depth--;
        }
    }
    return is_fed;
}

/* Results that no node reads, other than those that save, check or print them. */
static ft_status find_results(gd_builder *b, gd_frame *f, gd_ref **results, uint32_t *count) {
    uint32_t sources;
    const bool *is_fed = find_fed(b, f, &sources);
    bool *is_used = ARENA_ARRAY(b->scratch, bool, f->count);
    *results = ARENA_ARRAY(b->scratch, gd_ref, f->count);
    if (is_fed == NULL || is_used == NULL || *results == NULL) return FT_NOMEM(b->error);
    *count = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const gd_vertex *v = &f->vertices[i];
        if (v->back != FT_NONE) is_used[v->back] = true;
        for (uint32_t k = 0; k < v->input_count && !is_service(gd_text(v->node->op)); k++)
            is_used[v->inputs[k].vertex] = true;
    }
    for (uint32_t i = 0; i < f->count; i++) {
        gd_vertex *v = &f->vertices[i];
        if (is_used[i] || is_service(gd_text(v->node->op)) || (sources > 0 && !is_fed[i])) continue;
        if (v->value_count == 0) v->value_count = 1;
        (*results)[(*count)++] = (gd_ref){i, 0};
    }
    return FT_OK;
}

static ft_status find_named(gd_builder *b, gd_frame *f, gd_ref **results, uint32_t *count) {
    const Tf__SignatureDef *signature = b->model->signature;
    *results = ARENA_ARRAY(b->scratch, gd_ref, signature->n_outputs);
    if (*results == NULL) return FT_NOMEM(b->error);
    *count = 0;
    for (size_t i = 0; i < signature->n_outputs; i++) {
        const Tf__TensorInfo *info = signature->outputs[i]->value;
        if (info == NULL || gd_text(info->name)[0] == '\0') continue;
        FT_TRY(gd_frame_find(b, f, info->name, &(*results)[(*count)++]));
    }
    return FT_OK;
}

/* --- The graph --------------------------------------------------------------------------------------------------- */

/* Of an If whose condition is not known before the model runs, the branch with more operators counts. */
static ft_status choose_branches(gd_builder *b) {
    ft_graph *g = b->graph;
    uint64_t *counts = ARENA_ARRAY(b->scratch, uint64_t, g->branch_count);
    if (counts == NULL) return FT_NOMEM(b->error);
    for (uint32_t i = 0; i < g->op_count; i++)
        for (uint32_t branch = g->ops[i].branch; branch != 0; branch = g->branches[branch].parent) counts[branch]++;
    for (uint32_t i = 1; i + 1 < g->branch_count; i += 2) {
        assert(g->branches[i].is_then && !g->branches[i + 1].is_then);
        g->branches[i].is_default = counts[i] >= counts[i + 1];
        g->branches[i + 1].is_default = !g->branches[i].is_default;
    }
    return FT_OK;
}

static ft_status add_outputs(gd_builder *b, const gd_frame *f, const gd_ref *results, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        gd_value value = f->vertices[results[i].vertex].values[results[i].slot];
        if (b->model->signature != NULL) FT_TRY(gd_frame_value(b, f, results[i], &value));
        if (value.tensor == FT_NONE || b->graph->tensors[value.tensor].is_output) continue;
        FT_TRY(graph_add_output(b->graph, value.tensor, b->error));
    }
    return FT_OK;
}

static ft_status build(gd_builder *b) {
    const Tf__Graph *graph = b->model->graph;
    gd_frame f = {.prefix = ""};
    gd_ref *results;
    uint32_t count = 0;
    FT_TRY(gd_index_functions(b));
    FT_TRY(gd_frame_open(b, &f, graph->node, graph->n_node, NULL));
    FT_TRY(b->model->signature != NULL ? find_named(b, &f, &results, &count) : find_results(b, &f, &results, &count));
    if (count == 0) return ft_fail(b->error, FT_ERR_GRAPH, "no node computes a result from an input");
    FT_TRY(gd_frame_reserve(b, &f));
    for (uint32_t i = 0; i < f.count; i++) { /* inputs first, in the order of the file */
        if (gd_is(&f.vertices[i], "Placeholder") && f.vertices[i].is_read) FT_TRY(gd_frame_visit(b, &f, i));
    }
    for (uint32_t i = 0; i < count; i++) FT_TRY(gd_frame_visit(b, &f, results[i].vertex));
    FT_TRY(gd_close_loops(b, &f));
    FT_TRY(add_outputs(b, &f, results, count));
    FT_TRY(choose_branches(b));
    return graph_finish(b->graph, b->error);
}

ft_status gd_build(const gd_model *model, ft_graph **graph, ft_error *error) {
    gd_builder b = {.model = model, .scratch = model->scratch, .error = error};
    ft_layout layout = gd_has_nchw(model->graph) ? FT_NCHW : FT_NHWC;
    FT_TRY(graph_new(model->format, layout, model->name, &b.graph, error));
    ft_status status = build(&b);
    if (status == FT_OK)
        *graph = b.graph;
    else
        ft_graph_free(b.graph);
    return status;
}
