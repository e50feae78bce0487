/* macs.c - multiply-accumulates: convolutions, matrix products, einsum, recurrent layers.
 *
 * Each rule computes a count for one run at the exported batch from the geometry of the operator; the caller scales it
 * to other batches and loops. A bias is not a MAC. All counts saturate. */
#include "cost/macs.h"

#include <string.h>

#include "base/num.h"
#include "cost/sizes.h"
#include "graph/geometry.h"

static uint64_t elems_of(const ft_tensor *t) {
    return t == NULL ? 0 : (uint64_t)shape_elems(t->dims, t->rank);
}

/* --- Convolutions -------------------------------------------------------------------------------------------- */

enum { SAMPLE_FLOPS = 8 }; /* four taps of a bilinear sample, a multiply and an add each */

static bool conv_macs(const ft_graph *graph, const ft_op *op, op_macs *macs) {
    const conv_geometry *g = conv_geometry_cached(graph, op);
    uint64_t outputs = elems_of(op_output(graph, op, 0));
    if (g == NULL || outputs == 0) return false;
    bool is_transposed = op->def->cost == COST_CONV_TRANSPOSE;
    /* A transposed convolution spreads every input position; a plain one gathers for every output position. */
    uint64_t positions = is_transposed ? elems_of(g->x) : outputs;
    uint64_t per_position =
        num_mul_sat((uint64_t)((is_transposed ? g->cout : g->cin) / g->groups), (uint64_t)g->kernel_elems);
    macs->with_weights = num_mul_sat(positions, per_position);
    if (g->bias != NULL) macs->extra_flops = outputs;
    if (op_is(op, "DeformConv")) {
        uint64_t samples =
            num_mul_sat(outputs / (uint64_t)g->cout, num_mul_sat((uint64_t)g->cin, (uint64_t)g->kernel_elems));
        macs->extra_flops = num_add_sat(macs->extra_flops, num_mul_sat(samples, SAMPLE_FLOPS));
    }
    return true;
}

/* --- Matrix products ----------------------------------------------------------------------------------------- */

static bool matmul_macs(const ft_graph *graph, const ft_op *op, op_macs *macs) {
    matmul_geometry g;
    if (!matmul_geometry_of(graph, op, &g)) return false;
    uint64_t outputs = num_mul_sat(g.batch, num_mul_sat(g.m, g.n));
    macs->with_weights = num_mul_sat(outputs, g.k);
    macs->extra_flops = num_mul_sat(outputs, (uint64_t)(g.bias != NULL) + op->def->flops);
    return true;
}

/* --- Einsum -------------------------------------------------------------------------------------------------- */

/* Letters, and the dimensions of an ellipsis counted from its end. */
enum { LABELS = 52 + FT_MAX_RANK };

typedef struct einsum {
    int64_t size[LABELS]; /* 0: not used */
    uint8_t uses[LABELS]; /* in the operands, at most 255 */
    bool is_kept[LABELS];
} einsum;

static int label_of(char c) {
    if (c >= 'a' && c <= 'z') return c - 'a';
    if (c >= 'A' && c <= 'Z') return 26 + c - 'A';
    return -1;
}

/* Reads the labels of one operand up to ',', '-' or the end, and moves *text there. */
static bool einsum_operand(einsum *e, const char **text, const ft_tensor *t) {
    const char *end = *text;
    int32_t letters = 0, at = 0;
    while (*end != '\0' && *end != ',' && *end != '-') letters += label_of(*end++) >= 0;
    int32_t ellipsis = t->rank - letters; /* dimensions of "..." */
    if (ellipsis < 0) return false;
    for (const char *c = *text; c < end; c++) {
        int first = label_of(*c), count = 1, label;
        if (*c == ' ') continue;
        if (*c == '.') {
            if (strncmp(c, "...", 3) != 0) return false;
            c += 2;
            first = 52;
            count = ellipsis;
        }
        for (int i = 0; i < count; i++, at++) {
            label = *c == '.' ? first + ellipsis - 1 - i : first;
            if (label < 0 || at >= t->rank) return false;
            if (t->dims[at] > e->size[label]) e->size[label] = t->dims[at];
            if (e->uses[label] < UINT8_MAX) e->uses[label]++;
        }
    }
    *text = end;
    return at == t->rank;
}

