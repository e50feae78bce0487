/* sequence_net.h - a network over the rows of a program, be they leaves of its loops or steps of its schedule: an
 * encoder in which all rows of a program look at each other, a mean and a maximum over them, and a head that also sees
 * what is known of the program as a whole and, where widths have demand_marks, what the device makes of what the
 * program asks for (program_demand.h). A kind of gnn.h whose graphs have no edges. */
#ifndef PREDICTOR_SEQUENCE_NET_H
#define PREDICTOR_SEQUENCE_NET_H

#include "predictor/gnn/gnn.h"
#include "predictor/program/program_sheet.h"

enum { LEAF_SEQUENCE_VALUES = 50 }; /* features of a store that leaf-sequence reads */

/* Own options of the kinds. */
typedef enum sequence_columns {
    SEQUENCE_BY_DEVICE, /* an output for each device */
    SEQUENCE_SHARED     /* one output, for what a device's data sheet says */
} sequence_columns;

typedef enum sequence_readout {
    SEQUENCE_POOLED, /* mean and maximum of the rows */
    SEQUENCE_COUNTED /* and a layer of its own for each number of rows */
} sequence_readout;

typedef struct sequence_options {
    double heads, inner; /* inner: how many times wider than hidden the linear layers of the encoder are inside */
    double head;         /* layers of the head */
    uint32_t columns;    /* sequence_columns */
    uint32_t readout;    /* sequence_readout */
} sequence_options;

void sequence_defaults(gnn_options *shared, void *own);
void sequence_keys(void *own, config_list *list);
/* How many numbers it is told of a device; without options (NULL) none. */
uint32_t sequence_column_values(const void *own);
ft_status sequence_check(const gnn_options *shared, const void *own, ft_error *error);
gnn_net *sequence_build(const gnn_plan *plan, params *p);
extern const char *const sequence_last[]; /* the layers of the head */
tensor *sequence_forward(const gnn_net *net, tape *t, const gnn_batch *batch);

/* What kinds over rows share of a gnn_kind: all but its name, its schema, its defaults and what it sees
 * of programs and devices. */
#define SEQUENCE_NET                                                                                                   \
    .own_size = sizeof(sequence_options), .keys = sequence_keys, .check = sequence_check, .build = sequence_build,     \
    .forward = sequence_forward, .last = sequence_last, .has_hidden = true

#endif
