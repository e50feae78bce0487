/* parallel.h - a model divided between devices: the graph that one rank runs, with what it exchanges with others.
 *
 *     ft_parallel p = {.tensor = 8, .pipeline = 2};
 *     ft_graph *rank;
 *     if (!ft_parallel_split(bound, &p, 0, &rank, &error)) ... // costs, kernels and memory of the first stage
 *
 * The result is a bound graph like any other: weights and activations have the sizes of one rank, and collectives are
 * operators in it. docs/language-models.md has the rules. */
#ifndef FORETELL_PARALLEL_H
#define FORETELL_PARALLEL_H

#include "foretell/cost.h"
#include "foretell/graph.h"

FT_C_BEGIN

/* Numbers of ranks; 0 counts as 1. */
typedef struct ft_parallel {
    uint32_t tensor;   /* ranks that divide each matrix */
    uint32_t pipeline; /* stages that divide the layers */
    uint32_t expert;   /* ranks that divide the experts: those of `tensor` first, then of `data` */
    uint32_t context;  /* ranks that divide the sequence */
    uint32_t data;     /* ranks with sequences of their own */
    bool has_sequence; /* what `tensor` leaves whole is divided along the sequence */
    ft_sharding sharding;
} ft_parallel;

enum { FT_MAX_RANKS = 65536 }; /* of each kind */

/* The graph of a rank of stage `stage`, from 0. Every rank of a stage has the same. Sizes that cannot be divided are
 * FT_ERR_USAGE: the message names the operator and its size. `bound` must outlive the result. */
FT_API ft_status ft_parallel_split(const ft_graph *bound, const ft_parallel *parallel, uint32_t stage, ft_graph **rank,
                                   ft_error *error);

FT_C_END

#endif
