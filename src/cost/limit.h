/* limit.h - the shortest time that a device can take for a step: what physics allows, whatever runs it.
 *
 * Two rules. Products (convolutions, matrix products, attention) take their FLOPs over the peak rate of their type, by
 * the cheapest algorithm there is. Bytes that must move between memory and the last-level cache take their number over
 * the bandwidth. Both are sums of terms that grow with the batch, so the limit does. docs/predict.md has the rules, and
 * bench/results/limit.csv what measured kernels and models say about them. */
#ifndef COST_LIMIT_H
#define COST_LIMIT_H

#include "base/arena.h"
#include "foretell/cost.h"
#include "graph/graph.h"

/* Types by their width; the rates of a device are by type. */
enum { LIMIT_BITS_4, LIMIT_BITS_8, LIMIT_BITS_16, LIMIT_BITS_32, LIMIT_TYPES };

/* Rates of a device; NaN: not known, and then no limit. */
typedef struct limit_rates {
    double flops_per_s[LIMIT_TYPES];
    double bytes_per_s;
    double cache_bytes; /* of the last-level cache */
} limit_rates;

/* A tensor that is written and read as a whole so many times. */
typedef struct limit_tensor {
    double bytes;
    uint32_t passes;
} limit_tensor;

/* The work of a step that no algorithm and no fusion of kernels avoids. */
typedef struct limit_work {
    double flops[LIMIT_TYPES];
    double weight_bytes; /* of all weights of products, once */
    uint32_t weight_passes;
    limit_tensor *tensors; /* activations that products read, inputs and outputs */
    uint32_t tensor_count;
} limit_work;

/* `cost` is that of the bound graph under the same options. The tensors are from the arena. False when out of memory.
 */
bool limit_work_make(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options, arena *memory,
                     limit_work *work);

/* The limit in microseconds; 0 when no rate is known. */
double limit_us(const limit_work *work, const limit_rates *rates);

#endif
