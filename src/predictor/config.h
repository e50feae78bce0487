/* config.h - the settings of a fit: numbers by name, each with its bounds. */
#ifndef PREDICTOR_CONFIG_H
#define PREDICTOR_CONFIG_H

#include "base/json.h"

typedef struct config_key {
    const char *name;
    double lo, hi;
    double *value; /* holds the default before */
} config_key;

/* Takes what the object has; NULL has nothing. A key that is not in the list, or a value out of bounds, is
 * FT_ERR_USAGE, and the message tells what there is. */
ft_status config_take(const json_t *config, const config_key *keys, uint32_t count, ft_error *error);

#endif
