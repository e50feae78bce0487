/* fuse_match.c - matching of block patterns in a graph.
 *
 * A pattern is an expression, so matching starts at the operator that computes the result and follows its inputs to
 * their producers; each tensor has one producer, hence there is nothing to search. Only the two inputs of add and mul
 * may be in either order. Both orders are tried in place, without backtracking into parts that matched, and each
 * attempt has a budget of steps proportional to the pattern: time is linear in graph size times pattern size for any
 * rules and any graph.
 *
 * Operators that launch no kernel (is_free) are skipped unless the pattern names them, and then belong to the block. A
 * match is a block only when its inner results are not read outside of it. */
#include <assert.h>
#include <string.h>

#include "graph/fuse.h"

enum { STEPS_PER_TERM = 16, MAX_MEMBERS = 4 * PATTERN_MAX_TERMS, MAX_READERS = MAX_MEMBERS };

typedef struct matcher {
    fusion *f;
    const pattern *p;
    uint32_t bound[PATTERN_MAX_VARS]; /* tensors, or FT_NONE */
    uint32_t members[MAX_MEMBERS];    /* nodes */
    uint32_t member_count;
    uint32_t steps;
    uint32_t loop; /* of the operator at which the match starts */
} matcher;

bool fusion_is_constant(const fusion *f, uint32_t tensor) {
    const ft_tensor *t = &f->graph->tensors[tensor];
    if (graph_is_constant(f->graph, t)) return true;
    return t->producer != FT_NONE && f->graph->ops[t->producer].input_count == 0 && f->nodes[t->producer].is_free;
}

uint32_t fusion_find(fusion *f, uint32_t op) {
    assert(op < f->graph->op_count);
    while (f->nodes[op].parent != op) {
        f->nodes[op].parent = f->nodes[f->nodes[op].parent].parent;
        op = f->nodes[op].parent;
    }
    return op;
}

static bool add_member(matcher *m, uint32_t op) {
    if (m->member_count == MAX_MEMBERS) return false;
    m->members[m->member_count++] = op;
    return true;
}

static bool is_named(const pattern *p, const term *t, const node *n) {
    for (uint32_t i = 0; i < t->name_count; i++) {
        if (node_is(n, p->names[t->first_name + i])) return true;
    }
    return false;
}

/* The node that computes a tensor, when it can be part of this block; FT_NONE otherwise. */
static uint32_t maker_of(const matcher *m, uint32_t tensor) {
    if (tensor == FT_NONE || fusion_is_constant(m->f, tensor)) return FT_NONE;
    uint32_t op = m->f->graph->tensors[tensor].producer;
    bool is_reachable = op != FT_NONE && m->f->nodes[op].parent == op && m->f->graph->ops[op].loop == m->loop;
    return is_reachable ? op : FT_NONE;
}

/* The node that matches a term, behind free operators, which become members; FT_NONE when there is none. */
static uint32_t find_node(matcher *m, const term *t, uint32_t tensor) {
    for (;;) {
        uint32_t op = maker_of(m, tensor);
        if (op == FT_NONE || m->steps == 0) return FT_NONE;
        const node *n = &m->f->nodes[op];
        if (is_named(m->p, t, n)) return op;
        if (!n->is_free || n->input_count == 0 || !add_member(m, op)) return FT_NONE;
        m->steps--;
        tensor = n->inputs[0];
    }
}

static bool match_term(matcher *m, uint32_t index, uint32_t tensor);

/* Matches the inputs that the pattern lists, with the first two exchanged if `is_swapped`. Others may be anything. */
static bool match_inputs(matcher *m, const term *t, const node *n, bool is_swapped) {
    for (uint32_t i = 0; i < t->arg_count; i++) {
        uint32_t at = is_swapped && i < 2 ? 1 - i : i;
        if (!match_term(m, t->args[i], at < n->input_count ? n->inputs[at] : FT_NONE)) return false;
    }
    return true;
}

static bool is_commutative(const fusion *f, const node *n) {
    return n->input_count == 2 && (n->name == f->add_name || n->name == f->mul_name);
}

