/* language.h - language models: what a token costs, and what a sequence keeps in its cache.
 *
 *     ft_language language;
 *     if (!ft_language_of(graph, NULL, &language, &error) && language.has_cache)
 *         printf("%llu bytes a token\n", (unsigned long long)language.kv_bytes_per_token);
 *
 * The figures come from the graph, so a config.json, a GGUF file and an ONNX export of a model have the same. */
#ifndef FORETELL_LANGUAGE_H
#define FORETELL_LANGUAGE_H

#include "foretell/cost.h"

FT_C_BEGIN

/* What a graph can run. Models exported in two files have one for the prompt and one for the tokens after it. */
typedef enum ft_language_run {
    FT_RUN_BOTH,
    FT_RUN_PREFILL, /* of a prompt: nothing is cached before */
    FT_RUN_DECODE,  /* of one token after those of the cache */
} ft_language_run;

FT_API const char *ft_language_run_name(ft_language_run run); /* "prefill and decode", "prefill", "decode" */

/* Counts of cache bytes are for one sequence. Doubles are NaN where the model cannot be bound for such a run. */
typedef struct ft_language {
    bool has_cache;         /* false: not a model that generates text; nothing else is set */
    uint64_t params;        /* all of them */
    uint64_t active_params; /* that a token needs: of experts, those it is sent to */

    uint32_t attention_layers; /* layers whose cache grows with the sequence */
    uint32_t window_layers;    /* part of them: layers that look back over a window */
    uint32_t state_layers;     /* layers with a state of fixed size */
    uint64_t window_tokens;    /* of the longest window; 0: none */

    uint64_t kv_bytes_per_token;        /* of all layers, as if none had a window */
    uint64_t kv_window_bytes_per_token; /* part of it: layers that look back over a window */
    uint64_t input_kv_bytes_per_token;  /* of each token of the encoder's input; not in the others */
    uint64_t state_bytes;               /* of fixed size */
    uint64_t index_bytes_per_token;     /* keys by which an indexer chooses those of attention; not in the others */

    uint64_t context_tokens;    /* length of the sequence that the next figures are for */
    uint64_t kv_needed_bytes;   /* with no more than the window of layers that have one, and with the state */
    uint64_t kv_reserved_bytes; /* as runtimes reserve that treat all layers alike */

    uint64_t prompt_tokens;         /* of the prefill */
    double prefill_flops_per_token; /* of a prefill of one sequence */
    double decode_flops_per_token;  /* of a decode step of one sequence at the end of the context */
    double decode_bytes_per_token;  /* that this step moves: weights, cache, activations */
    ft_language_run run;
} ft_language;

/* `graph` as read, not bound. `binding` (may be NULL) sets the length of the prompt, of what is cached, and whatever
 * else the graph leaves open. */
FT_API ft_status ft_language_of(const ft_graph *graph, const ft_binding *binding, ft_language *language,
                                ft_error *error);

FT_C_END

#endif
