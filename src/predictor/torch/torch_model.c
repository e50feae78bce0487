/* torch_model.c - creates, saves and loads a torch-sum predictor; torch_predict.c runs it. */
#include "predictor/torch/torch_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "predictor/core/family_common.h"

enum { SCALING_FLOATS = sizeof(torch_scaling) / sizeof(float), MATRICES = 8 };

static const double MAX_WIDTH = 50; /* of a logarithm; more than any error */

/* --- Creating -------------------------------------------------------------------------------------------------- */

static ft_status model_begin(const torch_config *config, uint32_t devices, uint32_t settings, torch_model **out,
                             ft_error *error) {
    torch_model *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    m->config = *config;
    m->device_count = devices;
    m->setting_count = settings;
    m->settings = calloc((size_t)settings + 1, sizeof *m->settings);
    m->groups = calloc((size_t)settings + 1, sizeof *m->groups);
    m->sheets = calloc((size_t)devices + 1, sizeof *m->sheets);
    ft_status status = m->settings != NULL && m->groups != NULL && m->sheets != NULL ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) status = torch_rules_open(&m->rules, error);
    if (status != FT_OK)
        torch_model_free(m);
    else
        *out = m;
    return status;
}

static void point_at_net(const torch_net *net, torch_weights *w) {
    const params *p = &net->values;
    *w = (torch_weights){.first = params_values(p, net->first.weight),
                         .first_bias = params_values(p, net->first.bias),
                         .second = params_values(p, net->second.weight),
                         .second_bias = params_values(p, net->second.bias),
                         .last = params_values(p, net->last.weight),
                         .last_bias = params_values(p, net->last.bias),
                         .unit_costs = params_values(p, net->unit_costs),
                         .mix = params_values(p, net->mix)};
}

static ft_status add_nets(torch_model *m, uint64_t seed, ft_error *error) {
    uint32_t members = m->config.members;
    const torch_net_sizes sizes = {.settings = m->setting_count,
                                   .groups = m->group_count,
                                   .hidden = m->config.hidden,
                                   .basis = m->config.basis,
                                   .bound = (float)m->config.bound};
    m->nets = calloc((size_t)TORCH_SIDES * members, sizeof *m->nets);
    if (m->nets == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < TORCH_SIDES * members; i++) {
        FT_TRY(torch_net_init(&m->nets[i], &sizes, seed * 1000003 + i, error));
        point_at_net(&m->nets[i], &m->members[i / members][i % members]);
    }
    return FT_OK;
}

ft_status torch_model_new(const torch_config *config, const torch_data *data, uint32_t device_count, uint64_t seed,
                          torch_model **out, ft_error *error) {
    torch_model *m;
    FT_TRY(model_begin(config, device_count, data->setting_count, &m, error));
    memcpy(m->settings, data->settings, data->setting_count * sizeof *m->settings);
    m->group_count = torch_setting_groups(m->settings, m->setting_count, m->groups);
    memcpy(m->sheets, data->sheets, device_count * sizeof *m->sheets);
    ft_status status = add_nets(m, seed, error);
    if (status != FT_OK)
        torch_model_free(m);
    else
        *out = m;
    return status;
}

void torch_model_free(void *model) {
    torch_model *m = model;
    if (m == NULL) return;
    for (uint32_t i = 0; m->nets != NULL && i < TORCH_SIDES * m->config.members; i++) torch_net_free(&m->nets[i]);
    free(m->nets);
    torch_rules_free(&m->rules);
    free(m->settings);
    free(m->groups);
    free(m->sheets);
    free(m->widths);
    free(m);
}

/* --- Saving and loading -------------------------------------------------------------------------------------- */

/* Sizes of the matrices, in the order of the file. */
static void matrix_sizes(const torch_model *m, size_t sizes[static MATRICES]) {
    size_t hidden = m->config.hidden, outputs = (size_t)m->config.basis * TORCH_TERMS,
           settings = m->setting_count + m->group_count;
    const size_t all[MATRICES] = {TORCH_FEATURES * hidden, hidden,  hidden * hidden,        hidden,
                                  hidden * outputs,        outputs, settings * TORCH_TERMS, settings * outputs};
    memcpy(sizes, all, sizeof all);
}

/* Addresses of a network's pointers, in the order of the file. */
static void matrix_list(torch_weights *w, const float **list[static MATRICES]) {
    const float **all[MATRICES] = {&w->first, &w->first_bias, &w->second,     &w->second_bias,
                                   &w->last,  &w->last_bias,  &w->unit_costs, &w->mix};
    memcpy(list, all, sizeof all);
}

/* During training the parameters of settings are differences from those of their groups; a file has the sums. */
void torch_model_finish(torch_model *m) {
    assert(m->nets != NULL);
    for (uint32_t i = 0; i < TORCH_SIDES * m->config.members; i++) {
        float *tables[] = {params_values(&m->nets[i].values, m->nets[i].unit_costs),
                           params_values(&m->nets[i].values, m->nets[i].mix)};
        const size_t widths[] = {TORCH_TERMS, (size_t)m->config.basis * TORCH_TERMS};
        for (uint32_t k = 0; k < 2; k++)
            for (size_t j = 0; j < m->setting_count * widths[k]; j++) {
                size_t group = m->setting_count + m->groups[j / widths[k]];
                tables[k][j] += tables[k][group * widths[k] + j % widths[k]];
            }
    }
}

