/* torch_sum.c - fits the family "torch-sum": torch_kernel.h says what PyTorch launches, torch_rows.h what is seen of a
 * kernel, torch_column.h in what settings, torch_net.h what a kernel takes, torch_train.h how that is learned,
 * torch_model.h what is kept and how it is asked. */
#include "predictor/torch_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/baselines.h"
#include "predictor/torch_model.h"

enum { CHECK_STEPS = 250 }; /* between two lines of the log and two checkpoints */

static const double GATHERED = 0.05; /* of the time, when the kernels are gathered */

/* Networks are trained one after the other: unit u is member u % members of side u / members. */
typedef struct fitting {
    const fit_context *context;
    const torch_data *data;
    model *m;
    uint32_t unit, units;
    torch_training *training; /* of the unit at hand */
} fitting;

/* --- Checkpoints --------------------------------------------------------------------------------------------- */

/* A checkpoint is this, then the values of the finished networks, then the state of the training at hand. */
typedef struct checkpoint_head {
    uint32_t unit, steps;
    uint64_t floats;
} checkpoint_head;

static size_t net_floats(const fitting *f) {
    return f->m->nets[0].values.total_count;
}

static ft_status save_checkpoint(const fitting *f, ft_error *error) {
    if (f->context->save == NULL) return FT_OK;
    size_t each = net_floats(f), floats = f->unit * each + torch_training_state_size(f->training);
    checkpoint_head head = {.unit = f->unit, .steps = torch_training_done(f->training), .floats = floats};
    char *bytes = malloc(sizeof head + floats * sizeof(float));
    if (bytes == NULL) return FT_NOMEM(error);
    memcpy(bytes, &head, sizeof head);
    float *at = (float *)(void *)(bytes + sizeof head);
    for (uint32_t i = 0; i < f->unit; i++) memcpy(at + i * each, f->m->nets[i].values.values, each * sizeof(float));
    torch_training_save(f->training, at + f->unit * each);
    ft_status status = f->context->save(f->context->user, bytes, sizeof head + floats * sizeof(float), error);
    free(bytes);
    return status;
}

static ft_status foreign_checkpoint(ft_error *error) {
    return ft_fail(error, FT_ERR_DAMAGED, "the checkpoint is not of this training; start again without --resume");
}

/* Brings back what a checkpoint holds; *state is then that of the training at hand, or NULL when there is none. */
static ft_status open_checkpoint(fitting *f, const float **state, uint32_t *steps, size_t *floats, ft_error *error) {
    size_t size = 0, each = net_floats(f);
    const char *bytes = f->context->load != NULL ? f->context->load(f->context->user, &size) : NULL;
    checkpoint_head head;
    *state = NULL;
    if (bytes == NULL) return FT_OK;
    if (size < sizeof head) return foreign_checkpoint(error);
    memcpy(&head, bytes, sizeof head);
    if (head.floats != (size - sizeof head) / sizeof(float) || head.unit >= f->units || head.unit * each > head.floats)
        return foreign_checkpoint(error);
    const float *at = (const float *)(const void *)(bytes + sizeof head);
    for (uint32_t i = 0; i < head.unit; i++) memcpy(f->m->nets[i].values.values, at + i * each, each * sizeof(float));
    f->unit = head.unit;
    *state = at + head.unit * each;
    *steps = head.steps;
    *floats = head.floats - head.unit * each;
    return FT_OK;
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

/* Mean absolute error in percent on the validation labels; NaN when there are none. */
static ft_status check(const fitting *f, double *mape, ft_error *error) {
    const torch_labels *valid = &f->data->valid;
    float *logs = malloc(((size_t)valid->count + 1) * sizeof *logs);
    if (logs == NULL) return FT_NOMEM(error);
    ft_status status = torch_training_ask(f->training, valid->items, valid->count, logs, error);
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; status == FT_OK && i < valid->count; i++) {
        if (torch_label_side(f->data, &valid->items[i]) != f->unit / f->m->config.members) continue;
        sum += fabs(exp((double)logs[i] - valid->items[i].log_us) - 1);
        count++;
    }
    *mape = count > 0 ? 100 * sum / count : NAN;
    free(logs);
    return status;
}

static ft_status write_log(const fitting *f, double loss, ft_error *error) {
    double mape = NAN;
    FT_TRY(check(f, &mape, error));
    if (f->context->log == NULL) return FT_OK;
    json_t *line =
        json_pack("{s:i, s:i, s:i, s:f}", "side", (int)(f->unit / f->m->config.members), "member",
                  (int)(f->unit % f->m->config.members), "step", (int)torch_training_done(f->training), "loss", loss);
    if (line == NULL) return FT_NOMEM(error);
    if (isfinite(mape)) json_object_set_new(line, "valid_mape", json_real(mape));
    f->context->log(f->context->user, line);
    return FT_OK;
}

