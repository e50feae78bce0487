/* feature_count.c - the operations of one store: those of its value, and the arithmetic of the indices it reads at. */
#include "program/feature_count.h"

static void count_index(const lin_space *space, lin a, feature_counts *c) {
    if (a.count == 0) return;
    c->int_add += a.count - 1 + (a.base != 0);
    for (uint32_t i = 0; i < a.count; i++) {
        const lin_atom *atom = &space->atoms[a.terms[i].atom];
        c->int_mul += a.terms[i].factor != 1;
        if (atom->kind != LIN_QUOTIENT) continue;
        c->int_div += (atom->divisor != 1) + (atom->modulus != 0);
        count_index(space, atom->inner, c);
    }
}

static void count_value(const lin_space *space, const prog_value *v, feature_counts *c) {
    if (v == NULL) return;
    c->add += v->op == PROG_ADD || v->op == PROG_SUB;
    c->mul += v->op == PROG_MUL;
    c->div += v->op == PROG_DIV;
    c->cmp += v->op == PROG_MAX || v->op == PROG_MIN;
    c->select += v->op == PROG_SELECT;
    c->math += v->op == PROG_TANH || v->op == PROG_SIGMOID || v->op == PROG_IF || v->op == PROG_CALL;
    for (uint32_t i = 0; v->op == PROG_LOAD && i < v->dims; i++) count_index(space, v->index[i], c);
    double sides = 0;
    for (uint32_t i = 0; i < v->bound_count; i++) {
        int side = (v->bounds[i].low != INT64_MIN) + (v->bounds[i].high != INT64_MAX);
        for (int k = 0; k < side; k++) count_index(space, v->bounds[i].index, c);
        sides += side;
    }
    c->int_cmp += sides;
    if (sides > 0) c->logic += sides - 1;
    count_value(space, v->a, c);
    count_value(space, v->b, c);
}

feature_counts feature_count(const nest *n, const nest_node *node) {
    feature_counts c = {0};
    const lin_space *space = &n->p->space;
    const prog_stage *stage = &n->p->stages[node->stage];
    bool is_update = node->store == NEST_UPDATE || node->store == NEST_PART_UPDATE;
    if (is_update || node->store == NEST_PLAIN) count_value(space, node->value, &c);
    if (!is_update) return c;
    c.add += stage->reducer == PROG_SUM;
    c.cmp += stage->reducer == PROG_LARGEST;
    for (uint32_t i = 0; node->store == NEST_UPDATE && i < stage->dims; i++) count_index(space, node->index[i], &c);
    return c;
}
