/* split_small.h - splits of data sets with few models: no part stays empty by chance.
 *
 * The part of a graph is drawn from its id alone, so a share of 10 % of five graphs is often none. Units (graphs, or
 * the graphs of one name) move to such a part, those with the largest random number first; larger data sets do not
 * change. */
#ifndef DATA_SPLIT_SMALL_H
#define DATA_SPLIT_SMALL_H

#include "foretell/dataset.h"

typedef struct small_split {
    const ft_dataset *data;
    bool is_by_name; /* graphs of one name stay together */
    uint64_t seed;
    bool has_part[4]; /* by ft_split_part: false when the split has no such part */
    uint8_t *parts;   /* per record */
} small_split;

/* At least one unit for training, one for testing and two for validation, as far as there are so many. */
void small_split_fill(const small_split *s);

#endif
