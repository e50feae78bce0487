/* read.h - what each reader offers to source.c, which finds the right one by content. */
#ifndef READ_READ_H
#define READ_READ_H

#include "base/input.h"
#include "graph/graph.h"

/* Where the bytes come from. */
typedef struct read_origin {
    const char *path; /* for messages, and for files beside it */
    bool is_on_disk;  /* false for bytes in memory: do not look for files beside it */
} read_origin;

typedef struct reader {
    ft_format format;
    /* Looks at the content only (it may be anything, of any length) and never fails. */
    bool (*matches)(const uint8_t *bytes, size_t size);
    /* Makes a finished graph. On failure, the message begins with the path. */
    ft_status (*read)(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph, ft_error *error);
} reader;

extern const reader onnx_reader, tflite_reader, nnmeter_reader, perfseer_reader;

/* The CG tables are many graphs in three files: their reader is a source of its own (cg.h). */
#endif
