/* manifest.h - dataset.json: sizes and hashes of the two files of a data set, so that changes are detected. */
#ifndef DATA_MANIFEST_H
#define DATA_MANIFEST_H

#include "base/hash.h"
#include "foretell/status.h"

#define MANIFEST_FILE "dataset.json"
#define GRAPHS_FILE   "graphs.ftg"
#define RECORDS_FILE  "records.csv"

typedef struct manifest_file {
    uint64_t bytes;
    char hash[HASH_TEXT]; /* of the index of graphs.ftg, of all of records.csv */
} manifest_file;

typedef struct manifest {
    uint64_t graph_count, record_count;
    manifest_file graphs, records;
    char hash[HASH_TEXT]; /* of both */
} manifest;

/* Computes m->hash from those of the two files. */
void manifest_seal(manifest *m);
ft_status manifest_write(const char *path, const manifest *m, ft_error *error);
ft_status manifest_read(const char *path, manifest *m, ft_error *error);

#endif
