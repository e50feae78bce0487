/* tf_model.c - TensorFlow graphs for tests. */
#include "support/tf_model.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *take(tf_model *m, size_t size) {
    void *block = arena_alloc(&m->memory, size);
    if (block == NULL) abort();
    return block;
}

static char *copy(tf_model *m, const char *text) {
    char *made = arena_string(&m->memory, text, strlen(text));
    if (made == NULL) abort();
    return made;
}

/* Grows a list of pointers by one; the lists are short. */
static void append(tf_model *m, void *items, size_t *count, void *item) {
    void **old = *(void ***)items, **longer = take(m, (*count + 1) * sizeof *longer);
    if (*count > 0) memcpy(longer, old, *count * sizeof *longer);
    longer[(*count)++] = item;
    *(void ***)items = longer;
}

#define NEW(m, type, initial) memcpy(take(m, sizeof(type)), &(type)initial, sizeof(type))

/* --- Values ------------------------------------------------------------------------------------------------------ */

static int32_t type_of(const char *name) {
    static const char *const names[] = {"?",    "float",  "double",    "int32", "uint8", "int16",
                                        "int8", "string", "complex64", "int64", "bool"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0) return (int32_t)i;
    if (strcmp(name, "half") == 0) return 19;
    if (strcmp(name, "resource") == 0) return 20;
    fprintf(stderr, "tf_model: unknown type '%s'\n", name);
    abort();
}

static size_t numbers(tf_model *m, const char *text, int64_t **list) {
    char *at = copy(m, text), *rest = NULL;
    size_t count = 0;
    *list = take(m, (strlen(text) + 1) * sizeof **list);
    for (char *word = strtok_r(at, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest))
        (*list)[count++] = strtoll(word, NULL, 10);
    return count;
}

static Tf__Shape *shape_of(tf_model *m, const char *text) {
    Tf__Shape *shape = NEW(m, Tf__Shape, TF__SHAPE__INIT);
    int64_t *dims;
    if (strcmp(text, "?") == 0) {
        shape->has_unknown_rank = shape->unknown_rank = true;
        return shape;
    }
    size_t count = numbers(m, text, &dims);
    for (size_t i = 0; i < count; i++) {
        Tf__Dim *dim = NEW(m, Tf__Dim, TF__DIM__INIT);
        dim->has_size = true;
        dim->size = dims[i];
        append(m, &shape->dim, &shape->n_dim, dim);
    }
    return shape;
}

static bool is_number(const char *text) {
    return isdigit((unsigned char)text[0]) || (text[0] == '-' && isdigit((unsigned char)text[1]));
}

static ProtobufCBinaryData bytes_of(tf_model *m, const char *text) {
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)copy(m, text)};
}

static Tf__Value *value_of(tf_model *m, const char *key, const char *text) {
    Tf__Value *v = NEW(m, Tf__Value, TF__VALUE__INIT);
    bool is_type =
        strcmp(key, "dtype") == 0 || strcmp(key, "T") == 0 || strcmp(key, "DstT") == 0 || strcmp(key, "out_type") == 0;
    if (is_type) {
        v->has_type = true;
        v->type = type_of(text);
    } else if (strcmp(key, "shape") == 0) {
        v->shape = shape_of(m, text);
    } else if (text[0] == '@') {
        v->func = NEW(m, Tf__Function, TF__FUNCTION__INIT);
        v->func->name = copy(m, text + 1);
    } else if (text[0] == '#') {
        char *at = copy(m, text + 1), *rest = NULL;
        v->list = NEW(m, Tf__List, TF__LIST__INIT);
        v->list->s = take(m, strlen(text) * sizeof *v->list->s);
        for (char *word = strtok_r(at, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest))
            v->list->s[v->list->n_s++] = bytes_of(m, word);
    } else if (is_number(text) && strchr(text, ',') != NULL) {
        v->list = NEW(m, Tf__List, TF__LIST__INIT);
        v->list->n_i = numbers(m, text, &v->list->i);
    } else if (is_number(text)) {
        v->has_i = true;
        v->i = strtoll(text, NULL, 10);
    } else if (strcmp(text, "true") == 0) {
        v->has_b = v->b = true;
    } else {
        v->has_s = true;
        v->s = bytes_of(m, text);
    }
    return v;
}

