/* config.h - the settings of a fit: numbers by name, each with its bounds, and choices among names. */
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

/* --- Lists of numbers and choices ---------------------------------------------------------------------------- */

enum { CONFIG_KEYS_MAX = 48, CONFIG_CHOICES_MAX = 16 };

typedef struct config_choice {
    const char *name;
    const char *const *names; /* what can be chosen */
    uint32_t count;
    uint32_t *value; /* index of names; holds the default before */
} config_choice;

/* A list that several can add to: what all kinds of networks have, and what one has of its own. */
typedef struct config_list {
    config_key keys[CONFIG_KEYS_MAX];
    config_choice choices[CONFIG_CHOICES_MAX];
    uint32_t key_count, choice_count;
    bool is_whole[CONFIG_KEYS_MAX];
} config_list;

void config_add_number(config_list *list, const char *name, double lo, double hi, double *value);
/* A number without a fraction. */
void config_add_whole(config_list *list, const char *name, double lo, double hi, double *value);
void config_add_choice(config_list *list, const char *name, const char *const *names, uint32_t count, uint32_t *value);

/* As config_take. */
ft_status config_take_list(const json_t *config, const config_list *list, ft_error *error);
/* An object with every setting, which config_take_list takes again; NULL when out of memory. */
json_t *config_write_list(const config_list *list);

#endif
