/* pack.c - packing of a graph to its canonical bytes.
 *
 * Tensors are numbered in the order in which operators first refer to them. Strings, shapes, lists of attributes and
 * operator types are written once each, and referred to by index: an operator of the CG tables takes about ten
 * bytes. */
#include "data/pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/intern.h"
#include "data/varint.h"
#include "graph/graph.h"
#include "graph/opdef.h"

/* Longer float constants are weights; shorter ones may be scales of a Resize, or coefficients. */
enum { MAX_FLOATS = 16 };

struct packer {
    const ft_graph *graph;
    uint32_t *numbers; /* number of each tensor, FT_NONE = none yet */
    uint32_t *order;   /* the tensors by number */
    uint32_t capacity, numbered;
    uint32_t next;                       /* the first tensor that no operator has referred to yet */
    uint32_t symbols[GRAPH_MAX_SYMBOLS]; /* number of each symbol, FT_NONE = none yet */
    uint32_t symbol_count;
    intern_table strings, shapes, attributes, types;
    buf symbol_names, tensors, ops, entry;
};

packer *packer_new(void) {
    return calloc(1, sizeof(packer));
}

void packer_free(packer *p) {
    if (p == NULL) return;
    free(p->numbers);
    free(p->order);
    intern_free(&p->strings);
    intern_free(&p->shapes);
    intern_free(&p->attributes);
    intern_free(&p->types);
    buf_free(&p->symbol_names);
    buf_free(&p->tensors);
    buf_free(&p->ops);
    buf_free(&p->entry);
    free(p);
}

static bool clear(packer *p, const ft_graph *graph) {
    if (graph->tensor_count > p->capacity) {
        uint32_t *numbers = realloc(p->numbers, graph->tensor_count * sizeof *numbers);
        if (numbers != NULL) p->numbers = numbers;
        uint32_t *order = realloc(p->order, graph->tensor_count * sizeof *order);
        if (order != NULL) p->order = order;
        if (numbers == NULL || order == NULL) return false;
        p->capacity = graph->tensor_count;
    }
    p->graph = graph;
    for (uint32_t i = 0; i < graph->tensor_count; i++) p->numbers[i] = FT_NONE;
    for (uint32_t i = 0; i < graph->symbol_count; i++) p->symbols[i] = FT_NONE;
    p->numbered = p->next = p->symbol_count = 0;
    intern_table *const tables[] = {&p->strings, &p->shapes, &p->attributes, &p->types};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) intern_clear(tables[i]);
    buf *const buffers[] = {&p->symbol_names, &p->tensors, &p->ops};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        buffers[i]->length = 0;
        buffers[i]->failed = false;
    }
    return true;
}

/* --- Numbers of tensors ------------------------------------------------------------------------------------------ */

static void number_tensor(packer *p, uint32_t tensor) {
    assert(tensor == FT_NONE || tensor < p->graph->tensor_count);
    if (tensor == FT_NONE || p->numbers[tensor] != FT_NONE) return;
    p->order[p->numbered] = tensor;
    p->numbers[tensor] = p->numbered++;
}

static void number_tensors(packer *p) {
    const ft_graph *g = p->graph;
    for (uint32_t i = 0; i < g->inputs.count; i++) number_tensor(p, g->inputs.items[i]);
    for (uint32_t i = 0; i < g->op_count; i++) {
        const ft_op *op = &g->ops[i];
        for (uint32_t k = 0; k < op->input_count; k++) number_tensor(p, op->inputs[k]);
        for (uint32_t k = 0; k < op->output_count; k++) number_tensor(p, op->outputs[k]);
    }
    for (uint32_t i = 0; i < g->tensor_count; i++) number_tensor(p, i); /* not connected to any operator */
}

/* A reference to a tensor: 0 none, 1 the next new one, else the distance back to it. */
static void put_tensor_ref(packer *p, buf *out, uint32_t tensor) {
    assert(tensor == FT_NONE || p->numbers[tensor] <= p->next);
    if (tensor == FT_NONE) {
        varint_put(out, 0);
    } else if (p->numbers[tensor] == p->next) {
        varint_put(out, 1);
        p->next++;
    } else {
        varint_put(out, (uint64_t)(p->next - p->numbers[tensor]) + 1);
    }
}

