/* records.h - records.csv: one row per measurement (docs/formats/dataset.md). */
#ifndef DATA_RECORDS_H
#define DATA_RECORDS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/map.h"
#include "foretell/dataset.h"

/* Columns before the metrics. */
enum {
    COLUMN_GRAPH,
    COLUMN_NAME,
    COLUMN_FAMILY,
    COLUMN_DEVICE,
    COLUMN_BATCH,
    COLUMN_DTYPE,
    COLUMN_MODE,
    COLUMN_SETTING,
    COLUMN_PART,
    COLUMN_SOURCE,
    KEY_COLUMNS,
    MAX_METRICS = 48,
    MAX_METRIC_NAME = 64,
    MAX_CELL = 512, /* bytes of a text in a cell */
};

/* Whether the name ends in a unit, like "time_us". */
bool is_metric_name(const char *name);

/* Values that a metric can have, by its unit. Times are from 1 ns, a few clock cycles, to 1e12 us, which
 * is 11 days for a single run; the others exclude unit mistakes and numbers whose products overflow. Deviations
 * ("time_std_us") may be smaller. */
typedef struct metric_range {
    double min, max;
    const char *text; /* "from 0.001 to 1e12 us" */
} metric_range;

metric_range metric_range_of(const char *name);

const char *record_mode_name(ft_mode mode);
bool record_mode_parse(const char *text, ft_mode *mode);

/* A hash of the identity of a measurement: all columns but part, source and metrics. Returns `key`. */
const char *record_key(const ft_record *record, char key[static HASH_TEXT]);

/* --- Reading ----------------------------------------------------------------------------------------------------- */

typedef struct records {
    ft_record *rows;
    uint32_t count;
    const char **metrics; /* names */
    uint32_t metric_count;
} records;

typedef struct records_source {
    const char *name; /* of the file, for messages */
    const char *text;
    size_t size;
    const map *graphs;  /* from graph ids to indices */
    const char *folder; /* of the data set, which may describe devices of its own; NULL: none */
} records_source;

/* The result is allocated in `memory`. */
ft_status records_parse(const records_source *source, arena *memory, records *table, ft_error *error);

/* --- Writing ----------------------------------------------------------------------------------------------------- */

void records_put_header(buf *out, const char *const *metrics, uint32_t count);
void records_put_row(buf *out, const ft_record *record, const char *graph_id, uint32_t metric_count);

/* --- Time filter ------------------------------------------------------------------------------------------------- */

/* Import, training and evaluation share these two, so that one rule decides which measurements are too noisy, too
 * short or too long. Noise is a ratio of the time. Unknown values (NaN) are never rejected. */
bool time_filter_rejects(const ft_time_filter *filter, double time_us, double noise);
/* FT_ERR_USAGE when the minimum exceeds the maximum. */
ft_status time_filter_check(const ft_time_filter *filter, ft_error *error);

#endif
