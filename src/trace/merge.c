/* merge.c - several traces as one timeline.
 *
 * Events are copied as they stand, but for what identifies something inside one trace: processes, flows, devices and
 * correlations get numbers of their own, and times those of the first clock. A collective ends on all ranks together,
 * so the median difference of the ends is that of the clocks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/num.h"
#include "report/sink.h"
#include "trace/trace.h"

enum { PROCESS_STEP = 10000000, DEVICE_STEP = 16 };
#define CORRELATION_STEP (INT64_C(1) << 36)

typedef struct merger {
    const ft_trace *const *traces;
    const ft_trace *t; /* the trace that is copied */
    uint32_t index;    /* its number */
    int64_t shift_ns;  /* added to its times */
    sink out;
    uint64_t events;
} merger;

/* --- Clocks -------------------------------------------------------------------------------------------------- */

typedef struct moments {
    int64_t *times;
    uint32_t count;
} moments;

static int by_time(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static ft_status collect_ends(const ft_trace *t, moments *m, ft_error *error) {
    *m = (moments){.times = malloc(((size_t)t->count + 1) * sizeof *m->times)};
    if (m->times == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < t->count; i++)
        if (t->events[i].kind == TRACE_KERNEL && trace_is_collective(t->names[t->events[i].name]))
            m->times[m->count++] = trace_end_ns(&t->events[i]);
    qsort(m->times, m->count, sizeof *m->times, by_time);
    return FT_OK;
}

static int64_t median_of(int64_t *values, uint32_t count) {
    qsort(values, count, sizeof *values, by_time);
    return values[count / 2];
}

/* Differences of collectives, or of steps of one name, in `differences`. Returns their number. */
static uint32_t match_steps(const ft_trace *a, const ft_trace *b, int64_t *differences, uint32_t capacity) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->count && count < capacity; i++) {
        if (b->events[i].kind != TRACE_STEP) continue;
        for (uint32_t k = 0; k < a->count; k++) {
            if (a->events[k].kind != TRACE_STEP ||
                strcmp(a->names[a->events[k].name], b->names[b->events[i].name]) != 0)
                continue;
            differences[count++] = a->events[k].start_ns - b->events[i].start_ns;
            break;
        }
    }
    return count;
}

static ft_status find_shift(const ft_trace *a, const ft_trace *b, int64_t *shift_ns, bool *is_aligned,
                            ft_error *error) {
    enum { MAX_STEPS = 256 };
    moments x = {0}, y = {0};
    int64_t differences[MAX_STEPS];
    uint32_t count = 0;
    *shift_ns = 0;
    *is_aligned = false;
    if (a->rank < 0 || b->rank < 0 || a->rank == b->rank) return FT_OK; /* one process: one clock */
    ft_status status = collect_ends(a, &x, error);
    if (status == FT_OK) status = collect_ends(b, &y, error);
    if (status == FT_OK && x.count == y.count && x.count > 0) {
        for (uint32_t i = 0; i < x.count; i++) x.times[i] -= y.times[i];
        *shift_ns = median_of(x.times, x.count);
        *is_aligned = true;
    } else if (status == FT_OK) {
        count = match_steps(a, b, differences, MAX_STEPS);
        if (count > 0) *shift_ns = median_of(differences, count);
        *is_aligned = count > 0;
    }
    free(x.times);
    free(y.times);
    return status;
}

/* --- Copying ------------------------------------------------------------------------------------------------- */

static void put_raw(merger *m, const char *begin, const char *end) {
    buf_add(&m->out.text, begin, (size_t)(end - begin));
}

static void put_key(merger *m, const json_text *key, bool is_first) {
    if (!is_first) buf_char(&m->out.text, ',');
    buf_char(&m->out.text, '"');
    buf_add(&m->out.text, key->text, key->length);
    buf_text(&m->out.text, "\":");
}

