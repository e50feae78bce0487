/* import_table.c - import of a user's own table: a CSV with a row for each measurement, which names the model's
 * file, or describes a single operator.
 *
 * docs/data.md describes the columns, docs/formats/kernels.md those of operators. Each model is read once and stored as
 * it is: an open batch stays open, and the record states the measured one. Other open dimensions get their values from
 * the column `shape`, as the graph could not be bound later without them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/input.h"
#include "base/map.h"
#include "data/devices.h"
#include "data/import.h"
#include "data/kernels/operator_text.h"
#include "data/records.h"
#include "graph/graph.h"

enum {
    TABLE_MODEL,
    TABLE_DEVICE,
    TABLE_BATCH,
    TABLE_DTYPE,
    TABLE_MODE,
    TABLE_NAME,
    TABLE_FAMILY,
    TABLE_SETTING,
    TABLE_PART,
    TABLE_SOURCE,
    TABLE_SHAPE,
    TABLE_OP,
    TABLE_INPUTS,
    TABLE_ATTRIBUTES,
    TABLE_NOISY,
    TABLE_COLUMNS,
    MAX_TABLE_COLUMNS = 64,
};

static const char *const column_names[TABLE_COLUMNS] = {"model", "device", "batch",   "dtype",      "mode",
                                                        "name",  "family", "setting", "part",       "source",
                                                        "shape", "op",     "inputs",  "attributes", "noisy"};

typedef struct metric_column {
    uint32_t column;
    char name[MAX_METRIC_NAME];
    const metric_unit *unit;
} metric_column;

typedef struct table_import {
    import_job *job;
    builder *builder;
    arena memory;
    input in;
    csv rows;
    const char *folder;              /* of the table: paths and devices are relative to it */
    uint32_t columns[TABLE_COLUMNS]; /* FT_NONE: absent */
    metric_column metrics[MAX_METRICS];
    uint32_t metric_count, column_count;
    csv_field cells[MAX_TABLE_COLUMNS];
    char texts[TABLE_COLUMNS][MAX_CELL]; /* of the current row */
    map models;                          /* from path and shape to the index of the graph, FT_NONE: unreadable */
} table_import;

/* --- Columns ----------------------------------------------------------------------------------------------------- */

/* Columns that `foretell sample`, `foretell serve` and `foretell measure` write and measuring scripts keep. */
static bool is_kept_column(const char *name) {
    return strcmp(name, "graph") == 0 || strcmp(name, "runs") == 0 || strcmp(name, "weight") == 0 ||
           strcmp(name, "reason") == 0 || strcmp(name, "predicted") == 0;
}

static ft_status read_column(table_import *t, uint32_t index, const csv_field *cell) {
    char name[MAX_CELL];
    csv_unquote(cell, name, sizeof name);
    if (is_kept_column(name)) return FT_OK;
    for (uint32_t i = 0; i < TABLE_COLUMNS; i++) {
        if (strcmp(name, column_names[i]) != 0) continue;
        if (t->columns[i] != FT_NONE)
            return ft_fail(t->job->error, FT_ERR_DAMAGED, "%s: line 1: column '%s' occurs twice", t->job->source, name);
        t->columns[i] = index;
        return FT_OK;
    }
    metric_column made = {.column = index};
    if (!metric_canonical_name(name, made.name, sizeof made.name, &made.unit))
        return ft_fail(
            t->job->error, FT_ERR_DAMAGED,
            "%s: line 1: column '%.60s' is neither one of model, device, batch, dtype, mode, name, family, "
            "setting, part, source, shape, op, inputs, attributes, noisy nor a metric whose name ends in its unit, "
            "like time_us",
            t->job->source, name);
    for (uint32_t i = 0; i < t->metric_count; i++) {
        if (strcmp(t->metrics[i].name, made.name) == 0)
            return ft_fail(t->job->error, FT_ERR_DAMAGED, "%s: line 1: two columns contain %s", t->job->source,
                           made.name);
    }
    if (t->metric_count == MAX_METRICS)
        return ft_fail(t->job->error, FT_ERR_LIMIT, "%s: line 1: more than %d metrics", t->job->source, MAX_METRICS);
    t->metrics[t->metric_count++] = made;
    return FT_OK;
}

