/* config.h - what the parts of the reader of HuggingFace's config.json share.
 *
 *   config.c         recognising, opening, nested files, the sizes that all families have
 *   config_field.c   access to fields
 *   config_family.c  families: what their files leave out, and how their layers differ
 *
 * The first failure is kept in `status`; reading goes on with fallbacks, and the caller checks once. */
#ifndef READ_LANGUAGE_CONFIG_H
#define READ_LANGUAGE_CONFIG_H

#include "base/json.h"
#include "read/language/language_model.h"

typedef struct config {
    const json_t *root; /* of the file */
    const json_t *text; /* the language model in it: the file itself, or its "text_config" */
    language_model *model;
    arena *memory;
    ft_status status;
    ft_error *error;
} config;

/* Fields of the language model. `keys` are alternatives, separated by spaces: families name a field differently, and
 * the first that is there and not null counts. A value of a wrong type or out of range is a failure that names it. */
int64_t config_int(config *c, const char *keys, int64_t fallback);
int64_t config_size(config *c, const char *keys); /* that must be there, and at least 1 */
bool config_bool(config *c, const char *keys, bool fallback);
const char *config_text(config *c, const char *keys, const char *fallback); /* lives as long as the file is parsed */
const json_t *config_value(const config *c, const char *keys, const char **key); /* NULL: not there */
/* A list; NULL: not there. */
const json_t *config_list(config *c, const char *keys);
int64_t config_list_int(config *c, const char *key, const json_t *list, size_t index, int64_t fallback);
bool config_list_has(const json_t *list, int64_t value);
void config_fail(config *c, ft_status status, const char *key, const char *what);

/* A line for the user, which is copied. */
void config_note(config *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the traits of the family of a model type, and its layers. */
void config_apply_family(config *c, const char *type);

#endif
