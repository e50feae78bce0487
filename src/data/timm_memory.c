/* timm_memory.c - choice of the graph of a memory measurement that does not name its image size.
 *
 * The table has PyTorch's own account of the tensors (FakeTensor) beside each measurement. The memory kept by the
 * forward pass grows by a fixed number of bytes per image; for the right graph, our memory timeline predicts the
 * same number. If no size comes close, timm's usual one is taken (the smallest from 224 on), unless it is so far off
 * that the folder cannot contain the size that was trained. */
#include "data/timm.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/pool.h"
#include "foretell/cost.h"

enum { USUAL_SIZE = 224, PLAN_BATCH = 32 };

static const double MATCH_LOG = 0.15;  /* of a logarithm */
static const double REJECT_LOG = 0.45; /* of a logarithm: our estimate is never as wrong as 288 pixels are for 224 */
static const double SAME_PEAK_RATIO = 1e-3; /* relative */
static const double MIB = 1024 * 1024;

void timm_memory_add_row(timm_memory_facts *facts, double batch, double peak_mib, double forward_mib, bool is_suspect) {
    if (!(forward_mib > 0) || !isfinite(forward_mib)) return;
    if (facts->min_batch == 0 || batch < facts->min_batch) {
        facts->min_batch = batch;
        facts->min_forward = forward_mib;
    }
    if (batch > facts->max_batch) {
        facts->max_batch = batch;
        facts->max_forward = forward_mib;
    }
    if (is_suspect || !(peak_mib < forward_mib) || facts->impossible_count == TIMM_MAX_IMPOSSIBLE) return;
    facts->impossible[facts->impossible_count++] = peak_mib;
}

bool timm_memory_is_plausible(const timm_memory_facts *facts, double peak_mib) {
    for (uint32_t i = 0; i < facts->impossible_count; i++) {
        if (fabs(peak_mib / facts->impossible[i] - 1) < SAME_PEAK_RATIO) return false;
    }
    return true;
}

/* --- The graph --------------------------------------------------------------------------------------------------- */

typedef struct candidate {
    const char *file;
    timm_graph_name name;
} candidate;

/* timm's own head is preferred to others. */
static uint32_t find_candidates(const char *model, const name_list *graphs, candidate *found, uint32_t max) {
    assert(max > 0);
    uint32_t count = 0;
    bool has_plain = false;
    for (uint32_t i = 0; i < graphs->count; i++) {
        candidate c = {.file = graphs->names[i]};
        if (!timm_graph_parse(c.file, &c.name) || c.name.is_reparam) continue;
        if (strlen(model) != c.name.model || memcmp(model, c.file, c.name.model) != 0) continue;
        if (has_plain && c.name.is_other_head) continue;
        if (!has_plain && !c.name.is_other_head) count = 0;
        has_plain = has_plain || !c.name.is_other_head;
        if (count < max) found[count++] = c;
    }
    return count;
}

static bool is_more_usual(const candidate *a, const candidate *b) {
    bool is_large_a = a->name.size >= USUAL_SIZE, is_large_b = b->name.size >= USUAL_SIZE;
    return is_large_a != is_large_b ? is_large_a : a->name.size < b->name.size;
}

/* Bytes that training keeps per image; NaN when the graph is unusable, which is reported when it is added. */
static ft_status bytes_per_image(const char *folder, const char *file, double *bytes, ft_error *error) {
    char path[4096];
    ft_graph *graph = NULL, *bound = NULL;
    ft_memory memory;
    ft_cost_options options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    *bytes = NAN;
    int size = snprintf(path, sizeof path, "%s/%s", folder, file);
    if (size < 0 || (size_t)size >= sizeof path) return FT_OK;
    ft_status status = ft_graph_read(path, &graph, error);
    if (status == FT_OK) status = ft_graph_bind(graph, &(ft_binding){.batch = PLAN_BATCH}, &bound, error);
    if (status == FT_OK) status = ft_memory_plan(bound, &options, &memory, NULL, NULL, error);
    if (status == FT_OK) *bytes = (double)memory.saved_bytes / PLAN_BATCH;
    ft_graph_free(bound);
    ft_graph_free(graph);
    return status == FT_ERR_NOMEM || (status == FT_ERR_IO && access(path, R_OK) == 0) ? status : FT_OK;
}

/* The distance of a graph from the measured bytes per image, as a logarithm. */
static ft_status distance_of(const timm_memory_facts *facts, const char *folder, const char *file, double *distance,
                             ft_error *error) {
    double kept, published = (facts->max_forward - facts->min_forward) / (facts->max_batch - facts->min_batch) * MIB;
    FT_TRY(bytes_per_image(folder, file, &kept, error));
    *distance = kept > 0 && published > 0 && isfinite(published) ? fabs(log(kept / published)) : INFINITY;
    return FT_OK;
}

/* NULL when no graph has the right size. */
static ft_status choose(const timm_memory_facts *facts, const char *folder, const candidate *list, uint32_t count,
                        const char **graph, ft_error *error) {
    const candidate *usual = NULL;
    double nearest = MATCH_LOG;
    *graph = NULL;
    for (uint32_t i = 0; i < count; i++) {
        double distance;
        FT_TRY(distance_of(facts, folder, list[i].file, &distance, error));
        bool is_possible = !(distance > REJECT_LOG) || isinf(distance); /* infinite: nothing is known */
        if (is_possible && (usual == NULL || is_more_usual(&list[i], usual))) usual = &list[i];
        if (distance >= nearest) continue;
        nearest = distance;
        *graph = list[i].file;
    }
    if (*graph == NULL && usual != NULL) *graph = usual->file;
    return FT_OK;
}

ft_status timm_memory_choose_graph(timm_memory_facts *facts, const char *model, const char *folder,
                                   const name_list *graphs, const char **graph, ft_error *error) {
    candidate list[32];
    if (!facts->is_chosen) {
        uint32_t count = find_candidates(model, graphs, list, sizeof list / sizeof list[0]);
        if (count > 0) FT_TRY(choose(facts, folder, list, count, &facts->graph, error));
        facts->is_chosen = true;
        facts->has_other_sizes = count > 0 && facts->graph == NULL;
    }
    *graph = facts->graph;
    return FT_OK;
}

/* --- All models ---------------------------------------------------------------------------------------------- */

typedef struct choosing {
    timm_memory_facts **facts;
    const char *folder;
    const name_list *graphs;
    atomic_bool has_failed; /* no memory */
} choosing;

static void choose_part(void *user, uint32_t part, uint32_t worker) {
    (void)worker;
    choosing *c = user;
    const char *graph;
    ft_error ignored;
    timm_memory_facts *facts = c->facts[part];
    if (timm_memory_choose_graph(facts, facts->model, c->folder, c->graphs, &graph, &ignored) != FT_OK)
        atomic_store(&c->has_failed, true);
}

ft_status timm_memory_choose_all(timm_memory_facts **facts, uint32_t count, const char *folder, const name_list *graphs,
                                 uint32_t threads, ft_error *error) {
    choosing c = {.facts = facts, .folder = folder, .graphs = graphs};
    pool *p = NULL;
    if (count > 1) FT_TRY(pool_new(threads, &p, error));
    pool_run(p, count, choose_part, &c);
    pool_free(p);
    return atomic_load(&c.has_failed) ? FT_NOMEM(error) : FT_OK;
}
