/* sampling_units.h - what is chosen and measured as a whole, and lists of it as `foretell sample` writes them.
 *
 * A unit is a model or, for tensor programs, a task with all its programs, as a tuner runs them one after the other. A
 * list is a CSV with a column `graph` (the id of the model's graph), `name`, or both, and optionally `weight`. Other
 * columns are ignored, so measuring scripts may add their own. */
#ifndef LEARN_SAMPLING_UNITS_H
#define LEARN_SAMPLING_UNITS_H

#include "base/arena.h"
#include "foretell/dataset.h"

/* --- Units of a data set ------------------------------------------------------------------------------------- */

typedef struct sampling_units {
    bool are_tasks;
    uint32_t count;
    const uint32_t *of_graph; /* per graph of the data set: its unit */
    const char *const *names; /* of a task: the name of its records; of a model: the id of its graph */
} sampling_units;

/* Memory is from the arena. */
ft_status sampling_units_find(const ft_dataset *data, arena *memory, sampling_units *found, ft_error *error);

/* --- Lists --------------------------------------------------------------------------------------------------- */

enum { MODEL_LIST_MAX = 100000, MODEL_LIST_MAX_BYTES = 64 << 20 };

typedef struct listed_model {
    const char *graph, *name; /* "" when the list has no such column */
    double weight;            /* positive; 1 without the column */
} listed_model;

typedef struct model_list {
    listed_model *items; /* from the arena */
    uint32_t count;
} model_list;

ft_status model_list_read(const char *path, arena *memory, model_list *list, ft_error *error);
/* The same from memory; `name` is the file name in messages. */
ft_status model_list_parse(const char *name, const char *text, size_t size, arena *memory, model_list *list,
                           ft_error *error);
/* Finds the graph of each line in a data set: by its id, or else by the name of a record. FT_NONE: not found. */
ft_status model_list_find(const model_list *list, const ft_dataset *data, arena *memory, uint32_t *graphs,
                          ft_error *error);

#endif
