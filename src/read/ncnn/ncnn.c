/* ncnn.c - the reader of ncnn's .param files: a magic number, the counts of layers and blobs, and a layer a line:
 *
 *     Convolution  conv1  1 1  data conv1_relu  0=64 1=3 5=1 6=1728 9=1
 *
 * that is type, name, the number of its inputs and outputs, their blobs, and parameters by number. Weights are in a
 * .bin file, which is not read: their sizes follow from the parameters. The binary form, .param.bin, is refused. */
#include "read/ncnn/ncnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/text.h"
#include "read/read.h"

enum { MAX_WORDS = 4096, MAX_LIST = 1024, ARRAY_BASE = -23300 };

static const char magic[] = "7767517";
static const uint32_t binary_magic = 7767517;

/* --- Recognition ------------------------------------------------------------------------------------------------- */

static bool is_binary(const uint8_t *bytes, size_t size) {
    uint32_t words[3];
    if (size < sizeof words) return false;
    memcpy(words, bytes, sizeof words);
    return words[0] == binary_magic && words[1] > 0 && words[1] <= FT_MAX_OPS && words[2] <= FT_MAX_OPS;
}

static bool matches(const uint8_t *bytes, size_t size) {
    size_t length = sizeof magic - 1;
    bool is_text =
        size > length && memcmp(bytes, magic, length) == 0 && (bytes[length] == '\n' || bytes[length] == '\r');
    return is_text || is_binary(bytes, size);
}

/* --- Parameters -------------------------------------------------------------------------------------------------- */

ft_status ncnn_damaged(ncnn_model *m, const ncnn_layer *l, const char *what) {
    return ft_fail(m->error, FT_ERR_DAMAGED, "layer '%.200s' (%.100s): %s", l->name, l->type, what);
}

int64_t ncnn_int(const ncnn_layer *l, unsigned id, int64_t fallback) {
    const ncnn_param *p = &l->params[id];
    if (!p->is_set || p->list != NULL || !(p->number >= -(double)FT_MAX_DIM && p->number <= (double)FT_MAX_DIM))
        return fallback;
    return (int64_t)p->number;
}

double ncnn_float(const ncnn_layer *l, unsigned id, double fallback) {
    const ncnn_param *p = &l->params[id];
    return p->is_set && p->list == NULL ? p->number : fallback;
}

/* "2,16,16": a count, and as many numbers, of which floats are rounded towards zero. */
static ft_status read_list(ncnn_model *m, const ncnn_layer *l, const char *text, ncnn_param *p) {
    int64_t count, *list;
    size_t length = strcspn(text, ",");
    if (!text_int(text, length, &count) || count < 0 || count > MAX_LIST)
        return ncnn_damaged(m, l, "an array has no count, or more than 1024 elements");
    list = ARENA_ARRAY(&m->scratch, int64_t, (size_t)count);
    if (list == NULL) return FT_NOMEM(m->error);
    for (int64_t i = 0; i < count; i++) {
        double number;
        if (text[length] != ',') return ncnn_damaged(m, l, "an array has fewer elements than its count");
        text += length + 1;
        length = strcspn(text, ",");
        if (!text_double(text, length, &number)) return ncnn_damaged(m, l, "an element of an array is not a number");
        if (number > -(double)FT_MAX_DIM && number < (double)FT_MAX_DIM) list[i] = (int64_t)number;
    }
    p->list = list;
    p->count = (uint32_t)count;
    return FT_OK;
}

static ft_status read_param(ncnn_model *m, ncnn_layer *l, const char *word) {
    size_t length = strcspn(word, "=");
    int64_t id;
    if (word[length] != '=' || !text_int(word, length, &id)) return ncnn_damaged(m, l, "a parameter is not like 0=64");
    bool is_list = id <= ARRAY_BASE;
    if (is_list) id = ARRAY_BASE - id;
    const char *text = word + length + 1;
    if (id < 0 || id >= NCNN_PARAMS) return ncnn_damaged(m, l, "a parameter has a number above 31");
    ncnn_param *p = &l->params[id];
    p->is_set = true;
    if (is_list) return read_list(m, l, text, p);
    bool is_number = text_double(text, strlen(text), &p->number);
    if (!is_number && text[0] != '"') return ncnn_damaged(m, l, "the value of a parameter is not a number");
    l->has_text = l->has_text || !is_number;
    return FT_OK;
}

