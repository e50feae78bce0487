/* gnn_model.c - creates, saves and loads models of graph networks; gnn_predict.c runs them. */
#include "predictor/gnn/gnn_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/records.h"
#include "predictor/core/family_common.h"
#include "predictor/gnn/gnn_family.h"

/* --- Creating -------------------------------------------------------------------------------------------------- */

ft_status gnn_model_new(const gnn_kind *kind, gnn_plan *plan, const gnn_column *columns, uint32_t column_count,
                        uint32_t device_count, gnn_model **out, ft_error *error) {
    gnn_model *m = calloc(1, sizeof *m);
    if (m == NULL) {
        gnn_plan_free(plan);
        return FT_NOMEM(error);
    }
    *m = (gnn_model){.kind = kind, .plan = *plan, .device_count = device_count, .column_count = column_count};
    *plan = (gnn_plan){0};
    m->plan.outputs = column_count;
    m->columns = malloc(((size_t)column_count + 1) * sizeof *m->columns);
    m->members = calloc((size_t)m->plan.shared.members, sizeof *m->members);
    ft_status status = m->columns != NULL && m->members != NULL ? FT_OK : FT_NOMEM(error);
    if (status == FT_OK) memcpy(m->columns, columns, column_count * sizeof *columns);
    if (status == FT_OK) status = gnn_scaling_open(&m->scaling, &m->plan.widths, error);
    if (status == FT_OK && kind->open != NULL) status = kind->open(m->plan.own, &m->extractor, error);
    if (status != FT_OK)
        gnn_free(m);
    else
        *out = m;
    return status;
}

static ft_status build_member(gnn_model *m, ft_error *error) {
    assert(m->member_count < (uint32_t)m->plan.shared.members);
    gnn_member *member = &m->members[m->member_count++];
    params_init(&member->values);
    member->net = m->kind->build(&m->plan, &member->values);
    if (m->plan.groups > 0)
        member->offsets = params_add_state(&member->values, m->plan.groups, m->column_count, PARAM_ZEROS, "levels");
    return member->net != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status finish_member(const gnn_model *m, gnn_member *member, uint64_t seed, ft_error *error) {
    FT_TRY(params_finish(&member->values, seed, error));
    if (m->kind->start != NULL) m->kind->start(member->net, &member->values);
    return FT_OK;
}

ft_status gnn_model_init_networks(gnn_model *m, uint64_t seed, ft_error *error) {
    for (uint32_t i = 0; i < (uint32_t)m->plan.shared.members; i++) {
        FT_TRY(build_member(m, error));
        FT_TRY(
            finish_member(m, &m->members[i], seed * 1000003 + i, error)); /* members differ in their initial values */
    }
    return FT_OK;
}

void gnn_free(void *model) {
    gnn_model *m = model;
    if (m == NULL) return;
    for (uint32_t i = 0; i < m->member_count; i++) {
        tape_free(m->members[i].spare);
        free(m->members[i].net);
        params_free(&m->members[i].values);
    }
    free(m->members);
    free(m->columns);
    gnn_scaling_free(&m->scaling);
    if (m->kind->close != NULL && m->extractor != NULL) m->kind->close(m->extractor);
    gnn_plan_free(&m->plan);
    free(m);
}

static ft_status finalize(gnn_model *m, ft_error *error) {
    for (uint32_t i = 0; m->kind->finalize != NULL && i < m->member_count; i++)
        FT_TRY(m->kind->finalize(m->members[i].net, &m->members[i].values, error));
    return FT_OK;
}

ft_status gnn_model_finish(gnn_model *m, ft_status status, void **out, ft_error *error) {
    assert(status != FT_OK || m != NULL);
    if (status == FT_OK) status = finalize(m, error);
    if (status == FT_OK)
        *out = m;
    else
        gnn_free(m);
    return status;
}

size_t gnn_saved_count(const gnn_model *m, uint32_t member) {
    return m->members[member].values.total_count - (size_t)m->plan.groups * m->column_count;
}

/* --- Saving -------------------------------------------------------------------------------------------------- */

static json_t *save_values(const float *values, uint32_t count) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++) list = json_list_with(list, json_real((double)values[i]));
    return list;
}

