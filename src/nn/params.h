/* params.h - the numbers of a network: named matrices in one flat block.
 *
 * A network names its matrices while it is built (params_add), then params_finish lays them out one after the other and
 * draws first values. Saving is one write, clearing one memset, and an optimiser sees nothing but floats. What training
 * changes by other means than gradients (running means) is state and stands behind everything that is trained:
 *
 *     values: | trained (trained_count) | state |        total_count floats
 *
 * The first values of a matrix depend on the seed and its name alone: another order of layers gives the same values. */
#ifndef NN_PARAMS_H
#define NN_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "foretell/status.h"

typedef enum param_init {
    PARAM_ZEROS,
    PARAM_ONES,
    PARAM_FAN_IN, /* uniform within 1 / sqrt(rows) */
    PARAM_XAVIER, /* uniform within sqrt(6 / (rows + cols)) */
    PARAM_NORMAL, /* deviation 1: embeddings */
} param_init;

typedef struct param {
    const char *name;
    uint32_t rows, cols;
    size_t offset; /* into the block, once finished */
    param_init start;
    bool is_state;
} param;

typedef uint32_t param_id;

typedef struct params {
    arena memory; /* of the names */
    param *items;
    uint32_t count, capacity;
    bool has_failed;
    float *values; /* NULL until finished */
    size_t trained_count, total_count;
} params;

void params_init(params *p);
void params_free(params *p);

/* Adds a matrix; the name is made as by printf and has to be new. Running out of memory shows in params_finish. */
param_id params_add(params *p, uint32_t rows, uint32_t cols, param_init start, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
param_id params_add_state(params *p, uint32_t rows, uint32_t cols, param_init start, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Lays the block out and fills it. Nothing can be added afterwards. Nothing is drawn with the seed PARAMS_ZEROED,
 * which is for values that are read from a file: all are zero. */
#define PARAMS_ZEROED UINT64_MAX
ft_status params_finish(params *p, uint64_t seed, ft_error *error);
/* Fills it anew. */
void params_initialize(params *p, uint64_t seed);

/* NULL when there is none of this name. */
const param *params_find(const params *p, const char *name);
static inline float *params_values(const params *p, param_id id) {
    return p->values + p->items[id].offset;
}

#endif
