/* read.h - the interface of readers: source.c selects one by the content of the file. */
#ifndef READ_READ_H
#define READ_READ_H

#include "base/input.h"
#include "graph/graph.h"

/* The origin of the bytes. */
typedef struct read_origin {
    const char *path; /* for messages, and for files beside it */
    bool is_on_disk;  /* false for bytes in memory, which have no sibling files */
    filecopy *file;   /* where readers with matches_parts copy from; NULL: all bytes are there */
} read_origin;

typedef struct reader {
    ft_format format;
    /* Checks the content only (any bytes, of any length) and never fails. */
    bool (*matches)(const uint8_t *bytes, size_t size);
    /* Builds a finished graph. On failure, the message begins with the path. */
    ft_status (*read)(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph, ft_error *error);
    /* For formats with weights: as `matches`, and `read` copies what it reads by filecopy_load(origin->file, ...).
     * Readers without it get whole files. */
    bool (*matches_parts)(const uint8_t *bytes, size_t size, filecopy *file);
} reader;

/* The readers of FT_FORMAT_LIST: onnx_reader, tflite_reader, ... */
#define READER_DECLARE(id, name, text, extensions, identified_by) extern const reader name##_reader;
FT_FORMAT_LIST(READER_DECLARE)
#undef READER_DECLARE

#endif