static ft_status read_header(table_import *t) {
    FT_TRY(csv_row(&t->rows, t->cells, MAX_TABLE_COLUMNS, &t->column_count, t->job->error));
    for (uint32_t i = 0; i < TABLE_COLUMNS; i++) t->columns[i] = FT_NONE;
    for (uint32_t i = 0; i < t->column_count; i++) FT_TRY(read_column(t, i, &t->cells[i]));
    t->job->result->is_pool = t->metric_count == 0;
    bool has_device = t->columns[TABLE_DEVICE] != FT_NONE || t->job->result->is_pool;
    bool has_op = t->columns[TABLE_OP] != FT_NONE && t->columns[TABLE_INPUTS] != FT_NONE;
    if ((t->columns[TABLE_MODEL] != FT_NONE || has_op) && has_device) return FT_OK;
    return ft_fail(t->job->error, FT_ERR_DAMAGED,
                   "%s: line 1: expected the columns model and device, or op, inputs and device", t->job->source);
}

/* --- Models ------------------------------------------------------------------------------------------------------ */

/* Sets symbols to values ("sequence=128;height=32") in a graph that is not shared yet. */
static ft_status fix_symbols(ft_graph *graph, const char *shape, ft_error *error) {
    char text[MAX_CELL], name[MAX_CELL];
    snprintf(text, sizeof text, "%s", shape);
    char *rest = text;
    for (char *one = strsep(&rest, ";"); one != NULL; one = strsep(&rest, ";")) {
        ft_shape_binding binding;
        if (one[0] == '\0') continue;
        FT_TRY(ft_shape_binding_parse(one, name, sizeof name, &binding, error));
        uint32_t symbol = 0;
        while (symbol < graph->symbol_count && strcmp(graph->symbols[symbol], name) != 0) symbol++;
        if (symbol == graph->symbol_count || binding.rank != 1)
            return ft_fail(error, FT_ERR_USAGE, "shape '%s': the model has no open dimension of that name", one);
        for (uint32_t i = 0; i < graph->tensor_count; i++) {
            ft_tensor *t = &graph->tensors[i];
            for (int32_t k = 0; k < t->rank; k++) {
                if (t->dims[k] == -1 - (int64_t)symbol) t->dims[k] = binding.dims[0];
            }
        }
    }
    return FT_OK;
}

/* Rejects graphs that cannot be bound: they would be useless in a data set. */
static ft_status check_binding(const ft_graph *graph, ft_error *error) {
    ft_graph *bound;
    FT_TRY(ft_graph_bind(graph, NULL, &bound, error));
    ft_graph_free(bound);
    return FT_OK;
}

/* A row describes a single operator where it names no model. */
static bool is_operator(const table_import *t) {
    return t->texts[TABLE_MODEL][0] == '\0' && t->texts[TABLE_OP][0] != '\0';
}

static ft_status make_operator(const table_import *t, ft_graph **graph, ft_error *error) {
    operator_text text = {t->texts[TABLE_OP], t->texts[TABLE_INPUTS], t->texts[TABLE_ATTRIBUTES]};
    return operator_text_graph(&text, graph, error);
}

static ft_status read_graph(table_import *t, const char *path, ft_graph **graph, ft_error *error) {
    ft_source *source;
    if (is_operator(t)) return make_operator(t, graph, error);
    FT_TRY(ft_source_open(path, &source, error));
    ft_graph *made = NULL;
    ft_status status = FT_OK;
    if (ft_source_count(source) != 1)
        status = ft_fail(error, FT_ERR_USAGE, "%s: contains %llu models, but a row needs a file with one", path,
                         (unsigned long long)ft_source_count(source));
    if (status == FT_OK) status = ft_source_next(source, &made, error);
    ft_source_close(source);
    if (status == FT_OK) status = fix_symbols(made, t->texts[TABLE_SHAPE], error);
    if (status == FT_OK) status = check_binding(made, error);
    if (status == FT_OK)
        *graph = made;
    else
        ft_graph_free(made);
    return status;
}

static const char *unreadable(const table_import *t) {
    return is_operator(t) ? "the operator cannot be used" : "the model is unreadable";
}

static ft_status add_model(table_import *t, const char *path, const char *where, uint32_t *index) {
    ft_graph *graph;
    ft_error error;
    ft_status status = read_graph(t, path, &graph, &error);
    *index = FT_NONE;
    if (status != FT_OK) {
        FT_TRY(import_may_skip(t->job, path, status, &error));
        char text[sizeof error.message + 640];
        snprintf(text, sizeof text, "%s: %s", where, error.message);
        return import_skip(t->job, text, unreadable(t));
    }
    t->job->result->models++;
    status = builder_add_graph(t->builder, graph, index, t->job->error);
    ft_graph_free(graph);
    return status;
}

