/* tir_text.c - statements of printed programs: blocks, loops, attributes, buffers and stores. */
#include "program/tir_text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* --- Statements ---------------------------------------------------------------------------------------------- */

static ft_status block(tir_parser *r, uint16_t parent);

/* A vector is a loop of its own around the store. */
static ft_status store(tir_parser *r, uint16_t parent, const char *name) {
    uint32_t stage = 0;
    uint16_t id;
    lin index[PROG_MAX_DIMS];
    tir_expr e;
    r->has_lane = false;
    FT_TRY(tir_note_store(r, name));
    FT_TRY(tir_buffer(r, name, &stage));
    r->store_number++;
    r->store_target = stage;
    r->kernel_has_work = true;
    FT_TRY(tir_index(r, stage, index));
    if (!tir_accept(r, "=")) return tir_fail(r, FT_ERR_DAMAGED, "'=' is missing");
    FT_TRY(tir_parse(r, &e));
    tir_accept(r, ";");
    tir_end_store(r);
    if (e.is_test) return tir_fail(r, FT_ERR_UNSUPPORTED, "a comparison that is stored");
    prog_value *value = e.is_sum ? prog_number(r->p, (double)e.sum.base) : e.value;
    lin *kept = arena_copy(r->p->memory, index, r->p->stages[stage].dims * sizeof *index);
    if (value == NULL || kept == NULL) return FT_NOMEM(r->p->error);
    if (r->has_lane && r->lanes > 1)
        FT_TRY(tir_add_node(r, parent,
                            (nest_node){.kind = NEST_LOOP,
                                        .annotation = PROG_VECTORIZE,
                                        .extent = r->lanes,
                                        .has_atom = true,
                                        .atom = r->lane_atom,
                                        .name = "lane"},
                            &parent));
    return tir_add_node(
        r, parent,
        (nest_node){.kind = NEST_STORE, .stage = (uint16_t)stage, .store = NEST_PLAIN, .index = kept, .value = value},
        &id);
}

static ft_status loop(tir_parser *r, uint16_t parent, prog_annotation annotation) {
    char name[TIR_NAME];
    tir_expr low, extent;
    uint16_t id;
    if (!tir_accept(r, "(") || !tir_accept_word(r, name))
        return tir_fail(r, FT_ERR_DAMAGED, "a loop without a variable");
    if (tir_accept(r, ":")) { /* its type */
        char type[TIR_NAME];
        tir_accept_word(r, type);
    }
    if (!tir_accept(r, ",")) return tir_fail(r, FT_ERR_DAMAGED, "a loop without a start");
    FT_TRY(tir_parse(r, &low));
    if (!tir_accept(r, ",")) return tir_fail(r, FT_ERR_DAMAGED, "a loop without a length");
    FT_TRY(tir_parse(r, &extent));
    if (!low.is_sum || low.sum.count > 0 || !extent.is_sum || extent.sum.count > 0)
        return tir_fail(r, FT_ERR_UNSUPPORTED, "a loop whose bounds are not numbers");
    const char *rest = memchr(r->at, '{', (size_t)(r->end - r->at));
    if (rest == NULL) return tir_fail(r, FT_ERR_DAMAGED, "a loop without a body");
    if (memmem(r->at, (size_t)(rest - r->at), "\"parallel\"", 10) != NULL) annotation = PROG_PARALLEL;
    if (memmem(r->at, (size_t)(rest - r->at), "\"unroll", 7) != NULL) annotation = PROG_UNROLL;
    if (memmem(r->at, (size_t)(rest - r->at), "\"vectorized\"", 12) != NULL) annotation = PROG_VECTORIZE;
    r->at = rest + 1;
    uint32_t names = r->name_count;
    if (extent.sum.base == 1) { /* TVM itself omits loops of one trip */
        FT_TRY(tir_add_name(r, name, low.sum));
        id = parent;
    } else {
        const tir_loop added = {NEST_LOOP, annotation, name, low.sum.base, extent.sum.base};
        FT_TRY(tir_add_loop(r, parent, &added, &id));
    }
    FT_TRY(block(r, id));
    r->name_count = names;
    return FT_OK;
}

/* Both branches are kept: the condition is not evaluated. */
static ft_status condition(tir_parser *r, uint16_t parent) {
    tir_expr test;
    if (!tir_accept(r, "(")) return tir_fail(r, FT_ERR_DAMAGED, "'(' is missing after if");
    FT_TRY(tir_parse(r, &test));
    if (!tir_accept(r, ")") || !tir_accept(r, "{")) return tir_fail(r, FT_ERR_DAMAGED, "a condition without a body");
    FT_TRY(block(r, parent));
    return tir_accept(r, "else") && tir_accept(r, "{") ? block(r, parent) : FT_OK;
}

