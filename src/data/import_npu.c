/* import_npu.c - import of networks that Arm's Vela compiled for Ethos-U: summary.csv, and tflite/ with the files it
 * names.
 *
 * A row of the table is a network on one accelerator. Many networks are variants of each other, retrained or
 * renamed, and a split that puts variants into different parts tests nothing. The name of a record therefore begins
 * with a key that variants share, a hash of their operators, their multiply-accumulates and their inputs, followed
 * by a dot and the id of the file. Unused memories (0 bytes) are stored as not measured: no relative error is
 * defined for zero. */
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/text.h"
#include "data/import.h"
#include "data/pack.h"
#include "data/records.h"
#include "foretell/device.h"
#include "graph/graph.h"

enum {
    NPU_FILE,
    NPU_SOURCE,
    NPU_CONFIG,
    NPU_OPS,
    NPU_TIME,
    NPU_SRAM,
    NPU_DRAM,
    NPU_ON_CHIP_FLASH,
    NPU_OFF_CHIP_FLASH,
    NPU_WEIGHTS,
    NPU_MACS,
    NPU_CYCLES,
    NPU_TOTAL_CYCLES,
    NPU_COLUMNS,
    MAX_SUMMARY_COLUMNS = 128,
    MAX_KEY = 17, /* 64 bits in hexadecimal, and the end */
};

static const char *const column_names[NPU_COLUMNS] = {"file",
                                                      "source",
                                                      "config",
                                                      "n_ops",
                                                      "inference_time",
                                                      "sram_memory_used",
                                                      "dram_memory_used",
                                                      "on_chip_flash_memory_used",
                                                      "off_chip_flash_memory_used",
                                                      "total_npu_encoded_weights",
                                                      "nn_macs",
                                                      "cycles_npu",
                                                      "cycles_total"};

enum {
    METRIC_TIME,
    METRIC_TOTAL_CYCLES,
    METRIC_NPU_CYCLES,
    METRIC_SRAM,
    METRIC_DRAM,
    METRIC_FLASH,
    METRIC_WEIGHTS,
    METRIC_COUNT
};

static const char *const metric_names[METRIC_COUNT] = {"time_us",    "total_cycles", "npu_cycles",  "sram_bytes",
                                                       "dram_bytes", "flash_bytes",  "weight_bytes"};

typedef struct npu_model {
    const char *file;
    ft_status status; /* of reading it */
    ft_error error;
    buf packed;
    buf types, inputs; /* the parts of its key that the graph has */
    bool is_added;     /* graph and key are set, at the first row that refers to it */
    uint32_t graph;    /* FT_NONE: unreadable */
    char key[MAX_KEY];
} npu_model;

typedef struct npu_import {
    import_job *job;
    builder *builder;
    arena memory;
    const char *path; /* of the table */
    input in;
    csv rows;
    uint32_t columns[NPU_COLUMNS], column_count;
    csv_field cells[MAX_SUMMARY_COLUMNS];
    map numbers; /* from file name to index in `models` */
    npu_model *models;
    uint32_t model_count, model_capacity;
    packer **packers; /* one for each thread; NULL-terminated */
} npu_import;

/* --- The table --------------------------------------------------------------------------------------------------- */

static ft_status read_header(npu_import *t) {
    FT_TRY(csv_row(&t->rows, t->cells, MAX_SUMMARY_COLUMNS, &t->column_count, t->job->error));
    for (uint32_t i = 0; i < NPU_COLUMNS; i++) {
        uint32_t at = 0;
        while (at < t->column_count && !csv_field_is(&t->cells[at], column_names[i])) at++;
        if (at == t->column_count)
            return ft_fail(t->job->error, FT_ERR_DAMAGED, "%s: line 1: column '%s' is missing", t->path,
                           column_names[i]);
        t->columns[i] = at;
    }
    return FT_OK;
}

static const csv_field *cell(const npu_import *t, int column) {
    return &t->cells[t->columns[column]];
}

/* Skips the current row because of the value of one cell. */
static ft_status skip_cell(const npu_import *t, int column, const char *why) {
    char text[61], where[MAX_CELL];
    snprintf(where, sizeof where, "%.400s: line %" PRIu64 ": %s is '%s'", t->path, t->rows.line, column_names[column],
             csv_unquote(cell(t, column), text, sizeof text));
    return import_skip(t->job, where, why);
}

