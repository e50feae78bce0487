/* import_mlp.c - import of trainings of multi-layer perceptrons with their average utilisation on an A100
 * (docs/formats/mlp.md).
 *
 * Columns are found by their names. Averages of 0 are below the resolution of the counters and count as not measured.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/input.h"
#include "base/text.h"
#include "data/import.h"
#include "data/records.h"
#include "graph/graph.h"

enum {
    MAX_COLUMNS = 64,
    MAX_LAYERS = 512, /* the published table has 60 at most */
    MAX_TEXT = 32768, /* bytes of a list of layers */
    MAX_WIDTH = 1 << 20,
};

/* A layer of the list. */
typedef struct mlp_layer {
    char kind[32];
    int64_t width, params;
} mlp_layer;

typedef struct mlp_maker {
    const char *at; /* rest of the list */
    ft_graph *graph;
    uint32_t tensor; /* the last result */
    int64_t width;   /* of it */
    uint32_t count;  /* layers so far */
    ft_error *error;
} mlp_maker;

/* --- Parsing ------------------------------------------------------------------------------------------------- */

static ft_status not_a_list(const mlp_maker *m) {
    return ft_fail(m->error, FT_ERR_FORMAT, "layer %u: expected ('KIND', WIDTH, PARAMETERS)", m->count + 1);
}

static void skip_spaces(mlp_maker *m) {
    m->at += strspn(m->at, " ");
}

static bool take(mlp_maker *m, char c) {
    skip_spaces(m);
    if (*m->at != c) return false;
    m->at++;
    return true;
}

static bool take_number(mlp_maker *m, int64_t *value) {
    skip_spaces(m);
    size_t length = strspn(m->at, "0123456789");
    if (length == 0 || !text_int(m->at, length, value)) return false;
    m->at += length;
    return true;
}

static bool take_word(mlp_maker *m, char *word, size_t size) {
    if (!take(m, '\'')) return false;
    size_t length = strcspn(m->at, "'");
    if (length == 0 || length >= size || m->at[length] != '\'') return false;
    memcpy(word, m->at, length);
    word[length] = '\0';
    m->at += length + 1;
    return true;
}

static ft_status read_layer(mlp_maker *m, mlp_layer *layer) {
    bool is_read = take(m, '(') && take_word(m, layer->kind, sizeof layer->kind) && take(m, ',') &&
                   take_number(m, &layer->width) && take(m, ',') && take_number(m, &layer->params) && take(m, ')');
    if (!is_read) return not_a_list(m);
    if (layer->width < 1 || layer->width > MAX_WIDTH)
        return ft_fail(m->error, FT_ERR_LIMIT, "layer %u: a width of %lld; expected 1 to %d", m->count + 1,
                       (long long)layer->width, MAX_WIDTH);
    return FT_OK;
}

/* --- Building ------------------------------------------------------------------------------------------------ */

static ft_status add_weight(mlp_maker *m, int64_t rows, int64_t columns, uint32_t *index) {
    ft_tensor spec = {.name = "", .dtype = FT_FLOAT32, .role = FT_CONSTANT, .rank = rows > 0 ? 2 : 1};
    spec.dims[0] = rows > 0 ? rows : columns;
    spec.dims[1] = columns;
    char name[48];
    snprintf(name, sizeof name, "weight%u", m->graph->tensor_count);
    spec.name = name;
    return graph_add_tensor(m->graph, &spec, index, m->error);
}

static ft_status add_op(mlp_maker *m, const char *type, const uint32_t *inputs, uint32_t input_count,
                        const ft_attr *attrs, uint32_t attr_count) {
    char name[48];
    uint32_t output;
    snprintf(name, sizeof name, "layer%u", m->count);
    ft_tensor result = {.name = name, .rank = -1};
    FT_TRY(graph_add_tensor(m->graph, &result, &output, m->error));
    ft_op op = {.name = name,
                .type = type,
                .inputs = inputs,
                .input_count = input_count,
                .outputs = &output,
                .output_count = 1,
                .attrs = attrs,
                .attr_count = attr_count};
    FT_TRY(graph_add_op(m->graph, &op, m->error));
    m->tensor = output;
    return FT_OK;
}

static ft_status add_attribute(mlp_maker *m, const char *name, int64_t value, const ft_attr **attr) {
    ft_attr *made = arena_array(&m->graph->memory, 1, sizeof *made);
    if (made == NULL) return FT_NOMEM(m->error);
    *attr = made;
    return graph_attr_int(m->graph, made, name, value, m->error);
}

