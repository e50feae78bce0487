/* import.h - what importers share. Each is a file of its own, import_KIND.c, and a row in import.c. */
#ifndef DATA_IMPORT_H
#define DATA_IMPORT_H

#include "base/csv.h"
#include "data/builder.h"
#include "foretell/dataset.h"

typedef struct import_job {
    const char *source;
    const char *folder; /* to make */
    const ft_import_options *options;
    ft_import_result *result;
    ft_error *error;
} import_job;

typedef struct importer {
    const char *name;
    const char *text; /* one line for people */
    ft_status (*run)(import_job *job);
} importer;

extern const importer ansor_importer, cg_importer, npu_importer, perfseer_importer, table_importer, timm_importer;

/* Tells what is left out, and why; an error when the import is strict. `why` is the same for all that are left out for
 * the same reason. */
ft_status import_skip(import_job *job, const char *where, const char *why);
/* The same for a row of a table that has fewer fields than its header. */
ft_status import_skip_short_row(import_job *job, const csv *rows, uint32_t found, uint32_t expected);
/* An error when the caller wants to stop. */
ft_status import_progress(import_job *job, uint64_t done, uint64_t total, const char *what);
/* Whether a measurement is to be left out by the filters of the import; counts it. */
bool import_filter_rejects(import_job *job, double time_us, double noise);
/* Adds a record that the filters let through, and counts it; a measurement that is there already is skipped. */
ft_status import_record(import_job *job, builder *b, const ft_record *record, const char *where);
/* Counts, and lets the folder appear. A data set without a record is an error. */
ft_status import_finish(import_job *job, builder *b);

/* Metrics are kept in one unit each: "latency_ms" becomes "latency_us". Writes the name it has here; false when it is
 * no metric, because its name does not end in a unit. */
typedef struct metric_unit {
    const char *ending, *kept;
    int shift; /* power of ten */
    double factor;
} metric_unit;

bool metric_canonical_name(const char *column, char *name, size_t size, const metric_unit **unit);
/* The number in the kept unit, decimal shifts done in the text, where nothing is rounded. False when it is not a number
 * above zero. */
bool metric_parse(const char *text, size_t length, const metric_unit *unit, double *value);

/* Sorted names of what is in a folder, without those that begin with a dot. */
typedef struct name_list {
    char **names;
    uint32_t count;
} name_list;

ft_status name_list_read(const char *folder, name_list *list, ft_error *error);
void name_list_free(name_list *list);

/* --- model_files.c ----------------------------------------------------------------------------------------------- */

typedef struct model_file {
    const char *path;
    uint32_t graph; /* made: its index in the data set, FT_NONE when it cannot be used, which was told */
} model_file;

/* A model that cannot be read or bound is skipped; counts those that can. */
ft_status model_files_add(import_job *job, builder *b, model_file *files, uint32_t count);

/* --- import_operators.c ------------------------------------------------------------------------------------------ */

/* Adds a model of one operator for each that the files in `folder` measured, as family "nnmeter-operators". A folder
 * without such files adds nothing. Records get `metric_count` metrics, of which `time` is in microseconds. */
ft_status import_operators(import_job *job, builder *b, const char *folder, uint32_t time, uint32_t metric_count);

#endif
