/* layers.c - finding the layers of a model in the names of its weights and operators.
 *
 * The first number between dots or slashes is that of a layer, when a product, a convolution or attention has it: a
 * norm behind the last layer may have the number of one that does not exist. Operators without a number belong to the
 * last layer that they depend on; those behind everything that has a number are the head. */
#include "cost/layers.h"

#include <ctype.h>
#include <string.h>

#include "graph/opdef.h"

enum { MAX_LAYERS = 4096 };

/* A name up to its number, and the number. */
typedef struct layer_key {
    const char *name;
    size_t length;
} layer_key;

static bool is_delimiter(char c) {
    return c == '.' || c == '/' || c == '\0';
}

static bool find_key(const char *name, layer_key *key) {
    for (size_t i = 0; name[i] != '\0'; i++) {
        if (!isdigit((unsigned char)name[i]) || i == 0 || !is_delimiter(name[i - 1])) continue;
        size_t end = i;
        while (isdigit((unsigned char)name[end])) end++;
        if (is_delimiter(name[end]) && end - i < 8) {
            *key = (layer_key){name, end};
            return true;
        }
        i = end - 1;
    }
    return false;
}

static bool is_heavy(const ft_op *op) {
    switch (op->def->cost) {
    case COST_CONV:
    case COST_CONV_TRANSPOSE:
    case COST_MATMUL:
    case COST_EINSUM:
    case COST_RECURRENT:
    case COST_ATTENTION:
    case COST_LINEAR_ATTENTION:
    case COST_MOE:
        return true;
    default:
        return false;
    }
}

static bool key_of_weight(const ft_graph *graph, const ft_op *op, layer_key *key) {
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(graph, op, i);
        if (t != NULL && t->role == FT_CONSTANT && find_key(t->name, key)) return true;
    }
    return false;
}

/* The key of an operator: in the name of a weight, or its own. */
static bool key_of(const ft_graph *graph, const ft_op *op, layer_key *key) {
    return key_of_weight(graph, op, key) || find_key(op->name, key);
}

typedef struct key_table {
    layer_key *keys;
    uint32_t count;
} key_table;

static bool is_number(const key_table *table, uint32_t number, const layer_key *key) {
    const layer_key *k = &table->keys[number - 1];
    size_t last = key->length - 1; /* names differ most at their end */
    return k->length == key->length && k->name[last] == key->name[last] && memcmp(k->name, key->name, last) == 0;
}

/* The number of a key from 1; 0: not in the table. Layers follow each other, so it is most likely `near` or the next.
 */
static uint32_t number_of(const key_table *table, const layer_key *key, uint32_t near) {
    for (uint32_t i = near > 0 ? near : 1; i <= near + 1 && i <= table->count; i++)
        if (is_number(table, i, key)) return i;
    for (uint32_t i = table->count; i > 0; i--)
        if (is_number(table, i, key)) return i;
    return 0;
}

typedef bool key_finder(const ft_graph *graph, const ft_op *op, layer_key *key);

static void collect_keys(const ft_graph *graph, key_finder *find, key_table *table) {
    layer_key key;
    for (uint32_t k = 0; k < graph->op_count && table->count < MAX_LAYERS; k++) {
        const ft_op *op = &graph->ops[k];
        if (op->is_folded || !is_heavy(op) || !find(graph, op, &key)) continue;
        if (number_of(table, &key, table->count) == 0) table->keys[table->count++] = key;
    }
}

/* The last layer that an operator depends on. */
static uint32_t layer_before(const ft_graph *graph, const model_layers *layers, const ft_op *op) {
    uint32_t layer = 0;
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(graph, op, i);
        if (t == NULL || t->producer == FT_NONE) continue;
        if (layers->of_op[t->producer] > layer) layer = layers->of_op[t->producer];
    }
    return layer;
}

bool layers_find(const ft_graph *graph, arena *memory, model_layers *layers) {
    key_table table = {.keys = ARENA_ARRAY(memory, layer_key, MAX_LAYERS)};
    layers->of_op = ARENA_ARRAY(memory, uint32_t, (size_t)graph->op_count + 1);
    if (table.keys == NULL || layers->of_op == NULL) return false;
    collect_keys(graph, key_of_weight, &table); /* operators may spell the same layer in another way */
    if (table.count == 0) collect_keys(graph, key_of, &table);
    layers->count = table.count;
    uint32_t last = 0, near = 0; /* operator that has a number, and that number */
    for (uint32_t k = 0; k < graph->op_count; k++) {
        layer_key key;
        uint32_t own = key_of(graph, &graph->ops[k], &key) ? number_of(&table, &key, near) : 0;
        layers->of_op[k] = own > 0 ? own : layer_before(graph, layers, &graph->ops[k]);
        if (own == 0) continue;
        last = k;
        near = own;
    }
    for (uint32_t k = last + 1; k < graph->op_count && layers->count > 0; k++)
        if (layers->of_op[k] == layers->count) layers->of_op[k] = layers->count + 1;
    return true;
}
