/* torch_net.c - see torch_net.h. */
#include "predictor/torch_net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Inputs further out than this many deviations say no more than that they are far out. */
static const float FARTHEST = 4;

/* --- Features to inputs -------------------------------------------------------------------------------------- */

void torch_scaling_fit(const torch_row *rows, const bool *is_used, uint32_t count, torch_scaling *scaling) {
    uint32_t used = 0;
    *scaling = (torch_scaling){0};
    for (uint32_t i = 0; i < count; i++) used += is_used[i];
    for (uint32_t f = 0; f < TORCH_FEATURES; f++) {
        double sum = 0, squares = 0;
        float least = INFINITY, most = -INFINITY;
        for (uint32_t i = 0; i < count; i++) {
            if (!is_used[i]) continue;
            sum += rows[i].features[f];
            least = fminf(least, rows[i].features[f]);
            most = fmaxf(most, rows[i].features[f]);
        }
        double mean = used > 0 ? sum / used : 0;
        for (uint32_t i = 0; i < count; i++)
            if (is_used[i]) squares += (rows[i].features[f] - mean) * (rows[i].features[f] - mean);
        double deviation = used > 0 ? sqrt(squares / used) : 0;
        bool varies = deviation > 1e-6, is_flag = f >= TORCH_SIZES;
        scaling->mean[f] = is_flag ? 0 : (float)mean;
        scaling->inverse[f] = !varies ? 0 : is_flag ? 1 : (float)(1 / deviation);
        scaling->least[f] = used > 0 ? least : 0;
        scaling->most[f] = used > 0 ? most : 0;
    }
}

void torch_scaling_apply(const torch_scaling *scaling, const torch_row *row, float inputs[static TORCH_FEATURES]) {
    for (uint32_t f = 0; f < TORCH_FEATURES; f++) {
        float x = (row->features[f] - scaling->mean[f]) * scaling->inverse[f];
        inputs[f] = fminf(fmaxf(x, -FARTHEST), FARTHEST);
    }
}

bool torch_scaling_knows(const torch_scaling *scaling, const torch_row *row) {
    for (uint32_t f = 0; f < TORCH_FEATURES; f++) {
        float slack = f < TORCH_SIZES ? 0.5F : 0, value = row->features[f];
        if (!(value >= scaling->least[f] - slack && value <= scaling->most[f] + slack)) return false;
    }
    return true;
}

/* --- The network --------------------------------------------------------------------------------------------- */

/* The first way is the same for all columns to begin with, the others differ. */
static void start_mix(torch_net *net) {
    static const float SMALL = 0.5F;
    float *mix = params_values(&net->values, net->mix);
    for (uint32_t c = 0; c < net->columns; c++) {
        for (uint32_t i = 0; i < net->ways * TORCH_TERMS; i++, mix++) *mix = i < TORCH_TERMS ? 1 : *mix * SMALL;
    }
}

ft_status torch_net_init(torch_net *net, uint32_t columns, uint32_t hidden, uint32_t ways, float bound, uint64_t seed,
                         ft_error *error) {
    uint32_t outputs = ways * TORCH_TERMS;
    *net = (torch_net){.columns = columns, .hidden = hidden, .ways = ways, .bound = bound};
    params_init(&net->values);
    net->first = layer_linear_add(&net->values, "first", TORCH_FEATURES, hidden, true);
    net->second = layer_linear_add(&net->values, "second", hidden, hidden, true);
    net->last = layer_linear_add(&net->values, "last", hidden, outputs, true);
    net->prices = params_add(&net->values, columns, TORCH_TERMS, PARAM_ZEROS, "prices");
    net->mix = params_add(&net->values, columns, outputs, PARAM_NORMAL, "mix");
    net->summation = calloc((size_t)outputs * TORCH_TERMS, sizeof *net->summation);
    ft_status status = net->summation != NULL ? params_finish(&net->values, seed, error) : FT_NOMEM(error);
    if (status != FT_OK) {
        torch_net_free(net);
        return status;
    }
    for (uint32_t i = 0; i < outputs; i++) net->summation[(size_t)i * TORCH_TERMS + i % TORCH_TERMS] = 1;
    /* Training starts from the prices alone, without any bend. */
    memset(params_values(&net->values, net->last.weight), 0, (size_t)hidden * outputs * sizeof(float));
    memset(params_values(&net->values, net->last.bias), 0, outputs * sizeof(float));
    start_mix(net);
    return FT_OK;
}

void torch_net_free(torch_net *net) {
    params_free(&net->values);
    free(net->summation);
    net->summation = NULL;
}

tensor *torch_net_times(const torch_net *net, tape *t, const torch_pairs *pairs, tensor **bend, tensor **logs) {
    uint32_t outputs = net->ways * TORCH_TERMS;
    tensor *x = tape_input(t, pairs->kernel_count, TORCH_FEATURES, pairs->inputs);
    x = layer_linear_apply(t, &net->first, x, ACT_SILU);
    x = layer_linear_apply(t, &net->second, x, ACT_SILU);
    x = layer_linear_apply(t, &net->last, x, ACT_NONE);
    x = nn_gather(t, x, pairs->kernels, pairs->count);
    x = nn_mul(t, x, nn_gather(t, tape_param(t, net->mix), pairs->columns, pairs->count));
    x = nn_matmul(t, x, tape_input(t, outputs, TORCH_TERMS, net->summation));
    x = nn_scale(t, nn_activate(t, nn_scale(t, x, 1 / net->bound), ACT_TANH), net->bound);
    if (bend != NULL) *bend = x;
    x = nn_add(t, x, nn_gather(t, tape_param(t, net->prices), pairs->columns, pairs->count));
    if (logs != NULL) *logs = x;
    return nn_mul(t, nn_activate(t, x, ACT_EXP), tape_input(t, pairs->count, TORCH_TERMS, pairs->amounts));
}
