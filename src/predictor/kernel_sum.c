/* kernel_sum.c - the default family: the sum over kernels of positive terms, trained end to end on what whole models
 * take. kernel_rows.h says what is seen of a kernel, kernel_net.h what a kernel takes, kernel_train.h how that is
 * learned, kernel_model.h what is kept. */
#include "predictor/kernel_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/baselines.h"
#include "predictor/kernel_model.h"

enum { CHECK_STEPS = 250 }; /* between two lines of the log and two checkpoints */

static const double GATHERED = 0.05; /* of the time, when the kernels are gathered */

/* Networks are trained one after the other: unit u is member u % members of runtime u / members. */
typedef struct fitting {
    const fit_context *context;
    const kernel_data *data;
    model *m;
    uint32_t unit, units;
    kernel_training *training; /* of the unit at hand */
} fitting;

static kernel_net *unit_net(const fitting *f, uint32_t unit) {
    return &f->m->sides[unit / f->m->config.members].nets[unit % f->m->config.members];
}

/* --- Checkpoints --------------------------------------------------------------------------------------------- */

/* A checkpoint is this, then the values of the finished networks, then the state of the training at hand. */
typedef struct checkpoint_head {
    uint32_t unit, steps;
    uint64_t floats;
} checkpoint_head;

static size_t finished_floats(const fitting *f, uint32_t units) {
    size_t count = 0;
    for (uint32_t u = 0; u < units; u++) count += unit_net(f, u)->values.total_count;
    return count;
}

static ft_status save_checkpoint(const fitting *f, ft_error *error) {
    if (f->context->save == NULL) return FT_OK;
    size_t finished = finished_floats(f, f->unit), floats = finished + kernel_training_state_size(f->training);
    checkpoint_head head = {.unit = f->unit, .steps = kernel_training_done(f->training), .floats = floats};
    char *bytes = malloc(sizeof head + floats * sizeof(float));
    if (bytes == NULL) return FT_NOMEM(error);
    memcpy(bytes, &head, sizeof head);
    float *at = (float *)(void *)(bytes + sizeof head);
    for (uint32_t u = 0; u < f->unit; u++) {
        const params *p = &unit_net(f, u)->values;
        memcpy(at, p->values, p->total_count * sizeof(float));
        at += p->total_count;
    }
    kernel_training_save(f->training, at);
    ft_status status = f->context->save(f->context->user, bytes, sizeof head + floats * sizeof(float), error);
    free(bytes);
    return status;
}

static ft_status foreign_checkpoint(ft_error *error) {
    return ft_fail(error, FT_ERR_DAMAGED, "the checkpoint is not of this training; start again without --resume");
}

