/* tflite_model.c - writes the TFLite models of tests. Field numbers are those of the public schema, spelled here
 * once more instead of shared with the reader, so that a wrong number in it shows. */
#include "support/tflite_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add_ints(flatbuild *b, size_t table, uint32_t field, const int32_t *ints, uint32_t count) {
    flatbuild_ref(b, table, field, flatbuild_vector(b, ints, count, sizeof *ints));
}

static size_t add_tensor(flatbuild *b, const lite_tensor *tensor) {
    size_t table = flatbuild_table(b, 11);
    flatbuild_int(b, table, 1, tensor->type, 1);
    flatbuild_int(b, table, 2, tensor->buffer, 4);
    if (tensor->is_variable) flatbuild_int(b, table, 5, 1, 1);
    if (tensor->has_rank) flatbuild_int(b, table, 8, 1, 1);
    if (tensor->external != 0) flatbuild_int(b, table, 10, tensor->external, 4);
    add_ints(b, table, 0, tensor->dims, tensor->rank);
    if (tensor->signature != NULL) add_ints(b, table, 7, tensor->signature, tensor->rank);
    if (tensor->name != NULL) flatbuild_ref(b, table, 3, flatbuild_string(b, tensor->name));
    if (tensor->scales > 0) {
        size_t quantization = flatbuild_table(b, 7);
        flatbuild_ref(b, table, 4, quantization);
        float *scales = calloc(tensor->scales, sizeof *scales);
        if (scales == NULL) abort();
        if (tensor->scale_values != NULL) memcpy(scales, tensor->scale_values, tensor->scales * sizeof *scales);
        flatbuild_ref(b, quantization, 2, flatbuild_vector(b, scales, tensor->scales, sizeof *scales));
        if (tensor->scale_values != NULL)
            flatbuild_ref(b, quantization, 3, flatbuild_vector(b, &tensor->zero_point, 1, sizeof tensor->zero_point));
        free(scales);
    }
    if (tensor->is_sparse) flatbuild_ref(b, table, 6, flatbuild_table(b, 3));
    return table;
}

static size_t add_options(flatbuild *b, const lite_op *op) {
    size_t table = flatbuild_table(b, 20);
    for (uint32_t i = 0; i < op->field_count; i++) {
        const lite_field *f = &op->fields[i];
        if (f->ints != NULL)
            flatbuild_ref(b, table, f->field, flatbuild_vector(b, f->ints, f->count, f->width));
        else if (f->width == 0)
            flatbuild_float(b, table, f->field, f->real);
        else
            flatbuild_int(b, table, f->field, f->number, f->width);
    }
    return table;
}

static size_t add_op(flatbuild *b, const lite_op *op) {
    size_t table = flatbuild_table(b, 13);
    flatbuild_int(b, table, 0, op->code, 4);
    add_ints(b, table, 1, op->inputs, op->input_count);
    add_ints(b, table, 2, op->outputs, op->output_count);
    if (op->custom != NULL) flatbuild_ref(b, table, 5, flatbuild_vector(b, op->custom, op->custom_size, 1));
    if (op->options != 0) {
        flatbuild_int(b, table, op->is_second ? 11 : 3, op->options, 1);
        flatbuild_ref(b, table, op->is_second ? 12 : 4, add_options(b, op));
    }
    return table;
}

static size_t add_subgraph(flatbuild *b, const lite_subgraph *subgraph) {
    size_t table = flatbuild_table(b, 5);
    size_t tensors = flatbuild_offsets(b, subgraph->tensor_count);
    flatbuild_ref(b, table, 0, tensors);
    for (uint32_t i = 0; i < subgraph->tensor_count; i++)
        flatbuild_offset(b, tensors, i, add_tensor(b, &subgraph->tensors[i]));
    add_ints(b, table, 1, subgraph->inputs, subgraph->input_count);
    add_ints(b, table, 2, subgraph->outputs, subgraph->output_count);
    size_t ops = flatbuild_offsets(b, subgraph->op_count);
    flatbuild_ref(b, table, 3, ops);
    for (uint32_t i = 0; i < subgraph->op_count; i++) flatbuild_offset(b, ops, i, add_op(b, &subgraph->ops[i]));
    return table;
}

static size_t add_code(flatbuild *b, const lite_code *code) {
    size_t table = flatbuild_table(b, 4);
    flatbuild_int(b, table, 0, code->builtin < 127 ? code->builtin : 127, 1);
    if (!code->is_old) flatbuild_int(b, table, 3, code->builtin, 4);
    if (code->custom != NULL) flatbuild_ref(b, table, 1, flatbuild_string(b, code->custom));
    return table;
}