/* A line that applies to the rest of the block, or to a block of its own when it ends in "{". */
static ft_status line_statement(tir_parser *r, uint16_t *into, bool is_allocation) {
    size_t length;
    const char *line = tir_rest_of_line(r, &length);
    bool has_block = length > 0 && line[length - 1] == '{';
    uint16_t inside = *into;
    uint32_t names = r->name_count;
    FT_TRY(is_allocation ? tir_allocate(r, &inside, line, length) : tir_attribute(r, &inside, line, length));
    if (!has_block) {
        *into = inside;
        return FT_OK;
    }
    FT_TRY(block(r, inside));
    r->name_count = names;
    return FT_OK;
}

static ft_status word_statement(tir_parser *r, uint16_t *into) {
    static const struct {
        const char *word;
        prog_annotation annotation;
    } loops[] = {
        {"for", PROG_SERIAL}, {"parallel", PROG_PARALLEL}, {"unrolled", PROG_UNROLL}, {"vectorized", PROG_VECTORIZE}};
    char name[TIR_NAME];
    size_t length;
    if (!tir_accept_word(r, name)) return tir_fail(r, FT_ERR_DAMAGED, "a statement is missing");
    tir_space(r);
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        if (strcmp(name, loops[i].word) == 0 && r->at < r->end && *r->at == '(')
            return loop(r, *into, loops[i].annotation);
    }
    if (strcmp(name, "if") == 0) return condition(r, *into);
    if (strcmp(name, "allocate") == 0) return line_statement(r, into, true);
    if (strcmp(name, "attr") == 0) return line_statement(r, into, false);
    if (tir_accept(r, "[")) return store(r, *into, name);
    tir_rest_of_line(r, &length); /* a call for its side effect */
    return FT_OK;
}

static ft_status comment(tir_parser *r, uint16_t *into) {
    size_t length;
    if (tir_accept(r, "attr")) return line_statement(r, into, false);
    tir_rest_of_line(r, &length);
    return FT_OK;
}

/* Reads statements up to the closing brace. */
static ft_status block(tir_parser *r, uint16_t parent) {
    uint32_t names = r->name_count;
    uint16_t into = parent;
    if (++r->depth > TIR_MAX_DEPTH) return tir_fail(r, FT_ERR_LIMIT, "loops that are nested too deeply");
    for (;;) {
        tir_space(r);
        if (r->at == r->end) return tir_fail(r, FT_ERR_DAMAGED, "the text ends inside a block");
        if (tir_accept(r, "}")) break;
        FT_TRY(tir_accept(r, "//") ? comment(r, &into) : word_statement(r, &into));
    }
    assert(r->depth > 0);
    if (r->kernel_depth == r->depth) r->kernel_depth = 0;
    r->depth--;
    r->name_count = names;
    return FT_OK;
}

/* --- Functions ----------------------------------------------------------------------------------------------- */

/* Skips to the body of the next function, reading buffer declarations on the way. */
static ft_status find_function(tir_parser *r, bool *found) {
    *found = false;
    for (;;) {
        size_t length;
        tir_space(r);
        if (r->at == r->end) return FT_OK;
        if (tir_accept(r, "//") && tir_accept(r, "buffer ")) {
            FT_TRY(tir_declare(r));
            continue;
        }
        const char *line = tir_rest_of_line(r, &length);
        if (tir_has(line, length, "PrimFunc(") && length > 0 && line[length - 1] == '{') {
            *found = true;
            return tir_read_params(r, line, length);
        }
    }
}

ft_status tir_read(prog *p, nest_node *nodes, const char *text, size_t size, uint64_t first_line, nest *n,
                   size_t *used) {
    tir_parser *r = ARENA_NEW(p->memory, tir_parser);
    bool found;
    *used = 0;
    if (r == NULL) return FT_NOMEM(p->error);
    *n = (nest){.p = p, .nodes = nodes, .count = 1};
    nodes[0] = (nest_node){
        .kind = NEST_ROOT, .parent = NEST_NONE, .first_child = NEST_NONE, .last_child = NEST_NONE, .next = NEST_NONE};
    *r = (tir_parser){.p = p, .n = n, .start = text, .at = text, .end = text + size, .first_line = first_line};
    FT_TRY(find_function(r, &found));
    if (!found) return FT_OK;
    FT_TRY(block(r, 0));
    FT_TRY(tir_separate_params(r));
    *used = (size_t)(r->at - text);
    return prog_check(p);
}
