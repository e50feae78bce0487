/* report_trace.c - a result as a trace for chrome://tracing and ui.perfetto.dev: kernels one after the other, and the
 * memory that is alive meanwhile as a counter.
 *
 * A predictor gives one time for a kernel of a training step. Here it is divided between the forward and the backward
 * pass by the work of the two, so that memory grows and shrinks at the right time. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "cost/cost.h"
#include "forecast/report.h"
#include "report/trace.h"

/* When a kernel runs; `back_us` = 0 when it has no backward pass. */
typedef struct span {
    double start_us, forward_us, back_start_us, back_us;
} span;

typedef struct tracer {
    const ft_model_results *entry;
    const ft_result *result;
    ft_graph *bound;
    ft_cost cost;
    ft_cost_options options;
    span *spans;           /* per kernel */
    uint32_t *kernel_of;   /* per operator: its kernel, or FT_NONE */
    uint32_t *position_of; /* per operator: its index among those of its kernel */
    double end_us;         /* of the last kernel, when the optimiser step runs */
    double other_bytes;    /* memory of the result beyond the tensors of the timeline */
    double now_us;         /* of the last value of the counter */
    trace out;
} tracer;

static const trace_track TRACK = {1, 1};

/* --- Schedule ------------------------------------------------------------------------------------------------ */

/* The share of the forward pass in the time of a kernel of a training step; it includes the optimiser. */
static double forward_ratio(const tracer *t, const ft_part *part) {
    work_share share = work_share_of(&t->cost, part->ops, part->op_count);
    double both = share.forward + share.backward;
    assert(share.forward >= 0 && share.backward >= 0);
    return both > 0 ? share.forward / both : 1;
}

/* Forward in order, backward in reverse; parts after the last kernel with operators (a correction, the optimiser) stay
 * at the end. A negative part, which a correction may be, has no length. */
static void schedule_kernels(tracer *t) {
    const ft_result *result = t->result;
    uint32_t last = ft_result_time(result)->part_count;
    double now = 0;
    while (last > 0 && ft_result_time(result)->parts[last - 1].op_count == 0) last--;
    for (uint32_t k = 0; k < ft_result_time(result)->part_count; k++) {
        double length = fmax(0, ft_result_time(result)->parts[k].value),
               ratio = forward_ratio(t, &ft_result_time(result)->parts[k]);
        t->spans[k] = (span){.forward_us = length * ratio, .back_us = length - length * ratio};
    }
    for (uint32_t k = 0; k < last; k++) {
        t->spans[k].start_us = now;
        now += t->spans[k].forward_us;
    }
    for (uint32_t k = last; k-- > 0;) {
        t->spans[k].back_start_us = now;
        now += t->spans[k].back_us;
    }
    t->end_us = now;
    for (uint32_t k = last; k < ft_result_time(result)->part_count; k++) {
        t->spans[k].start_us = now;
        now += t->spans[k].forward_us;
    }
}

static void map_operators(tracer *t) {
    uint32_t count = ft_graph_op_count(t->bound);
    for (uint32_t i = 0; i < count; i++) t->kernel_of[i] = FT_NONE;
    for (uint32_t k = 0; k < ft_result_time(t->result)->part_count; k++) {
        const ft_part *part = &ft_result_time(t->result)->parts[k];
        for (uint32_t i = 0; i < part->op_count; i++) {
            if (part->ops[i] >= count) continue;
            t->kernel_of[part->ops[i]] = k;
            t->position_of[part->ops[i]] = i;
        }
    }
}

/* When an operator begins; one that is in no kernel, such as a view, begins when the one before it did. */
static double time_of(const tracer *t, ft_phase phase, uint32_t op) {
    if (phase == FT_PHASE_OPTIMIZER || op == FT_NONE) return t->end_us;
    assert(op < ft_graph_op_count(t->bound));
    uint32_t k = t->kernel_of[op];
    if (k == FT_NONE) return t->now_us;
    const span *s = &t->spans[k];
    double count = ft_result_time(t->result)->parts[k].op_count, position = t->position_of[op];
    if (phase == FT_PHASE_BACKWARD) return s->back_start_us + s->back_us * (count - 1 - position) / count;
    return s->start_us + s->forward_us * position / count;
}

/* --- Events -------------------------------------------------------------------------------------------------- */

static void write_labels(tracer *t) {
    const ft_request *request = &t->result->request;
    buf text = {0};
    buf_format(&text, "%s on %s, batch %lld", t->entry->file, request->device, (long long)request->batch);
    trace_label(&t->out, "process_name", TRACK, text.data);
    trace_label(&t->out, "thread_name", TRACK, request->mode == FT_TRAIN ? "kernels of a training step" : "kernels");
    if (text.failed) t->out.out.text.failed = true;
    buf_free(&text);
}