static bool may_go_on(const fitting *f) {
    double done = f->unit + (double)torch_training_done(f->training) / torch_training_steps(f->training);
    double ratio = GATHERED + (1 - GATHERED) * done / f->units;
    return f->context->progress == NULL || f->context->progress(f->context->user, ratio, "training");
}

static ft_status train_unit(fitting *f, ft_error *error) {
    uint32_t steps = torch_training_steps(f->training);
    while (torch_training_done(f->training) < steps) {
        double loss;
        if (!may_go_on(f)) {
            FT_TRY(save_checkpoint(f, error));
            return ft_fail(error, FT_ERR_CANCELLED, "stopped");
        }
        FT_TRY(torch_training_step(f->training, &loss, error));
        uint32_t done = torch_training_done(f->training);
        if (done % CHECK_STEPS != 0 && done != steps) continue;
        if (!isfinite(loss)) return ft_fail(error, FT_ERR_LIMIT, "training diverged: try a smaller rate");
        FT_TRY(write_log(f, loss, error));
        FT_TRY(save_checkpoint(f, error));
    }
    return FT_OK;
}

static bool has_labels(const torch_data *data, torch_side side) {
    uint32_t i = 0;
    while (i < data->train.count && torch_label_side(data, &data->train.items[i]) != side) i++;
    return i < data->train.count;
}

static ft_status train_units(fitting *f, ft_error *error) {
    const float *state;
    uint32_t steps = 0;
    size_t floats = 0;
    FT_TRY(open_checkpoint(f, &state, &steps, &floats, error));
    for (; f->unit < f->units; f->unit++, state = NULL) {
        torch_side side = (torch_side)(f->unit / f->m->config.members);
        uint64_t seed = f->context->seed * 1000003 + f->unit;
        if (!has_labels(f->data, side)) continue;
        FT_TRY(torch_training_new(f->data, &f->m->scaling[side], &f->m->config, side, NULL, seed, f->context->threads,
                                  &f->m->nets[f->unit], &f->training, error));
        ft_status status = FT_OK;
        if (state != NULL && floats != torch_training_state_size(f->training)) status = foreign_checkpoint(error);
        if (state != NULL && status == FT_OK) status = torch_training_load(f->training, state, steps, error);
        if (status == FT_OK) status = train_unit(f, error);
        torch_training_free(f->training);
        FT_TRY(status);
    }
    return FT_OK;
}

/* The kernels of each side have a scaling of their own. */
static ft_status fit_scaling(const torch_data *data, model *m, ft_error *error) {
    bool *is_used = malloc(((size_t)data->kernels.count + 1) * sizeof *is_used);
    if (is_used == NULL) return FT_NOMEM(error);
    for (uint32_t side = 0; side < TORCH_SIDES; side++) {
        memset(is_used, 0, data->kernels.count * sizeof *is_used);
        for (uint32_t i = 0; i < data->train.count; i++) {
            const torch_program *p = &data->programs[data->train.items[i].program];
            if (torch_label_side(data, &data->train.items[i]) != side) continue;
            for (uint32_t j = p->start; j < p->start + p->count; j++) is_used[data->launches[j].row] = true;
        }
        torch_scaling_fit(torch_data_rows(data), is_used, data->kernels.count, &m->scaling[side]);
    }
    free(is_used);
    return FT_OK;
}

static ft_status fit_gathered(const fit_set *set, const fit_context *context, const torch_config *config,
                              const torch_data *data, model **out, ft_error *error) {
    model *m;
    FT_TRY(torch_model_new(config, data, set->device_count, context->seed, &m, error));
    fitting f = {.context = context, .data = data, .m = m, .units = TORCH_SIDES * config->members};
    ft_status status = fit_scaling(data, m, error);
    if (status == FT_OK) status = train_units(&f, error);
    if (status != FT_OK) {
        torch_model_free(m);
        return status;
    }
    torch_model_finish(m);
    *out = m;
    return FT_OK;
}

static ft_status fit(const fit_set *set, const fit_context *context, model **out, ft_error *error) {
    torch_config config;
    torch_rules rules;
    torch_data data;
    FT_TRY(torch_config_read(context->config, &config, error));
    FT_TRY(baseline_check(set, error));
    FT_TRY(torch_rules_open(&rules, error));
    ft_status status = torch_data_gather(set, context, &rules, &data, error);
    if (status == FT_OK) {
        status = fit_gathered(set, context, &config, &data, out, error);
        torch_data_free(&data);
    }
    torch_rules_free(&rules);
    return status;
}

const family family_torch_sum = {
    .name = "torch-sum",
    .text = "the sum over the kernels of PyTorch of learned shares of the data sheet's rates, for any GPU",
    .schema = TORCH_ROWS_SCHEMA,
    .takes_any_device = true,
    .fit = fit,
    .save = torch_model_save,
    .load = torch_model_load,
    .predict = torch_model_predict,
    .free = torch_model_free};
