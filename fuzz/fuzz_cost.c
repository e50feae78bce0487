/* fuzz_cost.c - bytes as a recipe for a graph of any operators of the table with any shapes, whose cost is computed.
 *
 * Shapes, types and attributes need not make sense: a bound graph can hold whatever a file declares. Half of the
 * recipes are bound, half are declared bound as they are. Invariants of every graph are checked. */
#include <stdlib.h>

#include "foretell/cost.h"
#include "graph/graph.h"
#include "graph/opdef.h"

typedef struct recipe {
    const uint8_t *at, *end;
} recipe;

static uint8_t next(recipe *r) {
    return r->at < r->end ? *r->at++ : 0;
}

static void check(bool holds) {
    if (!holds) abort();
}

static uint32_t add_tensor(ft_graph *graph, recipe *r, ft_role role) {
    static const ft_dtype types[] = {FT_FLOAT32, FT_FLOAT16, FT_INT8,  FT_INT32,
                                     FT_INT64,   FT_BOOL,    FT_UINT4, FT_DTYPE_UNKNOWN};
    uint8_t form = next(r);
    ft_tensor spec = {.name = (form & 64) != 0 ? "/a/Constant" : "a.weight", .dtype = types[form & 7], .role = role};
    spec.rank = (form >> 3 & 7) - 1; /* also unknown */
    for (int32_t i = 0; i < spec.rank; i++) {
        uint8_t size = next(r);
        spec.dims[i] = size < 250 ? size % 17 : INT64_C(1) << (size - 250) * 8; /* some are enormous */
    }
    spec.is_batched = (form & 128) != 0;
    uint32_t index = FT_NONE;
    if (graph_add_tensor(graph, &spec, &index, NULL) != FT_OK) return FT_NONE;
    if (role == FT_INPUT) check(graph_add_input(graph, index, NULL) == FT_OK);
    return index;
}

static uint32_t add_attrs(ft_graph *graph, recipe *r, ft_attr *attrs) {
    static const char *const lists[] = {"kernel_shape", "strides", "dilations", "axes"};
    static const char *const numbers[] = {"group", "axis", "num_heads", "K", "N", "transA", "transB", "keepdims"};
    static const char *const equations[] = {"ij,jk->ik", "bhid,bhjd->bhij", "...ij->...ji", "ii", "a,b,c->abc"};
    uint32_t count = next(r) & 3;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t which = next(r);
        int64_t values[] = {next(r) % 8, next(r) % 8};
        ft_status status;
        if (which % 3 == 0)
            status = graph_attr_ints(graph, &attrs[i], lists[which / 3 % 4], values, 2, NULL);
        else if (which % 3 == 1)
            status = graph_attr_int(graph, &attrs[i], numbers[which / 3 % 8], values[0] - 1, NULL);
        else
            status = graph_attr_string(graph, &attrs[i], "equation", equations[which / 3 % 5], NULL);
        check(status == FT_OK);
    }
    return count;
}

static void add_op(ft_graph *graph, recipe *r) {
    uint32_t which = next(r), inputs[6], outputs[2];
    const ft_opdef *def = ft_opdef_at((which | (uint32_t)next(r) << 8) % (ft_opdef_count() + 1));
    if (def == NULL) def = ft_opdef_unknown();
    ft_op spec = {.name = "", .type = ft_opdef_name(def), .def = def, .inputs = inputs, .outputs = outputs};
    spec.input_count = next(r) % 7;
    spec.output_count = 1 + (next(r) & 1);
    uint32_t made = graph->tensor_count;
    for (uint32_t i = 0; i < spec.input_count; i++) {
        uint8_t choice = next(r);
        inputs[i] = choice < 16 ? FT_NONE : choice < 80 ? add_tensor(graph, r, FT_CONSTANT) : (choice - 80U) % made;
    }
    for (uint32_t i = 0; i < spec.output_count; i++) outputs[i] = add_tensor(graph, r, FT_ACTIVATION);
    ft_attr attrs[3];
    spec.attr_count = add_attrs(graph, r, attrs);
    spec.attrs = arena_copy(&graph->memory, attrs, spec.attr_count * sizeof *attrs);
    spec.loop = next(r) % graph->loop_count;
    check(graph_add_op(graph, &spec, NULL) == FT_OK);
}