/* Skips a value: *begin and *end are its text. */
static bool raw_value(json_pull *p, const char **begin, const char **end) {
    json_pull_peek(p);
    *begin = p->at;
    bool is_there = json_pull_skip(p);
    *end = p->at;
    return is_there;
}

static bool copy_raw(merger *m, json_pull *p) {
    const char *begin, *end;
    if (!raw_value(p, &begin, &end)) return false;
    put_raw(m, begin, end);
    return true;
}

/* A whole number gets `step` for each trace before this one; anything else is copied. */
static bool copy_number(merger *m, json_pull *p, int64_t step) {
    const char *begin, *end;
    int64_t number = 0, moved;
    if (!raw_value(p, &begin, &end)) return false;
    json_pull again;
    json_pull_init(&again, begin, (size_t)(end - begin));
    bool is_moved = m->index > 0 && json_pull_int(&again, &number) && json_pull_end(&again) && number >= 0 &&
                    num_mul_i64(step, m->index, &moved) && num_add_i64(moved, number, &moved);
    if (is_moved)
        buf_int(&m->out.text, moved);
    else
        put_raw(m, begin, end);
    return true;
}

/* Names and ids of one trace: texts get its number, where there are several. */
static bool copy_marked(merger *m, json_pull *p, const char *format) {
    const char *begin, *end;
    if (!raw_value(p, &begin, &end)) return false;
    if (m->index == 0) {
        put_raw(m, begin, end);
        return true;
    }
    bool is_text = *begin == '"' && end - begin >= 2;
    buf_char(&m->out.text, '"');
    put_raw(m, begin + is_text, end - is_text);
    buf_format(&m->out.text, format, (long long)(m->t->rank >= 0 ? m->t->rank : m->index));
    buf_char(&m->out.text, '"');
    return true;
}

static bool copy_time(merger *m, json_pull *p) {
    const char *begin, *end;
    int64_t ns;
    if (!raw_value(p, &begin, &end)) return false;
    if (!trace_parse_ns(begin, (size_t)(end - begin), &ns) || !num_add_i64(ns, m->shift_ns, &ns)) {
        put_raw(m, begin, end);
        return true;
    }
    uint64_t whole = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    buf_format(&m->out.text, "%s%llu.%03llu", ns < 0 ? "-" : "", (unsigned long long)(whole / 1000),
               (unsigned long long)(whole % 1000));
    return true;
}

static bool copy_arguments(merger *m, json_pull *p) {
    json_text key;
    if (m->index == 0 || json_pull_peek(p) != '{') return copy_raw(m, p);
    if (!json_pull_open(p, '{')) return false;
    buf_char(&m->out.text, '{');
    for (bool first = true, is_first = true; json_pull_more(p, '}', &first); is_first = false) {
        if (!json_pull_key(p, &key)) return false;
        put_key(m, &key, is_first);
        bool is_id =
            json_text_is(&key, "correlation") || json_text_is(&key, "External id") || json_text_is(&key, "external id");
        if (is_id || json_text_is(&key, "device")) {
            if (!copy_number(m, p, is_id ? CORRELATION_STEP : DEVICE_STEP)) return false;
        } else if (!copy_raw(m, p)) {
            return false;
        }
    }
    buf_char(&m->out.text, '}');
    return p->why == NULL;
}

static bool copy_value(merger *m, json_pull *p, const json_text *key) {
    if (json_text_is(key, "ts")) return copy_time(m, p);
    if (json_text_is(key, "args")) return copy_arguments(m, p);
    if (json_text_is(key, "id")) return copy_marked(m, p, " of %lld");
    if (json_text_is(key, "pid"))
        return json_pull_peek(p) == '"' ? copy_marked(m, p, " of rank %lld") : copy_number(m, p, PROCESS_STEP);
    return copy_raw(m, p);
}