/* *index is FT_NONE when the row is to be skipped. */
static ft_status find_model(table_import *t, const char *where, uint32_t *index) {
    const char *model = t->texts[TABLE_MODEL];
    const char *path = arena_format(&t->memory, model[0] == '/' ? "%.0s%s" : "%s/%s", t->folder, model);
    const char *key = is_operator(t) ? arena_format(&t->memory, "\n%s\n%s\n%s", t->texts[TABLE_OP],
                                                    t->texts[TABLE_INPUTS], t->texts[TABLE_ATTRIBUTES])
                                     : arena_format(&t->memory, "%s\n%s", model, t->texts[TABLE_SHAPE]);
    if (path == NULL || key == NULL) return FT_NOMEM(t->job->error);
    if (map_get(&t->models, key, index)) return *index != FT_NONE ? FT_OK : import_skip(t->job, where, unreadable(t));
    FT_TRY(add_model(t, path, where, index));
    return map_set(&t->models, key, *index) ? FT_OK : FT_NOMEM(t->job->error);
}

/* --- Rows -------------------------------------------------------------------------------------------------------- */

static ft_status bad_cell(const table_import *t, int column, const char *expected) {
    return ft_fail(t->job->error, FT_ERR_DAMAGED, "%s: line %llu: %s is '%.60s'; expected %s", t->job->source,
                   (unsigned long long)t->rows.line, column_names[column], t->texts[column], expected);
}

static ft_status read_texts(table_import *t) {
    for (uint32_t i = 0; i < TABLE_COLUMNS; i++) {
        t->texts[i][0] = '\0';
        if (t->columns[i] == FT_NONE) continue;
        const csv_field *cell = &t->cells[t->columns[i]];
        csv_unquote(cell, t->texts[i], MAX_CELL);
        if (cell->length >= MAX_CELL) return bad_cell(t, (int)i, "a text of less than 512 bytes");
    }
    return FT_OK;
}

static ft_status read_keywords(table_import *t, ft_record *r) {
    const char *dtype = t->texts[TABLE_DTYPE], *mode = t->texts[TABLE_MODE], *source = t->texts[TABLE_SOURCE];
    r->batch = 1;
    r->dtype = FT_FLOAT32;
    r->mode = FT_INFER;
    if (t->texts[TABLE_BATCH][0] != '\0')
        FT_TRY(csv_int(&t->rows, &t->cells[t->columns[TABLE_BATCH]], "batch", 1, FT_MAX_DIM, &r->batch, t->job->error));
    if (dtype[0] != '\0' && (!ft_dtype_parse(dtype, &r->dtype) || r->dtype == FT_DTYPE_UNKNOWN))
        return bad_cell(t, TABLE_DTYPE, "an element type, like float32");
    if (mode[0] != '\0' && !record_mode_parse(mode, &r->mode)) return bad_cell(t, TABLE_MODE, "'infer' or 'train'");
    r->is_synthetic = strcmp(source, "synthetic") == 0;
    if (source[0] != '\0' && !r->is_synthetic && strcmp(source, "measured") != 0)
        return bad_cell(t, TABLE_SOURCE, "'measured' or 'synthetic'");
    return FT_OK;
}

/* A pool of models that are not measured needs no device. */
static ft_status read_device(table_import *t, ft_record *r) {
    r->device = "";
    if (t->job->result->is_pool && t->texts[TABLE_DEVICE][0] == '\0') return FT_OK;
    ft_status status = device_resolve(t->folder, t->texts[TABLE_DEVICE], &t->memory, &r->device, t->job->error);
    if (status != FT_OK)
        return ft_fail_prefix(t->job->error, status, "%s: line %llu: device", t->job->source,
                              (unsigned long long)t->rows.line);
    return builder_add_device(t->builder, t->folder, r->device, t->job->error);
}

/* *count is the number of valid ones; *has_bad: some were invalid, and reported. */
static ft_status read_metrics(table_import *t, const char *where, double *values, uint32_t *count, bool *has_bad) {
    *count = 0;
    *has_bad = false;
    for (uint32_t i = 0; i < t->metric_count; i++) {
        const csv_field *cell = &t->cells[t->metrics[i].column];
        values[i] = NAN;
        if (cell->length == 0) continue;
        if (metric_parse(cell->text, cell->length, t->metrics[i].unit, &values[i])) {
            ++*count;
            continue;
        }
        values[i] = NAN;
        *has_bad = true;
        char text[160], place[MAX_CELL + 320];
        csv_unquote(cell, text, sizeof text);
        snprintf(place, sizeof place, "%s: %s = '%s'", where, t->metrics[i].name, text);
        FT_TRY(import_skip(t->job, place, "not a number above zero"));
    }
    return FT_OK;
}

