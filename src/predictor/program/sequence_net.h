/* sequence_net.h - a network over the rows of a program, stores of its loops or steps of its schedule: a transformer
 * encoder over the rows, mean and maximum of them, and a head whose inputs also are features of the whole program and,
 * if widths.demand_marks > 0, the times of the device for its demand (program_demand.h). A kind of gnn.h whose graphs
 * have no edges. */
#ifndef PREDICTOR_SEQUENCE_NET_H
#define PREDICTOR_SEQUENCE_NET_H

#include "predictor/gnn/gnn.h"
#include "predictor/program/program_sheet.h"

enum { LEAF_SEQUENCE_VALUES = 50 }; /* features of a store that leaf-sequence reads */

/* Own options of the kinds. */
typedef enum sequence_columns {
    SEQUENCE_BY_DEVICE, /* an output for each device */
    SEQUENCE_SHARED     /* one output, which depends on the data sheet of the device */
} sequence_columns;

typedef enum sequence_readout {
    SEQUENCE_POOLED, /* mean and maximum of the rows */
    SEQUENCE_COUNTED /* also a layer for each number of rows */
} sequence_readout;

typedef struct sequence_options {
    double heads, inner; /* inner: width inside the encoder's feed-forward block, relative to hidden */
    double head;         /* layers of the head */
    uint32_t columns;    /* sequence_columns */
    uint32_t readout;    /* sequence_readout */
} sequence_options;

void sequence_defaults(gnn_options *shared, void *own);
void sequence_keys(void *own, config_list *list);
/* Number of features of a device; 0 without options (NULL). */
uint32_t sequence_column_values(const void *own);
ft_status sequence_check(const gnn_options *shared, const void *own, ft_error *error);
gnn_net *sequence_build(const gnn_plan *plan, params *p);
extern const char *const sequence_last[]; /* prefixes of the names of the last layers */
tensor *sequence_forward(const gnn_net *net, tape *t, const gnn_batch *batch);

/* Members of gnn_kind shared by kinds over rows: all but name, schema, defaults and extraction. */
#define SEQUENCE_NET                                                                                                   \
    .own_size = sizeof(sequence_options), .keys = sequence_keys, .check = sequence_check, .build = sequence_build,     \
    .forward = sequence_forward, .last = sequence_last, .has_hidden = true

/* --- Read-out by length --------------------------------------------------------------------------------------
 *
 * A layer for each number of rows, as in CDMPP: all rows of a program, concatenated, to one. Programs with more rows
 * than there are layers get zeros; the head has mean and maximum too. */

enum { SEQUENCE_MAX_COUNT = 16 };

typedef struct sequence_count {
    layer_linear of[SEQUENCE_MAX_COUNT + 1]; /* by number of rows; [0] is unused */
} sequence_count;

sequence_count sequence_count_add(params *p, uint32_t width);
/* One row for each segment of rows. */
tensor *sequence_count_apply(tape *t, const sequence_count *layers, tensor *x, segments s);

#endif
