/* tfjs_json.c - the JSON form of a GraphDef to the structs that the generated decoder makes.
 *
 * Writers differ: 64-bit numbers are texts or numbers, types are names or numbers, texts are base64 or lists of bytes,
 * and empty lists may be left out. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "read/tensorflow/tfjs.h"

typedef struct conversion {
    arena *memory;
    ft_error *error;
} conversion;

static ft_status wrong(const conversion *c, const char *key, const char *expected) {
    return ft_fail(c->error, FT_ERR_DAMAGED, "\"%s\" is not %s", key, expected);
}

/* A list of pointers to structs, one for each item of a JSON list. A type cannot stand in parentheses.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
#define MAKE_LIST(c, type, initial, list, count, items)                                                                \
    do {                                                                                                               \
        (items) = ARENA_ARRAY((c)->memory, type *, (count));                                                           \
        type *made = ARENA_ARRAY((c)->memory, type, (count));                                                          \
        if ((items) == NULL || made == NULL) return FT_NOMEM((c)->error);                                              \
        for (size_t index = 0; index < (count); index++) {                                                             \
            made[index] = (type)initial;                                                                               \
            (items)[index] = &made[index];                                                                             \
        }                                                                                                              \
    } while (0)
/* NOLINTEND(bugprone-macro-parentheses) */

/* --- Scalars ----------------------------------------------------------------------------------------------------- */

static ft_status get_text(const conversion *c, const json_t *from, const char *key, char **text) {
    const json_t *value = json_object_get(from, key);
    *text = NULL;
    if (value == NULL || json_is_null(value)) return FT_OK;
    if (!json_is_string(value)) return wrong(c, key, "a string");
    *text = arena_string(c->memory, json_string_value(value), json_string_length(value));
    return *text != NULL ? FT_OK : FT_NOMEM(c->error);
}

static bool int_of(const json_t *value, int64_t *number) {
    if (json_is_boolean(value)) *number = json_is_true(value);
    if (json_is_integer(value)) *number = json_integer_value(value);
    if (json_is_string(value)) return text_int(json_string_value(value), json_string_length(value), number);
    return json_is_integer(value) || json_is_boolean(value);
}

/* "DT_FLOAT" or 1 */
static bool type_of(const json_t *value, int32_t *type) {
    static const char *const names[] = {"INVALID",    "FLOAT",  "DOUBLE",    "INT32",   "UINT8",   "INT16",
                                        "INT8",       "STRING", "COMPLEX64", "INT64",   "BOOL",    "QINT8",
                                        "QUINT8",     "QINT32", "BFLOAT16",  "QINT16",  "QUINT16", "UINT16",
                                        "COMPLEX128", "HALF",   "RESOURCE",  "VARIANT", "UINT32",  "UINT64"};
    int64_t number = 0;
    *type = 0;
    if (json_is_integer(value)) {
        number = json_integer_value(value);
        if (number > 0 && number < 1000) *type = (int32_t)number;
        return true;
    }
    const char *text = json_string_value(value);
    if (text == NULL) return false;
    for (size_t i = 0; strncmp(text, "DT_", 3) == 0 && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text + 3, names[i]) == 0) *type = (int32_t)i;
    return true;
}

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Base64, or a list of bytes. */
static ft_status bytes_of(const conversion *c, const json_t *value, const char *key, ProtobufCBinaryData *bytes) {
    const char *text = json_string_value(value);
    size_t length = text != NULL ? json_string_length(value) : json_array_size(value);
    if (text == NULL && !json_is_array(value)) return wrong(c, key, "a string or a list of bytes");
    bytes->data = arena_alloc(c->memory, length + 1);
    if (bytes->data == NULL) return FT_NOMEM(c->error);
    bytes->len = 0;
    uint32_t held = 0, bits = 0;
    for (size_t i = 0; i < length; i++) {
        if (text == NULL) {
            bytes->data[bytes->len++] = (uint8_t)json_integer_value(json_array_get(value, i));
            continue;
        }
        int digit = base64_digit(text[i]);
        if (digit < 0) break; /* "=" */
        held = held << 6 | (uint32_t)digit;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        bytes->data[bytes->len++] = (uint8_t)(held >> bits);
    }
    return FT_OK;
}

/* --- Shapes, constants ------------------------------------------------------------------------------------------- */

static ft_status convert_shape(const conversion *c, const json_t *json, Tf__Shape **shape) {
    const json_t *dims = json_object_get(json, "dim");
    *shape = ARENA_NEW(c->memory, Tf__Shape);
    if (*shape == NULL) return FT_NOMEM(c->error);
    **shape = (Tf__Shape)TF__SHAPE__INIT;
    (*shape)->unknown_rank = json_is_true(json_object_get(json, "unknownRank"));
    size_t count = json_array_size(dims);
    MAKE_LIST(c, Tf__Dim, TF__DIM__INIT, dims, count, (*shape)->dim);
    (*shape)->n_dim = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *size = json_object_get(json_array_get(dims, i), "size");
        if (size != NULL && !int_of(size, &(*shape)->dim[i]->size)) return wrong(c, "size", "a number");
    }
    return FT_OK;
}

