/* model_walk.h - the models of the command line, one after the other: files, folders of files, data sets.
 *
 * Models are read and prepared by several threads, handed over in the order of the command line, and forgotten, so
 * thousands of files take the memory of a few. A file that fails does not stop the others. */
#ifndef CLI_MODEL_WALK_H
#define CLI_MODEL_WALK_H

#include <stdatomic.h>

#include "cli.h"
#include "model_queue.h"

typedef struct model_walk model_walk;

/* Computes what can be computed of a model without the others, on any thread. *work is given to the visitor. */
typedef ft_status model_preparer(const model_walk *m, const char *path, const ft_graph *graph, void **work,
                                 ft_error *error);
/* Handles one model, in the order of the command line; an error is printed with the path. FT_ERR_IO is an error of the
 * output and ends the walk. */
typedef ft_status model_visitor(model_walk *m, const char *path, const ft_graph *graph, void *work, ft_error *error);
/* Called once before the first model, with has_several set; may be NULL. An error ends the walk. */
typedef ft_status model_walk_begin(model_walk *m, ft_error *error);

struct model_walk {
    argument_list paths;
    const output *out; /* where documents about them go */
    bool is_quiet;
    uint32_t threads; /* that prepare models; 0: one for each core */
    model_walk_begin *begin;
    model_preparer *prepare; /* NULL: visitors get no work, and run on one thread */
    void (*release)(void *work);
    model_visitor *visit;
    void *user;
    model_queue *queue; /* during the walk */

    /* Results: */
    bool has_several; /* several arguments or graphs; set before the first visit */
    bool is_begun;
    uint64_t model_count, failed_count, skipped_count;
    uint64_t file_count; /* passed so far */
    ft_status first_failure;
    _Atomic ft_status fatal; /* ends the walk */
};

void model_walk_run(model_walk *m);
/* Prints how many files were skipped and how many models failed. */
void model_walk_note_skipped(const model_walk *m);
/* The exit status: 13 when some of several models failed. Prints a message when there was no model. */
ft_status model_walk_status(const model_walk *m);

/* --- Shapes (shape_options.c) -------------------------------------------------------------------------------- */

enum { SHAPES_MAX = 256 };

/* Values of --shape: for a single model, or among several for those with an input or symbol of that name. */
typedef struct shape_list {
    ft_shape_binding items[SHAPES_MAX];
    uint32_t count;
    atomic_bool is_used[SHAPES_MAX];
} shape_list;

/* NAME=DIMS, to a shape_list. */
option_parser shapes_add;
#define SHAPE_ROW(type, field)                                                                                         \
    {                                                                                                                  \
        "shape", "NAME=DIMS",                                                                                          \
            "shape of an input (image=1x3x224x224) or value of a symbol (sequence=128); may be repeated", 0,           \
            PARSED_BY(shapes_add, type, field)                                                                         \
    }
/* The binding for a model. `chosen` has room for list->count shapes: those that the model has. */
ft_binding shapes_for(shape_list *list, ft_shape_binding *chosen, const ft_graph *graph, bool has_several,
                      int64_t batch);
/* A name that no model has is most likely misspelled: a message, and FT_ERR_USAGE. */
ft_status shapes_check_used(const shape_list *list, const model_walk *m);
void shapes_free(shape_list *list);

#endif
