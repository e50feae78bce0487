/* import.h - shared by the importers. Each importer is a file of its own, import_KIND.c, and a row in import.c. */
#ifndef DATA_IMPORT_H
#define DATA_IMPORT_H

#include "base/csv.h"
#include "data/builder.h"
#include "foretell/dataset.h"

typedef struct import_job {
    const char *source;
    const char *folder; /* to create */
    const ft_import_options *options;
    ft_import_result *result;
    ft_error *error;
} import_job;

typedef struct importer {
    const char *name;
    const char *text; /* one-line description */
    ft_status (*run)(import_job *job);
} importer;

extern const importer ansor_importer, cg_importer, kernels_importer, mlp_importer, npu_importer, perfseer_importer,
    table_importer, timm_importer, trace_importer;

/* Reports a skipped item and the reason; an error when the import is strict. `why` is the same text for all items
 * skipped for one reason. */
ft_status import_skip(import_job *job, const char *where, const char *why);
/* Whether a file that could not be read may be skipped: FT_OK where the fault is the file's, which is there again the
 * next time. Exhausted memory and errors of the system end the import: data must not be missing by chance. */
ft_status import_may_skip(import_job *job, const char *path, ft_status status, const ft_error *why);
/* Skips a row that has fewer fields than the header. */
ft_status import_skip_short_row(import_job *job, const csv *rows, uint32_t found, uint32_t expected);
/* FT_ERR_CANCELLED when the caller's progress function asks to stop. */
ft_status import_progress(import_job *job, uint64_t done, uint64_t total, const char *what);
/* Whether the filters of the import reject a measurement; counts rejected ones. */
bool import_filter_rejects(import_job *job, double time_us, double noise);
/* Adds a record that passes the filters, and counts it; a duplicate measurement is skipped. */
ft_status import_record(import_job *job, builder *b, const ft_record *record, const char *where);
/* Completes the result and the folder. A data set without records is an error. */
ft_status import_finish(import_job *job, builder *b);

/* Metrics are stored in one unit each: "latency_ms" becomes "latency_us". Writes the canonical name; false when the
 * name does not end in a unit, and thus is not a metric. */
typedef struct metric_unit {
    const char *ending, *kept;
    int shift; /* power of ten */
    double factor;
} metric_unit;

bool metric_canonical_name(const char *column, char *name, size_t size, const metric_unit **unit);
/* Parses a number into the stored unit; decimal shifts are done on the text, so that nothing is rounded. False when
 * it is not a number above zero. */
bool metric_parse(const char *text, size_t length, const metric_unit *unit, double *value);

/* Sorted names of the entries of a folder, without those that begin with a dot. */
typedef struct name_list {
    char **names;
    uint32_t count;
} name_list;

ft_status name_list_read(const char *folder, name_list *list, ft_error *error);
void name_list_free(name_list *list);

/* --- model_files.c ----------------------------------------------------------------------------------------------- */

typedef struct model_file {
    const char *path;
    uint32_t graph; /* result: its index in the data set; FT_NONE when it is unusable (and was reported) */
} model_file;

/* Reads files with one model each in parallel, and adds them in the order of the list. Models that cannot be read or
 * bound are skipped; counts the others. */
ft_status model_files_add(import_job *job, builder *b, model_file *files, uint32_t count);

/* --- import_operators.c ------------------------------------------------------------------------------------------ */

/* Adds single operators that nn-Meter measured: one model for each operator in the files of `folder`, as family
 * "nnmeter-operators". A folder without such files adds nothing. Records get `metric_count` metrics, of which `time`
 * is in microseconds. */
ft_status import_operators(import_job *job, builder *b, const char *folder, uint32_t time, uint32_t metric_count);

/* --- import_mlp.c ------------------------------------------------------------------------------------------------ */

/* A graph with an open batch from a list of layers as Python prints it:
 *   [('linear', 629, 792540), ('ReLU', 629, 0), ...]: kind, width, parameters
 * FT_ERR_FORMAT, FT_ERR_LIMIT or FT_ERR_UNSUPPORTED when it is not such a list. */
ft_status mlp_graph(const char *layers, ft_graph **graph, ft_error *error);

#endif
