/* models.h - the models that a command was given: files, folders of files, data sets, one model after the other.
 *
 * Models are read, handed over and forgotten one by one, so thousands of files take the memory of one. A file that
 * fails does not stop the others. */
#ifndef CLI_MODELS_H
#define CLI_MODELS_H

#include "cli.h"

typedef struct models models;

/* What a command does with a model; messages of what it returns are printed with the path. FT_ERR_IO is taken to be the
 * output's and ends the run. */
typedef ft_status model_taker(models *m, const char *path, const ft_graph *graph, ft_error *error);
/* Called once, before the first model, when `has_several` is known; may be NULL. What it returns ends the run. */
typedef ft_status model_beginner(models *m, ft_error *error);

struct models {
    argument_list paths;
    const output *out; /* where documents about them go */
    bool is_quiet;
    model_beginner *begin;
    model_taker *take;
    void *user;

    /* What came of it: */
    bool has_several; /* arguments or graphs: asked before the first is taken */
    bool is_begun;
    uint64_t model_count, failed_count, skipped_count;
    uint64_t file_count; /* passed so far */
    ft_status first_failure;
    ft_status fatal; /* no use in going on */
};

void models_run(models *m);
/* Says how many files were passed over and how many models failed. */
void models_say_what_was_left_out(const models *m);
/* What the command exits with: 13 when some of several failed. Says so when there was no model at all. */
ft_status models_result(const models *m);

/* --- Shapes (shapes.c) ------------------------------------------------------------------------------------------ */

enum { SHAPES_MAX = 256 };

/* What --shape gave: for the one model, or, among several, for those that have an input or symbol of that name. */
typedef struct shape_list {
    ft_shape_binding items[SHAPES_MAX];
    uint32_t count;
    ft_shape_binding chosen[SHAPES_MAX]; /* those that the model at hand has */
    bool is_used[SHAPES_MAX];
} shape_list;

/* NAME=DIMS, to a shape_list. */
option_taker shapes_add;
#define SHAPE_ROW(type, field)                                                                                         \
    {                                                                                                                  \
        "shape", "NAME=DIMS",                                                                                          \
            "shape of an input (image=1x3x224x224) or value of a symbol (sequence=128); may be repeated", 0,           \
            TAKEN_BY(shapes_add, type, field)                                                                          \
    }
/* The binding for a model. */
ft_binding shapes_for(shape_list *list, const ft_graph *graph, bool has_several, int64_t batch);
/* A name that nothing has is most likely misspelled: a message, and FT_ERR_USAGE. */
ft_status shapes_check_used(const shape_list *list, const models *m);
void shapes_free(shape_list *list);

#endif
