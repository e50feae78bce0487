/* import_kernels.c - import of measured kernels and operators: a file or a folder of CSV files, each in one of the
 * layouts of kernels_*.c, or a table of a user's own (docs/formats/kernels.md).
 *
 * Every distinct operator becomes a graph of one operator; the rows that measure it are its records. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"
#include "base/text.h"
#include "data/devices.h"
#include "data/kernels/kernels.h"

enum { MAX_FOLDERS = 8 }; /* nested */

static const kernel_layout *const sets[] = {neusight_layouts, deepbench_layouts, aiconfigurator_layouts,
                                            serving_layouts};

static const char *const metrics[KERNEL_METRICS] = {"time_us", "time_std_us", "power_w"};

/* --- Cells ------------------------------------------------------------------------------------------------------- */

static uint32_t find_column(const kernel_reader *r, const char *name, size_t length) {
    for (uint32_t i = 0; i < r->column_count; i++)
        if (strncmp(r->columns[i], name, length) == 0 && r->columns[i][length] == '\0') return i;
    return FT_NONE;
}

const csv_field *kernel_cell(const kernel_reader *r, const char *column) {
    uint32_t at = find_column(r, column, strlen(column));
    return at != FT_NONE ? &r->cells[at] : NULL;
}

const char *kernel_text(const kernel_reader *r, const char *column, char *text, size_t size) {
    const csv_field *cell = kernel_cell(r, column);
    text[0] = '\0';
    return cell != NULL ? csv_unquote(cell, text, size) : text;
}

bool kernel_size(const kernel_reader *r, const char *column, int64_t *size) {
    const csv_field *cell = kernel_cell(r, column);
    return cell != NULL && text_int(cell->text, cell->length, size) && *size >= 1 && *size <= FT_MAX_DIM;
}

double kernel_number(const kernel_reader *r, const char *column) {
    const csv_field *cell = kernel_cell(r, column);
    double value;
    bool is_number = cell != NULL && text_double(cell->text, cell->length, &value) && value > 0 && isfinite(value);
    return is_number ? value : NAN;
}

/* --- Rows -------------------------------------------------------------------------------------------------------- */

kernel_row kernel_row_new(void) {
    return (kernel_row){.name = "",
                        .family = "",
                        .part = "",
                        .batch = 1,
                        .dtype = FT_FLOAT32,
                        .mode = FT_INFER,
                        .time_us = NAN,
                        .time_std_us = NAN,
                        .power_w = NAN,
                        .occupancy_ratio = NAN,
                        .kernel_time_us = NAN,
                        .busy_ratio = NAN};
}

void kernel_inputs(kernel_row *row, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(row->inputs, sizeof row->inputs, format, args);
    va_end(args);
}

void kernel_attributes(kernel_row *row, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(row->attributes, sizeof row->attributes, format, args);
    va_end(args);
}

void kernel_setting(kernel_row *row, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(row->setting, sizeof row->setting, format, args);
    va_end(args);
}

void kernel_setting_add(kernel_row *row, const char *format, ...) {
    size_t used = strlen(row->setting);
    if (used > 0 && used + 1 < sizeof row->setting) row->setting[used++] = ';';
    va_list args;
    va_start(args, format);
    vsnprintf(row->setting + used, sizeof row->setting - used, format, args);
    va_end(args);
}

static const char *where_of(const kernel_reader *r, char where[static MAX_CELL]) {
    if (r->rows.line > 0)
        snprintf(where, MAX_CELL, "%.400s: line %llu", r->path, (unsigned long long)r->rows.line);
    else
        snprintf(where, MAX_CELL, "%.400s", r->path);
    return where;
}

ft_status kernel_skip(kernel_reader *r, const char *why) {
    char where[MAX_CELL];
    return import_skip(r->job, where_of(r, where), why);
}

/* The canonical name of a device; NULL when it is unknown. Each spelling is looked up once. */
static ft_status find_device(kernel_reader *r, const char *name, const char **canonical) {
    uint32_t at;
    if (map_get(&r->devices, name, &at)) {
        *canonical = r->device_names[at];
        return FT_OK;
    }
    if (r->device_count == r->device_capacity) {
        uint32_t larger = r->device_capacity == 0 ? 32 : r->device_capacity * 2;
        const char **names = realloc(r->device_names, larger * sizeof *names);
        if (names == NULL) return FT_NOMEM(r->job->error);
        r->device_names = names;
        r->device_capacity = larger;
    }
    const char *key = arena_string(&r->memory, name, strlen(name));
    ft_error why;
    const char *found = NULL;
    ft_status status = device_resolve(NULL, name, &r->memory, &found, &why);
    if (key == NULL || status == FT_ERR_NOMEM) return FT_NOMEM(r->job->error);
    *canonical = r->device_names[r->device_count] = status == FT_OK ? found : NULL;
    return map_set(&r->devices, key, r->device_count++) ? FT_OK : FT_NOMEM(r->job->error);
}

