/* options.c - the usual options of costs, and checks of those that a caller passes. */
#include "cost/options.h"

#include "base/error.h"
#include "graph/arguments.h"

ft_cost_options ft_cost_options_default(void) {
    return (ft_cost_options){.optimizer = FT_MOMENTUM, .has_inplace = true, .has_fused_attention = true};
}

ft_status mode_check(ft_mode mode, const char *what, ft_error *error) {
    return mode == FT_INFER || mode == FT_TRAIN ? FT_OK : FT_OUT_OF_RANGE(error, what, mode, "ft_mode");
}

ft_status optimizer_check(ft_optimizer optimizer, const char *what, ft_error *error) {
    return (unsigned)optimizer <= FT_ADAMW ? FT_OK : FT_OUT_OF_RANGE(error, what, optimizer, "ft_optimizer");
}

ft_status cost_options_check(const ft_cost_options *options, ft_error *error) {
    FT_TRY(mode_check(options->mode, "cost options: mode", error));
    FT_TRY(dtype_check(options->dtype, "cost options: dtype", error));
    return optimizer_check(options->optimizer, "cost options: optimizer", error);
}
