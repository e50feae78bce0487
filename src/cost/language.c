/* language.c - the summary of a language model: parameters that a token needs, its cache, prefill and decode.
 *
 * The graph is bound twice: for the prefill of a prompt, and for one token at the end of a context. The lengths are
 * dimensions of its inputs: `sequence` of the token ids, `past` of the caches, and the sum of both, which exporters
 * give the attention mask. */
#include "foretell/language.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/cache.h"
#include "cost/cost.h"
#include "cost/language.h"
#include "cost/sizes.h"
#include "graph/geometry.h"

enum {
    USUAL_PROMPT = 2048, /* tokens, where neither the file nor the binding has a length */
    MAX_LAYERS = 8192,   /* that are counted */
    LENGTHS = 4,         /* sequence, past, the sum of both, and that of the encoder */
};

const char *ft_language_run_name(ft_language_run run) {
    switch (run) {
    case FT_RUN_BOTH:
        return "prefill and decode";
    case FT_RUN_PREFILL:
        return "prefill";
    case FT_RUN_DECODE:
        return "decode";
    }
    return "unknown";
}

/* --- Lengths ----------------------------------------------------------------------------------------------------- */

/* A length of a run: the dimension of the graph that has it, and its value in the binding of the caller. */
typedef struct length {
    int64_t dim;   /* symbol; 0: the graph has none */
    int64_t given; /* -1: not given */
} length;

typedef struct lengths {
    length sequence, past, total;
    length source;           /* of the encoder's input */
    int64_t fixed_source;    /* the same where it is no symbol; 0: unknown */
    bool has_encoder;        /* in the graph: it runs once, with the prompt */
    bool has_past;           /* some input holds the past */
    int64_t fixed_sequence;  /* tokens of a run where that is no symbol; 0: unknown */
    int64_t fixed_past;      /* size of caches that are buffers; 0: they grow */
    const ft_tensor *tokens; /* input; NULL: not found */
    const ft_tensor *mask;
} lengths;

static bool is_symbol(int64_t dim) {
    return dim < 0 && dim != FT_DIM_UNKNOWN;
}

static const ft_tensor *input_named(const ft_graph *model, const char *part) {
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        const ft_tensor *t = &model->tensors[model->inputs.items[i]];
        if (t->rank >= 2 && strstr(t->name, part) != NULL) return t;
    }
    return NULL;
}

static const ft_tensor *find_tokens(const ft_graph *model) {
    static const char *const names[] = {"decoder_input_ids", "input_ids", "inputs_embeds", "tokens"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const ft_tensor *found = input_named(model, names[i]);
        if (found != NULL) return found;
    }
    return NULL;
}

/* The size of a symbol in the binding of the caller, or in the file. */
static int64_t given_size(const ft_graph *model, const ft_binding *binding, int64_t dim) {
    const char *name = is_symbol(dim) ? ft_dim_symbol(model, dim) : NULL;
    if (name == NULL) return -1;
    for (uint32_t i = 0; binding != NULL && i < binding->shape_count; i++) {
        const ft_shape_binding *b = &binding->shapes[i];
        if (b->rank == 1 && strcmp(b->name, name) == 0) return b->dims[0];
        for (uint32_t k = 0; k < model->inputs.count; k++) { /* by the shape of an input that has it */
            const ft_tensor *t = &model->tensors[model->inputs.items[k]];
            for (int32_t axis = 0; axis < t->rank && t->rank == b->rank; axis++)
                if (t->dims[axis] == dim && strcmp(b->name, t->name) == 0) return b->dims[axis];
        }
    }
    int64_t exported = graph_exported_size(model, dim);
    return exported > 0 ? exported : -1;
}

static length length_of(const ft_graph *model, const ft_binding *binding, int64_t dim) {
    return (length){.dim = is_symbol(dim) ? dim : 0, .given = given_size(model, binding, dim)};
}

