/* settings.h - the settings of families as tables.
 *
 * A family declares its settings once, in a table of ft_setting; the same table reads them, is what `foretell list families`
 * tells, what a search tries and what an ablation leaves out. */
#ifndef PREDICTOR_SETTINGS_H
#define PREDICTOR_SETTINGS_H

#include "base/json.h"
#include "predictor/core/family.h"

/* Fills `values`, one per setting: what the object has (NULL has nothing), the default for the rest; words become their
 * place in the list. A key that is not in the table, or a value out of bounds, is FT_ERR_USAGE, and the message tells
 * what there is. */
ft_status settings_take(const json_t *config, const ft_setting *settings, uint32_t count, double *values,
                        ft_error *error);

/* The settings of a family, as many as there is room for; returns how many it has. */
uint32_t settings_of(const family *f, ft_setting *settings, uint32_t room);

/* A value as JSON: a number, or the word; NULL when out of memory. */
json_t *settings_value(const ft_setting *setting, double value);

#endif
