/* gpu_work.c - divides the kernels of a model into launches. */
#include "predictor/gpu/gpu_work.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "graph/fuse.h"
#include "graph/geometry.h"
#include "graph/graph.h"

enum { MAX_WORKS = 16 }; /* of a kernel: decomposed attention and its gradients */

/* --- Settings ------------------------------------------------------------------------------------------------ */

static bool is_value(const char *setting, const char *key, const char *value) {
    size_t length;
    const char *found = text_setting(setting, key, &length);
    return found != NULL && length == strlen(value) && strncmp(found, value, length) == 0;
}

/* A number for a name, the same in every run; NaN when the setting has none. Trees separate such numbers. */
static double name_number(const char *setting, const char *key) {
    size_t length;
    const char *found = text_setting(setting, key, &length);
    return found != NULL ? (double)(hash_bytes(found, length).low % 1021) : (double)NAN;
}

/* The version of PyTorch, 2.1 as 201; 999: unknown, so a new one. */
static int torch_version(const char *setting) {
    size_t length;
    int major = 0, minor = 0;
    const char *v = text_setting(setting, "torch", &length);
    if (v == NULL || *v < '0' || *v > '9') return 999;
    for (; *v >= '0' && *v <= '9' && major < 100; v++) major = major * 10 + (*v - '0');
    if (*v == '.')
        for (v++; *v >= '0' && *v <= '9' && minor < 100; v++) minor = minor * 10 + (*v - '0');
    return major * 100 + minor;
}

static void set_tf32(const char *setting, gpu_runtime *r) {
    int version = torch_version(setting);
    bool is_all = is_value(setting, "tf32", "all"), is_none = is_value(setting, "tf32", "none"),
         is_conv = is_value(setting, "tf32", "conv"), is_matmul = is_value(setting, "tf32", "matmul");
    bool is_given = is_all || is_none || is_conv || is_matmul;
    r->tf32_conv = is_given ? is_all || is_conv : version >= 107;
    r->tf32_matmul = is_given ? is_all || is_matmul : version >= 107 && version < 112;
}

void gpu_runtime_of(const ft_request *request, gpu_runtime *runtime) {
    const char *setting = request->setting;
    gpu_runtime r = {.source = GPU_EAGER};
    if (is_value(setting, "framework", "vllm")) r.source = GPU_VLLM;
    if (is_value(setting, "framework", "sglang")) r.source = GPU_SGLANG;
    if (is_value(setting, "framework", "trtllm")) r.source = GPU_TRTLLM;
    size_t length;
    if (text_setting(setting, "library", &length) != NULL) r.source = GPU_LIBRARY;
    r.kernel = name_number(setting, "kernel");
    r.type = name_number(setting, "type");
    r.is_compiled = is_value(setting, "compile", "yes");
    /* Flash attention has no float32, so eager PyTorch stores the scores there. */
    bool is_narrow = request->dtype != FT_FLOAT32 && request->dtype != FT_FLOAT64;
    r.is_fused = is_value(setting, "attention", "fused") ||
                 (!is_value(setting, "attention", "eager") && (is_narrow || r.source != GPU_EAGER || r.is_compiled));
    set_tf32(setting, &r);
    *runtime = r;
}

/* --- Kinds --------------------------------------------------------------------------------------------------- */

typedef struct work_list {
    const ft_graph *graph;
    const ft_request *request;
    const gpu_runtime *runtime;
    gpu_work *items;
    uint32_t count;
    uint32_t kernel; /* that is being divided */
} work_list;

static void add_work(work_list *l, gpu_work w) {
    assert(l->count < (l->kernel + 1) * (uint32_t)MAX_WORKS);
    w.kernel = l->kernel;
    l->items[l->count++] = w;
}

static bool is_training(const work_list *l) {
    return l->request->mode == FT_TRAIN;
}

static double type_bytes(const work_list *l) {
    return ft_dtype_bits(l->request->dtype) / 8.0;
}

static bool is_stored(const ft_tensor *t) {
    return t != NULL && t->role == FT_CONSTANT;
}

static gpu_work product_of(double m, double n, double k, double batch, double bytes) {
    gpu_work w = {.kind = batch > 1 ? GPU_BATCHED : GPU_PRODUCT, .times = 1, .m = m, .n = n, .k = k, .batch = batch};
    w.flops = 2 * m * n * k * batch;
    w.read = (m * k + k * n) * batch * bytes;
    w.write = m * n * batch * bytes;
    return w;
}

/* A product, and in training the gradients of both factors. */
static void add_product(work_list *l, gpu_work w) {
    double bytes = type_bytes(l);
    add_work(l, w);
    if (!is_training(l)) return;
    add_work(l, product_of(w.m, w.k, w.n, w.batch, bytes));
    add_work(l, product_of(w.k, w.n, w.m, w.batch, bytes));
}

