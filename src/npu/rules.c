/* rules.c - the rule table, and the constraints that it names. Operators that do not meet them run on the CPU, which
 * costs nothing here. */
#include "npu/rules.h"

#include <assert.h>
#include <string.h>

#include "graph/geometry.h"
#include "graph/opdef.h"
#include "npu/lower.h"

enum { MAX_DIM = 65535 };

static bool is_typed(const npu_lowering *l, const ft_tensor *t, bool allows_32) {
    if (l->is_float && ft_dtype_is_float(t->dtype)) return true;
    if (t->dtype == FT_INT8 || t->dtype == FT_UINT8 || t->dtype == FT_INT16) return true;
    return allows_32 && t->dtype == FT_INT32;
}

/* Whether all sizes are known and within the limit. */
static bool has_sizes(const npu_lowering *l, const ft_tensor *t) {
    if (t->rank > 5 || tensor_elems(l->graph, t) == 0) return false;
    for (int32_t i = 0; i < t->rank; i++)
        if (t->dims[i] > MAX_DIM) return false;
    return true;
}

static int64_t batch_of(const npu_lowering *l, const ft_tensor *t) {
    return t->rank >= 4 ? npu_shape_of(l, t).n : 1;
}

bool npu_check_conv(const npu_lowering *l, const ft_op *op) {
    const conv_geometry *g = conv_geometry_cached(l->graph, op);
    if (g == NULL || g->spatial > 2 || batch_of(l, g->x) != 1) return false;
    if (g->weight == NULL || !npu_is_const(l, g->weight) || g->x->rank > 4) return false;
    if (!l->is_float && ft_dtype_bits(g->weight->dtype) != 8) return false;
    if (!l->is_float && g->groups > 1 && !(g->is_depthwise && (g->cout == g->cin || g->cin == 1))) return false;
    if (!l->is_float && g->is_depthwise && g->cout != g->cin && g->cin != 1) return false;
    for (int32_t i = 0; i < g->spatial; i++) {
        if (g->kernel[i] > 4096 || g->dilation[i] > 4096 || g->stride[i] > MAX_DIM) return false;
    }
    int64_t height = (g->kernel[0] - 1) * g->dilation[0] + 1, area = 1;
    for (int32_t i = 0; i < g->spatial; i++) {
        area *= (g->kernel[i] - 1) * g->dilation[i] + 1;
        if (op->def->cost == COST_CONV && g->stride[i] > 3 && i == 0 && g->spatial > 1) return false;
    }
    if (op->def->cost == COST_CONV_TRANSPOSE) {
        if (g->stride[0] > 2 || g->stride[g->spatial - 1] > 2) return false;
    }
    return height <= 64 && area <= 4096;
}

bool npu_check_dense(const npu_lowering *l, const ft_op *op) {
    matmul_geometry g;
    if (!matmul_geometry_of(l->graph, op, &g) || g.b == NULL || !npu_is_const(l, g.b)) return false;
    if (!l->is_float && ft_dtype_bits(g.b->dtype) != 8) return false;
    return g.k <= 65535 && g.n <= 65535 && g.m * g.batch <= 65535;
}

bool npu_check_pool(const npu_lowering *l, const ft_op *op) {
    pool_geometry g;
    const ft_tensor *x = op_input(l->graph, op, 0);
    if (!pool_geometry_of(l->graph, op, &g) || g.spatial > 2 || batch_of(l, x) != 1) return false;
    bool is_whole = true;
    for (int32_t i = 0; i < g.spatial; i++) is_whole = is_whole && g.kernel[i] == g.stride[i] && g.kernel[i] == g.in[i];
    for (int32_t i = 0; i < g.spatial; i++) {
        if (g.stride[i] > 3 && !is_whole) return false;
    }
    npu_op_id id = npu_op_id_of(l, op);
    bool is_max = id == NPU_OP_MAX_POOL || id == NPU_OP_GLOBAL_MAX_POOL;
    if (npu_has_same_padding(op) && !is_max && !is_whole && (g.kernel[0] > 8 || g.kernel[g.spatial - 1] > 8))
        return false;
    return g.kernel[0] <= 256 && g.kernel_elems <= 256 * 256;
}

