/* torch_kernel.c - kinds, shapes and work of kernels; torch_walk.c has their bytes. */
#include "predictor/torch/torch_kernel.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/fuse.h"
#include "graph/geometry.h"
#include "graph/graph.h"
#include "predictor/torch/torch_walk.h"

/* --- Kinds --------------------------------------------------------------------------------------------------- */

static const char *const kind_words[TORCH_KINDS] = {
#define TORCH_KIND_WORDS(name, words) words,
    TORCH_KIND_LIST(TORCH_KIND_WORDS)
#undef TORCH_KIND_WORDS
};

static torch_kind kind_of_class(ft_op_class op_class) {
    switch (op_class) {
    case FT_CLASS_CONV:
        return TORCH_CONV;
    case FT_CLASS_MATMUL:
        return TORCH_MATMUL;
    case FT_CLASS_ATTENTION:
        return TORCH_ATTENTION;
    case FT_CLASS_NORM:
        return TORCH_GROUP_NORM;
    case FT_CLASS_ACTIVATION:
        return TORCH_SMOOTH;
    case FT_CLASS_ELEMENTWISE:
        return TORCH_ELEMENTWISE;
    case FT_CLASS_REDUCE:
    case FT_CLASS_POOL:
        return TORCH_REDUCTION;
    case FT_CLASS_MOVE:
    case FT_CLASS_VIEW:
        return TORCH_COPY;
    case FT_CLASS_RECURRENT:
        return TORCH_RECURRENT;
    default:
        return TORCH_OTHER;
    }
}

static torch_kind kind_of_word(const char *word, size_t length) {
    for (uint32_t k = 0; k < TORCH_KINDS; k++)
        if (text_has_word(kind_words[k], word, length)) return (torch_kind)k;
    return TORCH_OTHER;
}

/* A type such as "bn-add-relu" lists the operators of a kernel; the first is its kind. */
static void set_kinds(const ft_kernel *kernel, ft_op_class op_class, torch_kernel *k) {
    const char *at = kernel->type;
    k->kind = TORCH_OTHER;
    for (bool is_first = true; *at != '\0'; is_first = false) {
        size_t length = strcspn(at, "-");
        torch_kind kind = kind_of_word(at, length);
        if (is_first) k->kind = kind != TORCH_OTHER ? kind : kind_of_class(op_class);
        k->holds |= 1U << (is_first ? k->kind : kind);
        at += length + (at[length] == '-');
    }
}

/* Models have many kernels of few types, so kinds are cached by type, in a table indexed by its address: equal types
 * are the same string. */
enum { CACHED_TYPES = 32, TYPE_ALIGNMENT = 8 };

typedef struct cached_type {
    const char *type;
    ft_op_class op_class;
    torch_kind kind;
    uint32_t holds;
} cached_type;

static void find_kinds(const ft_kernel *kernel, ft_op_class op_class, cached_type *cache, torch_kernel *k) {
    cached_type *entry = &cache[(uintptr_t)kernel->type / TYPE_ALIGNMENT % CACHED_TYPES];
    if (entry->type != kernel->type || entry->op_class != op_class) {
        set_kinds(kernel, op_class, k);
        *entry = (cached_type){kernel->type, op_class, k->kind, k->holds};
        return;
    }
    k->kind = entry->kind;
    k->holds = entry->holds;
}

/* --- Shapes -------------------------------------------------------------------------------------------------- */

static void shape_of_conv(const conv_geometry *g, torch_kernel *k) {
    assert(g->groups > 0);
    k->groups = (double)g->groups;
    k->depth = (double)g->cin / k->groups * (double)g->kernel_elems;
    k->columns = (double)g->cout / k->groups;
    k->height = (double)g->out[0];
    k->width = (double)(g->spatial > 1 ? g->out[1] : 1);
    k->in_channels = (double)g->cin;
    k->out_channels = (double)g->cout;
    k->window = (double)g->kernel[0];
    if (g->spatial > 1 && g->kernel[1] > g->kernel[0]) k->window = (double)g->kernel[1];
    k->stride = (double)g->stride[0];
    bool is_depthwise = g->is_depthwise && g->groups > 1;
    if (is_depthwise)
        k->kind = TORCH_DEPTHWISE;
    else if (g->groups > 1)
        k->kind = TORCH_GROUPED;
    else if (g->kernel_elems == 1)
        k->kind = TORCH_POINTWISE;
    k->holds = 1U << k->kind;
}

