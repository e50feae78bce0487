/* tflite_loop.c - WHILE loops: the condition and the body appear once, inside a loop of the graph.
 *
 * A variable that the body returns unchanged is the same tensor inside and outside. One that changes enters through
 * a LOOP_CARRY operator: otherwise a constant initial value (a counter that starts at 0, a state of zeros) would
 * make everything computed from it look constant.
 *
 * loop.h finds the trip count of counting loops; any other loop counts as one trip. */
#include "read/loop.h"
#include "read/tflite/tflite.h"

#include <assert.h>

/* Whether the body returns variable `i` unchanged. */
static bool is_unchanged(const tflite_frame *body, uint32_t i) {
    assert(i < body->inputs.count && i < body->outputs.count);
    return flat_int_at(&body->inputs, i, FLAT_I32) == flat_int_at(&body->outputs, i, FLAT_I32);
}

/* A loop-carried tensor, with the type that the body declares. */
static ft_status add_carry(tflite_model *model, const tflite_site *site, tflite_frame *body, uint32_t i,
                           uint32_t *tensor) {
    int64_t index = flat_int_at(&body->inputs, i, FLAT_I32);
    uint32_t first = site->given.items[i], inside;
    /* A repeated input would be a tensor defined twice. */
    if (body->map[index] != TFLITE_UNMAPPED)
        return ft_fail(model->error, FT_ERR_GRAPH, "the loop's body lists tensor %lld twice among its inputs",
                       (long long)index);
    body->origin[index] = TFLITE_COMPUTED;
    FT_TRY(tflite_tensor(model, body, index, &inside));
    ft_op op = {.name = model->graph->tensors[inside].name,
                .type = "LOOP_CARRY",
                .loop = site->loop,
                .inputs = &first,
                .input_count = 1,
                .outputs = &inside,
                .output_count = 1};
    *tensor = inside;
    return graph_add_op(model->graph, &op, model->error);
}

/* Replaces the variables that change by loop-carried tensors. */
static ft_status enter_loop(tflite_model *model, tflite_site *site, int64_t body_index) {
    tflite_frame body;
    FT_TRY(tflite_callee(model, site, body_index, &body));
    if (body.inputs.count != site->given.count || body.outputs.count != site->given.count)
        return ft_fail(model->error, FT_ERR_GRAPH,
                       "the loop has %u variables, but its body has %u inputs and %u outputs", site->given.count,
                       body.inputs.count, body.outputs.count);
    tflite_list inside = {.items = ARENA_ARRAY(&model->scratch, uint32_t, body.inputs.count),
                          .count = body.inputs.count};
    if (inside.items == NULL) return FT_NOMEM(model->error);
    for (uint32_t i = 0; i < inside.count; i++) {
        inside.items[i] = site->given.items[i];
        if (site->given.items[i] != FT_NONE && !is_unchanged(&body, i))
            FT_TRY(add_carry(model, site, &body, i, &inside.items[i]));
    }
    site->given = inside;
    return FT_OK;
}

ft_status tflite_inline_loop(tflite_model *model, tflite_site *site, int64_t condition, int64_t body,
                             tflite_list *results) {
    graph_loop loop = {.parent = site->loop, .trip_tensor = FT_NONE, .scan_tensor = FT_NONE, .trips = 1};
    uint32_t begin = model->graph->op_count;
    tflite_list is_going_on;
    FT_TRY(graph_add_loop(model->graph, &loop, &site->loop, model->error));
    FT_TRY(enter_loop(model, site, body));
    FT_TRY(tflite_inline(model, site, condition, &is_going_on));
    FT_TRY(tflite_inline(model, site, body, results));
    /* Searching for producers walks the loop's operators a few times per loop: nested loops count that as work. */
    FT_TRY(tflite_add_work(model, model->graph->op_count - begin));
    if (is_going_on.count == 1 && is_going_on.items[0] != FT_NONE)
        model->graph->loops[site->loop].trip_tensor =
            loop_find_limit(model->graph, begin, is_going_on.items[0],
                            &(loop_variables){site->given.items, results->items, site->given.count});
    return FT_OK;
}