static json_t *save_columns(const gnn_model *m) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < m->column_count; i++) {
        const gnn_column *c = &m->columns[i];
        json_t *item = json_pack("{s:i, s:i, s:s, s:s, s:s, s:i}", "device", (int)c->device, "metric", (int)c->metric,
                                 "mode", record_mode_name(c->mode), "dtype", ft_dtype_name(c->dtype), "setting",
                                 c->setting, "labels", (int)c->labels);
        item = label_scale_save(&c->scale, item);
        if (m->plan.widths.column_values > 0)
            item = json_with(item, "values", save_values(c->values, m->plan.widths.column_values));
        list = json_list_with(list, item);
    }
    return list;
}

ft_status gnn_save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const gnn_model *m = model;
    json_t *object = json_pack("{s:o, s:o}", "config", gnn_plan_write(m->kind, &m->plan), "columns", save_columns(m));
    if (object == NULL) return FT_NOMEM(error);
    bool has_memory = float_block_add(block, m->scaling.floats, m->scaling.count);
    for (uint32_t i = 0; i < m->member_count; i++)
        has_memory = has_memory && float_block_add(block, m->members[i].values.values, gnn_saved_count(m, i));
    if (!has_memory) {
        json_decref(object);
        return FT_NOMEM(error);
    }
    *params = object;
    return FT_OK;
}

/* --- Loading ------------------------------------------------------------------------------------------------- */

static ft_status read_index(const json_t *object, const char *key, int64_t limit, uint32_t *value, ft_error *error) {
    int64_t number;
    if (json_read_int(json_object_get(object, key), 0, limit - 1, &number, error) != FT_OK)
        return ft_fail_prefix(error, FT_ERR_DAMAGED, "columns: '%s'", key);
    *value = (uint32_t)number;
    return FT_OK;
}

static ft_status read_text(const json_t *object, const char *key, const char **text, ft_error *error) {
    if (json_read_string(json_object_get(object, key), text, error) != FT_OK)
        return ft_fail_prefix(error, FT_ERR_DAMAGED, "columns: '%s'", key);
    return FT_OK;
}

static ft_status load_values(const json_t *list, uint32_t count, float *values, ft_error *error) {
    if (json_array_size(list) != count)
        return ft_fail(error, FT_ERR_DAMAGED, "columns: %zu values of a device, but %u are expected",
                       json_array_size(list), count);
    for (uint32_t i = 0; i < count; i++) {
        double value;
        if (json_read_number(json_array_get(list, i), -1e6, 1e6, &value, error) != FT_OK)
            return ft_fail_prefix(error, FT_ERR_DAMAGED, "columns: 'values'");
        values[i] = (float)value;
    }
    return FT_OK;
}

static ft_status load_column(const json_t *object, uint32_t devices, const gnn_plan *plan, gnn_column *column,
                             ft_error *error) {
    const char *mode, *dtype, *setting;
    *column = (gnn_column){0};
    FT_TRY(read_index(object, "device", devices, &column->device, error));
    FT_TRY(read_index(object, "metric", GNN_MAX_METRICS, &column->metric, error));
    FT_TRY(read_index(object, "labels", (int64_t)1 << 32, &column->labels, error));
    FT_TRY(read_text(object, "mode", &mode, error));
    FT_TRY(read_text(object, "dtype", &dtype, error));
    FT_TRY(read_text(object, "setting", &setting, error));
    column->mode = strcmp(mode, "train") == 0 ? FT_TRAIN : FT_INFER;
    if (!ft_dtype_parse(dtype, &column->dtype)) column->dtype = FT_DTYPE_UNKNOWN;
    if (strlen(setting) >= GNN_MAX_TEXT) return ft_fail(error, FT_ERR_DAMAGED, "columns: a setting is too long");
    memcpy(column->setting, setting, strlen(setting) + 1);
    FT_TRY(label_scale_load(object, (label_form)plan->shared.target, &column->scale, error));
    return load_values(json_object_get(object, "values"), plan->widths.column_values, column->values, error);
}

