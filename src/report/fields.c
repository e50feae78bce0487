/* fields.c - the keys of JSON objects and CSV columns, with how each is written.
 *
 * To add a fact: a member in facts.h, a line here, a line in docs/inspect.md and in docs/schema/inspect.schema.json
 * (the tests compare all of them). */
#include "report/fields.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define FIELD(row, key, kind)                                                                                          \
    { #key, kind, offsetof(row, key) }
#define FIELD_AS(row, key, member, kind)                                                                               \
    { key, kind, offsetof(row, member) }
#define FIELD_END                                                                                                      \
    { NULL, FIELD_TEXT, 0 }

const field summary_fields[] = {
    FIELD(summary_facts, op_count, FIELD_COUNT),
    FIELD(summary_facts, folded_op_count, FIELD_COUNT),
    FIELD(summary_facts, op_type_count, FIELD_COUNT),
    FIELD(summary_facts, params, FIELD_COUNT),
    FIELD(summary_facts, buffer_elems, FIELD_COUNT),
    FIELD(summary_facts, stored_bytes, FIELD_COUNT),
    FIELD(summary_facts, weight_bytes, FIELD_COUNT),
    FIELD(summary_facts, macs, FIELD_COUNT),
    FIELD(summary_facts, flops, FIELD_COUNT),
    FIELD(summary_facts, read_bytes, FIELD_COUNT),
    FIELD(summary_facts, write_bytes, FIELD_COUNT),
    FIELD(summary_facts, moved_bytes, FIELD_COUNT),
    FIELD(summary_facts, flops_per_byte, FIELD_RATIO),
    FIELD(summary_facts, activation_elems, FIELD_COUNT),
    FIELD(summary_facts, conv_matmul_elems, FIELD_COUNT),
    FIELD(summary_facts, backward_macs, FIELD_COUNT),
    FIELD(summary_facts, backward_flops, FIELD_COUNT),
    FIELD(summary_facts, optimizer_flops, FIELD_COUNT),
    FIELD(summary_facts, train_macs, FIELD_COUNT),
    FIELD(summary_facts, train_flops, FIELD_COUNT),
    FIELD(summary_facts, train_moved_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_infer_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_infer_weight_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_infer_activation_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_infer_workspace_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_infer_op, FIELD_TEXT),
    FIELD(summary_facts, peak_infer_op_type, FIELD_TEXT),
    FIELD(summary_facts, peak_infer_op_index, FIELD_INDEX),
    FIELD(summary_facts, peak_train_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_train_weight_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_train_gradient_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_train_optimizer_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_train_activation_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_train_workspace_bytes, FIELD_COUNT),
    FIELD(summary_facts, peak_train_op, FIELD_TEXT),
    FIELD(summary_facts, peak_train_op_type, FIELD_TEXT),
    FIELD(summary_facts, peak_train_op_index, FIELD_INDEX),
    FIELD(summary_facts, peak_train_phase, FIELD_TEXT),
    FIELD(summary_facts, train_saved_bytes, FIELD_COUNT),
    FIELD(summary_facts, coverage_ratio, FIELD_RATIO),
    FIELD(summary_facts, coverage_ops_ratio, FIELD_RATIO),
    FIELD(summary_facts, estimated_op_count, FIELD_COUNT),
    FIELD(summary_facts, batch, FIELD_COUNT),
    FIELD(summary_facts, exported_batch, FIELD_COUNT),
    FIELD(summary_facts, is_scaled, FIELD_FLAG),
    FIELD(summary_facts, dtype, FIELD_TEXT),
    FIELD(summary_facts, optimizer, FIELD_TEXT),
    FIELD(summary_facts, is_mixed, FIELD_FLAG),
    FIELD(summary_facts, runtime, FIELD_TEXT),
    FIELD(summary_facts, kernel_count, FIELD_COUNT),
    FIELD(summary_facts, kernel_moved_bytes, FIELD_COUNT),
    FIELD(summary_facts, tied_params, FIELD_COUNT),
    FIELD(summary_facts, open_op_count, FIELD_COUNT),
    FIELD(summary_facts, unused_op_count, FIELD_COUNT),
    FIELD_END,
};

const field language_fields[] = {
    FIELD(language_facts, run, FIELD_TEXT),
    FIELD_AS(language_facts, "active_params", of.active_params, FIELD_COUNT),
    FIELD_AS(language_facts, "attention_layer_count", of.attention_layers, FIELD_INDEX),
    FIELD_AS(language_facts, "window_layer_count", of.window_layers, FIELD_INDEX),
    FIELD_AS(language_facts, "state_layer_count", of.state_layers, FIELD_INDEX),
    FIELD_AS(language_facts, "window_tokens", of.window_tokens, FIELD_COUNT),
    FIELD_AS(language_facts, "kv_bytes_per_token", of.kv_bytes_per_token, FIELD_COUNT),
    FIELD_AS(language_facts, "kv_window_bytes_per_token", of.kv_window_bytes_per_token, FIELD_COUNT),
    FIELD_AS(language_facts, "input_kv_bytes_per_token", of.input_kv_bytes_per_token, FIELD_COUNT),
    FIELD_AS(language_facts, "state_bytes", of.state_bytes, FIELD_COUNT),
    FIELD_AS(language_facts, "context_tokens", of.context_tokens, FIELD_COUNT),
    FIELD_AS(language_facts, "kv_needed_bytes", of.kv_needed_bytes, FIELD_COUNT),
    FIELD_AS(language_facts, "kv_reserved_bytes", of.kv_reserved_bytes, FIELD_COUNT),
    FIELD_AS(language_facts, "prompt_tokens", of.prompt_tokens, FIELD_COUNT),
    FIELD_AS(language_facts, "prefill_flops_per_token", of.prefill_flops_per_token, FIELD_WHOLE),
    FIELD_AS(language_facts, "decode_flops_per_token", of.decode_flops_per_token, FIELD_WHOLE),
    FIELD_AS(language_facts, "decode_bytes_per_token", of.decode_bytes_per_token, FIELD_WHOLE),
    FIELD_AS(language_facts, "index_bytes_per_token", of.index_bytes_per_token, FIELD_COUNT),
    FIELD_END,
};

const field type_fields[] = {
    FIELD(type_facts, type, FIELD_TEXT),
    FIELD_AS(type_facts, "class", op_class, FIELD_TEXT),
    FIELD(type_facts, count, FIELD_COUNT),
    FIELD(type_facts, params, FIELD_COUNT),
    FIELD(type_facts, macs, FIELD_COUNT),
    FIELD(type_facts, flops, FIELD_COUNT),
    FIELD(type_facts, read_bytes, FIELD_COUNT),
    FIELD(type_facts, write_bytes, FIELD_COUNT),
    FIELD(type_facts, moved_bytes, FIELD_COUNT),
    FIELD(type_facts, activation_elems, FIELD_COUNT),
    FIELD(type_facts, share_ratio, FIELD_RATIO),
    FIELD(type_facts, cumulative_ratio, FIELD_RATIO),
    FIELD(type_facts, estimated_count, FIELD_COUNT),
    FIELD(type_facts, open_count, FIELD_COUNT),
    FIELD(type_facts, is_known, FIELD_FLAG),
    FIELD_END,
};

const field node_fields[] = {
    FIELD(node_facts, index, FIELD_INDEX),
    FIELD(node_facts, name, FIELD_TEXT),
    FIELD(node_facts, type, FIELD_TEXT),
    FIELD_AS(node_facts, "class", op_class, FIELD_TEXT),
    FIELD_AS(node_facts, "output_shape", output, FIELD_SHAPE),
    FIELD(node_facts, dtype, FIELD_TEXT),
    FIELD(node_facts, params, FIELD_COUNT),
    FIELD(node_facts, macs, FIELD_COUNT),
    FIELD(node_facts, flops, FIELD_COUNT),
    FIELD(node_facts, read_bytes, FIELD_COUNT),
    FIELD(node_facts, write_bytes, FIELD_COUNT),
    FIELD(node_facts, moved_bytes, FIELD_COUNT),
    FIELD(node_facts, flops_per_byte, FIELD_RATIO),
    FIELD(node_facts, activation_elems, FIELD_COUNT),
    FIELD(node_facts, backward_flops, FIELD_COUNT),
    FIELD(node_facts, repeats, FIELD_COUNT),
    FIELD(node_facts, is_estimated, FIELD_FLAG),
    FIELD(node_facts, is_open, FIELD_FLAG),
    FIELD_END,
};

const field kernel_fields[] = {
    FIELD(kernel_facts, index, FIELD_INDEX),
    FIELD(kernel_facts, type, FIELD_TEXT),
    FIELD(kernel_facts, name, FIELD_TEXT),
    FIELD(kernel_facts, op_count, FIELD_COUNT),
    FIELD_AS(kernel_facts, "ops", kernel, FIELD_OPS),
    FIELD_AS(kernel_facts, "op_types", kernel, FIELD_OP_TYPES),
    FIELD_AS(kernel_facts, "input_shape", input, FIELD_SHAPE),
    FIELD_AS(kernel_facts, "output_shape", output, FIELD_SHAPE),
    FIELD(kernel_facts, params, FIELD_COUNT),
    FIELD(kernel_facts, macs, FIELD_COUNT),
    FIELD(kernel_facts, flops, FIELD_COUNT),
    FIELD(kernel_facts, read_bytes, FIELD_COUNT),
    FIELD(kernel_facts, write_bytes, FIELD_COUNT),
    FIELD(kernel_facts, moved_bytes, FIELD_COUNT),
    FIELD(kernel_facts, flops_per_byte, FIELD_RATIO),
    FIELD(kernel_facts, is_estimated, FIELD_FLAG),
    FIELD(kernel_facts, is_open, FIELD_FLAG),
    FIELD_END,
};

/* --- Values -------------------------------------------------------------------------------------------------- */

static void copy_value(const field *f, const void *row, void *value, size_t size) {
    memcpy(value, (const char *)row + f->offset, size);
}

#define VALUE(f, row, type)                                                                                            \
    type value;                                                                                                        \
    copy_value(f, row, &value, sizeof value)

/* Beyond this, a double has no fraction to lose, nor room in an integer. */
static bool is_whole(double value) {
    return fabs(value) < 9e18;
}

static void number_csv(double value, buf *out) {
    char text[DOUBLE_TEXT_SIZE];
    if (!isfinite(value)) return;
    double_text(value, text);
    buf_text(out, text);
}

static void shape_json(const ft_tensor *tensor, json_writer *w) {
    if (tensor == NULL || tensor->rank < 0) {
        jsonw_null(w);
        return;
    }
    jsonw_open_array(w, JSON_LINE);
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0)
            jsonw_null(w);
        else
            jsonw_int(w, tensor->dims[i]);
    }
    jsonw_close(w);
}

