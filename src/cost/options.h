/* options.h - checks of modes, optimisers and cost options that a caller passes. They fail with FT_ERR_USAGE; `what`
 * names the field: "request: mode". */
#ifndef COST_OPTIONS_H
#define COST_OPTIONS_H

#include "foretell/cost.h"
#include "foretell/training.h"

enum { MAX_IN_FLIGHT = 65536 }; /* micro-batches */

ft_status mode_check(ft_mode mode, const char *what, ft_error *error);
ft_status optimizer_check(ft_optimizer optimizer, const char *what, ft_error *error);
ft_status cost_options_check(const ft_cost_options *options, ft_error *error);

/* FT_ERR_USAGE for values that are not possible; the message names the field. */
ft_status training_check(const ft_training *training, ft_error *error);

#endif