static ft_status add_graph(kernel_reader *r, const kernel_row *row, uint32_t *index) {
    operator_text text = {row->op, row->inputs, row->attributes};
    ft_graph *graph;
    ft_error why;
    ft_status status = operator_text_graph(&text, &graph, &why);
    *index = FT_NONE;
    if (status == FT_ERR_NOMEM) return FT_NOMEM(r->job->error);
    if (status != FT_OK) {
        char where[MAX_CELL], all[MAX_CELL + sizeof why.message + 2];
        snprintf(all, sizeof all, "%s: %s", where_of(r, where), why.message);
        return import_skip(r->job, all, "the operator cannot be used");
    }
    r->job->result->models++;
    status = builder_add_graph(r->builder, graph, index, r->job->error);
    ft_graph_free(graph);
    return status;
}

/* *index is FT_NONE when the operator cannot be used, and the row was skipped. */
static ft_status find_graph(kernel_reader *r, const kernel_row *row, uint32_t *index) {
    char key[2 * MAX_CELL + 80];
    snprintf(key, sizeof key, "%.64s\n%s\n%s", row->op, row->inputs, row->attributes);
    if (map_get(&r->graphs, key, index))
        return *index != FT_NONE ? FT_OK : kernel_skip(r, "the operator cannot be used");
    const char *kept = arena_string(&r->memory, key, strlen(key));
    if (kept == NULL) return FT_NOMEM(r->job->error);
    FT_TRY(add_graph(r, row, index));
    return map_set(&r->graphs, kept, *index) ? FT_OK : FT_NOMEM(r->job->error);
}

ft_status kernel_add_record(kernel_reader *r, const kernel_row *row, uint32_t graph) {
    double values[KERNEL_ALL_METRICS] = {row->time_us,         row->time_std_us,    row->power_w,
                                         row->occupancy_ratio, row->kernel_time_us, row->busy_ratio};
    char where[MAX_CELL], why[160];
    ft_record record = {.graph = graph,
                        .name = row->name,
                        .family = row->family,
                        .setting = row->setting,
                        .part = row->part,
                        .batch = row->batch,
                        .dtype = row->dtype,
                        .mode = row->mode,
                        .metrics = values};
    if (isnan(row->time_us) && isnan(row->power_w)) return kernel_skip(r, "it has no time");
    FT_TRY(find_device(r, row->device, &record.device));
    if (record.device == NULL) {
        snprintf(why, sizeof why, "unknown device '%.60s'", row->device);
        return kernel_skip(r, why);
    }
    if (graph == FT_NONE) FT_TRY(find_graph(r, row, &record.graph));
    return record.graph != FT_NONE ? import_record(r->job, r->builder, &record, where_of(r, where)) : FT_OK;
}

ft_status kernel_add(kernel_reader *r, const kernel_row *row) {
    return kernel_add_record(r, row, FT_NONE);
}

/* --- Files ------------------------------------------------------------------------------------------------------- */

static ft_status read_header(kernel_reader *r) {
    csv_field cells[KERNEL_MAX_COLUMNS];
    FT_TRY(csv_row(&r->rows, cells, KERNEL_MAX_COLUMNS, &r->column_count, r->job->error));
    for (uint32_t i = 0; i < r->column_count; i++) csv_unquote(&cells[i], r->columns[i], sizeof r->columns[i]);
    return FT_OK;
}

static bool has_layout(const kernel_reader *r, const kernel_layout *layout) {
    for (const char *word = layout->columns; *word != '\0';) {
        size_t length = strcspn(word, " ");
        if (find_column(r, word, length) == FT_NONE) return false;
        word += length + strspn(word + length, " ");
    }
    return true;
}

static ft_status read_rows(kernel_reader *r, const kernel_layout *layout) {
    for (;;) {
        uint32_t found;
        FT_TRY(csv_row(&r->rows, r->cells, KERNEL_MAX_COLUMNS, &found, r->job->error));
        if (found == 0) return FT_OK;
        if (found < r->column_count)
            FT_TRY(import_skip_short_row(r->job, &r->rows, found, r->column_count));
        else
            FT_TRY(layout->read(r));
        FT_TRY(import_progress(r->job, ++r->lines, 0, r->path));
    }
}