static void put_tensor_number(const packer *p, buf *out, uint32_t tensor) {
    assert(tensor == FT_NONE || p->numbers[tensor] != FT_NONE);
    varint_put(out, tensor == FT_NONE ? 0 : (uint64_t)p->numbers[tensor] + 1);
}

/* --- Pieces ------------------------------------------------------------------------------------------------------ */

static buf *begin_entry(packer *p) {
    p->entry.length = 0;
    p->entry.failed = false;
    return &p->entry;
}

static uint32_t end_entry(packer *p, intern_table *table) {
    if (p->entry.failed) table->failed = true;
    return intern_add(table, p->entry.data, p->entry.length);
}

static uint32_t string_number(packer *p, const char *text) {
    buf *entry = begin_entry(p);
    varint_put(entry, strlen(text));
    buf_text(entry, text);
    return end_entry(p, &p->strings);
}

static uint64_t symbol_number(packer *p, int64_t dim) {
    uint32_t *number = &p->symbols[-1 - dim];
    if (*number == FT_NONE) {
        *number = p->symbol_count++;
        varint_put(&p->symbol_names, string_number(p, p->graph->symbols[-1 - dim]));
    }
    return *number;
}

/* Sizes are even, symbols odd; 1 is an unknown dimension. A symbol with a size in the file is stored as that. */
static uint64_t dim_code(packer *p, int64_t dim) {
    if (dim >= 0) return (uint64_t)dim << 1;
    int64_t exported = graph_exported_size(p->graph, dim);
    if (exported > 0) return (uint64_t)exported << 1;
    return dim == FT_DIM_UNKNOWN ? 1 : (symbol_number(p, dim) + 1) << 1 | 1;
}

static uint32_t shape_number(packer *p, const ft_tensor *t) {
    uint64_t dims[FT_MAX_RANK];
    for (int32_t i = 0; i < t->rank; i++) dims[i] = dim_code(p, t->dims[i]); /* may add a string to the table */
    buf *entry = begin_entry(p);
    buf_char(entry, (char)t->dtype);
    buf_char(entry, (char)(t->rank + 1));
    for (int32_t i = 0; i < t->rank; i++) varint_put(entry, dims[i]);
    return end_entry(p, &p->shapes);
}

static bool fits_float32(const double *values, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if ((double)(float)values[i] != values[i]) return false; /* NaN does not fit either */
    }
    return true;
}

static void put_ints(buf *out, const int64_t *values, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) varint_put(out, zigzag(values[i]));
}

static void put_little_endian(buf *out, uint64_t bits, unsigned size) {
    assert(size <= 8);
    uint8_t bytes[8];
    for (unsigned i = 0; i < size; i++) bytes[i] = (uint8_t)(bits >> 8 * i);
    buf_add(out, bytes, size);
}

static void put_floats(buf *out, const double *values, uint64_t count, pack_number kind) {
    for (uint64_t i = 0; i < count; i++) {
        uint32_t narrow;
        uint64_t wide;
        float value = (float)values[i];
        memcpy(&narrow, &value, sizeof narrow);
        memcpy(&wide, &values[i], sizeof wide);
        if (kind == NUMBER_FLOAT32)
            put_little_endian(out, narrow, sizeof narrow);
        else
            put_little_endian(out, wide, sizeof wide);
    }
}

/* Writes count, encoding and `count` numbers. */
static void put_numbers(buf *out, const int64_t *ints, const double *floats, uint64_t count) {
    pack_number kind = floats == NULL ? NUMBER_INT : fits_float32(floats, count) ? NUMBER_FLOAT32 : NUMBER_FLOAT64;
    varint_put(out, count << 2 | kind);
    if (floats == NULL)
        put_ints(out, ints, count);
    else
        put_floats(out, floats, count, kind);
}

/* --- Tensors ----------------------------------------------------------------------------------------------------- */

static bool takes_weights(ft_op_class op_class) {
    return op_class == FT_CLASS_CONV || op_class == FT_CLASS_MATMUL || op_class == FT_CLASS_NORM ||
           op_class == FT_CLASS_RECURRENT || op_class == FT_CLASS_ATTENTION;
}

