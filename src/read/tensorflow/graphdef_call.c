/* graphdef_call.c - inlining of the functions that nodes call, so no operator remains for the call itself:
 *
 *   PartitionedCall, StatefulPartitionedCall, nodes named like a function   the function
 *   If, StatelessIf         both functions; binding selects one, as for Switch and Merge
 *   Case, StatelessCase     the function with the most nodes, the first of equals
 *   While, StatelessWhile   condition and body, once, in a loop of the graph
 *
 * Nesting beyond FT_MAX_DEPTH, and so recursion, is an error. */
#include <assert.h>
#include <string.h>

#include "read/loop.h"
#include "read/tensorflow/graphdef.h"

enum { CALL_WORK = 64 };

/* A function at a call site. */
typedef struct call {
    const Tf__FunctionDef *function;
    gd_frame frame;
    gd_ref *results;
    uint32_t result_count;
} call;

ft_status gd_index_functions(gd_builder *b) {
    const Tf__Library *library = b->model->graph->library;
    map_init(&b->functions, b->scratch);
    for (size_t i = 0; library != NULL && i < library->n_function; i++) {
        const Tf__Signature *signature = library->function[i]->signature;
        uint32_t unused;
        if (signature == NULL || gd_text(signature->name)[0] == '\0') continue;
        if (!map_add(&b->functions, signature->name, (uint32_t)i, &unused)) return FT_NOMEM(b->error);
    }
    return FT_OK;
}

static ft_status find_function(gd_builder *b, const gd_vertex *v, const Tf__Function *name,
                               const Tf__FunctionDef **function) {
    uint32_t index;
    const char *text = name != NULL ? gd_text(name->name) : "";
    if (!map_get(&b->functions, text, &index))
        return ft_fail(b->error, FT_ERR_GRAPH,
                       "node '%.200s' (%.100s) calls function '%.200s', which is not in the file", v->name,
                       gd_text(v->node->op), text);
    *function = b->model->graph->library->function[index];
    return FT_OK;
}

static ft_status find_attr_function(gd_builder *b, const gd_vertex *v, const char *attr,
                                    const Tf__FunctionDef **function) {
    const Tf__Value *value = gd_attr(v->node, attr);
    return find_function(b, v, value != NULL ? value->func : NULL, function);
}

/* --- One function ------------------------------------------------------------------------------------------------ */

static const char *result_text(const Tf__FunctionDef *function, const char *name) {
    for (size_t i = 0; i < function->n_ret; i++)
        if (strcmp(gd_text(function->ret[i]->key), name) == 0) return gd_text(function->ret[i]->value);
    return "";
}

static ft_status open_call(gd_builder *b, const gd_frame *around, const gd_vertex *v, const gd_value *context,
                           const Tf__FunctionDef *function, call *c) {
    const Tf__Signature *signature = function->signature;
    *c = (call){.function = function, .result_count = (uint32_t)signature->n_output_arg};
    c->frame = (gd_frame){.is_function = true, .loop = context->loop, .branch = context->branch};
    if (b->depth >= FT_MAX_DEPTH)
        return ft_fail(b->error, FT_ERR_LIMIT, "functions are nested more than %d deep", FT_MAX_DEPTH);
    c->frame.prefix = arena_format(b->scratch, "%s%s/", around->prefix, v->name);
    if (c->frame.prefix == NULL) return FT_NOMEM(b->error);
    FT_TRY(gd_add_work(b, CALL_WORK + strlen(c->frame.prefix) / 16 + signature->n_output_arg));
    FT_TRY(gd_frame_open(b, &c->frame, function->node_def, function->n_node_def, signature));
    c->results = ARENA_ARRAY(b->scratch, gd_ref, c->result_count);
    if (c->results == NULL) return FT_NOMEM(b->error);
    for (uint32_t i = 0; i < c->result_count; i++) {
        const char *text = result_text(function, gd_text(signature->output_arg[i]->name));
        FT_TRY(gd_frame_find(b, &c->frame, text, &c->results[i]));
    }
    return gd_frame_reserve(b, &c->frame);
}

