/* replay.c - the events of one step, written down once and played several times.
 *
 * In the first step PyTorch (with cudnn.benchmark) tries algorithms for each convolution and then empties its cache, so
 * nothing that is free survives a convolution. Optimiser state appears at the end of the first step. From then on
 * blocks are reused, and what does not fit is added. Dense convolutions take scratch: copies of their operands in the
 * layout that tensor cores read, twice the bytes they touch. */
#include "cost/replay.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/num.h"
#include "cost/allocator.h"
#include "cost/timeline.h"
#include "graph/product.h"

enum { STEPS = 3, MOST_PASSING = 64, SCRATCH_TIMES = 2 };

typedef struct recording {
    const ft_graph *graph;
    timeline_event *events;
    size_t count, capacity;
    bool has_failed;
} recording;

static void record(void *user, const timeline_event *event) {
    recording *r = user;
    bool is_nothing = event->bytes == 0 && event->kind != TIMELINE_STEP;
    if (r->has_failed || is_nothing) return;
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
    timeline_event *own = &r->events[r->count++]; /* field by field: much faster right after they were written */
    own->kind = event->kind;
    own->id = event->id;
    own->from = event->from;
    own->bytes = event->bytes;
}

/* --- Scratch ------------------------------------------------------------------------------------------------- */

typedef struct scratch {
    uint64_t bytes; /* that a convolution takes while it works */
    bool is_conv;
} scratch;

static scratch scratch_of(const ft_graph *graph, uint32_t op) {
    const ft_op *o = &graph->ops[op];
    const conv_geometry *g = conv_geometry_kept(graph, o);
    scratch made = {.is_conv = g != NULL};
    const ft_tensor *out = op_output(graph, o, 0);
    if (g == NULL || out == NULL || g->groups > 1 || g->is_depthwise || g->kernel_elems == 1) return made;
    uint64_t touched = num_add_sat(tensor_bytes(graph, g->x), tensor_bytes(graph, out));
    if (g->weight != NULL) touched = num_add_sat(touched, tensor_bytes(graph, g->weight));
    made.bytes = num_mul_sat(touched, SCRATCH_TIMES);
    return made;
}

static scratch *find_scratch(const ft_graph *graph) {
    scratch *list = calloc((size_t)graph->op_count + 1, sizeof *list);
    for (uint32_t i = 0; list != NULL && i < graph->op_count; i++) {
        if (!graph->ops[i].is_folded) list[i] = scratch_of(graph, i);
    }
    return list;
}

/* --- Playing ------------------------------------------------------------------------------------------------- */

typedef struct player {
    const recording *recorded;
    const scratch *scratches;
    allocator *memory;
    uint32_t first_weight, first_state, first_passing; /* numbers of pieces beside those of the timeline */
    uint32_t passing;
} player;

static bool play_step_of(player *p, uint32_t op, bool is_first) {
    const scratch *s = &p->scratches[op];
    if (!allocator_borrow(p->memory, s->bytes)) return false;
    for (; p->passing > 0; p->passing--) allocator_give(p->memory, p->first_passing + p->passing - 1);
    if (is_first && s->is_conv) allocator_release(p->memory);
    return true;
}

static bool play(player *p, const timeline_event *e, bool is_first) {
    switch (e->kind) {
    case TIMELINE_WEIGHT:
        return !is_first || allocator_take(p->memory, p->first_weight + e->id, e->bytes);
    case TIMELINE_STATE:
        return true; /* made when the step ends */
    case TIMELINE_TAKE:
        return allocator_take(p->memory, e->id, e->bytes);
    case TIMELINE_PASS_ON:
        allocator_pass_on(p->memory, e->id, e->from);
        return true;
    case TIMELINE_PASS:
        if (p->passing == MOST_PASSING) return true;
        return allocator_take(p->memory, p->first_passing + p->passing++, e->bytes);
    case TIMELINE_STEP:
        return play_step_of(p, e->id, is_first);
    case TIMELINE_GIVE:
        allocator_give(p->memory, e->id);
        return true;
    }
    return true;
}

static bool play_optimizer(player *p) {
    const recording *r = p->recorded;
    for (size_t i = 0; i < r->count; i++) {
        const timeline_event *e = &r->events[i];
        if (e->kind == TIMELINE_STATE && !allocator_take(p->memory, p->first_state + e->id, e->bytes)) return false;
    }
    return true;
}

/* A step that ends as it began will do so again. */
static bool play_all(player *p) {
    const recording *r = p->recorded;
    bool is_settled = false;
    for (int step = 0; step < STEPS && !is_settled; step++) {
        for (size_t i = 0; i < r->count; i++) {
            if (!play(p, &r->events[i], step == 0)) return false;
        }
        if (step == 0 && !play_optimizer(p)) return false;
        allocator_give_below(p->memory, p->first_weight);
        is_settled = allocator_is_settled(p->memory);
    }
    return true;
}

/* --- All of it ----------------------------------------------------------------------------------------------- */

static uint64_t scores_bytes(const recording *r) {
    uint64_t sum = 0;
    const ft_graph *graph = r->graph;
    for (size_t i = 0; i < r->count; i++) {
        const timeline_event *e = &r->events[i];
        if (e->kind != TIMELINE_TAKE || e->id >= graph->tensor_count) continue;
        uint32_t maker = graph->tensors[e->id].producer;
        bool is_softmax = maker != FT_NONE && op_is(&graph->ops[maker], "Softmax");
        if (is_softmax) sum = num_add_sat(sum, e->bytes);
    }
    return sum;
}

static ft_status play_recording(const recording *r, uint64_t limit, replay *out, ft_error *error) {
    const ft_graph *graph = r->graph;
    uint64_t pieces = 5 * (uint64_t)graph->tensor_count + graph->op_count + MOST_PASSING;
    if (pieces > UINT32_MAX) return ft_fail(error, FT_ERR_LIMIT, "model '%s' has too many tensors", graph->name);
    player p = {.recorded = r, .first_weight = 3 * graph->tensor_count + graph->op_count};
    p.first_state = p.first_weight + graph->tensor_count;
    p.first_passing = p.first_state + graph->tensor_count;
    scratch *scratches = find_scratch(graph);
    p.scratches = scratches;
    p.memory = allocator_new((uint32_t)pieces, limit);
    bool is_played = scratches != NULL && p.memory != NULL && play_all(&p);
    if (is_played) {
        out->reserved_bytes = allocator_reserved(p.memory);
        out->taken_bytes = allocator_taken(p.memory);
        out->is_over = allocator_is_over(p.memory);
        out->scores_bytes = scores_bytes(r);
    }
    free(scratches);
    allocator_free(p.memory);
    return is_played ? FT_OK : FT_NOMEM(error);
}

ft_status replay_steps(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options, uint64_t limit,
                       replay *out, ft_error *error) {
    recording r = {.graph = bound};
    replay made = {0};
    const timeline_events events = {.tell = record, .user = &r};
    ft_status status = timeline_walk(bound, cost, options, &events, &made.plan, error);
    if (status == FT_OK && r.has_failed) status = FT_NOMEM(error);
    if (status == FT_OK) status = play_recording(&r, limit, &made, error);
    free(r.events);
    if (status == FT_OK) *out = made;
    return status;
}