bool npu_check_binary(const npu_lowering *l, const ft_op *op) {
    for (uint32_t i = 0; i < op->input_count; i++) {
        const ft_tensor *t = op_input(l->graph, op, i);
        if (t == NULL || (t->rank > 2 && npu_shape_of(l, t).n != 1) || t->rank > 4) return false;
    }
    return op->input_count <= 2;
}

bool npu_check_pad(const npu_lowering *l, const ft_op *op) {
    const ft_tensor *x = op_input(l->graph, op, 0), *y = op_output(l->graph, op, 0);
    npu_shape in = npu_shape_of(l, x), out = npu_shape_of(l, y);
    if (npu_op_id_of(l, op) == NPU_OP_PAD_PAIRS &&
        (strcmp(op->type, "MIRROR_PAD") == 0 || strcmp(op->type, "PADV2") == 0))
        return false;
    return (x->rank == 3 || x->rank == 4) && in.n == out.n && in.c == out.c;
}

bool npu_check_resize(const npu_lowering *l, const ft_op *op) {
    const ft_tensor *x = op_input(l->graph, op, 0), *y = op_output(l->graph, op, 0);
    npu_shape in = npu_shape_of(l, x), out = npu_shape_of(l, y);
    bool is_aligned = op_attr_int(op, "align_corners", 0) != 0, is_half = op_attr_int(op, "half_pixel_centers", 0) != 0;
    if (x->rank != 4 || in.n != 1 || (is_aligned && is_half)) return false;
    if ((in.h == 1 && in.w == 1) || npu_shape_equal(in, out)) return true;
    if (is_aligned && (in.h == 1 || in.w == 1)) return false;
    int64_t a = is_aligned ? out.h - 1 : out.h, b = is_aligned ? in.h - 1 : in.h;
    int64_t c = is_aligned ? out.w - 1 : out.w, d = is_aligned ? in.w - 1 : in.w;
    if (a % b != 0 || c % d != 0 || a / b != c / d) return false;
    if (is_half && npu_op_id_of(l, op) == NPU_OP_RESIZE_BILINEAR) return a / b == 2;
    return a / b == 2 || a / b == 4 || a / b == 8;
}

/* Channels are reduced only where one of height, width and channels is 1. */
bool npu_check_mean(const npu_lowering *l, const ft_op *op) {
    const ft_tensor *x = op_input(l->graph, op, 0), *axes = op_input(l->graph, op, 1);
    uint32_t count = 0;
    bool is_reduced[4];
    if (x->rank > 4 || batch_of(l, x) != 1) return false;
    if (npu_op_id_of(l, op) == NPU_OP_GLOBAL_AVERAGE_POOL) return true;
    if (op_attr_ints(op, "axes", &count) == NULL && (axes == NULL || axes->value == NULL)) return false;
    npu_shape s = npu_shape_of(l, x);
    npu_reduced_axes(l, op, is_reduced);
    return !is_reduced[3] || s.h == 1 || s.w == 1 || s.c == 1;
}

bool npu_check_strides(const npu_lowering *l, const ft_op *op) {
    const ft_tensor *strides = op_input(l->graph, op, 3);
    if (op_attr_int(op, "ellipsis_mask", 0) != 0) return false;
    if (strides == NULL || strides->value == NULL || strides->value->ints == NULL) return true;
    for (int64_t i = 0; i < strides->value->count; i++) {
        if (strides->value->ints[i] != 1) return false;
    }
    return true;
}

/* Only transposes of two axes, with all other axes 1. */
bool npu_check_transpose(const npu_lowering *l, const ft_op *op) {
    const ft_tensor *x = op_input(l->graph, op, 0);
    npu_shape s = npu_shape_of(l, x);
    (void)op;
    return s.n == 1 && (s.h == 1 || s.w == 1 || s.c == 1) && x->rank <= 4;
}