/* --- Attributes and operators ------------------------------------------------------------------------------------ */

ft_status ncnn_add_int(ncnn_model *m, ncnn_layer *l, const char *name, int64_t value) {
    assert(l->attr_count < NCNN_MAX_ATTRS);
    return graph_attr_int(m->graph, &l->attrs[l->attr_count++], name, value, m->error);
}

ft_status ncnn_add_ints(ncnn_model *m, ncnn_layer *l, const char *name, const int64_t *values, size_t count) {
    assert(l->attr_count < NCNN_MAX_ATTRS);
    return graph_attr_ints(m->graph, &l->attrs[l->attr_count++], name, values, count, m->error);
}

ft_status ncnn_add_text(ncnn_model *m, ncnn_layer *l, const char *name, const char *text) {
    assert(l->attr_count < NCNN_MAX_ATTRS);
    return graph_attr_string(m->graph, &l->attrs[l->attr_count++], name, text, m->error);
}

ft_status ncnn_add_op(ncnn_model *m, const ncnn_layer *l, const char *suffix) {
    ft_op op = {.type = l->type,
                .def = l->def,
                .inputs = l->inputs,
                .input_count = l->input_count,
                .outputs = l->outputs,
                .output_count = l->output_count,
                .attr_count = l->attr_count};
    op.name = arena_format(&m->scratch, "%s%s", l->name, suffix);
    op.attrs = arena_copy(&m->graph->memory, l->attrs, l->attr_count * sizeof l->attrs[0]);
    if (op.name == NULL || op.attrs == NULL) return FT_NOMEM(m->error);
    return graph_add_op(m->graph, &op, m->error);
}

/* --- Blobs ------------------------------------------------------------------------------------------------------- */

static ft_status mark_read(ncnn_model *m, uint32_t tensor) {
    if (tensor >= m->read_capacity) {
        uint32_t capacity = tensor < UINT32_MAX / 4 ? 2 * tensor + 64 : UINT32_MAX;
        bool *larger = ARENA_ARRAY(&m->scratch, bool, capacity);
        if (larger == NULL) return FT_NOMEM(m->error);
        if (m->read_capacity > 0) memcpy(larger, m->is_read, m->read_capacity * sizeof *larger);
        m->is_read = larger;
        m->read_capacity = capacity;
    }
    m->is_read[tensor] = true;
    return FT_OK;
}

static ft_status define(ncnn_model *m, const ncnn_layer *l, const char *blob, uint32_t tensor) {
    uint32_t found;
    if (!map_add(&m->blobs, blob, tensor, &found)) return FT_NOMEM(m->error);
    if (found == tensor) return FT_OK;
    return ft_fail(m->error, FT_ERR_GRAPH, "layer '%.200s' (%.100s): two layers compute blob '%.200s'", l->name,
                   l->type, blob);
}

/* A layer that returns its input: all of its blobs are one tensor. */
static ft_status add_alias(ncnn_model *m, const ncnn_layer *l, char **blobs) {
    if (l->input_count < 1) return ncnn_damaged(m, l, "it has no input");
    for (uint32_t i = 0; i < l->output_count; i++) {
        uint32_t unused;
        if (map_get(&m->blobs, blobs[i], &unused)) return ncnn_damaged(m, l, "two layers compute one of its blobs");
        FT_TRY(define(m, l, blobs[i], l->inputs[0]));
    }
    return FT_OK;
}

static ft_status add_tensors(ncnn_model *m, ncnn_layer *l, char **blobs) {
    for (uint32_t i = 0; i < l->output_count; i++) {
        ft_tensor t = {.name = blobs[i], .dtype = FT_FLOAT32, .rank = -1};
        FT_TRY(graph_add_tensor(m->graph, &t, &l->outputs[i], m->error));
        FT_TRY(define(m, l, blobs[i], l->outputs[i]));
    }
    return FT_OK;
}