/* --- Nodes ------------------------------------------------------------------------------------------------------- */

static Tf__Value *find(const Tf__Node *node, const char *key) {
    for (size_t i = 0; i < node->n_attr; i++)
        if (strcmp(node->attr[i]->key, key) == 0) return node->attr[i]->value;
    return NULL;
}

static void add_attr(tf_model *m, Tf__Node *node, const char *key, Tf__Value *value) {
    Tf__Attr *attr = NEW(m, Tf__Attr, TF__ATTR__INIT);
    attr->key = copy(m, key);
    attr->value = value;
    append(m, &node->attr, &node->n_attr, attr);
}

/* The shape moves into the value; the payload is raw bytes of the given numbers, or zeros. */
static void finish_const(tf_model *m, Tf__Node *node, const char *text) {
    static const uint8_t widths[] = {0, 4, 8, 4, 1, 2, 1, 0, 8, 8, 1};
    Tf__Value *value = NEW(m, Tf__Value, TF__VALUE__INIT), *shape = find(node, "shape"), *dtype = find(node, "dtype");
    Tf__Tensor *tensor = NEW(m, Tf__Tensor, TF__TENSOR__INIT);
    int64_t *list, elems = 1;
    if (shape == NULL || dtype == NULL) abort();
    tensor->has_dtype = true;
    tensor->dtype = dtype->type;
    tensor->tensor_shape = shape->shape;
    for (size_t i = 0; i < shape->shape->n_dim; i++) elems *= shape->shape->dim[i]->size;
    size_t width = dtype->type == 19 ? 2 : widths[dtype->type];
    tensor->has_tensor_content = true;
    tensor->tensor_content.len = (size_t)elems * width;
    tensor->tensor_content.data = take(m, (size_t)elems * width + 8);
    size_t count = text != NULL ? numbers(m, text, &list) : 0;
    for (size_t i = 0; i < count && i < (size_t)elems; i++) {
        float single = (float)list[i];
        double wide = (double)list[i];
        const void *from = dtype->type == 1 ? (const void *)&single : dtype->type == 2 ? (const void *)&wide : &list[i];
        memcpy(tensor->tensor_content.data + i * width, from, width);
    }
    value->tensor = tensor;
    add_attr(m, node, "value", value);
}

static Tf__Node *node_of(tf_model *m, char *line) {
    Tf__Node *node = NEW(m, Tf__Node, TF__NODE__INIT);
    char *rest = NULL;
    const char *elements = NULL;
    node->op = copy(m, strtok_r(line, " ", &rest));
    node->name = copy(m, strtok_r(NULL, " ", &rest));
    for (char *word = strtok_r(NULL, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *equals = strchr(word, '=');
        if (equals == NULL) {
            append(m, &node->input, &node->n_input, copy(m, word));
            continue;
        }
        *equals = '\0';
        if (strcmp(word, "value") == 0)
            elements = equals + 1;
        else
            add_attr(m, node, word, value_of(m, word, equals + 1));
    }
    if (strcmp(node->op, "Const") == 0) finish_const(m, node, elements);
    return node;
}

/* "function name a b -> out=ref" */
static Tf__FunctionDef *function_of(tf_model *m, char *line) {
    Tf__FunctionDef *f = NEW(m, Tf__FunctionDef, TF__FUNCTION_DEF__INIT);
    char *rest = NULL;
    bool is_result = false;
    strtok_r(line, " ", &rest);
    f->signature = NEW(m, Tf__Signature, TF__SIGNATURE__INIT);
    f->signature->name = copy(m, strtok_r(NULL, " ", &rest));
    for (char *word = strtok_r(NULL, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, "->") == 0) {
            is_result = true;
            continue;
        }
        Tf__Arg *arg = NEW(m, Tf__Arg, TF__ARG__INIT);
        char *equals = strchr(word, '=');
        if (equals != NULL) *equals = '\0';
        arg->name = copy(m, word);
        if (!is_result) {
            append(m, &f->signature->input_arg, &f->signature->n_input_arg, arg);
            continue;
        }
        Tf__Pair *pair = NEW(m, Tf__Pair, TF__PAIR__INIT);
        pair->key = arg->name;
        pair->value = copy(m, equals + 1);
        append(m, &f->signature->output_arg, &f->signature->n_output_arg, arg);
        append(m, &f->ret, &f->n_ret, pair);
    }
    return f;
}

