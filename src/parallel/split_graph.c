/* split_graph.c - the graph of a rank: the operators of its stage on its parts of tensors, with collectives between.
 *
 * Sums of partial results become AllReduce, or, with sequence parallelism, ReduceScatter: then norms and elementwise
 * operators run on a part of the sequence, and AllGather precedes what needs all of it. Results of earlier stages are
 * inputs; those of later ones are sent. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "parallel/split.h"

typedef struct splitter {
    split_plan plan;
    uint32_t stage;
    ft_graph *out;
    uint32_t *copies;   /* per tensor: in `out`, or FT_NONE */
    uint32_t *gathered; /* per tensor: its whole sequence in `out`, or FT_NONE */
    bool *is_sequence;  /* per tensor: a part of the sequence */
    bool *is_needed;    /* per operator: in this graph */
} splitter;

static const ft_graph *source_of(const splitter *s) {
    return s->plan.graph;
}

/* --- Stages ------------------------------------------------------------------------------------------------------ */

/* As vLLM has it: what does not divide goes to the last stages but one. */
static uint32_t stage_of_layer(const split_plan *plan, uint32_t layer) {
    uint32_t stages = plan->ranks.pipeline, count = plan->layers.count, each = count / stages, rest = count % stages;
    if (layer == 0) return 0;
    if (layer > count) return stages - 1;
    uint32_t end = 0;
    for (uint32_t s = 0; s < stages; s++) {
        bool has_more = rest > 0 && s + 1 < stages && s + 1 + rest >= stages;
        end += each + has_more;
        if (layer <= end) return s;
    }
    return stages - 1;
}

static uint32_t stage_of_op(const splitter *s, uint32_t op) {
    return stage_of_layer(&s->plan, s->plan.layers.of_op[op]);
}

static void find_needed(splitter *s) {
    const ft_graph *graph = source_of(s);
    for (uint32_t k = graph->op_count; k-- > 0;) {
        const ft_op *op = &graph->ops[k];
        s->is_needed[k] = !op->is_folded && stage_of_op(s, k) == s->stage;
        for (uint32_t i = 0; i < op->output_count && op->is_folded; i++) { /* folded ones go with their readers */
            const ft_tensor *t = op_output(graph, op, i);
            for (uint32_t u = 0; t != NULL && u < t->use_count; u++) s->is_needed[k] |= s->is_needed[t->uses[u]];
        }
    }
}

/* --- Tensors ----------------------------------------------------------------------------------------------------- */

/* Ranks with the same part of a weight: those of data and context, fewer of experts that they divide too. */
static uint32_t replicas_of(const splitter *s, uint32_t tensor) {
    const ft_parallel *p = &s->plan.ranks;
    uint64_t ranks = (uint64_t)p->data * p->context, outside = p->expert / p->tensor;
    const ft_tensor *t = &source_of(s)->tensors[tensor];
    bool is_expert = false;
    for (uint32_t u = 0; u < t->use_count; u++) is_expert |= s->plan.kinds[t->uses[u]] == SPLIT_EXPERTS && t->rank > 1;
    if (is_expert && outside > 1) ranks = ranks > outside ? ranks / outside : 1;
    return ranks < UINT32_MAX ? (uint32_t)ranks : UINT32_MAX;
}

static ft_tensor part_of_tensor(const splitter *s, uint32_t tensor) {
    const ft_graph *graph = source_of(s);
    ft_tensor t = graph->tensors[tensor];
    const shard parts[] = {s->plan.held[tensor], s->plan.inner[tensor]};
    uint64_t before = (uint64_t)shape_elems(t.dims, t.rank);
    for (int i = 0; i < 2; i++)
        if (shard_is_part(parts[i]) && parts[i].axis < t.rank) t.dims[parts[i].axis] = parts[i].local;
    if (s->is_sequence[tensor]) t.dims[1] = (int64_t)num_div_up((uint64_t)t.dims[1], (uint64_t)s->plan.ranks.tensor);
    uint64_t after = (uint64_t)shape_elems(t.dims, t.rank);
    if (before > 0 && after < before) {
        t.stored_bytes = num_scale_sat(t.stored_bytes, after, before);
        t.held_bytes = num_scale_sat(t.held_bytes, after, before);
        t.value = NULL;
    }
    t.is_output = false;
    if (t.role == FT_CONSTANT) t.replicas = replicas_of(s, tensor);
    return t;
}