/* Adds the nodes of an open call; `given` has at least as many values as it has arguments. */
static ft_status run_call(gd_builder *b, call *c, const gd_value *given, gd_value *values) {
    gd_frame *f = &c->frame;
    for (uint32_t i = 0; i < f->arg_count; i++) {
        f->vertices[i].values[0] = given[i];
        f->vertices[i].state = GD_DONE;
    }
    b->depth++;
    for (uint32_t i = 0; i < c->result_count; i++) FT_TRY(gd_frame_visit(b, f, c->results[i].vertex));
    FT_TRY(gd_close_loops(b, f));
    b->depth--;
    for (uint32_t i = 0; i < c->result_count; i++) FT_TRY(gd_frame_value(b, f, c->results[i], &values[i]));
    return FT_OK;
}

/* The values of inputs from `first` on, at least `least` of them. */
static ft_status read_given(gd_builder *b, const gd_frame *f, const gd_vertex *v, uint32_t first, size_t least,
                            gd_value **given) {
    uint32_t count = v->input_count > first ? v->input_count - first : 0;
    if (count < least)
        return ft_fail(b->error, FT_ERR_GRAPH, "node '%.200s' (%.100s) passes %u values to a function of %zu arguments",
                       v->name, gd_text(v->node->op), count, least);
    *given = ARENA_ARRAY(b->scratch, gd_value, count);
    if (*given == NULL) return FT_NOMEM(b->error);
    for (uint32_t i = 0; i < count; i++) FT_TRY(gd_input(b, f, v, first + i, &(*given)[i]));
    return FT_OK;
}

/* Scratch memory of a call: frames of large models add up to more than the file. Results are outside of it. */
static arena *begin_scratch(gd_builder *b, arena *inner) {
    arena *outer = b->scratch;
    arena_init(inner, FT_MAX_GRAPH_BYTES / 2);
    b->scratch = inner;
    return outer;
}

static void end_scratch(gd_builder *b, arena *outer) {
    arena_free(b->scratch);
    b->scratch = outer;
}

/* Calls a function with the inputs from `first` on; *values are its results. */
static ft_status run_function(gd_builder *b, gd_frame *f, gd_vertex *v, uint32_t first, const gd_value *context,
                              const Tf__FunctionDef *function, gd_value **values) {
    call c;
    gd_value *given;
    arena inner;
    FT_TRY(read_given(b, f, v, first, function->signature->n_input_arg, &given));
    *values = ARENA_ARRAY(b->scratch, gd_value, function->signature->n_output_arg);
    if (*values == NULL) return FT_NOMEM(b->error);
    arena *outer = begin_scratch(b, &inner);
    ft_status status = open_call(b, f, v, context, function, &c);
    if (status == FT_OK) status = run_call(b, &c, given, *values);
    end_scratch(b, outer);
    return status;
}

static ft_status add_function(gd_builder *b, gd_frame *f, gd_vertex *v, uint32_t first,
                              const Tf__FunctionDef *function) {
    gd_value context = gd_context(b, f, v), *values;
    FT_TRY(run_function(b, f, v, first, &context, function, &values));
    for (uint32_t i = 0; i < v->value_count && i < function->signature->n_output_arg; i++) v->values[i] = values[i];
    return FT_OK;
}

/* --- Branches ---------------------------------------------------------------------------------------------------- */

ft_status gd_add_branches(gd_builder *b, uint32_t condition, uint32_t parent, uint32_t *first) {
    unsigned depth = 0;
    for (uint32_t up = parent; up != 0; up = b->graph->branches[up].parent) depth++;
    if (depth >= FT_MAX_DEPTH)
        return ft_fail(b->error, FT_ERR_LIMIT, "branches are nested more than %d deep", FT_MAX_DEPTH);
    for (int i = 0; i < 2; i++) {
        uint32_t index;
        graph_branch branch = {.parent = parent, .condition = condition, .is_then = i == 0, .is_default = i == 0};
        FT_TRY(graph_add_branch(b->graph, &branch, &index, b->error));
        if (i == 0) *first = index;
    }
    return FT_OK;
}

ft_status gd_merge(gd_builder *b, const char *name, const gd_value values[2], uint32_t branch, gd_value *merged) {
    const uint32_t inputs[2] = {values[0].tensor, values[1].tensor};
    const gd_op op = {"Merge", "IfMerge", inputs, 2, "branch", branch};
    return gd_add_own(b, name, &op, merged);
}

