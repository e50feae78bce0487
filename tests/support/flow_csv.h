/* flow_csv.h - flows for the tests of replay/: parsed from a CSV text, or random. */
#ifndef TESTS_FLOW_CSV_H
#define TESTS_FLOW_CSV_H

#include "foretell/replay.h"

/* Parses a CSV text, called "flow.csv" in messages; the test fails when it is no flow. */
ft_flow *flow_from_csv(const char *csv);
/* `kernels` kernels of types a, b and c with times from 1 to 100 us and gradients; some are views that take no time.
 * Each depends on each of the 12 before it with the probability `links`. */
ft_flow *random_flow(uint64_t seed, uint32_t kernels, double links);

#endif