static ft_status add_linear(mlp_maker *m, const mlp_layer *layer) {
    const ft_attr *is_transposed = NULL;
    uint32_t inputs[3] = {m->tensor};
    if (layer->params != (m->width + 1) * layer->width)
        return ft_fail(m->error, FT_ERR_FORMAT, "layer %u: %lld parameters, but %lld -> %lld with a bias has %lld",
                       m->count + 1, (long long)layer->params, (long long)m->width, (long long)layer->width,
                       (long long)((m->width + 1) * layer->width));
    FT_TRY(add_weight(m, layer->width, m->width, &inputs[1]));
    FT_TRY(add_weight(m, 0, layer->width, &inputs[2]));
    FT_TRY(add_attribute(m, "transB", 1, &is_transposed));
    m->width = layer->width;
    return add_op(m, "Gemm", inputs, 3, is_transposed, 1);
}

static ft_status add_norm(mlp_maker *m) {
    uint32_t inputs[5] = {m->tensor};
    for (int i = 1; i < 5; i++) FT_TRY(add_weight(m, 0, m->width, &inputs[i]));
    return add_op(m, "BatchNormalization", inputs, 5, NULL, 0);
}

/* Layers that keep the shape, by the names of PyTorch's modules. */
static const char *operator_of(const char *kind) {
    static const struct {
        const char *kind, *type;
    } names[] = {{"ReLU", "Relu"},           {"ELU", "Elu"},         {"GELU", "Gelu"},         {"Identity", "Identity"},
                 {"LeakyReLU", "LeakyRelu"}, {"Mish", "Mish"},       {"SELU", "Selu"},         {"SiLU", "Silu"},
                 {"Sigmoid", "Sigmoid"},     {"Softmax", "Softmax"}, {"Softplus", "Softplus"}, {"Tanh", "Tanh"},
                 {"dropout", "Dropout"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].kind, kind) == 0) return names[i].type;
    return NULL;
}

static ft_status add_layer(mlp_maker *m, const mlp_layer *layer) {
    uint32_t inputs[2] = {m->tensor};
    if (strcmp(layer->kind, "linear") == 0) return add_linear(m, layer);
    if (layer->width != m->width)
        return ft_fail(m->error, FT_ERR_FORMAT, "layer %u: '%s' of width %lld after one of width %lld", m->count + 1,
                       layer->kind, (long long)layer->width, (long long)m->width);
    if (strcmp(layer->kind, "batch_normalization") == 0) return add_norm(m);
    if (strcmp(layer->kind, "PReLU") == 0) {
        FT_TRY(add_weight(m, 0, 1, &inputs[1]));
        return add_op(m, "PRelu", inputs, 2, NULL, 0);
    }
    const char *type = operator_of(layer->kind);
    if (type == NULL)
        return ft_fail(m->error, FT_ERR_UNSUPPORTED, "layer %u: unknown layer '%s'", m->count + 1, layer->kind);
    return add_op(m, type, inputs, 1, NULL, 0);
}

/* The first layer is linear: its parameters and width determine the width of the input. */
static ft_status add_input(mlp_maker *m, const mlp_layer *first) {
    int64_t batch, width = first->params / first->width - 1;
    if (strcmp(first->kind, "linear") != 0) return ft_fail(m->error, FT_ERR_FORMAT, "the first layer is not linear");
    if (width < 1 || width > MAX_WIDTH)
        return ft_fail(m->error, FT_ERR_LIMIT, "an input of width %lld; expected 1 to %d", (long long)width, MAX_WIDTH);
    FT_TRY(graph_symbol(m->graph, "batch", &batch, m->error));
    ft_tensor spec = {.name = "input", .dtype = FT_FLOAT32, .role = FT_INPUT, .rank = 2, .dims = {batch, width}};
    FT_TRY(graph_add_tensor(m->graph, &spec, &m->tensor, m->error));
    m->width = width;
    return graph_add_input(m->graph, m->tensor, m->error);
}

static ft_status add_layers(mlp_maker *m) {
    if (!take(m, '[')) return ft_fail(m->error, FT_ERR_FORMAT, "the layers are not a list, as [('linear', 8, 72)]");
    do {
        mlp_layer layer;
        if (m->count == MAX_LAYERS) return ft_fail(m->error, FT_ERR_LIMIT, "more than %d layers", MAX_LAYERS);
        FT_TRY(read_layer(m, &layer));
        if (m->count == 0) FT_TRY(add_input(m, &layer));
        FT_TRY(add_layer(m, &layer));
        m->count++;
    } while (take(m, ','));
    if (!take(m, ']')) return not_a_list(m);
    FT_TRY(graph_add_output(m->graph, m->tensor, m->error));
    return graph_finish(m->graph, m->error);
}

ft_status mlp_graph(const char *layers, ft_graph **graph, ft_error *error) {
    mlp_maker m = {.at = layers, .error = error};
    FT_TRY(graph_new(FT_FORMAT_ONNX, FT_NCHW, "mlp", &m.graph, error));
    ft_status status = add_layers(&m);
    if (status == FT_OK)
        *graph = m.graph;
    else
        ft_graph_free(m.graph);
    return status;
}

