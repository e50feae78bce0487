/* sample_pick.h - methods that select which models of a pool to measure. */
#ifndef LEARN_SAMPLE_PICK_H
#define LEARN_SAMPLE_PICK_H

#include "learn/sample/sample_space.h"

typedef struct sample_picks {
    uint32_t *items; /* points of the space, the most informative first; room for as many as are requested */
    double *values;  /* per pick: the number in sample_method.reason */
    uint32_t count;
} sample_picks;

typedef struct sample_method {
    const char *name, *text;
    const char *reason; /* a printf format for the value */
    /* Selects `count` different points; count is at most that of the space. */
    ft_status (*pick)(const sample_space *space, uint32_t count, uint64_t seed, sample_picks *picks, ft_error *error);
} sample_method;

extern const sample_method sample_methods[];
extern const uint32_t sample_method_total;
/* NULL is the default; an unknown name is FT_ERR_USAGE. */
ft_status sample_method_find(const char *name, const sample_method **method, ft_error *error);

/* The central moment discrepancy between some points and all of them, moments 1 to 5, with every column scaled to
 * 0..1. */
ft_status sample_discrepancy(const sample_space *space, const uint32_t *items, uint32_t count, double *discrepancy,
                             ft_error *error);

#endif
