/* made_data.h - small data sets of made-up networks, for tests. Whatever fails stops the test. */
#ifndef TESTS_MADE_DATA_H
#define TESTS_MADE_DATA_H

#include "data/builder.h"
#include "foretell/cost.h"
#include "foretell/dataset.h"

/* The network of a number: a few convolutions of several sizes with what goes around them, never two the same. */
ft_graph *made_network(uint32_t number);

/* What it takes to run a bound graph once. */
ft_op_cost made_cost(const ft_graph *bound);

/* A data set being made in `folder`, with the metric time_us, or with others. */
builder *made_begin(const char *folder);
builder *made_begin_of(const char *folder, const char *const *metrics, uint32_t count);
/* Adds the record of a network; family, device and part as said, batch 1, inference, float32. */
typedef struct made_record {
    uint32_t network;
    const char *family, *device, *part;
    const char *setting; /* NULL: none */
    const char *name;    /* NULL: "net-NETWORK" */
    double time_us;
    const double *metrics; /* NULL: time_us alone */
} made_record;
void made_add(builder *b, const made_record *record);
ft_dataset *made_end(builder *b, const char *folder);

/* What a network takes on a device, by a rule of the test. */
typedef double made_rule(const ft_graph *bound, const char *device);
/* The first `networks` networks on all devices, families "one", "two", "three" in turn. */
ft_dataset *made_data(const char *folder, uint32_t networks, const char *const *devices, uint32_t device_count,
                      made_rule *rule);

#endif
