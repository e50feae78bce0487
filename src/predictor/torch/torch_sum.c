/* torch_sum.c - fits the family "torch-sum". torch_kernel.h has the kernels that PyTorch launches, torch_rows.h their
 * terms and features, torch_setting.h the settings, torch_net.h the network, torch_train.h its training, torch_model.h
 * the trained model. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/ensemble.h"
#include "predictor/core/families.h"
#include "predictor/core/family_common.h"
#include "predictor/torch/torch_width.h"

/* Networks are trained one after the other: unit u is member u % members of side u / members. */
typedef struct fitting {
    const fit_context *context;
    const torch_data *data;
    torch_model *m;
    uint8_t *left_by; /* per graph: the member trained without it; NULL: none */
    bool *is_out;     /* per graph, of the current unit; NULL: none */
    uint32_t graph_count;
} fitting;

/* --- Networks ------------------------------------------------------------------------------------------------ */

static params *values(void *user, uint32_t unit) {
    return &((fitting *)user)->m->nets[unit].values;
}

static bool has_labels(const torch_data *data, torch_side side) {
    uint32_t i = 0;
    while (i < data->train.count && torch_label_side(data, &data->train.items[i]) != side) i++;
    return i < data->train.count;
}

static ft_status begin(void *user, ensemble_member *member, ft_error *error) {
    fitting *f = user;
    uint32_t members = f->m->config.members;
    torch_side side = (torch_side)(member->index / members);
    torch_training *training;
    assert(side < TORCH_SIDES);
    if (!has_labels(f->data, side)) return FT_OK;
    for (uint32_t i = 0; f->left_by != NULL && i < f->graph_count; i++)
        f->is_out[i] = f->left_by[i] == member->index % members;
    const torch_training_options options = {.data = f->data,
                                            .scaling = &f->m->scaling[side],
                                            .config = &f->m->config,
                                            .side = side,
                                            .is_out = f->is_out,
                                            .seed = member->seed,
                                            .threads = f->context->threads};
    FT_TRY(torch_training_new(&options, &f->m->nets[member->index], &training, error));
    member->training = training;
    member->descent = torch_training_descent(training);
    return FT_OK;
}

static ft_status step(void *user, const ensemble_member *member, double *loss, ft_error *error) {
    (void)user;
    return torch_training_step(member->training, loss, error);
}

/* Mean absolute percentage error on the validation labels; NaN without any. */
static ft_status validate(void *user, const ensemble_member *member, double *mape, ft_error *error) {
    const fitting *f = user;
    const torch_labels *valid = &f->data->valid;
    float *logs = malloc(((size_t)valid->count + 1) * sizeof *logs);
    if (logs == NULL) return FT_NOMEM(error);
    ft_status status = torch_training_infer(member->training, valid->items, valid->count, logs, error);
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; status == FT_OK && i < valid->count; i++) {
        if (torch_label_side(f->data, &valid->items[i]) != member->index / f->m->config.members) continue;
        sum += fabs(exp((double)logs[i] - valid->items[i].log_us) - 1);
        count++;
    }
    *mape = count > 0 ? 100 * sum / count : NAN;
    free(logs);
    return status;
}

static json_t *describe(void *user, uint32_t index) {
    uint32_t members = ((const fitting *)user)->m->config.members;
    return json_pack("{s:i, s:i}", "side", (int)(index / members), "member", (int)(index % members));
}

static void end(void *user, const ensemble_member *member) {
    (void)user;
    torch_training_free(member->training);
}

static ft_status train_networks(fitting *f, ft_error *error) {
    const ensemble networks = {.context = f->context,
                               .count = TORCH_SIDES * f->m->config.members,
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

/* Divisibility of channels by powers of two matters for the caches of CPUs. On GPUs it adds nothing to the padding
 * features, so their networks ignore it. All its values count as covered by training. */
static void limit_evenness(torch_side side, torch_scaling *scaling) {
    static const float NONE = 0, PAGE = 12;
    for (uint32_t f = TORCH_SIZE_EVEN_IN; f <= TORCH_SIZE_EVEN_OUT; f++) {
        if (side == TORCH_GPU) scaling->inverse[f] = 0;
        scaling->min[f] = NONE;
        scaling->max[f] = PAGE;
    }
}

/* Each side is scaled by its own kernels. */
static ft_status fit_scaling(const torch_data *data, torch_model *m, ft_error *error) {
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
        limit_evenness((torch_side)side, &m->scaling[side]);
    }
    free(is_used);
    return FT_OK;
}

/* Whether every network has training labels on the sides that were measured. */
static bool leaves_enough(const fitting *f) {
    for (uint32_t unit = 0; unit < TORCH_SIDES * f->m->config.members; unit++) {
        uint32_t side = unit / f->m->config.members, member = unit % f->m->config.members, i = 0;
        const torch_labels *train = &f->data->train;
        while (i < train->count && (torch_label_side(f->data, &train->items[i]) != side ||
                                    f->left_by[f->data->programs[train->items[i].program].graph] == member))
            i++;
        if (i == train->count && has_labels(f->data, (torch_side)side)) return false;
    }
    return true;
}

/* With few architectures, none are left out. */
static ft_status leave_out(const fit_set *set, fitting *f, ft_error *error) {
    uint32_t members = f->m->config.members;
    FT_TRY(torch_leave_out(set, members, f->m->config.families, &f->left_by, error));
    if (f->left_by == NULL) return FT_OK;
    if (!leaves_enough(f)) {
        free(f->left_by);
        f->left_by = NULL;
        return FT_OK;
    }
    f->is_out = calloc((size_t)f->graph_count + 1, sizeof *f->is_out);
    return f->is_out != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status fit_gathered(const fit_set *set, const fit_context *context, const torch_config *config,
                              const torch_data *data, void **out, ft_error *error) {
    torch_model *m;
    FT_TRY(torch_model_new(config, data, set->device_count, context->seed, &m, error));
    fitting f = {.context = context, .data = data, .m = m, .graph_count = ft_dataset_graph_count(set->data)};
    ft_status status = fit_scaling(data, m, error);
    if (status == FT_OK) status = leave_out(set, &f, error);
    if (status == FT_OK) status = train_networks(&f, error);
    if (status == FT_OK) status = torch_widths_find(data, f.left_by, context->threads, m, error);
    free(f.left_by);
    free(f.is_out);
    if (status != FT_OK) {
        torch_model_free(m);
        return status;
    }
    torch_model_finish(m);
    *out = m;
    return FT_OK;
}

static ft_status fit(const fit_set *set, const fit_context *context, void **out, ft_error *error) {
    torch_config config;
    torch_rules rules;
    torch_data data;
    FT_TRY(torch_config_read(context->config, &config, error));
    FT_TRY(fit_set_check(set, error));
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
    .text =
        "the sum over the kernels of PyTorch of their work at learned shares of the data sheet's rates, for any GPU",
    .schema = TORCH_ROWS_SCHEMA,
    .settings = torch_config_settings,
    .setting_count = TORCH_CONFIG_SETTING_COUNT,
    .setting_keys = "amp compile graphs host launch_us layout runtime tf32 torch",
    .capabilities = FAMILY_ANY_DEVICE | FAMILY_OWN_INTERVALS,
    .fit = fit,
    .save = torch_model_save,
    .load = torch_model_load,
    .predict = torch_model_predict,
    .free = torch_model_free,
    .optional = {.explain = torch_model_explain}};