/* Width, height, depth and channels, as far as the layer gives them, after the batch. */
static void set_dims(const ncnn_layer *l, ft_tensor *t, int64_t batch) {
    static const unsigned ids[] = {2, 11, 1, 0}; /* channels, depth, height, width */
    t->rank = 0;
    t->dims[t->rank++] = batch;
    for (int i = 0; i < 4; i++) {
        int64_t size = ncnn_int(l, ids[i], 0);
        if (size > 0) t->dims[t->rank++] = size;
    }
    if (t->rank == 1) t->rank = -1;
}

static ft_status add_input(ncnn_model *m, ncnn_layer *l) {
    for (uint32_t i = 0; i < l->output_count; i++) {
        ft_tensor *t = &m->graph->tensors[l->outputs[i]];
        int64_t batch;
        FT_TRY(graph_symbol(m->graph, "batch", &batch, m->error));
        set_dims(l, t, batch);
        FT_TRY(graph_add_input(m->graph, l->outputs[i], m->error));
    }
    return FT_OK;
}

static ft_status add_constant(ncnn_model *m, ncnn_layer *l) {
    for (uint32_t i = 0; i < l->output_count; i++) {
        ft_tensor *t = &m->graph->tensors[l->outputs[i]];
        set_dims(l, t, 1);
        t->role = FT_CONSTANT;
    }
    return FT_OK;
}

/* --- Layers ------------------------------------------------------------------------------------------------------ */

static bool returns_input(const char *type) {
    static const char *const types[] = {"Split", "Noop", "Dropout", "Packing", "DeepCopy"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i], type) == 0) return true;
    return false;
}

static ft_status read_blobs(ncnn_model *m, ncnn_layer *l, char **words) {
    l->inputs = ARENA_ARRAY(&m->scratch, uint32_t, (size_t)l->input_count + NCNN_MAX_INPUTS);
    l->outputs = ARENA_ARRAY(&m->scratch, uint32_t, l->output_count);
    if (l->inputs == NULL || l->outputs == NULL) return FT_NOMEM(m->error);
    for (uint32_t i = 0; i < l->input_count; i++) {
        if (!map_get(&m->blobs, words[i], &l->inputs[i]))
            return ft_fail(m->error, FT_ERR_GRAPH,
                           "layer '%.200s' (%.100s) reads blob '%.200s', which no layer before it computes", l->name,
                           l->type, words[i]);
        if (!returns_input(l->type)) FT_TRY(mark_read(m, l->inputs[i]));
    }
    return FT_OK;
}

static ft_status add_line(ncnn_model *m, char **words, uint32_t count) {
    int64_t inputs, outputs;
    ncnn_layer l = {.type = words[0], .name = count > 1 ? words[1] : ""};
    if (count < 4 || !text_int(words[2], strlen(words[2]), &inputs) ||
        !text_int(words[3], strlen(words[3]), &outputs) || inputs < 0 || outputs < 0 || inputs > MAX_WORDS ||
        outputs > MAX_WORDS || inputs + outputs > (int64_t)count - 4)
        return ncnn_damaged(m, &l, "it has no counts of inputs and outputs, or fewer blobs than they say");
    l.input_count = (uint32_t)inputs;
    l.output_count = (uint32_t)outputs;
    FT_TRY(read_blobs(m, &l, words + 4));
    for (uint32_t i = 4 + l.input_count + l.output_count; i < count; i++) FT_TRY(read_param(m, &l, words[i]));
    char **blobs = words + 4 + l.input_count;
    if (returns_input(l.type)) return add_alias(m, &l, blobs);
    FT_TRY(add_tensors(m, &l, blobs));
    if (strcmp(l.type, "Input") == 0) return add_input(m, &l);
    if (strcmp(l.type, "MemoryData") == 0) return add_constant(m, &l);
    return ncnn_add_layer(m, &l);
}

