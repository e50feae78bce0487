/* torch_net.c - scaling of features and the differentiable forward pass of the torch-sum network. */
#include "predictor/torch/torch_net.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/math/loops.h"

/* Inputs are clamped to this many standard deviations. */
static const float MAX_DEVIATIONS = 4;

/* --- Scaling -------------------------------------------------------------------------------------- */

void torch_scaling_fit(const torch_row *rows, const bool *is_used, uint32_t count, torch_scaling *scaling) {
    uint32_t used = 0;
    *scaling = (torch_scaling){0};
    for (uint32_t i = 0; i < count; i++) used += is_used[i];
    for (uint32_t f = 0; f < TORCH_FEATURES; f++) {
        double sum = 0, squares = 0;
        float min = INFINITY, max = -INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            if (!is_used[i]) continue;
            sum += rows[i].features[f];
            min = fminf(min, rows[i].features[f]);
            max = fmaxf(max, rows[i].features[f]);
        }
        double mean = used > 0 ? sum / used : 0;
        for (uint32_t i = 0; i < count; i++)
            if (is_used[i]) squares += (rows[i].features[f] - mean) * (rows[i].features[f] - mean);
        double deviation = used > 0 ? sqrt(squares / used) : 0;
        bool varies = deviation > 1e-6, is_flag = f >= TORCH_SIZES;
        scaling->mean[f] = is_flag ? 0 : (float)mean;
        scaling->inverse[f] = !varies ? 0 : is_flag ? 1 : (float)(1 / deviation);
        scaling->min[f] = used > 0 ? min : 0;
        scaling->max[f] = used > 0 ? max : 0;
    }
}

/* Comparisons instead of fminf(), which the compiler would not inline. */
SIMD_CLONES void torch_scaling_apply(const torch_scaling *scaling, const torch_row *row,
                                     float inputs[static TORCH_FEATURES]) {
    for (uint32_t f = 0; f < TORCH_FEATURES; f++) {
        float x = (row->features[f] - scaling->mean[f]) * scaling->inverse[f];
        x = x > -MAX_DEVIATIONS ? x : -MAX_DEVIATIONS; /* also for NaN */
        inputs[f] = x < MAX_DEVIATIONS ? x : MAX_DEVIATIONS;
    }
}

/* Number of values within [min - slack, max + slack]. */
SIMD_CLONES static uint32_t count_within(const float *restrict values, const float *restrict min,
                                         const float *restrict max, float slack, uint32_t count) {
    uint32_t within = 0;
    for (uint32_t f = 0; f < count; f++) within += (values[f] >= min[f] - slack) & (values[f] <= max[f] + slack);
    return within;
}

bool torch_scaling_covers(const torch_scaling *scaling, const torch_row *row) {
    static const float SLACK = 0.5F;
    const float *flags = row->features + TORCH_SIZES;
    return count_within(row->features, scaling->min, scaling->max, SLACK, TORCH_SIZES) == TORCH_SIZES &&
           count_within(flags, scaling->min + TORCH_SIZES, scaling->max + TORCH_SIZES, 0, TORCH_FLAGS) == TORCH_FLAGS;
}

/* --- The network --------------------------------------------------------------------------------------------- */

/* At the start, the first basis function has weight 1 in all groups, the others differ; settings are as their group. */
static void start_mix(torch_net *net) {
    static const float SMALL = 0.5F;
    float *mix = params_values(&net->values, net->mix);
    uint32_t outputs = net->size.basis * TORCH_TERMS;
    memset(mix, 0, (size_t)net->size.settings * outputs * sizeof *mix);
    mix += (size_t)net->size.settings * outputs;
    for (uint32_t g = 0; g < net->size.groups; g++) {
        for (uint32_t i = 0; i < outputs; i++, mix++) *mix = i < TORCH_TERMS ? 1 : *mix * SMALL;
    }
}

/* Rows of a table for pairs: the sum of those of setting and group. */
static tensor *rows_of(tape *t, param_id table, const torch_pairs *pairs) {
    tensor *own = nn_gather(t, tape_param(t, table), pairs->settings, pairs->count);
    return nn_add(t, own, nn_gather(t, tape_param(t, table), pairs->groups, pairs->count));
}

tensor *torch_net_own(const torch_net *net, tape *t, const float *zeros, float scale) {
    loss_options options = {.kind = LOSS_MSE, .scale = scale};
    tensor *unit_costs = nn_slice_rows(t, tape_param(t, net->unit_costs), 0, net->size.settings);
    tensor *mix = nn_slice_rows(t, tape_param(t, net->mix), 0, net->size.settings);
    return nn_add(t, nn_loss(t, unit_costs, zeros, &options), nn_loss(t, mix, zeros, &options));
}

ft_status torch_net_init(torch_net *net, const torch_net_sizes *sizes, uint64_t seed, ft_error *error) {
    uint32_t hidden = sizes->hidden, outputs = sizes->basis * TORCH_TERMS, rows = sizes->settings + sizes->groups;
    assert(sizes->settings > 0 && hidden > 0 && sizes->basis > 0 && sizes->bound > 0);
    *net = (torch_net){.size = *sizes};
    params_init(&net->values);
    net->first = layer_linear_add(&net->values, "first", TORCH_FEATURES, hidden, true);
    net->second = layer_linear_add(&net->values, "second", hidden, hidden, true);
    net->last = layer_linear_add(&net->values, "last", hidden, outputs, true);
    net->unit_costs = params_add(&net->values, rows, TORCH_TERMS, PARAM_ZEROS, "prices");
    net->mix = params_add(&net->values, rows, outputs, PARAM_NORMAL, "mix");
    ft_status status = params_finish(&net->values, seed, error);
    if (status != FT_OK) {
        torch_net_free(net);
        return status;
    }
    /* Training starts from the unit costs alone: all multipliers are 1. */
    memset(params_values(&net->values, net->last.weight), 0, (size_t)hidden * outputs * sizeof(float));
    memset(params_values(&net->values, net->last.bias), 0, outputs * sizeof(float));
    start_mix(net);
    return FT_OK;
}