static bool match_node(matcher *m, const term *t, uint32_t op) {
    const node *n = &m->f->nodes[op];
    if (!add_member(m, op)) return false;
    uint32_t bound[PATTERN_MAX_VARS], member_count = m->member_count;
    memcpy(bound, m->bound, sizeof bound);
    if (match_inputs(m, t, n, false)) return true;
    if (t->arg_count < 2 || !is_commutative(m->f, n)) return false;
    memcpy(m->bound, bound, sizeof bound);
    m->member_count = member_count;
    return match_inputs(m, t, n, true);
}

/* A constant of one element, or of unknown shape. */
static bool is_scalar(const fusion *f, uint32_t tensor) {
    if (tensor == FT_NONE || !fusion_is_constant(f, tensor)) return false;
    const ft_tensor *t = &f->graph->tensors[tensor];
    return shape_elems(t->dims, t->rank) <= 1;
}

static bool match_variable(matcher *m, uint8_t variable, uint32_t tensor) {
    if (tensor == FT_NONE) return false;
    assert(variable < m->p->variable_count);
    if (m->bound[variable] == FT_NONE) m->bound[variable] = tensor;
    return m->bound[variable] == tensor;
}

/* The recursion depth is that of the pattern, which pattern_parse limits. */
static bool match_term(matcher *m, uint32_t index, uint32_t tensor) {
    const term *t = &m->p->terms[index];
    if (m->steps == 0) return false;
    m->steps--;
    if (t->kind == TERM_ANY) return true;
    if (t->kind == TERM_CONSTANT) return tensor != FT_NONE && fusion_is_constant(m->f, tensor);
    if (t->kind == TERM_SCALAR) return is_scalar(m->f, tensor);
    if (t->kind == TERM_VARIABLE) return match_variable(m, t->variable, tensor);
    uint32_t bound[PATTERN_MAX_VARS], member_count = m->member_count;
    memcpy(bound, m->bound, sizeof bound);
    uint32_t op = find_node(m, t, tensor);
    if (op != FT_NONE && match_node(m, t, op))
        return t->variable == VARIABLE_NONE || match_variable(m, t->variable, tensor);
    memcpy(m->bound, bound, sizeof bound);
    m->member_count = member_count;
    return t->is_optional && match_term(m, t->args[0], tensor);
}

/* True when only members read the outputs of a member. Folded readers never run. */
static bool is_inside(const matcher *m, uint32_t op, uint64_t stamp) {
    const ft_op *o = &m->f->graph->ops[op];
    for (uint32_t k = 0; k < o->output_count; k++) {
        const ft_tensor *t = op_output(m->f->graph, o, k);
        if (t == NULL) continue;
        if (t->is_output || t->use_count > MAX_READERS) return false;
        for (uint32_t u = 0; u < t->use_count; u++) {
            if (m->f->graph->ops[t->uses[u]].is_folded) continue;
            if (m->f->nodes[fusion_find(m->f, t->uses[u])].stamp != stamp) return false;
        }
    }
    return true;
}

/* The first member is the last operator of the block, whose results are read outside. */
static bool is_closed(const matcher *m) {
    uint64_t stamp = ++m->f->stamp;
    for (uint32_t i = 0; i < m->member_count; i++) m->f->nodes[m->members[i]].stamp = stamp;
    for (uint32_t i = 1; i < m->member_count; i++) {
        if (m->members[i] != m->members[0] && !is_inside(m, m->members[i], stamp)) return false;
    }
    return true;
}

/* The main operator of the block: the first one that the rules name, or else the first one that is not free. */
static uint32_t root_of(const matcher *m, const block *b) {
    uint32_t named = FT_NONE, working = FT_NONE, any = FT_NONE;
    for (uint32_t i = 0; i < m->member_count; i++) {
        const node *n = &m->f->nodes[m->members[i]];
        if (n->root < any) any = n->root;
        if (!n->is_free && n->root < working) working = n->root;
        if (b->root != SYMBOL_NONE && node_is(n, b->root) && n->root < named) named = n->root;
    }
    if (named != FT_NONE) return named;
    return working != FT_NONE ? working : any;
}

/* True for outputs of members, which is_closed has just stamped. */
static bool is_inner(const matcher *m, uint32_t tensor) {
    uint32_t maker = m->f->graph->tensors[tensor].producer;
    return maker != FT_NONE && m->f->nodes[fusion_find(m->f, maker)].stamp == m->f->stamp;
}

