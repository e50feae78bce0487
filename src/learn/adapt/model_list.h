/* model_list.h - a list of models to measure, as `foretell sample` writes it: a CSV with a column `graph` (the id of
 * the model's graph), `name`, or both. Other columns are passed over, so measuring scripts may add theirs. */
#ifndef LEARN_MODEL_LIST_H
#define LEARN_MODEL_LIST_H

#include "base/arena.h"
#include "foretell/dataset.h"

enum { MODEL_LIST_MAX = 100000, MODEL_LIST_MAX_BYTES = 64 << 20 };

typedef struct listed_model {
    const char *graph, *name; /* "" when the list does not tell */
    double weight;            /* positive; 1 when the list does not tell */
} listed_model;

typedef struct model_list {
    listed_model *items; /* from the arena */
    uint32_t count;
} model_list;

ft_status model_list_read(const char *path, arena *memory, model_list *list, ft_error *error);
/* The same from memory; `name` stands for the file in messages. */
ft_status model_list_parse(const char *name, const char *text, size_t size, arena *memory, model_list *list,
                           ft_error *error);
/* The graph of a data set that a line means: by its id, or else by the name of a record. FT_NONE: it is not there. */
ft_status model_list_find(const model_list *list, const ft_dataset *data, arena *memory, uint32_t *graphs,
                          ft_error *error);

#endif