/* Whether all readers use it as a weight, so that its elements do not matter. */
static bool is_weight(const ft_graph *g, uint32_t tensor) {
    const ft_tensor *t = &g->tensors[tensor];
    for (uint32_t u = 0; u < t->use_count; u++) {
        const ft_op *op = &g->ops[t->uses[u]];
        if (!takes_weights(op->def->op_class) || op->def->fold != NULL) return false;
        for (uint32_t i = 0; i < op->input_count && i < 32; i++) {
            if (op->inputs[i] == tensor && (op->def->aux_inputs >> i & 1) != 0) return false;
        }
    }
    return t->use_count > 0;
}

/* Whether the elements are stored: they may determine a shape. Those of weights are omitted. */
static bool keeps_value(const ft_graph *g, uint32_t tensor) {
    const ft_tensor *t = &g->tensors[tensor];
    if (t->value == NULL || is_weight(g, tensor)) return false;
    bool is_steering = t->dtype == FT_BOOL || (!ft_dtype_is_float(t->dtype) && ft_dtype_bits(t->dtype) >= 32);
    return is_steering || t->value->count <= MAX_FLOATS;
}

static void put_tensor(packer *p, uint32_t tensor) {
    const ft_graph *g = p->graph;
    const ft_tensor *t = &g->tensors[tensor];
    uint64_t dense = dtype_bytes(t->dtype, (uint64_t)shape_elems(t->dims, t->rank));
    pack_stored stored = t->stored_bytes == 0 ? STORED_NOTHING : t->stored_bytes == dense ? STORED_DENSE : STORED_BYTES;
    name_kind kind = t->role == FT_CONSTANT ? tensor_name_kind(g, t) : NAME_PLAIN;
    bool has_value = keeps_value(g, tensor);
    uint32_t shape = shape_number(p, t);
    buf *out = &p->tensors;
    buf_char(out, (char)((unsigned)t->role | (t->is_sparse ? PACK_SPARSE : 0u) | (unsigned)stored << PACK_STORED_SHIFT |
                         (unsigned)kind << PACK_NAME_SHIFT | (has_value ? PACK_VALUE : 0u)));
    varint_put(out, shape);
    if (stored == STORED_BYTES) varint_put(out, t->stored_bytes);
    if (has_value) put_numbers(out, t->value->ints, t->value->floats, (uint64_t)t->value->count);
}

/* --- Operators --------------------------------------------------------------------------------------------------- */

static void put_attribute(packer *p, buf *out, const ft_attr *a) {
    varint_put(out, string_number(p, a->name));
    buf_char(out, (char)a->kind);
    switch (a->kind) {
    case FT_ATTR_INT:
        put_numbers(out, &a->i, NULL, 1);
        break;
    case FT_ATTR_FLOAT:
        put_numbers(out, NULL, &a->f, 1);
        break;
    case FT_ATTR_STRING:
        varint_put(out, string_number(p, a->s));
        break;
    case FT_ATTR_INTS:
        put_numbers(out, a->ints, NULL, a->count);
        break;
    case FT_ATTR_FLOATS:
        put_numbers(out, NULL, a->floats, a->count);
        break;
    }
}

/* Operator costs stored in a file (PerfSeer's) are omitted like names: nothing depends on them. */
static bool is_stored_cost(const ft_attr *a) {
    return strncmp(a->name, "stored_", 7) == 0;
}