/* The encoder whose keys and values the graph computes. */
static void find_encoder(const ft_graph *model, const ft_binding *binding, const cache_list *caches, lengths *l) {
    for (uint32_t i = 0; i < caches->count && !l->has_encoder; i++) {
        const cache_tensor *c = &caches->items[i];
        if (!c->is_of_input || c->axis < 0 || model->tensors[c->tensor].role == FT_INPUT) continue;
        l->has_encoder = l->has_past;
        l->source = length_of(model, binding, c->length);
        l->fixed_source = c->length > 0 ? c->length : 0;
    }
}

static lengths find_lengths(const ft_graph *model, const ft_binding *binding, const cache_list *caches) {
    lengths l = {.tokens = find_tokens(model), .mask = input_named(model, "attention_mask")};
    for (uint32_t i = 0; i < caches->count; i++) {
        const cache_tensor *c = &caches->items[i];
        bool is_past = model->tensors[c->tensor].role == FT_INPUT;
        l.has_past |= is_past;
        if (!is_past || c->axis < 0 || c->is_of_input || l.past.dim != 0 || l.fixed_past != 0) continue;
        l.past = length_of(model, binding, c->length);
        if (c->length > 0) l.fixed_past = c->length;
    }
    if (l.tokens != NULL) l.sequence = length_of(model, binding, l.tokens->dims[1]);
    if (l.tokens != NULL && l.tokens->dims[1] > 0) l.fixed_sequence = l.tokens->dims[1];
    int64_t total = l.mask != NULL ? l.mask->dims[1] : 0;
    if (total != l.sequence.dim && total != l.past.dim) l.total = length_of(model, binding, total);
    find_encoder(model, binding, caches, &l);
    return l;
}

/* --- Binding ----------------------------------------------------------------------------------------------------- */

static bool has_dim(const ft_tensor *t, int64_t dim) {
    for (int32_t i = 0; dim != 0 && i < t->rank; i++)
        if (t->dims[i] == dim) return true;
    return false;
}

/* Whether an entry of a binding sets one of the lengths: by the name of a symbol, or by the shape of an input. */
static bool sets_length(const ft_graph *model, const lengths *l, const char *name) {
    const int64_t dims[LENGTHS] = {l->sequence.dim, l->past.dim, l->total.dim, l->source.dim};
    for (int k = 0; k < LENGTHS; k++) {
        if (dims[k] == 0) continue;
        if (strcmp(ft_dim_symbol(model, dims[k]), name) == 0) return true;
        for (uint32_t i = 0; i < model->inputs.count; i++) {
            const ft_tensor *t = &model->tensors[model->inputs.items[i]];
            if (strcmp(t->name, name) == 0 && has_dim(t, dims[k])) return true;
        }
    }
    return false;
}

static void add_length(const ft_graph *model, const length *l, int64_t value, ft_shape_binding *shapes,
                       uint32_t *count) {
    if (l->dim == 0) return;
    shapes[(*count)++] = (ft_shape_binding){.name = ft_dim_symbol(model, l->dim), .rank = 1, .dims = {value}};
}

/* What a run has: new tokens, cached ones, and those of the encoder. */
typedef struct run_lengths {
    int64_t sequence, past, source;
} run_lengths;

/* One sequence, with these lengths and whatever else the caller has bound. */
static ft_status bind_run(const ft_graph *model, const ft_binding *binding, const lengths *l, run_lengths run,
                          ft_graph **bound, ft_error *error) {
    uint32_t given = binding != NULL ? binding->shape_count : 0, count = 0;
    ft_shape_binding *shapes = calloc((size_t)given + LENGTHS, sizeof *shapes);
    *bound = NULL;
    if (shapes == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < given; i++)
        if (!sets_length(model, l, binding->shapes[i].name)) shapes[count++] = binding->shapes[i];
    add_length(model, &l->sequence, run.sequence, shapes, &count);
    add_length(model, &l->past, run.past, shapes, &count);
    add_length(model, &l->total, run.past + run.sequence, shapes, &count);
    add_length(model, &l->source, run.source, shapes, &count);
    ft_status status =
        ft_graph_bind(model, &(ft_binding){.batch = 1, .shapes = shapes, .shape_count = count}, bound, error);
    free(shapes);
    return status;
}

