/* options.c - the usual options of costs, and checks of those that a caller passes. */
#include "cost/options.h"

#include <string.h>

#include "base/error.h"
#include "graph/arguments.h"

ft_cost_options ft_cost_options_default(void) {
    return (ft_cost_options){.optimizer = FT_MOMENTUM, .has_inplace = true, .has_fused_attention = true};
}

ft_status mode_check(ft_mode mode, const char *what, ft_error *error) {
    return mode == FT_INFER || mode == FT_TRAIN ? FT_OK : FT_OUT_OF_RANGE(error, what, mode, "ft_mode");
}

ft_status optimizer_check(ft_optimizer optimizer, const char *what, ft_error *error) {
    return (unsigned)optimizer <= FT_ADAMW_8BIT_PAGED ? FT_OK : FT_OUT_OF_RANGE(error, what, optimizer, "ft_optimizer");
}

ft_status cost_options_check(const ft_cost_options *options, ft_error *error) {
    FT_TRY(mode_check(options->mode, "cost options: mode", error));
    FT_TRY(dtype_check(options->dtype, "cost options: dtype", error));
    if ((unsigned)options->sharding > FT_SHARD_WEIGHTS)
        return FT_OUT_OF_RANGE(error, "cost options: sharding", options->sharding, "ft_sharding");
    if ((unsigned)options->recompute > FT_RECOMPUTE_FULL)
        return FT_OUT_OF_RANGE(error, "cost options: recompute", options->recompute, "ft_recompute");
    if (options->in_flight > MAX_IN_FLIGHT)
        return ft_fail(error, FT_ERR_USAGE, "cost options: in_flight %u is not possible; use 0 to %d",
                       options->in_flight, MAX_IN_FLIGHT);
    return optimizer_check(options->optimizer, "cost options: optimizer", error);
}

/* --- Training ------------------------------------------------------------------------------------------------ */

ft_status training_check(const ft_training *t, ft_error *error) {
    if ((unsigned)t->recompute > FT_RECOMPUTE_FULL)
        return FT_OUT_OF_RANGE(error, "request: recompute", t->recompute, "ft_recompute");
    if ((unsigned)t->precision > FT_PRECISION_FP8)
        return FT_OUT_OF_RANGE(error, "request: precision", t->precision, "ft_precision");
    if (t->micro_batch < 0 || t->micro_batch > FT_MAX_DIM)
        return ft_fail(error, FT_ERR_USAGE, "request: a micro-batch of %lld is not possible",
                       (long long)t->micro_batch);
    if (t->accumulation > FT_MAX_MICRO_BATCHES || t->loss_chunks > FT_MAX_MICRO_BATCHES)
        return ft_fail(error, FT_ERR_USAGE, "request: at most %d micro-batches or parts of the loss are possible",
                       FT_MAX_MICRO_BATCHES);
    if (t->lora_rank > FT_MAX_LORA_RANK)
        return ft_fail(error, FT_ERR_USAGE, "request: lora rank %u is not possible; use 1 to %d", t->lora_rank,
                       FT_MAX_LORA_RANK);
    if (t->has_packed_base && t->lora_rank == 0)
        return ft_fail(error, FT_ERR_USAGE, "request: a base model in 4 bits is frozen: give the rank of its adapters");
    if (t->has_packed_head && !t->has_packed_base)
        return ft_fail(error, FT_ERR_USAGE, "request: a head in 4 bits needs a base model in 4 bits");
    return FT_OK;
}

const char *ft_precision_name(ft_precision precision) {
    switch (precision) {
#define PRECISION_NAME(name, text)                                                                                     \
    case name:                                                                                                         \
        return text;
        FT_PRECISION_LIST(PRECISION_NAME)
#undef PRECISION_NAME
    }
    return "unknown";
}

bool ft_precision_parse(const char *text, ft_precision *precision) {
    if (text == NULL || precision == NULL) return false;
    for (ft_precision p = FT_PRECISION_AUTO; p <= FT_PRECISION_FP8; p++) {
        if (strcmp(ft_precision_name(p), text) != 0) continue;
        *precision = p;
        return true;
    }
    return false;
}