static void write_kernel(tracer *t, uint32_t k, const char *pass, double start_us, double length_us) {
    json_writer *j = &t->out.json;
    const ft_graph *model = t->entry->model;
    layer_row row;
    layer_row_fill(t->result, k, &row);
    trace_begin(&t->out, row.kernel, "X", TRACK, start_us);
    jsonw_pair_double(j, "dur", length_us);
    jsonw_pair_string(j, "cat", pass);
    trace_args(&t->out);
    jsonw_key(j, "operators");
    jsonw_open_array(j, JSON_LINE);
    for (uint32_t i = 0; i < row.part.op_count; i++)
        jsonw_string(j, facts_op_name(model, &ft_graph_ops(model)[row.part.ops[i]]));
    jsonw_close(j);
    jsonw_pair_double(j, "time_us", row.time_us);
    jsonw_pair_double(j, "share_ratio", row.share_ratio);
    jsonw_pair_string(j, "bound", row.bound);
    trace_end(&t->out);
}

static void write_kernels(tracer *t) {
    uint32_t count = ft_result_time(t->result)->part_count;
    for (uint32_t k = 0; k < count; k++) write_kernel(t, k, "forward", t->spans[k].start_us, t->spans[k].forward_us);
    for (uint32_t k = count; k-- > 0;)
        if (t->spans[k].back_us > 0) write_kernel(t, k, "backward", t->spans[k].back_start_us, t->spans[k].back_us);
}

static void write_memory(void *user, ft_phase phase, uint32_t op, uint64_t live_bytes) {
    tracer *t = user;
    t->now_us = fmax(t->now_us, time_of(t, phase, op));
    trace_begin(&t->out, "memory", "C", TRACK, t->now_us);
    trace_args(&t->out);
    jsonw_pair_uint(&t->out.json, "other_bytes", (uint64_t)t->other_bytes);
    jsonw_pair_uint(&t->out.json, "tensor_bytes", live_bytes);
    trace_end(&t->out);
}

static ft_status write_trace(tracer *t, ft_error *error) {
    const ft_metric_result *memory = ft_result_memory(t->result);
    ft_memory plan;
    FT_TRY(ft_memory_plan(t->bound, &t->options, &plan, NULL, NULL, error));
    if (memory->value > (double)plan.peak_bytes && memory->value < 9e18)
        t->other_bytes = memory->value - (double)plan.peak_bytes;
    write_labels(t);
    write_kernels(t);
    return ft_memory_plan(t->bound, &t->options, &plan, write_memory, t, error);
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static ft_status prepare(tracer *t, ft_error *error) {
    ft_binding binding = t->entry->shapes != NULL ? *t->entry->shapes : (ft_binding){0};
    binding.batch = t->result->request.batch;
    t->options = request_cost_options(&t->result->request);
    FT_TRY(ft_graph_bind(t->entry->model, &binding, &t->bound, error));
    FT_TRY(ft_cost_compute(t->bound, &t->options, &t->cost, error));
    size_t ops = ft_graph_op_count(t->bound);
    t->spans = calloc((size_t)ft_result_time(t->result)->part_count + 1, sizeof *t->spans);
    t->kernel_of = calloc(ops + 1, sizeof *t->kernel_of);
    t->position_of = calloc(ops + 1, sizeof *t->position_of);
    if (t->spans == NULL || t->kernel_of == NULL || t->position_of == NULL) return FT_NOMEM(error);
    schedule_kernels(t);
    map_operators(t);
    return FT_OK;
}

ft_status ft_result_trace(const char *path, const ft_model_results *entry, uint32_t index, ft_error *error) {
    FT_REQUIRE(error, path, entry);
    assert(index < entry->results->count);
    tracer t = {.entry = entry, .result = &entry->results->items[index]};
    if (ft_result_time(t.result)->part_count == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s: no times of kernels on %s: %s", path, t.result->request.device,
                       ft_result_time(t.result)->missing_reason != NULL
                           ? ft_result_time(t.result)->missing_reason
                           : "its predictor predicts the whole model, not its kernels");
    ft_status status = prepare(&t, error);
    if (status == FT_OK) status = trace_open(path, &t.out, error);
    if (status == FT_OK) status = write_trace(&t, error);
    if (status == FT_OK) status = trace_commit(&t.out, error);
    trace_free(&t.out);
    ft_cost_free(&t.cost);
    ft_graph_free(t.bound);
    free(t.spans);
    free(t.kernel_of);
    free(t.position_of);
    return status;
}
