/* dataset.h - data sets of measured models: a packed file of graphs and a table of measurements.
 *
 * A data set is a folder: graphs.ftg contains every distinct graph once, and is memory-mapped; records.csv has a row
 * for each (graph, device, batch, dtype, mode, setting) with the measured metrics. docs/formats/dataset.md specifies
 * the layout. An open data set is read-only; any number of threads may share it. */
#ifndef FORETELL_DATASET_H
#define FORETELL_DATASET_H

#include "foretell/cost.h"
#include "foretell/graph.h"

FT_C_BEGIN

typedef struct ft_dataset ft_dataset;

enum { FT_HASH_TEXT = 33 }; /* 128 bits in hexadecimal, and the end */

typedef struct ft_record {
    uint32_t graph;      /* index of its graph */
    const char *name;    /* of the model in its source; may be "" */
    const char *family;  /* of architectures; may be "" */
    const char *device;  /* by its canonical name (device.h) */
    const char *setting; /* other conditions of the measurement, "key=value;key=value"; may be "" */
    const char *part;    /* part of the published split ("train", "test", ...); may be "" */
    int64_t batch;
    ft_dtype dtype;
    ft_mode mode;
    bool is_synthetic;     /* computed, not measured */
    const double *metrics; /* one per metric of the data set; NaN: not measured */
} ft_record;

/* Opens a folder created by an import. Its tables are checked against the hashes in dataset.json, its graphs only
 * when they are read. The folder is memory-mapped, and must not change while it is open. */
FT_API ft_status ft_dataset_open(const char *folder, ft_dataset **data, ft_error *error);
FT_API void ft_dataset_free(ft_dataset *data);
FT_API uint32_t ft_dataset_graph_count(const ft_dataset *data);
/* Unpacks a graph as its reader built it, not bound. The caller frees it; it does not refer to the data set. */
FT_API ft_status ft_dataset_graph(const ft_dataset *data, uint32_t index, ft_graph **graph, ft_error *error);
FT_API const char *ft_dataset_graph_id(const ft_dataset *data, uint32_t index); /* hash of its content */
FT_API uint32_t ft_dataset_record_count(const ft_dataset *data);
FT_API const ft_record *ft_dataset_records(const ft_dataset *data);
/* Metrics are columns of the table: "time_us", "time_std_us", "peak_bytes", "util_ratio", ... */
FT_API uint32_t ft_dataset_metric_count(const ft_dataset *data);
FT_API const char *ft_dataset_metric_name(const ft_dataset *data, uint32_t index);
/* FT_NONE when the data set does not have it. */
FT_API uint32_t ft_dataset_metric(const ft_dataset *data, const char *name);
/* Hash of graphs and records: equal content has an equal hash. */
FT_API const char *ft_dataset_hash(const ft_dataset *data);

/* --- Creating data sets -------------------------------------------------------------------------------------- */

/* Progress callback of long operations, possibly from another thread, but never concurrently; `total` is 0 when
 * unknown. Returning false cancels: FT_ERR_CANCELLED. */
typedef bool ft_progress(void *user, uint64_t done, uint64_t total, const char *what);

/* Reports an item that an import skips: `where` names the file and the line or model, `why` the reason. */
typedef void ft_skip(void *user, const char *where, const char *why);

/* Measurements to leave out; 0 disables a limit. Noise is the standard deviation of repeated runs over their mean,
 * where known: at import from the source, later from the metric time_std_us. */
typedef struct ft_time_filter {
    double max_noise;
    double min_time_us, max_time_us;
} ft_time_filter;

typedef struct ft_import_options {
    bool is_strict; /* skipping an item is an error */
    ft_time_filter filter;
    const char *networks; /* "ansor": a table of tasks and their networks (docs/data.md); NULL: none */
    ft_progress *progress;
    ft_skip *skip;
    void *user;
    uint32_t threads; /* 0: one per core; the result does not depend on it */
} ft_import_options;

typedef struct ft_import_result {
    uint64_t models, graphs, records; /* read, distinct, written */
    uint64_t skipped;
    uint64_t filtered; /* rejected by noise or time */
    bool is_pool;      /* a "table" without metrics: models to choose from (sample.h), not measured */
} ft_import_result;

/* `kind`: "ansor", "cg", "kernels", "mlp", "npu", "perfseer", "table", "timm", "trace". The folder appears when it is
 * complete; an existing folder is an error. */
FT_API ft_status ft_import(const char *kind, const char *source, const char *folder, const ft_import_options *options,
                           ft_import_result *result, ft_error *error);
FT_API uint32_t ft_import_kind_count(void);
FT_API const char *ft_import_kind_name(uint32_t index);
FT_API const char *ft_import_kind_text(uint32_t index);

/* Merges data sets into a new one: equal graphs become one, a measurement in several is taken from the first. One
 * that contradicts an earlier one is skipped and reported. */
FT_API ft_status ft_dataset_merge(const char *const *folders, uint32_t count, const char *folder,
                                  const ft_import_options *options, ft_import_result *result, ft_error *error);
/* Checks everything: each graph matches its id and can be unpacked. */
FT_API ft_status ft_dataset_check(const char *folder, ft_progress *progress, void *user, ft_error *error);
/* Accepts an intended change: checks everything, and rewrites dataset.json. */
FT_API ft_status ft_dataset_rehash(const char *folder, ft_error *error);

/* --- Splits -------------------------------------------------------------------------------------------------- */

/* Parts of a split. A graph is in one of them only (except with "device:NAME:shared"). */
typedef enum ft_split_part { FT_PART_UNUSED, FT_PART_TRAIN, FT_PART_VALID, FT_PART_TEST } ft_split_part;

/* "unused", "train", "valid", "test", and back; false for any other text. */
FT_API const char *ft_split_part_name(ft_split_part part);
FT_API bool ft_split_part_parse(const char *text, ft_split_part *part);

typedef struct ft_split {
    char spec[256];
    uint64_t seed;
    char hash[FT_HASH_TEXT]; /* of the assignment */
    uint32_t counts[4];      /* records by part */
    uint8_t *parts;          /* an ft_split_part for each record of the data set */
} ft_split;

/* Specification of a split, as text (docs/splits.md):
 *   random[:80/10/10]      distinct graphs at random
 *   name[:80/10/10]        distinct model names at random, with all their graphs
 *   family:NAME            NAME is tested; a tenth of the other graphs is for validation
 *   fewshot:NAME:K         like family, with K graphs of NAME in training
 *   device:NAME            a fifth of its graphs is tested on it, and not used elsewhere
 *   device:NAME:shared     all its records are tested; their graphs may be in training on other devices
 *   network:NAME           like family, for data imported with a table of networks: all tasks of NAME are tested
 *   fold:KEY:K:I           fold I of K is tested; graphs with an equal KEY (name, letters, family or graph) stay
 * together deal:KEY:K:I           the same with folds of equal size, as far as the groups allow order[:ood] the
 * published split (column `part`) all                    nine tenths train, a tenth is for validation, nothing is
 * tested The part of a graph depends only on its content and the seed (with "deal", on all groups). An empty training
 * or test part (except with "all") is an error. */
FT_API ft_status ft_split_make(const ft_dataset *data, const char *spec, uint64_t seed, ft_split *split,
                               ft_error *error);
FT_API void ft_split_free(ft_split *split);

FT_C_END

#endif
