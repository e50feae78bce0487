/* bind.c - binding: values for symbols, shape inference, constant folding, trip counts, batch.
 *
 * A bound graph has its own operator and tensor tables and borrows everything else. Shapes that the file declares for
 * activations are a fallback: inferred shapes take precedence, and when an input gets another shape than in the file,
 * all declared shapes are dropped, since they belong to the old one. */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/arguments.h"
#include "graph/geometry.h"
#include "graph/shape.h"

/* --- Parsing "name=1x3x224x224" ------------------------------------------------------------------------------ */

ft_status ft_shape_binding_parse(const char *text, char *name, size_t size, ft_shape_binding *shape, ft_error *error) {
    FT_REQUIRE(error, text, name, shape);
    const char *equals = strrchr(text, '=');
    if (equals == NULL || equals == text || (size_t)(equals - text) >= size)
        return ft_fail(error, FT_ERR_USAGE, "'%s' is not NAME=DIMS, like input=1x3x224x224 or sequence=128", text);
    ft_shape_binding s = {.name = name};
    for (const char *at = equals + 1;; at++) {
        char *end;
        errno = 0;
        long long dim = strtoll(at, &end, 10);
        if (!isdigit((unsigned char)*at) || errno != 0 || dim > FT_MAX_DIM)
            return ft_fail(error, FT_ERR_USAGE, "'%s': a size is expected at '%s'", text, at);
        if (s.rank == FT_MAX_RANK)
            return ft_fail(error, FT_ERR_USAGE, "'%s' has more than %d dimensions", text, FT_MAX_RANK);
        s.dims[s.rank++] = dim;
        at = end;
        if (*at == '\0') break;
        if (*at != 'x' && *at != ',')
            return ft_fail(error, FT_ERR_USAGE, "'%s': sizes are separated by 'x', like 1x3x224x224", text);
    }
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    *shape = s;
    return FT_OK;
}

/* --- Messages ------------------------------------------------------------------------------------------------ */

/* Text that ends where the buffer does. */
typedef struct message {
    char *text;
    size_t size, length;
} message;

static void add(message *m, const char *format, ...) FT_PRINTF(2, 3);
static void add(message *m, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int wrote = vsnprintf(m->text + m->length, m->size - m->length, format, args);
    va_end(args);
    if (wrote < 0 || (size_t)wrote >= m->size - m->length)
        m->text[m->length] = '\0'; /* a piece that does not fit is left out */
    else
        m->length += (size_t)wrote;
}

/* --- Values for symbols and inputs --------------------------------------------------------------------------- */

typedef struct binder {
    const ft_graph *source;
    ft_graph *bound;
    int64_t *symbols;     /* value of each symbol, -1 = none yet */
    bool drops_declared;  /* an input has another shape than in the file */
    uint32_t batch_input; /* the input that has the batch, or FT_NONE */
    int32_t batch_axis;   /* and the dimension that is the batch */
    ft_error *error;
} binder;

static ft_status set_symbol(binder *b, int64_t dim, int64_t value, const char *by) {
    assert(dim < 0 && -1 - dim < (int64_t)b->source->symbol_count);
    int64_t *symbol = &b->symbols[-1 - dim];
    if (*symbol >= 0 && *symbol != value)
        return ft_fail(b->error, FT_ERR_USAGE, "'%s' sets symbol '%s' to %lld, but it already is %lld", by,
                       ft_dim_symbol(b->source, dim), (long long)value, (long long)*symbol);
    *symbol = value;
    return FT_OK;
}

/* Sets the shape of an input. */
static ft_status bind_input(binder *b, ft_tensor *t, const ft_shape_binding *shape) {
    if (t->rank >= 0 && t->rank != shape->rank)
        return ft_fail(b->error, FT_ERR_USAGE, "input '%s' has %d dimensions, but the given shape has %d", t->name,
                       t->rank, shape->rank);
    for (int32_t i = 0; i < shape->rank; i++) {
        int64_t declared = t->rank >= 0 ? t->dims[i] : FT_DIM_UNKNOWN;
        if (declared < 0 && declared != FT_DIM_UNKNOWN) FT_TRY(set_symbol(b, declared, shape->dims[i], t->name));
        if (declared >= 0 && declared != shape->dims[i]) b->drops_declared = true;
        t->dims[i] = shape->dims[i];
    }
    t->rank = shape->rank;
    return FT_OK;
}

