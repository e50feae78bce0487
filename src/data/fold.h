/* fold.h - assignment of groups of graphs to cross-validation folds, and the units that splits hold out
 * (docs/splits.md). */
#ifndef DATA_FOLD_H
#define DATA_FOLD_H

#include "foretell/dataset.h"

typedef enum fold_key { FOLD_BY_NAME, FOLD_BY_LETTERS, FOLD_BY_FAMILY, FOLD_BY_GRAPH } fold_key;

typedef struct fold_spec {
    fold_key key;
    int64_t count, number; /* fold `number`, from 1, of `count` is the test fold; */
    bool is_dealt;         /* groups are placed by size, so that folds have equal sizes */
    double shares[2];      /* or, when count is 0: the fractions of train and valid; the rest is for testing */
} fold_spec;

/* Parses the text after "fold:" or "deal:", such as "name:5:2". */
ft_status fold_parse(const char *text, bool is_dealt, fold_spec *spec, ft_error *error);

/* An ft_split_part for each graph of the data set; undefined for a graph without records. */
ft_status fold_parts(const ft_dataset *data, const fold_spec *spec, uint64_t seed, uint8_t *parts, ft_error *error);

/* The unit that a split holds out whole, by its spec, in the plural: "models", "architectures", "families", "devices";
 * of tensor programs "programs", "tasks", "networks". Scores and intervals hold for new ones. NULL: the spec is of no
 * known kind. */
const char *split_unit(const char *spec, bool are_programs);

#endif
