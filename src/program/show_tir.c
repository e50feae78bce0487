/* show_tir.c - the nest in TVM's printed form: for (i, 0, n) { ... }, with attributes as comments that apply to the
 * rest of their block. An attribute gets a block of its own when it does not apply to all that follows. */
#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "program/show.h"

typedef struct tir_writer {
    const nest *n;
    nest_names names;
    buf *out;
} tir_writer;

static void write_index(const tir_writer *s, uint32_t stage, const lin *index, uint32_t dims) {
    names_buffer(s->out, s->n->p, stage, false);
    buf_char(s->out, '[');
    for (uint32_t i = 0; i < dims; i++) {
        if (i > 0) buf_text(s->out, ", ");
        names_lin(s->out, &s->n->p->space, &s->names, index[i], false);
    }
    if (dims == 0) buf_char(s->out, '0');
    buf_char(s->out, ']');
}

/* Each bound is two comparisons joined by &&, as in TVM. */
static void write_bounds(const tir_writer *s, const prog_bound *bounds, uint32_t count, bool is_two_sided) {
    for (uint32_t i = 0; i + 1 < count; i++) buf_char(s->out, '(');
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) buf_text(s->out, " && ");
        buf_text(s->out, is_two_sided ? "((" : "(");
        if (is_two_sided) {
            buf_format(s->out, "%lld <= ", (long long)bounds[i].low);
            names_lin(s->out, &s->n->p->space, &s->names, bounds[i].index, false);
            buf_text(s->out, ") && (");
        }
        names_lin(s->out, &s->n->p->space, &s->names, bounds[i].index, false);
        buf_format(s->out, " < %lld", (long long)bounds[i].high);
        buf_text(s->out, is_two_sided ? "))" : ")");
        if (i > 0) buf_char(s->out, ')');
    }
}

static void write_number(buf *out, double number) {
    char text[DOUBLE_TEXT_SIZE];
    double_text(number, text);
    buf_format(out, "%sf", text);
}

static void write_value(const tir_writer *s, const prog_value *v) {
    static const char *const signs[] = {[PROG_ADD] = "+", [PROG_MUL] = "*", [PROG_DIV] = "/", [PROG_SUB] = "-"};
    switch (v->op) {
    case PROG_NUMBER:
        write_number(s->out, v->number);
        break;
    case PROG_LOAD:
        write_index(s, v->stage, v->index, v->dims);
        break;
    case PROG_ADD:
    case PROG_MUL:
    case PROG_DIV:
    case PROG_SUB:
        buf_char(s->out, '(');
        write_value(s, v->a);
        buf_format(s->out, " %s ", signs[v->op]);
        write_value(s, v->b);
        buf_char(s->out, ')');
        break;
    case PROG_IF:
    case PROG_SELECT:
        buf_text(s->out, v->op == PROG_IF ? "tir.if_then_else(" : "select(");
        write_bounds(s, v->bounds, v->bound_count, true);
        buf_text(s->out, ", ");
        write_value(s, v->a);
        buf_text(s->out, ", ");
        write_value(s, v->b);
        buf_char(s->out, ')');
        break;
    default:
        buf_text(s->out, v->op == PROG_MAX       ? "max("
                         : v->op == PROG_MIN     ? "min("
                         : v->op == PROG_TANH    ? "tir.tanh("
                         : v->op == PROG_SIGMOID ? "tir.sigmoid("
                                                 : "tir.call(");
        write_value(s, v->a);
        if (v->b != NULL) {
            buf_text(s->out, ", ");
            write_value(s, v->b);
        }
        buf_char(s->out, ')');
    }
}

/* --- Stores -------------------------------------------------------------------------------------------------- */

static void write_combination(const tir_writer *s, const prog_stage *stage, const nest_node *node) {
    bool is_part = node->store == NEST_PART_UPDATE;
    buf_text(s->out, stage->reducer == PROG_REDUCE_SUM ? "(" : "max(");
    if (is_part)
        buf_text(s->out, "normal_reduce_temp0[0]");
    else
        write_index(s, node->stage, node->index, stage->dims);
    buf_text(s->out, stage->reducer == PROG_REDUCE_SUM ? " + " : ", ");
    write_value(s, node->value);
    buf_char(s->out, ')');
}

static void write_store(const tir_writer *s, const nest_node *node, uint32_t depth) {
    const prog_stage *stage = &s->n->p->stages[node->stage];
    names_indent(s->out, depth);
    if (node->guard_count > 0) {
        buf_text(s->out, "if (");
        write_bounds(s, node->guards, node->guard_count, false);
        buf_text(s->out, ") {\n");
        names_indent(s->out, depth + 1);
    }
    if (node->store == NEST_PART_INIT || node->store == NEST_PART_UPDATE)
        buf_text(s->out, "normal_reduce_temp0[0]");
    else
        write_index(s, node->stage, node->index, stage->dims);
    buf_text(s->out, " = ");
    if (node->store == NEST_PLAIN)
        write_value(s, node->value);
    else if (node->store == NEST_INIT || node->store == NEST_PART_INIT)
        write_number(s->out, stage->reducer == PROG_REDUCE_SUM ? 0 : -3.402823466e38);
    else if (node->store == NEST_PART_RESULT)
        buf_text(s->out, "reduce_temp0[0]");
    else
        write_combination(s, stage, node);
    buf_char(s->out, '\n');
    if (node->guard_count == 0) return;
    names_indent(s->out, depth);
    buf_text(s->out, "}\n");
}