/* Brings back what a checkpoint holds; *state is then that of the training at hand, or NULL when there is none. */
static ft_status open_checkpoint(fitting *f, const float **state, uint32_t *steps, size_t *floats, ft_error *error) {
    size_t size = 0;
    const char *bytes = f->context->load != NULL ? f->context->load(f->context->user, &size) : NULL;
    checkpoint_head head;
    *state = NULL;
    if (bytes == NULL) return FT_OK;
    if (size < sizeof head) return foreign_checkpoint(error);
    memcpy(&head, bytes, sizeof head);
    if (head.floats != (size - sizeof head) / sizeof(float) || head.unit >= f->units) return foreign_checkpoint(error);
    if (finished_floats(f, head.unit) > head.floats) return foreign_checkpoint(error);
    const float *at = (const float *)(const void *)(bytes + sizeof head);
    for (uint32_t u = 0; u < head.unit; u++) {
        const params *p = &unit_net(f, u)->values;
        memcpy(p->values, at, p->total_count * sizeof(float));
        at += p->total_count;
    }
    f->unit = head.unit;
    *state = at;
    *steps = head.steps;
    *floats = head.floats - finished_floats(f, head.unit);
    return FT_OK;
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

static ft_status write_log(const fitting *f, double loss, ft_error *error) {
    double mape;
    FT_TRY(kernel_training_check(f->training, &mape, error));
    if (f->context->log == NULL) return FT_OK;
    json_t *line = json_pack(
        "{s:s, s:i, s:i, s:f}", "runtime", ft_rules_name(f->m->runtimes.rules[f->unit / f->m->config.members]),
        "member", (int)(f->unit % f->m->config.members), "step", (int)kernel_training_done(f->training), "loss", loss);
    if (line == NULL) return FT_NOMEM(error);
    if (isfinite(mape)) json_object_set_new(line, "valid_mape", json_real(mape));
    f->context->log(f->context->user, line);
    return FT_OK;
}

static bool may_go_on(const fitting *f) {
    double units = f->unit + (double)kernel_training_done(f->training) / f->m->config.steps;
    double ratio = GATHERED + (1 - GATHERED) * units / f->units;
    return f->context->progress == NULL || f->context->progress(f->context->user, ratio, "training");
}

static ft_status train_unit(fitting *f, ft_error *error) {
    while (kernel_training_done(f->training) < f->m->config.steps) {
        double loss;
        if (!may_go_on(f)) {
            FT_TRY(save_checkpoint(f, error));
            return ft_fail(error, FT_ERR_CANCELLED, "stopped");
        }
        FT_TRY(kernel_training_step(f->training, &loss, error));
        uint32_t done = kernel_training_done(f->training);
        if (done % CHECK_STEPS != 0 && done != f->m->config.steps) continue;
        if (!isfinite(loss)) return ft_fail(error, FT_ERR_LIMIT, "training diverged: try a smaller rate");
        FT_TRY(write_log(f, loss, error));
        FT_TRY(save_checkpoint(f, error));
    }
    return FT_OK;
}

static ft_status train_units(fitting *f, ft_error *error) {
    const float *state;
    uint32_t steps = 0;
    size_t floats = 0;
    FT_TRY(open_checkpoint(f, &state, &steps, &floats, error));
    for (; f->unit < f->units; f->unit++, state = NULL) {
        uint32_t side = f->unit / f->m->config.members;
        uint64_t seed = f->context->seed * 1000003 + f->unit;
        FT_TRY(kernel_training_new(&f->data->sides[side], &f->m->sides[side].scaling, &f->m->config, seed,
                                   f->context->threads, unit_net(f, f->unit), &f->training, error));
        ft_status status = FT_OK;
        if (state != NULL && floats != kernel_training_state_size(f->training)) status = foreign_checkpoint(error);
        if (state != NULL && status == FT_OK) status = kernel_training_load(f->training, state, steps, error);
        if (status == FT_OK) status = train_unit(f, error);
        kernel_training_free(f->training);
        FT_TRY(status);
    }
    return FT_OK;
}

/* What the networks leave unexplained, once they are trained. */
static ft_status fit_corrections(const fitting *f, ft_error *error) {
    for (uint32_t i = 0; f->m->config.rounds > 0 && i < f->data->side_count; i++) {
        const kernel_side *side = &f->data->sides[i];
        kernel_side_model *s = &f->m->sides[i];
        double *times = malloc(((size_t)side->kernels.count * side->device_count + 1) * sizeof *times);
        if (times == NULL) return FT_NOMEM(error);
        ft_status status = kernel_model_times(s, side->kernels.rows, side->kernels.count, times, error);
        if (status == FT_OK) status = kernel_correct_fit(side, times, &f->m->config, f->context, s->corrections, error);
        free(times);
        FT_TRY(status);
    }
    return FT_OK;
}

static ft_status fit_gathered(const fit_set *set, const fit_context *context, const kernel_config *config, runtimes *r,
                              const kernel_data *data, model **out, ft_error *error) {
    (void)set;
    model *m;
    FT_TRY(kernel_model_new(config, r, context->seed, &m, error));
    for (uint32_t i = 0; i < data->side_count; i++)
        kernel_scaling_fit(data->sides[i].kernels.rows, data->sides[i].trained, &m->sides[i].scaling);
    fitting f = {.context = context, .data = data, .m = m, .units = data->side_count * config->members};
    ft_status status = train_units(&f, error);
    if (status == FT_OK) status = fit_corrections(&f, error);
    if (status != FT_OK)
        kernel_model_free(m);
    else
        *out = m;
    return status;
}

static ft_status fit(const fit_set *set, const fit_context *context, const kernel_config *defaults, model **out,
                     ft_error *error) {
    kernel_config config;
    runtimes r = {0};
    kernel_data data;
    FT_TRY(kernel_config_read(context->config, defaults, &config, error));
    FT_TRY(baseline_check(set, error));
    if (set->device_count > KERNEL_DEVICES_MAX)
        return ft_fail(error, FT_ERR_LIMIT, "kernel-sum knows at most %d devices at a time", KERNEL_DEVICES_MAX);
    FT_TRY(runtimes_open_data(set->data, set->devices, set->device_count, &r, error));
    ft_status status = kernel_data_gather(set, context, &r, &data, error);
    if (status == FT_OK) {
        status = fit_gathered(set, context, &config, &r, &data, out, error);
        kernel_data_free(&data);
    }
    runtimes_free(&r);
    return status;
}

static ft_status fit_near(const fit_set *set, const fit_context *context, model **out, ft_error *error) {
    return fit(set, context, &kernel_config_near, out, error);
}

static ft_status fit_wide(const fit_set *set, const fit_context *context, model **out, ft_error *error) {
    return fit(set, context, &kernel_config_wide, out, error);
}

#define KERNEL_SUM                                                                                                     \
    .schema = KERNEL_ROWS_SCHEMA, .learns_from_operators = true, .save = kernel_model_save, .load = kernel_model_load, \
    .predict = kernel_model_predict, .free = kernel_model_free

const family family_kernel_sum = {.name = "kernel-sum",
                                  .text = "the sum over fused kernels of learned prices for their work; the default",
                                  .fit = fit_near,
                                  KERNEL_SUM};

const family family_kernel_sum_wide = {.name = "kernel-sum-wide",
                                       .text = "the same, set for architectures unlike all that were measured",
                                       .fit = fit_wide,
                                       KERNEL_SUM};