/* The same; NULL in *bound where the model cannot be bound so. */
static ft_status bind_lengths(const ft_graph *model, const ft_binding *binding, const lengths *l, run_lengths run,
                              ft_graph **bound, ft_error *error) {
    ft_error ignored;
    ft_status status = bind_run(model, binding, l, run, bound, &ignored);
    if (status != FT_OK) *bound = NULL;
    return status == FT_ERR_NOMEM ? FT_NOMEM(error) : FT_OK;
}

ft_status language_bind_run(const ft_graph *model, const ft_binding *binding, int64_t sequence, int64_t past,
                            ft_graph **bound, ft_error *error) {
    arena memory;
    cache_list caches;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    ft_status status = caches_find(model, &memory, &caches) ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) {
        lengths l = find_lengths(model, binding, &caches);
        const run_lengths run = {sequence, past, l.fixed_source > 0 ? l.fixed_source : sequence};
        status = bind_run(model, binding, &l, run, bound, error);
    }
    arena_free(&memory);
    return status;
}

/* --- Parameters -------------------------------------------------------------------------------------------------- */

/* Parameters of experts that a token is not sent to. */
static uint64_t idle_params(const ft_graph *bound, const param_marks *marks) {
    uint64_t idle = 0;
    for (uint32_t k = 0; k < bound->op_count; k++) {
        const ft_op *op = &bound->ops[k];
        const ft_tensor *first = op->def->cost == COST_MOE ? op_input(bound, op, 2) : NULL;
        int64_t chosen = op_attr_int(op, "k", 1);
        if (first == NULL || first->rank < 1 || chosen <= 0 || first->dims[0] <= chosen) continue;
        uint64_t experts = (uint64_t)first->dims[0];
        for (uint32_t i = 2; i < op->input_count; i++) {
            const ft_tensor *t = op_input(bound, op, i);
            if (t == NULL || t->rank < 1 || t->dims[0] != first->dims[0]) continue;
            if (!tensor_has(marks, op->inputs[i], MARK_PARAM)) continue;
            idle = num_add_sat(idle, num_mul_sat(packed_elems(bound, op, i) / experts, experts - (uint64_t)chosen));
        }
    }
    return idle;
}

typedef struct run_cost {
    double flops, bytes; /* NaN: it could not be bound */
    uint64_t params, active_params;
} run_cost;

/* Takes out what a step does not run again: operators that depend on neither new tokens nor their cache. Inputs of the
 * bound graph are in the order of those of the model. */
static ft_status subtract_encoder(const ft_graph *model, const ft_graph *bound, const lengths *l, const ft_cost *cost,
                                  run_cost *out, ft_error *error) {
    bool *depends = calloc((size_t)bound->tensor_count + 1, sizeof *depends);
    if (depends == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        const ft_tensor *t = &model->tensors[model->inputs.items[i]];
        if (t == l->tokens || has_dim(t, l->sequence.dim) || has_dim(t, l->past.dim))
            depends[bound->inputs.items[i]] = true;
    }
    for (uint32_t k = 0; k < bound->op_count; k++) {
        const ft_op *op = &bound->ops[k];
        const ft_work *work = &cost->ops[k].forward;
        bool runs = false;
        for (uint32_t i = 0; i < op->input_count && !runs; i++)
            runs = op->inputs[i] != FT_NONE && depends[op->inputs[i]];
        for (uint32_t i = 0; runs && i < op->output_count; i++)
            if (op->outputs[i] != FT_NONE) depends[op->outputs[i]] = true;
        if (runs) continue;
        out->flops -= (double)work->flops;
        out->bytes -= (double)work->read_bytes + (double)work->write_bytes;
    }
    free(depends);
    return FT_OK;
}