/* Lists what the model has instead. */
static ft_status fail_unknown_name(const binder *b, const ft_shape_binding *shape) {
    char text[400] = "", dims[80];
    message m = {text, sizeof text, 0};
    for (uint32_t i = 0; i < b->source->inputs.count; i++) {
        const ft_tensor *t = &b->source->tensors[b->source->inputs.items[i]];
        add(&m, "%s%.60s (%s)", i > 0 ? ", " : "; inputs: ", t->name,
            t->rank < 0 ? "no shape" : shape_text(b->source, t, dims, sizeof dims));
    }
    for (uint32_t i = 0; i < b->source->symbol_count; i++)
        add(&m, "%s%s", i > 0 ? ", " : "; symbols: ", b->source->symbols[i]);
    return ft_fail(b->error, FT_ERR_USAGE, "the model has no input%s named '%.60s'%s",
                   shape->rank == 1 ? " or symbol" : "", shape->name, text);
}

static ft_status bind_shapes(binder *b, const ft_binding *binding) {
    for (uint32_t i = 0; i < binding->shape_count; i++) {
        const ft_shape_binding *shape = &binding->shapes[i];
        bool is_used = false;
        for (uint32_t k = 0; k < b->bound->inputs.count; k++) {
            ft_tensor *t = &b->bound->tensors[b->bound->inputs.items[k]];
            if (strcmp(t->name, shape->name) != 0) continue;
            FT_TRY(bind_input(b, t, shape));
            is_used = true;
        }
        for (uint32_t k = 0; k < b->source->symbol_count && !is_used && shape->rank == 1; k++) {
            if (strcmp(b->source->symbols[k], shape->name) != 0) continue;
            FT_TRY(set_symbol(b, -1 - (int64_t)k, shape->dims[0], shape->name));
            is_used = true;
        }
        if (!is_used) return fail_unknown_name(b, shape);
    }
    return FT_OK;
}

/* An image without a batch dimension, the input of many detectors: few channels, then height and width. */
static bool is_single_image(const ft_tensor *t) {
    return t->rank == 3 && t->dims[0] > 0 && t->dims[0] <= 4 && t->dims[1] >= 32 && t->dims[2] >= 32;
}

/* Finds a symbolic dimension whose name contains "batch". */
static bool find_named_batch(binder *b) {
    for (uint32_t i = 0; i < b->source->inputs.count; i++) {
        const ft_tensor *t = &b->source->tensors[b->source->inputs.items[i]];
        for (int32_t k = 0; k < t->rank; k++) {
            const char *symbol = ft_dim_symbol(b->source, t->dims[k]);
            if (symbol == NULL || strcasestr(symbol, "batch") == NULL) continue;
            b->batch_input = b->source->inputs.items[i];
            b->batch_axis = k;
            return true;
        }
    }
    return false;
}

/* The batch is the dimension with that name, or else the first of the first input with two or more dimensions. */
static void find_batch_input(binder *b) {
    b->batch_input = FT_NONE;
    if (find_named_batch(b)) return;
    for (uint32_t i = 0; i < b->bound->inputs.count; i++) {
        const ft_tensor *t = &b->bound->tensors[b->bound->inputs.items[i]];
        if (t->rank < 2) continue;
        if (!is_single_image(t)) b->batch_input = b->bound->inputs.items[i];
        return;
    }
}

static bool is_batched_input(const binder *b, uint32_t input) {
    if (b->batch_input == FT_NONE) return true;
    int64_t symbol = b->source->tensors[b->batch_input].dims[b->batch_axis];
    const ft_tensor *declared = &b->source->tensors[input], *t = &b->bound->tensors[input];
    for (int32_t i = 0; ft_dim_symbol(b->source, symbol) != NULL && i < declared->rank; i++) {
        if (declared->dims[i] == symbol) return true;
    }
    return t->rank > b->batch_axis && t->dims[b->batch_axis] == b->bound->exported_batch;
}

