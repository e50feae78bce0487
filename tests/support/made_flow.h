/* made_flow.h - flows for the tests of replay/: written as a table, or drawn by chance. */
#ifndef TESTS_MADE_FLOW_H
#define TESTS_MADE_FLOW_H

#include "foretell/replay.h"

/* The flow of a CSV text, called "flow.csv" in messages. Fails the test when it is none. */
ft_flow *made_flow(const char *csv);
/* So many kernels of types a, b and c with times from 1 to 100 us, each of which needs one of those before it with this
 * probability, gradients and some views that take no time. */
ft_flow *random_flow(uint64_t seed, uint32_t kernels, double links);

#endif