static void add_vector(work_list *l, double elems, double operands, double operation) {
    double bytes = type_bytes(l);
    add_work(l, (gpu_work){.kind = GPU_VECTOR,
                           .times = 1,
                           .flops = elems,
                           .read = elems * operands * bytes,
                           .write = elems * bytes,
                           .m = elems,
                           .n = 1,
                           .k = operands,
                           .batch = 1,
                           .operation = operation});
}

/* --- Operators ----------------------------------------------------------------------------------------------- */

enum { OPERATION_ADD = 1, OPERATION_SOFTMAX = 40 };

/* A number for an operator: classes are apart, operators of a class are neighbours. */
static double operation_of(const ft_op *op) {
    static const char *const names[] = {"Add",
                                        "Sub",
                                        "Mul",
                                        "Div",
                                        "Pow",
                                        "Relu",
                                        "Gelu",
                                        "Tanh",
                                        "Erf",
                                        "Exp",
                                        "Sigmoid",
                                        "Silu",
                                        "Softmax",
                                        "LayerNormalization",
                                        "RMSNormalization"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(op->type, names[i]) == 0) return (double)i + 1;
    return 20 + (double)ft_opdef_class(op->def);
}

static void read_conv(work_list *l, const conv_geometry *g, const ft_op *op, ft_work cost) {
    double out = 1, in = 1;
    for (int32_t i = 0; i < g->spatial; i++) {
        out *= (double)g->out[i];
        in *= (double)g->in[i];
    }
    double groups = (double)g->groups, window = (double)g->kernel_elems;
    bool is_depthwise = g->is_depthwise && g->groups > 1; /* no product */
    gpu_work w = {.kind = is_depthwise ? GPU_OTHER : GPU_CONV,
                  .times = 1,
                  .batch = groups,
                  .window = window,
                  .stride = (double)g->stride[0]};
    bool is_transposed = strstr(op->type, "Transpose") != NULL;
    w.m = (double)g->batch * (is_transposed ? in : out);
    w.n = (double)g->cout / groups;
    w.k = (double)g->cin / groups * window;
    w.width = (double)g->out[0];
    w.channels = (double)g->cin / groups;
    w.flops = 2 * (double)cost.macs;
    w.read = (double)cost.read_bytes;
    w.write = (double)cost.write_bytes;
    if (is_transposed) w.pass = GPU_INPUT_GRADIENT;
    /* A filter that is computed is the gradient of a convolution's result. */
    if (!is_transposed && !is_stored(g->weight)) w.pass = GPU_WEIGHT_GRADIENT;
    add_work(l, w);
    if (!is_training(l)) return;
    gpu_work back = w;
    back.pass = GPU_INPUT_GRADIENT;
    back.n = w.channels;
    back.k = w.n * window;
    back.m = (double)g->batch * in;
    add_work(l, back);
    back.pass = GPU_WEIGHT_GRADIENT;
    back.m = w.n;
    back.n = w.k;
    back.k = w.m;
    add_work(l, back);
}

/* Keys that a query attends to, on average. */
static double attended_keys(const ft_graph *graph, const ft_op *op, const attention_geometry *g) {
    double queries = (double)g->queries, keys = (double)g->keys;
    double window = (double)op_attr_int(op, "local_window_size", 0);
    bool is_causal = op_attr_int(op, "is_causal", 0) != 0 || op_attr_int(op, "unidirectional", 0) != 0 ||
                     strcmp(op->type, "GroupQueryAttention") == 0;
    (void)graph;
    double seen = is_causal ? keys - (queries - 1) / 2 : keys;
    if (window > 0 && window < seen) seen = window;
    return fmax(seen, 1);
}

/* Attention that stores its scores: products, scale, mask, softmax, and in training dropout, with their gradients. */
static void add_decomposed(work_list *l, double batch, double q, double keys, double size, double value_size) {
    double bytes = type_bytes(l), scores = batch * q * keys;
    static const double PASSES = 2;
    add_product(l, product_of(q, keys, size, batch, bytes));
    for (int i = 0; i < (int)PASSES; i++) add_vector(l, scores, 1, OPERATION_ADD + 3);
    gpu_work softmax = {.kind = GPU_REDUCTION, .times = 1, .flops = 5 * scores, .operation = 13};
    softmax.read = softmax.write = scores * bytes;
    softmax.m = batch * q;
    softmax.n = keys;
    softmax.k = 1;
    softmax.batch = 1;
    add_work(l, softmax);
    add_product(l, product_of(q, value_size, keys, batch, bytes));
    if (!is_training(l)) return;
    add_vector(l, scores, 1, OPERATION_ADD + 2); /* dropout, forward and backward */
    add_vector(l, scores, 2, OPERATION_ADD + 2);
    softmax.times = 1.5; /* its gradient reads two tensors */
    add_work(l, softmax);
    for (int i = 0; i < (int)PASSES; i++) add_vector(l, scores, 1, OPERATION_ADD + 3);
}