static ft_status load_columns(const json_t *list, uint32_t devices, const gnn_plan *plan, gnn_column **columns,
                              uint32_t *count, ft_error *error) {
    size_t size = json_array_size(list);
    if (size < 1 || size > GNN_MAX_COLUMNS)
        return ft_fail(error, FT_ERR_DAMAGED, "has %zu columns; 1 to %d are possible", size, GNN_MAX_COLUMNS);
    *columns = malloc(size * sizeof **columns);
    if (*columns == NULL) return FT_NOMEM(error);
    *count = (uint32_t)size;
    for (uint32_t i = 0; i < *count; i++)
        FT_TRY(load_column(json_array_get(list, i), devices, plan, &(*columns)[i], error));
    return FT_OK;
}

/* Number of floats of a network, before they are allocated. */
static size_t floats_of(const params *p) {
    size_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) count += (size_t)p->items[i].rows * p->items[i].cols;
    return count;
}

static ft_status load_member(gnn_model *m, const float **block, size_t *left, ft_error *error) {
    FT_TRY(build_member(m, error));
    gnn_member *member = &m->members[m->member_count - 1];
    size_t floats = floats_of(&member->values);
    if (floats > *left)
        return ft_fail(error, FT_ERR_DAMAGED, "network %u has %zu floats, but %zu are left", m->member_count, floats,
                       *left);
    FT_TRY(block_check_weights(*block, floats, error));
    FT_TRY(finish_member(m, member, 0, error));
    memcpy(member->values.values, *block, floats * sizeof(float));
    *block += floats;
    *left -= floats;
    return FT_OK;
}

static ft_status load_block(gnn_model *m, const float *block, size_t count, ft_error *error) {
    if (count < m->scaling.count)
        return ft_fail(error, FT_ERR_DAMAGED, "has %zu floats, but at least %zu are expected", count, m->scaling.count);
    if (m->scaling.count > 0) memcpy(m->scaling.floats, block, m->scaling.count * sizeof(float));
    block += m->scaling.count;
    count -= m->scaling.count;
    for (uint32_t i = 0; i < (uint32_t)m->plan.shared.members; i++) FT_TRY(load_member(m, &block, &count, error));
    if (count > 0) return ft_fail(error, FT_ERR_DAMAGED, "has %zu floats too many", count);
    return FT_OK;
}

ft_status gnn_load(const gnn_kind *kind, const json_t *params, const float *block, size_t count, uint32_t device_count,
                   void **out, ft_error *error) {
    gnn_plan plan;
    gnn_column *columns = NULL;
    uint32_t column_count = 0;
    gnn_model *m = NULL;
    const json_t *config = json_object_get(params, "config");
    if (!json_is_object(config)) return ft_fail(error, FT_ERR_DAMAGED, "%s: params have no config", kind->name);
    ft_status status = gnn_plan_read(kind, config, &plan, error);
    if (status == FT_ERR_NOMEM) return status;
    if (status != FT_OK) return ft_fail_prefix(error, FT_ERR_DAMAGED, "%s", kind->name);
    status = load_columns(json_object_get(params, "columns"), device_count, &plan, &columns, &column_count, error);
    if (status == FT_OK)
        status = gnn_model_new(kind, &plan, columns, column_count, device_count, &m, error);
    else
        gnn_plan_free(&plan);
    free(columns);
    if (status == FT_OK) status = load_block(m, block, count, error);
    status = gnn_model_finish(m, status, out, error);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "%s", kind->name);
}