/* Numbers in the node, which some writers leave there. */
static ft_status convert_numbers(const conversion *c, const json_t *json, Tf__Tensor *tensor) {
    const json_t *ints = json_object_get(json, "intVal"), *floats = json_object_get(json, "floatVal");
    tensor->int_val = ARENA_ARRAY(c->memory, int32_t, json_array_size(ints));
    tensor->float_val = ARENA_ARRAY(c->memory, float, json_array_size(floats));
    if (tensor->int_val == NULL || tensor->float_val == NULL) return FT_NOMEM(c->error);
    tensor->n_int_val = json_array_size(ints);
    tensor->n_float_val = json_array_size(floats);
    for (size_t i = 0; i < tensor->n_int_val; i++) {
        int64_t number;
        if (!int_of(json_array_get(ints, i), &number)) return wrong(c, "intVal", "a list of integers");
        tensor->int_val[i] = (int32_t)number;
    }
    for (size_t i = 0; i < tensor->n_float_val; i++)
        tensor->float_val[i] = (float)json_number_value(json_array_get(floats, i));
    size_t bytes = 4 * (tensor->n_int_val + tensor->n_float_val);
    if (bytes == 0) return FT_OK;
    tensor->segment = ARENA_NEW(c->memory, Tf__Segment);
    if (tensor->segment == NULL) return FT_NOMEM(c->error);
    *tensor->segment = (Tf__Segment)TF__SEGMENT__INIT;
    tensor->segment->begin = (int64_t)bytes;
    return FT_OK;
}

static ft_status convert_tensor(const conversion *c, const json_t *json, Tf__Tensor **tensor) {
    const json_t *shape = json_object_get(json, "tensorShape"), *dtype = json_object_get(json, "dtype");
    *tensor = ARENA_NEW(c->memory, Tf__Tensor);
    if (*tensor == NULL) return FT_NOMEM(c->error);
    **tensor = (Tf__Tensor)TF__TENSOR__INIT;
    if (dtype != NULL && !type_of(dtype, &(*tensor)->dtype)) return wrong(c, "dtype", "a type");
    if (json_is_object(shape)) FT_TRY(convert_shape(c, shape, &(*tensor)->tensor_shape));
    return convert_numbers(c, json, *tensor);
}

/* --- Attributes -------------------------------------------------------------------------------------------------- */

static ft_status convert_function(const conversion *c, const json_t *json, Tf__Function *function) {
    return get_text(c, json, "name", &function->name);
}

static ft_status convert_list(const conversion *c, const json_t *json, Tf__List *list) {
    const json_t *ints = json_object_get(json, "i"), *texts = json_object_get(json, "s");
    const json_t *types = json_object_get(json, "type"), *shapes = json_object_get(json, "shape");
    const json_t *functions = json_object_get(json, "func");
    size_t count = json_array_size(ints), function_count = json_array_size(functions);
    list->i = ARENA_ARRAY(c->memory, int64_t, count);
    list->s = ARENA_ARRAY(c->memory, ProtobufCBinaryData, json_array_size(texts));
    list->type = ARENA_ARRAY(c->memory, int32_t, json_array_size(types));
    list->shape = ARENA_ARRAY(c->memory, Tf__Shape *, json_array_size(shapes));
    if (list->i == NULL || list->s == NULL || list->type == NULL || list->shape == NULL) return FT_NOMEM(c->error);
    for (; list->n_i < count; list->n_i++)
        if (!int_of(json_array_get(ints, list->n_i), &list->i[list->n_i])) return wrong(c, "i", "a list of integers");
    for (; list->n_s < json_array_size(texts); list->n_s++)
        FT_TRY(bytes_of(c, json_array_get(texts, list->n_s), "s", &list->s[list->n_s]));
    for (; list->n_type < json_array_size(types); list->n_type++)
        if (!type_of(json_array_get(types, list->n_type), &list->type[list->n_type]))
            return wrong(c, "type", "a list of types");
    for (; list->n_shape < json_array_size(shapes); list->n_shape++)
        FT_TRY(convert_shape(c, json_array_get(shapes, list->n_shape), &list->shape[list->n_shape]));
    MAKE_LIST(c, Tf__Function, TF__FUNCTION__INIT, functions, function_count, list->func);
    for (; list->n_func < function_count; list->n_func++)
        FT_TRY(convert_function(c, json_array_get(functions, list->n_func), list->func[list->n_func]));
    return FT_OK;
}

