/* fuse_pattern.c - parser of block patterns.
 *
 * A pattern is written like the expression it matches, with the last operator outermost:
 *
 *     mul(x, mul(relu(add(x, #)), #))          hard-swish
 *     div(d:sub(x, mean(x)), sqrt(add(mean(pow(d, #)), #)))
 *
 *     term  := '_' | '#' | '$' | name | [name ':'] names ['?'] '(' term { ',' term } ')'
 *     names := name { '|' name }
 *
 * A name alone is a variable. Matching is in fuse_match.c. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "graph/fuse.h"

typedef struct parser {
    ft_rules *rules;
    const char *text;
    const char *at;
    term terms[PATTERN_MAX_TERMS];
    uint32_t term_count;
    symbol names[PATTERN_MAX_NAMES];
    uint32_t name_count;
    char variables[PATTERN_MAX_VARS][KERNEL_NAME_BYTES];
    uint32_t variable_count;
    ft_error *error;
} parser;

static ft_status fail(const parser *p, const char *reason) {
    return ft_fail(p->error, FT_ERR_DAMAGED, "pattern \"%s\", column %d: %s", p->text, (int)(p->at - p->text) + 1,
                   reason);
}

static void skip_space(parser *p) {
    while (*p->at == ' ') p->at++;
}

/* Skips the next character when it is `c`. */
static bool accept(parser *p, char c) {
    skip_space(p);
    if (*p->at != c) return false;
    p->at++;
    return true;
}

static ft_status read_name(parser *p, char name[KERNEL_NAME_BYTES]) {
    skip_space(p);
    size_t length = 0;
    while (isalnum((unsigned char)p->at[length]) || (p->at[length] != '\0' && strchr("@_.-", p->at[length]) != NULL))
        length++;
    if (length == 0) return fail(p, "expected a name, '_', '#' or '$'");
    if (length >= KERNEL_NAME_BYTES) return fail(p, "the name is too long");
    memcpy(name, p->at, length);
    name[length] = '\0';
    p->at += length;
    return FT_OK;
}

static ft_status find_variable(parser *p, const char *name, bool must_be_new, uint8_t *variable) {
    for (uint32_t i = 0; i < p->variable_count; i++) {
        if (strcmp(p->variables[i], name) != 0) continue;
        if (must_be_new) return fail(p, "a variable is bound to a node after its first use; bind it first");
        *variable = (uint8_t)i;
        return FT_OK;
    }
    if (p->variable_count == PATTERN_MAX_VARS) return fail(p, "too many variables");
    memcpy(p->variables[p->variable_count], name, strlen(name) + 1);
    *variable = (uint8_t)p->variable_count++;
    return FT_OK;
}

static ft_status add_name(parser *p, term *t, const char *name) {
    assert(t->first_name + t->name_count == p->name_count); /* names of a term are contiguous */
    if (p->name_count == PATTERN_MAX_NAMES) return fail(p, "too many names");
    ft_status status = rules_symbol(p->rules, name, &p->names[p->name_count], p->error);
    if (status != FT_OK) return ft_fail_prefix(p->error, status, "pattern \"%s\"", p->text);
    p->name_count++;
    t->name_count++;
    return FT_OK;
}

static ft_status parse_term(parser *p, uint8_t *index);

static ft_status parse_args(parser *p, term *t) {
    do {
        if (t->arg_count == PATTERN_MAX_ARGS) return fail(p, "too many arguments");
        FT_TRY(parse_term(p, &t->args[t->arg_count]));
        t->arg_count++;
    } while (accept(p, ','));
    return accept(p, ')') ? FT_OK : fail(p, "expected ',' or ')'");
}

/* A variable, or a node. `name` is already read. */
static ft_status parse_named(parser *p, term *t, char name[KERNEL_NAME_BYTES]) {
    if (accept(p, ':')) {
        FT_TRY(find_variable(p, name, true, &t->variable));
        FT_TRY(read_name(p, name));
    }
    skip_space(p);
    bool is_node = *p->at != '\0' && strchr("|?(", *p->at) != NULL;
    if (!is_node && t->variable != VARIABLE_NONE) return fail(p, "expected '(' after the name of a node");
    if (!is_node) {
        t->kind = TERM_VARIABLE;
        return find_variable(p, name, false, &t->variable);
    }
    t->kind = TERM_NODE;
    t->first_name = (uint16_t)p->name_count;
    FT_TRY(add_name(p, t, name));
    while (accept(p, '|')) {
        FT_TRY(read_name(p, name));
        FT_TRY(add_name(p, t, name));
    }
    t->is_optional = accept(p, '?');
    if (t->is_optional && t->variable != VARIABLE_NONE)
        return fail(p, "an optional node cannot be bound to a variable");
    if (!accept(p, '(')) return fail(p, "expected '('");
    return parse_args(p, t);
}

/* The recursion depth is bounded by the number of terms. */
static ft_status parse_term(parser *p, uint8_t *index) {
    if (p->term_count == PATTERN_MAX_TERMS) return fail(p, "too many terms");
    *index = (uint8_t)p->term_count;
    term *t = &p->terms[p->term_count++];
    *t = (term){.kind = TERM_ANY, .variable = VARIABLE_NONE};
    if (accept(p, '#'))
        t->kind = TERM_CONSTANT;
    else if (accept(p, '$'))
        t->kind = TERM_SCALAR;
    if (t->kind != TERM_ANY) return FT_OK;
    char name[KERNEL_NAME_BYTES];
    FT_TRY(read_name(p, name));
    return strcmp(name, "_") == 0 ? FT_OK : parse_named(p, t, name);
}

ft_status pattern_parse(ft_rules *rules, const char *text, pattern *result, ft_error *error) {
    parser p = {.rules = rules, .text = text, .at = text, .error = error};
    uint8_t first;
    FT_TRY(parse_term(&p, &first));
    skip_space(&p);
    if (*p.at != '\0') return fail(&p, "expected the end of the pattern");
    if (p.terms[0].kind != TERM_NODE || p.terms[0].is_optional)
        return fail(&p, "the outermost part must be a node that is not optional");
    result->terms = arena_copy(&rules->memory, p.terms, p.term_count * sizeof *p.terms);
    result->names = arena_copy(&rules->memory, p.names, p.name_count * sizeof *p.names);
    result->term_count = p.term_count;
    result->variable_count = p.variable_count;
    return result->terms != NULL && result->names != NULL ? FT_OK : FT_NOMEM(error);
}