/* Attention with a bias or mask cannot use the fastest kernels. */
static bool has_mask(const torch_walk *w, const ft_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const char *name = w->graph->ops[kernel->ops[i]].def->name;
        if (strcmp(name, "Add") == 0 || strcmp(name, "Where") == 0) return true;
    }
    return false;
}

static void shape_of_product(const torch_walk *w, const ft_kernel *kernel, const matmul_geometry *g, torch_kernel *k) {
    const ft_op *root = &w->graph->ops[kernel->root];
    k->depth = (double)g->k;
    k->columns = (double)g->n;
    k->height = (double)g->m;
    k->width = 1;
    k->in_channels = k->depth;
    k->out_channels = k->columns;
    k->window = k->stride = 1;
    k->groups = k->kind == TORCH_LINEAR ? 1 : (double)g->batch / (double)ft_graph_batch(w->graph);
    if (k->groups < 1) k->groups = 1;
    const ft_tensor *out = op_output(w->graph, root, 0);
    if (k->kind == TORCH_ATTENTION && out != NULL) {
        k->scores = (double)tensor_elems(w->graph, out);
        k->is_deep = out->rank > 4;
        if (has_mask(w, kernel)) k->holds |= 1U << TORCH_ELEMENTWISE;
    }
}

static double product_of(const int64_t *sizes, int32_t count) {
    double product = 1;
    for (int32_t i = 0; i < count; i++) product *= (double)sizes[i];
    return product;
}

static void shape_of_map(const torch_walk *w, const ft_tensor *in, const ft_tensor *out, torch_kernel *k) {
    const ft_tensor *t = out != NULL ? out : in;
    if (t == NULL || t->rank < 1) return;
    bool is_map = t->rank == 4 && ft_graph_layout(w->graph) == FT_NCHW;
    k->out_channels = (double)t->dims[is_map ? 1 : t->rank - 1];
    k->height = t->rank > 2 ? (double)t->dims[t->rank - 2] : 1;
    k->width = is_map ? (double)t->dims[3] : 1;
    k->in_channels = k->out_channels;
    k->window = k->stride = 1;
}

static void shape_of_root(const torch_walk *w, const ft_kernel *kernel, torch_kernel *k) {
    const ft_op *root = &w->graph->ops[kernel->root], *last = &w->graph->ops[kernel->ops[kernel->op_count - 1]];
    const conv_geometry *conv = conv_geometry_cached(w->graph, root);
    matmul_geometry product;
    pool_geometry pool;
    assert(kernel->op_count > 0);
    if (conv != NULL) {
        shape_of_conv(conv, k);
    } else if (matmul_geometry_of(w->graph, root, &product)) {
        shape_of_product(w, kernel, &product, k);
    } else {
        shape_of_map(w, op_input(w->graph, root, 0), op_output(w->graph, last, 0), k);
        if (!pool_geometry_of(w->graph, root, &pool)) return;
        k->window = (double)pool.kernel[0];
        k->stride = (double)pool.stride[0];
        k->reduced = product_of(pool.kernel, pool.spatial);
    }
}

/* PyTorch's bilinear and bicubic interpolation has a thread per pixel, which loops over all maps of the batch. */
static double serial_maps(const torch_walk *w, const ft_op *root, const torch_kernel *k) {
    const ft_tensor *out = op_output(w->graph, root, 0);
    const char *mode = op_attr_string(root, "mode", "nearest");
    /* Channels-last input, from transposed tokens, has a kernel of its own. */
    if (k->kind != TORCH_RESIZE || out == NULL || strcmp(mode, "nearest") == 0 || k->is_strided) return 0;
    double pixels = k->height * k->width;
    return pixels > 0 ? (double)tensor_elems(w->graph, out) / pixels : 0;
}