static ft_status convert_scalars(const conversion *c, const json_t *json, Tf__Value *value) {
    const json_t *i = json_object_get(json, "i"), *f = json_object_get(json, "f"), *b = json_object_get(json, "b");
    const json_t *s = json_object_get(json, "s"), *type = json_object_get(json, "type");
    if (i != NULL && !(value->has_i = int_of(i, &value->i))) return wrong(c, "i", "an integer");
    if (json_is_number(f)) {
        value->has_f = true;
        value->f = (float)json_number_value(f);
    }
    if (json_is_boolean(b)) {
        value->has_b = true;
        value->b = json_is_true(b);
    }
    if (type != NULL && !(value->has_type = type_of(type, &value->type))) return wrong(c, "type", "a type");
    if (s == NULL) return FT_OK;
    value->has_s = true;
    return bytes_of(c, s, "s", &value->s);
}

static ft_status convert_value(const conversion *c, const json_t *json, Tf__Value **value) {
    const json_t *list = json_object_get(json, "list"), *shape = json_object_get(json, "shape");
    const json_t *tensor = json_object_get(json, "tensor"), *function = json_object_get(json, "func");
    if (!json_is_object(json)) return wrong(c, "attr", "an object of objects");
    *value = ARENA_NEW(c->memory, Tf__Value);
    if (*value == NULL) return FT_NOMEM(c->error);
    **value = (Tf__Value)TF__VALUE__INIT;
    FT_TRY(convert_scalars(c, json, *value));
    if (json_is_object(shape)) FT_TRY(convert_shape(c, shape, &(*value)->shape));
    if (json_is_object(tensor)) FT_TRY(convert_tensor(c, tensor, &(*value)->tensor));
    if (json_is_object(function)) {
        (*value)->func = ARENA_NEW(c->memory, Tf__Function);
        if ((*value)->func == NULL) return FT_NOMEM(c->error);
        *(*value)->func = (Tf__Function)TF__FUNCTION__INIT;
        FT_TRY(convert_function(c, function, (*value)->func));
    }
    if (!json_is_object(list)) return FT_OK;
    (*value)->list = ARENA_NEW(c->memory, Tf__List);
    if ((*value)->list == NULL) return FT_NOMEM(c->error);
    *(*value)->list = (Tf__List)TF__LIST__INIT;
    return convert_list(c, list, (*value)->list);
}

/* --- Nodes ------------------------------------------------------------------------------------------------------- */

static ft_status convert_attrs(const conversion *c, const json_t *attrs, Tf__Node *node) {
    size_t count = json_object_size(attrs);
    const char *key;
    json_t *value;
    if (attrs != NULL && !json_is_object(attrs)) return wrong(c, "attr", "an object");
    MAKE_LIST(c, Tf__Attr, TF__ATTR__INIT, attrs, count, node->attr);
    json_object_foreach((json_t *)(uintptr_t)attrs, key, value) {
        Tf__Attr *attr = node->attr[node->n_attr++];
        attr->key = arena_string(c->memory, key, strlen(key));
        if (attr->key == NULL) return FT_NOMEM(c->error);
        FT_TRY(convert_value(c, value, &attr->value));
    }
    return FT_OK;
}

static ft_status convert_node(const conversion *c, const json_t *json, Tf__Node *node) {
    const json_t *inputs = json_object_get(json, "input");
    FT_TRY(get_text(c, json, "name", &node->name));
    FT_TRY(get_text(c, json, "op", &node->op));
    size_t count = json_array_size(inputs);
    node->input = ARENA_ARRAY(c->memory, char *, count);
    if (node->input == NULL) return FT_NOMEM(c->error);
    for (; node->n_input < count; node->n_input++) {
        const json_t *input = json_array_get(inputs, node->n_input);
        if (!json_is_string(input)) return wrong(c, "input", "a list of names");
        char *text = arena_string(c->memory, json_string_value(input), json_string_length(input));
        if (text == NULL) return FT_NOMEM(c->error);
        node->input[node->n_input] = text;
    }
    return convert_attrs(c, json_object_get(json, "attr"), node);
}

static ft_status convert_nodes(const conversion *c, const json_t *list, Tf__Node ***nodes, size_t *count) {
    size_t total = json_array_size(list);
    if (list != NULL && !json_is_array(list)) return wrong(c, "node", "a list");
    if (total > FT_MAX_OPS) return ft_fail(c->error, FT_ERR_LIMIT, "more than %d nodes", FT_MAX_OPS);
    MAKE_LIST(c, Tf__Node, TF__NODE__INIT, list, total, *nodes);
    for (*count = 0; *count < total; ++*count) {
        const json_t *node = json_array_get(list, *count);
        ft_status status = convert_node(c, node, (*nodes)[*count]);
        const char *name = json_string_value(json_object_get(node, "name"));
        if (status != FT_OK) return ft_fail_prefix(c->error, status, "node '%.200s'", name != NULL ? name : "");
    }
    return FT_OK;
}

