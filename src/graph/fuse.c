/* fuse.c - fusion of operators into the kernels that a runtime launches.
 *
 * Blocks are found first (fuse_match.c). Then the nodes are visited in the order of the graph, and each either joins
 * the kernel of one of its producers or begins a new kernel. The rules list the names that may join a kernel, by the
 * name of its first node (its root). There are two ways to grow.
 *
 * Chains: a node joins when it is the only reader of the kernel's last node. Of several such producers it joins the
 * kernel that began last, since the others are then done. Such a kernel has one output, so joining never closes a
 * cycle, and kernels can be launched in the order of their last nodes.
 *
 * Trees: a node joins the kernel that began last among those of its producers, also when it has other readers. All of
 * its inputs then come from earlier kernels or from this one: again no cycle, and kernels can be launched in the order
 * in which they began. Earlier kernels that only this node reads are merged too.
 *
 * Operators that launch no kernel belong to the kernel that computes their input, or else to the first that reads them.
 * Time is linear in the size of the graph, except for union-find, which is almost linear. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/fuse.h"

#include "graph/arguments.h"

enum { MAX_TYPE_NAMES = 16 }; /* names in the type of a kernel; "..." for the rest */

/* A kernel under construction, identified by the node that began it. */
typedef struct group {
    uint32_t parent;   /* union-find; FT_NONE: not in a kernel yet */
    uint32_t tail;     /* the only node whose results are read outside, or FT_NONE when there are several */
    uint32_t position; /* position in the launch order */
    int64_t domain;    /* trees: largest iteration domain of its nodes, in elements; 0 = unknown */
    bool has_reduction;
} group;

typedef struct fuser {
    fusion f;
    group *groups;    /* per operator */
    uint32_t *reader; /* per operator: the only node that reads it, or FT_NONE */
} fuser;

/* --- Nodes --------------------------------------------------------------------------------------------------- */

bool fusion_name(fusion *f, const char *name, uint32_t *index) {
    if (map_get(&f->name_index, name, index)) return true;
    if (f->name_count == f->name_capacity) {
        uint32_t capacity = f->name_capacity == 0 ? 64 : f->name_capacity * 2;
        const char **names = ARENA_ARRAY(f->memory, const char *, capacity);
        if (names == NULL) return false;
        if (f->name_count > 0) memcpy(names, f->names, f->name_count * sizeof *names);
        f->names = names;
        f->name_capacity = capacity;
    }
    const char *copy = arena_string(f->memory, name, strlen(name));
    if (copy == NULL || !map_set(&f->name_index, copy, f->name_count)) return false;
    f->names[f->name_count] = copy;
    *index = f->name_count++;
    return true;
}

/* A direct-mapped cache of name lookups, since networks have many operators of few names. Keys are addresses, so only
 * static texts are cached. */
enum { CACHED_NAMES = 32, NAME_ALIGNMENT = 4 };

typedef struct cached_name {
    const char *text;
    uint32_t name;
    symbol name_symbol;
} cached_name;

/* Appends the activation that the file fused into the operator to its displayed name; the rules ignore it. */
static const char *with_activation(const ft_op *op, const char *name, char buffer[2 * KERNEL_NAME_BYTES]) {
    const char *activation = op_attr_string(op, "activation", NULL);
    if (activation == NULL || strcasecmp(activation, "NONE") == 0 || activation[0] == '\0') return name;
    bool is_relu = strncasecmp(activation, "RELU", 4) == 0 || strcasecmp(activation, "Clip") == 0;
    int length = snprintf(buffer, 2 * KERNEL_NAME_BYTES, "%s-%.32s", name, is_relu ? "relu" : activation);
    for (int i = 0; i < length; i++) {
        if (buffer[i] >= 'A' && buffer[i] <= 'Z') buffer[i] = (char)(buffer[i] - 'A' + 'a');
    }
    return buffer;
}