void torch_net_free(torch_net *net) {
    params_free(&net->values);
}

/* --- Mixing -------------------------------------------------------------------------------------------------- */

/* out[p, term] = sum over b of basis[kernel of p] * (mix[setting of p] + mix[group of p]). As one operation its
 * operands stay in the cache; gathered rows of all pairs would be a hundred times as large. */
typedef struct mix_node {
    tape_node node;
    const torch_pairs *pairs;
    uint32_t basis;
} mix_node;

/* Gradients of a pair: to the basis of its kernel; and to the mix of its setting and of its group. */
SIMD_CLONES static void add_basis_gradient(uint32_t width, const float *restrict out, const float *restrict own,
                                           const float *restrict shared, float *restrict to_x) {
    for (uint32_t w = 0; w < width; w += TORCH_TERMS)
        for (uint32_t k = 0; k < TORCH_TERMS; k++) to_x[w + k] += out[k] * (own[w + k] + shared[w + k]);
}

SIMD_CLONES static void add_mix_gradient(uint32_t width, const float *restrict out, const float *restrict x,
                                         float *restrict to_own, float *restrict to_shared) {
    for (uint32_t w = 0; w < width; w += TORCH_TERMS) {
        for (uint32_t k = 0; k < TORCH_TERMS; k++) {
            float by_mix = out[k] * x[w + k];
            to_own[w + k] += by_mix;
            to_shared[w + k] += by_mix;
        }
    }
}

SIMD_CLONES static void mix_pair(uint32_t width, const float *restrict x, const float *restrict own,
                                 const float *restrict shared, float *restrict out) {
    float sum[TORCH_TERMS] = {0};
    for (uint32_t w = 0; w < width; w += TORCH_TERMS)
        for (uint32_t k = 0; k < TORCH_TERMS; k++) sum[k] += x[w + k] * (own[w + k] + shared[w + k]);
    memcpy(out, sum, sizeof sum);
}

static void mix_backward(tape *t, tape_node *n) {
    const mix_node *m = (const mix_node *)n;
    const torch_pairs *pairs = m->pairs;
    uint32_t width = m->basis * TORCH_TERMS;
    float *kernels = tape_grad(t, n->in[0]), *table = tape_grad(t, n->in[1]);
    if (kernels == NULL || table == NULL) return;
    for (uint32_t p = 0; p < pairs->count; p++) {
        const float *out = n->out->grad + (size_t)p * TORCH_TERMS;
        const float *x = n->in[0]->data + (size_t)pairs->kernels[p] * width;
        const float *own = n->in[1]->data + (size_t)pairs->settings[p] * width;
        const float *shared = n->in[1]->data + (size_t)pairs->groups[p] * width;
        add_basis_gradient(width, out, own, shared, kernels + (size_t)pairs->kernels[p] * width);
        add_mix_gradient(width, out, x, table + (size_t)pairs->settings[p] * width,
                         table + (size_t)pairs->groups[p] * width);
    }
}

static tensor *mix_basis(const torch_net *net, tape *t, tensor *x, tensor *table, const torch_pairs *pairs) {
    if (x == NULL || table == NULL) return NULL;
    assert(x->rows == pairs->kernel_count);
    uint32_t width = net->size.basis * TORCH_TERMS;
    tensor *out = tape_tensor(t, pairs->count, TORCH_TERMS, x->needs_grad || table->needs_grad);
    if (out == NULL) return NULL;
    for (uint32_t p = 0; p < pairs->count; p++) {
        const float *from = x->data + (size_t)pairs->kernels[p] * width;
        const float *own = table->data + (size_t)pairs->settings[p] * width;
        const float *shared = table->data + (size_t)pairs->groups[p] * width;
        mix_pair(width, from, own, shared, out->data + (size_t)p * TORCH_TERMS);
    }
    mix_node *node = tape_record(t, out, mix_backward, sizeof *node);
    if (node == NULL) return t->has_failed ? NULL : out;
    node->node.in[0] = x;
    node->node.in[1] = table;
    node->pairs = pairs;
    node->basis = net->size.basis;
    return out;
}

tensor *torch_net_times(const torch_net *net, tape *t, const torch_pairs *pairs, tensor **log_multipliers,
                        tensor **logs) {
    tensor *x = tape_input(t, pairs->kernel_count, TORCH_FEATURES, pairs->inputs);
    x = layer_linear_apply(t, &net->first, x, ACT_SILU);
    x = layer_linear_apply(t, &net->second, x, ACT_SILU);
    x = layer_linear_apply(t, &net->last, x, ACT_NONE);
    x = mix_basis(net, t, x, tape_param(t, net->mix), pairs);
    x = nn_scale(t, nn_activate(t, nn_scale(t, x, 1 / net->size.bound), ACT_TANH), net->size.bound);
    if (log_multipliers != NULL) *log_multipliers = x;
    x = nn_add(t, x, rows_of(t, net->unit_costs, pairs));
    if (logs != NULL) *logs = x;
    return nn_mul(t, nn_activate(t, x, ACT_EXP), tape_input(t, pairs->count, TORCH_TERMS, pairs->amounts));
}
