/* allocator_replay.c - the memory events of one step, recorded once and replayed several times through the allocator.
 *
 * In the first step PyTorch (with cudnn.benchmark) tries algorithms for each convolution and then empties its cache, so
 * no cached segment survives a convolution. Optimiser state is allocated at the end of the first step. From then on
 * blocks are reused, and segments are added for requests that do not fit. Dense convolutions need scratch: copies of
 * their operands in the layout of tensor cores, twice the bytes they touch. */
#include "cost/allocator.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/num.h"
#include "cost/memory.h"
#include "graph/geometry.h"

enum { STEPS = 3, MAX_TEMPORARIES = 64, SCRATCH_FACTOR = 2 };

typedef struct recording {
    const ft_graph *graph;
    uint32_t id_count; /* of the timeline */
    timeline_event *events;
    size_t count, capacity;
    bool has_failed;
} recording;

static void record(void *user, const timeline_event *event) {
    recording *r = user;
    bool is_empty = event->bytes == 0 && event->kind != TIMELINE_OP;
    if (r->has_failed || is_empty) return;
    if (r->count == r->capacity) {
        size_t larger = r->capacity == 0 ? 1024 : r->capacity * 2;
        timeline_event *events = realloc(r->events, larger * sizeof *events);
        if (events == NULL) {
            r->has_failed = true;
            return;
        }
        r->events = events;
        r->capacity = larger;
    }
    /* Field by field: faster than copying the struct right after its fields were written. */
    timeline_event *own = &r->events[r->count++];
    own->kind = event->kind;
    own->id = event->id;
    own->from = event->from;
    own->bytes = event->bytes;
}

/* --- Scratch ------------------------------------------------------------------------------------------------- */

typedef struct scratch {
    uint64_t bytes; /* that a convolution needs while it runs */
    bool is_conv;
} scratch;

static scratch scratch_of(const ft_graph *graph, uint32_t op) {
    const ft_op *o = &graph->ops[op];
    const conv_geometry *g = conv_geometry_cached(graph, o);
    scratch result = {.is_conv = g != NULL};
    const ft_tensor *out = op_output(graph, o, 0);
    if (g == NULL || out == NULL || g->groups > 1 || g->is_depthwise || g->kernel_elems == 1) return result;
    uint64_t touched = num_add_sat(tensor_bytes(graph, g->x), tensor_bytes(graph, out));
    if (g->weight != NULL) touched = num_add_sat(touched, tensor_bytes(graph, g->weight));
    result.bytes = num_mul_sat(touched, SCRATCH_FACTOR);
    return result;
}

static scratch *find_scratch(const ft_graph *graph) {
    scratch *list = calloc((size_t)graph->op_count + 1, sizeof *list);
    for (uint32_t i = 0; list != NULL && i < graph->op_count; i++) {
        if (!graph->ops[i].is_folded) list[i] = scratch_of(graph, i);
    }
    return list;
}

/* --- Replaying ----------------------------------------------------------------------------------------------- */

typedef struct replayer {
    const recording *recorded;
    const scratch *scratches;
    allocator *memory;
    uint32_t first_weight, first_state, first_temporary; /* first ids after those of the timeline */
    uint32_t temporary_count;
} replayer;

static bool replay_op(replayer *p, uint32_t op, bool is_first) {
    assert(op < p->recorded->graph->op_count && p->temporary_count <= MAX_TEMPORARIES);
    const scratch *s = &p->scratches[op];
    if (!allocator_allocate_scratch(p->memory, s->bytes)) return false;
    for (; p->temporary_count > 0; p->temporary_count--)
        allocator_deallocate(p->memory, p->first_temporary + p->temporary_count - 1);
    if (is_first && s->is_conv) allocator_empty_cache(p->memory);
    return true;
}

