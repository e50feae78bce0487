/* generate.h - synthetic data sets: random networks with computed labels.
 *
 * They replace published data that is not available, to show that reading, training and evaluation work end to end
 * and at scale. Models trained on them say nothing about a real device; therefore every file is marked as synthetic,
 * and so is every record of data sets imported from them. docs/generate.md explains how they are generated. */
#ifndef FORETELL_GENERATE_H
#define FORETELL_GENERATE_H

#include <stdio.h>

#include "foretell/dataset.h"
#include "foretell/inspect.h"

FT_C_BEGIN

typedef struct ft_generate_options {
    uint64_t seed;
    double noise_ratio; /* approximate, of times and utilisation; a tenth of it for memory. 0: exact labels */
    uint32_t threads;   /* 0: one per core; the result does not depend on it */
    ft_progress *progress;
    void *user;
} ft_generate_options;

/* Distribution of one quantity over all graphs. */
typedef struct ft_marginal {
    const char *name; /* with its unit: "flops_g", "train_time_ms" */
    double mean, min, median, max;
    double published[4]; /* the same four of the published data */
} ft_marginal;

enum { FT_MARGINALS = 9 };

typedef struct ft_generate_result {
    uint64_t networks;
    uint64_t graphs;  /* a network at a batch size */
    uint64_t skipped; /* graphs that do not fit in the memory of the device */
    ft_marginal marginals[FT_MARGINALS];
} ft_generate_result;

/* Generates random networks of PerfSeer's design space at batches 1, 2, 4, ... 256, as far as they can be trained in
 * the memory of an RTX 3090, in the layout of the published data: FOLDER/dataset/cg/cg/STEM.pkl and
 * dataset/label/label/STEM.txt. The folder appears when it is complete, and must not exist yet; NULL: nothing is
 * written. */
FT_API ft_status ft_generate_perfseer(const char *folder, uint32_t networks, const ft_generate_options *options,
                                      ft_generate_result *result, ft_error *error);

/* Writes the marginal distributions beside the published ones. */
FT_API ft_status ft_generate_write(const ft_generate_result *result, const ft_style *style, FILE *stream,
                                   ft_error *error);

FT_C_END

#endif