static void einsum_output(einsum *e, const char *text) {
    bool is_explicit = strncmp(text, "->", 2) == 0;
    for (int label = 0; label < LABELS; label++)
        e->is_kept[label] = label >= 52 || (!is_explicit && e->uses[label] == 1);
    if (!is_explicit) return;
    for (const char *c = text + 2; *c != '\0'; c++) {
        int label = label_of(*c);
        if (label >= 0) e->is_kept[label] = true;
    }
}

/* The size of the joint index space. Contracted in pairs, n operands take at most n - 1 passes over it. */
static bool einsum_macs(const ft_graph *graph, const ft_op *op, op_macs *macs) {
    einsum e = {0};
    const char *text = op_attr_string(op, "equation", "");
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(graph, op, i);
        if (t == NULL || !shape_is_known(t)) return false;
        if (i > 0 && *text++ != ',') return false;
        if (!einsum_operand(&e, &text, t)) return false;
    }
    einsum_output(&e, text);
    uint64_t space = 1;
    bool has_sum = false;
    for (int label = 0; label < LABELS; label++) {
        if (e.uses[label] == 0) continue;
        space = num_mul_sat(space, (uint64_t)e.size[label]);
        if (!e.is_kept[label]) has_sum = true;
    }
    uint64_t passes = op->input_count > 1 ? op->input_count - 1 : 1;
    if (has_sum && op->input_count > 1)
        macs->with_weights = num_mul_sat(space, passes);
    else
        macs->extra_flops = has_sum || op->input_count > 1 ? num_mul_sat(space, passes) : 0;
    return true;
}

/* --- Recurrent layers ---------------------------------------------------------------------------------------- */

enum { GATE_FLOPS = 8 }; /* two bias adds and a sigmoid, per gate and unit */

/* Every weight matrix is multiplied once with every step of every sequence, for any number of gates and directions. */
static bool recurrent_macs(const ft_graph *graph, const ft_op *op, op_macs *macs) {
    const ft_tensor *x = op_input(graph, op, op->def->x);
    if (x == NULL || !shape_is_known(x) || x->rank < 2 || x->dims[x->rank - 1] <= 0) return false;
    bool is_tflite = graph->format == FT_FORMAT_TFLITE;
    uint64_t weights = 0, rows = 0, steps = elems_of(x) / (uint64_t)x->dims[x->rank - 1];
    for (uint32_t i = 1; i < (is_tflite || op->input_count < 3 ? op->input_count : 3); i++) {
        const ft_tensor *w = op_input(graph, op, i);
        if (w == NULL || !shape_is_known(w) || w->rank < 2 || w->dims[w->rank - 1] <= 0) continue;
        if (is_tflite && w->role != FT_CONSTANT) continue; /* the state is an input there */
        weights = num_add_sat(weights, elems_of(w));
        rows = num_add_sat(rows, elems_of(w) / (uint64_t)w->dims[w->rank - 1]);
    }
    macs->with_weights = num_mul_sat(weights, steps);
    macs->extra_flops = num_mul_sat(num_mul_sat(rows / 2, steps), GATE_FLOPS);
    return weights > 0;
}

bool macs_of(const ft_graph *graph, const ft_op *op, op_macs *macs) {
    *macs = (op_macs){0};
    switch (op->def->cost) {
    case COST_CONV:
    case COST_CONV_TRANSPOSE:
        return conv_macs(graph, op, macs);
    case COST_MATMUL:
        return matmul_macs(graph, op, macs);
    case COST_EINSUM:
        return einsum_macs(graph, op, macs);
    case COST_RECURRENT:
        return recurrent_macs(graph, op, macs);
    case COST_ATTENTION:
        return macs_of_attention(graph, op, macs);
    case COST_LINEAR_ATTENTION:
        return macs_of_linear_attention(graph, op, macs);
    case COST_MOE:
        return macs_of_experts(graph, op, macs);
    default:
        return false;
    }
}
