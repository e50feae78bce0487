/* file.h - the bytes of a predictor file: a JSON header, one block of floats, and a hash over both. A file may hold
 * several predictors, one after the other.
 *
 * docs/formats/predictor.md has the layout byte by byte; metadata.c makes and parses the header. */
#ifndef PREDICTOR_CORE_FILE_H
#define PREDICTOR_CORE_FILE_H

#include "base/buf.h"
#include "base/json.h"
#include "nn/tree/trees.h"

enum {
    PREDICTOR_FILE_VERSION = 1,
    PREDICTOR_FILE_MAX_HEADER = 16 << 20, /* bytes */
    PREDICTOR_FILE_MAX_FLOATS = 1 << 28,
};

/* Of a number of the block: no weight, threshold or unit cost of a trained model comes near, and sums of many products
 * of such numbers are finite doubles. */
#define PREDICTOR_FILE_MAX_NUMBER 1e18F

#define PREDICTOR_FILE_MAX_BYTES (UINT64_C(1) << 31) /* all predictors of a file together */

typedef struct predictor_file {
    char *text;         /* the header, NUL-terminated */
    json_t *root;       /* the same, parsed; "accuracy" is replaced by null and only in the text */
    const float *block; /* inside the bytes, if their alignment and byte order allow it */
    float *owned;       /* a copy of the block otherwise; else NULL */
    size_t count;
    size_t size; /* bytes of this predictor */
} predictor_file;

/* Appends the file to `bytes`. A number of the block beyond PREDICTOR_FILE_MAX_NUMBER, or none, is an error. */
ft_status predictor_file_encode(const json_t *header, const float *block, size_t count, buf *bytes, ft_error *error);
/* Decodes the first predictor of the bytes, which have to outlive it. */
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