/* Costs of a bound run, whose graph is freed; with `l` without the encoder. */
static ft_status cost_run(const ft_graph *model, ft_graph *bound, const lengths *l, run_cost *out, ft_error *error) {
    *out = (run_cost){.flops = NAN, .bytes = NAN};
    if (bound == NULL) return FT_OK;
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost;
    ft_status status = ft_cost_compute(bound, &options, &cost, error);
    if (status == FT_OK) {
        const ft_work *work = &cost.total.forward;
        uint64_t idle = idle_params(bound, cost_params(&cost));
        *out = (run_cost){.flops = (double)work->flops,
                          .bytes = (double)work->read_bytes + (double)work->write_bytes,
                          .params = cost.total.params,
                          .active_params = cost.total.params - (idle < cost.total.params ? idle : 0)};
        if (l != NULL) status = subtract_encoder(model, bound, l, &cost, out, error);
        ft_cost_free(&cost);
    }
    ft_graph_free(bound);
    return status;
}

/* --- Caches ------------------------------------------------------------------------------------------------------ */

/* The first number in the name of a cache, "past_key_values.12.key"; the number of the cache where there is none. */
static uint32_t layer_of(const ft_graph *model, const cache_list *caches, uint32_t index) {
    const char *digits = strpbrk(model->tensors[caches->items[index].tensor].name, "0123456789");
    unsigned long layer = digits != NULL ? strtoul(digits, NULL, 10) : index;
    return layer < MAX_LAYERS ? (uint32_t)layer : MAX_LAYERS - 1;
}

enum { SEEN_ATTENTION = 1, SEEN_WINDOW = 2, SEEN_STATE = 4 };

static void add_cache(ft_language *out, const ft_graph *model, const cache_tensor *c, uint8_t *seen) {
    uint64_t bytes = cache_bytes(model, c, c->elems);
    if (c->axis < 0) {
        out->state_bytes = num_add_sat(out->state_bytes, bytes);
        out->state_layers += (*seen & SEEN_STATE) == 0;
        *seen |= SEEN_STATE;
    } else if (c->is_of_input) {
        out->input_kv_bytes_per_token = num_add_sat(out->input_kv_bytes_per_token, bytes);
    } else {
        uint64_t context = out->context_tokens, kept = c->window > 0 && c->window < context ? c->window : context;
        out->kv_needed_bytes = num_add_sat(out->kv_needed_bytes, num_mul_sat(bytes, kept));
        out->kv_reserved_bytes = num_add_sat(out->kv_reserved_bytes, num_mul_sat(bytes, context));
        if (c->is_index) {
            out->index_bytes_per_token = num_add_sat(out->index_bytes_per_token, bytes);
            return;
        }
        out->kv_bytes_per_token = num_add_sat(out->kv_bytes_per_token, bytes);
        out->attention_layers += (*seen & SEEN_ATTENTION) == 0;
        out->window_layers += c->window > 0 && (*seen & SEEN_WINDOW) == 0;
        *seen |= SEEN_ATTENTION | (c->window > 0 ? SEEN_WINDOW : 0);
        if (c->window > 0) out->kv_window_bytes_per_token = num_add_sat(out->kv_window_bytes_per_token, bytes);
        if (c->window > out->window_tokens) out->window_tokens = c->window;
    }
}

/* Whether the graph has the encoder, so that its input is the prompt. */
static bool computes_input_caches(const ft_graph *model, const cache_list *caches) {
    for (uint32_t i = 0; i < caches->count; i++)
        if (caches->items[i].is_of_input && model->tensors[caches->items[i].tensor].role != FT_INPUT) return true;
    return false;
}

static ft_status add_caches(ft_language *out, const ft_graph *model, const cache_list *caches, arena *memory,
                            ft_error *error) {
    uint64_t input_tokens = computes_input_caches(model, caches) ? out->prompt_tokens : 0;
    uint8_t *seen = ARENA_ARRAY(memory, uint8_t, MAX_LAYERS);
    if (seen == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < caches->count; i++)
        add_cache(out, model, &caches->items[i], &seen[layer_of(model, caches, i)]);
    uint64_t fixed = num_add_sat(out->state_bytes, num_mul_sat(out->input_kv_bytes_per_token, input_tokens));
    out->kv_needed_bytes = num_add_sat(out->kv_needed_bytes, fixed);
    out->kv_reserved_bytes = num_add_sat(out->kv_reserved_bytes, fixed);
    return FT_OK;
}

/* --- The whole --------------------------------------------------------------------------------------------------- */