static void read_attention(work_list *l, const ft_op *op, const attention_geometry *g, ft_work cost) {
    double batch = (double)g->batch, heads = (double)g->heads, kv = fmax((double)g->kv_heads, 1);
    double queries = (double)g->queries, keys = (double)g->keys;
    if (!l->runtime->is_fused && queries > 1) {
        add_decomposed(l, batch * heads, queries, keys, (double)g->head_size, (double)g->value_size);
        return;
    }
    gpu_work w = {.kind = queries > 1 ? GPU_PREFILL : GPU_DECODE, .times = 1, .batch = batch, .m = queries, .n = keys};
    w.k = (double)g->head_size;
    w.window = attended_keys(l->graph, op, g);
    w.stride = keys / w.window;
    w.width = heads;
    w.channels = kv;
    w.flops = 2 * batch * heads * queries * w.window * (double)(g->head_size + g->value_size);
    double whole = (double)cost.read_bytes;
    /* Keys outside the window are not read. */
    double seen = fmin(keys, w.window + queries - 1);
    w.read = queries > 1 ? whole : whole * fmin(1, seen / keys);
    w.write = (double)cost.write_bytes;
    add_work(l, w);
    if (!is_training(l)) return;
    w.times = 2.5; /* five products instead of two */
    add_work(l, w);
}

static bool is_reduction(ft_op_class c) {
    return c == FT_CLASS_NORM || c == FT_CLASS_REDUCE || c == FT_CLASS_POOL || c == FT_CLASS_SELECT;
}

static bool is_vector(ft_op_class c) {
    return c == FT_CLASS_ELEMENTWISE || c == FT_CLASS_ACTIVATION || c == FT_CLASS_MOVE || c == FT_CLASS_VIEW ||
           c == FT_CLASS_SHAPE || c == FT_CLASS_QUANT;
}

/* Whether a kernel is the formula of GELU as a program spells it, with an operator for each step: PyTorch launches
 * each, unless it compiles. Those of the operator itself have no power. */
static bool is_stepwise(const work_list *l, const ft_kernel *kernel) {
    if (l->runtime->is_compiled || strncmp(kernel->type, "gelu", 4) != 0) return false;
    const ft_op *root = &l->graph->ops[kernel->root];
    bool has_power = op_attr_int(root, "decomposed", 0) != 0, has_tanh = has_power;
    for (uint32_t i = 0; i < kernel->op_count; i++) {
        const char *type = l->graph->ops[kernel->ops[i]].type;
        has_power = has_power || strcmp(type, "Pow") == 0;
        has_tanh = has_tanh || strcmp(type, "Tanh") == 0;
    }
    return has_power && has_tanh;
}

/* A power, a tanh, four products and two sums; backward, each but the sums with numbers is two products. */
static void add_steps(work_list *l, const ft_op *root) {
    static const double FORWARD = 6, FORWARD_PAIRS = 2, BACKWARD = 6, BACKWARD_PAIRS = 6;
    const ft_tensor *out = op_output(l->graph, root, 0);
    double elems = out != NULL ? (double)tensor_elems(l->graph, out) : 1;
    add_vector(l, elems, 1, OPERATION_ADD + 2);
    l->items[l->count - 1].times = FORWARD + (is_training(l) ? BACKWARD : 0);
    add_vector(l, elems, 2, OPERATION_ADD + 2);
    l->items[l->count - 1].times = FORWARD_PAIRS + (is_training(l) ? BACKWARD_PAIRS : 0);
}

/* The kind of a block that rules found among single operators: its last operator says little. */
static gpu_kind kind_of_block(const ft_kernel *kernel, gpu_kind kind) {
    static const char *const norms[] = {"ln", "rmsnorm", "gn", "var", "softmax", "mvn"};
    size_t length = strcspn(kernel->type, "-");
    for (size_t i = 0; i < sizeof norms / sizeof norms[0]; i++)
        if (strlen(norms[i]) == length && strncmp(norms[i], kernel->type, length) == 0) return GPU_REDUCTION;
    return kind;
}

