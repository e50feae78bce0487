/* language_net.h - a small language model for tests: grouped attention with a cache, gated MLPs or experts, a head. */
#ifndef TESTS_LANGUAGE_NET_H
#define TESTS_LANGUAGE_NET_H

#include "foretell/graph.h"

typedef struct language_net {
    int layers, width, heads, kv_heads, inner, words;
    int experts; /* 0: a gated MLP */
} language_net;

/* The usual sizes: 4 layers, width 64, 8 heads of 8 (2 of keys), inner 128, 96 words, no experts. In 16 bits. */
language_net language_net_usual(void);
/* Parameters of a layer, of the table of words, and of the whole. */
int64_t language_net_layer_params(const language_net *net);
int64_t language_net_params(const language_net *net);

/* As read: symbols B, S (tokens), P (cached before). */
ft_graph *language_net_graph(const language_net *net);
/* Bound to `batch` sequences of `tokens` tokens after `past`. The caller frees both. */
ft_graph *language_net_bound(const ft_graph *graph, int64_t batch, int64_t tokens, int64_t past);

#endif
