/* settings.h - the settings of a fit: declared as tables, read from a configuration object.
 *
 * A family declares its settings once, in a table of ft_setting. The same table reads them, is listed by
 * `foretell list families`, spans the space of a hyperparameter search and is what an ablation switches off. */
#ifndef PREDICTOR_CORE_SETTINGS_H
#define PREDICTOR_CORE_SETTINGS_H

#include "base/json.h"
#include "predictor/core/family.h"

/* Fills `values`, one per setting, with what the object has (NULL has nothing) and defaults for the rest; words become
 * their index in the list. A key that is not in the table, or a value out of bounds, is FT_ERR_USAGE with a message
 * that lists the settings. */
ft_status settings_parse(const json_t *config, const ft_setting *settings, uint32_t count, double *values,
                         ft_error *error);
/* Copies the settings of a family, at most `room` of them; returns how many it has. */
uint32_t settings_of(const family *f, ft_setting *settings, uint32_t room);
/* A value as JSON: a number, or the word; NULL when out of memory. */
json_t *settings_value(const ft_setting *setting, double value);

/* --- Numbers and choices by name ----------------------------------------------------------------------------- */

enum { CONFIG_MAX_KEYS = 48, CONFIG_MAX_CHOICES = 16 };

typedef struct config_key {
    const char *name;
    double lo, hi;
    double *value; /* holds the default before reading */
} config_key;

typedef struct config_choice {
    const char *name;
    const char *const *names; /* of the alternatives */
    uint32_t count;
    uint32_t *value; /* index of names; holds the default before reading */
} config_choice;

/* A list that several modules add to: what all kinds of networks have, and what one has of its own. */
typedef struct config_list {
    config_key keys[CONFIG_MAX_KEYS];
    config_choice choices[CONFIG_MAX_CHOICES];
    uint32_t key_count, choice_count;
    bool is_whole[CONFIG_MAX_KEYS];
} config_list;

void config_add_number(config_list *list, const char *name, double lo, double hi, double *value);
/* A number without a fraction. */
void config_add_whole(config_list *list, const char *name, double lo, double hi, double *value);
void config_add_choice(config_list *list, const char *name, const char *const *names, uint32_t count, uint32_t *value);

/* Sets the values of the keys that the object has; errors as in settings_parse. */
ft_status config_read_list(const json_t *config, const config_list *list, ft_error *error);
/* The same for numbers alone. */
ft_status config_read(const json_t *config, const config_key *keys, uint32_t count, ft_error *error);
/* An object with every setting, which config_read_list reads again; NULL when out of memory. */
json_t *config_write_list(const config_list *list);

#endif