static void read_other(work_list *l, const ft_kernel *kernel, const ft_op *op, ft_work cost) {
    const ft_tensor *out = op_output(l->graph, op, 0), *in = op_input(l->graph, op, 0);
    ft_op_class c = ft_opdef_class(op->def);
    bool is_softmax = strstr(op->type, "Softmax") != NULL;
    gpu_work w = {.kind = is_reduction(c) || is_softmax ? GPU_REDUCTION : is_vector(c) ? GPU_VECTOR : GPU_OTHER};
    if (strstr(op->type, "MoE") != NULL) w.kind = GPU_EXPERTS;
    if (kernel->op_count > 1) w.kind = kind_of_block(kernel, w.kind);
    w.times = 1;
    w.flops = fmax((double)cost.flops, 2 * (double)cost.macs);
    w.read = (double)cost.read_bytes;
    w.write = (double)cost.write_bytes;
    w.m = out != NULL ? (double)tensor_elems(l->graph, out) : 1;
    w.n = in != NULL && in->rank > 0 ? (double)in->dims[in->rank - 1] : 1;
    w.k = op->input_count;
    w.batch = (double)ft_graph_batch(l->graph);
    w.operation = operation_of(op);
    const ft_tensor *weights = w.kind == GPU_EXPERTS ? op_input(l->graph, op, 2) : NULL;
    if (weights != NULL && weights->rank == 3) {
        w.width = (double)weights->dims[0];
        w.channels = (double)op_attr_int(op, "k", 1);
        w.k = (double)weights->dims[1];
    }
    add_work(l, w);
    if (!is_training(l)) return;
    w.times = w.kind == GPU_REDUCTION ? 2 : w.kind == GPU_VECTOR ? 1.25 : 2;
    add_work(l, w);
}

/* Attention that an export decomposed and rules found again: its root is the product of queries and keys. */
static bool is_found_attention(const ft_kernel *kernel) {
    return kernel->op_count > 1 && strncmp(kernel->type, "attention", 9) == 0;
}

static void read_product(work_list *l, const ft_kernel *kernel, const matmul_geometry *g, ft_work cost) {
    double m = (double)g->m, n = (double)g->n, k = (double)g->k, batch = (double)g->batch;
    if (is_found_attention(kernel) && !l->runtime->is_fused) {
        add_decomposed(l, batch, m, n, k, k);
        return;
    }
    gpu_work w = product_of(m, n, k, batch, type_bytes(l));
    if (is_found_attention(kernel)) {
        w.kind = m > 1 ? GPU_PREFILL : GPU_DECODE;
        w.flops *= 2;
        w.window = n;
        w.stride = w.width = w.channels = 1;
    }
    /* As they are stored: weights may have fewer bits. */
    w.read = (double)cost.read_bytes;
    w.write = (double)cost.write_bytes;
    add_product(l, w);
}

static bool is_collective(const ft_op *op) {
    static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "AllToAll", "SendRecv"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(op->type, names[i]) == 0) return true;
    return false;
}

static ft_status read_kernel(work_list *l, const ft_kernel *kernel, const ft_op_cost *cost, ft_error *error) {
    const ft_op *root = &l->graph->ops[kernel->root];
    conv_geometry conv;
    attention_geometry attention;
    matmul_geometry product;
    if (is_collective(root))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "%s runs on several GPUs, whose links this predictor does not know",
                       root->type);
    if (is_stepwise(l, kernel))
        add_steps(l, root);
    else if (conv_geometry_of(l->graph, root, &conv))
        read_conv(l, &conv, root, cost->forward);
    else if (strstr(root->type, "MoE") == NULL && attention_geometry_of(l->graph, root, &attention))
        read_attention(l, root, &attention, cost->forward);
    else if (matmul_geometry_of(l->graph, root, &product))
        read_product(l, kernel, &product, cost->forward);
    else
        read_other(l, kernel, root, cost->forward);
    return FT_OK;
}

ft_status gpu_works_of(model_view *s, const ft_rules *rules, const gpu_runtime *runtime, arena *memory,
                       gpu_work **works, uint32_t *count, ft_error *error) {
    const ft_cost *cost;
    const ft_kernels *kernels;
    FT_TRY(model_view_cost(s, &cost, error));
    FT_TRY(model_view_kernels(s, rules, &kernels, error));
    work_list l = {.graph = s->bound, .request = &s->request, .runtime = runtime};
    l.items = ARENA_ARRAY(memory, gpu_work, (size_t)kernels->count * MAX_WORKS + 1);
    if (l.items == NULL) return FT_NOMEM(error);
    for (l.kernel = 0; l.kernel < kernels->count; l.kernel++) {
        ft_op_cost of_kernel = ft_cost_kernel(s->bound, cost, kernels, l.kernel);
        FT_TRY(read_kernel(&l, &kernels->items[l.kernel], &of_kernel, error));
    }
    *works = l.items;
    *count = l.count;
    return FT_OK;
}