/* --- The model --------------------------------------------------------------------------------------------------- */

tf_model *tf_model_new(const char *text) {
    tf_model *m = calloc(1, sizeof *m);
    if (m == NULL) abort();
    arena_init(&m->memory, UINT64_C(1) << 30);
    m->graph = (Tf__Graph)TF__GRAPH__INIT;
    Tf__FunctionDef *function = NULL;
    char *rest = NULL;
    for (char *line = strtok_r(copy(m, text), "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "function ", 9) == 0) {
            if (m->graph.library == NULL) m->graph.library = NEW(m, Tf__Library, TF__LIBRARY__INIT);
            function = function_of(m, line);
            append(m, &m->graph.library->function, &m->graph.library->n_function, function);
        } else if (strcmp(line, "end") == 0) {
            function = NULL;
        } else if (function != NULL) {
            append(m, &function->node_def, &function->n_node_def, node_of(m, line));
        } else {
            append(m, &m->graph.node, &m->graph.n_node, node_of(m, line));
        }
    }
    return m;
}

void tf_model_free(tf_model *m) {
    if (m == NULL) return;
    arena_free(&m->memory);
    free(m);
}

Tf__Node *tf_model_node(tf_model *m, const char *name) {
    for (size_t i = 0; i < m->graph.n_node; i++)
        if (strcmp(m->graph.node[i]->name, name) == 0) return m->graph.node[i];
    abort();
}

static void pack(tf_model *m, const ProtobufCMessage *message) {
    m->size = protobuf_c_message_get_packed_size(message);
    m->bytes = take(m, m->size + 1);
    protobuf_c_message_pack(message, m->bytes);
}

void tf_model_pack(tf_model *m) {
    pack(m, &m->graph.base);
}

void tf_model_pack_saved(tf_model *m, const char *signature) {
    Tf__SavedModel *saved = NEW(m, Tf__SavedModel, TF__SAVED_MODEL__INIT);
    Tf__MetaGraph *meta = NEW(m, Tf__MetaGraph, TF__META_GRAPH__INIT);
    meta->meta_info_def = NEW(m, Tf__MetaInfo, TF__META_INFO__INIT);
    meta->meta_info_def->tensorflow_version = copy(m, "2.9.1");
    append(m, &meta->meta_info_def->tags, &meta->meta_info_def->n_tags, copy(m, "serve"));
    meta->graph_def = &m->graph;
    saved->has_schema_version = true;
    saved->schema_version = 1;
    append(m, &saved->meta_graphs, &saved->n_meta_graphs, meta);
    if (signature != NULL) {
        Tf__NamedSignature *named = NEW(m, Tf__NamedSignature, TF__NAMED_SIGNATURE__INIT);
        named->key = copy(m, "serving_default");
        named->value = NEW(m, Tf__SignatureDef, TF__SIGNATURE_DEF__INIT);
        char *rest = NULL;
        for (char *word = strtok_r(copy(m, signature), " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
            Tf__NamedTensor *output = NEW(m, Tf__NamedTensor, TF__NAMED_TENSOR__INIT);
            char *equals = strchr(word, '=');
            *equals = '\0';
            output->key = copy(m, word);
            output->value = NEW(m, Tf__TensorInfo, TF__TENSOR_INFO__INIT);
            output->value->name = copy(m, equals + 1);
            append(m, &named->value->outputs, &named->value->n_outputs, output);
        }
        append(m, &meta->signature_def, &meta->n_signature_def, named);
    }
    pack(m, &saved->base);
}

ft_status tf_model_read(const tf_model *m, ft_graph **graph, ft_error *error) {
    return ft_graph_read_memory(m->bytes, m->size, "test.pb", graph, error);
}
