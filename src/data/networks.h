/* networks.h - table of the networks that contain each tuning task. Tuning logs do not name networks, so the table
 * comes from the extraction of the tasks: two columns, `task` and `network`, with a row for each pair. */
#ifndef DATA_NETWORKS_H
#define DATA_NETWORKS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "foretell/status.h"

typedef struct networks {
    arena memory;
    map tasks;
    const char **lists; /* by task index: its networks, sorted and joined by '+' */
} networks;

/* Free `n` also after a failure. A table without these columns or without rows, and names with '+', are errors. */
ft_status networks_read(const char *path, networks *n, ft_error *error);
void networks_free(networks *n);
/* "" when the table does not have the task. */
const char *networks_of(const networks *n, const char *task);
/* Whether a '+'-joined list contains this network. */
bool networks_has(const char *list, const char *name);

#endif
