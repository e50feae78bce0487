/* torch_config.c - settings of the torch-sum predictor: table, reading and writing as JSON. */
#include "predictor/core/settings.h"
#include "predictor/torch/torch_train.h"

enum { HIDDEN, BASIS, MEMBERS, STEPS, BATCH, RATE, BOUND, PENALTY, PRIOR, OWN, DELTA, NOISE, FAMILIES };

#define WHOLE    .kind = FT_SETTING_INT
#define SEARCHED .is_searched = true, .is_log = true

/* Chosen on folds of timm by name and by family. */
const ft_setting torch_config_settings[TORCH_CONFIG_SETTING_COUNT] = {
    [HIDDEN] = {"hidden", "units of each of the two hidden layers", WHOLE, 64, 1, TORCH_NET_MAX_HIDDEN, SEARCHED,
                .from = 16, .to = 128},
    [BASIS] = {"ways", "learned basis functions of the log-multipliers", WHOLE, 5, 1, TORCH_NET_MAX_BASIS, SEARCHED,
               .from = 2, .to = 8},
    [MEMBERS] = {"members", "networks that are averaged", WHOLE, 3, 1, TORCH_MAX_MEMBERS, .off = "1"},
    [STEPS] = {"steps", "training steps of each network at the full batch size", WHOLE, 3000, 1, 1e7,
               .is_effort = true},
    [BATCH] = {"batch", "maximum number of labels in a step", WHOLE, 256, 1, 1e5, SEARCHED, .from = 64, .to = 512},
    [RATE] = {"rate", "highest learning rate", FT_SETTING_REAL, 0.005, 1e-9, 10, SEARCHED, .from = 0.001, .to = 0.02},
    [BOUND] = {"bound", "a learned multiplier of a unit cost is at most exp(bound)", FT_SETTING_REAL, 3, 1e-3, 20,
               SEARCHED, .from = 1, .to = 6},
    [PENALTY] = {"penalty", "penalty on squared log-multipliers", FT_SETTING_REAL, 0.01, 0, 1e6, SEARCHED, .from = 1e-4,
                 .to = 0.1, .off = "0"},
    [PRIOR] = {"prior", "weight of the prior that memory-bound kernels reach the bandwidth", FT_SETTING_REAL, 0.1, 0,
               1e6, SEARCHED, .from = 0.01, .to = 1, .off = "0"},
    [OWN] = {"own", "penalty on differences of a device from its group", FT_SETTING_REAL, 0.3, 0, 1e6, SEARCHED,
             .from = 0.03, .to = 3, .off = "0"},
    [DELTA] = {"delta", "where the loss changes from squared to absolute", FT_SETTING_REAL, 0.1, 1e-4, 100, SEARCHED,
               .from = 0.02, .to = 0.5, .off = "100"},
    [NOISE] = {"noise", "deviation of the noise added to scaled sizes of kernels on CPUs", .kind = FT_SETTING_REAL, 0,
               0, 10},
    [FAMILIES] = {"families", "1: intervals that hold for unseen families", WHOLE, 0, 0, 1},
};

ft_status torch_config_read(const json_t *object, torch_config *config, ft_error *error) {
    double v[TORCH_CONFIG_SETTING_COUNT];
    FT_TRY(settings_parse(object, torch_config_settings, TORCH_CONFIG_SETTING_COUNT, v, error));
    *config = (torch_config){.hidden = (uint32_t)v[HIDDEN],
                             .basis = (uint32_t)v[BASIS],
                             .members = (uint32_t)v[MEMBERS],
                             .steps = (uint32_t)v[STEPS],
                             .batch = (uint32_t)v[BATCH],
                             .rate = v[RATE],
                             .bound = v[BOUND],
                             .penalty = v[PENALTY],
                             .prior = v[PRIOR],
                             .own = v[OWN],
                             .delta = v[DELTA],
                             .noise = v[NOISE],
                             .families = v[FAMILIES] > 0};
    return FT_OK;
}

json_t *torch_config_write(const torch_config *c) {
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i}", "hidden", (int)c->hidden,
                     "ways", (int)c->basis, "members", (int)c->members, "steps", (int)c->steps, "batch", (int)c->batch,
                     "rate", c->rate, "bound", c->bound, "penalty", c->penalty, "prior", c->prior, "own", c->own,
                     "delta", c->delta, "noise", c->noise, "families", (int)c->families);
}
