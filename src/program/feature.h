/* feature.h - what a predictor sees of a loop nest: its compact tree, and 164 numbers for each store.
 *
 * The numbers are those of TVM's auto-scheduler, in its order, as docs/programs.md lists them. */
#ifndef PROGRAM_FEATURE_H
#define PROGRAM_FEATURE_H

#include "program/nest.h"

enum { FEATURE_COUNT = 164, FEATURE_BUFFERS = 5, FEATURE_CURVE = 10 };

typedef struct features {
    uint32_t leaf_count;
    float *leaves;     /* leaf_count x FEATURE_COUNT */
    float *gpu;        /* leaf_count x FEATURE_GPU_COUNT: feature_gpu.h */
    int32_t *node_ids; /* of the leaves: their nodes in the tree */
    int32_t *tree;     /* in pre-order, -1 where a node ends */
    uint32_t tree_length;
} features;

/* Memory is the program's arena. */
ft_status feature_extract(const nest *n, features *f);

/* Added to the numbers of the leaf at `position` in the tree (counted with the ends). */
float feature_position_value(uint32_t position, uint32_t i); /* the i-th of them alone */
void feature_position(uint32_t position, float out[static FEATURE_COUNT]);

/* A name for each of the 164, and behind them for those of feature_gpu.h: "float_mul", "B0.bytes", "threads". */
const char *feature_name(uint32_t index, char text[static 32]);

#endif