static json_t *save_list(const torch_model *m, bool has_settings) {
    json_t *list = json_array();
    uint32_t count = has_settings ? m->setting_count : m->device_count;
    for (uint32_t i = 0; i < count; i++) {
        json_t *item = has_settings ? torch_setting_save(&m->settings[i]) : torch_sheet_save(&m->sheets[i]);
        list = json_list_with(list, item);
    }
    return list;
}

/* Widths of all settings, then the typical spread of each side. */
static json_t *save_widths(const torch_model *m) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->setting_count + TORCH_SIDES; i++) {
        double value = i < m->setting_count ? m->widths[i] : m->typical_spread[i - m->setting_count];
        list = json_list_with(list, json_real(value));
    }
    return list;
}

ft_status torch_model_save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const torch_model *m = model;
    json_t *object = json_pack("{s:o, s:o, s:o}", "config", torch_config_write(&m->config), "columns",
                               save_list(m, true), "sheets", save_list(m, false));
    if (m->widths != NULL) object = json_with(object, "widths", save_widths(m));
    if (object == NULL) return FT_NOMEM(error);
    bool has_memory = float_block_add(block, m->scaling[0].mean, TORCH_SIDES * SCALING_FLOATS);
    size_t sizes[MATRICES];
    matrix_sizes(m, sizes);
    for (uint32_t i = 0; i < TORCH_SIDES * m->config.members; i++) {
        torch_weights w = m->members[i / m->config.members][i % m->config.members];
        const float **list[MATRICES];
        matrix_list(&w, list);
        for (uint32_t k = 0; k < MATRICES; k++) has_memory = has_memory && float_block_add(block, *list[k], sizes[k]);
    }
    if (!has_memory) {
        json_decref(object);
        return FT_NOMEM(error);
    }
    *params = object;
    return FT_OK;
}

/* Old files have none. */
static ft_status load_widths(const json_t *params, torch_model *m, ft_error *error) {
    const json_t *list = json_object_get(params, "widths");
    if (list == NULL) return FT_OK;
    if (json_array_size(list) != (size_t)m->setting_count + TORCH_SIDES)
        return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: the number of widths does not match the columns");
    m->widths = calloc((size_t)m->setting_count + 1, sizeof *m->widths);
    if (m->widths == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < m->setting_count + TORCH_SIDES; i++) {
        const json_t *item = json_array_get(list, i);
        double value = json_number_value(item);
        bool is_width = i < m->setting_count;
        if (!json_is_number(item) || !(is_width ? value > 0 : value >= 0) || value > MAX_WIDTH)
            return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: width %u is not a positive number", i);
        *(is_width ? &m->widths[i] : &m->typical_spread[i - m->setting_count]) = value;
    }
    return FT_OK;
}

static ft_status load_lists(const json_t *params, torch_model *m, ft_error *error) {
    const json_t *settings = json_object_get(params, "columns"), *sheets = json_object_get(params, "sheets");
    for (uint32_t i = 0; i < m->setting_count; i++)
        FT_TRY(torch_setting_load(json_array_get(settings, i), m->device_count, &m->settings[i], error));
    m->group_count = torch_setting_groups(m->settings, m->setting_count, m->groups);
    for (uint32_t i = 0; i < m->device_count; i++)
        FT_TRY(torch_sheet_load(json_array_get(sheets, i), &m->sheets[i], error));
    return load_widths(params, m, error);
}

static ft_status load_block(torch_model *m, const float *block, size_t count, ft_error *error) {
    size_t sizes[MATRICES], member = 0, wanted = TORCH_SIDES * SCALING_FLOATS;
    matrix_sizes(m, sizes);
    for (uint32_t k = 0; k < MATRICES; k++) member += sizes[k];
    wanted += member * m->config.members * TORCH_SIDES;
    if (count != wanted)
        return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: has %zu floats, but %zu are expected", count, wanted);
    ft_status status = block_check_weights(block, count, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "torch-sum");
    memcpy(m->scaling[0].mean, block, sizeof m->scaling);
    block += TORCH_SIDES * SCALING_FLOATS;
    for (uint32_t i = 0; i < TORCH_SIDES * m->config.members; i++) {
        const float **list[MATRICES];
        matrix_list(&m->members[i / m->config.members][i % m->config.members], list);
        for (uint32_t k = 0; k < MATRICES; k++) {
            *list[k] = block;
            block += sizes[k];
        }
    }
    return FT_OK;
}

ft_status torch_model_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                           uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    torch_config config;
    torch_model *m = NULL;
    const json_t *options = json_object_get(params, "config"), *settings = json_object_get(params, "columns");
    size_t setting_count = json_array_size(settings);
    if (!json_is_object(options)) return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: params have no config");
    if (torch_config_read(options, &config, error) != FT_OK) return ft_fail_prefix(error, FT_ERR_DAMAGED, "torch-sum");
    if (setting_count < 1 || setting_count > TORCH_MAX_SETTINGS)
        return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: has %zu columns; 1 to %d are possible", setting_count,
                       TORCH_MAX_SETTINGS);
    if (json_array_size(json_object_get(params, "sheets")) != device_count)
        return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: the number of data sheets does not match the devices");
    FT_TRY(model_begin(&config, device_count, (uint32_t)setting_count, &m, error));
    ft_status status = load_lists(params, m, error);
    if (status == FT_OK) status = load_block(m, block, count, error);
    if (status != FT_OK)
        torch_model_free(m);
    else
        *out = m;
    return status;
}