static ft_status add_if(gd_builder *b, gd_frame *f, gd_vertex *v) {
    static const char *const attrs[2] = {"then_branch", "else_branch"};
    const Tf__FunctionDef *functions[2];
    gd_value context = gd_context(b, f, v), condition, *values[2];
    uint32_t branch;
    FT_TRY(gd_input(b, f, v, 0, &condition));
    FT_TRY(gd_add_branches(b, condition.tensor, context.branch, &branch));
    for (uint32_t i = 0; i < 2; i++) {
        gd_value inner = {.tensor = FT_NONE, .loop = context.loop, .branch = branch + i};
        FT_TRY(find_attr_function(b, v, attrs[i], &functions[i]));
        FT_TRY(run_function(b, f, v, 1, &inner, functions[i], &values[i]));
    }
    for (uint32_t k = 0; k < v->value_count; k++) {
        if (k >= functions[0]->signature->n_output_arg || k >= functions[1]->signature->n_output_arg) break;
        const gd_value both[2] = {values[0][k], values[1][k]};
        const char *name = gd_output_name(b, f, v, k);
        if (name == NULL) return FT_NOMEM(b->error);
        v->values[k] = context;
        FT_TRY(gd_merge(b, name, both, branch, &v->values[k]));
    }
    return FT_OK;
}

static ft_status add_case(gd_builder *b, gd_frame *f, gd_vertex *v) {
    const Tf__Value *branches = gd_attr(v->node, "branches");
    const Tf__FunctionDef *best = NULL;
    for (size_t i = 0; branches != NULL && branches->list != NULL && i < branches->list->n_func; i++) {
        const Tf__FunctionDef *function;
        FT_TRY(find_function(b, v, branches->list->func[i], &function));
        if (best == NULL || function->n_node_def > best->n_node_def) best = function;
    }
    if (best == NULL) return ft_fail(b->error, FT_ERR_GRAPH, "node '%.200s' (Case) has no branch", v->name);
    return add_function(b, f, v, 1, best);
}

/* --- Loops ------------------------------------------------------------------------------------------------------- */

ft_status gd_add_loop(gd_builder *b, uint32_t parent, uint32_t *loop) {
    const graph_loop spec = {.parent = parent, .trip_tensor = FT_NONE, .scan_tensor = FT_NONE, .trips = 1};
    unsigned depth = 0;
    for (uint32_t up = parent; up != 0; up = b->graph->loops[up].parent) depth++;
    if (depth >= FT_MAX_DEPTH)
        return ft_fail(b->error, FT_ERR_LIMIT, "loops are nested more than %d deep", FT_MAX_DEPTH);
    return graph_add_loop(b->graph, &spec, loop, b->error);
}

ft_status gd_add_carry(gd_builder *b, const char *name, uint32_t first, uint32_t loop, gd_value *value) {
    const gd_op op = {"LoopCarry", "LoopCarry", &first, 1, NULL, 0};
    value->loop = loop;
    value->body = 0;
    return gd_add_own(b, name, &op, value);
}

/* Whether a function returns its argument `i` as result `i`. */
static bool is_unchanged(const call *c, uint32_t i) {
    gd_ref ref = c->results[i];
    for (int steps = 0; steps < FT_MAX_DEPTH; steps++) {
        const gd_vertex *v = &c->frame.vertices[ref.vertex];
        if (ref.vertex < c->frame.arg_count) return ref.vertex == i;
        if (!gd_is(v, "Identity") || v->input_count != 1) return false;
        ref = v->inputs[0];
    }
    return false;
}

/* Replaces the variables that the body changes by carried ones. */
static ft_status enter_loop(gd_builder *b, const gd_frame *f, const gd_vertex *v, const call *body, uint32_t loop,
                            gd_value *variables) {
    for (uint32_t i = 0; i < body->result_count; i++) {
        if (is_unchanged(body, i)) continue;
        const char *name = arena_format(b->scratch, "%s%s/variable_%u", f->prefix, v->name, i);
        if (name == NULL) return FT_NOMEM(b->error);
        FT_TRY(gd_add_carry(b, name, variables[i].tensor, loop, &variables[i]));
    }
    return FT_OK;
}

