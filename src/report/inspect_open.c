/* inspect_open.c - costs of a model some of whose input dimensions have no value.
 *
 * The graph is bound twice, with two sizes for the open dimensions. An operator whose cost is the same both times does
 * not depend on them; the others are marked and their cost is left out of all sums. Where no size can be bound (the
 * model demands a particular one), inputs with open dimensions count as tensors without a shape. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "report/facts.h"

enum { MAX_OPEN = 256 };

/* A binding of the graph and its costs. */
typedef struct probe {
    ft_graph *graph;
    ft_cost infer, train;
    ft_memory infer_memory, train_memory;
} probe;

static void probe_free(probe *p) {
    ft_cost_free(&p->infer);
    ft_cost_free(&p->train);
    ft_graph_free(p->graph);
    *p = (probe){0};
}

static ft_status probe_make(const ft_graph *graph, const ft_inspect_options *options, int64_t size, probe *p,
                            ft_error *error) {
    ft_binding binding = options->binding;
    *p = (probe){0};
    binding.open_size = size;
    ft_status status = ft_graph_bind(graph, &binding, &p->graph, error);
    if (status == FT_OK)
        status =
            facts_compute_costs(p->graph, options, &p->infer, &p->train, &p->infer_memory, &p->train_memory, error);
    if (status != FT_OK) probe_free(p);
    return status;
}

/* --- Comparing ----------------------------------------------------------------------------------------------- */

static uint8_t compare_work(const ft_work *a, const ft_work *b) {
    uint8_t open = 0;
    if (a->macs != b->macs) open |= OPEN_MACS;
    if (a->flops != b->flops) open |= OPEN_FLOPS;
    if (a->read_bytes != b->read_bytes || a->write_bytes != b->write_bytes) open |= OPEN_BYTES;
    return open;
}

static bool is_same_work(const ft_work *a, const ft_work *b) {
    return compare_work(a, b) == 0;
}

/* OPEN_ bits of the costs of an operator that differ between two probes. Without a second probe, an operator is open
 * when its shapes are unknown. */
static uint8_t open_bits(const probe *a, const probe *b, uint32_t op, bool has_shapeless) {
    const uint8_t all = OPEN_MACS | OPEN_FLOPS | OPEN_BYTES | OPEN_OTHER;
    assert(op < a->infer.op_count);
    const ft_op *first = &ft_graph_ops(a->graph)[op];
    if (first->is_folded && (b == NULL || ft_graph_ops(b->graph)[op].is_folded)) return 0;
    if (has_shapeless && a->infer.ops[op].is_estimated && ft_opdef_is_known(first->def)) return all;
    if (b == NULL) return 0;
    if (first->is_folded != ft_graph_ops(b->graph)[op].is_folded) return all;
    const ft_op_cost *infer = &a->infer.ops[op], *train = &a->train.ops[op];
    const ft_op_cost *other = &b->infer.ops[op], *other_train = &b->train.ops[op];
    uint8_t open = compare_work(&infer->forward, &other->forward);
    bool is_same = is_same_work(&train->backward_data, &other_train->backward_data) &&
                   is_same_work(&train->backward_weights, &other_train->backward_weights) &&
                   infer->activation_elems == other->activation_elems;
    return is_same ? open : open | OPEN_OTHER;
}

static void add_work(ft_work *total, const ft_work *work) {
    total->macs = num_add_sat(total->macs, work->macs);
    total->flops = num_add_sat(total->flops, work->flops);
    total->read_bytes = num_add_sat(total->read_bytes, work->read_bytes);
    total->write_bytes = num_add_sat(total->write_bytes, work->write_bytes);
}

static ft_work known_work(const ft_work *work, uint8_t open) {
    ft_work known = *work;
    if ((open & OPEN_MACS) != 0) known.macs = 0;
    if ((open & OPEN_FLOPS) != 0) known.flops = 0;
    if ((open & OPEN_BYTES) != 0) known.read_bytes = known.write_bytes = 0;
    return known;
}

/* The cost of an operator with its open costs set to zero. */
static ft_op_cost known_cost(const ft_op_cost *cost, uint8_t open) {
    ft_op_cost known = *cost;
    if (open == 0) return known;
    known.forward = known_work(&cost->forward, open);
    known.is_estimated = false;
    if ((open & OPEN_OTHER) == 0) return known;
    known.backward_data = known.backward_weights = (ft_work){0};
    known.activation_elems = 0;
    return known;
}

