/* pickle_global.c - the classes a pickle may name, and the values they become. No code is called.
 *
 * networkx graphs stay objects with a state. Containers become lists and dicts, numpy scalars numbers. The rest
 * (cached views, dtypes, arrays) become opaque objects. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "read/pickle/pickle_machine.h"

typedef enum pickle_class {
    CLASS_OPAQUE, /* kept as an opaque object */
    CLASS_GRAPH,
    CLASS_DICT,          /* also OrderedDict */
    CLASS_DEFAULTDICT,   /* the first argument is the factory */
    CLASS_LIST,          /* also tuple, set, frozenset */
    CLASS_SCALAR,        /* int, float, str: the value is the argument */
    CLASS_NUMPY_SCALAR,  /* scalar(dtype, bytes) */
    CLASS_RECONSTRUCTOR, /* copyreg._reconstructor(class, base, state) */
    CLASS_NEWOBJ,        /* copyreg.__newobj__(class, ...) */
    CLASS_ENCODE,        /* _codecs.encode(text, "latin1"): how protocols 0 to 2 write bytes */
} pickle_class;

typedef struct allowed_class {
    const char *module, *name; /* name NULL: every name of the module */
    pickle_class id;
} allowed_class;

static const allowed_class allowed[] = {
    {"networkx.classes.digraph", "DiGraph", CLASS_GRAPH},
    {"networkx.classes.graph", "Graph", CLASS_GRAPH},
    {"networkx.classes.multidigraph", "MultiDiGraph", CLASS_GRAPH},
    {"networkx.classes.multigraph", "MultiGraph", CLASS_GRAPH},
    {"networkx.classes.ordered", "OrderedDiGraph", CLASS_GRAPH},
    {"networkx.classes.ordered", "OrderedGraph", CLASS_GRAPH},
    {"networkx.classes.coreviews", NULL, CLASS_OPAQUE},
    {"networkx.classes.reportviews", NULL, CLASS_OPAQUE},
    {"collections", "OrderedDict", CLASS_DICT},
    {"collections", "defaultdict", CLASS_DEFAULTDICT},
    {"builtins", "dict", CLASS_DICT},
    {"builtins", "list", CLASS_LIST},
    {"builtins", "tuple", CLASS_LIST},
    {"builtins", "set", CLASS_LIST},
    {"builtins", "frozenset", CLASS_LIST},
    {"builtins", "int", CLASS_SCALAR},
    {"builtins", "float", CLASS_SCALAR},
    {"builtins", "str", CLASS_SCALAR},
    {"builtins", "bool", CLASS_SCALAR},
    {"builtins", "object", CLASS_OPAQUE},
    {"copyreg", "_reconstructor", CLASS_RECONSTRUCTOR},
    {"copyreg", "__newobj__", CLASS_NEWOBJ},
    {"_codecs", "encode", CLASS_ENCODE},
    {"numpy.core.multiarray", "scalar", CLASS_NUMPY_SCALAR},
    {"numpy._core.multiarray", "scalar", CLASS_NUMPY_SCALAR},
    {"numpy.core.multiarray", "_reconstruct", CLASS_OPAQUE},
    {"numpy._core.multiarray", "_reconstruct", CLASS_OPAQUE},
    {"numpy.core.numeric", "_frombuffer", CLASS_OPAQUE},
    {"numpy._core.numeric", "_frombuffer", CLASS_OPAQUE},
    {"numpy", "ndarray", CLASS_OPAQUE},
    {"numpy", "dtype", CLASS_OPAQUE},
};

/* Python 2 had other names for two modules. */
static const char *python3_module(const char *module) {
    if (strcmp(module, "__builtin__") == 0) return "builtins";
    return strcmp(module, "copy_reg") == 0 ? "copyreg" : module;
}

ft_status pickle_find_class(pickle *p, const char *module, const char *name, pickle_value **made, ft_error *error) {
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (strcmp(allowed[i].module, python3_module(module)) != 0) continue;
        if (allowed[i].name != NULL && strcmp(allowed[i].name, name) != 0) continue;
        pickle_value *class = pickle_new(p, PICKLE_CLASS, error);
        if (class == NULL) return FT_ERR_NOMEM;
        class->s = arena_format(&p->memory, "%s.%s", python3_module(module), name);
        class->class_id = allowed[i].id;
        *made = class;
        return class->s != NULL ? FT_OK : FT_NOMEM(error);
    }
    return ft_fail(error, FT_ERR_REFUSED,
                   "the pickle refers to '%s.%s', which is not a data type of a graph: refused; nothing was run",
                   module, name);
}