static bool copy_event(merger *m, json_pull *p) {
    json_text key;
    buf_text(&m->out.text, m->events++ == 0 ? "\n" : ",\n");
    if (json_pull_peek(p) != '{') return copy_raw(m, p);
    if (!json_pull_open(p, '{')) return false;
    buf_char(&m->out.text, '{');
    for (bool first = true, is_first = true; json_pull_more(p, '}', &first); is_first = false) {
        if (!json_pull_key(p, &key)) return false;
        put_key(m, &key, is_first);
        if (!copy_value(m, p, &key)) return false;
    }
    buf_char(&m->out.text, '}');
    sink_relieve(&m->out);
    return p->why == NULL;
}

static bool copy_events(merger *m, json_pull *p) {
    if (!json_pull_open(p, '[')) return false;
    for (bool first = true; json_pull_more(p, ']', &first);)
        if (!copy_event(m, p)) return false;
    return p->why == NULL;
}

/* The text was parsed when the trace was opened, so that nothing fails here. */
static void copy_trace(merger *m) {
    json_pull p;
    json_text key;
    json_pull_init(&p, (const char *)m->t->in.bytes, m->t->in.size);
    if (json_pull_peek(&p) == '[') {
        copy_events(m, &p);
        return;
    }
    if (!json_pull_open(&p, '{')) return;
    for (bool first = true; json_pull_more(&p, '}', &first);) {
        if (!json_pull_key(&p, &key)) return;
        if (!(json_text_is(&key, "traceEvents") ? copy_events(m, &p) : json_pull_skip(&p))) return;
    }
}

/* --- Document ------------------------------------------------------------------------------------------------ */

static void put_devices(merger *m, uint32_t count) {
    json_writer j;
    jsonw_init(&j, &m->out.text);
    jsonw_open_array(&j, JSON_LINE);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t d = 0; d < TRACE_MAX_DEVICES; d++) {
            if (m->traces[i]->devices[d] == NULL) continue;
            jsonw_open_object(&j, JSON_LINE);
            jsonw_pair_uint(&j, "id", (uint64_t)i * DEVICE_STEP + d);
            jsonw_pair_string(&j, "name", m->traces[i]->devices[d]);
            jsonw_close(&j);
        }
    }
    jsonw_close(&j);
}

static ft_status write_document(merger *m, uint32_t count, ft_trace_merge_result *result, ft_error *error) {
    buf_format(&m->out.text, "{\"schemaVersion\": 1, \"baseTimeNanoseconds\": %lld,\n\"deviceProperties\": ",
               (long long)m->traces[0]->base_ns);
    put_devices(m, count);
    buf_text(&m->out.text, ",\n\"traceEvents\": [");
    for (uint32_t i = 0; i < count; i++) {
        bool is_aligned = false;
        m->t = m->traces[i];
        m->index = i;
        m->shift_ns = 0;
        if (i > 0) FT_TRY(find_shift(m->traces[0], m->t, &m->shift_ns, &is_aligned, error));
        if (!is_aligned) m->shift_ns = m->t->base_ns - m->traces[0]->base_ns;
        result->aligned += is_aligned;
        copy_trace(m);
    }
    buf_text(&m->out.text, "\n]}\n");
    result->events = m->events;
    return FT_OK;
}

ft_status ft_trace_merge(FILE *stream, const ft_trace *const *traces, uint32_t count, ft_trace_merge_result *result,
                         ft_error *error) {
    FT_REQUIRE(error, stream, traces);
    if (count == 0) return ft_fail(error, FT_ERR_USAGE, "ft_trace_merge: no trace");
    for (uint32_t i = 0; i < count; i++)
        if (traces[i] == NULL) return ft_fail(error, FT_ERR_USAGE, "ft_trace_merge: trace %u is NULL", i);
    ft_trace_merge_result made = {0};
    merger m = {.traces = traces, .out = {.stream = stream}};
    ft_status status = write_document(&m, count, &made, error);
    if (status == FT_OK) status = sink_flush(&m.out, error);
    sink_free(&m.out);
    if (status == FT_OK && result != NULL) *result = made;
    return status;
}
