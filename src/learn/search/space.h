/* space.h - the search space of a search: settings with a kind and a range each.
 *
 *     {"rate": "log-real:1e-4..0.1", "hidden": "log-int:16..128", "depth": "int:2..8", "keep": "real:0.5..1",
 *      "loss": ["mape", "log"], "batch": 64,
 *      "slope": {"range": "real:0..1", "when": {"loss": ["mape"]}}}
 *
 * A list is a choice; a single value is a choice of one. A key with "when" is active only where the choice that it
 * names, an earlier key, has one of the given values. A point of the space is one number per key: the value itself, or
 * the index of a choice; NaN for an inactive key. */
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
    double lo, hi; /* of numbers; inclusive */
    json_t *choices[SPACE_MAX_CHOICES];
    uint32_t choice_count;
    uint32_t when;      /* the key that its condition names; FT_NONE: always active */
    uint64_t when_mask; /* bits of the choices of that key that make it active */
} space_key;

typedef struct space {
    space_key *keys; /* room for SPACE_MAX_KEYS */
    uint32_t count;
    arena memory;
} space;

ft_status space_open(space *s, ft_error *error); /* empty */
void space_free(space *s);

/* Adds the settings that a family declares as searched. */
ft_status space_add_settings(space *s, const ft_setting *settings, uint32_t count, ft_error *error);
/* Adds the keys of a space file. */
ft_status space_add_text(space *s, const char *text, size_t size, ft_error *error);
/* Adds or replaces one key: "rate=log-real:1e-4..0.1", "loss=mape,log". */
ft_status space_set(space *s, const char *spec, ft_error *error);
/* Removes a key, if it exists; keys whose condition names it become always active. */
void space_remove(space *s, const char *name);
uint32_t space_find(const space *s, const char *name); /* FT_NONE when there is none */

/* The space as JSON, the same for the same space; NULL when out of memory. */
json_t *space_json(const space *s);

/* Whether a key is active, given the values of earlier keys. */
bool space_is_active(const space *s, uint32_t key, const double *values);
/* Maps a number of a point to 0..1 and back: logarithmically for log keys; integers are rounded. */
double space_to_unit(const space_key *key, double value);
double space_from_unit(const space_key *key, double unit);
/* Draws a uniform point, or the value of one key. */
void space_draw(const space *s, rng *random, double *values);
double space_draw_key(const space_key *key, rng *random);
/* The point of a family's default settings; NaN where they are outside the space. */
void space_defaults(const space *s, const ft_setting *settings, uint32_t count, double *values);

/* The settings of a point, on top of a copy of `base`; NULL when out of memory. */
json_t *space_config(const space *s, const double *values, const json_t *base);

#endif
