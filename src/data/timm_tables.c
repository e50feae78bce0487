/* timm_tables.c - parser of benchmark.csv (step times) and train_memory_a100.csv (peak memory), each possibly
 * gzipped or absent.
 *
 * Columns are found by their names. A row with an unknown word (a device, a precision) is skipped, as later files
 * may have new ones; a table without the required columns is damaged. */
#include "data/timm.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/input.h"
#include "base/map.h"
#include "base/text.h"
#include "data/records.h"
#include "foretell/device.h"

const char *const timm_metrics[TIMM_METRICS] = {"time_us", "peak_bytes"};

enum { MAX_COLUMNS = 64 };

/* Columns of both tables; each table requires some of them. */
enum {
    AT_MODEL,
    AT_BATCH,
    AT_GRAPH,
    AT_PHASE,
    AT_DEVICE,
    AT_PRECISION,
    AT_LAYOUT,
    AT_TORCH,
    AT_COMPILE,
    AT_RATE,
    AT_STEP,
    AT_PEAK,
    AT_SUSPECT,
    AT_FORWARD,
    COLUMN_COUNT
};

static const char *const column_names[COLUMN_COUNT] = {"model",         "batch_size",
                                                       "graph",         "phase",
                                                       "device",        "precision",
                                                       "layout",        "torch",
                                                       "torch_compile", "samples_per_sec",
                                                       "step_time_ms",  "max_gpu_memory_mib",
                                                       "suspect_oom",   "faketensor_after_forward_mib"};

typedef struct table {
    import_job *job;
    const name_list *graphs;
    arena *memory;
    timm_rows *rows;
    const char *path; /* for messages */
    csv text;
    uint32_t column_count;
    uint32_t columns[COLUMN_COUNT]; /* FT_NONE: absent */
    csv_field cells[MAX_COLUMNS];
    char texts[COLUMN_COUNT][MAX_CELL]; /* of the current row */
    const char *graph_folder;
    map models; /* from model names to indices in `facts` */
    timm_memory_facts **facts;
    uint32_t fact_count, fact_capacity;
} table;

typedef ft_status row_reader(table *t, timm_row *row, const char **why);

/* --- Cells ------------------------------------------------------------------------------------------------------- */

/* A field's value as a number above zero, and the relative rounding error of its last digit. */
static bool parse_rounded(const char *text, double *value, double *rounding) {
    if (!text_double(text, strlen(text), value) || !(*value > 0) || !isfinite(*value)) return false;
    const char *dot = strchr(text, '.');
    *rounding = 0.5 * pow(10, dot != NULL ? -(double)strspn(dot + 1, "0123456789") : 0) / *value;
    return true;
}

/* The table has the time of a step and the rate of samples, both rounded: uses the one with more digits. */
static bool step_time(const table *t, int64_t batch, double *time_us) {
    double step, rate, step_doubt, rate_doubt;
    bool has_step = parse_rounded(t->texts[AT_STEP], &step, &step_doubt);
    bool has_rate = parse_rounded(t->texts[AT_RATE], &rate, &rate_doubt);
    if (!has_step && !has_rate) return false;
    *time_us = !has_rate || (has_step && step_doubt <= rate_doubt) ? step * 1e3 : (double)batch * 1e6 / rate;
    return *time_us > 0 && isfinite(*time_us);
}

static bool read_batch(const table *t, int64_t *batch) {
    double number; /* "64" and "64.0" */
    const char *word = t->texts[AT_BATCH];
    if (!text_double(word, strlen(word), &number) || number < 1 || number > 1 << 24 || number != floor(number))
        return false;
    *batch = (int64_t)number;
    return true;
}

static ft_status read_name(table *t, timm_row *row) {
    char family[TIMM_FAMILY_BYTES];
    timm_family(t->texts[AT_MODEL], family);
    row->name = arena_string(t->memory, t->texts[AT_MODEL], strlen(t->texts[AT_MODEL]));
    row->family = arena_string(t->memory, family, strlen(family));
    return row->name != NULL && row->family != NULL ? FT_OK : FT_NOMEM(t->job->error);
}

static int by_name(const void *key, const void *item) {
    return strcmp(key, *(char *const *)item);
}