/* A symbolic batch gets the requested value; a fixed one stays, and the graph is scaled. */
static ft_status bind_batch(binder *b, int64_t batch) {
    ft_graph *g = b->bound;
    int64_t first = b->batch_input != FT_NONE ? g->tensors[b->batch_input].dims[b->batch_axis] : 1;
    if (first < 0 && first != FT_DIM_UNKNOWN && b->symbols[-1 - first] >= 0) first = b->symbols[-1 - first];
    if (first < 0) {
        int64_t exported = graph_exported_size(b->source, first);
        int64_t value = batch > 0 ? batch : exported > 0 ? exported : 1;
        if (first != FT_DIM_UNKNOWN) FT_TRY(set_symbol(b, first, value, "batch"));
        for (uint32_t i = 0; i < g->inputs.count; i++) {
            ft_tensor *t = &g->tensors[g->inputs.items[i]];
            if (t->rank >= 2 && t->dims[0] == FT_DIM_UNKNOWN) t->dims[0] = value;
        }
        first = value;
    }
    g->exported_batch = first > 0 ? first : 1;
    g->batch = batch > 0 ? batch : g->exported_batch;
    return FT_OK;
}

/* Replaces symbols by their values; a shape with an unknown dimension becomes unknown, except for inputs. */
static void substitute(const binder *b, ft_tensor *t) {
    bool is_known = true;
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] >= 0) continue;
        if (t->dims[i] != FT_DIM_UNKNOWN && b->symbols[-1 - t->dims[i]] >= 0)
            t->dims[i] = b->symbols[-1 - t->dims[i]];
        else
            is_known = false;
    }
    if (!is_known && t->role != FT_INPUT) t->rank = -1;
}

/* An input that is read or returned and is a tensor: sequences and optional values have no shape. */
static bool needs_shape(const ft_tensor *t) {
    return (t->use_count > 0 || t->is_output) && (t->rank >= 0 || t->dtype != FT_DTYPE_UNKNOWN);
}

static bool is_open(const ft_tensor *t) {
    bool has_open_dim = t->rank < 0;
    for (int32_t i = 0; i < t->rank; i++) has_open_dim |= t->dims[i] < 0;
    return needs_shape(t) && has_open_dim;
}

/* Whether values of symbols are not enough: a dimension has no name, or the rank is unknown. */
static bool needs_whole_shape(const binder *b, const ft_tensor *t) {
    for (int32_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 0 && ft_dim_symbol(b->source, t->dims[i]) == NULL) return true;
    return t->rank < 0;
}

/* "name=1x3xNxN": the shape to fill in. */
static void add_whole_shape(message *m, const ft_tensor *t) {
    char shape[256] = "";
    message s = {shape, sizeof shape, 0};
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] < 0)
            add(&s, "%sN", i > 0 ? "x" : "");
        else
            add(&s, "%s%lld", i > 0 ? "x" : "", (long long)t->dims[i]);
    }
    add(m, " --shape %s=%s", t->name, t->rank < 0 ? "..." : shape);
}

/* " --shape h=N --shape x=1x3xNxN": what closes all open dimensions, each symbol once. */
static void add_remedies(const binder *b, message *m) {
    bool is_listed[GRAPH_MAX_SYMBOLS] = {false};
    for (int is_symbol = 0; is_symbol < 2; is_symbol++) {
        for (uint32_t i = 0; i < b->bound->inputs.count; i++) {
            const ft_tensor *t = &b->bound->tensors[b->bound->inputs.items[i]];
            bool is_whole = needs_whole_shape(b, t);
            if (!is_open(t)) continue;
            if (!is_symbol && is_whole) add_whole_shape(m, t);
            for (int32_t k = 0; k < t->rank; k++) {
                const char *symbol = ft_dim_symbol(b->source, t->dims[k]);
                if (symbol == NULL || is_listed[-1 - t->dims[k]] || (!is_symbol && !is_whole)) continue;
                assert(-1 - t->dims[k] < GRAPH_MAX_SYMBOLS);
                is_listed[-1 - t->dims[k]] = true; /* a whole shape closes the symbols in it */
                if (is_symbol) add(m, " --shape %s=N", symbol);
            }
        }
    }
}

