/* show_names.c - names of loop variables and buffers, made only when a program is printed. */
#include "program/show.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* --- Iterators ----------------------------------------------------------------------------------------------- */

/* The index of an iterator among the parts of its split, and in `head` the iterator that was split. */
static uint32_t part_of(const prog_stage *stage, uint16_t iter, uint16_t *head) {
    const prog_relation *relations = stage->relations;
    int at = stage->iters[iter].made_by, first = at, last = at;
    assert(at >= 0 && !relations[at].is_fuse); /* the iterator is part of a split */
    uint16_t step = relations[at].step;
    while (first > 0 && !relations[first - 1].is_fuse && relations[first - 1].step == step) first--;
    while (last + 1 < (int)stage->relation_count && !relations[last + 1].is_fuse && relations[last + 1].step == step)
        last++;
    *head = relations[first].whole;
    uint32_t count = (uint32_t)(last - first + 1);
    if (relations[at].is_parts) return (uint32_t)(at - first) + (relations[at].inner == iter);
    return relations[at].inner == iter ? count - (uint32_t)(at - first) : 0;
}

static void iter_name(const prog_stage *stage, uint16_t iter, buf *out) {
    const prog_iter *it = &stage->iters[iter];
    if (it->axis >= 0) {
        buf_text(out, stage->axis_names[it->axis]);
    } else if (stage->relations[it->made_by].is_fuse) {
        iter_name(stage, stage->relations[it->made_by].outer, out);
        buf_char(out, '.');
        iter_name(stage, stage->relations[it->made_by].inner, out);
    } else {
        uint16_t head;
        uint32_t part = part_of(stage, iter, &head);
        iter_name(stage, head, out);
        buf_format(out, ".%u", part);
    }
}

static bool is_taken(const nest *n, const nest_names *names, uint32_t node, const char *name) {
    for (uint16_t above = n->nodes[node].parent; above != NEST_NONE; above = n->nodes[above].parent) {
        if (strcmp(names->nodes[above], name) == 0) return true;
    }
    return false;
}

static void name_node(const nest *n, nest_names *names, uint32_t id) {
    const nest_node *node = &n->nodes[id];
    char base[NAME_SIZE - 12];
    if (node->kind == NEST_THREAD) {
        snprintf(base, sizeof base, "%s", prog_annotation_name(node->annotation));
    } else if (node->name != NULL) {
        snprintf(base, sizeof base, "%.*s", (int)sizeof base - 1, node->name);
    } else {
        buf text = {0};
        iter_name(&n->p->stages[node->stage], node->iter, &text);
        bool is_long = text.length >= sizeof base || text.failed || text.data == NULL;
        snprintf(base, sizeof base, "%s%s", is_long ? "fused" : text.data, node->is_init && !is_long ? ".init" : "");
        buf_free(&text);
    }
    snprintf(names->nodes[id], NAME_SIZE, "%s", base);
    for (int i = 1; is_taken(n, names, id, names->nodes[id]); i++)
        snprintf(names->nodes[id], NAME_SIZE, "%s_%d", base, i);
    if (node->has_atom) memcpy(names->loops[n->p->space.atoms[node->atom].loop], names->nodes[id], NAME_SIZE);
}

ft_status names_make(const nest *n, nest_names *names) {
    names->loops = arena_array(n->p->memory, LIN_MAX_LOOPS, NAME_SIZE);
    names->nodes = arena_array(n->p->memory, n->count, NAME_SIZE);
    if (names->loops == NULL || names->nodes == NULL) return FT_NOMEM(n->p->error);
    for (uint32_t i = 0; i < n->count; i++) {
        if (n->nodes[i].kind == NEST_THREAD || n->nodes[i].kind == NEST_LOOP) name_node(n, names, i);
    }
    return FT_OK;
}

/* --- Sums ---------------------------------------------------------------------------------------------------- */

static void write_atom(buf *out, const lin_space *space, const nest_names *names, uint32_t id, bool is_c) {
    const lin_atom *atom = &space->atoms[id];
    if (atom->kind == LIN_LOOP) {
        if (is_c)
            buf_format(out, "v%u", atom->loop);
        else
            buf_text(out, names->loops[atom->loop]);
        return;
    }
    bool has_both = atom->divisor != 1 && atom->modulus != 0;
    if (has_both) buf_char(out, '(');
    if (atom->divisor != 1) buf_char(out, '(');
    if (atom->divisor == 1) buf_char(out, '(');
    names_lin(out, space, names, atom->inner, is_c);
    if (atom->divisor != 1) buf_format(out, "/%lld)", (long long)atom->divisor);
    if (atom->modulus != 0) buf_format(out, " %% %lld", (long long)atom->modulus);
    if (atom->divisor == 1) buf_char(out, ')');
    if (has_both) buf_char(out, ')');
}

void names_lin(buf *out, const lin_space *space, const nest_names *names, lin a, bool is_c) {
    bool is_sum = a.count + (a.base != 0) > 1;
    if (a.count == 0) {
        buf_format(out, "%lld", (long long)a.base);
        return;
    }
    if (is_sum) buf_char(out, '(');
    for (uint32_t i = 0; i < a.count; i++) {
        int64_t factor = a.terms[i].factor;
        if (i > 0) buf_text(out, " + ");
        if (factor != 1) buf_char(out, '(');
        write_atom(out, space, names, a.terms[i].atom, is_c);
        if (factor != 1) buf_format(out, "*%lld)", (long long)factor);
    }
    if (a.base != 0) buf_format(out, " %c %lld", a.base < 0 ? '-' : '+', (long long)(a.base < 0 ? -a.base : a.base));
    if (is_sum) buf_char(out, ')');
}

void names_buffer(buf *out, const prog *p, uint32_t stage, bool is_c) {
    const char *name = p->stages[stage].name;
    if (!is_c) {
        buf_text(out, name);
        return;
    }
    for (; *name != '\0'; name++) buf_char(out, isalnum((unsigned char)*name) ? *name : '_');
    buf_format(out, "_%u", stage);
}

void names_indent(buf *out, uint32_t depth) {
    for (uint32_t i = 0; i < depth; i++) buf_text(out, "  ");
}