static const char *name_of(const table_import *t) {
    if (t->texts[TABLE_NAME][0] != '\0') return t->texts[TABLE_NAME];
    if (is_operator(t)) return t->texts[TABLE_OP];
    const char *slash = strrchr(t->texts[TABLE_MODEL], '/');
    return slash != NULL ? slash + 1 : t->texts[TABLE_MODEL];
}

/* `foretell measure` names the kind of noise. */
static bool is_noisy(const table_import *t) {
    const char *noisy = t->texts[TABLE_NOISY];
    return noisy[0] != '\0' && strcmp(noisy, "no") != 0;
}

static ft_status read_row(table_import *t) {
    char where[MAX_CELL];
    double values[MAX_METRICS] = {NAN};
    uint32_t count;
    bool has_bad;
    snprintf(where, sizeof where, "%s: line %llu", t->job->source, (unsigned long long)t->rows.line);
    FT_TRY(read_texts(t));
    if (is_noisy(t)) return import_skip(t->job, where, "its measurement is marked as noisy");
    ft_record r = {.name = name_of(t),
                   .family = t->texts[TABLE_FAMILY],
                   .setting = t->texts[TABLE_SETTING],
                   .part = t->texts[TABLE_PART],
                   .metrics = values};
    FT_TRY(read_keywords(t, &r));
    FT_TRY(read_device(t, &r));
    FT_TRY(read_metrics(t, where, values, &count, &has_bad));
    if (count == 0 && !t->job->result->is_pool) return has_bad ? FT_OK : import_skip(t->job, where, "it has no metric");
    FT_TRY(find_model(t, where, &r.graph));
    return r.graph != FT_NONE ? import_record(t->job, t->builder, &r, where) : FT_OK;
}

static ft_status read_rows(table_import *t) {
    csv rest = t->rows;
    uint64_t total = csv_skip(&rest, UINT64_MAX), done = 0;
    for (;; done++) {
        uint32_t found;
        FT_TRY(csv_row(&t->rows, t->cells, t->column_count, &found, t->job->error));
        if (found == 0) return FT_OK;
        if (found != t->column_count)
            return ft_fail(t->job->error, FT_ERR_DAMAGED, "%s: line %llu: has %u fields, but the header has %u",
                           t->job->source, (unsigned long long)t->rows.line, found, t->column_count);
        FT_TRY(read_row(t));
        FT_TRY(import_progress(t->job, done + 1, total, t->texts[TABLE_MODEL]));
    }
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

static const char *folder_of(arena *memory, const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return ".";
    return arena_string(memory, path, slash == path ? 1 : (size_t)(slash - path));
}

static ft_status run(table_import *t) {
    t->folder = folder_of(&t->memory, t->job->source);
    if (t->folder == NULL) return FT_NOMEM(t->job->error);
    FT_TRY(input_open(t->job->source, FT_MAX_UNPACKED_BYTES, &t->in, t->job->error));
    csv_init(&t->rows, t->job->source, (const char *)t->in.bytes, t->in.size);
    FT_TRY(read_header(t));
    const char *names[MAX_METRICS] = {"time_us"}; /* for a pool of unmeasured models, whose cells are all empty */
    uint32_t count = t->job->result->is_pool ? 1 : t->metric_count;
    for (uint32_t i = 0; i < t->metric_count; i++) names[i] = t->metrics[i].name;
    FT_TRY(builder_new(t->job->folder, names, count, &t->builder, t->job->error));
    FT_TRY(read_rows(t));
    return import_finish(t->job, t->builder);
}

static ft_status import_table(import_job *job) {
    table_import *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(job->error);
    t->job = job;
    arena_init(&t->memory, UINT64_MAX);
    map_init(&t->models, &t->memory);
    ft_status status = run(t);
    builder_free(t->builder);
    input_close(&t->in);
    arena_free(&t->memory);
    free(t);
    return status;
}

const importer table_importer = {"table", "a CSV of your own: model path, device, batch, dtype, mode and metrics",
                                 import_table};