/* Names the inputs with open dimensions, and everything that has to be set, at once. */
static ft_status fail_unbound(const binder *b) {
    enum { MAX_INPUTS = 3 };
    char text[400] = "";
    message m = {text, sizeof text, 0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->bound->inputs.count; i++) {
        const ft_tensor *t = &b->bound->tensors[b->bound->inputs.items[i]];
        char shape[80];
        if (!is_open(t) || ++count > MAX_INPUTS) continue;
        add(&m, "%s'%.60s' (%s)", count > 1 ? ", " : "", t->name,
            t->rank < 0 ? "no shape" : shape_text(b->source, t, shape, sizeof shape));
    }
    if (count > MAX_INPUTS) add(&m, " and %u more", count - MAX_INPUTS);
    add(&m, count == 1 ? " has open dimensions: set them with" : " have open dimensions: set them with");
    add_remedies(b, &m);
    return ft_fail(b->error, FT_ERR_UNBOUND, "input%s %s", count == 1 ? "" : "s", text);
}

/* Gives open dimensions a size, or leaves the inputs that have them without a shape. */
static void close_dims(binder *b, int64_t size) {
    for (uint32_t i = 0; i < b->bound->inputs.count; i++) {
        ft_tensor *t = &b->bound->tensors[b->bound->inputs.items[i]];
        if (!is_open(t)) continue;
        if (size < 0) t->rank = -1;
        for (int32_t k = 0; k < t->rank; k++) {
            if (t->dims[k] >= 0) continue;
            if (t->dims[k] != FT_DIM_UNKNOWN) b->symbols[-1 - t->dims[k]] = size;
            t->dims[k] = size;
        }
    }
}

static ft_status check_inputs(const binder *b, bool may_be_open) {
    for (uint32_t i = 0; i < b->bound->inputs.count && !may_be_open; i++)
        if (is_open(&b->bound->tensors[b->bound->inputs.items[i]])) return fail_unbound(b);
    for (uint32_t i = 0; i < b->bound->inputs.count; i++) {
        const ft_tensor *t = &b->bound->tensors[b->bound->inputs.items[i]];
        bool has_zero = false;
        for (int32_t k = 0; k < t->rank; k++) has_zero |= t->dims[k] == 0;
        if (needs_shape(t) && t->rank >= 0 && !has_zero && shape_elems(t->dims, t->rank) == 0)
            return ft_fail(b->error, FT_ERR_LIMIT, "input '%s' has more than 2^46 elements", t->name);
    }
    return FT_OK;
}

/* Symbols that are not bound have the size of the file, where it has one. */
static void keep_exported_sizes(binder *b) {
    for (uint32_t i = 0; i < b->source->symbol_count; i++) {
        int64_t size = graph_exported_size(b->source, -1 - (int64_t)i);
        if (b->symbols[i] < 0 && size > 0) b->symbols[i] = size;
    }
}

static ft_status bind_inputs(binder *b, const ft_binding *binding) {
    static const ft_binding as_exported;
    if (binding == NULL) binding = &as_exported;
    FT_TRY(binding_check(binding, b->error));
    FT_TRY(bind_shapes(b, binding));
    find_batch_input(b);
    FT_TRY(bind_batch(b, binding->batch));
    keep_exported_sizes(b);
    for (uint32_t i = 0; i < b->bound->inputs.count; i++) substitute(b, &b->bound->tensors[b->bound->inputs.items[i]]);
    if (binding->open_size != 0) close_dims(b, binding->open_size);
    for (uint32_t i = 0; i < b->bound->tensor_count; i++) {
        ft_tensor *t = &b->bound->tensors[i];
        if (t->role == FT_ACTIVATION && b->drops_declared) t->rank = -1;
        substitute(b, t);
    }
    return check_inputs(b, binding->open_size != 0);
}