static const char *find_graph(const table *t, const char *file) {
    if (t->graphs->count == 0) return NULL;
    char **found = bsearch(file, t->graphs->names, t->graphs->count, sizeof *t->graphs->names, by_name);
    return found != NULL ? *found : NULL;
}

/* --- Rows of times ----------------------------------------------------------------------------------------------- */

static ft_status read_setting(table *t, timm_row *row, bool is_amp, const char **why) {
    char version[TIMM_VERSION_BYTES];
    const char *layout = t->texts[AT_LAYOUT], *compile = t->texts[AT_COMPILE];
    bool is_compiled = strcmp(compile, "1") == 0 || strcmp(compile, "True") == 0;
    if (strcmp(layout, "nchw") != 0 && strcmp(layout, "nhwc") != 0) *why = "its layout is neither nchw nor nhwc";
    if (!timm_version(t->texts[AT_TORCH], version)) *why = "its PyTorch version does not have the form pt240";
    if (*why != NULL) return FT_OK;
    /* An empty setting would mean the newest version. */
    row->setting = arena_format(t->memory, "amp=%s;compile=%s;layout=%s;torch=%s", is_amp ? "yes" : "no",
                                is_compiled ? "yes" : "no", layout, version[0] != '\0' ? version : "unknown");
    return row->setting != NULL ? FT_OK : FT_NOMEM(t->job->error);
}

static ft_status parse_time_row(table *t, timm_row *row, const char **why) {
    bool is_amp = false;
    row->device = ft_device_canonical(t->texts[AT_DEVICE]);
    row->graph = find_graph(t, t->texts[AT_GRAPH]);
    if (t->texts[AT_GRAPH][0] == '\0')
        *why = "it has no graph";
    else if (row->graph == NULL)
        *why = "its graph is not in the folder graphs";
    else if (row->device == NULL)
        *why = "its device is unknown";
    else if (!timm_precision(t->texts[AT_PRECISION], &row->dtype, &is_amp))
        *why = "its precision is unknown";
    else if (!record_mode_parse(t->texts[AT_PHASE], &row->mode))
        *why = "its phase is neither infer nor train";
    else if (!step_time(t, row->batch, &row->metrics[TIMM_TIME]))
        *why = "its time is not a number above zero";
    return *why == NULL ? read_setting(t, row, is_amp, why) : FT_OK;
}

/* --- Rows of memory ---------------------------------------------------------------------------------------------- */

static bool is_suspect(const table *t) {
    return strcmp(t->texts[AT_SUSPECT], "1") == 0;
}

/* The combined facts of the rows of the current model. */
static ft_status find_facts(table *t, timm_memory_facts **facts) {
    const char *model = t->texts[AT_MODEL];
    uint32_t at;
    if (map_get(&t->models, model, &at)) {
        *facts = t->facts[at];
        return FT_OK;
    }
    if (t->fact_count == t->fact_capacity) {
        uint32_t larger = t->fact_capacity == 0 ? 256 : t->fact_capacity * 2;
        timm_memory_facts **list = ARENA_ARRAY(t->memory, timm_memory_facts *, larger);
        if (list == NULL) return FT_NOMEM(t->job->error);
        if (t->fact_count > 0) memcpy(list, t->facts, t->fact_count * sizeof *list);
        t->facts = list;
        t->fact_capacity = larger;
    }
    const char *name = arena_string(t->memory, model, strlen(model));
    *facts = ARENA_NEW(t->memory, timm_memory_facts);
    if (name == NULL || *facts == NULL || !map_set(&t->models, name, t->fact_count)) return FT_NOMEM(t->job->error);
    (*facts)->model = name;
    t->facts[t->fact_count++] = *facts;
    return FT_OK;
}

/* First pass over the memory table: nothing is skipped yet. */
static ft_status note_facts(table *t) {
    timm_memory_facts *facts;
    double numbers[3];
    const int columns[] = {AT_BATCH, AT_PEAK, AT_FORWARD};
    for (int i = 0; i < 3; i++) {
        const char *word = t->texts[columns[i]];
        if (!text_double(word, strlen(word), &numbers[i])) numbers[i] = NAN;
    }
    if (t->texts[AT_MODEL][0] == '\0' || !(numbers[0] >= 1)) return FT_OK;
    FT_TRY(find_facts(t, &facts));
    timm_memory_add_row(facts, numbers[0], numbers[1], numbers[2], is_suspect(t));
    return FT_OK;
}