static ft_status copy_of(splitter *s, uint32_t tensor, uint32_t *copy, ft_error *error) {
    const ft_graph *graph = source_of(s);
    if (s->copies[tensor] == FT_NONE) {
        ft_tensor t = part_of_tensor(s, tensor);
        uint32_t maker = graph->tensors[tensor].producer;
        bool is_received = maker != FT_NONE && !s->is_needed[maker];
        if (is_received) t.role = FT_INPUT;
        FT_TRY(graph_add_tensor(s->out, &t, &s->copies[tensor], error));
        if (t.role == FT_INPUT) FT_TRY(graph_add_input(s->out, s->copies[tensor], error));
    }
    *copy = s->copies[tensor];
    return FT_OK;
}

/* --- Collectives ------------------------------------------------------------------------------------------------- */

/* An operator between `ranks` ranks, from one tensor of the rank's graph to a new one. */
typedef struct collective {
    const char *type, *suffix;
    uint32_t ranks;
    int32_t axis;     /* -1: the shape stays */
    ft_tensor result; /* name and dimensions are set from the input */
} collective;

static ft_status add_collective(splitter *s, const collective *c, uint32_t from, uint32_t *to, ft_error *error) {
    char name[256];
    ft_attr *attrs = ARENA_ARRAY(&s->out->memory, ft_attr, 2);
    if (attrs == NULL) return FT_NOMEM(error);
    ft_tensor t = c->result;
    snprintf(name, sizeof name, "%.200s.%s", s->out->tensors[from].name, c->suffix);
    t.name = name;
    t.role = FT_ACTIVATION;
    t.is_output = false;
    FT_TRY(graph_attr_int(s->out, &attrs[0], "group_size", c->ranks, error));
    if (c->axis >= 0) FT_TRY(graph_attr_int(s->out, &attrs[1], "axis", c->axis, error));
    FT_TRY(graph_add_tensor(s->out, &t, to, error));
    const ft_op op = {.name = name,
                      .type = c->type,
                      .def = opdef_find(FT_FORMAT_ONNX, c->type),
                      .inputs = &from,
                      .outputs = to,
                      .input_count = 1,
                      .output_count = 1,
                      .attrs = attrs,
                      .attr_count = c->axis >= 0 ? 2 : 1};
    return graph_add_op(s->out, &op, error);
}

/* The tensor as an operator reads it: gathered, where the rank has a part of the sequence. */
static ft_status input_of(splitter *s, uint32_t tensor, bool takes_part, uint32_t *input, ft_error *error) {
    FT_TRY(copy_of(s, tensor, input, error));
    if (!s->is_sequence[tensor] || takes_part) return FT_OK;
    if (s->gathered[tensor] == FT_NONE) {
        collective c = {"AllGather", "all_gather", s->plan.ranks.tensor, 1, source_of(s)->tensors[tensor]};
        FT_TRY(add_collective(s, &c, *input, &s->gathered[tensor], error));
    }
    *input = s->gathered[tensor];
    return FT_OK;
}

/* --- Sequence parallelism ---------------------------------------------------------------------------------------- */

static bool is_pointwise(const ft_op *op) {
    return op->def->op_class == FT_CLASS_NORM || op->def->cost == COST_ELEMENTWISE || op_is(op, "Cast") ||
           op_is(op, "Identity") || op_is(op, "Dropout");
}

/* Whether an operator runs on the rank's part of the sequence: one of its inputs is such a part, and it has no other
 * divided one. */
