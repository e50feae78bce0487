/* builder.h - makes a data set: graphs and records go in, a folder comes out, whole or not at all.
 *
 * Graphs and rows go to the disk as they come; in memory stay an id per graph and a key per record. */
#ifndef DATA_BUILDER_H
#define DATA_BUILDER_H

#include "base/hash.h"
#include "foretell/dataset.h"

typedef struct builder builder;

/* `metrics`: the columns of the table, in order. The folder must not be there yet. */
ft_status builder_new(const char *folder, const char *const *metrics, uint32_t metric_count, builder **made,
                      ft_error *error);
void builder_free(builder *b); /* also after finishing; what is not finished leaves nothing behind */

/* The index of the graph in the data set: that of the first one with the same content. */
ft_status builder_add_graph(builder *b, const ft_graph *graph, uint32_t *index, ft_error *error);
ft_status builder_add_packed(builder *b, const void *bytes, size_t size, uint32_t *index, ft_error *error);

typedef enum builder_outcome {
    RECORD_ADDED,
    RECORD_REPEATED,    /* the same measurement is there with the same values: left out */
    RECORD_CONTRADICTS, /* with other values: left out as well */
} builder_outcome;

/* The number of a metric; FT_NONE when it is not among them. */
uint32_t builder_metric(const builder *b, const char *name);
/* record->metrics has a value for each metric of the builder. The device must be by its canonical name. */
ft_status builder_add_record(builder *b, const ft_record *record, builder_outcome *outcome, ft_error *error);

/* Copies the description of a device that is not in the box from FOLDER/devices; once is enough. */
ft_status builder_add_device(builder *b, const char *folder, const char *name, ft_error *error);

uint32_t builder_graph_count(const builder *b);
ft_status builder_finish(builder *b, ft_error *error);

#endif