static ft_status find_names(fusion *f, const ft_op *op, cached_name *kept, node *n, ft_error *error) {
    char plain[KERNEL_NAME_BYTES], whole[2 * KERNEL_NAME_BYTES];
    const char *name = kernel_name_of(f->graph, op, plain), *shown = with_activation(op, name, whole);
    cached_name *place = &kept[(uintptr_t)name / NAME_ALIGNMENT % CACHED_NAMES];
    bool is_static = name != plain && shown == name;
    if (!is_static || place->text != name) {
        uint32_t known;
        n->name_symbol = map_get(&f->rules->symbols, name, &known) ? (symbol)known : SYMBOL_NONE;
        if (!fusion_name(f, shown, &n->name)) return FT_NOMEM(error);
        if (is_static) *place = (cached_name){name, n->name, n->name_symbol};
        return FT_OK;
    }
    n->name = place->name;
    n->name_symbol = place->name_symbol;
    return FT_OK;
}

static ft_status make_node(fusion *f, uint32_t index, cached_name *kept, ft_error *error) {
    const ft_op *op = &f->graph->ops[index];
    f->nodes[index].parent = f->nodes[index].root = index;
    if (op->is_folded) return FT_OK;
    node *n = &f->nodes[index];
    FT_TRY(find_names(f, op, kept, n, error));
    n->op_class = ft_opdef_class(op->def);
    n->is_free = node_in(n, f->rules->is_free);
    n->inputs = op->inputs;
    n->input_count = op->input_count;
    return FT_OK;
}

/* The only node that reads the outputs of an operator; FT_NONE when there are none or several, or for graph outputs. */
static uint32_t only_reader(fusion *f, uint32_t index) {
    const ft_op *op = &f->graph->ops[index];
    uint32_t reader = FT_NONE;
    for (uint32_t k = 0; k < op->output_count; k++) {
        const ft_tensor *t = op_output(f->graph, op, k);
        if (t == NULL) continue;
        if (t->is_output) return FT_NONE;
        for (uint32_t u = 0; u < t->use_count; u++) {
            if (f->graph->ops[t->uses[u]].is_folded) continue;
            uint32_t found = fusion_find(f, t->uses[u]);
            if (reader != FT_NONE && reader != found) return FT_NONE;
            reader = found;
        }
    }
    return reader;
}

/* --- Kernels under construction ------------------------------------------------------------------------------ */

static uint32_t group_find(const fuser *u, uint32_t op) {
    assert(op < u->f.graph->op_count);
    group *groups = u->groups;
    if (groups[op].parent == FT_NONE) return FT_NONE;
    while (groups[op].parent != op) {
        groups[op].parent = groups[groups[op].parent].parent;
        op = groups[op].parent;
    }
    return op;
}

/* The kernel that computes a tensor, or FT_NONE. */
static uint32_t group_of_tensor(fuser *u, uint32_t tensor, uint32_t *maker) {
    if (tensor == FT_NONE || fusion_is_constant(&u->f, tensor)) return FT_NONE;
    uint32_t op = u->f.graph->tensors[tensor].producer;
    if (op == FT_NONE) return FT_NONE;
    *maker = fusion_find(&u->f, op);
    return group_find(u, *maker);
}

static bool accepts(const fuser *u, uint32_t g, uint32_t next) {
    const ft_rules *rules = u->f.rules;
    const node *root = &u->f.nodes[g], *n = &u->f.nodes[next];
    if (u->f.graph->ops[g].loop != u->f.graph->ops[next].loop) return false;
    if (node_in(n, rules->pairs + (size_t)root->op_class * rules->symbol_count)) return true;
    return root->name_symbol != SYMBOL_NONE &&
           node_in(n, rules->pairs + (size_t)root->name_symbol * rules->symbol_count);
}

static void begin_group(fuser *u, uint32_t op) {
    u->groups[op] = (group){.parent = op, .tail = op, .position = op};
}

/* --- Chains -------------------------------------------------------------------------------------------------- */

static void visit_chain(fuser *u, uint32_t op) {
    const node *n = &u->f.nodes[op];
    uint32_t best = FT_NONE, maker = FT_NONE;
    for (uint32_t i = 0; i < n->input_count; i++) {
        uint32_t g = group_of_tensor(u, n->inputs[i], &maker);
        if (g == FT_NONE || u->groups[g].tail != maker || u->reader[maker] != op) continue;
        if ((best == FT_NONE || g > best) && accepts(u, g, op)) best = g;
    }
    begin_group(u, op);
    if (best == FT_NONE) return;
    u->groups[op].parent = best;
    u->groups[best].tail = u->groups[best].position = op;
}

/* --- Trees --------------------------------------------------------------------------------------------------- */