/* The operators whose types a field lists; NULL: it lists their numbers. */
static const ft_op *types_of_field(const field *f, const ft_graph *graph) {
    return f->kind == FIELD_OP_TYPES && graph != NULL ? ft_graph_ops(graph) : NULL;
}

static void kernel_ops_json(const ft_kernel *kernel, const ft_op *types, json_writer *w) {
    jsonw_open_array(w, JSON_LINE);
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        if (types != NULL)
            jsonw_string(w, types[kernel->ops[i]].type);
        else
            jsonw_uint(w, kernel->ops[i]);
    }
    jsonw_close(w);
}

void field_json(const field *f, const void *row, const ft_graph *graph, json_writer *w) {
    jsonw_key(w, f->key);
    switch (f->kind) {
    case FIELD_COUNT: {
        VALUE(f, row, uint64_t);
        if (value == FACT_UNKNOWN)
            jsonw_null(w);
        else
            jsonw_uint(w, value);
        break;
    }
    case FIELD_RATIO: {
        VALUE(f, row, double);
        jsonw_double(w, value);
        break;
    }
    case FIELD_WHOLE: {
        VALUE(f, row, double);
        if (is_whole(value))
            jsonw_int(w, llround(value));
        else
            jsonw_double(w, value);
        break;
    }
    case FIELD_FLAG: {
        VALUE(f, row, bool);
        jsonw_bool(w, value);
        break;
    }
    case FIELD_TEXT: {
        VALUE(f, row, const char *);
        jsonw_string(w, value);
        break;
    }
    case FIELD_INDEX: {
        VALUE(f, row, uint32_t);
        if (value == FT_NONE)
            jsonw_null(w);
        else
            jsonw_uint(w, value);
        break;
    }
    case FIELD_SHAPE: {
        VALUE(f, row, const ft_tensor *);
        shape_json(value, w);
        break;
    }
    case FIELD_OPS:
    case FIELD_OP_TYPES: {
        VALUE(f, row, const ft_kernel *);
        kernel_ops_json(value, types_of_field(f, graph), w);
        break;
    }
    }
}