/* Sums the costs again without the open ones. */
static ft_status leave_out_open(facts *f, ft_cost *cost, ft_error *error) {
    assert(f->op_open != NULL);
    ft_op_cost *ops = ARENA_ARRAY(&f->memory, ft_op_cost, cost->op_count), total = {0};
    if (ops == NULL) return FT_NOMEM(error);
    cost->estimated_ops = 0;
    for (uint32_t i = 0; i < cost->op_count; i++) {
        ops[i] = known_cost(&cost->ops[i], f->op_open[i]);
        add_work(&total.forward, &ops[i].forward);
        add_work(&total.backward_data, &ops[i].backward_data);
        add_work(&total.backward_weights, &ops[i].backward_weights);
        total.params = num_add_sat(total.params, ops[i].params);
        total.param_bytes = num_add_sat(total.param_bytes, ops[i].param_bytes);
        total.activation_elems = num_add_sat(total.activation_elems, ops[i].activation_elems);
        total.is_estimated |= ops[i].is_estimated;
        cost->estimated_ops += ops[i].is_estimated;
    }
    cost->ops = ops;
    cost->total = total;
    return FT_OK;
}

static void merge_count(uint64_t *value, const uint64_t *other) {
    if (other == NULL || *value != *other) *value = FACT_UNKNOWN;
}

/* Parts that do not depend on open dimensions stay. */
static void merge_memory(ft_memory *m, const ft_memory *other) {
    if (other != NULL) {
        merge_count(&m->weight_bytes, &other->weight_bytes);
        merge_count(&m->gradient_bytes, &other->gradient_bytes);
        merge_count(&m->optimizer_bytes, &other->optimizer_bytes);
    }
    merge_count(&m->activation_bytes, other != NULL ? &other->activation_bytes : NULL);
    merge_count(&m->workspace_bytes, other != NULL ? &other->workspace_bytes : NULL);
    merge_count(&m->saved_bytes, other != NULL ? &other->saved_bytes : NULL);
    merge_count(&m->peak_bytes, other != NULL ? &other->peak_bytes : NULL);
    if (m->peak_bytes == FACT_UNKNOWN) m->peak_op = FT_NONE;
}

/* --- Shapes -------------------------------------------------------------------------------------------------- */

/* The only open symbol, as a dimension; FT_DIM_UNKNOWN when there are several or it has no name. */
static int64_t only_symbol(const ft_graph *graph, const ft_open_dim *dims, uint32_t count) {
    int64_t only = FT_DIM_UNKNOWN;
    for (uint32_t i = 0; i < count; i++) {
        int64_t dim = dims[i].axis >= 0 ? ft_graph_tensors(graph)[dims[i].input].dims[dims[i].axis] : FT_DIM_UNKNOWN;
        if (dims[i].symbol == NULL || (i > 0 && dim != only)) return FT_DIM_UNKNOWN;
        only = dim;
    }
    return only;
}

/* Tensors whose open dimensions are symbols, or unknown, instead of the sizes of the probes. */
static ft_status open_shapes(facts *f, const ft_graph *graph, const ft_graph *other, const ft_open_dim *dims,
                             uint32_t count, ft_error *error) {
    uint32_t tensor_count = ft_graph_tensor_count(f->graph);
    ft_tensor *tensors = ARENA_ARRAY(&f->memory, ft_tensor, tensor_count);
    if (tensors == NULL) return FT_NOMEM(error);
    memcpy(tensors, ft_graph_tensors(f->graph), tensor_count * sizeof *tensors);
    int64_t symbol = only_symbol(graph, dims, count);
    for (uint32_t i = 0; other != NULL && i < tensor_count; i++) {
        const ft_tensor *second = &ft_graph_tensors(other)[i];
        if (second->rank != tensors[i].rank) tensors[i].rank = -1;
        for (int32_t k = 0; k < tensors[i].rank; k++) {
            bool is_size = tensors[i].dims[k] == f->open_sizes[0] && second->dims[k] == f->open_sizes[1];
            if (second->dims[k] != tensors[i].dims[k]) tensors[i].dims[k] = is_size ? symbol : FT_DIM_UNKNOWN;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        const ft_tensor *declared = &ft_graph_tensors(graph)[dims[i].input];
        ft_tensor *t = &tensors[dims[i].input];
        if (dims[i].axis < 0) continue;
        if (t->rank < 0) *t = *declared;
        t->dims[dims[i].axis] = dims[i].symbol != NULL ? declared->dims[dims[i].axis] : FT_DIM_UNKNOWN;
    }
    f->tensors = tensors;
    return FT_OK;
}

/* --- Remedies ------------------------------------------------------------------------------------------------ */

static bool has_unnamed(const ft_open_dim *dims, uint32_t count, uint32_t input) {
    for (uint32_t i = 0; i < count; i++)
        if (dims[i].input == input && dims[i].symbol == NULL) return true;
    return false;
}

/* "--shape sequence=N", or "--shape image=1x3xNxN". */
static const char *remedy(facts *f, const ft_open_dim *dim) {
    const ft_tensor *t = &f->tensors[dim->input];
    char text[512];
    int used = snprintf(text, sizeof text, "--shape %.200s=", dim->symbol != NULL ? dim->symbol : t->name);
    if (dim->symbol != NULL)
        snprintf(text + used, sizeof text - (size_t)used, "N");
    else if (t->rank < 0)
        snprintf(text + used, sizeof text - (size_t)used, "...");
    for (int32_t i = 0; dim->symbol == NULL && i < t->rank && used < (int)sizeof text; i++) {
        char size[32] = "N";
        if (t->dims[i] >= 0) snprintf(size, sizeof size, "%lld", (long long)t->dims[i]);
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", i > 0 ? "x" : "", size);
    }
    return arena_copy(&f->memory, text, strlen(text) + 1);
}

static bool is_listed(const open_facts *list, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return true;
    return false;
}

/* One entry for each symbol and for each input that needs a whole shape. */
static ft_status list_remedies(facts *f, const ft_open_dim *dims, uint32_t count, ft_error *error) {
    open_facts *list = ARENA_ARRAY(&f->memory, open_facts, count + 1);
    if (list == NULL) return FT_NOMEM(error);
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = dims[i].symbol != NULL ? dims[i].symbol : f->tensors[dims[i].input].name;
        bool is_covered = dims[i].symbol != NULL && has_unnamed(dims, count, dims[i].input);
        if (is_covered || is_listed(list, used, name)) continue;
        const char *flag = remedy(f, &dims[i]);
        if (flag == NULL) return FT_NOMEM(error);
        list[used++] = (open_facts){.name = name, .flag = flag};
    }
    f->open = list;
    f->open_count = used;
    return FT_OK;
}

