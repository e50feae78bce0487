/* trace_read.c - the events of a trace, read with the pull parser: no tree is built, and arguments that are not needed
 * are skipped. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "trace/trace.h"

/* An event while it is read: keys may come in any order. */
typedef struct raw_event {
    json_text name, category;
    trace_slice pid, tid; /* numbers or texts, as they stand */
    trace_slice start, duration;
    char phase;
    trace_event e;
} raw_event;

/* --- Numbers and names --------------------------------------------------------------------------------------- */

bool trace_parse_ns(const char *text, size_t length, int64_t *ns) {
    double real;
    size_t at = 0;
    bool is_negative = length > 0 && text[0] == '-';
    uint64_t value = 0;
    int decimals = -1; /* digits after the point; -1 before it */
    for (at += is_negative; at < length; at++) {
        if (text[at] == '.' && decimals < 0)
            decimals = 0;
        else if (text[at] < '0' || text[at] > '9' || value > INT64_MAX / 20)
            break;
        else if (decimals < 3)
            value = value * 10 + (uint64_t)(text[at] - '0'), decimals += decimals >= 0;
    }
    if (at < length || length == is_negative) { /* an exponent, or too many digits */
        if (!text_double(text, length, &real) || !(fabs(real) < (double)TRACE_MAX_NS / 1e3)) return false;
        *ns = (int64_t)(real * 1e3);
        return true;
    }
    for (decimals = decimals < 0 ? 0 : decimals; decimals < 3; decimals++) {
        if (value > INT64_MAX / 20) return false;
        value *= 10;
    }
    if (value >= (uint64_t)TRACE_MAX_NS) return false;
    *ns = is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static ft_status intern(ft_trace *t, const char *text, uint32_t *index, ft_error *error) {
    if (map_get(&t->name_index, text, index)) return FT_OK;
    if (t->name_count == t->name_capacity) {
        uint32_t larger = t->name_capacity == 0 ? 256 : t->name_capacity * 2;
        const char **names = realloc(t->names, larger * sizeof *names);
        if (names == NULL) return FT_NOMEM(error);
        t->names = names;
        t->name_capacity = larger;
    }
    const char *kept = arena_string(&t->memory, text, strlen(text));
    if (kept == NULL || !map_set(&t->name_index, kept, t->name_count)) return FT_NOMEM(error);
    *index = t->name_count;
    t->names[t->name_count++] = kept;
    return FT_OK;
}

/* Names of kernels with all their template arguments may be longer than what is kept of them. */
static ft_status intern_name(ft_trace *t, json_text name, uint32_t *index, ft_error *error) {
    char text[TRACE_MAX_NAME];
    if (name.length >= sizeof text) name.length = sizeof text - 1;
    if (json_text_decode(&name, text, sizeof text) == SIZE_MAX)
        snprintf(text, sizeof text, "%.*s", (int)name.length, name.text);
    return intern(t, text, index, error);
}

static ft_status find_lane(ft_trace *t, const raw_event *raw, uint32_t *lane, ft_error *error) {
    char text[128];
    snprintf(text, sizeof text, "%.*s %.*s", (int)(raw->pid.length < 60 ? raw->pid.length : 60),
             trace_text(t, raw->pid), (int)(raw->tid.length < 60 ? raw->tid.length : 60), trace_text(t, raw->tid));
    if (map_get(&t->lane_index, text, lane)) return FT_OK;
    const char *kept = arena_string(&t->memory, text, strlen(text));
    *lane = t->lane_count++;
    return kept != NULL && map_set(&t->lane_index, kept, *lane) ? FT_OK : FT_NOMEM(error);
}

/* --- Events -------------------------------------------------------------------------------------------------- */

typedef struct category {
    const char *name; /* with the spelling of both formats */
    trace_kind kind;
} category;

static const category categories[] = {
    {"kernel", TRACE_KERNEL},       {"Kernel", TRACE_KERNEL},     {"gpu_memcpy", TRACE_COPY},
    {"Memcpy", TRACE_COPY},         {"gpu_memset", TRACE_COPY},   {"Memset", TRACE_COPY},
    {"cuda_runtime", TRACE_LAUNCH}, {"Runtime", TRACE_LAUNCH},    {"cuda_driver", TRACE_LAUNCH},
    {"hip_runtime", TRACE_LAUNCH},  {"hip_driver", TRACE_LAUNCH}, {"xpu_runtime", TRACE_LAUNCH},
    {"cpu_op", TRACE_OPERATOR},     {"Operator", TRACE_OPERATOR}, {"user_annotation", TRACE_OPERATOR},
};

static bool find_kind(const raw_event *raw, trace_kind *kind) {
    static const char step[] = "ProfilerStep#";
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        if (!json_text_is(&raw->category, categories[i].name)) continue;
        *kind = categories[i].kind;
        if (*kind == TRACE_OPERATOR && raw->name.length >= sizeof step &&
            memcmp(raw->name.text, step, sizeof step - 1) == 0)
            *kind = TRACE_STEP;
        return true;
    }
    return false;
}

