/* limit.c - the work that no algorithm avoids, and the time it takes at the rates of a device.
 *
 * Each simplification is on the side of less work: a limit that is too low does no harm, one that is too high would
 * contradict measurements. Kernels may be fused in any way, so activations count only where products read them: no
 * runtime fuses two products of weights into one kernel. */
#include "cost/limit.h"

#include <assert.h>
#include <math.h>

#include "cost/sizes.h"
#include "graph/geometry.h"

enum { MAX_STEPS = 16 }; /* of views and casts, and between scores and softmax */

/* --- Convolutions: the cheapest algorithm --------------------------------------------------------------------- */

/* Pairs of a position and a kernel element that read inside of the map, over all pairs: products with padding can be
 * left out. */
static double inner_share(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation) {
    int64_t padding = (out - 1) * stride + dilation * (kernel - 1) + 1 - in, before = padding > 0 ? padding / 2 : 0;
    double pairs = 0;
    for (int64_t k = 0; k < kernel; k++) {
        int64_t shift = k * dilation - before, last = in - 1 - shift;
        int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
        if (last < 0) continue;
        last = last / stride < out - 1 ? last / stride : out - 1;
        if (last >= first) pairs += (double)(last - first + 1);
    }
    double all = (double)out * (double)kernel;
    return pairs > 0 && pairs < all ? pairs / all : 1;
}

/* Multiplications that Winograd's algorithm saves along one dimension, with tiles of 8, the largest in use. */
static double winograd_saving(double kernel) {
    return kernel < 8 ? fmax(1, kernel * (9 - kernel) / 8) : 1;
}

/* The same of a Fourier transform: tiles of 32, or larger ones for a larger kernel. */
static double fourier_saving(double kernel) {
    return kernel <= 16 ? kernel * (33 - kernel) / 32 : kernel / 2;
}

/* FLOPs of the cheapest algorithm over those of the direct one. */
static double conv_share(const conv_geometry *g, bool is_transposed) {
    double inner = 1, winograd = 1, fourier = 0.5; /* complex products, half of which are conjugates of others */
    for (int32_t i = 0; i < g->spatial; i++) {
        int64_t in = is_transposed ? g->out[i] : g->in[i], out = is_transposed ? g->in[i] : g->out[i];
        if (in <= 0 || out <= 0) return 1;
        inner *= inner_share(in, out, g->kernel[i], g->stride[i], g->dilation[i]);
        if (g->stride[i] != 1) winograd = fourier = -INFINITY;
        winograd *= winograd_saving((double)g->kernel[i]);
        fourier *= fourier_saving((double)g->kernel[i]);
    }
    return fmin(inner, 1 / fmax(1, fmax(winograd, fourier)));
}

/* --- Attention: masks ----------------------------------------------------------------------------------------- */

static bool is_matrix_product(const ft_op *op) {
    return !op->is_folded && (op->def->cost == COST_MATMUL || op->def->cost == COST_EINSUM);
}

static bool adds_mask(const ft_op *op) {
    return op_is(op, "Add") || op_is(op, "Sub") || op_is(op, "Where") || op_is(op, "Min") || op_is(op, "Max");
}

/* The largest input of an operator that is computed. */
static uint32_t main_input(const ft_graph *g, const ft_op *op) {
    uint32_t found = FT_NONE;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(g, op, i);
        if (t == NULL || t->producer == FT_NONE || g->ops[t->producer].is_folded) continue;
        if (found == FT_NONE || tensor_elems(g, t) > tensor_elems(g, &g->tensors[found])) found = op->inputs[i];
    }
    return found;
}

/* A mask may be causal: a fused kernel leaves out the half of the scores that it hides. Marks both products of masked
 * attention. */
static void mark_masked(const ft_graph *g, const ft_op *softmax, bool *is_masked) {
    uint32_t scores = FT_NONE, values = FT_NONE;
    bool has_mask = false;
    uint32_t at = softmax->input_count > 0 ? softmax->inputs[0] : FT_NONE;
    for (int step = 0; step < MAX_STEPS && at != FT_NONE && scores == FT_NONE; step++) {
        uint32_t maker = g->tensors[at].producer;
        if (maker == FT_NONE) return;
        if (is_matrix_product(&g->ops[maker])) scores = maker;
        has_mask = has_mask || adds_mask(&g->ops[maker]);
        at = main_input(g, &g->ops[maker]);
    }
    at = softmax->output_count > 0 ? softmax->outputs[0] : FT_NONE;
    for (int step = 0; step < MAX_STEPS && at != FT_NONE && values == FT_NONE; step++) {
        if (g->tensors[at].use_count == 0) return;
        uint32_t reader = g->tensors[at].uses[0];
        if (is_matrix_product(&g->ops[reader])) values = reader;
        at = g->ops[reader].output_count > 0 ? g->ops[reader].outputs[0] : FT_NONE;
    }
    if (!has_mask || scores == FT_NONE || values == FT_NONE) return;
    is_masked[scores] = is_masked[values] = true;
}