bool pickle_is_graph(const pickle_value *object) {
    return object->kind == PICKLE_OBJECT && object->object->type->class_id == CLASS_GRAPH;
}

static const pickle_value *arg(const pickle_value *args, uint32_t i) {
    return i < args->count ? args->items[i] : NULL;
}

/* --- Containers -------------------------------------------------------------------------------------------------- */

static bool is_pair(const pickle_value *value) {
    return value->kind == PICKLE_LIST && value->count == 2;
}

/* dict(), dict(mapping), dict(pairs). */
static ft_status make_dict(pickle *p, const pickle_value *from, pickle_value **made, ft_error *error) {
    pickle_value *dict = pickle_new(p, PICKLE_DICT, error);
    if (dict == NULL) return FT_ERR_NOMEM;
    *made = dict;
    if (from != NULL && from->kind != PICKLE_DICT && from->kind != PICKLE_LIST)
        return ft_fail(error, FT_ERR_DAMAGED, "a dict is constructed from neither a dict nor a list");
    for (uint32_t i = 0; from != NULL && i < from->count; i++) {
        assert(from->items != NULL);
        pickle_value *const *pair = from->kind == PICKLE_DICT ? from->items + 2 * i : NULL;
        if (pair == NULL && is_pair(from->items[i])) pair = from->items[i]->items;
        if (pair == NULL)
            return ft_fail(error, FT_ERR_DAMAGED, "a dict is constructed from an element that is not a pair");
        FT_TRY(pickle_set(p, dict, pair[0], pair[1], error));
    }
    return FT_OK;
}

static ft_status make_list(pickle *p, const pickle_value *from, pickle_value **made, ft_error *error) {
    pickle_value *copy = pickle_new(p, PICKLE_LIST, error);
    if (copy == NULL) return FT_ERR_NOMEM;
    *made = copy;
    if (from != NULL && from->kind != PICKLE_LIST)
        return ft_fail(error, FT_ERR_DAMAGED, "a list is constructed from a value that is not a list");
    for (uint32_t i = 0; from != NULL && i < from->count; i++) FT_TRY(pickle_append(p, copy, from->items[i], error));
    return FT_OK;
}

/* --- Numbers and text -------------------------------------------------------------------------------------------- */

/* Latin-1 text (characters up to U+00FF), as UTF-8, back to its bytes. */
static ft_status make_encoded(pickle *p, const pickle_value *args, pickle_value **made, ft_error *error) {
    const pickle_value *text = arg(args, 0), *codec = arg(args, 1);
    if (text == NULL || text->kind != PICKLE_STRING || codec == NULL || !pickle_is_string(codec, "latin1"))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "_codecs.encode is supported only with a text and 'latin1'");
    pickle_value *bytes = pickle_new(p, PICKLE_STRING, error);
    char *out = arena_alloc(&p->memory, (size_t)text->count + 1);
    if (bytes == NULL || out == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < text->count; i++) {
        unsigned char c = (unsigned char)text->s[i];
        bool is_pair_start = (c & 0xfc) == 0xc0 && i + 1 < text->count;
        out[bytes->count++] = is_pair_start ? (char)((c & 3) << 6 | (text->s[++i] & 0x3f)) : (char)c;
    }
    bytes->s = out;
    *made = bytes;
    return FT_OK;
}

static double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double value = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
    if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
    return bits >> 15 ? -value : value;
}

static double float_value(uint64_t bits, uint32_t size) {
    double wide;
    float narrow;
    uint32_t low = (uint32_t)bits;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &low, sizeof narrow);
    return size == 8 ? wide : size == 4 ? (double)narrow : half_value((uint16_t)bits);
}

static int64_t signed_value(uint64_t bits, uint32_t size) {
    uint32_t unused = 64 - 8 * size;
    return (int64_t)(bits << unused) >> unused;
}