/* Sorts attributes by name; of two with one name, the first stays first, as it is the one that counts. */
static uint32_t attributes_number(packer *p, const ft_op *op) {
    enum { MAX_SORTED = 64 };
    uint32_t order[MAX_SORTED], count = op->attr_count;
    uint32_t sorted = op->attr_count <= MAX_SORTED ? op->attr_count : 0; /* a longer list stays unsorted */
    for (uint32_t i = 0; i < op->attr_count; i++) count -= is_stored_cost(&op->attrs[i]);
    for (uint32_t i = 0; i < sorted; i++) {
        uint32_t k = i;
        for (; k > 0 && strcmp(op->attrs[order[k - 1]].name, op->attrs[i].name) > 0; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    buf list = {0};
    varint_put(&list, count);
    for (uint32_t i = 0; i < op->attr_count; i++) {
        const ft_attr *a = &op->attrs[sorted > 0 ? order[i] : i];
        if (!is_stored_cost(a)) put_attribute(p, &list, a);
    }
    if (list.failed) p->attributes.failed = true;
    uint32_t number = intern_add(&p->attributes, list.data, list.length);
    buf_free(&list);
    return number;
}

/* Most operators have the table entry that their type implies; some readers assign another one. */
static uint32_t type_number(packer *p, const ft_op *op) {
    const ft_opdef *usual = opdef_find(p->graph->format, op->type);
    if (usual == NULL) usual = ft_opdef_unknown();
    uint32_t type = string_number(p, op->type), def = 0;
    if (op->def != usual) def = string_number(p, op->def->name) + 1;
    buf *entry = begin_entry(p);
    varint_put(entry, type);
    varint_put(entry, def);
    return end_entry(p, &p->types);
}

static void put_op(packer *p, const ft_op *op) {
    buf *out = &p->ops;
    varint_put(out, type_number(p, op));
    varint_put(out, attributes_number(p, op));
    varint_put(out, op->input_count);
    for (uint32_t i = 0; i < op->input_count; i++) put_tensor_ref(p, out, op->inputs[i]);
    varint_put(out, op->output_count);
    for (uint32_t i = 0; i < op->output_count; i++) put_tensor_ref(p, out, op->outputs[i]);
    if (p->graph->loop_count > 1) varint_put(out, op->loop);
    if (p->graph->branch_count > 1) varint_put(out, op->branch);
}

/* --- Entry point ------------------------------------------------------------------------------------------------- */

static void put_list(const packer *p, buf *out, const index_list *list) {
    varint_put(out, list->count);
    for (uint32_t i = 0; i < list->count; i++) varint_put(out, p->numbers[list->items[i]]);
}

static void put_loops(const packer *p, buf *out) {
    const ft_graph *g = p->graph;
    varint_put(out, g->loop_count - 1);
    for (uint32_t i = 1; i < g->loop_count; i++) {
        varint_put(out, g->loops[i].parent);
        put_tensor_number(p, out, g->loops[i].trip_tensor);
        put_tensor_number(p, out, g->loops[i].scan_tensor);
        varint_put(out, zigzag(g->loops[i].scan_axis));
    }
    varint_put(out, g->branch_count - 1);
    for (uint32_t i = 1; i < g->branch_count; i++) {
        const graph_branch *b = &g->branches[i];
        varint_put(out, b->parent);
        put_tensor_number(p, out, b->condition);
        buf_char(out, (char)(b->is_then | b->is_default << 1));
    }
}

static void put_table(buf *out, const intern_table *table) {
    varint_put(out, table->count);
    buf_add(out, table->bytes.data, table->bytes.length);
}

static bool has_failed(const packer *p) {
    return p->strings.failed || p->shapes.failed || p->attributes.failed || p->types.failed || p->symbol_names.failed ||
           p->tensors.failed || p->ops.failed || p->entry.failed;
}

ft_status pack_graph(packer *p, const ft_graph *graph, buf *out, ft_error *error) {
    if (graph->is_bound)
        return ft_fail(error, FT_ERR_USAGE, "a bound graph cannot be packed; pack the graph it was bound from");
    if (!clear(p, graph)) return FT_NOMEM(error);
    number_tensors(p);
    for (uint32_t i = 0; i < graph->inputs.count; i++) {
        if (p->numbers[graph->inputs.items[i]] == p->next) p->next++;
    }
    for (uint32_t i = 0; i < p->numbered; i++) put_tensor(p, p->order[i]);
    for (uint32_t i = 0; i < graph->op_count; i++) put_op(p, &graph->ops[i]);
    size_t before = out->length;
    buf_char(out, (char)graph->format);
    buf_char(out, (char)graph->layout);
    put_table(out, &p->strings);
    varint_put(out, p->symbol_count);
    buf_add(out, p->symbol_names.data, p->symbol_names.length);
    put_table(out, &p->shapes);
    varint_put(out, p->numbered);
    buf_add(out, p->tensors.data, p->tensors.length);
    put_list(p, out, &graph->inputs);
    put_list(p, out, &graph->outputs);
    put_loops(p, out);
    put_table(out, &p->attributes);
    put_table(out, &p->types);
    varint_put(out, graph->op_count);
    buf_add(out, p->ops.data, p->ops.length);
    if (!out->failed && !has_failed(p)) return FT_OK;
    out->length = before;
    return FT_NOMEM(error);
}
