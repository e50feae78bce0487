/* operator_text.c - parser of operators written as text, and the graph of one operator that each becomes.
 *
 *   inputs      SHAPE[:TYPE][:weight];...   an empty SHAPE is an input that is left out
 *   SHAPE       sizes separated by 'x'; N is the batch
 *   attributes  NAME=VALUE;...              3x3 is a list (3x a list of one), 1 an integer, 0.5 a float, others texts
 */
#include "data/kernels/operator_text.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/opdef.h"

/* A part of a text up to a separator. */
typedef struct piece {
    const char *text;
    size_t length;
} piece;

/* The part before the next `separator`; *rest is what follows it, NULL after the last part. */
static piece next_piece(piece *rest, char separator) {
    const char *end = memchr(rest->text, separator, rest->length);
    piece part = {rest->text, end != NULL ? (size_t)(end - rest->text) : rest->length};
    *rest = end != NULL ? (piece){end + 1, rest->length - part.length - 1} : (piece){NULL, 0};
    return part;
}

static bool piece_is(piece part, const char *text) {
    return part.length == strlen(text) && memcmp(part.text, text, part.length) == 0;
}

static int shown(piece part) {
    return part.length < 60 ? (int)part.length : 60;
}

/* --- Inputs ------------------------------------------------------------------------------------------------------ */

typedef struct operator_maker {
    ft_graph *graph;
    uint32_t inputs[OPERATOR_MAX_INPUTS];
    uint32_t input_count;
    uint32_t prefix; /* of names: the number of the operator; 0: there is one */
    ft_error *error;
} operator_maker;

static ft_status read_dims(operator_maker *m, piece text, ft_tensor *spec) {
    for (piece rest = text; rest.text != NULL;) {
        piece part = next_piece(&rest, 'x');
        if (spec->rank == FT_MAX_RANK)
            return ft_fail(m->error, FT_ERR_USAGE, "shape '%.*s' has more than %d dimensions", shown(text), text.text,
                           FT_MAX_RANK);
        int64_t *dim = &spec->dims[spec->rank++];
        if (piece_is(part, "N")) {
            FT_TRY(graph_symbol(m->graph, "batch", dim, m->error));
        } else if (!text_int(part.text, part.length, dim) || *dim < 1 || *dim > FT_MAX_DIM) {
            return ft_fail(m->error, FT_ERR_USAGE,
                           "shape '%.*s': '%.*s' is not a size; expected sizes from 1 (or N, the batch), as Nx64x56x56",
                           shown(text), text.text, shown(part), part.text);
        }
    }
    return FT_OK;
}

/* The words after the shape: an element type, "weight". */
static ft_status read_input_words(operator_maker *m, piece rest, ft_tensor *spec) {
    while (rest.text != NULL) {
        piece word = next_piece(&rest, ':');
        char name[16];
        snprintf(name, sizeof name, "%.*s", shown(word), word.text);
        if (piece_is(word, "weight"))
            spec->role = FT_CONSTANT;
        else if (!ft_dtype_parse(name, &spec->dtype))
            return ft_fail(m->error, FT_ERR_USAGE, "input '%.*s': expected 'weight' or an element type, like float16",
                           shown(word), word.text);
    }
    return FT_OK;
}

static ft_status add_input(operator_maker *m, piece text) {
    char name[32];
    uint32_t index = FT_NONE;
    if (m->input_count == OPERATOR_MAX_INPUTS)
        return ft_fail(m->error, FT_ERR_LIMIT, "more than %d inputs", OPERATOR_MAX_INPUTS);
    if (text.length > 0) {
        if (m->prefix == 0)
            snprintf(name, sizeof name, "input%u", m->input_count);
        else
            snprintf(name, sizeof name, "op%u.input%u", m->prefix, m->input_count);
        ft_tensor spec = {.name = name, .dtype = FT_FLOAT32, .role = FT_INPUT};
        piece rest = text, shape = next_piece(&rest, ':');
        FT_TRY(read_dims(m, shape, &spec));
        FT_TRY(read_input_words(m, rest, &spec));
        for (int32_t i = 0; spec.role == FT_CONSTANT && i < spec.rank; i++)
            if (spec.dims[i] < 0) return ft_fail(m->error, FT_ERR_USAGE, "the shape of a weight contains N");
        FT_TRY(graph_add_tensor(m->graph, &spec, &index, m->error));
        if (spec.role == FT_INPUT) FT_TRY(graph_add_input(m->graph, index, m->error));
    }
    m->inputs[m->input_count++] = index;
    return FT_OK;
}

/* --- Attributes -------------------------------------------------------------------------------------------------- */

static ft_status set_list(operator_maker *m, piece value, const char *name, ft_attr *attr, bool *is_list) {
    int64_t values[FT_MAX_RANK * 2];
    size_t count = 0;
    *is_list = memchr(value.text, 'x', value.length) != NULL;
    for (piece rest = value; *is_list && rest.text != NULL;) {
        piece part = next_piece(&rest, 'x');
        if (part.length == 0 && rest.text == NULL && count > 0) break;
        *is_list = count < sizeof values / sizeof values[0] && text_int(part.text, part.length, &values[count]);
        count++;
    }
    return *is_list ? graph_attr_ints(m->graph, attr, name, values, count, m->error) : FT_OK;
}

