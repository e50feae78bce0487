/* space.h - what a search may choose from: settings with a kind and a range each.
 *
 *     {"rate": "log-real:1e-4..0.1", "hidden": "log-int:16..128", "depth": "int:2..8", "keep": "real:0.5..1",
 *      "loss": ["mape", "log"], "batch": 64,
 *      "slope": {"range": "real:0..1", "when": {"loss": ["mape"]}}}
 *
 * A list is a choice; a single value is a choice of one. A key with "when" is there only where the choice that it
 * names, which has to come before it, has one of the values. A point of the space is a number per key: the number
 * itself, or the place of a choice; NaN for a key that is not there. */
#ifndef LEARN_SPACE_H
#define LEARN_SPACE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/rng.h"
#include "foretell/predictor.h"

enum { SPACE_MAX_KEYS = 32, SPACE_MAX_CHOICES = 64, SPACE_MAX_BYTES = 1 << 20 };

typedef enum space_kind { SPACE_INT, SPACE_REAL, SPACE_CHOICE } space_kind;

typedef struct space_key {
    const char *name;
    space_kind kind;
    bool is_log;
    double lo, hi; /* of numbers; both are in */
    json_t *choices[SPACE_MAX_CHOICES];
    uint32_t choice_count;
    uint32_t when;      /* the key that it hangs on; FT_NONE: none */
    uint64_t when_mask; /* bits of the choices with which it is there */
} space_key;

typedef struct space {
    space_key *keys; /* room for SPACE_MAX_KEYS */
    uint32_t count;
    arena memory;
} space;

ft_status space_open(space *s, ft_error *error); /* empty */
void space_free(space *s);

/* Adds what a family searches by itself. */
ft_status space_add_settings(space *s, const ft_setting *settings, uint32_t count, ft_error *error);
/* Adds the keys of a space file. */
ft_status space_add_text(space *s, const char *text, size_t size, ft_error *error);
/* Sets one key, new or not: "rate=log-real:1e-4..0.1", "loss=mape,log". */
ft_status space_set(space *s, const char *spec, ft_error *error);
/* Takes a key out, if it is there; keys that hang on it stay, always there. */
void space_remove(space *s, const char *name);
uint32_t space_find(const space *s, const char *name); /* FT_NONE when there is none */

/* The space as JSON, the same for the same space; NULL when out of memory. */
json_t *space_json(const space *s);

/* Whether a key is there, given the values of those before it. */
bool space_is_active(const space *s, uint32_t key, const double *values);
/* Numbers of a point go between 0 and 1 and back: logarithms for keys in ratios; whole numbers are rounded. */
double space_to_unit(const space_key *key, double value);
double space_from_unit(const space_key *key, double unit);
/* A point drawn evenly. */
void space_draw(const space *s, rng *random, double *values);
/* The point of the defaults of a family; NaN where the space does not have them. */
void space_usual(const space *s, const ft_setting *settings, uint32_t count, double *values);
/* One key of it, evenly. */
double space_draw_key(const space_key *key, rng *random);

/* The settings that a point stands for, put on top of a copy of `base`; NULL when out of memory. */
json_t *space_config(const space *s, const double *values, const json_t *base);

#endif