/* --- Inference over the operators ---------------------------------------------------------------------------- */

/* An operator whose inputs are all constant runs once, before the model; one whose outputs all have values (Shape) does
 * not run at all. */
static bool is_constant_folded(const ft_graph *g, const ft_op *op) {
    bool has_values = op->output_count > 0, has_constants = op->input_count > 0;
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *t = op_output(g, op, i);
        if (t != NULL && t->value == NULL) has_values = false;
    }
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(g, op, i);
        if (t != NULL && !graph_is_constant(g, t)) has_constants = false;
    }
    return has_values || (has_constants && ft_opdef_is_known(op->def) && (op->def->flags & OP_RANDOM) == 0);
}

/* True when the inputs of the fold rule are known. Shape, Size and Rank need only the shapes. */
static bool is_foldable(const infer *in) {
    fold_rule *rule = in->op->def->fold;
    if (rule == NULL || in->op->input_count == 0) return false;
    if (rule == fold_shape || rule == fold_size || rule == fold_rank) return true;
    for (uint32_t i = 0; i < in->op->input_count; i++) {
        const ft_tensor *t = input_at(in, i);
        if (t == NULL ? i == 0 : t->value == NULL || t->value->count != shape_elems(t->dims, t->rank)) return false;
    }
    return true;
}

/* Fold rules depend on the shapes of outputs, so these must be inferred: the file may declare any shape. */
static ft_status infer_op(infer *in) {
    bool is_folding = is_foldable(in);
    for (uint32_t i = 0; i < in->op->output_count && is_folding; i++) {
        if (in->op->outputs[i] != FT_NONE) in->graph->tensors[in->op->outputs[i]].rank = -1;
    }
    if (in->op->def->shape != NULL) FT_TRY(in->op->def->shape(in));
    return is_folding ? in->op->def->fold(in) : FT_OK;
}

/* A branch is taken when all enclosing branches are, and its condition has the right value, or is unknown and the
 * branch is the default. Enclosing branches have smaller indexes. */
static bool is_taken(const ft_graph *g, uint32_t branch) {
    for (; branch != 0 && branch < g->branch_count; branch = g->branches[branch].parent) {
        const graph_branch *b = &g->branches[branch];
        const ft_value *value = g->tensors[b->condition].value;
        bool is_known = value != NULL && value->count == 1 && value->ints != NULL;
        if (is_known ? (value->ints[0] != 0) != b->is_then : !b->is_default) return false;
        if (b->parent >= branch) return true;
    }
    return true;
}

/* Where the branches of an If merge: only the input from the selected one stays. */
static ft_status select_branch(ft_graph *g, ft_op *op, ft_error *error) {
    if (!op_is(op, "IfMerge") || op->input_count != 2) return FT_OK;
    bool is_first = is_taken(g, (uint32_t)op_attr_int(op, "branch", 0));
    op->inputs = arena_copy(&g->memory, &op->inputs[is_first ? 0 : 1], sizeof *op->inputs);
    op->input_count = 1;
    return op->inputs != NULL ? FT_OK : FT_NOMEM(error);
}

static void skip_op(ft_graph *g, ft_op *op) {
    op->is_folded = true;
    for (uint32_t i = 0; i < op->output_count; i++) {
        if (op->outputs[i] != FT_NONE) g->tensors[op->outputs[i]].rank = -1;
    }
}

static bool has_batch(const ft_graph *g, const ft_op *op) {
    if (op->is_folded) return false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(g, op, i);
        bool is_auxiliary = i < 32 && (op->def->aux_inputs >> i & 1) != 0;
        if (t != NULL && t->is_batched && !is_auxiliary) return true;
    }
    return false;
}