static ft_status parse_memory_row(table *t, timm_row *row, const char **why) {
    double rounding, *peak = &row->metrics[TIMM_PEAK];
    row->device = ft_device_canonical("a100-40gb");
    row->setting = "amp=no;compile=no;layout=nchw;optimizer=momentum"; /* the optimizer is inferred: it fits best */
    row->dtype = FT_FLOAT32;
    row->mode = FT_TRAIN;
    timm_memory_facts *facts;
    FT_TRY(find_facts(t, &facts));
    FT_TRY(timm_memory_choose_graph(facts, t->texts[AT_MODEL], t->graph_folder, t->graphs, &row->graph, t->job->error));
    if (is_suspect(t))
        *why = "its memory is unreliable (suspect_oom)";
    else if (row->graph == NULL)
        *why = facts->has_other_sizes ? "its graph exists only at other image sizes" : "it has no graph";
    else if (row->device == NULL)
        *why = "its device is unknown";
    else if (!parse_rounded(t->texts[AT_PEAK], peak, &rounding))
        *why = "its memory is not a number above zero";
    else if (!timm_memory_is_plausible(facts, *peak))
        *why = "its memory is less than the size of its tensors";
    else
        *peak = round(*peak * 1024 * 1024);
    return FT_OK;
}

/* --- Tables ------------------------------------------------------------------------------------------------------ */

static ft_status read_header(table *t, const int *needed, uint32_t needed_count) {
    FT_TRY(csv_row(&t->text, t->cells, MAX_COLUMNS, &t->column_count, t->job->error));
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        t->columns[i] = FT_NONE;
        for (uint32_t k = 0; k < t->column_count && t->columns[i] == FT_NONE; k++) {
            if (csv_field_is(&t->cells[k], column_names[i])) t->columns[i] = k;
        }
    }
    for (uint32_t i = 0; i < needed_count; i++) {
        if (t->columns[needed[i]] == FT_NONE)
            return ft_fail(t->job->error, FT_ERR_DAMAGED, "%s: line 1: column '%s' is missing", t->path,
                           column_names[needed[i]]);
    }
    return FT_OK;
}

static ft_status read_cells(table *t) {
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        t->texts[i][0] = '\0';
        if (t->columns[i] == FT_NONE) continue;
        const csv_field *cell = &t->cells[t->columns[i]];
        csv_unquote(cell, t->texts[i], MAX_CELL);
        if (cell->length >= MAX_CELL || memchr(cell->text, '\0', cell->length) != NULL)
            return ft_fail(t->job->error, FT_ERR_DAMAGED, "%s: line %llu: %s is not a text of less than %d bytes",
                           t->path, (unsigned long long)t->text.line, column_names[i], MAX_CELL);
    }
    return FT_OK;
}

static ft_status add_row(table *t, const timm_row *row) {
    timm_rows *rows = t->rows;
    if (rows->count == rows->capacity) {
        uint32_t larger = rows->capacity == 0 ? 1024 : rows->capacity * 2;
        timm_row *items = larger > rows->capacity ? ARENA_ARRAY(t->memory, timm_row, larger) : NULL;
        if (items == NULL) return FT_NOMEM(t->job->error);
        if (rows->count > 0) memcpy(items, rows->items, rows->count * sizeof *items);
        rows->items = items;
        rows->capacity = larger;
    }
    rows->items[rows->count++] = *row;
    return FT_OK;
}

static ft_status read_row(table *t, row_reader *parse_row) {
    timm_row row = {.table = t->path, .line = t->text.line, .metrics = {NAN, NAN}};
    const char *why = NULL;
    if (t->texts[AT_MODEL][0] == '\0')
        why = "it has no model name";
    else if (!read_batch(t, &row.batch))
        why = "its batch is not a whole number above zero";
    else
        FT_TRY(parse_row(t, &row, &why));
    if (why != NULL) {
        char where[4096 + MAX_CELL];
        snprintf(where, sizeof where, "%s: line %llu: %s", t->path, (unsigned long long)row.line, t->texts[AT_MODEL]);
        return import_skip(t->job, where, why);
    }
    FT_TRY(read_name(t, &row));
    return add_row(t, &row);
}