/* --- The table -------------------------------------------------------------------------------------------------- */

/* Batches come from the process that trains, one after the other, so the GPU waits for them. */
#define MLP_SETTING "amp=no;compile=no;loader=inline;optimizer=adam"

enum { AT_NAME, AT_LAYERS, AT_BATCH, REQUIRED, FIRST_METRIC = REQUIRED, METRIC_COUNT = 6 };
enum { COLUMN_COUNT = REQUIRED + METRIC_COUNT };

static const char *const column_names[COLUMN_COUNT] = {
    "Filename",  "Activations-Params", "Batch Size", "Max GPU Memory (MiB)", "Avg GPUTL", "Avg GRACT",
    "Avg SMACT", "Avg SMOCC",          "Avg FP32A"};

static const char *const metric_names[METRIC_COUNT] = {"peak_bytes",      "gpu_util_ratio",     "graphics_active_ratio",
                                                       "sm_active_ratio", "sm_occupancy_ratio", "fp32_active_ratio"};
/* To our units; of the GPU's utilisation alone the table has percents. */
static const double factors[METRIC_COUNT] = {1024.0 * 1024.0, 1e-2, 1, 1, 1, 1};

typedef struct mlp_import {
    import_job *job;
    builder *builder;
    csv text;
    uint32_t column_count, columns[COLUMN_COUNT]; /* FT_NONE: absent */
    csv_field cells[MAX_COLUMNS];
    char layers[MAX_TEXT];
} mlp_import;

/* --- Rows ---------------------------------------------------------------------------------------------------- */

static ft_status skip_row(mlp_import *m, const char *why) {
    char where[MAX_CELL];
    snprintf(where, sizeof where, "%.400s: line %llu", m->text.name, (unsigned long long)m->text.line);
    return import_skip(m->job, where, why);
}

/* "input:61_output:12_depth:5_arch:pyramid_batch:777.out" without the batch, which a model is trained with, and the
 * suffix. */
static void find_name(const char *file, char *name, size_t size) {
    const char *batch = strstr(file, "_batch:");
    size_t head = batch != NULL ? (size_t)(batch - file) : strlen(file);
    const char *rest = batch != NULL ? batch + strlen("_batch:") : "";
    rest += strspn(rest, "0123456789");
    snprintf(name, size, "%.*s%s", (int)head, file, rest);
    size_t length = strlen(name), end = strlen(".out");
    if (length > end && strcmp(name + length - end, ".out") == 0) name[length - end] = '\0';
}

/* The word after "arch:": how widths change from layer to layer. */
static void find_family(const char *file, char *family, size_t size) {
    const char *at = strstr(file, "arch:");
    if (at != NULL) at += strlen("arch:");
    snprintf(family, size, "%.*s", at != NULL ? (int)strcspn(at, "_.") : 0, at != NULL ? at : "");
}

static double metric_of(const mlp_import *m, int metric) {
    uint32_t column = m->columns[FIRST_METRIC + metric];
    double value;
    if (column == FT_NONE || !text_double(m->cells[column].text, m->cells[column].length, &value)) return NAN;
    value *= factors[metric];
    return value > 0 && isfinite(value) ? value : NAN;
}

static ft_status add_record(mlp_import *m, uint32_t graph, int64_t batch) {
    char file[MAX_CELL], name[MAX_CELL], family[64], where[MAX_CELL];
    double metrics[METRIC_COUNT];
    uint32_t known = 0;
    csv_unquote(&m->cells[m->columns[AT_NAME]], file, sizeof file);
    find_name(file, name, sizeof name);
    find_family(file, family, sizeof family);
    snprintf(where, sizeof where, "%.400s: line %llu", m->text.name, (unsigned long long)m->text.line);
    for (int i = 0; i < METRIC_COUNT; i++) {
        metrics[i] = metric_of(m, i);
        known += !isnan(metrics[i]);
    }
    if (known == 0) return skip_row(m, "it has no measurement");
    ft_record record = {.graph = graph,
                        .name = name,
                        .family = family,
                        .device = "a100-40gb",
                        .setting = MLP_SETTING,
                        .part = "",
                        .batch = batch,
                        .dtype = FT_FLOAT32,
                        .mode = FT_TRAIN,
                        .metrics = metrics};
    return import_record(m->job, m->builder, &record, where);
}

