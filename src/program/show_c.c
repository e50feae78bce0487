/* show_c.c - the nest as plain C. Every thread index becomes a loop, so each thread fills a shared buffer completely:
 * slow, but correct without barriers. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "program/show.h"

typedef struct c_writer {
    const nest *n;
    const prog *p;
    buf *out;
    uint32_t reduce_threads; /* open loops over threads that reduce together */
} c_writer;

/* --- Values -------------------------------------------------------------------------------------------------- */

static bool has_buffer(const prog_stage *stage) {
    return stage->body != NULL && !stage->is_output;
}

/* Indices into a buffer are relative to the start of its region. */
static void write_element(const c_writer *e, uint32_t id, const lin *index) {
    const prog_stage *stage = &e->p->stages[id];
    lin_space *space = (lin_space *)&e->p->space;
    if (has_buffer(stage))
        names_buffer(e->out, e->p, id, true);
    else
        buf_format(e->out, "t[%u]", id);
    buf_char(e->out, '[');
    for (uint32_t i = 0; i < stage->dims; i++) {
        lin at = has_buffer(stage) ? lin_add(space, index[i], stage->low[i], -1) : index[i];
        if (i > 0)
            buf_format(e->out, " * %lldL + ", (long long)(has_buffer(stage) ? stage->region[i] : stage->extents[i]));
        names_lin(e->out, space, NULL, at, true);
        if (i > 0 && i + 1 < stage->dims) buf_char(e->out, ')');
    }
    if (stage->dims == 0) buf_char(e->out, '0');
    buf_char(e->out, ']');
}

/* ((i0 * n1 + i1) * n2 + i2): the opening parentheses come first. */
static void write_at(const c_writer *e, uint32_t id, const lin *index) {
    const prog_stage *stage = &e->p->stages[id];
    buf text = {0};
    c_writer inner = *e;
    inner.out = &text;
    write_element(&inner, id, index);
    char *bracket = text.data != NULL ? strchr(text.data, '[') : NULL;
    /* The name of a tensor, "t[3]", has a bracket itself. */
    if (bracket != NULL && !has_buffer(stage)) bracket = strchr(bracket + 1, '[');
    if (text.failed || bracket == NULL) {
        e->out->failed = true;
    } else {
        buf_add(e->out, text.data, (size_t)(bracket + 1 - text.data));
        for (uint32_t i = 2; i < stage->dims; i++) buf_char(e->out, '(');
        buf_text(e->out, bracket + 1);
    }
    buf_free(&text);
}

static void write_bounds(const c_writer *e, const prog_bound *bounds, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        buf_text(e->out, i > 0 ? " && (" : "(");
        names_lin(e->out, &e->p->space, NULL, bounds[i].index, true);
        buf_format(e->out, ") >= %lldL && (", (long long)bounds[i].low);
        names_lin(e->out, &e->p->space, NULL, bounds[i].index, true);
        buf_format(e->out, ") < %lldL", (long long)bounds[i].high);
    }
}

static void write_value(const c_writer *e, const prog_value *v) {
    static const char *const signs[] = {[PROG_ADD] = "+", [PROG_MUL] = "*", [PROG_DIV] = "/"};
    if (v->op == PROG_NUMBER) {
        buf_format(e->out, "(float)%.9g", v->number);
    } else if (v->op == PROG_LOAD) {
        write_at(e, v->stage, v->index);
    } else if (v->op == PROG_IF) {
        buf_char(e->out, '(');
        write_bounds(e, v->bounds, v->bound_count);
        buf_text(e->out, " ? ");
        write_value(e, v->a);
        buf_text(e->out, " : ");
        write_value(e, v->b);
        buf_char(e->out, ')');
    } else if (v->op == PROG_ADD || v->op == PROG_MUL || v->op == PROG_DIV) {
        buf_char(e->out, '(');
        write_value(e, v->a);
        buf_format(e->out, " %s ", signs[v->op]);
        write_value(e, v->b);
        buf_char(e->out, ')');
    } else {
        buf_text(e->out, v->op == PROG_MAX ? "larger(" : v->op == PROG_TANH ? "tanhf(" : "sigmoid(");
        write_value(e, v->a);
        if (v->op == PROG_MAX) {
            buf_text(e->out, ", ");
            write_value(e, v->b);
        }
        buf_char(e->out, ')');
    }
}

/* --- Stores -------------------------------------------------------------------------------------------------- */

static void write_target(const c_writer *e, const nest_node *node) {
    if (node->store == NEST_PART_INIT || node->store == NEST_PART_UPDATE)
        buf_text(e->out, "part");
    else
        write_at(e, node->stage, node->index);
}