const char *shape_words(const ft_tensor *tensor, const ft_graph *graph, char text[static SHAPE_WORDS_SIZE]) {
    size_t used = 0;
    text[0] = '\0';
    if (tensor == NULL || tensor->rank < 0) return text;
    if (tensor->rank == 0) snprintf(text, SHAPE_WORDS_SIZE, "scalar");
    for (int32_t i = 0; i < tensor->rank; i++) {
        const char *joint = i > 0 ? "x" : "";
        size_t room = SHAPE_WORDS_SIZE - used;
        const char *symbol = graph != NULL && tensor->dims[i] < 0 ? ft_dim_symbol(graph, tensor->dims[i]) : NULL;
        int length = tensor->dims[i] < 0
                         ? snprintf(text + used, room, "%s%.*s", joint, SYMBOL_MAX, symbol != NULL ? symbol : "?")
                         : snprintf(text + used, room, "%s%lld", joint, (long long)tensor->dims[i]);
        assert(length >= 0 && used + (size_t)length < SHAPE_WORDS_SIZE);
        used += (size_t)length;
    }
    return text;
}

/* "Conv+Relu", or "12+13". */
static void kernel_ops_csv(const ft_kernel *kernel, const ft_op *types, buf *out) {
    buf text = {0};
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        if (i > 0) buf_char(&text, '+');
        if (types != NULL)
            buf_text(&text, types[kernel->ops[i]].type);
        else
            buf_format(&text, "%u", kernel->ops[i]);
    }
    if (text.failed) out->failed = true;
    if (text.data != NULL) csv_cell(out, text.data);
    buf_free(&text);
}