/* Iteration domain of a node, in elements: the largest of its inputs and outputs. */
static int64_t domain_of(const fuser *u, uint32_t op) {
    const ft_graph *graph = u->f.graph;
    const node *n = &u->f.nodes[op];
    int64_t largest = 0;
    for (uint32_t i = 0; i < n->input_count + graph->ops[op].output_count; i++) {
        uint32_t t = i < n->input_count ? n->inputs[i] : graph->ops[op].outputs[i - n->input_count];
        int64_t elems = t != FT_NONE ? shape_elems(graph->tensors[t].dims, graph->tensors[t].rank) : 0;
        if (elems > largest) largest = elems;
    }
    return largest;
}

/* A reduction fixes the iteration domain of its kernel, and two reductions need the same one. */
static bool fits(const group *g, const group *next) {
    if (!g->has_reduction) return true;
    return next->has_reduction ? next->domain == g->domain : next->domain <= g->domain;
}

static void merge(fuser *u, uint32_t into, uint32_t from) {
    assert(into != from);
    group *a = &u->groups[into], *b = &u->groups[from];
    b->parent = into;
    a->has_reduction |= b->has_reduction;
    if (b->domain > a->domain) a->domain = b->domain;
}

/* After the node has joined `target`, merges earlier kernels that only this node reads. */
static void absorb_producers(fuser *u, uint32_t op, uint32_t target) {
    const node *n = &u->f.nodes[op];
    uint32_t maker;
    for (uint32_t i = 0; i < n->input_count; i++) {
        uint32_t g = group_of_tensor(u, n->inputs[i], &maker);
        if (g == FT_NONE || g == target || u->groups[g].tail != maker || u->reader[maker] != op) continue;
        if (accepts(u, g, op) && fits(&u->groups[g], &u->groups[target])) merge(u, target, g);
    }
}

static void visit_tree(fuser *u, uint32_t op) {
    const node *n = &u->f.nodes[op];
    uint32_t latest = FT_NONE, maker;
    for (uint32_t i = 0; i < n->input_count; i++) {
        uint32_t g = group_of_tensor(u, n->inputs[i], &maker);
        if (g != FT_NONE && (latest == FT_NONE || u->groups[g].position > u->groups[latest].position)) latest = g;
    }
    begin_group(u, op);
    group *own = &u->groups[op];
    own->domain = domain_of(u, op);
    own->has_reduction = node_in(n, u->f.rules->is_reduction);
    if (latest == FT_NONE || !accepts(u, latest, op) || !fits(&u->groups[latest], own)) return;
    group *target = &u->groups[latest];
    target->tail = target->tail != FT_NONE && u->reader[target->tail] == op ? op : FT_NONE;
    merge(u, latest, op);
    absorb_producers(u, op, latest);
}

/* --- Free nodes ---------------------------------------------------------------------------------------------- */

/* A free node joins the kernel of its producer; in trees, of several producers the one that runs last, so that readers
 * of the node come after all of them. The kernel can grow beyond it when it is the only reader of the producer. */
static void place_free(fuser *u, uint32_t op) {
    const node *n = &u->f.nodes[op];
    uint32_t target = FT_NONE, from = FT_NONE, maker;
    for (uint32_t i = 0; i < n->input_count; i++) {
        uint32_t g = group_of_tensor(u, n->inputs[i], &maker);
        if (g == FT_NONE) continue;
        bool is_later =
            u->f.rules->grows_trees && target != FT_NONE && u->groups[g].position > u->groups[target].position;
        if (target != FT_NONE && !is_later) continue;
        target = g;
        from = maker;
    }
    if (target == FT_NONE) return;
    u->groups[op] = (group){.parent = target};
    if (u->groups[target].tail == from && u->reader[from] == op) u->groups[target].tail = op;
}

/* --- The result ---------------------------------------------------------------------------------------------- */

static void visit(fuser *u, uint32_t op) {
    if (u->f.graph->ops[op].is_folded || fusion_find(&u->f, op) != op) return;
    u->reader[op] = only_reader(&u->f, op);
    if (u->f.nodes[op].is_free) {
        place_free(u, op);
    } else if (u->f.rules->grows_trees) {
        visit_tree(u, op);
    } else {
        visit_chain(u, op);
    }
}

/* Free operators whose inputs no kernel computes join the first kernel that reads them, or become a kernel of their own
 * when there is none. Backwards, so that readers are placed before their inputs. */