/* Reads the next row and its cells. Incomplete rows are skipped, and reported if requested: a table is read more
 * than once. */
static ft_status next_row(table *t, bool reports_skips, bool *is_end) {
    for (uint32_t found;;) {
        FT_TRY(csv_row(&t->text, t->cells, t->column_count, &found, t->job->error));
        *is_end = found == 0;
        if (*is_end) return FT_OK;
        if (found == t->column_count) return read_cells(t);
        if (reports_skips) FT_TRY(import_skip_short_row(t->job, &t->text, found, t->column_count));
    }
}

static ft_status read_rows(table *t, row_reader *parse_row) {
    for (bool is_end = false;;) {
        FT_TRY(next_row(t, true, &is_end));
        if (is_end) return FT_OK;
        FT_TRY(read_row(t, parse_row));
    }
}

static ft_status read_facts(table *t) {
    csv start = t->text;
    for (bool is_end = false;;) {
        FT_TRY(next_row(t, false, &is_end));
        if (is_end) break;
        FT_TRY(note_facts(t));
    }
    t->text = start;
    return FT_OK;
}

/* File name, required columns and row parser of each table. */
static const struct {
    const char *file;
    int needed[COLUMN_COUNT];
    uint32_t needed_count;
    row_reader *parse_row;
} tables[TIMM_TABLES] = {
    [TIMM_BENCHMARK] = {"benchmark.csv",
                        {AT_MODEL, AT_BATCH, AT_GRAPH, AT_PHASE, AT_DEVICE, AT_PRECISION, AT_LAYOUT},
                        7,
                        parse_time_row},
    [TIMM_MEMORY] = {"train_memory_a100.csv", {AT_MODEL, AT_BATCH, AT_PEAK}, 3, parse_memory_row},
};

ft_status timm_table_parse(import_job *job, const timm_table_text *source, const name_list *graphs, arena *memory,
                           timm_rows *rows) {
    assert(source->kind < TIMM_TABLES);
    timm_table kind = source->kind;
    table *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(job->error);
    *t = (table){.job = job, .graphs = graphs, .memory = memory, .rows = rows, .path = source->path};
    t->graph_folder = arena_format(memory, "%s/graphs", job->source);
    map_init(&t->models, memory);
    csv_init(&t->text, source->path, source->text, source->size);
    ft_status status =
        t->graph_folder != NULL ? read_header(t, tables[kind].needed, tables[kind].needed_count) : FT_NOMEM(job->error);
    if (status == FT_OK && kind == TIMM_MEMORY) status = read_facts(t);
    if (status == FT_OK && kind == TIMM_MEMORY)
        status =
            timm_memory_choose_all(t->facts, t->fact_count, t->graph_folder, graphs, job->options->threads, job->error);
    if (status == FT_OK) status = read_rows(t, tables[kind].parse_row);
    free(t);
    rows->table_count++;
    return status;
}

/* The path of a table, plain or gzipped; NULL when there is none. */
static ft_status find_table(import_job *job, const char *name, arena *memory, const char **path) {
    static const char *const endings[] = {"", ".gz"};
    *path = NULL;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const char *one = arena_format(memory, "%s/%s%s", job->source, name, endings[i]);
        if (one == NULL) return FT_NOMEM(job->error);
        if (*path == NULL && access(one, F_OK) == 0) *path = one;
    }
    return FT_OK;
}

ft_status timm_tables_read(import_job *job, const name_list *graphs, arena *memory, timm_rows *rows) {
    *rows = (timm_rows){0};
    for (int i = 0; i < TIMM_TABLES; i++) {
        const char *path;
        input in;
        FT_TRY(find_table(job, tables[i].file, memory, &path));
        if (path == NULL) continue;
        FT_TRY(input_open(path, FT_MAX_UNPACKED_BYTES, &in, job->error));
        timm_table_text source = {(timm_table)i, path, (const char *)in.bytes, in.size};
        ft_status status = timm_table_parse(job, &source, graphs, memory, rows);
        input_close(&in);
        FT_TRY(status);
    }
    return FT_OK;
}