/* The column of the first invalid number of a row; NPU_COLUMNS when all are valid. */
static int find_bad_number(const npu_import *t, double values[static NPU_COLUMNS]) {
    static const int numbers[] = {NPU_TIME, NPU_TOTAL_CYCLES,  NPU_CYCLES,         NPU_SRAM,
                                  NPU_DRAM, NPU_ON_CHIP_FLASH, NPU_OFF_CHIP_FLASH, NPU_WEIGHTS};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const csv_field *field = cell(t, numbers[i]);
        double *value = &values[numbers[i]];
        if (!text_double(field->text, field->length, value) || !(*value >= 0)) return numbers[i];
    }
    return NPU_COLUMNS;
}

/* Converts seconds, cycles, KiB and bytes of a row to the units and the order of the metrics. */
static void convert_metrics(const double values[static NPU_COLUMNS], double metrics[static METRIC_COUNT]) {
    metrics[METRIC_TIME] = values[NPU_TIME] * 1e6;
    metrics[METRIC_TOTAL_CYCLES] = values[NPU_TOTAL_CYCLES];
    metrics[METRIC_NPU_CYCLES] = values[NPU_CYCLES];
    metrics[METRIC_SRAM] = round(values[NPU_SRAM] * 1024);
    metrics[METRIC_DRAM] = round(values[NPU_DRAM] * 1024);
    metrics[METRIC_FLASH] = round((values[NPU_ON_CHIP_FLASH] + values[NPU_OFF_CHIP_FLASH]) * 1024);
    metrics[METRIC_WEIGHTS] = values[NPU_WEIGHTS];
    for (int i = 0; i < METRIC_COUNT; i++) {
        if (!(metrics[i] > 0)) metrics[i] = NAN;
    }
}

/* --- Networks ---------------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ft_status describe_graph(const ft_graph *graph, npu_model *m) {
    uint32_t count = ft_graph_op_count(graph);
    const char **types = malloc((count + 1) * sizeof *types);
    if (types == NULL) return FT_NOMEM(&m->error);
    for (uint32_t i = 0; i < count; i++) types[i] = ft_graph_ops(graph)[i].type;
    qsort(types, count, sizeof *types, by_text);
    for (uint32_t i = 0; i < count; i++) buf_add(&m->types, types[i], strlen(types[i]) + 1);
    free(types);
    for (uint32_t i = 0; i < ft_graph_input_count(graph); i++) {
        const ft_tensor *input = &ft_graph_tensors(graph)[ft_graph_inputs(graph)[i]];
        buf_char(&m->inputs, '\n');
        for (int32_t k = 0; k < input->rank; k++) {
            int64_t exported = graph_exported_size(graph, input->dims[k]);
            buf_int(&m->inputs, exported > 0 ? exported : input->dims[k]);
            buf_char(&m->inputs, ',');
        }
    }
    return m->types.failed || m->inputs.failed ? FT_NOMEM(&m->error) : FT_OK;
}

/* Graphs that cannot be bound would be useless in a data set. */
static ft_status read_graph(const char *path, packer *p, npu_model *m) {
    ft_graph *graph, *bound;
    FT_TRY(ft_graph_read(path, &graph, &m->error));
    ft_status status = ft_graph_bind(graph, NULL, &bound, &m->error);
    if (status == FT_OK) {
        ft_graph_free(bound);
        status = describe_graph(graph, m);
        if (status == FT_OK) status = pack_graph(p, graph, &m->packed, &m->error);
    }
    ft_graph_free(graph);
    return status;
}

static void read_part(void *user, uint32_t part, uint32_t worker) {
    const npu_import *t = user;
    npu_model *m = &t->models[part];
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/tflite/%s", t->job->source, m->file);
    m->status =
        size > 0 && (size_t)size < sizeof path
            ? read_graph(path, t->packers[worker], m)
            : ft_fail(&m->error, FT_ERR_IO, "%.100s/tflite/%.100s: the path is too long", t->job->source, m->file);
}

static bool is_plain_name(const char *file) {
    return file[0] != '\0' && file[0] != '.' && strchr(file, '/') == NULL;
}

