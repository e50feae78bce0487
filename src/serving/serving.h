/* serving.h - a language model as it is served: formats, runtimes, and the memory of a rank.
 *
 *   formats.c   packed formats of weights and caches, with exact bits
 *   runtimes.c  how runtimes reserve memory
 *   weights.c   bytes of the stored tensors of a rank
 *   rank.c      what memory of a rank depends on, measured on its graph once
 *   memory.c    memory at a number of sequences and a context */
#ifndef SERVING_SERVING_H
#define SERVING_SERVING_H

#include "base/arena.h"
#include "cost/layers.h"
#include "foretell/serving.h"
#include "graph/graph.h"

/* --- Formats ----------------------------------------------------------------------------------------------------- */

/* Bits of a number with its share of scales and zero points. */
typedef struct packed_format {
    const char *name;
    double bits;                    /* of matrices of layers; 0: a format of caches only */
    double value_bits, down_bits;   /* of value projections and last matrices of MLPs; 0: `bits` */
    double output_bits, fused_bits; /* of output projections, and of those of queries, keys and values in one */
    double table_bits, head_bits;   /* of the words and of the head; 0: not packed */
    double cache_bits;              /* of keys and values; 0: not for caches */
    bool is_of_experts;             /* where a model has experts, only these are packed */
} packed_format;

const packed_format *packed_format_find(const char *name); /* NULL: there is none */
/* The formats that exist for weights, or for caches, separated by commas. */
void packed_format_list(bool is_cache, char *text, size_t size);

/* --- Runtimes ---------------------------------------------------------------------------------------------------- */

typedef struct serving_runtime {
    const char *name, *text;
    int64_t page_tokens;                  /* what the cache of a sequence is a multiple of */
    bool has_pool;                        /* it fills its share of the memory with pages, whatever is needed */
    double window_ratio;                  /* share of the context that layers with a window keep at least */
    int64_t window_tokens;                /* that they keep beyond the window */
    int64_t batched_tokens;               /* of a step; 0: prompts are not divided */
    int64_t sampled_tokens;               /* positions whose logits have room at least */
    double used_ratio;                    /* of the device's memory */
    double margin_ratio;                  /* of the cache, that stays free beside it */
    double graph_bytes;                   /* of CUDA graphs, per layer */
    double context_bytes, exchange_bytes; /* of the driver with its libraries; of collectives */
    ft_dtype activations;                 /* FT_DTYPE_UNKNOWN: those of the model */
    ft_dtype states;                      /* of recurrent layers; FT_DTYPE_UNKNOWN: as in the model */
    bool has_host_table; /* of devices with a memory of their own, the table of words is in that of the host */
    bool has_all_logits; /* logits of all tokens of a step, in float32 */
} serving_runtime;

const serving_runtime *serving_runtime_find(const char *name); /* NULL: there is none */

/* --- A rank ------------------------------------------------------------------------------------------------------ */

/* Caches of layers with the same window. */
typedef struct window_cache {
    int64_t window; /* tokens; 0: no window */
    double token_bytes;
} window_cache;

enum { SERVING_MAX_WINDOWS = 8, SERVING_PARTS = 10 };

/* Everything that the memory of a rank depends on, whatever the batch and the context. */
typedef struct serving_rank {
    double weight_bytes;
    window_cache caches[SERVING_MAX_WINDOWS];
    uint32_t cache_count;
    double input_token_bytes; /* cache of each token of an encoder's input */
    double input_bytes;       /* the same of a sequence, where that input has a fixed size */
    double state_bytes;       /* of a sequence */
    double step_token_bytes;  /* activations, per token of a step */
    double logit_bytes;       /* of a position whose logits are computed */
    uint32_t layers;
} serving_rank;

/* What the rank is measured with. */
typedef struct serving_setup {
    const serving_runtime *runtime;
    const packed_format *weights; /* NULL: as in the file */
    const packed_format *cache;   /* NULL: as activations */
    ft_dtype dtype;               /* of activations and of weights that are not packed */
    ft_dtype file_dtype;          /* of activations by the file: weights of this type get the other */
    int64_t tokens;               /* of the step that the graph is bound to */
    uint32_t expert_ranks;        /* that divide the experts */
    bool has_host_table;          /* the table of words is elsewhere */
} serving_setup;

/* Bytes of all stored tensors. `rank` is bound. */
ft_status serving_weight_bytes(const ft_graph *rank, const model_layers *layers, const serving_setup *setup,
                               double *bytes, ft_error *error);
/* `rank` is bound to a step without a past; tensors of its caches are changed. */
ft_status serving_rank_measure(ft_graph *rank, const serving_setup *setup, serving_rank *out, ft_error *error);

/* --- Memory ------------------------------------------------------------------------------------------------------ */

/* Sequences that a rank serves at once. */
typedef struct serving_load {
    int64_t sequences, prompt_tokens, context_tokens, batched_tokens;
    uint32_t ranks; /* that exchange results */
    bool has_graphs;
} serving_load;

typedef struct serving_part {
    const char *name;
    double bytes;
    bool is_assumed;
} serving_part;

typedef struct serving_memory {
    serving_part parts[SERVING_PARTS];
    uint32_t part_count;
    double bytes, lo_bytes, hi_bytes;
    double assumed_bytes;
    double sequence_bytes; /* reserved for a sequence: cache and state */
    double cache_bytes;    /* reserved for all of them */
} serving_memory;

/* No part falls when sequences, prompt or context grow. */
void serving_memory_of(const serving_rank *rank, const serving_runtime *runtime, const serving_load *load,
                       serving_memory *out);

#endif
