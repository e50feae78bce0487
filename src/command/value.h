/* value.h - values of options in JSON. */
#ifndef COMMAND_VALUE_H
#define COMMAND_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "foretell/status.h"

/* FT_ERR_USAGE: `what` is expected instead of the value. */
ft_status value_expected(const json_t *value, const char *what, ft_error *error);
/* Replaces *text, which is the caller's. */
ft_status value_text(const json_t *value, char **text, const char *what, ft_error *error);
ft_status value_flag(const json_t *value, bool *flag, ft_error *error);
ft_status value_count(const json_t *value, int64_t max, int64_t *count, ft_error *error); /* from 1 to `max` */
ft_status value_bytes(const json_t *value, double *bytes, ft_error *error);

#endif
