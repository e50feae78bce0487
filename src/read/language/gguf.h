/* gguf.h - files of the GGUF reader: gguf.c (the header, shards), gguf_meta.c (key-value metadata), gguf_model.c (from
 * metadata to a model), gguf_names.c (its weights by the names of the graph). */
#ifndef READ_LANGUAGE_GGUF_H
#define READ_LANGUAGE_GGUF_H

#include "read/language/language_model.h"
#include "read/language/weights.h"

/* Bytes of a file, read one after the other. */
typedef struct gguf_bytes {
    const uint8_t *bytes;
    size_t size, at;
    filecopy *file;  /* NULL: all bytes are there */
    bool is_swapped; /* big endian */
    ft_error *error;
} gguf_bytes;

/* "truncated at byte ..." where the file ends before `size` more bytes. */
ft_status gguf_take(gguf_bytes *in, size_t size, const uint8_t **at);
ft_status gguf_skip(gguf_bytes *in, uint64_t size);
ft_status gguf_u32(gguf_bytes *in, uint32_t *value);
ft_status gguf_u64(gguf_bytes *in, uint64_t *value);
/* A length and as many bytes, as a NUL-terminated copy. Longer ones than `max` are FT_ERR_LIMIT. */
ft_status gguf_string(gguf_bytes *in, size_t max, arena *memory, const char **text);

enum { GGUF_ABSENT, GGUF_INT, GGUF_FLOAT, GGUF_TEXT, GGUF_INTS, GGUF_LIST };

/* A value of the metadata; of long texts and of lists of texts only the length is kept. */
typedef struct gguf_value {
    const char *key;
    int kind;
    int64_t number;      /* GGUF_INT, also of booleans */
    double real;         /* GGUF_FLOAT */
    const char *text;    /* GGUF_TEXT */
    const int64_t *ints; /* GGUF_INTS */
    uint64_t count;      /* of GGUF_INTS and GGUF_LIST */
} gguf_value;

typedef struct gguf_meta {
    arena *memory;
    gguf_value *items;
    uint32_t count, capacity;
    map keys;
} gguf_meta;

ft_status gguf_meta_read(gguf_bytes *in, uint64_t count, arena *memory, gguf_meta *meta);
/* The value of "general.architecture" or, with a prefix of the architecture, of "llama.block_count". NULL: absent. */
const gguf_value *gguf_meta_find(const gguf_meta *meta, const char *prefix, const char *key);
int64_t gguf_meta_int(const gguf_meta *meta, const char *prefix, const char *key, int64_t fallback);
const char *gguf_meta_text(const gguf_meta *meta, const char *key, const char *fallback);

/* The weights of the file for a graph, and which of them it has taken. */
typedef struct gguf_stored {
    language_stored base;
    const weight_list *weights;
    bool *is_used;
} gguf_stored;

ft_status gguf_stored_init(gguf_stored *g, const weight_list *weights, ft_error *error);
/* Whether the graph has each weight of the file once, but for tables of positions, and no other. *left: what is wrong.
 */
bool gguf_stored_is_whole(const gguf_stored *g, const char **left);

/* The graph of the model that the metadata describes, with exactly the weights of the file. Where it is none, because
 * the architecture is not known or has other weights, *graph is NULL and *why says so, in memory of the list. Damaged
 * metadata of a known architecture is a failure that names the key. */
ft_status gguf_model_graph(const gguf_meta *meta, const char *name, const weight_list *weights, ft_graph **graph,
                           const char **why, ft_error *error);

#endif