static ft_status add_event(ft_trace *t, const raw_event *raw, ft_error *error) {
    trace_kind kind;
    trace_event e = raw->e;
    if (raw->phase != 'X' || !find_kind(raw, &kind) ||
        !trace_parse_ns(trace_text(t, raw->start), raw->start.length, &e.start_ns) ||
        !trace_parse_ns(trace_text(t, raw->duration), raw->duration.length, &e.duration_ns) || e.duration_ns < 0) {
        t->ignored++;
        return FT_OK;
    }
    if (t->count == TRACE_MAX_EVENTS)
        return ft_fail(error, FT_ERR_LIMIT, "more than %u events; record fewer steps", TRACE_MAX_EVENTS);
    if (t->count == t->capacity) {
        uint32_t larger = t->capacity == 0 ? 4096 : t->capacity * 2;
        trace_event *events = realloc(t->events, larger * sizeof *events);
        if (events == NULL) return FT_NOMEM(error);
        t->events = events;
        t->capacity = larger;
    }
    e.kind = (uint8_t)kind;
    e.parent = FT_NONE;
    FT_TRY(intern_name(t, raw->name, &e.name, error));
    FT_TRY(find_lane(t, raw, &e.lane, error));
    t->events[t->count++] = e;
    return FT_OK;
}

/* Skips a value and remembers where it is. */
static bool read_slice(const ft_trace *t, json_pull *p, trace_slice *slice) {
    char kind = json_pull_peek(p);
    const char *begin = p->at;
    if (!json_pull_skip(p)) return false;
    bool is_text = kind == '"';
    *slice =
        (trace_slice){(uint32_t)(begin + is_text - (const char *)t->in.bytes), (uint32_t)(p->at - begin - 2 * is_text)};
    return true;
}

static bool read_number(json_pull *p, double *number) {
    *number = NAN;
    return json_pull_peek(p) == '0' ? json_pull_double(p, number) : json_pull_skip(p);
}

static bool read_argument(const ft_trace *t, json_pull *p, const json_text *key, trace_event *e) {
    double number;
    if (json_text_is(key, "Input Dims") || json_text_is(key, "Input dims")) return read_slice(t, p, &e->shapes);
    if (json_text_is(key, "Input type")) return read_slice(t, p, &e->types);
    if (json_text_is(key, "Concrete Inputs")) return read_slice(t, p, &e->values);
    bool is_device = json_text_is(key, "device"), is_correlation = json_text_is(key, "correlation");
    bool is_occupancy = json_text_is(key, "est. achieved occupancy %");
    if (!is_device && !is_correlation && !is_occupancy) return json_pull_skip(p);
    if (!read_number(p, &number)) return false;
    if (is_device && number >= 0 && number < INT32_MAX) e->device = (int32_t)number;
    if (is_correlation && number >= 0 && number < 9e15) e->correlation = (int64_t)number;
    /* 0 is what the profiler writes where it has no estimate, as for kernels of libraries on newer GPUs. */
    if (is_occupancy && number > 0 && number <= 100) e->occupancy = number / 100;
    return true;
}

static bool read_arguments(const ft_trace *t, json_pull *p, trace_event *e) {
    if (json_pull_peek(p) != '{') return json_pull_skip(p);
    json_text key;
    if (!json_pull_open(p, '{')) return false;
    for (bool first = true; json_pull_more(p, '}', &first);)
        if (!json_pull_key(p, &key) || !read_argument(t, p, &key, e)) return false;
    return p->why == NULL;
}

/* A value that should be a text; others are skipped. */
static bool read_text(json_pull *p, json_text *text) {
    return json_pull_peek(p) == '"' ? json_pull_string(p, text) : json_pull_skip(p);
}

static bool read_event_value(const ft_trace *t, json_pull *p, const json_text *key, raw_event *raw) {
    json_text phase = {"", 0, false};
    if (json_text_is(key, "name")) return read_text(p, &raw->name);
    if (json_text_is(key, "cat")) return read_text(p, &raw->category);
    if (json_text_is(key, "ts")) return read_slice(t, p, &raw->start);
    if (json_text_is(key, "dur")) return read_slice(t, p, &raw->duration);
    if (json_text_is(key, "pid")) return read_slice(t, p, &raw->pid);
    if (json_text_is(key, "tid")) return read_slice(t, p, &raw->tid);
    if (json_text_is(key, "args")) return read_arguments(t, p, &raw->e);
    if (!json_text_is(key, "ph")) return json_pull_skip(p);
    if (!read_text(p, &phase)) return false;
    raw->phase = phase.length == 1 ? phase.text[0] : '\0';
    return true;
}