static void write_store(const c_writer *e, const nest_node *node, uint32_t depth) {
    const prog_stage *stage = &e->p->stages[node->stage];
    bool is_update = node->store == NEST_UPDATE || node->store == NEST_PART_UPDATE;
    const char *first = stage->reducer == PROG_REDUCE_MAX ? "(float)-3.402823466e38" : "0";
    names_indent(e->out, depth);
    if (node->guard_count > 0) {
        buf_text(e->out, "if (");
        write_bounds(e, node->guards, node->guard_count);
        buf_text(e->out, ") ");
    }
    buf_char(e->out, '{');
    write_target(e, node);
    buf_text(e->out, " = ");
    if (node->store == NEST_INIT || node->store == NEST_PART_INIT) {
        buf_text(e->out, first);
    } else if (node->store == NEST_PART_RESULT) {
        buf_text(e->out, "all");
    } else if (is_update) {
        buf_text(e->out, stage->reducer == PROG_REDUCE_SUM ? "(" : "larger(");
        write_target(e, node);
        buf_text(e->out, stage->reducer == PROG_REDUCE_SUM ? " + " : ", ");
        write_value(e, node->value);
        buf_char(e->out, ')');
    } else {
        write_value(e, node->value);
    }
    buf_char(e->out, ';');
    if (is_update || node->store == NEST_PLAIN) buf_format(e->out, " counts[%u]++;", node->stage);
    buf_text(e->out, "}\n");
}

/* --- Nodes --------------------------------------------------------------------------------------------------- */

static void write_children(c_writer *e, const nest_node *node, uint32_t depth);

static void write_realize(c_writer *e, const nest_node *node, uint32_t depth) {
    const prog_stage *stage = &e->p->stages[node->stage];
    int64_t size = 1;
    for (uint32_t i = 0; i < stage->dims; i++) size *= stage->region[i];
    buf_text(e->out, "{ static float ");
    names_buffer(e->out, e->p, node->stage, true);
    buf_format(e->out, "[%lld]; /* %s */ forget(", (long long)size, prog_scope_name(stage->scope));
    names_buffer(e->out, e->p, node->stage, true);
    buf_format(e->out, ", %lld);\n", (long long)size);
    write_children(e, node, depth + 1);
    names_indent(e->out, depth);
    buf_text(e->out, "}\n");
}

static void write_node(c_writer *e, uint16_t id, uint32_t depth) {
    const nest_node *node = &e->n->nodes[id];
    const prog_stage *stage = &e->p->stages[node->stage];
    if (node->kind == NEST_STORE) {
        write_store(e, node, depth);
        return;
    }
    if (node->kind == NEST_PRAGMA) {
        write_children(e, node, depth);
        return;
    }
    names_indent(e->out, depth);
    if (node->kind == NEST_REALIZE) {
        write_realize(e, node, depth);
        return;
    }
    if (node->kind == NEST_REDUCE) {
        buf_text(e->out, stage->reducer == PROG_REDUCE_SUM ? "all += part;\n" : "all = larger(all, part);\n");
        return;
    }
    /* The outermost of the threads that reduce together declares the result that they combine. */
    bool is_together = node->kind == NEST_THREAD && stage->iters[node->iter].is_reduce;
    if (is_together && e->reduce_threads++ == 0)
        buf_format(e->out, "{ float all = %s, part;\n",
                   stage->reducer == PROG_REDUCE_SUM ? "0" : "(float)-3.402823466e38");
    if (node->has_atom)
        buf_format(e->out, "for (long v%u = 0; v%u < %lld; v%u++) { /* %s */\n", e->p->space.atoms[node->atom].loop,
                   e->p->space.atoms[node->atom].loop, (long long)node->extent, e->p->space.atoms[node->atom].loop,
                   prog_annotation_name(node->annotation));
    else
        buf_format(e->out, "{ /* %s */\n", prog_annotation_name(node->annotation));
    write_children(e, node, depth + 1);
    names_indent(e->out, depth);
    buf_text(e->out, "}\n");
    assert(!is_together || e->reduce_threads > 0);
    if (is_together && --e->reduce_threads == 0) buf_text(e->out, "}\n");
}

static void write_children(c_writer *e, const nest_node *node, uint32_t depth) {
    for (uint16_t child = node->first_child; child != NEST_NONE; child = e->n->nodes[child].next)
        write_node(e, child, depth);
}

/* --- The file ------------------------------------------------------------------------------------------------ */

