/* kernel_config.c - the options of the kernel-sum predictor. */
#include "predictor/config.h"
#include "predictor/kernel_train.h"

/* Chosen on validation parts of CG: docs/accuracy.md tells what was tried. */
const kernel_config kernel_config_near = {.hidden = 64,
                                          .members = 2,
                                          .steps = 3500,
                                          .batch = 400,
                                          .rounds = 400,
                                          .rate = 0.01,
                                          .bound = 2.5,
                                          .penalty = 1e-3,
                                          .delta = 0.05};

const kernel_config kernel_config_wide = {.hidden = 32,
                                          .members = 3,
                                          .steps = 300,
                                          .batch = 200,
                                          .rounds = 0,
                                          .rate = 0.01,
                                          .bound = 2.5,
                                          .penalty = 3e-3,
                                          .delta = 0.05};

ft_status kernel_config_read(const json_t *object, const kernel_config *defaults, kernel_config *config,
                             ft_error *error) {
    kernel_config read = *defaults;
    double hidden = read.hidden, members = read.members, steps = read.steps, batch = read.batch, rounds = read.rounds;
    const config_key keys[] = {
        {"hidden", 1, KERNEL_NET_MAX_HIDDEN, &hidden},
        {"members", 1, KERNEL_MEMBERS_MAX, &members},
        {"steps", 1, 1e7, &steps},
        {"batch", 1, 1e5, &batch},
        {"rounds", 0, 1e5, &rounds},
        {"rate", 1e-9, 10, &read.rate},
        {"bound", 1e-3, 20, &read.bound},
        {"penalty", 0, 1e6, &read.penalty},
        {"delta", 1e-4, 100, &read.delta},
    };
    FT_TRY(config_take(object, keys, sizeof keys / sizeof keys[0], error));
    read.hidden = (uint32_t)hidden;
    read.members = (uint32_t)members;
    read.steps = (uint32_t)steps;
    read.batch = (uint32_t)batch;
    read.rounds = (uint32_t)rounds;
    *config = read;
    return FT_OK;
}

json_t *kernel_config_write(const kernel_config *c) {
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f}", "hidden", (int)c->hidden, "members",
                     (int)c->members, "steps", (int)c->steps, "batch", (int)c->batch, "rounds", (int)c->rounds, "rate",
                     c->rate, "bound", c->bound, "penalty", c->penalty, "delta", c->delta);
}
