/* embedded.h - JSON files that travel inside the library: the tables that scripts/embed makes at build time, and how a
 * name given by a user is looked up in them. */
#ifndef BASE_EMBEDDED_H
#define BASE_EMBEDDED_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/status.h"

typedef struct embedded_file {
    const char *name;
    const char *text;        /* one line for people */
    const char *other_names; /* with a space between them; "" when it has none */
    const char *json;
} embedded_file;

extern const embedded_file rules_builtin[], device_builtin[];
extern const uint32_t rules_builtin_count, device_builtin_count;

/* By its name or one of its other names; NULL when there is none. */
const embedded_file *embedded_find(const embedded_file *files, uint32_t count, const char *name);
/* FT_ERR_USAGE: there is no such thing as `name`, and what there is; of many, the nearest. `what`: "rule set";
 * `command`: the one that lists them. */
ft_status embedded_fail(const embedded_file *files, uint32_t count, const char *what, const char *command,
                        const char *name, ft_error *error);
/* True for what can only be the path of a file of the user's own: it has a '/' or ends in ".json". */
bool embedded_is_path(const char *name);

#endif