static const char head[] =
    "/* Written by foretell program show --emit-c: loop nests, and the same work as plain loops. */\n"
    "#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n\n"
    "enum { STAGES = 24 };\n"
    "static long counts[STAGES];\n"
    "static float larger(float a, float b) { return a > b ? a : b; }\n"
    "static float sigmoid(float x) { return 1 / (1 + expf(-x)); }\n"
    "static void forget(float *x, long n) { for (long i = 0; i < n; i++) x[i] = NAN; }\n\n"
    "typedef void run(float **t);\n"
    "/* Small whole numbers: sums of them are exact in any order. */\n"
    "static int check(const char *label, run *nest, run *naive, int tensors, const long *sizes, int result,\n"
    "                 const long *expected) {\n"
    "  float *t[STAGES] = {0}, *other;\n"
    "  unsigned seed = 1;\n"
    "  int bad = 0;\n"
    "  for (int i = 0; i < tensors; i++) {\n"
    "    if (sizes[i] == 0) continue;\n"
    "    t[i] = malloc(sizes[i] * sizeof(float));\n"
    "    for (long k = 0; k < sizes[i]; k++) t[i][k] = (int)((seed = seed * 1664525u + 1013904223u) >> 24) % 7 - 3;\n"
    "  }\n"
    "  other = malloc(sizes[result] * sizeof(float));\n"
    "  forget(t[result], sizes[result]);\n"
    "  for (int i = 0; i < STAGES; i++) counts[i] = 0;\n"
    "  nest(t);\n"
    "  for (int i = 0; i < tensors; i++) {\n"
    "    if (expected[i] < 0 || expected[i] == counts[i]) continue;\n"
    "    printf(\"%s: stage %d computes %ld times, not %ld\\n\", label, i, counts[i], expected[i]);\n"
    "    bad = 1;\n"
    "  }\n"
    "  for (long k = 0; k < sizes[result]; k++) other[k] = t[result][k];\n"
    "  naive(t);\n"
    "  for (long k = 0; k < sizes[result] && !bad; k++) {\n"
    "    if (fabsf(other[k] - t[result][k]) <= 1e-5f * fabsf(t[result][k])) continue;\n"
    "    printf(\"%s: element %ld is %g, not %g\\n\", label, k, other[k], t[result][k]);\n"
    "    bad = 1;\n"
    "  }\n"
    "  for (int i = 0; i < tensors; i++) free(t[i]);\n"
    "  free(other);\n"
    "  return bad;\n"
    "}\n\n";

void show_c_begin(show_c_file *file, buf *out) {
    *file = (show_c_file){.out = out};
    buf_text(out, head);
}

/* How often a stage must compute: outputs and reductions exactly as often as their definition requires. Shared buffers
 * are filled once per thread here, so they are not checked (-1). */
static double expected_count(const prog_stage *stage) {
    double count = 1;
    if (stage->body == NULL || !stage->is_bound || (stage->reducer == PROG_NO_REDUCER && !stage->is_output)) return -1;
    for (uint32_t i = 0; i < prog_axes(stage); i++) count *= (double)stage->extents[i];
    return count;
}

static void write_call(show_c_file *file, const prog *p, const char *label) {
    uint32_t result = 0;
    buf_format(&file->calls, "  bad += check(\"%s\", nest_%u, naive_%u, %u, (const long[]){", label, file->count,
               file->count, p->stage_count);
    for (uint32_t i = 0; i < p->stage_count; i++) {
        const prog_stage *stage = &p->stages[i];
        int64_t size = has_buffer(stage) ? 0 : 1;
        for (uint32_t k = 0; k < stage->dims; k++) size *= stage->extents[k];
        if (stage->is_output) result = i;
        buf_format(&file->calls, "%lld, ", (long long)size);
    }
    buf_format(&file->calls, "}, %u, (const long[]){", result);
    for (uint32_t i = 0; i < p->stage_count; i++) buf_format(&file->calls, "%.0f, ", expected_count(&p->stages[i]));
    buf_text(&file->calls, "});\n");
}

ft_status show_c_program(show_c_file *file, const nest *n, const workload *w, const char *label) {
    c_writer e = {.n = n, .p = n->p, .out = file->out};
    buf_format(file->out, "static void nest_%u(float **t) {\n", file->count);
    write_children(&e, &n->nodes[0], 1);
    buf_format(file->out, "}\nstatic void naive_%u(float **t) {\n", file->count);
    show_naive(w, file->out);
    buf_text(file->out, "}\n\n");
    char safe[128];
    size_t length = 0;
    for (; label[length] != '\0' && length + 1 < sizeof safe; length++)
        safe[length] = (char)(strchr("\"\\%\n", label[length]) != NULL ? '_' : label[length]);
    safe[length] = '\0';
    write_call(file, n->p, safe);
    file->count++;
    return file->out->failed || file->calls.failed ? FT_NOMEM(n->p->error) : prog_check(n->p);
}

ft_status show_c_end(show_c_file *file, ft_error *error) {
    buf_text(file->out, "int main(void) {\n  int bad = 0;\n");
    if (file->calls.data != NULL) buf_add(file->out, file->calls.data, file->calls.length);
    buf_format(file->out, "  printf(\"%%d of %u programs differ\\n\", bad);\n  return bad != 0;\n}\n", file->count);
    bool failed = file->out->failed || file->calls.failed;
    buf_free(&file->calls);
    return failed ? FT_NOMEM(error) : FT_OK;
}
