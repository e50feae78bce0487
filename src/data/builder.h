/* builder.h - creation of a data set: graphs and records go in; the folder appears complete or not at all.
 *
 * Graphs and rows are written to disk as they come; memory holds an id per graph and a key per record. */
#ifndef DATA_BUILDER_H
#define DATA_BUILDER_H

#include "base/hash.h"
#include "foretell/dataset.h"

typedef struct builder builder;

/* `metrics`: the metric columns of the table, in order. The folder must not exist yet. */
ft_status builder_new(const char *folder, const char *const *metrics, uint32_t metric_count, builder **made,
                      ft_error *error);
void builder_free(builder *b); /* also after finishing; an unfinished data set is removed */

/* Returns the index of the graph in the data set: that of the first one with the same content. */
ft_status builder_add_graph(builder *b, const ft_graph *graph, uint32_t *index, ft_error *error);
ft_status builder_add_packed(builder *b, const void *bytes, size_t size, uint32_t *index, ft_error *error);

typedef enum builder_outcome {
    RECORD_ADDED,
    RECORD_REPEATED,    /* the same measurement exists with the same values: omitted */
    RECORD_CONTRADICTS, /* it exists with other values: omitted as well */
} builder_outcome;

/* The index of a metric; FT_NONE when the data set does not have it. */
uint32_t builder_metric(const builder *b, const char *name);
uint32_t builder_metric_count(const builder *b);
const char *builder_metric_name(const builder *b, uint32_t index);
/* record->metrics has a value for each metric of the builder. The device is given by its canonical name. */
ft_status builder_add_record(builder *b, const ft_record *record, builder_outcome *outcome, ft_error *error);

/* Copies the data sheet of a device that is not bundled from FOLDER/devices; needed once per device. */
ft_status builder_add_device(builder *b, const char *folder, const char *name, ft_error *error);

uint32_t builder_graph_count(const builder *b);
ft_status builder_finish(builder *b, ft_error *error);

#endif