void field_csv(const field *f, const void *row, const ft_graph *graph, buf *out) {
    switch (f->kind) {
    case FIELD_COUNT: {
        VALUE(f, row, uint64_t);
        if (value != FACT_UNKNOWN) buf_format(out, "%llu", (unsigned long long)value);
        break;
    }
    case FIELD_RATIO: {
        VALUE(f, row, double);
        number_csv(value, out);
        break;
    }
    case FIELD_WHOLE: {
        VALUE(f, row, double);
        if (is_whole(value))
            buf_format(out, "%lld", llround(value));
        else
            number_csv(value, out);
        break;
    }
    case FIELD_FLAG: {
        VALUE(f, row, bool);
        buf_text(out, value ? "true" : "false");
        break;
    }
    case FIELD_TEXT: {
        VALUE(f, row, const char *);
        if (value != NULL) csv_cell(out, value);
        break;
    }
    case FIELD_INDEX: {
        VALUE(f, row, uint32_t);
        if (value != FT_NONE) buf_format(out, "%u", value);
        break;
    }
    case FIELD_SHAPE: {
        VALUE(f, row, const ft_tensor *);
        char words[SHAPE_WORDS_SIZE];
        buf_text(out, shape_words(value, NULL, words));
        break;
    }
    case FIELD_OPS:
    case FIELD_OP_TYPES: {
        VALUE(f, row, const ft_kernel *);
        kernel_ops_csv(value, types_of_field(f, graph), out);
        break;
    }
    }
}
