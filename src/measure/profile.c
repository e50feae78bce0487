/* profile.c - reads the profile of ONNX Runtime: events as JSON, of which those of nodes are kept. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"
#include "base/json_pull.h"
#include "base/map.h"
#include "measure/measure.h"

#define SUFFIX "_kernel_time"

enum { MAX_NAME = 1024, MAX_NODES = 1000000 };

typedef struct profile {
    json_pull in;
    const char *name;
    arena *memory;
    map index; /* from the name of a node to its place */
    ft_measured_node *nodes;
    uint32_t count, capacity;
    ft_error *error;
} profile;

typedef struct event {
    char category[16], name[MAX_NAME], op[MAX_NAME];
    double duration_us;
} event;

static ft_status damaged(const profile *p) {
    return ft_fail(p->error, FT_ERR_DAMAGED, "%s: byte %zu: %s", p->name, (size_t)(p->in.at - p->in.start),
                   p->in.why != NULL ? p->in.why : "an unexpected value");
}

/* False: not a text that fits. */
static bool read_text(profile *p, char *out, size_t size) {
    json_text text;
    if (!json_pull_string(&p->in, &text)) return false;
    if (json_text_decode(&text, out, size) == SIZE_MAX) out[0] = '\0';
    return true;
}

static bool read_args(profile *p, event *e) {
    json_text key;
    bool first = true;
    if (!json_pull_open(&p->in, '{')) return false;
    while (json_pull_more(&p->in, '}', &first)) {
        if (!json_pull_key(&p->in, &key)) return false;
        bool is_op = json_text_is(&key, "op_name") && json_pull_peek(&p->in) == '"';
        if (!(is_op ? read_text(p, e->op, sizeof e->op) : json_pull_skip(&p->in))) return false;
    }
    return p->in.why == NULL;
}

static bool read_value(profile *p, const json_text *key, event *e) {
    char kind = json_pull_peek(&p->in);
    if (json_text_is(key, "cat") && kind == '"') return read_text(p, e->category, sizeof e->category);
    if (json_text_is(key, "name") && kind == '"') return read_text(p, e->name, sizeof e->name);
    if (json_text_is(key, "dur") && kind == '0') return json_pull_double(&p->in, &e->duration_us);
    if (json_text_is(key, "args") && kind == '{') return read_args(p, e);
    return json_pull_skip(&p->in);
}

static bool read_event(profile *p, event *e) {
    json_text key;
    bool first = true;
    e->category[0] = e->name[0] = e->op[0] = '\0';
    e->duration_us = 0;
    if (!json_pull_open(&p->in, '{')) return false;
    while (json_pull_more(&p->in, '}', &first)) {
        if (!json_pull_key(&p->in, &key) || !read_value(p, &key, e)) return false;
    }
    return p->in.why == NULL;
}

static ft_status grow(profile *p) {
    if (p->count < p->capacity) return FT_OK;
    uint32_t larger = p->capacity == 0 ? 256 : p->capacity * 2;
    ft_measured_node *nodes = p->count < MAX_NODES ? ARENA_ARRAY(p->memory, ft_measured_node, larger) : NULL;
    if (nodes == NULL) return FT_NOMEM(p->error);
    if (p->count > 0) memcpy(nodes, p->nodes, p->count * sizeof *nodes);
    p->nodes = nodes;
    p->capacity = larger;
    return FT_OK;
}

static ft_status add_event(profile *p, event *e) {
    size_t length = strlen(e->name), suffix = strlen(SUFFIX);
    if (strcmp(e->category, "Node") != 0 || length <= suffix || strcmp(e->name + length - suffix, SUFFIX) != 0)
        return FT_OK;
    e->name[length - suffix] = '\0';
    uint32_t at;
    if (map_get(&p->index, e->name, &at)) {
        if (e->duration_us < p->nodes[at].time_us) p->nodes[at].time_us = e->duration_us;
        return FT_OK;
    }
    FT_TRY(grow(p));
    ft_measured_node made = {.name = arena_string(p->memory, e->name, strlen(e->name)),
                             .op = arena_string(p->memory, e->op, strlen(e->op)),
                             .time_us = e->duration_us};
    if (made.name == NULL || made.op == NULL || !map_set(&p->index, made.name, p->count)) return FT_NOMEM(p->error);
    p->nodes[p->count++] = made;
    return FT_OK;
}

ft_status profile_parse(const char *text, size_t size, const char *name, arena *memory, const ft_measured_node **nodes,
                        uint32_t *count, ft_error *error) {
    profile p = {.name = name, .memory = memory, .error = error};
    bool first = true;
    event e;
    map_init(&p.index, memory);
    json_pull_init(&p.in, text, size);
    if (!json_pull_open(&p.in, '[')) return damaged(&p);
    while (json_pull_more(&p.in, ']', &first)) {
        if (json_pull_peek(&p.in) != '{' || !read_event(&p, &e)) return damaged(&p);
        FT_TRY(add_event(&p, &e));
    }
    if (p.in.why != NULL) return damaged(&p);
    *nodes = p.nodes;
    *count = p.count;
    return FT_OK;
}

ft_status profile_read(const char *path, arena *memory, const ft_measured_node **nodes, uint32_t *count,
                       ft_error *error) {
    input in;
    FT_TRY(input_open(path, FT_MAX_UNPACKED_BYTES, &in, error));
    ft_status status = profile_parse((const char *)in.bytes, in.size, path, memory, nodes, count, error);
    input_close(&in);
    return status;
}