static ft_status list_model(npu_import *t) {
    char text[MAX_CELL];
    uint32_t at;
    const char *file = csv_unquote(cell(t, NPU_FILE), text, sizeof text);
    if (!is_plain_name(file) || map_get(&t->numbers, file, &at)) return FT_OK;
    if (t->model_count == t->model_capacity) {
        uint32_t larger = t->model_capacity == 0 ? 256 : t->model_capacity * 2;
        npu_model *models = realloc(t->models, larger * sizeof *models);
        if (models == NULL) return FT_NOMEM(t->job->error);
        t->models = models;
        t->model_capacity = larger;
    }
    const char *name = arena_string(&t->memory, file, strlen(file));
    if (name == NULL || !map_set(&t->numbers, name, t->model_count)) return FT_NOMEM(t->job->error);
    t->models[t->model_count++] = (npu_model){.file = name, .graph = FT_NONE};
    return FT_OK;
}

/* The networks that rows refer to, in a pass of its own: the rows are read again afterwards. */
static ft_status list_models(npu_import *t) {
    const csv rows = t->rows;
    uint32_t found;
    for (;;) {
        FT_TRY(csv_row(&t->rows, t->cells, t->column_count, &found, t->job->error));
        if (found == 0) break;
        if (found == t->column_count) FT_TRY(list_model(t));
    }
    t->rows = rows;
    return FT_OK;
}

/* Reads all networks in parallel. */
static ft_status read_models(npu_import *t) {
    pool *threads = NULL;
    if (t->model_count > 1) FT_TRY(pool_new(t->job->options->threads, &threads, t->job->error));
    uint32_t count = pool_threads(threads);
    t->packers = calloc((size_t)count + 1, sizeof *t->packers);
    bool is_good = t->packers != NULL;
    for (uint32_t i = 0; i < count && is_good; i++) is_good = (t->packers[i] = packer_new()) != NULL;
    if (is_good) pool_run(threads, t->model_count, read_part, t);
    pool_free(threads);
    return is_good ? FT_OK : FT_NOMEM(t->job->error);
}

/* The key that variants of a network share: a hash of operator counts, work, and input shapes. */
static ft_status find_key(const npu_import *t, npu_model *m) {
    char all[HASH_TEXT];
    buf_add(&m->types, cell(t, NPU_MACS)->text, cell(t, NPU_MACS)->length);
    buf_add(&m->types, m->inputs.data, m->inputs.length);
    if (m->types.failed) return FT_NOMEM(t->job->error);
    snprintf(m->key, MAX_KEY, "%.16s", hash_text(hash_bytes(m->types.data, m->types.length), all));
    return FT_OK;
}

static ft_status add_model(npu_import *t, const char *where, npu_model *m) {
    m->is_added = true;
    if (m->status != FT_OK) {
        const char *path = arena_format(&t->memory, "%s/tflite/%s", t->job->source, m->file);
        if (path == NULL) return FT_NOMEM(t->job->error);
        FT_TRY(import_may_skip(t->job, path, m->status, &m->error));
        char text[sizeof m->error.message + MAX_CELL + 4];
        snprintf(text, sizeof text, "%s: %s", where, m->error.message);
        return import_skip(t->job, text, "the network is unreadable");
    }
    t->job->result->models++;
    FT_TRY(find_key(t, m));
    return builder_add_packed(t->builder, m->packed.data, m->packed.length, &m->graph, t->job->error);
}

/* Adds a network at the first row that refers to it. */
static ft_status find_model(npu_import *t, const char *file, const char *where, const npu_model **found) {
    uint32_t number = 0;
    bool is_listed = map_get(&t->numbers, file, &number);
    assert(is_listed);
    (void)is_listed;
    npu_model *m = &t->models[number];
    *found = m;
    if (!m->is_added) return add_model(t, where, m);
    return m->graph != FT_NONE ? FT_OK : import_skip(t->job, where, "the network is unreadable");
}

/* --- Rows -------------------------------------------------------------------------------------------------------- */