static void place_unplaced(fuser *u) {
    const ft_graph *graph = u->f.graph;
    for (uint32_t op = graph->op_count; op-- > 0;) {
        if (graph->ops[op].is_folded || fusion_find(&u->f, op) != op || u->groups[op].parent != FT_NONE) continue;
        uint32_t target = FT_NONE;
        for (uint32_t k = 0; k < graph->ops[op].output_count && target == FT_NONE; k++) {
            const ft_tensor *t = op_output(graph, &graph->ops[op], k);
            for (uint32_t i = 0; t != NULL && i < t->use_count && target == FT_NONE; i++) {
                if (!graph->ops[t->uses[i]].is_folded) target = group_find(u, fusion_find(&u->f, t->uses[i]));
            }
        }
        begin_group(u, op);
        if (target != FT_NONE) u->groups[op].parent = target;
    }
}

/* The main operator of a kernel: that of its first node that is not a view. */
static uint32_t root_of(const fuser *u, const ft_kernel *kernel) {
    uint32_t candidate = FT_NONE;
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        uint32_t op = kernel->ops[i];
        const node *n = &u->f.nodes[op];
        if (n->parent != op || n->is_free) continue;
        if (n->op_class != FT_CLASS_VIEW) return n->root;
        if (candidate == FT_NONE) candidate = n->root;
    }
    return candidate != FT_NONE ? candidate : kernel->ops[0];
}

typedef struct type_text {
    char text[(MAX_TYPE_NAMES + 1) * 2 * KERNEL_NAME_BYTES];
    size_t length;
    uint32_t used[MAX_TYPE_NAMES];
    uint32_t count;
} type_text;

static void add_text(type_text *t, const char *text) {
    size_t length = strlen(text);
    assert(t->length + length < sizeof t->text);
    memcpy(t->text + t->length, text, length + 1);
    t->length += length;
}

/* False when there is no room for more names. */
static bool add_type_name(type_text *t, const char *name, uint32_t index, bool is_set) {
    for (uint32_t i = 0; is_set && i < t->count; i++) {
        if (t->used[i] == index) return true;
    }
    if (t->count > 0) add_text(t, "-");
    if (t->count == MAX_TYPE_NAMES) {
        add_text(t, "...");
        return false;
    }
    add_text(t, name);
    t->used[t->count++] = index;
    return true;
}

/* The type of a kernel: the names of its nodes without the free ones, unless all are free. */
static const char *type_of(fuser *u, const ft_kernel *kernel) {
    fusion *f = &u->f;
    type_text t;
    t.length = t.count = 0;
    bool has_room = true;
    for (uint32_t i = 0; i < kernel->op_count && has_room; i++) {
        const node *n = &f->nodes[kernel->ops[i]];
        if (n->parent == kernel->ops[i] && !n->is_free)
            has_room = add_type_name(&t, f->names[n->name], n->name, f->rules->lists_names_once);
    }
    if (t.count == 0) return f->names[f->nodes[kernel->root].name];
    if (t.count == 1 && has_room) return f->names[t.used[0]];
    uint32_t index;
    return fusion_name(f, t.text, &index) ? f->names[index] : NULL;
}

/* Numbers the kernels in launch order, and sets the kernel of each operator. */
static uint32_t number_kernels(fuser *u, uint32_t *kernel_of_op, uint32_t *at_position) {
    uint32_t ops = u->f.graph->op_count, count = 0;
    memset(at_position, 0xff, ops * sizeof *at_position);
    for (uint32_t op = 0; op < ops; op++) {
        if (group_find(u, op) == op) at_position[u->groups[op].position] = op;
    }
    for (uint32_t i = 0; i < ops; i++) {
        if (at_position[i] != FT_NONE) kernel_of_op[at_position[i]] = count++;
    }
    for (uint32_t op = 0; op < ops; op++) {
        uint32_t g = u->f.graph->ops[op].is_folded ? FT_NONE : group_find(u, fusion_find(&u->f, op));
        if (g != op) kernel_of_op[op] = g != FT_NONE ? kernel_of_op[g] : FT_NONE;
    }
    return count;
}