static ft_status split_line(ncnn_model *m, const char *text, size_t length, char **words, uint32_t *count) {
    char *rest = arena_string(&m->scratch, text, length), *save = NULL;
    *count = 0;
    if (rest == NULL) return FT_NOMEM(m->error);
    for (char *word = strtok_r(rest, " \t\r", &save); word != NULL; word = strtok_r(NULL, " \t\r", &save)) {
        if (*count == MAX_WORDS) return ft_fail(m->error, FT_ERR_LIMIT, "more than %d words", MAX_WORDS);
        words[(*count)++] = word;
    }
    return FT_OK;
}

/* --- The file ---------------------------------------------------------------------------------------------------- */

static ft_status read_counts(ncnn_model *m, lines *text, int64_t *layers) {
    const char *line;
    size_t length;
    FT_TRY(lines_next(text, &line, &length, m->error)); /* the magic */
    FT_TRY(lines_next(text, &line, &length, m->error));
    size_t digits = line != NULL ? strspn(line, "0123456789") : 0;
    if (digits == 0 || !text_int(line, digits, layers) || *layers < 1)
        return ft_fail(m->error, FT_ERR_DAMAGED, "the counts of layers and blobs are missing");
    if (*layers > FT_MAX_OPS) return ft_fail(m->error, FT_ERR_LIMIT, "more than %d layers", FT_MAX_OPS);
    return FT_OK;
}

static ft_status read_lines(ncnn_model *m, lines *text) {
    char **words = ARENA_ARRAY(&m->scratch, char *, MAX_WORDS);
    int64_t layers, done = 0;
    const char *line;
    size_t length;
    uint32_t count;
    if (words == NULL) return FT_NOMEM(m->error);
    FT_TRY(read_counts(m, text, &layers));
    while (true) {
        FT_TRY(lines_next(text, &line, &length, m->error));
        if (line == NULL) break;
        ft_status status = split_line(m, line, length, words, &count);
        if (status == FT_OK && count > 0 && done++ == layers)
            status =
                ft_fail(m->error, FT_ERR_DAMAGED, "more layers than the %lld of the second line", (long long)layers);
        if (status == FT_OK && count > 0) status = add_line(m, words, count);
        if (status != FT_OK) return ft_fail_prefix(m->error, status, "line %llu", (unsigned long long)text->number);
    }
    if (done < layers)
        return ft_fail(m->error, FT_ERR_DAMAGED, "truncated: %lld layers instead of the %lld of the second line",
                       (long long)done, (long long)layers);
    for (uint32_t i = 0; i < m->graph->tensor_count; i++) {
        bool is_result = m->graph->tensors[i].role == FT_ACTIVATION && (i >= m->read_capacity || !m->is_read[i]);
        if (is_result && m->graph->tensors[i].name[0] != '\0') FT_TRY(graph_add_output(m->graph, i, m->error));
    }
    return graph_finish(m->graph, m->error);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static ft_status read_text(ncnn_model *m, const uint8_t *bytes, size_t size, const char *path) {
    lines text;
    if (is_binary(bytes, size))
        return ft_fail(m->error, FT_ERR_UNSUPPORTED,
                       "an ncnn .param.bin file (binary) is not supported: give the .param file it was made from");
    FT_TRY(lines_open_memory((const char *)bytes, size, path, &text, m->error));
    ft_status status = read_lines(m, &text);
    lines_close(&text);
    return status;
}

static ft_status read_ncnn(const uint8_t *bytes, size_t size, const read_origin *origin, ft_graph **graph,
                           ft_error *error) {
    ncnn_model m = {.error = error};
    arena_init(&m.scratch, FT_MAX_GRAPH_BYTES);
    map_init(&m.blobs, &m.scratch);
    ft_status status = graph_new(FT_FORMAT_NCNN, FT_NCHW, base_name(origin->path), &m.graph, error);
    if (status == FT_OK) status = read_text(&m, bytes, size, origin->path);
    arena_free(&m.scratch);
    if (status == FT_OK) {
        *graph = m.graph;
        return FT_OK;
    }
    ft_graph_free(m.graph);
    return ft_fail_prefix(error, status, "%s", origin->path);
}

const reader ncnn_reader = {.format = FT_FORMAT_NCNN, .matches = matches, .read = read_ncnn};