/* Tokens of the prompt, and of the context that ends with a decoded token. */
static void choose_lengths(const ft_graph *model, const lengths *l, ft_language *out) {
    const char *positions = ft_graph_meta(model, "max_positions");
    int64_t longest = positions != NULL ? strtoll(positions, NULL, 10) : 0;
    int64_t usual = longest > 0 && longest < USUAL_PROMPT ? longest : USUAL_PROMPT;
    int64_t prompt = l->fixed_sequence > 0 ? l->fixed_sequence : l->sequence.given > 0 ? l->sequence.given : usual;
    int64_t context = l->past.given > 0 ? l->past.given + prompt : l->fixed_past > 0 ? l->fixed_past : prompt;
    if (context < usual && l->past.given <= 0 && l->fixed_past == 0 && prompt == 1) context = usual;
    if (prompt == 1 && l->sequence.dim != 0 && context > 1) prompt = context - 1; /* what was cached before the token */
    if (l->has_encoder) {                                                         /* the prompt is the encoder's */
        context = l->past.given > 0 ? l->past.given + 1 : usual;
        prompt = l->fixed_source > 0 ? l->fixed_source : l->source.given > 0 ? l->source.given : usual;
    }
    out->prompt_tokens = (uint64_t)prompt;
    out->context_tokens = (uint64_t)context;
    bool can_prefill = l->sequence.dim != 0 || l->fixed_sequence > 1;
    out->run = !l->has_past ? FT_RUN_PREFILL : can_prefill ? FT_RUN_BOTH : FT_RUN_DECODE;
}

static ft_status add_runs(const ft_graph *model, const ft_binding *binding, const lengths *l, ft_language *out,
                          ft_error *error) {
    int64_t prompt = (int64_t)out->prompt_tokens, context = (int64_t)out->context_tokens;
    run_lengths first = {l->has_encoder ? 1 : prompt, 0, prompt}, next = {1, context - 1, prompt};
    ft_graph *bound = NULL;
    run_cost prefill = {.flops = NAN, .bytes = NAN}, decode = prefill;
    if (out->run != FT_RUN_DECODE) FT_TRY(bind_lengths(model, binding, l, first, &bound, error));
    FT_TRY(cost_run(model, bound, NULL, &prefill, error));
    bound = NULL;
    if (out->run != FT_RUN_PREFILL && l->fixed_sequence <= 1)
        FT_TRY(bind_lengths(model, binding, l, next, &bound, error));
    FT_TRY(cost_run(model, bound, l->has_encoder ? l : NULL, &decode, error));
    out->prefill_flops_per_token = prefill.flops / (double)prompt;
    out->decode_flops_per_token = decode.flops;
    out->decode_bytes_per_token = decode.bytes;
    const run_cost *counted = isnan(decode.flops) ? &prefill : &decode;
    out->params = counted->params;
    out->active_params = counted->active_params;
    return FT_OK;
}

static ft_status summarise(const ft_graph *model, const ft_binding *binding, arena *memory, ft_language *out,
                           ft_error *error) {
    cache_list caches;
    if (!caches_find(model, memory, &caches)) return FT_NOMEM(error);
    out->has_cache = caches.count > 0;
    if (!out->has_cache) return FT_OK;
    lengths l = find_lengths(model, binding, &caches);
    choose_lengths(model, &l, out);
    FT_TRY(add_caches(out, model, &caches, memory, error));
    return add_runs(model, binding, &l, out, error);
}

ft_status ft_language_of(const ft_graph *graph, const ft_binding *binding, ft_language *language, ft_error *error) {
    FT_REQUIRE(error, graph, language);
    ft_language made = {.prefill_flops_per_token = NAN, .decode_flops_per_token = NAN, .decode_bytes_per_token = NAN};
    if (graph->is_bound) return ft_fail(error, FT_ERR_USAGE, "the graph is already bound");
    arena memory;
    arena_init(&memory, FT_MAX_GRAPH_BYTES);
    ft_status status = summarise(graph, binding, &memory, &made, error);
    arena_free(&memory);
    if (status == FT_OK) *language = made;
    return status;
}
