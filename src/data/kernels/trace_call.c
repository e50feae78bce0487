/* trace_call.c - the recorded arguments of a call: shapes and types of its inputs, values of its other arguments; and
 * the operators of a trace in the order in which their threads began them. */
#include "data/kernels/trace_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* --- Recorded arguments -------------------------------------------------------------------------------------- */

/* A shape: sizes only; anything else has rank 0. False: not JSON, which cannot be after it was read once. */
static bool read_shape(json_pull *p, call_input *input) {
    bool is_shape = true;
    int64_t dim;
    if (json_pull_peek(p) != '[') return json_pull_skip(p);
    if (!json_pull_open(p, '[')) return false;
    for (bool first = true; json_pull_more(p, ']', &first);) {
        bool is_number = json_pull_peek(p) == '0';
        if (!(is_number ? json_pull_int(p, &dim) : json_pull_skip(p))) return false;
        is_shape = is_shape && is_number && dim >= 1 && dim <= FT_MAX_DIM && input->rank < FT_MAX_RANK;
        if (is_shape) input->dims[input->rank++] = dim;
    }
    if (!is_shape) input->rank = 0;
    return p->why == NULL;
}

static bool find_type(const json_text *text, ft_dtype *dtype) {
    static const struct {
        const char *name;
        ft_dtype dtype;
    } types[] = {{"float", FT_FLOAT32},  {"c10::Half", FT_FLOAT16}, {"c10::BFloat16", FT_BFLOAT16},
                 {"double", FT_FLOAT64}, {"long int", FT_INT64},    {"long", FT_INT64},
                 {"int", FT_INT32},      {"signed char", FT_INT8},  {"unsigned char", FT_UINT8}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (!json_text_is(text, types[i].name)) continue;
        *dtype = types[i].dtype;
        return true;
    }
    return false;
}

void trace_call_read(call *c) {
    json_pull p;
    json_pull_init(&p, trace_text(c->t, c->event->shapes), c->event->shapes.length);
    if (c->event->shapes.length == 0 || json_pull_peek(&p) != '[' || !json_pull_open(&p, '[')) return;
    for (bool first = true; c->count < CALL_MAX_INPUTS && json_pull_more(&p, ']', &first); c->count++)
        if (!read_shape(&p, &c->inputs[c->count])) return;
    json_text text = {"", 0, false};
    json_pull_init(&p, trace_text(c->t, c->event->types), c->event->types.length);
    if (c->event->types.length == 0 || json_pull_peek(&p) != '[' || !json_pull_open(&p, '[')) return;
    int at = 0;
    for (bool first = true; at < c->count && json_pull_more(&p, ']', &first); at++) {
        bool is_text = json_pull_peek(&p) == '"';
        if (!(is_text ? json_pull_string(&p, &text) : json_pull_skip(&p))) return;
        if (is_text) c->inputs[at].has_type = find_type(&text, &c->inputs[at].dtype);
    }
}

json_text trace_call_text(const call *c, int argument) {
    json_pull p;
    json_text text = {"", 0, false};
    const json_text none = text;
    json_pull_init(&p, trace_text(c->t, c->event->values), c->event->values.length);
    if (c->event->values.length == 0 || json_pull_peek(&p) != '[' || !json_pull_open(&p, '[')) return none;
    int at = 0;
    for (bool first = true; at <= argument && json_pull_more(&p, ']', &first); at++) {
        text = none;
        if (!(json_pull_peek(&p) == '"' ? json_pull_string(&p, &text) : json_pull_skip(&p))) return none;
    }
    return at > argument ? text : none;
}

int trace_call_numbers(const call *c, int argument, int64_t list[static CALL_MAX_LIST]) {
    json_text text = trace_call_text(c, argument);
    int count = 0;
    for (size_t i = 0; i < text.length && count < CALL_MAX_LIST;) {
        size_t length = 0;
        while (i + length < text.length && strchr("-0123456789", text.text[i + length]) != NULL) length++;
        if (length > 0 && text_int(text.text + i, length, &list[count])) count++;
        i += length + 1;
    }
    return count;
}

/* --- Writing inputs ------------------------------------------------------------------------------------------ */

void trace_put_shape(kernel_row *row, const call_input *input, bool has_batch, const char *words) {
    size_t used = strlen(row->inputs);
    char text[MAX_CELL];
    int length = snprintf(text, sizeof text, "%s", used > 0 ? ";" : "");
    for (int i = 0; i < input->rank; i++) {
        size_t room = sizeof text - (size_t)length;
        length += i == 0 && has_batch
                      ? snprintf(text + length, room, "N")
                      : snprintf(text + length, room, "%s%lld", i > 0 ? "x" : "", (long long)input->dims[i]);
        if ((size_t)length >= sizeof text) return;
    }
    snprintf(row->inputs + used, sizeof row->inputs - used, "%s%s", text, words);
}

/* --- Order --------------------------------------------------------------------------------------------------- */

typedef struct sorted {
    int64_t start, end;
    uint32_t lane, event;
} sorted;

static int by_begin(const void *a, const void *b) {
    const sorted *x = a, *y = b;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

ft_status trace_order_make(const ft_trace *t, arena *memory, trace_order *order, ft_error *error) {
    sorted *list = malloc(((size_t)t->count + 1) * sizeof *list);
    *order = (trace_order){.events = ARENA_ARRAY(memory, uint32_t, (size_t)t->count + 1),
                           .positions = ARENA_ARRAY(memory, uint32_t, (size_t)t->count + 1)};
    if (list == NULL || order->events == NULL || order->positions == NULL) {
        free(list);
        return FT_NOMEM(error);
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const trace_event *e = &t->events[i];
        if (e->kind == TRACE_OPERATOR) list[order->count++] = (sorted){e->start_ns, trace_end_ns(e), e->lane, i};
    }
    qsort(list, order->count, sizeof *list, by_begin);
    for (uint32_t i = 0; i < order->count; i++) {
        order->events[i] = list[i].event;
        order->positions[list[i].event] = i;
    }
    free(list);
    return FT_OK;
}
