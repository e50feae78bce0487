/* seernet.c - the families "seernet" and "seernet-multi", as the paper trains them. */
#include "predictor/seernet.h"

#include "base/error.h"
#include "nn/pcgrad.h"
#include "predictor/gnn_family.h"

/* Adam from 0.001 on, halved where the validation part stops getting better; MSE on z-scores of logarithms. */
static void defaults(gnn_options *shared, void *own) {
    (void)own;
    shared->hidden = 256;
    shared->layers = 1;
    shared->batch = 128;
    shared->rate = 1e-3;
    shared->loss = LOSS_MSE;
    shared->target = GNN_TARGET_LOG1P;
    shared->schedule = SCHEDULE_PLATEAU;
    shared->keep_best = 1;
    shared->forget = 0.01;
}

static ft_status check(const gnn_options *shared, const void *own, ft_error *error) {
    (void)own;
    if (shared->layers == 1) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "config: SeerNet has one block: layers=1");
}

static const char *const metrics[] = {"time_us", "peak_bytes", "util_ratio", NULL};

#define SEERNET_KIND(kind_name)                                                                                        \
    .name = (kind_name), .schema = SEERNET_SCHEMA, .defaults = defaults, .check = check, .widths = seernet_widths,     \
    .look = seernet_look, .build = seernet_build, .settle = seernet_settle, .forward = seernet_forward

static const gnn_kind single = {SEERNET_KIND("seernet")};
static const gnn_kind multi = {SEERNET_KIND("seernet-multi"), .metrics = metrics, .combine = pcgrad};

static ft_status fit_single(const fit_set *set, const fit_context *context, model **out, ft_error *error) {
    return gnn_fit(&single, set, context, out, error);
}

static ft_status fit_multi(const fit_set *set, const fit_context *context, model **out, ft_error *error) {
    return gnn_fit(&multi, set, context, out, error);
}

static ft_status load_single(const json_t *params, const float *block, size_t count, const char *const *devices,
                             uint32_t device_count, model **out, ft_error *error) {
    (void)devices;
    return gnn_load(&single, params, block, count, device_count, out, error);
}

static ft_status load_multi(const json_t *params, const float *block, size_t count, const char *const *devices,
                            uint32_t device_count, model **out, ft_error *error) {
    (void)devices;
    return gnn_load(&multi, params, block, count, device_count, out, error);
}

static uint32_t describe_single(ft_setting *settings, uint32_t room) {
    return gnn_settings(&single, settings, room);
}

static uint32_t describe_multi(ft_setting *settings, uint32_t room) {
    return gnn_settings(&multi, settings, room);
}

const family family_seernet = {.name = "seernet",
                               .text = "PerfSeer's network over operators, tensors and the whole graph",
                               .schema = SEERNET_SCHEMA,
                               .describe = describe_single,
                               .fit = fit_single,
                               .save = gnn_save,
                               .load = load_single,
                               .predict = gnn_predict,
                               .free = gnn_free};

const family family_seernet_multi = {.name = "seernet-multi",
                                     .text = "the same, learning time, memory and utilisation together (PCGrad)",
                                     .schema = SEERNET_SCHEMA,
                                     .describe = describe_multi,
                                     .fit = fit_multi,
                                     .save = gnn_save,
                                     .load = load_multi,
                                     .predict = gnn_predict,
                                     .free = gnn_free};
