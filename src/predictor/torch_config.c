/* torch_config.c - the options of the torch-sum predictor. */
#include "predictor/config.h"
#include "predictor/torch_train.h"

/* Chosen on folds of timm by name and by family. */
static const torch_config defaults = {.hidden = 64,
                                      .ways = 5,
                                      .members = 3,
                                      .steps = 3000,
                                      .batch = 256,
                                      .rate = 0.005,
                                      .bound = 3,
                                      .penalty = 0.01,
                                      .prior = 0.1,
                                      .own = 0.3,
                                      .delta = 0.1};

ft_status torch_config_read(const json_t *object, torch_config *config, ft_error *error) {
    torch_config read = defaults;
    double hidden = read.hidden, ways = read.ways, members = read.members, steps = read.steps, batch = read.batch;
    const config_key keys[] = {
        {"hidden", 1, TORCH_NET_MAX_HIDDEN, &hidden},
        {"ways", 1, TORCH_NET_MAX_WAYS, &ways},
        {"members", 1, TORCH_MEMBERS_MAX, &members},
        {"steps", 1, 1e7, &steps},
        {"batch", 1, 1e5, &batch},
        {"rate", 1e-9, 10, &read.rate},
        {"bound", 1e-3, 20, &read.bound},
        {"penalty", 0, 1e6, &read.penalty},
        {"prior", 0, 1e6, &read.prior},
        {"own", 0, 1e6, &read.own},
        {"delta", 1e-4, 100, &read.delta},
    };
    FT_TRY(config_take(object, keys, sizeof keys / sizeof keys[0], error));
    read.hidden = (uint32_t)hidden;
    read.ways = (uint32_t)ways;
    read.members = (uint32_t)members;
    read.steps = (uint32_t)steps;
    read.batch = (uint32_t)batch;
    *config = read;
    return FT_OK;
}

json_t *torch_config_write(const torch_config *c) {
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "hidden", (int)c->hidden, "ways",
                     (int)c->ways, "members", (int)c->members, "steps", (int)c->steps, "batch", (int)c->batch, "rate",
                     c->rate, "bound", c->bound, "penalty", c->penalty, "prior", c->prior, "own", c->own, "delta",
                     c->delta);
}