/* --- Nodes --------------------------------------------------------------------------------------------------- */

static void write_children(const tir_writer *s, const nest_node *node, uint32_t depth);

/* An attribute line; in braces when it does not apply to all that follows in the block. */
static void write_attribute(const tir_writer *s, const nest_node *node, uint32_t depth) {
    bool has_block = node->next != NEST_NONE;
    if (has_block) buf_text(s->out, " {");
    buf_char(s->out, '\n');
    write_children(s, node, depth + has_block);
    if (!has_block) return;
    names_indent(s->out, depth);
    buf_text(s->out, "}\n");
}

static void write_node(const tir_writer *s, uint16_t id, uint32_t depth) {
    static const char *const words[] = {[PROG_SERIAL] = "for",
                                        [PROG_UNROLL] = "unrolled",
                                        [PROG_VECTORIZE] = "vectorized",
                                        [PROG_PARALLEL] = "parallel"};
    const nest_node *node = &s->n->nodes[id];
    const prog_stage *stage = &s->n->p->stages[node->stage];
    if (node->kind == NEST_STORE) {
        write_store(s, node, depth);
        return;
    }
    names_indent(s->out, depth);
    switch (node->kind) {
    case NEST_THREAD:
        buf_format(s->out, "// attr [iter_var(%s, , %s)] %s = %lld", s->names.nodes[id],
                   prog_annotation_name(node->annotation),
                   node->annotation == PROG_VTHREAD ? "virtual_thread" : "thread_extent", (long long)node->extent);
        write_attribute(s, node, depth);
        break;
    case NEST_PRAGMA:
        buf_format(s->out, "// attr [iter_var()] pragma_%s = %d",
                   node->is_explicit ? "unroll_explicit" : "auto_unroll_max_step",
                   node->is_explicit ? 1 : node->unroll);
        write_attribute(s, node, depth);
        break;
    case NEST_REDUCE:
        buf_text(s->out, "// attr [comm_reducer()] reduce_scope = 0\n");
        names_indent(s->out, depth);
        buf_text(s->out, "tir.tvm_thread_allreduce(1, normal_reduce_temp0[0], 1, reduce_temp0[0])\n");
        break;
    case NEST_REALIZE: {
        int64_t size = 1;
        for (uint32_t i = 0; i < stage->dims; i++) size *= stage->region[i];
        buf_format(s->out, "allocate %s[float32 * %lld], storage_scope = %s", stage->name, (long long)size,
                   prog_scope_name(stage->scope));
        write_attribute(s, node, depth);
        break;
    }
    default:
        assert(node->kind == NEST_LOOP && node->annotation <= PROG_PARALLEL);
        buf_format(s->out, "%s (%s, 0, %lld) {\n", words[node->annotation], s->names.nodes[id],
                   (long long)node->extent);
        write_children(s, node, depth + 1);
        names_indent(s->out, depth);
        buf_text(s->out, "}\n");
    }
}

static void write_children(const tir_writer *s, const nest_node *node, uint32_t depth) {
    for (uint16_t child = node->first_child; child != NEST_NONE; child = s->n->nodes[child].next)
        write_node(s, child, depth);
}

static bool is_realized(const nest *n, uint32_t stage) {
    for (uint32_t i = 0; i < n->count; i++) {
        if (n->nodes[i].kind == NEST_REALIZE && n->nodes[i].stage == stage) return true;
    }
    return false;
}

ft_status show_tir(const nest *n, buf *out) {
    tir_writer s = {.n = n, .out = out};
    const prog *p = n->p;
    FT_TRY(names_make(n, &s.names));
    for (uint32_t i = 0; i < p->stage_count; i++) {
        const prog_stage *stage = &p->stages[p->order[i]];
        if (stage->attach_type == PROG_INLINED) continue;
        buf_format(out, "// buffer %s: float32[", stage->name);
        for (uint32_t k = 0; k < stage->dims; k++)
            buf_format(out, "%s%lld", k > 0 ? ", " : "", (long long)stage->extents[k]);
        if (stage->dims == 0) buf_char(out, '1');
        buf_text(out, "]\n");
    }
    buf_text(out, "GlobalVar(main): PrimFunc([");
    bool is_first = true;
    for (uint32_t i = 0; i < p->stage_count; i++) {
        const prog_stage *stage = &p->stages[p->order[i]];
        if ((stage->body != NULL && !stage->is_output) || is_realized(n, p->order[i])) continue;
        buf_format(out, "%s%s", is_first ? "" : ", ", stage->name);
        is_first = false;
    }
    buf_text(out, "]) attrs={} {\n");
    write_children(&s, &n->nodes[0], 1);
    buf_text(out, "}\n");
    return out->failed ? FT_NOMEM(p->error) : prog_check(p);
}