static ft_status set_trips(gd_builder *b, uint32_t begin, uint32_t loop, uint32_t condition, const gd_value *variables,
                           const gd_value *results, uint32_t count) {
    uint32_t *lists = ARENA_ARRAY(b->scratch, uint32_t, (size_t)2 * count);
    if (lists == NULL) return FT_NOMEM(b->error);
    for (uint32_t i = 0; i < count; i++) {
        lists[i] = variables[i].tensor;
        lists[count + i] = results[i].tensor;
    }
    FT_TRY(gd_add_work(b, b->graph->op_count - begin));
    b->graph->loops[loop].trip_tensor =
        loop_find_limit(b->graph, begin, condition, &(loop_variables){lists, lists + count, count});
    return FT_OK;
}

static ft_status run_while(gd_builder *b, gd_frame *f, gd_vertex *v) {
    gd_value inner = gd_context(b, f, v), *variables, *results, *given, *is_going_on;
    const Tf__FunctionDef *condition, *body;
    call test, step;
    uint32_t begin = b->graph->op_count, parent = inner.loop;
    FT_TRY(find_attr_function(b, v, "cond", &condition));
    FT_TRY(find_attr_function(b, v, "body", &body));
    uint32_t count = (uint32_t)body->signature->n_output_arg;
    if (body->signature->n_input_arg != count || condition->signature->n_input_arg > count ||
        condition->signature->n_output_arg != 1)
        return ft_fail(b->error, FT_ERR_GRAPH, "node '%.200s' (While): its functions do not fit each other", v->name);
    FT_TRY(gd_add_loop(b, parent, &inner.loop));
    FT_TRY(read_given(b, f, v, 0, count, &given));
    variables = arena_copy(b->scratch, given, count * sizeof *given);
    results = ARENA_ARRAY(b->scratch, gd_value, count);
    is_going_on = ARENA_ARRAY(b->scratch, gd_value, 1);
    if (variables == NULL || results == NULL || is_going_on == NULL) return FT_NOMEM(b->error);
    FT_TRY(open_call(b, f, v, &inner, body, &step));
    FT_TRY(open_call(b, f, v, &inner, condition, &test));
    FT_TRY(enter_loop(b, f, v, &step, inner.loop, variables));
    FT_TRY(run_call(b, &test, variables, is_going_on));
    FT_TRY(run_call(b, &step, variables, results));
    FT_TRY(set_trips(b, begin, inner.loop, is_going_on->tensor, variables, results, count));
    for (uint32_t i = 0; i < count && i < v->value_count; i++) {
        bool is_same = is_unchanged(&step, i);
        v->values[i] = is_same ? given[i] : results[i];
        v->values[i].loop = parent;
        if (!is_same) v->values[i].body = inner.loop;
    }
    return FT_OK;
}

static ft_status add_while(gd_builder *b, gd_frame *f, gd_vertex *v) {
    arena inner, *outer = begin_scratch(b, &inner);
    ft_status status = run_while(b, f, v);
    end_scratch(b, outer);
    return status;
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

ft_status gd_call(gd_builder *b, gd_frame *f, gd_vertex *v, bool *is_call) {
    const char *op = gd_text(v->node->op);
    const Tf__FunctionDef *function;
    uint32_t index;
    *is_call = true;
    if (strcmp(op, "PartitionedCall") == 0 || strcmp(op, "StatefulPartitionedCall") == 0) {
        FT_TRY(find_attr_function(b, v, "f", &function));
        return add_function(b, f, v, 0, function);
    }
    if (strncmp(op, "Stateless", 9) == 0) op += 9;
    if (strcmp(op, "If") == 0) return add_if(b, f, v);
    if (strcmp(op, "Case") == 0) return add_case(b, f, v);
    if (strcmp(op, "While") == 0) return add_while(b, f, v);
    *is_call = map_get(&b->functions, gd_text(v->node->op), &index);
    return *is_call ? add_function(b, f, v, 0, b->model->graph->library->function[index]) : FT_OK;
}