static bool replay_event(replayer *p, const timeline_event *e, bool is_first) {
    switch (e->kind) {
    case TIMELINE_WEIGHT:
        return !is_first || allocator_allocate(p->memory, p->first_weight + e->id, e->bytes);
    case TIMELINE_OPTIMIZER:
        return true; /* allocated when the step ends */
    case TIMELINE_ALLOC:
        return allocator_allocate(p->memory, e->id, e->bytes);
    case TIMELINE_INPLACE:
        allocator_rename(p->memory, e->id, e->from);
        return true;
    case TIMELINE_TEMPORARY:
        if (p->temporary_count == MAX_TEMPORARIES) return true;
        return allocator_allocate(p->memory, p->first_temporary + p->temporary_count++, e->bytes);
    case TIMELINE_OP:
        return replay_op(p, e->id, is_first);
    case TIMELINE_FREE:
        allocator_deallocate(p->memory, e->id);
        return true;
    }
    return true;
}

static bool allocate_optimizer(replayer *p) {
    const recording *r = p->recorded;
    for (size_t i = 0; i < r->count; i++) {
        const timeline_event *e = &r->events[i];
        if (e->kind == TIMELINE_OPTIMIZER && !allocator_allocate(p->memory, p->first_state + e->id, e->bytes))
            return false;
    }
    return true;
}

/* When a step changes neither segments nor allocations, further steps do not either. */
static bool replay_all(replayer *p) {
    const recording *r = p->recorded;
    bool is_stable = false;
    for (int step = 0; step < STEPS && !is_stable; step++) {
        for (size_t i = 0; i < r->count; i++) {
            if (!replay_event(p, &r->events[i], step == 0)) return false;
        }
        if (step == 0 && !allocate_optimizer(p)) return false;
        allocator_deallocate_below(p->memory, p->first_weight);
        is_stable = allocator_is_stable(p->memory);
    }
    return true;
}

/* --- All of it ----------------------------------------------------------------------------------------------- */

static uint64_t scores_bytes(const recording *r) {
    uint64_t sum = 0;
    const ft_graph *graph = r->graph;
    for (size_t i = 0; i < r->count; i++) {
        const timeline_event *e = &r->events[i];
        if (e->kind != TIMELINE_ALLOC || e->id >= graph->tensor_count) continue;
        uint32_t maker = graph->tensors[e->id].producer;
        bool is_softmax = maker != FT_NONE && op_is(&graph->ops[maker], "Softmax");
        if (is_softmax) sum = num_add_sat(sum, e->bytes);
    }
    return sum;
}

static ft_status replay_recording(const recording *r, uint64_t limit, allocator_replay *out, ft_error *error) {
    const ft_graph *graph = r->graph;
    uint64_t id_count = r->id_count + 2 * (uint64_t)graph->tensor_count + MAX_TEMPORARIES;
    if (id_count > UINT32_MAX || graph->tensor_count > UINT32_MAX / 16 || graph->op_count > UINT32_MAX / 16)
        return ft_fail(error, FT_ERR_LIMIT, "model '%s' has too many tensors", graph->name);
    replayer p = {.recorded = r, .first_weight = r->id_count};
    p.first_state = p.first_weight + graph->tensor_count;
    p.first_temporary = p.first_state + graph->tensor_count;
    scratch *scratches = find_scratch(graph);
    p.scratches = scratches;
    p.memory = allocator_new((uint32_t)id_count, limit);
    bool is_done = scratches != NULL && p.memory != NULL && replay_all(&p);
    if (is_done) {
        out->reserved_bytes = allocator_peak_reserved(p.memory);
        out->allocated_bytes = allocator_peak_allocated(p.memory);
        out->is_over = allocator_is_exhausted(p.memory);
        out->scores_bytes = scores_bytes(r);
    }
    free(scratches);
    allocator_free(p.memory);
    return is_done ? FT_OK : FT_NOMEM(error);
}

ft_status allocator_replay_steps(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options,
                                 uint64_t limit, allocator_replay *out, ft_error *error) {
    recording r = {.graph = bound, .id_count = timeline_id_count(bound, options)};
    allocator_replay result = {0};
    const timeline_events events = {.on_event = record, .user = &r};
    ft_status status = timeline_walk(bound, cost, options, &events, &result.plan, error);
    if (status == FT_OK && r.has_failed) status = FT_NOMEM(error);
    if (status == FT_OK) status = replay_recording(&r, limit, &result, error);
    free(r.events);
    if (status == FT_OK) *out = result;
    return status;
}