static ft_status add_row(mlp_import *m) {
    const csv_field *layers = &m->cells[m->columns[AT_LAYERS]], *batch = &m->cells[m->columns[AT_BATCH]];
    int64_t size;
    uint32_t index;
    ft_graph *graph;
    ft_error error;
    if (!text_int(batch->text, batch->length, &size) || size < 1 || size > 1 << 24)
        return skip_row(m, "the batch is not a number from 1 to 2^24");
    if (layers->length >= sizeof m->layers) return skip_row(m, "the list of layers is too long");
    csv_unquote(layers, m->layers, sizeof m->layers);
    ft_status status = mlp_graph(m->layers, &graph, &error);
    if (status == FT_ERR_NOMEM) return FT_NOMEM(m->job->error);
    if (status != FT_OK) {
        if (m->job->options->is_strict)
            return ft_fail(m->job->error, FT_ERR_DAMAGED, "%s: line %llu: %s", m->text.name,
                           (unsigned long long)m->text.line, error.message);
        return skip_row(m, "its layers cannot be read");
    }
    m->job->result->models++;
    status = builder_add_graph(m->builder, graph, &index, m->job->error);
    ft_graph_free(graph);
    return status == FT_OK ? add_record(m, index, size) : status;
}

/* --- Files --------------------------------------------------------------------------------------------------- */

static ft_status read_header(mlp_import *m) {
    uint32_t count;
    char name[64];
    FT_TRY(csv_row(&m->text, m->cells, MAX_COLUMNS, &count, m->job->error));
    for (int i = 0; i < COLUMN_COUNT; i++) m->columns[i] = FT_NONE;
    for (uint32_t c = 0; c < count; c++) {
        csv_unquote(&m->cells[c], name, sizeof name);
        for (int i = 0; i < COLUMN_COUNT; i++)
            if (strcmp(name, column_names[i]) == 0) m->columns[i] = c;
    }
    m->column_count = count;
    for (int i = 0; i < REQUIRED; i++)
        if (m->columns[i] == FT_NONE)
            return ft_fail(m->job->error, FT_ERR_FORMAT, "%s: has no column '%s'", m->text.name, column_names[i]);
    return FT_OK;
}

static ft_status read_rows(mlp_import *m) {
    uint32_t count;
    FT_TRY(read_header(m));
    while (true) {
        FT_TRY(csv_row(&m->text, m->cells, MAX_COLUMNS, &count, m->job->error));
        if (count == 0) return FT_OK;
        FT_TRY(count < m->column_count ? import_skip_short_row(m->job, &m->text, count, m->column_count) : add_row(m));
        if (m->text.line % 256 == 0) FT_TRY(import_progress(m->job, m->text.line, 0, m->text.name));
    }
}

static ft_status read_file(mlp_import *m, const char *path) {
    input in;
    FT_TRY(input_open(path, FT_MAX_UNPACKED_BYTES, &in, m->job->error));
    csv_init(&m->text, path, (const char *)in.bytes, in.size);
    ft_status status = read_rows(m);
    input_close(&in);
    return status;
}

static bool is_table(const char *name) {
    size_t length = strlen(name);
    return (length > 4 && strcmp(name + length - 4, ".csv") == 0) ||
           (length > 7 && strcmp(name + length - 7, ".csv.gz") == 0);
}

static ft_status read_folder(mlp_import *m) {
    name_list names;
    uint32_t tables = 0;
    FT_TRY(name_list_read(m->job->source, &names, m->job->error));
    ft_status status = FT_OK;
    for (uint32_t i = 0; status == FT_OK && i < names.count; i++) {
        char *path = NULL;
        if (!is_table(names.names[i])) continue;
        tables++;
        if (asprintf(&path, "%s/%s", m->job->source, names.names[i]) < 0) path = NULL;
        status = path != NULL ? read_file(m, path) : FT_NOMEM(m->job->error);
        free(path);
    }
    name_list_free(&names);
    if (status == FT_OK && tables == 0)
        return ft_fail(m->job->error, FT_ERR_FORMAT, "%s: contains no table (*.csv, *.csv.gz)", m->job->source);
    return status;
}

static ft_status run(mlp_import *m) {
    struct stat info;
    bool is_folder = stat(m->job->source, &info) == 0 && S_ISDIR(info.st_mode);
    FT_TRY(builder_new(m->job->folder, metric_names, METRIC_COUNT, &m->builder, m->job->error));
    FT_TRY(is_folder ? read_folder(m) : read_file(m, m->job->source));
    return import_finish(m->job, m->builder);
}

static ft_status import_mlp(import_job *job) {
    mlp_import *m = calloc(1, sizeof *m);
    if (m == NULL) return FT_NOMEM(job->error);
    m->job = job;
    ft_status status = run(m);
    builder_free(m->builder);
    free(m);
    return status;
}

const importer mlp_importer = {"mlp", "trainings of multi-layer perceptrons with the utilisation of the GPU",
                               import_mlp};
