/* kernel_sum.c - fits the family "kernel-sum": the sum over kernels of positive terms, trained end to end on the times
 * of whole models. kernel_rows.h has the features of a kernel, kernel_net.h the network, kernel_train.h its training,
 * kernel_model.h the trained model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/ensemble.h"
#include "predictor/core/families.h"
#include "predictor/core/family_common.h"
#include "predictor/kernel/kernel_model.h"

/* Networks are trained one after the other: the specialist ones runtime by runtime, then the robust ones. */
typedef struct fitting {
    const fit_context *context;
    const kernel_data *data;
    kernel_model *m;
    kernel_config robust;
} fitting;

/* --- Networks ------------------------------------------------------------------------------------------------ */

/* The network that a unit of training is. */
typedef struct unit_index {
    uint32_t side, member;
} unit_index;

static unit_index index_of_unit(const fitting *f, uint32_t unit) {
    uint32_t members = f->m->config.members, specialist = f->data->side_count * members;
    if (unit < specialist) return (unit_index){unit / members, unit % members};
    unit -= specialist;
    return (unit_index){unit / f->robust.members, members + unit % f->robust.members};
}

static kernel_net *unit_net(const fitting *f, uint32_t unit) {
    unit_index at = index_of_unit(f, unit);
    return &f->m->sides[at.side].nets[at.member];
}

static params *values(void *user, uint32_t unit) {
    return &unit_net(user, unit)->values;
}

static ft_status begin(void *user, ensemble_member *member, ft_error *error) {
    const fitting *f = user;
    unit_index at = index_of_unit(f, member->index);
    const kernel_config *config = at.member < f->m->config.members ? &f->m->config : &f->robust;
    const kernel_training_options options = {.side = &f->data->sides[at.side],
                                             .scaling = &f->m->sides[at.side].scaling,
                                             .config = config,
                                             .seed = member->seed,
                                             .threads = f->context->threads};
    kernel_training *training;
    FT_TRY(kernel_training_new(&options, unit_net(f, member->index), &training, error));
    member->training = training;
    member->descent = kernel_training_descent(training);
    return FT_OK;
}

static ft_status step(void *user, const ensemble_member *member, double *loss, ft_error *error) {
    (void)user;
    return kernel_training_step(member->training, loss, error);
}

static ft_status validate(void *user, const ensemble_member *member, double *mape, ft_error *error) {
    (void)user;
    return kernel_training_check(member->training, mape, error);
}

static json_t *describe(void *user, uint32_t index) {
    const fitting *f = user;
    unit_index at = index_of_unit(f, index);
    return json_pack("{s:s, s:i}", "runtime", ft_rules_name(f->m->runtimes.rules[at.side]), "member", (int)at.member);
}

static void end(void *user, const ensemble_member *member) {
    (void)user;
    kernel_training_free(member->training);
}

static ft_status train_networks(fitting *f, ft_error *error) {
    const ensemble networks = {.context = f->context,
                               .count = f->data->side_count * (f->m->config.members + f->robust.members),
                               .user = f,
                               .values = values,
                               .begin = begin,
                               .step = step,
                               .validate = validate,
                               .describe = describe,
                               .end = end};
    return ensemble_train(&networks, error);
}

/* --- Fitting ------------------------------------------------------------------------------------------------- */

/* Fits the corrections to the residuals of the trained networks. */
static ft_status fit_corrections(const fitting *f, ft_error *error) {
    for (uint32_t i = 0; f->m->config.rounds > 0 && i < f->data->side_count; i++) {
        const kernel_side *side = &f->data->sides[i];
        kernel_side_model *s = &f->m->sides[i];
        double *times = malloc(((size_t)side->kernels.count * side->device_count + 1) * sizeof *times);
        if (times == NULL) return FT_NOMEM(error);
        ft_status status = kernel_model_times(s, kernel_table_rows(&side->kernels), side->kernels.count, times, error);
        if (status == FT_OK) status = kernel_correct_fit(side, times, &f->m->config, f->context, s->corrections, error);
        free(times);
        FT_TRY(status);
    }
    return FT_OK;
}