static size_t add_buffer(flatbuild *b, const lite_buffer *buffer) {
    size_t table = flatbuild_table(b, 3);
    if (buffer->bytes != NULL && !buffer->is_outside)
        flatbuild_ref(b, table, 0, flatbuild_vector(b, buffer->bytes, buffer->size, 1));
    return table;
}

/* Adds the bytes of outside buffers at the end of the file, and writes their offsets into the tables. */
static void add_outside(flatbuild *b, const lite_model *model, const size_t *tables) {
    for (uint32_t i = 0; i < model->buffer_count; i++) {
        const lite_buffer *buffer = &model->buffers[i];
        if (!buffer->is_outside) continue;
        size_t at = flatbuild_vector(b, buffer->bytes, buffer->size, 1) + 4;
        uint64_t size = buffer->claimed_outside != 0 ? buffer->claimed_outside : buffer->size;
        flatbuild_int(b, tables[i], 1, (int64_t)at, 8);
        flatbuild_int(b, tables[i], 2, (int64_t)size, 8);
    }
}

static void add_external(flatbuild *b, size_t root, const lite_model *model) {
    size_t list = flatbuild_offsets(b, 1);
    flatbuild_ref(b, root, 9, list);
    size_t table = flatbuild_table(b, 5);
    flatbuild_offset(b, list, 0, table);
    flatbuild_int(b, table, 0, model->external_id, 4);
    flatbuild_int(b, table, 3, (int64_t)model->external_length, 8);
}

flatbuild lite_bytes(const lite_model *model) {
    flatbuild b;
    flatbuild_open(&b, "TFL3");
    size_t root = flatbuild_table(&b, 10);
    flatbuild_root(&b, root);
    flatbuild_int(&b, root, 0, model->version, 4);
    size_t codes = flatbuild_offsets(&b, model->code_count);
    flatbuild_ref(&b, root, 1, codes);
    for (uint32_t i = 0; i < model->code_count; i++) flatbuild_offset(&b, codes, i, add_code(&b, &model->codes[i]));
    size_t subgraphs = flatbuild_offsets(&b, model->subgraph_count);
    flatbuild_ref(&b, root, 2, subgraphs);
    for (uint32_t i = 0; i < model->subgraph_count; i++)
        flatbuild_offset(&b, subgraphs, i, add_subgraph(&b, &model->subgraphs[i]));
    if (model->description != NULL) flatbuild_ref(&b, root, 3, flatbuild_string(&b, model->description));
    size_t buffers = flatbuild_offsets(&b, model->buffer_count);
    flatbuild_ref(&b, root, 4, buffers);
    size_t *tables = calloc(model->buffer_count + 1, sizeof *tables);
    if (tables == NULL) abort();
    for (uint32_t i = 0; i < model->buffer_count; i++) {
        tables[i] = add_buffer(&b, &model->buffers[i]);
        flatbuild_offset(&b, buffers, i, tables[i]);
    }
    if (model->external_id != 0) add_external(&b, root, model);
    add_outside(&b, model, tables);
    free(tables);
    return b;
}

/* --- Reading ------------------------------------------------------------------------------------------------- */

const read_origin lite_origin = {.path = "dir/toy.tflite"};

static ft_status try_read(const lite_model *model, ft_graph **graph, ft_error *error) {
    flatbuild b = lite_bytes(model);
    ft_status status = tflite_reader.read(b.bytes, b.size, &lite_origin, graph, error);
    free(b.bytes);
    return status;
}

ft_graph *lite_read(const lite_model *model) {
    ft_graph *graph = NULL;
    ft_error error = {.message = ""};
    if (try_read(model, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    return graph;
}

void lite_fails(const lite_model *model, ft_status status, const char *text) {
    ft_graph *graph = NULL;
    ft_error error = {.message = ""};
    ft_status got = try_read(model, &graph, &error);
    ft_graph_free(graph);
    if (strstr(error.message, text) == NULL) fail_msg("'%s' is not in '%s'", text, error.message);
    assert_int_equal(got, status);
    assert_int_equal(strncmp(error.message, "dir/toy.tflite: ", 16), 0);
}

const ft_tensor *lite_tensor_named(const ft_graph *graph, const char *name) {
    for (uint32_t i = 0; i < ft_graph_tensor_count(graph); i++) {
        if (strcmp(ft_graph_tensors(graph)[i].name, name) == 0) return &ft_graph_tensors(graph)[i];
    }
    fail_msg("no tensor '%s'", name);
    return NULL;
}