static ft_status infer_all(binder *b) {
    ft_graph *g = b->bound;
    for (uint32_t i = 0; i < g->inputs.count; i++)
        g->tensors[g->inputs.items[i]].is_batched = is_batched_input(b, g->inputs.items[i]);
    for (uint32_t i = 0; i < g->op_count; i++) {
        ft_op *op = &g->ops[i];
        infer in = {.graph = g, .op = op, .error = b->error};
        if (op->branch != 0 && !is_taken(g, op->branch)) {
            skip_op(g, op);
            continue;
        }
        FT_TRY(select_branch(g, op, b->error));
        FT_TRY(infer_op(&in));
        op->is_folded = is_constant_folded(g, op);
        bool is_batched = has_batch(g, op);
        for (uint32_t k = 0; k < op->output_count; k++) {
            if (op->outputs[k] != FT_NONE) g->tensors[op->outputs[k]].is_batched = is_batched;
        }
    }
    return FT_OK;
}

/* A size of 0 is one that models have (a cache that is still empty), unless it leaves nothing to compute. */
static ft_status check_empty(const binder *b, const ft_binding *binding) {
    const ft_shape_binding *empty = NULL;
    for (uint32_t i = 0; binding != NULL && i < binding->shape_count && empty == NULL; i++) {
        const ft_shape_binding *shape = &binding->shapes[i];
        for (int32_t k = 0; k < shape->rank; k++)
            if (shape->dims[k] == 0) empty = shape;
    }
    for (uint32_t i = 0; empty != NULL && i < b->bound->outputs.count; i++) {
        const ft_tensor *t = &b->bound->tensors[b->bound->outputs.items[i]];
        if (shape_is_known(t) && shape_elems(t->dims, t->rank) > 0) continue;
        return ft_fail(b->error, FT_ERR_USAGE,
                       "'%.60s' has a size of 0, which leaves the output '%.60s' empty: sizes must be at least 1",
                       empty->name, t->name);
    }
    return FT_OK;
}

/* Enclosing loops have smaller indexes, so one pass multiplies the trip counts of nested loops. */
static void count_loops(ft_graph *g) {
    for (uint32_t i = 1; i < g->loop_count; i++) {
        graph_loop *loop = &g->loops[i];
        uint64_t outer = loop->parent < i ? g->loops[loop->parent].trips : 1, own = loop_trips(g, i);
        loop->trips = own > UINT64_MAX / outer ? UINT64_MAX : own * outer;
    }
    for (uint32_t i = 0; i < g->op_count; i++) {
        if (g->ops[i].loop < g->loop_count) g->ops[i].repeats = g->loops[g->ops[i].loop].trips;
    }
}

/* --- Binding ------------------------------------------------------------------------------------------------- */

static ft_status copy_tables(const ft_graph *source, ft_graph **copy, ft_error *error) {
    ft_graph *g = calloc(1, sizeof *g);
    if (g == NULL) return FT_NOMEM(error);
    *g = *source;
    arena_init(&g->memory, FT_MAX_GRAPH_BYTES);
    g->ops = arena_copy(&g->memory, source->ops, source->op_count * sizeof *source->ops);
    g->tensors = arena_copy(&g->memory, source->tensors, source->tensor_count * sizeof *source->tensors);
    g->loops = arena_copy(&g->memory, source->loops, source->loop_count * sizeof *source->loops);
    g->elems = NULL; /* until all shapes are known */
    g->convs = NULL;
    if (g->ops == NULL || g->tensors == NULL || g->loops == NULL) {
        ft_graph_free(g);
        return FT_NOMEM(error);
    }
    *copy = g;
    return FT_OK;
}

static ft_status allocate_symbols(binder *b) {
    b->symbols = ARENA_ARRAY(&b->bound->memory, int64_t, b->source->symbol_count);
    if (b->symbols == NULL) return FT_NOMEM(b->error);
    for (uint32_t i = 0; i < b->source->symbol_count; i++) b->symbols[i] = -1;
    return FT_OK;
}