/* Elements per mean of a norm. */
static double norm_length(const ft_op *op, const ft_tensor *in) {
    if (op_is(op, "InstanceNormalization")) return product_of(in->dims + 2, in->rank - 2);
    if (op_is(op, "GroupNormalization")) {
        int64_t groups = op_attr_int(op, "num_groups", 1);
        return product_of(in->dims + 1, in->rank - 1) / (groups > 1 ? (double)groups : 1);
    }
    return (double)in->dims[in->rank - 1];
}

/* Length of the longest norm or reduction in a kernel. */
static void find_reductions(const torch_walk *w, const ft_kernel *kernel, torch_kernel *k) {
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const ft_op *op = &w->graph->ops[kernel->ops[i]];
        const ft_tensor *in = op_input(w->graph, op, 0), *out = op_output(w->graph, op, 0);
        if (in == NULL || out == NULL || in->rank < 1) continue;
        double length = 0;
        if (op->def->op_class == FT_CLASS_REDUCE && tensor_elems(w->graph, out) > 0)
            length = (double)tensor_elems(w->graph, in) / (double)tensor_elems(w->graph, out);
        else if (op->def->op_class == FT_CLASS_NORM && !op_is(op, "BatchNormalization"))
            length = norm_length(op, in);
        if (length > k->reduced) k->reduced = length;
    }
}

/* A recurrent layer is a serial loop over the steps of each direction. */
static double steps_of(const torch_walk *w, const ft_op *root, const torch_kernel *k) {
    const ft_tensor *in = op_input(w->graph, root, 0), *out = op_output(w->graph, root, 0);
    if (k->kind != TORCH_RECURRENT || in == NULL || out == NULL || in->rank != 3 || out->rank != 4) return 1;
    double steps = (double)in->dims[0] * (double)out->dims[1];
    return steps > 1 ? steps : 1;
}

static bool launches_anything(const torch_walk *w, const ft_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->op_count; i++)
        if (!torch_walk_is_free(w, kernel->ops[i])) return true;
    return false;
}

ft_status torch_kernels_of(model_view *s, const ft_rules *rules, arena *memory, torch_kernel **items, uint32_t *count,
                           ft_error *error) {
    const ft_cost *cost;
    const ft_kernels *kernels;
    FT_TRY(model_view_cost(s, &cost, error));
    FT_TRY(model_view_kernels(s, rules, &kernels, error));
    torch_walk w;
    cached_type cache[CACHED_TYPES] = {{0}};
    torch_kernel *made = ARENA_ARRAY(memory, torch_kernel, (size_t)kernels->count + 1);
    if (made == NULL) return FT_NOMEM(error);
    FT_TRY(torch_walk_begin(s->bound, kernels, memory, &w, error));
    for (uint32_t i = 0; i < kernels->count; i++) {
        const ft_kernel *kernel = &kernels->items[i];
        const ft_op *root = &s->bound->ops[kernel->root];
        ft_op_cost work = ft_cost_kernel(s->bound, cost, kernels, i);
        torch_kernel *k = &made[i];
        find_kinds(kernel, root->def->op_class, cache, k);
        if (!launches_anything(&w, kernel)) continue;
        shape_of_root(&w, kernel, k);
        find_reductions(&w, kernel, k);
        torch_walk_add_bytes(&w, i, k);
        k->serial = serial_maps(&w, root, k);
        k->scalar = torch_scalar_elems(s->bound, kernel, k);
        double repeats = (double)root->repeats;
        k->launches = repeats * steps_of(&w, root, k);
        const ft_tensor *out = op_output(s->bound, root, 0);
        if (out != NULL && !out->is_batched) continue; /* arithmetic on weights is negligible beside their bytes */
        k->macs = (double)work.forward.macs;
        k->flops = (double)work.forward.flops - 2 * k->macs;
        if (k->flops < 0) k->flops = 0;
        double *amounts[] = {&k->read16, &k->read32, &k->write16, &k->write32,
                             &k->cast,   &k->scores, &k->serial,  &k->scalar};
        for (size_t j = 0; j < sizeof amounts / sizeof amounts[0]; j++) *amounts[j] *= repeats;
    }
    *items = made;
    *count = kernels->count;
    return FT_OK;
}