static ft_status fit_gathered(const fit_set *set, const fit_context *context, const kernel_config *config, runtimes *r,
                              const kernel_data *data, void **out, ft_error *error) {
    (void)set;
    kernel_model *m;
    FT_TRY(kernel_model_new(config, r, context->seed, &m, error));
    ft_status status = FT_OK;
    for (uint32_t i = 0; status == FT_OK && i < data->side_count; i++) {
        const kernel_row *rows = kernel_table_rows(&data->sides[i].kernels);
        kernel_scaling_fit(rows, data->sides[i].trained, &m->sides[i].scaling);
        if (config->robust > 0) status = kernel_seen_fit(rows, data->sides[i].trained, &m->sides[i].seen, error);
    }
    fitting f = {.context = context, .data = data, .m = m, .robust = kernel_config_robust(config)};
    if (status == FT_OK) status = train_networks(&f, error);
    if (status == FT_OK) status = fit_corrections(&f, error);
    if (status != FT_OK)
        kernel_model_free(m);
    else
        *out = m;
    return status;
}

/* Rows of whole models; the caller frees them. */
static ft_status keep_whole_models(const fit_set *set, fit_rows *rows, ft_error *error) {
    const ft_record *records = ft_dataset_records(set->data);
    fit_row *kept = malloc(((size_t)rows->count + 1) * sizeof *kept);
    uint32_t count = 0;
    if (kept == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < rows->count; i++)
        if (strcmp(records[rows->items[i].record].part, "support") != 0) kept[count++] = rows->items[i];
    *rows = (fit_rows){.items = kept, .count = count};
    return FT_OK;
}

static ft_status gather(const fit_set *set, const fit_context *context, const kernel_config *config, const runtimes *r,
                        kernel_data *data, ft_error *error) {
    if (config->has_operators) return kernel_data_gather(set, context, r, config->has_array, data, error);
    fit_set whole = *set;
    FT_TRY(keep_whole_models(set, &whole.train, error));
    ft_status status = fit_set_check(&whole, error);
    if (status == FT_OK) status = kernel_data_gather(&whole, context, r, config->has_array, data, error);
    free((fit_row *)whole.train.items);
    return status;
}

static ft_status fit(const fit_set *set, const fit_context *context, const ft_setting *settings, void **out,
                     ft_error *error) {
    kernel_config config;
    runtimes r = {0};
    kernel_data data;
    FT_TRY(kernel_config_read(context->config, settings, &config, error));
    FT_TRY(fit_set_check(set, error));
    if (set->device_count > KERNEL_MAX_DEVICES)
        return ft_fail(error, FT_ERR_LIMIT, "kernel-sum is limited to %d devices; train on fewer", KERNEL_MAX_DEVICES);
    FT_TRY(runtimes_open(set->data, set->devices, set->device_count, &r, error));
    ft_status status = gather(set, context, &config, &r, &data, error);
    if (status == FT_OK) {
        status = fit_gathered(set, context, &config, &r, &data, out, error);
        kernel_data_free(&data);
    }
    runtimes_free(&r);
    return status;
}

static ft_status fit_default(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    return fit(set, context, kernel_settings_default, out, error);
}

static ft_status fit_wide(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    return fit(set, context, kernel_settings_wide, out, error);
}

#define KERNEL_SUM                                                                                                     \
    .schema = KERNEL_ROWS_SCHEMA, .setting_count = KERNEL_SETTING_COUNT,                                               \
    .capabilities = FAMILY_OPERATORS | FAMILY_TYPES_AS_SIZES, .setting_keys = "", .save = kernel_model_save,           \
    .load = kernel_model_load, .predict = kernel_model_predict, .free = kernel_model_free,                             \
    .optional = {.explain = kernel_model_explain, .rules = kernel_model_rules, .tune = kernel_tune}

const family family_kernel_sum = {.name = "kernel-sum",
                                  .text =
                                      "the sum over fused kernels of their work times learned unit costs; the default",
                                  .settings = kernel_settings_default,
                                  .fit = fit_default,
                                  KERNEL_SUM};

const family family_kernel_sum_wide = {.name = "kernel-sum-wide",
                                       .text = "kernel-sum with settings for architectures unlike all measured ones",
                                       .settings = kernel_settings_wide,
                                       .fit = fit_wide,
                                       KERNEL_SUM};
