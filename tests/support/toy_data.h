/* toy_data.h - a small data set for tests: chains of operators, with times on two devices by a formula. */
#ifndef TESTS_TOY_DATA_H
#define TESTS_TOY_DATA_H

#include <stdint.h>

#include "foretell/dataset.h"

typedef struct toy_data {
    uint32_t graph_count; /* 0: 60 */
    double factor;        /* of all labels; 0: 1 */
    uint32_t bad_record;  /* number from 1 of the record that gets `bad_label`; 0: none */
    double bad_label;
    bool has_no_labels;
    uint32_t operators; /* the first graphs count as single operators: part "support" */
    bool has_memory;
    uint32_t odd_every; /* one graph in so many, the first among them, has a setting of its own: "odd=1"; 0: none */
} toy_data;

/* Makes a data set in `folder` with the metrics time_us and peak_bytes (NaN unless `has_memory`). Records come
 * by graph, then by device: cortex-a76, adreno-640. Any failure aborts the
 * test program. */
void toy_data_make(const char *folder, const toy_data *options);
/* The same, opened. */
ft_dataset *toy_data_open(const char *folder, const toy_data *options);

#endif