static bool runs_on_part(const splitter *s, const ft_op *op) {
    bool has_part = false;
    if (!is_pointwise(op)) return false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        uint32_t t = op->inputs[i];
        if (t == FT_NONE) continue;
        if (shard_is_part(s->plan.held[t])) return false;
        has_part |= s->is_sequence[t];
    }
    return has_part;
}

/* Marks results of an operator that runs on a part. */
static void mark_parts(splitter *s, const ft_op *op) {
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *t = op_output(source_of(s), op, i);
        if (t != NULL && t->rank >= 3) s->is_sequence[op->outputs[i]] = true;
    }
}

/* --- Operators --------------------------------------------------------------------------------------------------- */

/* The heads or columns that an attribute counts: as many as the rank has. */
static ft_status local_attrs(splitter *s, const ft_op *op, ft_op *copy, ft_error *error) {
    const ft_graph *graph = source_of(s);
    const ft_tensor *x = op_input(graph, op, 0), *y = op_output(graph, op, 0);
    attention_geometry g;
    local_heads l = {0};
    bool is_state = op->def->cost == COST_LINEAR_ATTENTION;
    shard out = y != NULL ? s->plan.held[op->outputs[0]] : (shard){.axis = SHARD_WHOLE};
    shard in = x != NULL ? s->plan.held[op->inputs[0]] : (shard){.axis = SHARD_WHOLE};
    bool is_attention = op->def->cost == COST_ATTENTION && attention_geometry_of(graph, op, &g);
    if (!shard_is_part(out) && !shard_is_part(in)) return FT_OK;
    if (is_attention) FT_TRY(split_heads(&s->plan, op, &g, &l));
    ft_attr *attrs = arena_copy(&s->out->memory, op->attrs, op->attr_count * sizeof *op->attrs);
    if (attrs == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < op->attr_count; i++) {
        ft_attr *a = &attrs[i];
        int64_t ranks = s->plan.ranks.tensor;
        bool counts_kv = strcmp(a->name, "kv_num_heads") == 0;
        bool counts_heads = strcmp(a->name, "num_heads") == 0 || strcmp(a->name, "q_num_heads") == 0;
        if (a->kind != FT_ATTR_INT || a->i <= 0) continue;
        if (is_attention && (counts_kv || counts_heads))
            a->i = counts_kv ? l.kv_heads : l.heads;
        else if ((is_state || op_is(op, "RotaryEmbedding")) && (counts_kv || counts_heads) && a->i % ranks == 0)
            a->i /= ranks;
        if (strcmp(a->name, "N") == 0 && shard_is_part(out)) a->i = out.local;
        if (strcmp(a->name, "K") == 0 && shard_is_part(in)) a->i = in.local;
    }
    copy->attrs = attrs;
    return FT_OK;
}

static ft_status copy_inputs(splitter *s, const ft_op *op, bool takes_part, ft_op *copy, ft_error *error) {
    uint32_t *inputs = ARENA_ARRAY(&s->out->memory, uint32_t, (size_t)op->input_count + 1);
    if (inputs == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < op->input_count; i++) {
        inputs[i] = FT_NONE;
        if (op->inputs[i] != FT_NONE) FT_TRY(input_of(s, op->inputs[i], takes_part, &inputs[i], error));
    }
    copy->inputs = inputs;
    return FT_OK;
}

/* Experts that other ranks have get their tokens from there. */
static bool exchanges_tokens(const splitter *s, split_kind kind) {
    return kind == SPLIT_EXPERTS && s->plan.ranks.expert > s->plan.ranks.tensor;
}

/* The result of an operator that computes a part of a sum. */
static ft_status add_sum(splitter *s, uint32_t k, uint32_t partial, ft_error *error) {
    const ft_op *op = &source_of(s)->ops[k];
    bool is_exchange = exchanges_tokens(s, s->plan.kinds[k]);
    uint32_t tensor = op->outputs[0], ranks = is_exchange ? s->plan.ranks.expert : s->plan.ranks.tensor;
    bool is_part = s->is_sequence[tensor];
    collective c = {.type = is_exchange ? "AllToAll"
                            : is_part   ? "ReduceScatter"
                                        : "AllReduce",
                    .suffix = is_exchange ? "all_to_all"
                              : is_part   ? "reduce_scatter"
                                          : "all_reduce",
                    .ranks = ranks,
                    .axis = is_part && !is_exchange ? 1 : -1,
                    .result = part_of_tensor(s, tensor)};
    return add_collective(s, &c, partial, &s->copies[tensor], error);
}

