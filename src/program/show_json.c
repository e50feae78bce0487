/* show_json.c - the nest as JSON: nested objects, each with its kind and the fields of that kind.
 *
 * Nests are deeper than jsonw allows, so brackets are written here; the strings are names of loops and tensors, which
 * need no escaping. */
#include <assert.h>

#include "base/error.h"
#include "program/show.h"

typedef struct json_nest_writer {
    const nest *n;
    nest_names names;
    buf *out;
} json_nest_writer;

static void write_sums(const json_nest_writer *w, const char *key, const lin *sums, uint32_t count) {
    buf_format(w->out, ", \"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) {
        buf_text(w->out, i > 0 ? ", \"" : "\"");
        names_lin(w->out, &w->n->p->space, &w->names, sums[i], false);
        buf_char(w->out, '"');
    }
    buf_char(w->out, ']');
}

static void write_sizes(const json_nest_writer *w, const char *key, const int64_t *sizes, uint32_t count) {
    buf_format(w->out, ", \"%s\": [", key);
    for (uint32_t i = 0; i < count; i++) buf_format(w->out, "%s%lld", i > 0 ? ", " : "", (long long)sizes[i]);
    buf_char(w->out, ']');
}

static void write_loads(const json_nest_writer *w, const prog_value *v, bool *is_first) {
    if (v == NULL) return;
    if (v->op == PROG_LOAD) {
        buf_format(w->out, "%s{\"tensor\": \"%s\"", *is_first ? "" : ", ", w->n->p->stages[v->stage].name);
        write_sums(w, "index", v->index, v->dims);
        buf_char(w->out, '}');
        *is_first = false;
    }
    write_loads(w, v->a, is_first);
    write_loads(w, v->b, is_first);
}

static void write_store(const json_nest_writer *w, const nest_node *node) {
    static const char *const kinds[] = {"plain", "init", "update", "part_init", "part_update", "part_result"};
    const prog_stage *stage = &w->n->p->stages[node->stage];
    assert(node->store < sizeof kinds / sizeof kinds[0]);
    buf_format(w->out, ", \"store\": \"%s\", \"tensor\": \"%s\"", kinds[node->store], stage->name);
    if (node->index != NULL) write_sums(w, "index", node->index, stage->dims);
    if (node->guard_count > 0) {
        buf_text(w->out, ", \"guards\": [");
        for (uint32_t i = 0; i < node->guard_count; i++) {
            buf_format(w->out, "%s\"", i > 0 ? ", " : "");
            names_lin(w->out, &w->n->p->space, &w->names, node->guards[i].index, false);
            buf_format(w->out, " < %lld\"", (long long)node->guards[i].high);
        }
        buf_char(w->out, ']');
    }
    if (node->store != NEST_PLAIN && node->store != NEST_UPDATE && node->store != NEST_PART_UPDATE) return;
    bool is_first = true;
    buf_text(w->out, ", \"loads\": [");
    write_loads(w, node->value, &is_first);
    buf_char(w->out, ']');
}

static void write_node(const json_nest_writer *w, uint16_t id, uint32_t depth) {
    static const char *const kinds[] = {"root", "thread", "pragma", "loop", "realize", "reduce", "store"};
    const nest_node *node = &w->n->nodes[id];
    const prog_stage *stage = &w->n->p->stages[node->stage];
    names_indent(w->out, depth);
    buf_format(w->out, "{\"id\": %u, \"kind\": \"%s\"", id, kinds[node->kind]);
    if (node->kind == NEST_THREAD || node->kind == NEST_LOOP)
        buf_format(w->out, ", \"name\": \"%s\", \"extent\": %lld, \"annotation\": \"%s\"", w->names.nodes[id],
                   (long long)node->extent, prog_annotation_name(node->annotation));
    if (node->kind == NEST_PRAGMA)
        buf_format(w->out, ", \"name\": \"%s\", \"value\": %d",
                   node->is_explicit ? "unroll_explicit" : "auto_unroll_max_step",
                   node->is_explicit ? 1 : node->unroll);
    if (node->kind == NEST_REALIZE) {
        buf_format(w->out, ", \"tensor\": \"%s\", \"scope\": \"%s\"", stage->name, prog_scope_name(stage->scope));
        write_sums(w, "from", stage->low, stage->dims);
        write_sizes(w, "shape", stage->region, stage->dims);
    }
    if (node->kind == NEST_STORE) write_store(w, node);
    if (node->first_child != NEST_NONE) {
        buf_text(w->out, ", \"body\": [\n");
        for (uint16_t child = node->first_child; child != NEST_NONE; child = w->n->nodes[child].next) {
            write_node(w, child, depth + 1);
            buf_text(w->out, w->n->nodes[child].next != NEST_NONE ? ",\n" : "]");
        }
    }
    buf_char(w->out, '}');
}

ft_status show_json(const nest *n, buf *out) {
    json_nest_writer w = {.n = n, .out = out};
    FT_TRY(names_make(n, &w.names));
    write_node(&w, 0, 0);
    buf_char(out, '\n');
    return out->failed ? FT_NOMEM(n->p->error) : prog_check(n->p);
}
