/* kernel_model.c - creates, saves and loads a kernel-sum predictor; kernel_predict.c runs it. */
#include "predictor/kernel/kernel_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/family_common.h"

enum { SCALING_FLOATS = sizeof(kernel_scaling) / sizeof(float) };

/* --- Creating -------------------------------------------------------------------------------------------------- */

static ft_status add_nets(kernel_model *m, uint32_t side, uint64_t seed, ft_error *error) {
    kernel_side_model *s = &m->sides[side];
    const kernel_config robust = kernel_config_robust(&m->config);
    uint32_t count = m->config.members + robust.members;
    s->nets = calloc(count, sizeof *s->nets);
    s->corrections = calloc(s->device_count + 1, sizeof(forest *));
    if (s->nets == NULL || s->corrections == NULL) return FT_NOMEM(error);
    s->specialist_count = m->config.members;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t hidden = i < s->specialist_count ? m->config.hidden : robust.hidden;
        /* Members differ in their initial values and in the order of batches. */
        uint64_t own = seed == PARAMS_ZEROED ? seed : seed * 1000003 + side * 1009 + i;
        FT_TRY(kernel_net_init(&s->nets[i], s->device_count, hidden, (float)m->config.bound, own, error));
        s->net_count++;
    }
    return FT_OK;
}

ft_status kernel_model_new(const kernel_config *config, runtimes *r, uint64_t seed, kernel_model **out,
                           ft_error *error) {
    kernel_model *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(error);
    m->config = *config;
    m->runtimes = *r;
    *r = (runtimes){0};
    m->device_count = m->runtimes.device_count;
    assert(m->device_count > 0 && config->members > 0);
    m->column = calloc(m->device_count, sizeof *m->column);
    ft_status status = m->column != NULL ? FT_OK : FT_NOMEM(error);
    for (uint32_t d = 0; status == FT_OK && d < m->device_count; d++)
        m->column[d] = m->sides[m->runtimes.of_device[d]].device_count++;
    for (uint32_t i = 0; i < MAX_RUNTIMES; i++) m->sides[i].has_array = config->has_array;
    for (uint32_t i = 0; status == FT_OK && i < m->runtimes.count; i++) status = add_nets(m, i, seed, error);
    if (status != FT_OK)
        kernel_model_free(m);
    else
        *out = m;
    return status;
}

void kernel_model_free(void *model) {
    kernel_model *m = model;
    if (m == NULL) return;
    for (uint32_t i = 0; i < MAX_RUNTIMES; i++) {
        for (uint32_t j = 0; j < m->sides[i].net_count; j++) kernel_net_free(&m->sides[i].nets[j]);
        free(m->sides[i].nets);
        kernel_seen_free(&m->sides[i].seen);
        for (uint32_t d = 0; m->sides[i].corrections != NULL && d < m->sides[i].device_count; d++)
            forest_free(m->sides[i].corrections[d]);
        free(m->sides[i].corrections);
    }
    runtimes_free(&m->runtimes);
    free(m->column);
    free(m->block);
    free(m);
}

/* --- Saving and loading -------------------------------------------------------------------------------------- */

/* A float, 1 if there is a forest, and the forest. */
static bool save_forest(const forest *f, float_block *block) {
    float is_there = f != NULL;
    if (!float_block_add(block, &is_there, 1)) return false;
    return f == NULL || float_block_add_forest(block, f);
}

ft_status kernel_model_save(const void *model, json_t **params, float_block *block, ft_error *error) {
    const kernel_model *m = model;
    json_t *config = kernel_config_write(&m->config), *names = runtimes_save(&m->runtimes);
    json_t *object = json_pack("{s:o, s:o}", "config", config, "runtimes", names);
    if (object == NULL) return FT_NOMEM(error);
    bool has_memory = true;
    for (uint32_t i = 0; i < m->runtimes.count; i++) {
        const kernel_side_model *s = &m->sides[i];
        assert(s->net_count >= s->specialist_count);
        has_memory = has_memory && float_block_add(block, s->scaling.mean, SCALING_FLOATS);
        for (uint32_t j = 0; j < s->net_count; j++)
            has_memory = has_memory && float_block_add(block, s->nets[j].values.values, s->nets[j].values.total_count);
        if (m->config.robust > 0) has_memory = has_memory && kernel_seen_save(&s->seen, block);
        for (uint32_t d = 0; d < s->device_count; d++) has_memory = has_memory && save_forest(s->corrections[d], block);
    }
    if (!has_memory) {
        json_decref(object);
        return FT_NOMEM(error);
    }
    *params = object;
    return FT_OK;
}

/* Reads the next floats of the block. */
static ft_status read_floats(const float **block, size_t *left, float *to, size_t count, ft_error *error) {
    if (count > *left) return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too short");
    ft_status status = block_check_weights(*block, count, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "kernel-sum");
    memcpy(to, *block, count * sizeof(float));
    *block += count;
    *left -= count;
    return FT_OK;
}

static ft_status read_forest(const float **block, size_t *left, forest **f, ft_error *error) {
    float is_there;
    FT_TRY(read_floats(block, left, &is_there, 1, error));
    if (is_there == 0) return FT_OK;
    return block_map_forest(block, left, MIX_FEATURES, f, error);
}

static ft_status load_sides(kernel_model *m, const float *block, size_t count, ft_error *error) {
    for (uint32_t i = 0; i < m->runtimes.count; i++) {
        kernel_side_model *s = &m->sides[i];
        FT_TRY(read_floats(&block, &count, s->scaling.mean, SCALING_FLOATS, error));
        for (uint32_t j = 0; j < s->net_count; j++)
            FT_TRY(read_floats(&block, &count, s->nets[j].values.values, s->nets[j].values.total_count, error));
        if (m->config.robust > 0) FT_TRY(kernel_seen_map(&block, &count, &s->seen, error));
        for (uint32_t d = 0; d < s->device_count; d++) FT_TRY(read_forest(&block, &count, &s->corrections[d], error));
    }
    if (count != 0) return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too long");
    return FT_OK;
}

ft_status kernel_model_load(const json_t *params, const float *block, size_t count, const char *const *devices,
                            uint32_t device_count, void **out, ft_error *error) {
    (void)devices;
    kernel_config config;
    runtimes r = {0};
    kernel_model *m = NULL;
    const json_t *options = json_object_get(params, "config");
    if (!json_is_object(options)) return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: params have no config");
    /* Settings that a file lacks have the value from before they existed: no robust networks. */
    if (kernel_config_read(options, kernel_settings_wide, &config, error) != FT_OK)
        return ft_fail_prefix(error, FT_ERR_DAMAGED, "kernel-sum");
    /* Checked before memory is allocated: the file must hold all weights that its configuration needs. */
    const kernel_config robust = kernel_config_robust(&config);
    if ((double)config.members * config.hidden * config.hidden +
            (double)robust.members * robust.hidden * robust.hidden >
        (double)count)
        return ft_fail(error, FT_ERR_DAMAGED, "kernel-sum: the block of floats is too short");
    FT_TRY(runtimes_load(json_object_get(params, "runtimes"), device_count, &r, error));
    ft_status status = kernel_model_new(&config, &r, PARAMS_ZEROED, &m, error);
    runtimes_free(&r);
    if (status == FT_OK) status = load_sides(m, block, count, error);
    if (status != FT_OK)
        kernel_model_free(m);
    else
        *out = m;
    return status;
}
