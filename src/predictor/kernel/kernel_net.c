/* kernel_net.c - scaling of features and the forward pass of the kernel-sum network. */
#include "predictor/kernel/kernel_net.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Inputs are clamped to this many standard deviations. */
static const float MAX_DEVIATIONS = 4;

/* --- Scaling -------------------------------------------------------------------------------------- */

void kernel_scaling_fit(const kernel_row *rows, uint32_t count, kernel_scaling *scaling) {
    *scaling = (kernel_scaling){0};
    for (uint32_t f = 0; f < KERNEL_FEATURES; f++) {
        double sum = 0, squares = 0;
        float min = INFINITY, max = -INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            float value = rows[i].features[f];
            sum += value;
            min = fminf(min, value);
            max = fmaxf(max, value);
        }
        double mean = count > 0 ? sum / count : 0;
        for (uint32_t i = 0; i < count; i++) squares += (rows[i].features[f] - mean) * (rows[i].features[f] - mean);
        double deviation = count > 0 ? sqrt(squares / count) : 0;
        bool varies = deviation > 1e-6, is_flag = f >= KERNEL_SIZES;
        scaling->mean[f] = is_flag ? 0 : (float)mean;
        scaling->inverse[f] = !varies ? 0 : is_flag ? 1 : (float)(1 / deviation);
        scaling->min[f] = min;
        scaling->max[f] = max;
    }
}

void kernel_scaling_apply(const kernel_scaling *scaling, const kernel_row *row, float *inputs) {
    for (uint32_t f = 0; f < KERNEL_FEATURES; f++) {
        float x = (row->features[f] - scaling->mean[f]) * scaling->inverse[f];
        inputs[f] = fminf(fmaxf(x, -MAX_DEVIATIONS), MAX_DEVIATIONS);
    }
}

bool kernel_scaling_covers(const kernel_scaling *scaling, const kernel_row *row) {
    for (uint32_t f = 0; f < KERNEL_FEATURES; f++) {
        float slack = f < KERNEL_SIZES ? 0.5F : 0;
        float value = row->features[f];
        if (!(value >= scaling->min[f] - slack && value <= scaling->max[f] + slack)) return false;
    }
    return true;
}

/* --- The network --------------------------------------------------------------------------------------------- */

ft_status kernel_net_init(kernel_net *net, uint32_t devices, uint32_t hidden, float bound, uint64_t seed,
                          ft_error *error) {
    uint32_t outputs = devices * KERNEL_TERMS;
    assert(devices > 0 && hidden > 0 && bound > 0);
    *net = (kernel_net){.devices = devices, .hidden = hidden, .bound = bound};
    params_init(&net->values);
    net->first = layer_linear_add(&net->values, "first", KERNEL_FEATURES, hidden, true);
    net->second = layer_linear_add(&net->values, "second", hidden, hidden, true);
    net->last = layer_linear_add(&net->values, "last", hidden, outputs, true);
    net->unit_costs = params_add(&net->values, 1, outputs, PARAM_ZEROS, "prices");
    net->summation = calloc((size_t)outputs * devices, sizeof *net->summation);
    ft_status status = net->summation != NULL ? params_finish(&net->values, seed, error) : FT_NOMEM(error);
    if (status != FT_OK) {
        kernel_net_free(net);
        return status;
    }
    for (uint32_t i = 0; i < outputs; i++) net->summation[(size_t)i * devices + i / KERNEL_TERMS] = 1;
    /* Training starts from the unit costs alone: all multipliers are 1. */
    memset(params_values(&net->values, net->last.weight), 0, (size_t)hidden * outputs * sizeof(float));
    memset(params_values(&net->values, net->last.bias), 0, outputs * sizeof(float));
    return FT_OK;
}

void kernel_net_free(kernel_net *net) {
    params_free(&net->values);
    free(net->summation);
    net->summation = NULL;
}

tensor *kernel_net_hidden(const kernel_net *net, tape *t, uint32_t rows, const float *inputs) {
    tensor *x = layer_linear_apply(t, &net->first, tape_input(t, rows, KERNEL_FEATURES, inputs), ACT_SILU);
    return layer_linear_apply(t, &net->second, x, ACT_SILU);
}

tensor *kernel_net_term_times(const kernel_net *net, tape *t, tensor *hidden, uint32_t rows, const float *amounts,
                              tensor **log_multipliers) {
    tensor *x = layer_linear_apply(t, &net->last, hidden, ACT_NONE);
    x = nn_scale(t, nn_activate(t, nn_scale(t, x, 1 / net->bound), ACT_TANH), net->bound);
    if (log_multipliers != NULL) *log_multipliers = x;
    x = nn_activate(t, nn_add_row(t, x, tape_param(t, net->unit_costs)), ACT_EXP);
    return nn_mul(t, x, tape_input(t, rows, net->devices * KERNEL_TERMS, amounts));
}

tensor *kernel_net_terms(const kernel_net *net, tape *t, uint32_t rows, const float *inputs, const float *amounts,
                         tensor **log_multipliers) {
    return kernel_net_term_times(net, t, kernel_net_hidden(net, t, rows, inputs), rows, amounts, log_multipliers);
}

tensor *kernel_net_times(const kernel_net *net, tape *t, uint32_t rows, const float *inputs, const float *amounts,
                         tensor **log_multipliers) {
    tensor *terms = kernel_net_terms(net, t, rows, inputs, amounts, log_multipliers);
    return nn_matmul(t, terms, tape_input(t, net->devices * KERNEL_TERMS, net->devices, net->summation));
}

void kernel_net_amounts(const kernel_row *row, uint32_t devices, float *amounts) {
    for (uint32_t d = 0; d < devices; d++) memcpy(amounts + (size_t)d * KERNEL_TERMS, row->terms, sizeof row->terms);
}
