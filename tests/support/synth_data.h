/* synth_data.h - small data sets of synthetic networks, for tests. Any failure aborts the test program. */
#ifndef TESTS_SYNTH_DATA_H
#define TESTS_SYNTH_DATA_H

#include "data/builder.h"
#include "foretell/cost.h"
#include "foretell/dataset.h"

/* Network `number`: a few convolutions of several sizes with activations, pools and a classifier; no two are equal. */
ft_graph *synth_network(uint32_t number);

/* The total cost of a bound graph. */
ft_op_cost synth_cost(const ft_graph *bound);

/* Begins a data set in `folder` with the metric time_us, or with the given ones. */
builder *synth_begin(const char *folder);
builder *synth_begin_of(const char *folder, const char *const *metrics, uint32_t count);
/* Adds a record of a network at batch 1, inference, float32. */
typedef struct synth_record {
    uint32_t network;
    const char *family, *device, *part;
    const char *setting; /* NULL: none */
    const char *name;    /* NULL: "net-NETWORK" */
    double time_us;
    const double *metrics; /* NULL: time_us alone */
} synth_record;
void synth_add(builder *b, const synth_record *record);
ft_dataset *synth_end(builder *b, const char *folder);

/* The time of a network on a device, by a rule of the test. */
typedef double synth_rule(const ft_graph *bound, const char *device);
/* The first `networks` networks on all devices, families "one", "two", "three" in turn. */
ft_dataset *synth_data(const char *folder, uint32_t networks, const char *const *devices, uint32_t device_count,
                       synth_rule *rule);

#endif