static ft_status try_bind(const ft_graph *graph, const ft_binding *binding, ft_graph **bound, ft_error *error) {
    ft_graph *g = NULL;
    FT_TRY(copy_tables(graph, &g, error));
    binder b = {.source = graph, .bound = g, .error = error};
    ft_status status = allocate_symbols(&b);
    if (status == FT_OK) status = bind_inputs(&b, binding);
    if (status == FT_OK) status = infer_all(&b);
    if (status == FT_OK) status = check_empty(&b, binding);
    if (status == FT_OK) status = graph_drop_unused(g, error);
    if (status != FT_OK) {
        ft_graph_free(g);
        return status;
    }
    count_loops(g);
    *bound = g;
    return FT_OK;
}

ft_status ft_graph_open_dims(const ft_graph *graph, const ft_binding *binding, ft_open_dim *dims, uint32_t max_count,
                             uint32_t *count, ft_error *error) {
    FT_REQUIRE(error, graph, count);
    if (max_count > 0) FT_REQUIRE(error, dims);
    ft_graph *g = NULL;
    ft_binding inputs_only = binding != NULL ? *binding : (ft_binding){0};
    uint32_t found = 0;
    FT_TRY(binding_check(&inputs_only, error));
    FT_TRY(copy_tables(graph, &g, error));
    binder b = {.source = graph, .bound = g, .error = error};
    inputs_only.open_size = 0;
    ft_status status = allocate_symbols(&b);
    if (status == FT_OK) status = bind_inputs(&b, &inputs_only);
    for (uint32_t i = 0; status == FT_ERR_UNBOUND && i < g->inputs.count; i++) {
        const ft_tensor *t = &g->tensors[g->inputs.items[i]];
        if (!is_open(t)) continue;
        for (int32_t k = t->rank < 0 ? -1 : 0; k < t->rank || k < 0; k++) {
            if ((k >= 0 && t->dims[k] >= 0) || found == max_count) continue;
            const char *symbol = k >= 0 ? ft_dim_symbol(graph, t->dims[k]) : NULL;
            dims[found++] = (ft_open_dim){.input = g->inputs.items[i], .axis = k, .symbol = symbol};
        }
    }
    ft_graph_free(g);
    *count = found;
    return status == FT_ERR_UNBOUND ? FT_OK : status;
}

bool graph_mark_bound(ft_graph *graph, int64_t batch, int64_t exported_batch) {
    assert(batch > 0 && exported_batch > 0);
    graph->is_bound = true;
    graph->batch = batch;
    graph->exported_batch = exported_batch;
    graph->elems = ARENA_ARRAY(&graph->memory, uint64_t, (size_t)graph->tensor_count + 1);
    if (graph->elems == NULL) return false;
    for (uint32_t i = 0; i < graph->tensor_count; i++) graph->elems[i] = ft_tensor_elems(graph, &graph->tensors[i]);
    return conv_geometries_cache(graph);
}

/* A file may declare its batch symbolic although a constant in it has the batch: then it is bound at 1 and scaled. */
static ft_status bind_or_scale(const ft_graph *graph, const ft_binding *binding, ft_graph **bound, ft_error *error) {
    ft_status status = try_bind(graph, binding, bound, error);
    if (status != FT_ERR_GRAPH || binding == NULL || binding->batch <= 1) return status;
    ft_binding one = *binding;
    one.batch = 1;
    if (try_bind(graph, &one, bound, NULL) != FT_OK) return status;
    (*bound)->batch = binding->batch;
    return FT_OK;
}

ft_status ft_graph_bind(const ft_graph *graph, const ft_binding *binding, ft_graph **bound, ft_error *error) {
    FT_REQUIRE(error, graph, bound);
    ft_graph *g;
    if (graph->is_bound) return ft_fail(error, FT_ERR_USAGE, "the graph is already bound");
    FT_TRY(bind_or_scale(graph, binding, &g, error));
    if (!graph_mark_bound(g, g->batch, g->exported_batch)) {
        ft_graph_free(g);
        return FT_NOMEM(error);
    }
    *bound = g;
    return FT_OK;
}