static bool read_event(const ft_trace *t, json_pull *p, raw_event *raw) {
    json_text key;
    *raw = (raw_event){.name = {"", 0, false}, .category = {"", 0, false}};
    raw->e = (trace_event){.correlation = -1, .device = -1, .occupancy = NAN};
    if (json_pull_peek(p) != '{') return json_pull_skip(p);
    if (!json_pull_open(p, '{')) return false;
    for (bool first = true; json_pull_more(p, '}', &first);)
        if (!json_pull_key(p, &key) || !read_event_value(t, p, &key, raw)) return false;
    return p->why == NULL;
}

static ft_status read_events(ft_trace *t, json_pull *p, ft_error *error) {
    raw_event raw;
    if (!json_pull_open(p, '[')) return FT_OK;
    for (bool first = true; json_pull_more(p, ']', &first);) {
        if (!read_event(t, p, &raw)) return FT_OK;
        FT_TRY(add_event(t, &raw, error));
    }
    return FT_OK;
}

/* --- What stands beside the events ---------------------------------------------------------------------------- */

static bool read_device(ft_trace *t, json_pull *p) {
    json_text key, name = {"", 0, false};
    double number = -1;
    char text[128];
    if (json_pull_peek(p) != '{') return json_pull_skip(p);
    if (!json_pull_open(p, '{')) return false;
    for (bool first = true; json_pull_more(p, '}', &first);) {
        if (!json_pull_key(p, &key)) return false;
        bool is_read = json_text_is(&key, "id")     ? read_number(p, &number)
                       : json_text_is(&key, "name") ? read_text(p, &name)
                                                    : json_pull_skip(p);
        if (!is_read) return false;
    }
    bool is_kept = number >= 0 && number < TRACE_MAX_DEVICES && name.length > 0;
    if (is_kept && json_text_decode(&name, text, sizeof text) != SIZE_MAX)
        t->devices[(int)number] = arena_string(&t->memory, text, strlen(text)); /* NULL: a name less */
    return p->why == NULL;
}

static bool read_devices(ft_trace *t, json_pull *p) {
    if (json_pull_peek(p) != '[') return json_pull_skip(p);
    if (!json_pull_open(p, '[')) return false;
    for (bool first = true; json_pull_more(p, ']', &first);)
        if (!read_device(t, p)) return false;
    return p->why == NULL;
}

static bool read_distributed(ft_trace *t, json_pull *p) {
    json_text key;
    double number;
    if (json_pull_peek(p) != '{') return json_pull_skip(p);
    if (!json_pull_open(p, '{')) return false;
    for (bool first = true; json_pull_more(p, '}', &first);) {
        if (!json_pull_key(p, &key)) return false;
        bool is_rank = json_text_is(&key, "rank"), is_world = json_text_is(&key, "world_size");
        if (!(is_rank || is_world ? read_number(p, &number) : json_pull_skip(p))) return false;
        if ((is_rank || is_world) && number >= 0 && number < INT32_MAX)
            *(is_rank ? &t->rank : &t->world_size) = (int64_t)number;
    }
    return p->why == NULL;
}

static ft_status read_root(ft_trace *t, json_pull *p, ft_error *error) {
    json_text key;
    double number;
    if (json_pull_peek(p) == '[') return read_events(t, p, error);
    if (!json_pull_open(p, '{')) return FT_OK;
    for (bool first = true; json_pull_more(p, '}', &first);) {
        if (!json_pull_key(p, &key)) return FT_OK;
        if (json_text_is(&key, "traceEvents")) {
            FT_TRY(read_events(t, p, error));
        } else if (json_text_is(&key, "baseTimeNanoseconds")) {
            if (read_number(p, &number) && number > 0 && number < (double)TRACE_MAX_NS) t->base_ns = (int64_t)number;
        } else if (json_text_is(&key, "deviceProperties")) {
            if (!read_devices(t, p)) return FT_OK;
        } else if (json_text_is(&key, "distributedInfo")) {
            if (!read_distributed(t, p)) return FT_OK;
        } else if (!json_pull_skip(p)) {
            return FT_OK;
        }
    }
    return FT_OK;
}

ft_status trace_parse(ft_trace *t, ft_error *error) {
    json_pull p;
    json_pull_init(&p, (const char *)t->in.bytes, t->in.size);
    FT_TRY(read_root(t, &p, error));
    if (p.why != NULL || !json_pull_end(&p))
        return ft_fail(error, FT_ERR_DAMAGED, "byte %zu: %s", (size_t)(p.fault - p.start), p.why);
    if (t->count == 0)
        return ft_fail(error, FT_ERR_FORMAT,
                       "has no kernel, launch or operator; expected a trace of PyTorch's profiler "
                       "(export_chrome_trace, tensorboard_trace_handler)");
    return FT_OK;
}