static ft_status collect_kernels(fuser *u, arena *kept, ft_kernels *kernels, ft_error *error) {
    uint32_t ops = u->f.graph->op_count;
    uint32_t *kernel_of_op = ARENA_ARRAY(kept, uint32_t, ops);
    uint32_t *lists = ARENA_ARRAY(kept, uint32_t, ops);
    uint32_t *scratch = ARENA_ARRAY(u->f.scratch, uint32_t, ops);
    bool *is_free = ARENA_ARRAY(kept, bool, ops);
    if (kernel_of_op == NULL || lists == NULL || scratch == NULL || is_free == NULL) return FT_NOMEM(error);
    uint32_t count = number_kernels(u, kernel_of_op, scratch);
    ft_kernel *items = ARENA_ARRAY(kept, ft_kernel, count);
    if (items == NULL) return FT_NOMEM(error);
    for (uint32_t op = 0; op < ops; op++) {
        if (kernel_of_op[op] != FT_NONE) items[kernel_of_op[op]].op_count++;
        is_free[op] =
            u->f.nodes[op].is_free && u->f.nodes[op].parent == op; /* members of a block count with the block */
    }
    for (uint32_t k = 0; k < count; k++) {
        items[k].ops = lists;
        lists += items[k].op_count;
        items[k].op_count = 0;
    }
    for (uint32_t op = 0; op < ops; op++) {
        if (kernel_of_op[op] == FT_NONE) continue;
        assert(kernel_of_op[op] < count);
        ft_kernel *k = &items[kernel_of_op[op]];
        ((uint32_t *)(uintptr_t)k->ops)[k->op_count++] = op;
    }
    for (uint32_t k = 0; k < count; k++) {
        items[k].root = root_of(u, &items[k]);
        items[k].type = type_of(u, &items[k]);
        if (items[k].type == NULL) return FT_NOMEM(error);
    }
    *kernels = (ft_kernels){.items = items, .count = count, .kernel_of_op = kernel_of_op, .is_free = is_free};
    kernels->owner = kept;
    return FT_OK;
}

static ft_status fuse(const ft_graph *graph, const ft_rules *rules, arena *kept, arena *scratch, ft_kernels *kernels,
                      ft_error *error) {
    fuser u = {.f = {.graph = graph, .rules = rules, .memory = kept, .scratch = scratch}};
    map_init(&u.f.name_index, kept);
    if (!fusion_name(&u.f, "add", &u.f.add_name) || !fusion_name(&u.f, "mul", &u.f.mul_name)) return FT_NOMEM(error);
    u.f.nodes = ARENA_ARRAY(scratch, node, graph->op_count);
    u.groups = ARENA_ARRAY(scratch, group, graph->op_count);
    u.reader = ARENA_ARRAY(scratch, uint32_t, graph->op_count);
    if (u.f.nodes == NULL || u.groups == NULL || u.reader == NULL) return FT_NOMEM(error);
    cached_name names[CACHED_NAMES] = {{0}};
    for (uint32_t op = 0; op < graph->op_count; op++) {
        u.groups[op].parent = FT_NONE;
        FT_TRY(make_node(&u.f, op, names, error));
    }
    FT_TRY(fusion_match_blocks(&u.f, error));
    for (uint32_t op = 0; op < graph->op_count; op++) visit(&u, op);
    place_unplaced(&u);
    return collect_kernels(&u, kept, kernels, error);
}

ft_status ft_graph_fuse(const ft_graph *bound, const ft_rules *rules, ft_kernels *kernels, ft_error *error) {
    FT_REQUIRE(error, bound, rules, kernels);
    FT_TRY(graph_check_bound(bound, "kernels need", error));
    arena *kept = malloc(sizeof *kept);
    if (kept == NULL) return FT_NOMEM(error);
    arena scratch;
    arena_init(kept, FT_MAX_GRAPH_BYTES);
    arena_init(&scratch, FT_MAX_GRAPH_BYTES);
    ft_kernels made = {.owner = kept};
    ft_status status = fuse(bound, rules, kept, &scratch, &made, error);
    arena_free(&scratch);
    if (status != FT_OK) {
        ft_kernels_free(&made);
        return status;
    }
    *kernels = made;
    return FT_OK;
}

void ft_kernels_free(ft_kernels *kernels) {
    if (kernels == NULL) return;
    if (kernels->owner != NULL) {
        arena_free(kernels->owner);
        free(kernels->owner);
    }
    *kernels = (ft_kernels){0};
}