/* --- Functions --------------------------------------------------------------------------------------------------- */

static ft_status convert_args(const conversion *c, const json_t *list, Tf__Arg ***args, size_t *count) {
    size_t total = json_array_size(list);
    MAKE_LIST(c, Tf__Arg, TF__ARG__INIT, list, total, *args);
    for (*count = 0; *count < total; ++*count)
        FT_TRY(get_text(c, json_array_get(list, *count), "name", &(*args)[*count]->name));
    return FT_OK;
}

static ft_status convert_returns(const conversion *c, const json_t *returns, Tf__FunctionDef *function) {
    const char *key;
    json_t *value;
    size_t count = json_object_size(returns);
    MAKE_LIST(c, Tf__Pair, TF__PAIR__INIT, returns, count, function->ret);
    json_object_foreach((json_t *)(uintptr_t)returns, key, value) {
        Tf__Pair *pair = function->ret[function->n_ret++];
        pair->key = arena_string(c->memory, key, strlen(key));
        if (pair->key == NULL) return FT_NOMEM(c->error);
        FT_TRY(get_text(c, returns, key, &pair->value));
    }
    return FT_OK;
}

static ft_status convert_functions(const conversion *c, const json_t *list, Tf__Library *library) {
    size_t count = json_array_size(list);
    MAKE_LIST(c, Tf__FunctionDef, TF__FUNCTION_DEF__INIT, list, count, library->function);
    for (; library->n_function < count; library->n_function++) {
        const json_t *json = json_array_get(list, library->n_function), *signature = json_object_get(json, "signature");
        Tf__FunctionDef *function = library->function[library->n_function];
        function->signature = ARENA_NEW(c->memory, Tf__Signature);
        if (function->signature == NULL) return FT_NOMEM(c->error);
        *function->signature = (Tf__Signature)TF__SIGNATURE__INIT;
        FT_TRY(get_text(c, signature, "name", &function->signature->name));
        FT_TRY(convert_args(c, json_object_get(signature, "inputArg"), &function->signature->input_arg,
                            &function->signature->n_input_arg));
        FT_TRY(convert_args(c, json_object_get(signature, "outputArg"), &function->signature->output_arg,
                            &function->signature->n_output_arg));
        FT_TRY(convert_nodes(c, json_object_get(json, "nodeDef"), &function->node_def, &function->n_node_def));
        FT_TRY(convert_returns(c, json_object_get(json, "ret"), function));
    }
    return FT_OK;
}

/* --- Entry points ------------------------------------------------------------------------------------------------ */

ft_status tfjs_graph(const json_t *topology, arena *memory, Tf__Graph **graph, ft_error *error) {
    const conversion c = {memory, error};
    *graph = ARENA_NEW(memory, Tf__Graph);
    if (*graph == NULL) return FT_NOMEM(error);
    **graph = (Tf__Graph)TF__GRAPH__INIT;
    FT_TRY(convert_nodes(&c, json_object_get(topology, "node"), &(*graph)->node, &(*graph)->n_node));
    const json_t *functions = json_object_get(json_object_get(topology, "library"), "function");
    if (json_array_size(functions) == 0) return FT_OK;
    (*graph)->library = ARENA_NEW(memory, Tf__Library);
    if ((*graph)->library == NULL) return FT_NOMEM(error);
    *(*graph)->library = (Tf__Library)TF__LIBRARY__INIT;
    return convert_functions(&c, functions, (*graph)->library);
}

ft_status tfjs_signature(const json_t *json, arena *memory, Tf__SignatureDef **signature, ft_error *error) {
    const conversion c = {memory, error};
    const json_t *outputs = json_object_get(json, "outputs");
    size_t count = json_object_size(outputs);
    const char *key;
    json_t *value;
    *signature = ARENA_NEW(memory, Tf__SignatureDef);
    if (*signature == NULL) return FT_NOMEM(error);
    **signature = (Tf__SignatureDef)TF__SIGNATURE_DEF__INIT;
    MAKE_LIST(&c, Tf__NamedTensor, TF__NAMED_TENSOR__INIT, outputs, count, (*signature)->outputs);
    json_object_foreach((json_t *)(uintptr_t)outputs, key, value) {
        Tf__NamedTensor *output = (*signature)->outputs[(*signature)->n_outputs++];
        output->value = ARENA_NEW(memory, Tf__TensorInfo);
        if (output->value == NULL) return FT_NOMEM(error);
        *output->value = (Tf__TensorInfo)TF__TENSOR_INFO__INIT;
        FT_TRY(get_text(&c, value, "name", &output->value->name));
    }
    return FT_OK;
}