static ft_graph *make_graph(recipe *r) {
    enum { MAX_RECIPE_OPS = 64 };
    ft_graph *graph = NULL;
    uint8_t form = next(r);
    ft_format format = (form & 1) != 0 ? FT_FORMAT_TFLITE : FT_FORMAT_ONNX;
    check(graph_new(format, (form & 1) != 0 ? FT_NHWC : FT_NCHW, "fuzz", &graph, NULL) == FT_OK);
    for (uint32_t i = 0; i < (form >> 1 & 3); i++) {
        uint32_t index;
        graph_loop loop = {.parent = next(r) % graph->loop_count, .trip_tensor = FT_NONE, .scan_tensor = FT_NONE};
        loop.trips = next(r);
        check(graph_add_loop(graph, &loop, &index, NULL) == FT_OK);
    }
    if (add_tensor(graph, r, FT_INPUT) == FT_NONE) {
        ft_graph_free(graph);
        return NULL;
    }
    for (int i = 0; i < MAX_RECIPE_OPS && r->at < r->end; i++) add_op(graph, r);
    check(graph_add_output(graph, graph->tensor_count - 1, NULL) == FT_OK);
    if (graph_finish(graph, NULL) == FT_OK) return graph;
    ft_graph_free(graph);
    return NULL;
}

static void watch(void *user, ft_phase phase, uint32_t op, uint64_t live_bytes) {
    uint64_t *highest = user;
    (void)phase;
    (void)op;
    if (live_bytes > *highest) *highest = live_bytes;
}

static void check_memory(const ft_graph *graph, const ft_cost_options *options) {
    ft_memory m;
    uint64_t highest = 0;
    check(ft_memory_plan(graph, options, &m, watch, &highest, NULL) == FT_OK);
    check(highest == m.peak_bytes);
    if (m.peak_bytes == UINT64_MAX) return; /* saturated */
    check(m.weight_bytes + m.gradient_bytes + m.optimizer_bytes + m.activation_bytes + m.workspace_bytes ==
          m.peak_bytes);
    check(m.activation_gradient_bytes + m.input_bytes <= m.activation_bytes);
}

static void check_cost(const ft_graph *graph, const ft_cost_options *options) {
    ft_cost cost;
    check(ft_cost_compute(graph, options, &cost, NULL) == FT_OK);
    check(cost.coverage_ratio >= 0 && cost.coverage_ratio <= 1);
    check(cost.coverage_ops_ratio >= 0 && cost.coverage_ops_ratio <= 1);
    check(cost.estimated_ops <= cost.op_count);
    uint32_t *ops = calloc(cost.op_count + 1, sizeof *ops), *of_op = calloc(cost.op_count + 1, sizeof *of_op);
    check(ops != NULL && of_op != NULL);
    for (uint32_t i = 0; i < cost.op_count; i++) ops[i] = i;
    ft_kernel whole = {.type = "whole", .ops = ops, .op_count = cost.op_count};
    ft_kernels kernels = {.items = &whole, .count = 1, .kernel_of_op = of_op};
    ft_op_cost all = ft_cost_kernel(graph, &cost, &kernels, 0);
    check(all.forward.macs == cost.total.forward.macs && all.params == cost.total.params);
    check(all.forward.read_bytes <= cost.total.forward.read_bytes);
    check(all.forward.write_bytes <= cost.total.forward.write_bytes);
    free(of_op);
    free(ops);
    ft_cost_free(&cost);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    recipe r = {data, data + size};
    uint8_t form = next(&r);
    ft_cost_options options = ft_cost_options_default();
    options.optimizer = (ft_optimizer)(form & 3);
    options.is_mixed = (form & 4) != 0;
    options.has_inplace = (form & 8) != 0;
    options.has_fused_attention = (form & 16) != 0;
    options.dtype = (form & 32) != 0 ? FT_BFLOAT16 : FT_DTYPE_UNKNOWN;
    options.workspace_bytes = (form & 64) != 0 ? 4096 : 0;
    ft_graph *graph = make_graph(&r), *bound = NULL;
    if (graph == NULL) return 0;
    if ((form & 128) != 0) {
        check(graph_mark_bound(graph, 6, 4));
    } else if (ft_graph_bind(graph, &(ft_binding){.batch = form & 3}, &bound, NULL) != FT_OK) {
        ft_graph_free(graph);
        return 0;
    }
    const ft_graph *sized = bound != NULL ? bound : graph;
    for (int mode = FT_INFER; mode <= FT_TRAIN; mode++) {
        options.mode = (ft_mode)mode;
        check_cost(sized, &options);
        check_memory(sized, &options);
    }
    ft_graph_free(bound);
    ft_graph_free(graph);
    return 0;
}
