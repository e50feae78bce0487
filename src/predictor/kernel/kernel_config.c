/* kernel_config.c - settings of the kernel-sum predictor: two tables of defaults, reading and writing as JSON. */
#include <assert.h>
#include <math.h>

#include "predictor/core/settings.h"
#include "predictor/kernel/kernel_train.h"

enum { HIDDEN, MEMBERS, STEPS, BATCH, ROUNDS, RATE, BOUND, PENALTY, DELTA, OPERATORS, ARRAY, ROBUST };

#define WHOLE .kind = FT_SETTING_INT

/* The two families differ in their defaults. */
#define KERNEL_SETTINGS(hidden, members, steps, batch, rounds, penalty, robust)                                        \
    {                                                                                                                  \
        [HIDDEN] = {"hidden",                                                                                          \
                    "units of each of the two hidden layers",                                                          \
                    WHOLE,                                                                                             \
                    hidden,                                                                                            \
                    1,                                                                                                 \
                    KERNEL_NET_MAX_HIDDEN,                                                                             \
                    .is_searched = true,                                                                               \
                    .is_log = true,                                                                                    \
                    .from = 16,                                                                                        \
                    .to = 128},                                                                                        \
        [MEMBERS] = {"members", "networks that are averaged", WHOLE, members, 1, KERNEL_MAX_MEMBERS, .off = "1"},      \
        [STEPS] = {"steps", "training steps of each network", WHOLE, steps, 1, 1e7, .is_effort = true},                \
        [BATCH] = {"batch", "models in a step",  WHOLE,          batch,       1,                                       \
                   1e5,     .is_searched = true, .is_log = true, .from = 100, .to = 800},                              \
        [ROUNDS] = {"rounds", "maximum number of trees of the correction", WHOLE, rounds, 0, 1e5, .off = "0"},         \
        [RATE] = {"rate", "highest learning rate", FT_SETTING_REAL, 0.01,          1e-9,                               \
                  10,     .is_searched = true,     .is_log = true,  .from = 0.002, .to = 0.04},                        \
        [BOUND] = {"bound",                                                                                            \
                   "a learned multiplier of a unit cost is at most exp(bound)",                                        \
                   FT_SETTING_REAL,                                                                                    \
                   2.5,                                                                                                \
                   1e-3,                                                                                               \
                   20,                                                                                                 \
                   .is_searched = true,                                                                                \
                   .is_log = true,                                                                                     \
                   .from = 1,                                                                                          \
                   .to = 6},                                                                                           \
        [PENALTY] = {"penalty",                                                                                        \
                     "penalty on squared log-multipliers",                                                             \
                     FT_SETTING_REAL,                                                                                  \
                     penalty,                                                                                          \
                     0,                                                                                                \
                     1e6,                                                                                              \
                     .is_searched = true,                                                                              \
                     .is_log = true,                                                                                   \
                     .from = 1e-5,                                                                                     \
                     .to = 0.03,                                                                                       \
                     .off = "0"},                                                                                      \
        [DELTA] = {"delta",                                                                                            \
                   "where the loss changes from squared to absolute",                                                  \
                   FT_SETTING_REAL,                                                                                    \
                   0.05,                                                                                               \
                   1e-4,                                                                                               \
                   100,                                                                                                \
                   .is_searched = true,                                                                                \
                   .is_log = true,                                                                                     \
                   .from = 0.01,                                                                                       \
                   .to = 0.3,                                                                                          \
                   .off = "100"},                                                                                      \
        [OPERATORS] =                                                                                                  \
            {"operators", "1: also learns from measurements of single operators", WHOLE, 1, 0, 1, .off = "0"},         \
        [ARRAY] = {"array", "1: models multiplier arrays, where the rules describe one", WHOLE, 1, 0, 1, .off = "0"},  \
        [ROBUST] = {"careful", "networks for kernels unlike those of training", WHOLE, robust, 0, KERNEL_MAX_MEMBERS,  \
                    .off = "0"},                                                                                       \
    }

/* Chosen on validation parts of CG; docs/accuracy-phones.md lists the alternatives. */
const ft_setting kernel_settings_default[KERNEL_SETTING_COUNT] = KERNEL_SETTINGS(64, 2, 3500, 400, 400, 1e-3, 3);
const ft_setting kernel_settings_wide[KERNEL_SETTING_COUNT] = KERNEL_SETTINGS(32, 3, 300, 200, 0, 3e-3, 0);

ft_status kernel_config_read(const json_t *object, const ft_setting *settings, kernel_config *config, ft_error *error) {
    double v[KERNEL_SETTING_COUNT];
    FT_TRY(settings_parse(object, settings, KERNEL_SETTING_COUNT, v, error));
    *config = (kernel_config){.hidden = (uint32_t)v[HIDDEN],
                              .members = (uint32_t)v[MEMBERS],
                              .steps = (uint32_t)v[STEPS],
                              .batch = (uint32_t)v[BATCH],
                              .rounds = (uint32_t)v[ROUNDS],
                              .rate = v[RATE],
                              .bound = v[BOUND],
                              .penalty = v[PENALTY],
                              .delta = v[DELTA],
                              .has_operators = v[OPERATORS] != 0,
                              .has_array = v[ARRAY] != 0,
                              .robust = (uint32_t)v[ROBUST]};
    return FT_OK;
}

/* Files store only the configuration of the specialist networks; this must not change, or the sizes of the robust
 * networks in old files would not match. */
enum { ROBUST_HIDDEN = 32 };

kernel_config kernel_config_robust(const kernel_config *config) {
    kernel_config robust = *config;
    uint32_t steps = (uint32_t)kernel_settings_wide[STEPS].usual, batch = (uint32_t)kernel_settings_wide[BATCH].usual;
    robust.members = config->robust;
    assert(robust.members <= KERNEL_MAX_MEMBERS);
    robust.hidden = config->hidden < ROBUST_HIDDEN ? config->hidden : ROBUST_HIDDEN;
    robust.steps = config->steps < steps ? config->steps : steps;
    robust.batch = config->batch < batch ? config->batch : batch;
    robust.penalty = fmax(config->penalty, kernel_settings_wide[PENALTY].usual);
    return robust;
}

json_t *kernel_config_write(const kernel_config *c) {
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:i, s:i, s:i}", "hidden", (int)c->hidden,
                     "members", (int)c->members, "steps", (int)c->steps, "batch", (int)c->batch, "rounds",
                     (int)c->rounds, "rate", c->rate, "bound", c->bound, "penalty", c->penalty, "delta", c->delta,
                     "operators", (int)c->has_operators, "array", (int)c->has_array, "careful", (int)c->robust);
}