/* --- Tensors --------------------------------------------------------------------------------------------------- */

typedef struct walk {
    const ft_graph *graph;
    const ft_cost *cost;
    const ft_cost_options *options;
    bool *is_masked; /* per operator */
    bool *is_seen;   /* per tensor: its bytes are counted */
    limit_work *work;
} walk;

/* Where a tensor comes from: before views, transposes, broadcasts and casts, which runtimes leave out or do while they
 * read. */
typedef struct origin {
    uint32_t tensor;
    double bytes;  /* the smallest on the way */
    unsigned bits; /* of its type, the narrowest on the way */
} origin;

static bool keeps_content(const ft_op *op) {
    static const char *const names[] = {"Transpose", "Expand", "Cast", "DequantizeLinear", "QuantizeLinear"};
    if ((op->def->flags & OP_VIEW) != 0) return true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (op_is(op, names[i])) return true;
    return false;
}

static origin find_origin(const walk *w, uint32_t tensor) {
    origin from = {.tensor = tensor, .bytes = INFINITY, .bits = 64};
    for (int step = 0; step < MAX_STEPS; step++) {
        const ft_tensor *t = &w->graph->tensors[from.tensor];
        unsigned bits = ft_dtype_bits(size_dtype(t, w->options));
        from.bytes = fmin(from.bytes, (double)size_of_tensor(w->graph, t, w->options));
        if (bits > 0 && bits < from.bits) from.bits = bits;
        const ft_op *maker = t->producer != FT_NONE ? &w->graph->ops[t->producer] : NULL;
        if (maker == NULL || !keeps_content(maker) || maker->input_count == 0 || maker->inputs[0] == FT_NONE) break;
        from.tensor = maker->inputs[0];
    }
    return from;
}

static bool is_computed(const ft_graph *g, const ft_tensor *t) {
    return t->producer != FT_NONE && !g->ops[t->producer].is_folded;
}

static void add_tensor(walk *w, uint32_t tensor, double bytes, uint32_t passes) {
    if (w->is_seen[tensor]) return;
    w->is_seen[tensor] = true;
    w->work->tensors[w->work->tensor_count++] = (limit_tensor){.bytes = bytes, .passes = passes};
}

/* What a product with weights reads: weights once, activations after they were written, both again in the backward
 * pass. The operands of attention stay inside of its kernel. */
static void add_operands(walk *w, const ft_op *op) {
    uint32_t activations[FT_MAX_RANK], count = 0;
    double bytes[FT_MAX_RANK];
    bool has_weights = false;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] == FT_NONE || input_is_auxiliary(op->def, i)) continue;
        const origin from = find_origin(w, op->inputs[i]);
        const ft_tensor *t = &w->graph->tensors[from.tensor];
        bool is_weight = t->role == FT_CONSTANT;
        if (is_weight && !w->is_seen[from.tensor]) w->work->weight_bytes += from.bytes;
        if (is_weight) w->is_seen[from.tensor] = true;
        has_weights = has_weights || is_weight;
        if ((t->role != FT_INPUT && !is_computed(w->graph, t)) || count == FT_MAX_RANK) continue;
        activations[count] = from.tensor;
        bytes[count++] = from.bytes;
    }
    uint32_t again = w->options->mode == FT_TRAIN ? 1 : 0;
    for (uint32_t i = 0; has_weights && i < count; i++)
        add_tensor(w, activations[i], bytes[i],
                   again + (is_computed(w->graph, &w->graph->tensors[activations[i]]) ? 2 : 1));
}

/* Operators that read and write whole tensors. */
static bool is_whole(const ft_op *op) {
    switch (op->def->op_class) {
    case FT_CLASS_CONV:
    case FT_CLASS_MATMUL:
    case FT_CLASS_NORM:
    case FT_CLASS_ACTIVATION:
    case FT_CLASS_ELEMENTWISE:
        return !op->is_folded;
    default:
        return false;
    }
}