/* numpy's scalar(dtype, bytes): the dtype states kind and byte order. */
static ft_status make_numpy_scalar(pickle *p, const pickle_value *args, pickle_value **made, ft_error *error) {
    const pickle_value *type = arg(args, 0), *bytes = arg(args, 1);
    const pickle_value *code = type != NULL && type->kind == PICKLE_OBJECT ? arg(type->object->args, 0) : NULL;
    const pickle_value *state = code != NULL ? type->object->state : NULL;
    const pickle_value *order = state != NULL && state->kind == PICKLE_LIST ? arg(state, 1) : NULL;
    bool is_number = code != NULL && code->kind == PICKLE_STRING && bytes != NULL && bytes->kind == PICKLE_STRING;
    uint32_t size = is_number ? bytes->count : 0;
    char kind = is_number && code->count > 0 ? code->s[0] : '?';
    bool is_float = kind == 'f' && (size == 2 || size == 4 || size == 8);
    bool is_int = strchr("iub", kind) != NULL && (size == 1 || size == 2 || size == 4 || size == 8);
    if (!is_float && !is_int)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "numpy scalars are supported only as int, float and bool");
    bool is_big = order != NULL && pickle_is_string(order, ">");
    uint64_t bits = 0;
    for (uint32_t i = 0; i < size; i++) bits |= (uint64_t)(unsigned char)bytes->s[i] << 8 * (is_big ? size - 1 - i : i);
    pickle_value *value = pickle_new(p, is_float ? PICKLE_FLOAT : PICKLE_INT, error);
    if (value == NULL) return FT_ERR_NOMEM;
    if (is_float)
        value->f = float_value(bits, size);
    else
        value->i = kind == 'i' ? signed_value(bits, size) : (int64_t)bits;
    *made = value;
    return FT_OK;
}

/* --- Making ------------------------------------------------------------------------------------------------------ */

static ft_status make_object(pickle *p, const pickle_value *type, const pickle_value *args, pickle_value **made,
                             ft_error *error) {
    pickle_value *value = pickle_new(p, PICKLE_OBJECT, error);
    if (value == NULL) return FT_ERR_NOMEM;
    value->object = ARENA_NEW(&p->memory, pickle_object);
    if (value->object == NULL) return FT_NOMEM(error);
    *value->object = (pickle_object){.type = type, .args = args};
    *made = value;
    return FT_OK;
}

/* copyreg's two helpers: the first argument is the class to instantiate. Its arguments are ignored, as the content
 * of such objects comes with BUILD. One step only, so that a class cannot be wrapped for ever. */
static ft_status make_wrapped(pickle *p, const pickle_value *args, pickle_value **made, ft_error *error) {
    const pickle_value *type = arg(args, 0);
    if (type == NULL || type->kind != PICKLE_CLASS)
        return ft_fail(error, FT_ERR_DAMAGED, "an object is constructed from a value that is not a class");
    switch ((pickle_class)type->class_id) {
    case CLASS_DICT:
    case CLASS_DEFAULTDICT:
        return make_dict(p, NULL, made, error);
    case CLASS_LIST:
        return make_list(p, NULL, made, error);
    default:
        return make_object(p, type, args, made, error);
    }
}

ft_status pickle_instantiate(pickle *p, const pickle_value *type, const pickle_value *args, pickle_value **made,
                             ft_error *error) {
    if (type->kind != PICKLE_CLASS) return ft_fail(error, FT_ERR_DAMAGED, "a value that is not a class is called");
    if (args->kind != PICKLE_LIST) return ft_fail(error, FT_ERR_DAMAGED, "the arguments of a call are not a tuple");
    switch ((pickle_class)type->class_id) {
    case CLASS_DICT:
        return make_dict(p, arg(args, 0), made, error);
    case CLASS_DEFAULTDICT:
        return make_dict(p, arg(args, 1), made, error);
    case CLASS_LIST:
        return make_list(p, arg(args, 0), made, error);
    case CLASS_SCALAR:
        if (args->count == 1) {
            *made = args->items[0];
            return FT_OK;
        }
        return ft_fail(error, FT_ERR_UNSUPPORTED, "'%s' is not supported with %u arguments", type->s, args->count);
    case CLASS_NUMPY_SCALAR:
        return make_numpy_scalar(p, args, made, error);
    case CLASS_ENCODE:
        return make_encoded(p, args, made, error);
    case CLASS_RECONSTRUCTOR:
    case CLASS_NEWOBJ:
        return make_wrapped(p, args, made, error);
    case CLASS_OPAQUE:
    case CLASS_GRAPH:
        break;
    }
    return make_object(p, type, args, made, error);
}

ft_status pickle_build(pickle_value *object, const pickle_value *state, ft_error *error) {
    if (object->kind == PICKLE_OBJECT)
        object->object->state = state;
    else if (object->kind != PICKLE_DICT && object->kind != PICKLE_LIST)
        return ft_fail(error, FT_ERR_DAMAGED, "BUILD is applied to a value that is not an object");
    return FT_OK;
}
