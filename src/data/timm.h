/* timm.h - import of timm result folders: model names, memory table, and the two CSV tables as rows. */
#ifndef DATA_TIMM_H
#define DATA_TIMM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "data/import.h"
#include "foretell/graph.h"

/* --- timm_name.c ------------------------------------------------------------------------------------------------- */

enum { TIMM_FAMILY_BYTES = 64, TIMM_VERSION_BYTES = 16 };

/* The architecture family of a model, derived from its name alone, so that it also works for models of later
 * releases: "tf_efficientnetv2_s.in1k" is an "efficientnet". docs/data.md states the rule. */
void timm_family(const char *model, char family[static TIMM_FAMILY_BYTES]);

/* "amp" is float16 under autocast; false for an unknown word. */
bool timm_precision(const char *word, ft_dtype *dtype, bool *is_amp);

/* "pt240" is "2.4.0", "pt113" is "1.13.0", "" is ""; false for anything else. */
bool timm_version(const char *word, char version[static TIMM_VERSION_BYTES]);

/* Parses the file name of a graph: "MODEL@224_c21841_reparam.onnx.gz". False when it has another form. */
typedef struct timm_graph_name {
    size_t model; /* length of the model's name */
    long size;    /* of the image */
    bool is_other_head, is_reparam;
} timm_graph_name;

bool timm_graph_parse(const char *file, timm_graph_name *name);

/* --- timm_memory.c ----------------------------------------------------------------------------------------------- */

enum { TIMM_MAX_IMPOSSIBLE = 8 };

typedef struct timm_memory_facts {
    const char *model;
    double min_batch,
        min_forward; /* MiB of tensors after the forward pass, at the smallest batch, and at the largest */
    double max_batch, max_forward;
    double impossible[TIMM_MAX_IMPOSSIBLE]; /* peaks below the size of the tensors alone */
    uint32_t impossible_count;
    bool is_chosen;
    const char *graph;    /* chosen graph file, or NULL when there is none */
    bool has_other_sizes; /* there are graph files, but none of the right image size */
} timm_memory_facts;

/* Adds a row of the table; NaN: not in the row. */
void timm_memory_add_row(timm_memory_facts *facts, double batch, double peak_mib, double forward_mib, bool is_suspect);

/* False for a peak below the size of the tensors, and for the very same peak at another batch: there the training
 * ended before its first step, whatever the batch. */
bool timm_memory_is_plausible(const timm_memory_facts *facts, double peak_mib);

/* Chooses the graph of a model at the image size it was trained at; NULL when there is none. `folder` contains the
 * files. */
ft_status timm_memory_choose_graph(timm_memory_facts *facts, const char *model, const char *folder,
                                   const name_list *graphs, const char **graph, ft_error *error);

/* The same for all models before their rows are read, on several threads (0: one per core). */
ft_status timm_memory_choose_all(timm_memory_facts **facts, uint32_t count, const char *folder, const name_list *graphs,
                                 uint32_t threads, ft_error *error);

/* --- timm_tables.c ----------------------------------------------------------------------------------------------- */

enum { TIMM_TIME, TIMM_PEAK, TIMM_METRICS };

extern const char *const timm_metrics[TIMM_METRICS];

typedef struct timm_row {
    const char *table; /* path for messages; borrowed */
    uint64_t line;
    const char *graph; /* file name in graphs/ */
    const char *name, *family, *device, *setting;
    int64_t batch;
    ft_dtype dtype;
    ft_mode mode;
    double metrics[TIMM_METRICS];
} timm_row;

typedef struct timm_rows {
    timm_row *items;
    uint32_t count, capacity;
    uint32_t table_count; /* tables found */
} timm_rows;

/* Reads every usable row; others are skipped and reported. `graphs`: names of the graph files. Rows are allocated in
 * `memory`. */
ft_status timm_tables_read(import_job *job, const name_list *graphs, arena *memory, timm_rows *rows);

typedef enum timm_table { TIMM_BENCHMARK, TIMM_MEMORY, TIMM_TABLES } timm_table;

typedef struct timm_table_text {
    timm_table kind;
    const char *path; /* for messages */
    const char *text;
    size_t size;
} timm_table_text;

/* Appends the rows of one table in memory to `rows`. */
ft_status timm_table_parse(import_job *job, const timm_table_text *source, const name_list *graphs, arena *memory,
                           timm_rows *rows);

#endif
