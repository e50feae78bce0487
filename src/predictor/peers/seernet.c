/* seernet.c - the families "seernet" and "seernet-multi", with the settings of the paper. */
#include "predictor/peers/seernet.h"

#include "base/error.h"
#include "nn/descent.h"
#include "predictor/core/families.h"
#include "predictor/gnn/gnn_family.h"

/* Adam at 0.001, halved when the validation error stops improving; MSE on z-scores of logarithms. */
static void defaults(gnn_options *shared, void *own) {
    (void)own;
    shared->hidden = 256;
    shared->layers = 1;
    shared->batch = 128;
    shared->rate = 1e-3;
    shared->loss = LOSS_MSE;
    shared->target = LABEL_LOG1P;
    shared->schedule = SCHEDULE_PLATEAU;
    shared->keep_best = 1;
    shared->forget = 0.01;
}

static ft_status check(const gnn_options *shared, const void *own, ft_error *error) {
    (void)own;
    if (shared->layers == 1) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "config: SeerNet has one block; use layers=1");
}

#define SEERNET_KIND(kind_name)                                                                                        \
    .name = (kind_name), .schema = SEERNET_SCHEMA, .defaults = defaults, .check = check, .widths = seernet_widths,     \
    .extract = seernet_extract, .build = seernet_build, .finalize = seernet_finalize, .forward = seernet_forward

static const gnn_kind single = {SEERNET_KIND("seernet")};
static const gnn_kind multi = {SEERNET_KIND("seernet-multi"), .combine = pcgrad};

GNN_FAMILY(seernet, single, "seernet", SEERNET_SCHEMA,
           "PerfSeer's network over operators, tensors and the whole graph");

GNN_FAMILY(seernet_multi, multi, "seernet-multi", SEERNET_SCHEMA,
           "seernet for several metrics at once, with conflicting gradients projected (PCGrad)");
