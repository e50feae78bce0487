/* params.h - parameters of a network: named matrices in one flat block of floats.
 *
 * A network registers its matrices while it is built (params_add), then params_finish lays them out one after the other
 * and initialises them. Saving is one write, clearing one memset, and an optimiser processes plain floats. State, which
 * training changes by other means than gradients (running means), follows the trained parameters:
 *
 *     values: | trained (trained_count) | state |        total_count floats
 *
 * Initial values of a matrix depend on the seed and its name alone, not on the order of layers. */
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
    PARAM_FAN_IN, /* uniform in +-1 / sqrt(rows) */
    PARAM_XAVIER, /* uniform in +-sqrt(6 / (rows + cols)) */
    PARAM_NORMAL, /* standard normal: embeddings */
} param_init;

typedef struct param {
    const char *name;
    uint32_t rows, cols;
    size_t offset; /* into the block, after params_finish */
    param_init init;
    bool is_state;
} param;

typedef uint32_t param_id;

typedef struct params {
    arena memory; /* for the names */
    param *items;
    uint32_t count, capacity;
    bool has_failed;
    float *values; /* total_count; NULL before params_finish */
    size_t trained_count, total_count;
} params;

void params_init(params *p);
void params_free(params *p);

/* Adds a matrix; its name is formatted as by printf and must be unique. params_finish reports running out of memory. */
param_id params_add(params *p, uint32_t rows, uint32_t cols, param_init init, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
param_id params_add_state(params *p, uint32_t rows, uint32_t cols, param_init init, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Lays the block out and initialises it. Nothing can be added afterwards. With the seed PARAMS_ZEROED all values are
 * zero, for parameters that are then read from a file. */
#define PARAMS_ZEROED UINT64_MAX
ft_status params_finish(params *p, uint64_t seed, ft_error *error);
/* Initialises all values again. */
void params_initialize(params *p, uint64_t seed);

/* NULL when there is no parameter of this name. */
const param *params_find(const params *p, const char *name);
/* rows x cols */
static inline float *params_values(const params *p, param_id id) {
    return p->values + p->items[id].offset;
}

/* --- Blocks of floats: parameters, gradients, averages ------------------------------------------------------- */

/* `count` floats, uninitialised, aligned to a cache line; free with free(). NULL when out of memory. */
float *block_new(size_t count);
/* Euclidean norm of x (count); the order of the sum does not depend on the processor. */
double block_norm(const float *x, size_t count);
/* Scales x (count) down to norm `limit` when it is longer; returns the norm before. A limit of 0 changes nothing. A
 * norm that is not finite changes nothing either: the caller has to check. */
double block_clip(float *x, size_t count, double limit);
/* average (count) = decay average + (1 - decay) x (count): exponential moving average. */
void block_average(float *average, const float *x, size_t count, double decay);

#endif
