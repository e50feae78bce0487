/* torch_config.c - the options of the torch-sum predictor. */
#include "predictor/config.h"
#include "predictor/torch_train.h"

/* Chosen on folds of timm by name and by family: docs/torch.md tells what was tried. */
static const torch_config defaults = {.hidden = 64,
                                      .ways = 5,
                                      .members = 4,
                                      .epochs = 30,
                                      .batch = 256,
                                      .rate = 0.005,
                                      .bound = 3,
                                      .penalty = 0.01,
                                      .prior = 0.1,
                                      .delta = 0.1,
                                      .rounds = 0};

ft_status torch_config_read(const json_t *object, torch_config *config, ft_error *error) {
    torch_config read = defaults;
    double hidden = read.hidden, ways = read.ways, members = read.members, epochs = read.epochs, batch = read.batch,
           rounds = read.rounds;
    const config_key keys[] = {
        {"hidden", 1, TORCH_NET_MAX_HIDDEN, &hidden},
        {"ways", 1, TORCH_NET_MAX_WAYS, &ways},
        {"members", 1, TORCH_MEMBERS_MAX, &members},
        {"epochs", 1, 1e5, &epochs},
        {"batch", 1, 1e5, &batch},
        {"rate", 1e-9, 10, &read.rate},
        {"bound", 1e-3, 20, &read.bound},
        {"penalty", 0, 1e6, &read.penalty},
        {"prior", 0, 1e6, &read.prior},
        {"delta", 1e-4, 100, &read.delta},
        {"rounds", 0, 1e5, &rounds},
    };
    FT_TRY(config_take(object, keys, sizeof keys / sizeof keys[0], error));
    read.hidden = (uint32_t)hidden;
    read.ways = (uint32_t)ways;
    read.members = (uint32_t)members;
    read.epochs = (uint32_t)epochs;
    read.batch = (uint32_t)batch;
    read.rounds = (uint32_t)rounds;
    *config = read;
    return FT_OK;
}

json_t *torch_config_write(const torch_config *c) {
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f}", "hidden", (int)c->hidden, "ways",
                     (int)c->ways, "members", (int)c->members, "epochs", (int)c->epochs, "batch", (int)c->batch,
                     "rounds", (int)c->rounds, "rate", c->rate, "bound", c->bound, "penalty", c->penalty, "prior",
                     c->prior, "delta", c->delta);
}