/* Vela does not fold computed shapes. */
bool npu_check_reshape(const npu_lowering *l, const ft_op *op) {
    const ft_tensor *shape = op_input(l->graph, op, 1);
    return l->is_float || shape == NULL || shape->role == FT_CONSTANT;
}

bool npu_check_softmax(const npu_lowering *l, const ft_op *op) {
    const ft_tensor *x = op_input(l->graph, op, 0);
    return x->rank <= 4 && x->dtype != FT_INT16;
}

bool npu_check_argmax(const npu_lowering *l, const ft_op *op) {
    const ft_tensor *x = op_input(l->graph, op, 0), *y = op_output(l->graph, op, 0);
    return x->rank <= 4 && npu_shape_of(l, x).c <= 127 && y->rank == x->rank - 1;
}

bool npu_check_quantize(const npu_lowering *l, const ft_op *op) {
    const ft_tensor *x = op_input(l->graph, op, 0);
    return l->is_float || (npu_bytes_of(l, x) <= 2 && !ft_dtype_is_float(x->dtype));
}

bool npu_check_none(const npu_lowering *l, const ft_op *op) {
    (void)l;
    (void)op;
    return true;
}

/* Inputs that are parameters (shapes, axes, paddings) may have any type. */
static bool is_auxiliary(const ft_op *op, uint32_t input) {
    return input < 32 && (op->def->aux_inputs >> input & 1) != 0;
}

static bool is_output_typed(const npu_lowering *l, const npu_rule *rule, const ft_tensor *t) {
    if (rule->flags & NPU_INDEX_OUT) return t->dtype == FT_INT32 || t->dtype == FT_INT64;
    return is_typed(l, t, rule->flags & NPU_INT32);
}

bool npu_supports(const npu_lowering *l, const ft_op *op, const npu_rule *rule) {
    bool allows_32 = rule->flags & NPU_INT32;
    if (op->loop != 0 || op->input_count == 0 || op->output_count == 0) return false;
    if (op_input(l->graph, op, op->def->x) == NULL) return false;
    for (uint32_t i = 0; i < op->input_count && i < rule->typed_inputs; i++) {
        const ft_tensor *t = op_input(l->graph, op, i);
        if (t == NULL || is_auxiliary(op, i)) continue;
        if (npu_is_const(l, t) && t->rank <= 1 && t->dtype == FT_INT32 && i > 0 && !allows_32) continue;
        if (!is_typed(l, t, allows_32) || !has_sizes(l, t)) return false;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        const ft_tensor *t = op_output(l->graph, op, i);
        if (t != NULL && (!has_sizes(l, t) || !is_output_typed(l, rule, t))) return false;
    }
    if (!l->is_float && rule->flags & NPU_FLOAT_ONLY) return false;
    if (!l->is_float && rule->flags & NPU_NO_INT16 && npu_bytes_of(l, op_input(l->graph, op, 0)) == 2) return false;
    return rule->check(l, op);
}

/* --- The table ----------------------------------------------------------------------------------------------- */

#define NPU_RULE_ROW(id, name, lowering, constraint, typed_inputs, flags)                                              \
    [NPU_OP_##id] = {NPU_OP_##id, name, npu_lower_##lowering, npu_check_##constraint, typed_inputs, flags},

static const npu_rule rules[NPU_OP_COUNT] = {NPU_RULE_LIST(NPU_RULE_ROW)};

static const npu_rule *find_by_name(const char *name) {
    for (size_t i = 0; i < NPU_OP_COUNT; i++) {
        assert(rules[i].id == (npu_op_id)i);
        if (rules[i].name[0] == name[0] && strcmp(rules[i].name, name) == 0) return &rules[i];
    }
    return NULL;
}

const npu_rule *npu_rule_find(const ft_opdef *def, npu_rule_cache *cache) {
    size_t slot = (uintptr_t)def / sizeof *def % NPU_RULE_SLOTS;
    if (cache->defs[slot] != def) {
        cache->defs[slot] = def;
        cache->rules[slot] = find_by_name(def->name);
    }
    return cache->rules[slot];
}