static ft_status copy_outputs(splitter *s, uint32_t k, ft_op *copy, bool *is_summed, ft_error *error) {
    const ft_op *op = &source_of(s)->ops[k];
    uint32_t *outputs = ARENA_ARRAY(&s->out->memory, uint32_t, (size_t)op->output_count + 1);
    if (outputs == NULL) return FT_NOMEM(error);
    *is_summed =
        split_is_partial(s->plan.kinds[k]) && (s->plan.ranks.tensor > 1 || exchanges_tokens(s, s->plan.kinds[k]));
    for (uint32_t i = 0; i < op->output_count; i++) {
        outputs[i] = FT_NONE;
        if (op->outputs[i] == FT_NONE) continue;
        if (i == 0 && *is_summed) { /* the sum is what others read */
            ft_tensor t = source_of(s)->tensors[op->outputs[0]];
            char name[256];
            snprintf(name, sizeof name, "%.200s.partial", t.name);
            t.name = name;
            t.is_output = false;
            FT_TRY(graph_add_tensor(s->out, &t, &outputs[0], error));
        } else {
            FT_TRY(copy_of(s, op->outputs[i], &outputs[i], error));
        }
    }
    copy->outputs = outputs;
    return FT_OK;
}

static ft_status copy_op(splitter *s, uint32_t k, ft_error *error) {
    const ft_op *op = &source_of(s)->ops[k];
    ft_op copy = *op;
    bool is_summed = false, has_sequence = s->plan.ranks.has_sequence && s->plan.ranks.tensor > 1;
    bool takes_part = has_sequence && runs_on_part(s, op);
    if (takes_part || (has_sequence && split_is_partial(s->plan.kinds[k]))) mark_parts(s, op);
    copy.loop = copy.branch = 0;
    FT_TRY(copy_inputs(s, op, takes_part, &copy, error));
    FT_TRY(copy_outputs(s, k, &copy, &is_summed, error));
    FT_TRY(local_attrs(s, op, &copy, error));
    FT_TRY(graph_add_op(s->out, &copy, error));
    s->out->ops[s->out->op_count - 1].repeats = op->repeats;
    return is_summed ? add_sum(s, k, copy.outputs[0], error) : FT_OK;
}

/* --- The graph --------------------------------------------------------------------------------------------------- */

/* Results that later stages read are sent; those of the model stay outputs. */
static ft_status add_outputs(splitter *s, uint32_t k, ft_error *error) {
    const ft_graph *graph = source_of(s);
    const ft_op *op = &graph->ops[k];
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *t = op_output(graph, op, i);
        bool is_sent = false;
        if (t == NULL) continue;
        for (uint32_t u = 0; u < t->use_count; u++)
            is_sent |= !graph->ops[t->uses[u]].is_folded && stage_of_op(s, t->uses[u]) > s->stage;
        uint32_t out = s->copies[op->outputs[i]];
        if (is_sent && dtype_info_of(t->dtype).is_float && !graph_is_constant(graph, t)) {
            collective c = {"SendRecv", "send", 2, -1, s->out->tensors[out]};
            FT_TRY(add_collective(s, &c, out, &out, error));
        }
        if (is_sent || t->is_output) FT_TRY(graph_add_output(s->out, out, error));
    }
    return FT_OK;
}

