/* serving.h - how a language model is served: lengths of sequences, formats of weights and caches, the runtime.
 *
 * With ft_parallel it decides the memory of a GPU. docs/serving-memory.md has the rules. */
#ifndef FORETELL_SERVING_H
#define FORETELL_SERVING_H

#include "foretell/cost.h"

FT_C_BEGIN

/* Zeros and NULLs are the defaults. The result of a request has what was used. */
typedef struct ft_serving {
    int64_t prompt_tokens;    /* of a sequence; 0: the context without `output_tokens` */
    int64_t output_tokens;    /* generated after the prompt */
    int64_t context_tokens;   /* room of a sequence; 0: prompt and output, or the longest that the model has */
    int64_t batched_tokens;   /* maximum of a step; 0: the usual one of the runtime */
    const char *runtime;      /* that serves it; NULL: the usual one of the device */
    const char *weights;      /* format of the matrices; NULL: as in the file */
    const char *kv_format;    /* of keys and values; NULL: as activations */
    double utilization_ratio; /* share of the device's memory that may be used; 0: the usual one of the runtime */
    bool has_no_graphs;       /* without CUDA graphs */
} ft_serving;

/* Runtimes by number; NULL beyond the last. */
FT_API const char *ft_serving_runtime_name(uint32_t index);
FT_API const char *ft_serving_runtime_text(uint32_t index); /* how it reserves memory, in a line */
/* Formats of weights, caches or both by number; NULL beyond the last. */
FT_API const char *ft_packed_format_name(uint32_t index);
/* Bits of a weight in a matrix of a layer with its share of scales; NaN: there is no such format. */
FT_API double ft_packed_format_bits(const char *name);

FT_C_END

#endif
