/* torch_start.c - prices by least squares of the relative error, with a pull towards what is usual. */
#include "predictor/torch/torch_start.h"

#include <math.h>

#include "nn/nnls.h"
#include "predictor/torch/torch_shard.h"

/* How many times longer than the data sheet says a unit of each term usually takes. */
static const double TYPICAL[TORCH_TERMS] = {
    [TORCH_LAUNCHES] = 1, [TORCH_PRODUCTS] = 2, [TORCH_VECTOR_PRODUCTS] = 4, [TORCH_ATTENDED] = 3, [TORCH_SCORES] = 0.1,
    [TORCH_MOVED] = 1.15, [TORCH_CASTS] = 1,    [TORCH_WEIGHTS] = 1,         [TORCH_FLOPS] = 1,    [TORCH_SERIAL] = 1};

/* A label's terms as shares of it, at the rates of the data sheet. */
static void shares_of(const torch_data *data, const torch_label *label, double shares[static TORCH_TERMS]) {
    const torch_setting *setting = &data->settings[label->setting];
    const torch_program *program = &data->programs[label->program];
    const torch_sheet *sheet = &data->sheets[setting->device];
    double anchors[TORCH_TERMS], time = exp((double)label->log_us);
    torch_sheet_anchors(sheet, setting, anchors);
    for (uint32_t k = 0; k < TORCH_TERMS; k++) shares[k] = 0;
    for (uint32_t i = program->start; i < program->start + program->count; i++) {
        float amounts[TORCH_TERMS];
        const torch_row *row = &torch_data_rows(data)[data->launches[i].row];
        torch_amounts(row, torch_sheet_side(sheet), anchors, label->batch, data->launches[i].times, amounts);
        for (uint32_t k = 0; k < TORCH_TERMS; k++) shares[k] += amounts[k] / time;
    }
}

ft_status initial_unit_costs(const torch_data *data, uint32_t group, const bool *is_out,
                             float unit_costs[static TORCH_TERMS], ft_error *error) {
    static const double PULL = 0.003, FARTHEST = 30;
    double gram[TORCH_TERMS * TORCH_TERMS] = {0}, moment[TORCH_TERMS] = {0}, ridge[TORCH_TERMS];
    double lower[TORCH_TERMS], upper[TORCH_TERMS], x[TORCH_TERMS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < data->train.count; i++) {
        const torch_label *label = &data->train.items[i];
        if (data->groups[label->setting] != group || (is_out != NULL && is_out[data->programs[label->program].graph]))
            continue;
        double shares[TORCH_TERMS];
        shares_of(data, label, shares);
        for (uint32_t k = 0; k < TORCH_TERMS; k++) {
            for (uint32_t l = 0; l < TORCH_TERMS; l++) gram[k * TORCH_TERMS + l] += shares[k] * shares[l];
            moment[k] += shares[k];
        }
        count++;
    }
    for (uint32_t k = 0; k < TORCH_TERMS; k++) {
        ridge[k] = PULL * (count + 1) / (TYPICAL[k] * TYPICAL[k]);
        lower[k] = TYPICAL[k] / FARTHEST;
        upper[k] = TYPICAL[k] * FARTHEST;
    }
    nnls_problem problem = {.count = TORCH_TERMS, .gram = gram, .moment = moment, .ridge = ridge};
    problem.prior = TYPICAL;
    problem.lower = lower;
    problem.upper = upper;
    FT_TRY(nnls_solve(&problem, x, error));
    for (uint32_t k = 0; k < TORCH_TERMS; k++) unit_costs[k] = (float)log(x[k]);
    return FT_OK;
}