static void add_ends(walk *w) {
    const ft_graph *g = w->graph;
    for (uint32_t i = 0; i < g->tensor_count; i++) {
        const ft_tensor *t = &g->tensors[i];
        bool is_read = t->role == FT_INPUT && t->use_count > 0 && is_whole(&g->ops[t->uses[0]]);
        bool is_written = t->is_output && is_computed(g, t) && is_whole(&g->ops[t->producer]);
        if (is_read || is_written) add_tensor(w, i, (double)size_of_tensor(g, t, w->options), 1);
    }
}

/* --- Work ------------------------------------------------------------------------------------------------------ */

static int type_of(const walk *w, const ft_op *op) {
    unsigned bits = 64;
    for (uint32_t i = 0; i < op->input_count; i++) {
        if (op->inputs[i] == FT_NONE || input_is_auxiliary(op->def, i)) continue;
        unsigned own = find_origin(w, op->inputs[i]).bits;
        if (own < bits) bits = own;
    }
    return bits >= 32 ? LIMIT_BITS_32 : bits >= 16 ? LIMIT_BITS_16 : bits >= 8 ? LIMIT_BITS_8 : LIMIT_BITS_4;
}

static void add_op(walk *w, uint32_t index) {
    const ft_op *op = &w->graph->ops[index];
    const ft_op_cost *cost = &w->cost->ops[index];
    const conv_geometry *conv = conv_geometry_cached(w->graph, op);
    double macs = (double)cost->forward.macs, share = 1;
    if (op->is_folded || macs == 0 || cost->is_estimated) return;
    if (w->options->mode == FT_TRAIN) macs += (double)cost->backward_data.macs + (double)cost->backward_weights.macs;
    if (conv != NULL) share = conv_share(conv, op->def->cost == COST_CONV_TRANSPOSE);
    if (w->is_masked[index] || op->def->cost == COST_ATTENTION) share = 0.5;
    w->work->flops[type_of(w, op)] += 2 * macs * share;
    if (conv != NULL || op->def->cost == COST_MATMUL) add_operands(w, op);
}

bool limit_work_make(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options, arena *memory,
                     limit_work *work) {
    walk w = {.graph = bound, .cost = cost, .options = options, .work = work};
    assert(ft_graph_is_bound(bound) && cost->op_count == bound->op_count);
    *work = (limit_work){.weight_passes = options->mode == FT_TRAIN ? 2 : 1};
    w.is_masked = ARENA_ARRAY(memory, bool, (size_t)bound->op_count + 1);
    w.is_seen = ARENA_ARRAY(memory, bool, (size_t)bound->tensor_count + 1);
    work->tensors = ARENA_ARRAY(memory, limit_tensor, (size_t)bound->tensor_count + 1);
    if (w.is_masked == NULL || w.is_seen == NULL || work->tensors == NULL) return false;
    for (uint32_t i = 0; i < bound->op_count; i++)
        if (op_is(&bound->ops[i], "Softmax") && !bound->ops[i].is_folded)
            mark_masked(bound, &bound->ops[i], w.is_masked);
    for (uint32_t i = 0; i < bound->op_count; i++) add_op(&w, i);
    add_ends(&w);
    return true;
}

/* --- Time ------------------------------------------------------------------------------------------------------ */

/* Bytes beyond what the cache can hold move. It holds weights from one step to the next, and an activation from its
 * writer to its readers: each at best as if there were nothing else. */
static double moved_bytes(const limit_work *work, double cache_bytes) {
    double bytes = work->weight_passes * fmax(0, work->weight_bytes - cache_bytes);
    for (uint32_t i = 0; i < work->tensor_count; i++)
        bytes += work->tensors[i].passes * fmax(0, work->tensors[i].bytes - cache_bytes);
    return bytes;
}

double limit_us(const limit_work *work, const limit_rates *rates) {
    double compute_s = 0, traffic_s = 0;
    for (int i = 0; i < LIMIT_TYPES; i++)
        if (work->flops[i] > 0 && rates->flops_per_s[i] > 0) compute_s += work->flops[i] / rates->flops_per_s[i];
    if (rates->bytes_per_s > 0 && rates->cache_bytes >= 0)
        traffic_s = moved_bytes(work, rates->cache_bytes) / rates->bytes_per_s;
    assert(compute_s >= 0 && traffic_s >= 0);
    return 1e6 * fmax(compute_s, traffic_s);
}
