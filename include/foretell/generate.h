/* generate.h - data sets that nobody measured: random networks with labels that are worked out.
 *
 * They stand in for published data that cannot be had, to show that reading, training and evaluating work from end to
 * end, and at which size. What is learned from them says nothing about a real device; therefore they are marked as
 * synthetic in every file, and data sets that are imported from them have it in every record. docs/generate.md tells
 * how they are made. */
#ifndef FORETELL_GENERATE_H
#define FORETELL_GENERATE_H

#include <stdio.h>

#include "foretell/dataset.h"
#include "foretell/inspect.h"

FT_C_BEGIN

typedef struct ft_generate_options {
    uint64_t seed;
    double noise_ratio; /* of times and utilisation, about; a tenth of it for memory. 0: labels are exact */
    uint32_t threads;   /* 0: one for each core; the result is the same for any number */
    ft_progress *progress;
    void *user;
} ft_generate_options;

/* Of one quantity over all graphs. */
typedef struct ft_marginal {
    const char *name; /* with its unit: "flops_g", "train_time_ms" */
    double mean, min, median, max;
    double published[4]; /* the same four of the published data */
} ft_marginal;

enum { FT_MARGINALS = 9 };

typedef struct ft_generate_result {
    uint64_t networks;
    uint64_t graphs;  /* a network at a batch size */
    uint64_t skipped; /* graphs left out because they do not fit into the memory of the device */
    ft_marginal marginals[FT_MARGINALS];
} ft_generate_result;

/* Random networks of PerfSeer's design space at batches 1, 2, 4, ... 256, as far as they can be trained in the memory
 * of an RTX 3090, in the layout of the published data: FOLDER/dataset/cg/cg/STEM.pkl and dataset/label/label/STEM.txt.
 * The folder appears when it is complete, and must not be there yet; NULL: nothing is written. */
FT_API ft_status ft_generate_perfseer(const char *folder, uint32_t networks, const ft_generate_options *options,
                                      ft_generate_result *result, ft_error *error);

/* The marginals beside the published ones. */
FT_API ft_status ft_generate_write(const ft_generate_result *result, const ft_style *style, FILE *stream,
                                   ft_error *error);

FT_C_END

#endif
