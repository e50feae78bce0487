/* file.h - the bytes of a predictor file: a JSON header and one block of floats, with a hash over all of it.
 *
 * docs/formats/predictor.md has the layout byte by byte. What the header says is header.h's business. */
#ifndef PREDICTOR_FILE_H
#define PREDICTOR_FILE_H

#include "base/buf.h"
#include "base/json.h"

enum {
    PREDICTOR_FILE_VERSION = 1,
    PREDICTOR_FILE_MAX_HEADER = 16 << 20, /* bytes */
    PREDICTOR_FILE_MAX_FLOATS = 1 << 28,
};

typedef struct predictor_file {
    char *text;   /* the header as it stands in the file, NUL-terminated */
    json_t *root; /* the same, parsed: an object */
    float *block;
    size_t count;
} predictor_file;

/* Appends the file to `bytes`. A number of the block that is not finite is an error. */
ft_status predictor_file_encode(const json_t *header, const float *block, size_t count, buf *bytes, ft_error *error);
ft_status predictor_file_decode(const void *bytes, size_t size, predictor_file *file, ft_error *error);
void predictor_file_free(predictor_file *file);

#endif