static ft_status set_attribute(operator_maker *m, piece text, ft_attr *attr) {
    piece value = text, key = next_piece(&value, '=');
    char name[64], word[256];
    int64_t number;
    double real;
    bool is_list;
    if (value.text == NULL || value.length == 0 || key.length == 0 || key.length >= sizeof name ||
        value.length >= sizeof word)
        return ft_fail(m->error, FT_ERR_USAGE, "attribute '%.*s' is not NAME=VALUE, like strides=2x2", shown(text),
                       text.text);
    snprintf(name, sizeof name, "%.*s", (int)key.length, key.text);
    snprintf(word, sizeof word, "%.*s", (int)value.length, value.text);
    if (text_int(value.text, value.length, &number)) return graph_attr_int(m->graph, attr, name, number, m->error);
    if (text_double(value.text, value.length, &real)) return graph_attr_float(m->graph, attr, name, real, m->error);
    FT_TRY(set_list(m, value, name, attr, &is_list));
    return is_list ? FT_OK : graph_attr_string(m->graph, attr, name, word, m->error);
}

static ft_status read_attributes(operator_maker *m, const char *text, ft_op *op) {
    ft_attr *attrs = arena_array(&m->graph->memory, OPERATOR_MAX_ATTRIBUTES, sizeof *attrs);
    if (attrs == NULL) return FT_NOMEM(m->error);
    op->attrs = attrs;
    for (piece rest = {text, strlen(text)}; rest.text != NULL;) {
        piece part = next_piece(&rest, ';');
        if (part.length == 0) continue;
        if (op->attr_count == OPERATOR_MAX_ATTRIBUTES)
            return ft_fail(m->error, FT_ERR_LIMIT, "more than %d attributes", OPERATOR_MAX_ATTRIBUTES);
        FT_TRY(set_attribute(m, part, &attrs[op->attr_count++]));
    }
    return FT_OK;
}

/* --- Graph ------------------------------------------------------------------------------------------------------- */

static ft_status add_operator(operator_maker *m, const operator_text *text) {
    char name[32];
    ft_op op = {.name = "", .type = text->op, .inputs = m->inputs, .output_count = 1};
    ft_tensor result = {.name = "result", .rank = -1};
    uint32_t output, inputs_before = m->graph->inputs.count;
    if (opdef_find(FT_FORMAT_ONNX, text->op) == NULL)
        return ft_fail(m->error, FT_ERR_USAGE, "unknown operator '%.60s'; expected a name of ONNX, like Conv or MatMul",
                       text->op);
    m->input_count = 0;
    for (piece rest = {text->inputs, strlen(text->inputs)}; rest.text != NULL;)
        FT_TRY(add_input(m, next_piece(&rest, ';')));
    if (m->graph->inputs.count == inputs_before)
        return ft_fail(m->error, FT_ERR_USAGE, "operator %.60s has no input that is computed", text->op);
    FT_TRY(read_attributes(m, text->attributes, &op));
    if (m->prefix > 0) {
        snprintf(name, sizeof name, "op%u.result", m->prefix);
        result.name = name;
    }
    FT_TRY(graph_add_tensor(m->graph, &result, &output, m->error));
    op.input_count = m->input_count;
    op.outputs = &output;
    FT_TRY(graph_add_op(m->graph, &op, m->error));
    return graph_add_output(m->graph, output, m->error);
}

/* Refuses graphs that cannot be bound, or whose result has no shape: their costs would be unknown. */
static ft_status check_result(const ft_graph *graph, ft_error *error) {
    ft_graph *bound;
    FT_TRY(ft_graph_bind(graph, NULL, &bound, error));
    uint32_t unknown = FT_NONE;
    for (uint32_t i = 0; i < bound->op_count && unknown == FT_NONE; i++)
        if (!shape_is_known(&bound->tensors[bound->ops[i].outputs[0]])) unknown = i;
    ft_graph_free(bound);
    if (unknown == FT_NONE) return FT_OK;
    return ft_fail(error, FT_ERR_USAGE, "operator %.60s: these inputs and attributes do not determine its result",
                   graph->ops[unknown].type);
}

static ft_status make_graph(const operator_text *texts, uint32_t count, ft_graph **graph, ft_error *error) {
    operator_maker m = {.error = error};
    FT_TRY(graph_new(FT_FORMAT_ONNX, FT_NCHW, count == 1 ? texts[0].op : "step", &m.graph, error));
    ft_status status = FT_OK;
    for (uint32_t i = 0; status == FT_OK && i < count; i++) {
        m.prefix = count == 1 ? 0 : i + 1;
        status = add_operator(&m, &texts[i]);
    }
    if (status == FT_OK) status = graph_finish(m.graph, error);
    if (status == FT_OK) status = check_result(m.graph, error);
    if (status == FT_OK)
        *graph = m.graph;
    else
        ft_graph_free(m.graph);
    return status;
}

ft_status operator_text_graph(const operator_text *text, ft_graph **graph, ft_error *error) {
    return make_graph(text, 1, graph, error);
}

ft_status operator_texts_graph(const operator_text *texts, uint32_t count, ft_graph **graph, ft_error *error) {
    if (count == 0) return ft_fail(error, FT_ERR_USAGE, "no operators");
    return make_graph(texts, count, graph, error);
}
