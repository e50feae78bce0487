/* timm_tables.h - the two tables of a timm folder, read into rows that name the file of their graph. */
#ifndef DATA_TIMM_TABLES_H
#define DATA_TIMM_TABLES_H

#include "base/arena.h"
#include "data/import.h"

enum { TIMM_TIME, TIMM_PEAK, TIMM_METRICS };

extern const char *const timm_metrics[TIMM_METRICS];

typedef struct timm_row {
    const char *table; /* path, for messages; borrowed */
    uint64_t line;
    const char *graph; /* name of a file in graphs/ */
    const char *name, *family, *device, *setting;
    int64_t batch;
    ft_dtype dtype;
    ft_mode mode;
    double metrics[TIMM_METRICS];
} timm_row;

typedef struct timm_rows {
    timm_row *items;
    uint32_t count, capacity;
    uint32_t table_count; /* how many tables there were */
} timm_rows;

/* Every row that can be used; what cannot is skipped and told. `graphs`: names of the files there are. Rows live in
 * `memory`. */
ft_status timm_tables_read(import_job *job, const name_list *graphs, arena *memory, timm_rows *rows);

typedef enum timm_table { TIMM_BENCHMARK, TIMM_MEMORY, TIMM_TABLES } timm_table;

/* The same for one table in memory, added to the rows there are; `path` stands for it in messages. */
ft_status timm_table_parse(import_job *job, timm_table kind, const char *path, const char *text, size_t size,
                           const name_list *graphs, arena *memory, timm_rows *rows);

#endif
