/* networks.h - which networks a task belongs to. Tuning logs do not tell: whoever extracted the tasks from networks
 * knows, and gives a table of two columns, `task` and `network`, with a row for each pair. */
#ifndef DATA_NETWORKS_H
#define DATA_NETWORKS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "foretell/status.h"

typedef struct networks {
    arena memory;
    map tasks;
    const char **lists; /* by the number of the task: its networks, sorted, with '+' between them */
} networks;

/* Free it also after a failure. A table without these columns or without rows, and names with '+', are errors. */
ft_status networks_read(const char *path, networks *n, ft_error *error);
void networks_free(networks *n);
/* "" when the table does not have the task. */
const char *networks_of(const networks *n, const char *task);
/* Whether a list of networks, or one alone, has one of this name. */
bool networks_has(const char *list, const char *name);

#endif
