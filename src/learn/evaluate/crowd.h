/* crowd.h - what the models of a data set are like: how large, of which operators, of which shapes.
 *
 * Two crowds side by side show where one leaves what the other knows. */
#ifndef LEARN_CROWD_H
#define LEARN_CROWD_H

#include "base/map.h"
#include "learn/evaluate/spread.h"
#include "predictor/core/scan.h"

/* key, text, unit, belongs to operators (else to models) */
#define CROWD_FEATURE_LIST(X)                                                                                          \
    X(CROWD_OPERATORS, "operators", "operators of a model", "", false)                                                 \
    X(CROWD_FLOPS, "flops", "work of a model", "FLOP", false)                                                          \
    X(CROWD_BYTES, "moved_bytes", "bytes that a model moves", "B", false)                                              \
    X(CROWD_PARAMS, "params", "parameters of a model", "", false)                                                      \
    X(CROWD_INTENSITY, "flops_per_byte", "work for each byte moved", "", false)                                        \
    X(CROWD_OP_FLOPS, "op_flops", "work of an operator", "FLOP", true)                                                 \
    X(CROWD_OP_ELEMS, "op_elems", "elements of a result", "", true)                                                    \
    X(CROWD_OP_CHANNELS, "op_channels", "channels of a result", "", true)                                              \
    X(CROWD_OP_ROWS, "op_rows", "rows of a result", "", true)                                                          \
    X(CROWD_OP_WINDOW, "op_window", "width of a window", "", true)                                                     \
    X(CROWD_OP_STRIDE, "op_stride", "stride of a window", "", true)                                                    \
    X(CROWD_OP_GROUPS, "op_groups", "groups of a convolution", "", true)

typedef enum crowd_feature {
#define CROWD_ENUM(name, key, text, unit, of_operators) name,
    CROWD_FEATURE_LIST(CROWD_ENUM)
#undef CROWD_ENUM
        CROWD_FEATURES
} crowd_feature;

const char *crowd_feature_key(uint32_t feature);
const char *crowd_feature_text(uint32_t feature);
const char *crowd_feature_unit(uint32_t feature);

typedef struct crowd_word {
    const char *word; /* what fusion rules call the operator */
    uint64_t count;
} crowd_word;

typedef struct crowd {
    spread *features; /* CROWD_FEATURES of them */
    uint64_t models, operators;
    arena memory;
    map index;
    crowd_word *words;
    uint32_t word_count, word_capacity;
} crowd;

/* Looks at the models of the rows. `operators`, when it is not NULL, gets for each row how many its model has. */
ft_status crowd_gather(crowd *c, const ft_dataset *data, fit_rows rows, pool *threads, const fit_context *context,
                       double *operators, ft_error *error);
void crowd_free(crowd *c);

/* The operators of `c` that `known` has none of, most frequent first; the caller frees the list. NULL: out of memory.
 */
crowd_word *crowd_unknown(const crowd *c, const crowd *known, uint32_t *count);

#endif