/* Single operators are a family of their own; the family of a network is the collection it comes from. */
static void find_family(const npu_import *t, char *family, size_t size) {
    char source[MAX_CELL];
    csv_unquote(cell(t, NPU_SOURCE), source, sizeof source);
    const char *plus = strrchr(source, '+');
    const char *collection = plus != NULL ? plus + 1 : source;
    snprintf(family, size, "%s", csv_field_is(cell(t, NPU_OPS), "1") ? "operator" : collection);
}

static ft_status read_row(npu_import *t) {
    char where[MAX_CELL], file[MAX_CELL], config[MAX_CELL], family[MAX_CELL], name[MAX_KEY + MAX_CELL];
    double values[NPU_COLUMNS], metrics[METRIC_COUNT];
    const npu_model *found;
    snprintf(where, sizeof where, "%.400s: line %" PRIu64, t->path, t->rows.line);
    csv_unquote(cell(t, NPU_FILE), file, sizeof file);
    if (!is_plain_name(file)) return skip_cell(t, NPU_FILE, "not a file in the folder tflite");
    const char *device = ft_device_canonical(csv_unquote(cell(t, NPU_CONFIG), config, sizeof config));
    if (device == NULL) return import_skip(t->job, where, "unknown accelerator");
    int bad = find_bad_number(t, values);
    if (bad != NPU_COLUMNS) return skip_cell(t, bad, "not a number of at least zero");
    convert_metrics(values, metrics);
    if (isnan(metrics[METRIC_TIME])) return import_skip(t->job, where, "its time is zero");
    FT_TRY(find_model(t, file, where, &found));
    if (found->graph == FT_NONE) return FT_OK;
    find_family(t, family, sizeof family);
    snprintf(name, sizeof name, "%s.%.*s", found->key, (int)strcspn(file, "."), file);
    ft_record record = {.graph = found->graph,
                        .name = name,
                        .family = family,
                        .device = device,
                        .setting = "",
                        .part = "",
                        .batch = 1,
                        .dtype = FT_INT8,
                        .mode = FT_INFER,
                        .is_synthetic = true,
                        .metrics = metrics};
    return import_record(t->job, t->builder, &record, where);
}

static ft_status read_rows(npu_import *t) {
    csv rest = t->rows;
    uint64_t total = csv_skip(&rest, UINT64_MAX);
    for (uint64_t done = 1;; done++) {
        uint32_t found;
        FT_TRY(csv_row(&t->rows, t->cells, t->column_count, &found, t->job->error));
        if (found == 0) return import_finish(t->job, t->builder);
        if (found == t->column_count)
            FT_TRY(read_row(t));
        else
            FT_TRY(import_skip_short_row(t->job, &t->rows, found, t->column_count));
        FT_TRY(import_progress(t->job, done, total, "summary.csv"));
    }
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

static ft_status run(npu_import *t) {
    t->path = arena_format(&t->memory, "%s/summary.csv", t->job->source);
    if (t->path == NULL) return FT_NOMEM(t->job->error);
    FT_TRY(input_open(t->path, FT_MAX_UNPACKED_BYTES, &t->in, t->job->error));
    csv_init(&t->rows, t->path, (const char *)t->in.bytes, t->in.size);
    FT_TRY(read_header(t));
    FT_TRY(builder_new(t->job->folder, metric_names, METRIC_COUNT, &t->builder, t->job->error));
    FT_TRY(list_models(t));
    FT_TRY(read_models(t));
    return read_rows(t);
}

static ft_status import_npu(import_job *job) {
    npu_import *t = calloc(1, sizeof *t);
    if (t == NULL) return FT_NOMEM(job->error);
    t->job = job;
    arena_init(&t->memory, UINT64_MAX);
    map_init(&t->numbers, &t->memory);
    ft_status status = run(t);
    builder_free(t->builder);
    input_close(&t->in);
    for (packer **each = t->packers; each != NULL && *each != NULL; each++) packer_free(*each);
    for (uint32_t i = 0; i < t->model_count; i++) {
        buf_free(&t->models[i].packed);
        buf_free(&t->models[i].types);
        buf_free(&t->models[i].inputs);
    }
    free(t->models);
    free(t->packers);
    arena_free(&t->memory);
    free(t);
    return status;
}

const importer npu_importer = {"npu", "Arm Vela's summary.csv and the TFLite files it was made from", import_npu};
