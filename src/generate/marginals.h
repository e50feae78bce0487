/* marginals.h - marginal distributions of nine quantities over the graphs of a data set, beside the published ones. */
#ifndef GENERATE_MARGINALS_H
#define GENERATE_MARGINALS_H

#include "foretell/generate.h"

/* In the order of the published table; of each mode utilisation, memory, time. */
enum { MARGINAL_FLOPS, MARGINAL_BYTES, MARGINAL_PARAMS, MARGINAL_TRAIN, MARGINAL_INFER = MARGINAL_TRAIN + 3 };

typedef struct marginal_row {
    double values[FT_MARGINALS];
} marginal_row;

typedef struct marginals marginals;

marginals *marginals_new(void); /* NULL when out of memory */
void marginals_free(marginals *m);
bool marginals_add(marginals *m, const marginal_row *row); /* false when out of memory */
void marginals_finish(marginals *m, ft_marginal out[FT_MARGINALS]);

#endif
