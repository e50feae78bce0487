/* perfseer.h - labels and file names of a PerfSeer / GAPP data set.
 *
 * perfseer_reader (read.h, perfseer.c) reads the graphs themselves. */
#ifndef READ_PERFSEER_H
#define READ_PERFSEER_H

#include "graph/graph.h"
#include "read/read.h"

enum { PERFSEER_FIELDS = 7, PERFSEER_STAGES = 4, PERFSEER_STYLE_SIZE = 32 };

typedef struct perfseer_label {
    bool has_train, has_infer;
    double train[PERFSEER_FIELDS];
    double infer[PERFSEER_FIELDS];
} perfseer_label;

/* Parses "{'train': 'a|b|c|d|e|f|g', 'infer': '...'}". Either part may be absent, not both. */
ft_status perfseer_parse_label(const char *text, size_t size, perfseer_label *label, ft_error *error);

typedef struct perfseer_name {
    int64_t batch;        /* 0: not in the name */
    uint32_t style_count; /* 0: not in the name */
    char styles[PERFSEER_STAGES][PERFSEER_STYLE_SIZE];
} perfseer_name;

/* Parses "bs128_..._s['mobilenet', 'vggnet', 'resnext', 'densenet']_bnum...", with or without a path before it.
 * Missing or malformed parts are omitted: any name is allowed. */
void perfseer_parse_name(const char *path, perfseer_name *name);

/* Adds the facts of the file name and of the label file to the graph's meta. The label file is STEM.txt beside
 * STEM.pkl, or in the folders label/, ../label/ and ../../label/label/. */
ft_status perfseer_add_meta(ft_graph *graph, const read_origin *origin, const perfseer_name *name, ft_error *error);

#endif
