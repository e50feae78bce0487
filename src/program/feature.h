/* feature.h - features of a loop nest: its compact tree, and 164 numbers per store.
 *
 * The numbers are those of TVM's auto-scheduler, in its order; docs/programs.md lists them. */
#ifndef PROGRAM_FEATURE_H
#define PROGRAM_FEATURE_H

#include "program/nest.h"

enum { FEATURE_COUNT = 164, FEATURE_BUFFERS = 5, FEATURE_CURVE = 10 };

typedef struct features {
    uint32_t leaf_count;
    float *leaves;     /* leaf_count x FEATURE_COUNT */
    float *gpu;        /* leaf_count x FEATURE_GPU_COUNT: feature_gpu.h */
    int32_t *node_ids; /* nodes of the leaves in the tree */
    int32_t *tree;     /* in pre-order, -1 where a node ends */
    uint32_t tree_length;
} features;

/* Memory is the program's arena. */
ft_status feature_extract(const nest *n, features *f);

/* The position encoding, added to the features of the leaf at `position` in the tree (-1 entries counted). */
float feature_position_value(uint32_t position, uint32_t i); /* element i of it */
void feature_position(uint32_t position, float out[static FEATURE_COUNT]);

/* A name for each of the 164 features, then for those of feature_gpu.h: "float_mul", "B0.bytes", "threads". */
const char *feature_name(uint32_t index, char text[static 32]);

#endif
