/* units.h - what is chosen and measured as a whole: a model, or, of tensor programs, a task with all its programs, as a
 * tuner runs them one after the other. */
#ifndef LEARN_UNITS_H
#define LEARN_UNITS_H

#include "base/arena.h"
#include "foretell/dataset.h"

typedef struct units {
    bool are_tasks;
    uint32_t count;
    const uint32_t *of;       /* per graph of the data set */
    const char *const *names; /* of tasks: the name that their programs stand under; of models: the id of the graph */
} units;

/* Memory is from the arena. */
ft_status units_find(const ft_dataset *data, arena *memory, units *found, ft_error *error);

#endif