/* --- Binding ------------------------------------------------------------------------------------------------- */

/* Two probes, or one without shapes. Sizes: common ones first, and those that strided networks accept. */
static ft_status make_probes(facts *f, const ft_graph *graph, const ft_inspect_options *options, probe *a, probe *b,
                             ft_error *error) {
    static const int64_t sizes[][2] = {{128, 192}, {256, 320}, {512, 640}, {32, 64}, {8, 16}, {2, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ft_error ignored;
        if (probe_make(graph, options, sizes[i][0], a, &ignored) != FT_OK) continue;
        f->open_sizes[0] = sizes[i][0];
        f->open_sizes[1] = sizes[i][1];
        if (probe_make(graph, options, sizes[i][1], b, &ignored) == FT_OK) return FT_OK;
        probe_free(a);
    }
    return probe_make(graph, options, -1, a, error);
}

static ft_status mark_open(facts *f, const probe *a, const probe *b, bool has_shapeless, ft_error *error) {
    uint8_t *open = ARENA_ARRAY(&f->memory, uint8_t, a->infer.op_count + 1);
    if (open == NULL) return FT_NOMEM(error);
    for (uint32_t i = 0; i < a->infer.op_count; i++) {
        open[i] = open_bits(a, b, i, has_shapeless);
        f->summary.open_op_count += open[i] != 0;
        f->all_open |= open[i];
    }
    f->op_open = open;
    return FT_OK;
}

ft_status facts_bind_open(facts *f, const ft_graph *graph, const ft_inspect_options *options, ft_memory *infer_memory,
                          ft_memory *train_memory, ft_error *error) {
    ft_open_dim dims[MAX_OPEN];
    uint32_t count;
    probe a = {0}, b = {0};
    FT_TRY(ft_graph_open_dims(graph, &options->binding, dims, MAX_OPEN, &count, error));
    FT_TRY(make_probes(f, graph, options, &a, &b, error));
    const probe *second = b.graph != NULL ? &b : NULL;
    assert(a.graph != NULL);
    assert(second == NULL || b.infer.op_count == a.infer.op_count);
    bool has_shapeless = second == NULL;
    for (uint32_t i = 0; i < count; i++) has_shapeless |= dims[i].axis < 0;
    f->graph = a.graph; /* from here on freed by facts_free */
    f->infer = a.infer;
    f->train = a.train;
    ft_status status = mark_open(f, &a, second, has_shapeless, error);
    if (status == FT_OK) status = leave_out_open(f, &f->infer, error);
    if (status == FT_OK) status = leave_out_open(f, &f->train, error);
    if (status == FT_OK) status = open_shapes(f, graph, b.graph, dims, count, error);
    if (status == FT_OK) status = list_remedies(f, dims, count, error);
    merge_count(&f->infer.conv_matmul_outputs, second != NULL ? &b.infer.conv_matmul_outputs : NULL);
    if (second == NULL || b.infer.coverage_ratio != a.infer.coverage_ratio) f->infer.coverage_ratio = NAN;
    merge_memory(&a.infer_memory, second != NULL ? &b.infer_memory : NULL);
    merge_memory(&a.train_memory, second != NULL ? &b.train_memory : NULL);
    *infer_memory = a.infer_memory;
    *train_memory = a.train_memory;
    probe_free(&b);
    return status;
}