/* The inputs of the block: first the tensors bound to variables, in their order, for patterns that name the block; then
 * the other activations that its members read. */
static bool collect_inputs(const matcher *m, node *block_node) {
    fusion *f = m->f;
    size_t room = m->p->variable_count;
    for (uint32_t i = 0; i < m->member_count; i++) room += f->nodes[m->members[i]].input_count;
    uint32_t *inputs = ARENA_ARRAY(f->scratch, uint32_t, room);
    if (inputs == NULL) return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->p->variable_count; i++) {
        if (m->bound[i] != FT_NONE && !is_inner(m, m->bound[i])) inputs[count++] = m->bound[i];
    }
    for (uint32_t i = 0; i < m->member_count; i++) {
        const node *n = &f->nodes[m->members[i]];
        for (uint32_t k = 0; k < n->input_count; k++) {
            uint32_t t = n->inputs[k];
            if (t != FT_NONE && !fusion_is_constant(f, t) && !is_inner(m, t)) inputs[count++] = t;
        }
    }
    assert(count <= room);
    block_node->inputs = inputs;
    block_node->input_count = count;
    return true;
}

static ft_status make_block(const matcher *m, const block *b, ft_error *error) {
    fusion *f = m->f;
    assert(m->member_count > 0);
    uint32_t last = m->members[0];
    node *n = &f->nodes[last], made = *n;
    made.root = root_of(m, b);
    made.name_symbol = b->name_symbol;
    made.op_class = b->op_class;
    made.is_free = false;
    if (!collect_inputs(m, &made) || !fusion_name(f, b->name, &made.name)) return FT_NOMEM(error);
    for (uint32_t i = 1; i < m->member_count; i++) f->nodes[m->members[i]].parent = last;
    *n = made;
    n->parent = last;
    return FT_OK;
}

static ft_status match_at(fusion *f, const block *b, const pattern *p, uint32_t op, ft_error *error) {
    matcher m;
    m.f = f;
    m.p = p;
    m.steps = p->term_count * STEPS_PER_TERM;
    m.loop = f->graph->ops[op].loop;
    m.member_count = 0;
    memset(m.bound, 0xff, sizeof m.bound);
    return match_node(&m, &p->terms[0], op) && is_closed(&m) ? make_block(&m, b, error) : FT_OK;
}

static ft_status match_pattern(fusion *f, const block *b, const pattern *p, ft_error *error) {
    for (uint32_t op = 0; op < f->graph->op_count; op++) {
        const node *n = &f->nodes[op];
        if (n->parent != op || f->graph->ops[op].is_folded || !is_named(p, &p->terms[0], n)) continue;
        FT_TRY(match_at(f, b, p, op, error));
    }
    return FT_OK;
}

/* --- All blocks ---------------------------------------------------------------------------------------------- */

/* Marks the names and classes of a graph: most patterns end in one that it does not have. */
static void mark_names(const fusion *f, bool *is_present) {
    for (uint32_t op = 0; op < f->graph->op_count; op++) {
        const node *n = &f->nodes[op];
        if (f->graph->ops[op].is_folded) continue;
        if (n->name_symbol != SYMBOL_NONE) is_present[n->name_symbol] = true;
        is_present[n->op_class] = true;
    }
}

static bool may_match(const pattern *p, const bool *is_present) {
    const term *last = &p->terms[0];
    for (uint32_t i = 0; i < last->name_count; i++)
        if (is_present[p->names[last->first_name + i]]) return true;
    return false;
}

ft_status fusion_match_blocks(fusion *f, ft_error *error) {
    bool *is_present = ARENA_ARRAY(f->scratch, bool, (size_t)f->rules->symbol_count + 1);
    if (is_present == NULL) return FT_NOMEM(error);
    mark_names(f, is_present);
    for (uint32_t i = 0; i < f->rules->block_count; i++) {
        const block *b = &f->rules->blocks[i];
        if (b->name_symbol != SYMBOL_NONE) is_present[b->name_symbol] = true; /* if it matches */
        is_present[b->op_class] = true;
        for (uint32_t k = 0; k < b->pattern_count; k++)
            if (may_match(&b->patterns[k], is_present)) FT_TRY(match_pattern(f, b, &b->patterns[k], error));
    }
    return FT_OK;
}