static ft_status read_table(kernel_reader *r) {
    FT_TRY(read_header(r));
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        for (const kernel_layout *layout = sets[i]; layout->name != NULL; layout++)
            if (has_layout(r, layout)) return read_rows(r, layout);
    return import_skip(r->job, r->path, "no layout of kernels has these columns");
}

/* The file name without folder, .gz and .csv. */
static void set_stem(kernel_reader *r) {
    const char *slash = strrchr(r->path, '/'), *name = slash != NULL ? slash + 1 : r->path;
    snprintf(r->stem, sizeof r->stem, "%.200s", name);
    static const char *const endings[] = {".gz", ".csv"};
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(r->stem), tail = strlen(endings[i]);
        if (length > tail && strcmp(r->stem + length - tail, endings[i]) == 0) r->stem[length - tail] = '\0';
    }
}

static ft_status read_file(kernel_reader *r, const char *path) {
    input in;
    r->path = path;
    set_stem(r);
    FT_TRY(input_open(path, FT_MAX_UNPACKED_BYTES, &in, r->job->error));
    csv_init(&r->rows, path, (const char *)in.bytes, in.size);
    ft_status status = read_table(r);
    input_close(&in);
    return status;
}

static bool is_csv(const char *name) {
    const char *dot = strstr(name, ".csv");
    return dot != NULL && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".csv.gz") == 0);
}

static ft_status read_folder(kernel_reader *r, const char *folder, int depth);

static ft_status read_entry(kernel_reader *r, const char *folder, const char *name, int depth) {
    struct stat info;
    const char *path = arena_format(&r->memory, "%s/%s", folder, name);
    if (path == NULL) return FT_NOMEM(r->job->error);
    if (stat(path, &info) != 0) return import_skip(r->job, path, "it cannot be opened");
    if (S_ISDIR(info.st_mode)) return depth < MAX_FOLDERS ? read_folder(r, path, depth + 1) : FT_OK;
    return is_csv(name) ? read_file(r, path) : FT_OK;
}

static ft_status read_folder(kernel_reader *r, const char *folder, int depth) {
    name_list names;
    FT_TRY(name_list_read(folder, &names, r->job->error));
    ft_status status = FT_OK;
    for (uint32_t i = 0; status == FT_OK && i < names.count; i++) status = read_entry(r, folder, names.names[i], depth);
    name_list_free(&names);
    return status;
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

/* Whether the file is a user's own table: it has the column `op`. */
static ft_status is_own_table(kernel_reader *r, bool *is_own) {
    input in;
    *is_own = false;
    FT_TRY(input_open(r->job->source, FT_MAX_UNPACKED_BYTES, &in, r->job->error));
    csv_init(&r->rows, r->job->source, (const char *)in.bytes, in.size);
    ft_status status = read_header(r);
    *is_own = status == FT_OK && find_column(r, "op", 2) != FT_NONE;
    input_close(&in);
    return status;
}

static ft_status run(kernel_reader *r) {
    struct stat info;
    bool is_folder = stat(r->job->source, &info) == 0 && S_ISDIR(info.st_mode), is_own = false;
    if (!is_folder) FT_TRY(is_own_table(r, &is_own));
    if (is_own) return table_importer.run(r->job);
    FT_TRY(builder_new(r->job->folder, metrics, KERNEL_METRICS, &r->builder, r->job->error));
    FT_TRY(is_folder ? read_folder(r, r->job->source, 0) : read_file(r, r->job->source));
    return import_finish(r->job, r->builder);
}

kernel_reader *kernel_reader_new(import_job *job) {
    kernel_reader *r = calloc(1, sizeof *r);
    if (r == NULL) return NULL;
    r->job = job;
    r->path = job->source;
    arena_init(&r->memory, UINT64_MAX);
    map_init(&r->graphs, &r->memory);
    map_init(&r->devices, &r->memory);
    return r;
}

void kernel_reader_free(kernel_reader *r) {
    if (r == NULL) return;
    builder_free(r->builder);
    free(r->device_names);
    arena_free(&r->memory);
    free(r);
}

static ft_status import_kernels(import_job *job) {
    kernel_reader *r = kernel_reader_new(job);
    if (r == NULL) return FT_NOMEM(job->error);
    ft_status status = run(r);
    kernel_reader_free(r);
    return status;
}

const importer kernels_importer = {"kernels", "measured kernels and operators: published sets, or a CSV of your own",
                                   import_kernels};
