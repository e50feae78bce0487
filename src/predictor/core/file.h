/* file.h - the bytes of a predictor file: a JSON header and one block of floats, with a hash over all of it. Several
 * predictors may stand in one file, one after the other.
 *
 * docs/formats/predictor.md has the layout byte by byte. What the header says is header.h's business. */
#ifndef PREDICTOR_FILE_H
#define PREDICTOR_FILE_H

#include "base/buf.h"
#include "base/json.h"
#include "nn/tree/trees.h"

enum {
    PREDICTOR_FILE_VERSION = 1,
    PREDICTOR_FILE_MAX_HEADER = 16 << 20, /* bytes */
    PREDICTOR_FILE_MAX_FLOATS = 1 << 28,
};

#define PREDICTOR_FILE_MAX_BYTES (UINT64_C(1) << 31) /* all predictors of a file together */

typedef struct predictor_file {
    char *text;         /* the header as it stands in the file, NUL-terminated */
    json_t *root;       /* the same, parsed: an object; null stands for "accuracy", which only the text has */
    const float *block; /* in the bytes, where the machine can read them as they are */
    float *owned;       /* the block, where it cannot; else NULL */
    size_t count;
    size_t size; /* bytes of the file that it takes */
} predictor_file;

/* Appends the file to `bytes`. A number of the block that is not finite is an error. */
ft_status predictor_file_encode(const json_t *header, const float *block, size_t count, buf *bytes, ft_error *error);
/* The first predictor of some bytes, which have to outlive it. */
ft_status predictor_file_decode(const void *bytes, size_t size, predictor_file *file, ft_error *error);
void predictor_file_free(predictor_file *file);

/* --- The floats of a model ----------------------------------------------------------------------------------- */

typedef struct float_block {
    float *items;
    size_t count, capacity;
} float_block;

/* False when out of memory. */
bool float_block_add(float_block *block, const float *items, size_t count);
bool float_block_add_forest(float_block *block, const forest *f);
void float_block_free(float_block *block);

/* Both read a forest over rows of `features` floats from the front of what is left of a block, and trust nothing in it.
 * block_read_forest copies the trees; block_map_forest leaves them in the block, which has to outlive the forest, as
 * those of predictor files do. */
ft_status block_read_forest(const float **block, size_t *left, uint32_t features, forest **f, ft_error *error);
ft_status block_map_forest(const float **block, size_t *left, uint32_t features, forest **f, ft_error *error);

#endif