static ft_status build(splitter *s, ft_error *error) {
    const ft_graph *graph = source_of(s);
    FT_TRY(
        graph_reserve(s->out, (size_t)graph->tensor_count + graph->op_count / 2, graph->op_count * (size_t)2, error));
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (s->is_needed[i]) FT_TRY(copy_op(s, i, error));
    for (uint32_t i = 0; i < graph->op_count; i++)
        if (s->is_needed[i]) FT_TRY(add_outputs(s, i, error));
    for (uint32_t i = 0; i < graph->meta_count; i++)
        FT_TRY(graph_set_meta(s->out, graph->meta[i].key, graph->meta[i].value, error));
    FT_TRY(graph_finish(s->out, error));
    return graph_mark_bound(s->out, graph->batch, graph->exported_batch) ? FT_OK : FT_NOMEM(error);
}

static ft_status prepare(splitter *s, ft_error *error) {
    const ft_graph *graph = source_of(s);
    arena *memory = s->plan.memory;
    size_t tensors = (size_t)graph->tensor_count + 1;
    FT_TRY(split_plan_make(&s->plan));
    s->copies = ARENA_ARRAY(memory, uint32_t, tensors);
    s->gathered = ARENA_ARRAY(memory, uint32_t, tensors);
    s->is_sequence = ARENA_ARRAY(memory, bool, tensors);
    s->is_needed = ARENA_ARRAY(memory, bool, (size_t)graph->op_count + 1);
    if (s->copies == NULL || s->gathered == NULL || s->is_sequence == NULL || s->is_needed == NULL)
        return FT_NOMEM(error);
    for (size_t t = 0; t < tensors; t++) s->copies[t] = s->gathered[t] = FT_NONE;
    uint32_t stages = s->plan.ranks.pipeline;
    if (stages > 1 && stages > s->plan.layers.count)
        return ft_fail(error, FT_ERR_USAGE, "%u layers cannot be divided into %u pipeline stages", s->plan.layers.count,
                       stages);
    find_needed(s);
    return FT_OK;
}

static uint32_t at_least_one(uint32_t ranks) {
    return ranks > 0 ? ranks : 1;
}

static ft_status check_ranks(const ft_parallel *p, uint32_t stage, ft_error *error) {
    const uint32_t all[] = {p->tensor, p->pipeline, p->expert, p->context, p->data};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] > FT_MAX_RANKS)
            return ft_fail(error, FT_ERR_USAGE, "%u ranks; at most %d of a kind are supported", all[i], FT_MAX_RANKS);
    uint32_t tensor = at_least_one(p->tensor), expert = at_least_one(p->expert);
    if (tensor % expert != 0 && expert % tensor != 0)
        return ft_fail(error, FT_ERR_USAGE,
                       "%u tensor-parallel and %u expert-parallel ranks: one of them must divide the other", tensor,
                       expert);
    if (stage >= at_least_one(p->pipeline))
        return ft_fail(error, FT_ERR_USAGE, "stage %u of %u", stage, at_least_one(p->pipeline));
    return FT_OK;
}

ft_status ft_parallel_split(const ft_graph *bound, const ft_parallel *parallel, uint32_t stage, ft_graph **rank,
                            ft_error *error) {
    if (!bound->is_bound) return ft_fail(error, FT_ERR_USAGE, "only a bound graph can be divided");
    FT_TRY(check_ranks(parallel, stage, error));
    arena memory;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    splitter s = {.plan = {.graph = bound, .ranks = *parallel, .memory = &memory, .error = error}, .stage = stage};
    s.plan.ranks.tensor = at_least_one(parallel->tensor);
    s.plan.ranks.pipeline = at_least_one(parallel->pipeline);
    s.plan.ranks.expert = at_least_one(parallel->expert);
    s.plan.ranks.context = at_least_one(parallel->context);
    s.plan.ranks.data = at_least_one(parallel->data);
    ft_status status = prepare(&s, error);
    if (status == FT_OK) status = graph_new(bound->format, bound->layout, bound->name, &s.out, error);
    if (status == FT_OK) status = build(&s, error);
    arena_free(&memory);
    if (status == FT_OK)
        *rank = s.out;
    else
        ft_graph_free(s.out);
    return status;
}
