/* Fusion on small graphs whose kernels are known, rules that hold for every graph, and real data sets.
 *
 * Graphs are written as text, "y=Conv x % ; z=Relu y": one operator each, with its inputs. All activations are maps
 * of 1x8x6x6. `$` is a scalar constant, `#` one of 8 elements, `%` the weights of a convolution, `^` those of a
 * depthwise one. Tensors without a reader, and those after "!", are outputs of the graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "graph/fuse.h"
#include "graph/graph.h"
#include "support/toy.h"

/* --- Graphs from text ---------------------------------------------------------------------------------------- */

enum { MAX_NAMES = 64 };

typedef struct names {
    char text[MAX_NAMES][16];
    uint32_t tensor[MAX_NAMES];
    uint32_t count;
} names;

static uint32_t constant(ft_graph *graph, char kind) {
    switch (kind) {
    case '$':
        return toy_tensor(graph, FT_CONSTANT, FT_FLOAT32, TOY_END);
    case '#':
        return toy_weight(graph, 8);
    case '%':
        return toy_weight(graph, 8, 8, 1, 1);
    default:
        return toy_weight(graph, 8, 1, 3, 3);
    }
}

static uint32_t find(ft_graph *graph, names *known, const char *name, bool is_made) {
    for (uint32_t i = 0; i < known->count; i++) {
        if (strcmp(known->text[i], name) == 0) return known->tensor[i];
    }
    assert_true(known->count < MAX_NAMES);
    uint32_t tensor = is_made ? toy_value(graph, 1, 8, 6, 6) : toy_input(graph, 1, 8, 6, 6);
    snprintf(known->text[known->count], sizeof known->text[0], "%s", name);
    known->tensor[known->count++] = tensor;
    return tensor;
}

static void add_op(ft_graph *graph, names *known, char *text) {
    char *rest, *output = strtok_r(text, " =", &rest), *type = strtok_r(NULL, " =", &rest), *input;
    uint32_t inputs[8], count = 0;
    bool is_depthwise = false;
    while ((input = strtok_r(NULL, " ", &rest)) != NULL) {
        bool is_constant = strchr("$#%^", input[0]) != NULL;
        inputs[count++] = is_constant ? constant(graph, input[0]) : find(graph, known, input, false);
        if (input[0] == '^') is_depthwise = true;
    }
    uint32_t made = find(graph, known, output, true);
    ft_op spec = {.name = output, .type = type, .inputs = inputs, .outputs = &made, .output_count = 1};
    spec.input_count = count;
    toy_op_full(graph, &spec);
    if (is_depthwise) {
        ft_attr group = toy_int(graph, "group", 8);
        toy_attrs(graph, &group, 1);
    }
}

static ft_graph *build_as(ft_format format, ft_layout layout, const char *text) {
    ft_graph *graph = toy_graph(format, layout);
    names known = {.count = 0};
    char copy[2048], *rest;
    snprintf(copy, sizeof copy, "%s", text);
    char *kept = strchr(copy, '!');
    if (kept != NULL) *kept++ = '\0';
    for (char *op = strtok_r(copy, ";", &rest); op != NULL; op = strtok_r(NULL, ";", &rest)) {
        if (strspn(op, " ") != strlen(op)) add_op(graph, &known, op);
    }
    for (char *name = kept != NULL ? strtok_r(kept, " ", &rest) : NULL; name != NULL; name = strtok_r(NULL, " ", &rest))
        assert_int_equal(graph_add_output(graph, find(graph, &known, name, true), NULL), FT_OK);
    toy_finish(graph, graph->ops[graph->op_count - 1].outputs[0], 1, 1);
    return graph;
}

static ft_graph *build(const char *text) {
    return build_as(FT_FORMAT_ONNX, FT_NCHW, text);
}

static ft_kernels fuse_with(const ft_graph *graph, const char *rules_name) {
    ft_error error = {.message = ""};
    ft_rules *rules = NULL;
    ft_kernels kernels = {0};
    if (ft_rules_open(rules_name, &rules, &error) != FT_OK) fail_msg("%s", error.message);
    if (ft_graph_fuse(graph, rules, &kernels, &error) != FT_OK) fail_msg("%s", error.message);
    ft_rules_free(rules);
    return kernels;
}

/* --- What holds for every graph ------------------------------------------------------------------------------ */

static bool is_free_op(const ft_graph *graph, const ft_rules *rules, uint32_t op) {
    char buffer[KERNEL_NAME_BYTES];
    node n = {.name_symbol = SYMBOL_NONE, .op_class = ft_opdef_class(graph->ops[op].def)};
    uint32_t known;
    if (map_get(&rules->symbols, kernel_name_of(graph, &graph->ops[op], buffer), &known)) n.name_symbol = (symbol)known;
    return node_in(&n, rules->is_free);
}

/* The last kernel that must be done before a tensor is available, plus one; free operators launch nothing, so their
 * outputs are available together with their inputs. */
static uint32_t ready_after(const ft_graph *graph, const uint32_t *ready, const ft_tensor *t) {
    return t == NULL || t->producer == FT_NONE || graph->ops[t->producer].is_folded ? 0 : ready[t->producer];
}

/* No kernel reads a result of a later one. */
static void check_order(const ft_graph *graph, const ft_rules *rules, const ft_kernels *kernels) {
    uint32_t *ready = calloc((size_t)graph->op_count + 1, sizeof *ready);
    assert_non_null(ready);
    for (uint32_t op = 0; op < graph->op_count; op++) {
        const ft_op *o = &graph->ops[op];
        if (o->is_folded) continue;
        uint32_t k = kernels->kernel_of_op[op], needed = 0;
        for (uint32_t i = 0; i < o->input_count; i++) {
            uint32_t after = ready_after(graph, ready, op_input(graph, o, i));
            if (after > needed) needed = after;
        }
        bool is_free = is_free_op(graph, rules, op);
        if (!is_free) assert_true(needed <= k + 1);
        ready[op] = is_free ? needed : k + 1;
    }
    free(ready);
}

/* Each operator that is not folded is in one kernel. */
static void check_kernels(const ft_graph *graph, const ft_rules *rules, const ft_kernels *kernels) {
    uint32_t placed = 0;
    for (uint32_t k = 0; k < kernels->count; k++) {
        const ft_kernel *kernel = &kernels->items[k];
        bool has_root = false;
        assert_true(kernel->op_count > 0);
        assert_true(strlen(kernel->type) > 0);
        for (uint32_t i = 0; i < kernel->op_count; i++) {
            assert_true(i == 0 || kernel->ops[i] > kernel->ops[i - 1]);
            assert_int_equal(kernels->kernel_of_op[kernel->ops[i]], k);
            has_root |= kernel->ops[i] == kernel->root;
        }
        assert_true(has_root);
        placed += kernel->op_count;
    }
    for (uint32_t op = 0; op < graph->op_count; op++) {
        assert_true((kernels->kernel_of_op[op] == FT_NONE) == graph->ops[op].is_folded);
        placed += graph->ops[op].is_folded;
    }
    assert_int_equal(placed, graph->op_count);
    check_order(graph, rules, kernels);
}

/* Besides the bundled sets: one whose free operators have several inputs, and one that fuses as much as possible. */
static const char *const own_rules[] = {
    "{\"foretell_rules\": 1, \"name\": \"a\", \"free\": [\"concat\", \"reshape\", \"sub\"], \"grow\": \"trees\", "
    "\"pairs\":"
    " [{\"roots\": [\"@elementwise\", \"@activation\"], \"take\": [\"@elementwise\", \"@activation\", "
    "\"@reduction\"]}]}",
    "{\"foretell_rules\": 1, \"name\": \"b\", \"free\": [\"concat\", \"reshape\", \"sub\"], \"blocks\": [{\"name\": "
    "\"add\","
    " \"pattern\": [\"mul(add?(x, y), _)\", \"add(relu?(mul?(x, _)), y)\"]}], \"pairs\":"
    " [{\"roots\": [\"@elementwise\", \"@activation\"], \"take\": [\"@elementwise\", \"@activation\", "
    "\"@reduction\"]}]}",
};

static ft_rules *open_rules(uint32_t index) {
    ft_rules *rules = NULL;
    ft_error error = {.message = ""};
    uint32_t boxed = ft_rules_count();
    ft_status status =
        index < boxed ? ft_rules_open(ft_rules_name_at(index), &rules, &error)
                      : rules_parse(own_rules[index - boxed], strlen(own_rules[index - boxed]), "own", &rules, &error);
    if (status != FT_OK) fail_msg("%s", error.message);
    return rules;
}

static void check_all_rules(const ft_graph *graph) {
    for (uint32_t i = 0; i < ft_rules_count() + sizeof own_rules / sizeof own_rules[0]; i++) {
        ft_rules *rules = open_rules(i);
        ft_kernels kernels = {0}, again = {0};
        ft_error error;
        assert_int_equal(ft_graph_fuse(graph, rules, &kernels, &error), FT_OK);
        assert_int_equal(ft_graph_fuse(graph, rules, &again, &error), FT_OK);
        check_kernels(graph, rules, &kernels);
        assert_int_equal(kernels.count, again.count);
        for (uint32_t k = 0; k < kernels.count; k++) assert_string_equal(kernels.items[k].type, again.items[k].type);
        ft_kernels_free(&kernels);
        ft_kernels_free(&again);
        ft_rules_free(rules);
    }
}

/* The types of the kernels in launch order, separated by spaces. */
static void expect(const char *text, const char *rules, const char *types) {
    ft_graph *graph = build(text);
    check_all_rules(graph);
    ft_kernels kernels = fuse_with(graph, rules);
    char found[1024] = "";
    for (uint32_t k = 0; k < kernels.count; k++) {
        size_t length = strlen(found);
        snprintf(found + length, sizeof found - length, "%s%s", k > 0 ? " " : "", kernels.items[k].type);
    }
    if (strcmp(found, types) != 0) fail_msg("%s on \"%s\":\n found    %s\n expected %s", rules, text, found, types);
    ft_kernels_free(&kernels);
    ft_graph_free(graph);
}

/* --- Chains, as nn-Meter grows them -------------------------------------------------------------------------- */

#define BN(y, x) y "=BatchNormalization " x " # # # # ;"

static void test_pairs(void **state) {
    (void)state;
    const char *plain = "a=Conv x % ;" BN("b", "a") "c=Relu b; d=Conv c % ; e=Relu d; f=Conv e ^ ;" BN("g", "f");
    expect(plain, "tflite-cpu", "conv-bn-relu conv-relu dwconv-bn");
    expect(plain, "tflite-gpu", "conv-bn-relu conv-relu dwconv-bn");
    expect(plain, "openvino-vpu", "conv-bn-relu conv-relu dwconv-bn");
    expect(plain, "torch-eager", "conv bn relu conv relu dwconv bn");
    expect(plain, "torch-compile", "conv bn-relu conv relu dwconv bn");
    /* The name of the root decides: a bn alone fuses with relu, except on the VPU. */
    expect(BN("a", "x") "b=Relu a", "tflite-cpu", "bn-relu");
    expect(BN("a", "x") "b=Relu a", "openvino-vpu", "bn relu");
    /* A conv fuses with two consecutive bn, which nn-Meter observed in NAS-Bench-201. */
    expect("a=Conv x % ;" BN("b", "a") BN("c", "b") "d=Relu c", "tflite-cpu", "conv-bn-bn-relu");
    expect("a=Clip x; b=Clip a", "tflite-cpu", "relu-relu");
    expect("a=Clip x; b=Clip a", "openvino-vpu", "relu relu");
}

static void test_residual(void **state) {
    (void)state;
    const char *identity = "a=Conv x % ;" BN("b", "a") "c=Relu b; d=Conv c % ;" BN("e", "d") "f=Add e x; g=Relu f";
    expect(identity, "tflite-cpu", "conv-bn-relu conv-bn add-relu");
    expect(identity, "openvino-vpu", "conv-bn-relu conv-bn add-relu");
    expect(identity, "tflite-gpu", "conv-bn-relu conv-bn-add-relu");
    expect(identity, "torch-compile", "conv bn-relu conv bn-add-relu");
    /* The add could join both branches: it joins the one that runs last. */
    const char *two = "a=Conv x % ;" BN("b", "a") "c=Conv x % ;" BN("d", "c") "e=Add b d; f=Relu e";
    expect(two, "tflite-gpu", "conv-bn conv-bn-add-relu");
    ft_graph *graph = build(two);
    ft_kernels kernels = fuse_with(graph, "tflite-gpu");
    assert_int_equal(kernels.items[0].root, 0);
    assert_int_equal(kernels.items[1].root, 2);
    assert_int_equal(kernels.kernel_of_op[5], 1);
    ft_kernels_free(&kernels);
    ft_graph_free(graph);
    /* Trees: the add joins the later bn, and the earlier bn is merged. */
    expect(two, "torch-compile", "conv conv bn-add-relu");
}

static void test_fan_out(void **state) {
    (void)state;
    expect("a=Conv x % ; b=Relu a; c=Sigmoid a; d=Mul b c", "tflite-cpu", "conv relu sigmoid mul");
    /* Graph outputs must be written to memory. */
    expect("a=Conv x % ; b=Relu a ! a", "tflite-cpu", "conv relu");
    expect("a=Conv x % ; b=Relu a; c=Relu b ! b", "tflite-cpu", "conv-relu relu");
    /* Reading the same tensor twice is one reader. */
    expect("a=Conv x % ; b=Add a a", "tflite-gpu", "conv-add");
}

static void test_free_operators(void **state) {
    (void)state;
    expect("a=Conv x % ; b=Identity a; c=Dropout b; d=Relu c", "tflite-cpu", "conv-relu");
    /* The chain ends after a free operator with two readers. */
    expect("a=Conv x % ; b=Identity a; c=Relu b; d=Sigmoid b; e=Add c d", "tflite-cpu", "conv relu sigmoid add");
    /* At the beginning they join their reader, and alone they are a kernel. */
    expect("a=Identity x; b=Identity a; c=Conv b % ", "tflite-cpu", "conv");
    expect("a=Identity x; b=Dropout a", "tflite-cpu", "identity");
    expect("a=Reshape x # ; b=Transpose a; c=MatMul b # ", "torch-eager", "fc");
}

/* --- Blocks -------------------------------------------------------------------------------------------------- */

#define HSIGMOID(y, x) y "1=Add " x " $ ;" y "2=Clip " y "1;" y "=Mul " y "2 $ ;"

static void test_hard_swish(void **state) {
    (void)state;
    const char *decomposed = "a=Conv x % ;" BN("b", "a") HSIGMOID("h", "b") "c=Mul b h";
    expect(decomposed, "tflite-cpu", "conv-bn-hswish");
    expect(decomposed, "openvino-vpu", "conv-bn-hswish");
    expect(decomposed, "torch-eager", "conv bn hswish");
    expect("a=Conv x % ;" BN("b", "a") HSIGMOID("h", "b") "c=Mul h b", "tflite-gpu", "conv-bn-hswish");
    expect("a=Conv x ^ ;" BN("b", "a") HSIGMOID("h", "b") "c=Mul b h", "tflite-cpu", "dwconv-bn hswish");
    expect("a=HardSigmoid x; b=Mul x a", "tflite-cpu", "hswish");
    expect("a=HardSwish x", "tflite-cpu", "hswish");
    expect("a=Add x $ ; b=Clip a; c=Mul x b; d=Div c $ ", "tflite-cpu", "hswish");
    /* An inner result with a reader outside: not a block. */
    expect("a=Add x $ ; b=Clip a; c=Mul b $ ; d=Mul x c; e=Neg b; f=Add d e", "tflite-cpu", "add-relu mul mul neg add");
    expect("a=Add x $ ; b=Clip a; c=Mul b $ ; d=Mul x c ! c", "tflite-cpu", "add-relu mul mul");
    /* Another factor, and a bias that is not a scalar: not a block. */
    expect("a=Add x $ ; b=Clip a; c=Mul b $ ; d=Mul y c", "tflite-cpu", "add-relu mul mul");
    expect("a=Add x # ; b=Clip a; c=Mul b $ ; d=Mul x c", "tflite-cpu", "add-relu mul mul");
}

static void test_squeeze_excite(void **state) {
    (void)state;
    const char *hard =
        "g=GlobalAveragePool x; a=Conv g % ; r=Relu a; b=Conv r % ;" HSIGMOID("h", "b") "m=Mul x h; o=Relu m";
    expect(hard, "tflite-cpu", "se-relu");
    expect(hard, "torch-eager", "gap conv relu conv hsigmoid mul relu");
    const char *soft = "g=GlobalAveragePool x; a=Conv g % ; r=Relu a; b=Conv r % ; h=Sigmoid b; m=Mul h x";
    expect(soft, "tflite-gpu", "se");
    const char *swish =
        "g=GlobalAveragePool x; a=Conv g % ; s=Sigmoid a; r=Mul a s; b=Conv r % ; h=Sigmoid b; m=Mul x h";
    expect(swish, "openvino-vpu", "se");
    expect(swish, "torch-eager", "gap conv silu conv sigmoid mul");
    const char *dense = "g=GlobalAveragePool x; f=Flatten g; a=Gemm f % ; r=Relu a; b=Gemm r % ; h=HardSigmoid b; "
                        "u=Reshape h # ; m=Mul x u";
    expect(dense, "tflite-cpu", "se");
    /* A gate of another map is not squeeze-excite. */
    expect("g=GlobalAveragePool x; a=Conv g % ; r=Relu a; b=Conv r % ; h=Sigmoid b; m=Mul y h", "tflite-cpu",
           "gap conv-relu conv sigmoid mul");
}

static void test_moves(void **state) {
    (void)state;
    expect("a=Reshape x # ; b=Transpose a; c=Reshape b # ", "tflite-cpu", "channelshuffle");
    expect("a=Reshape x # ; b=Transpose a; c=Reshape b # ", "torch-eager", "copy");
    expect("a=GlobalAveragePool x; b=Flatten a; c=Gemm b % ", "tflite-cpu", "gap fc");
    /* A relu joins a reshape, but the relu is the main operator. */
    ft_graph *graph = build("a=Reshape x # ; b=Relu a");
    ft_kernels kernels = fuse_with(graph, "tflite-cpu");
    assert_int_equal(kernels.count, 1);
    assert_string_equal(kernels.items[0].type, "reshape-relu");
    assert_int_equal(kernels.items[0].root, 1);
    ft_kernels_free(&kernels);
    ft_graph_free(graph);
}

#define ERF(y, x) y "1=Div " x " $ ;" y "2=Erf " y "1;" y "3=Add " y "2 $ ;"

static void test_activations(void **state) {
    (void)state;
    expect("a=MatMul x % ; b=Add # a;" ERF("e", "b") "c=Mul b e3; d=Mul c $ ; f=MatMul d % ", "torch-eager",
           "fc gelu fc");
    expect(ERF("e", "x") "c=Mul x $ ; d=Mul c e3", "torch-eager", "gelu");
    expect("a=Sigmoid x; b=Mul x a", "torch-eager", "silu");
    expect("a=Mul x $ ; b=Sigmoid a; c=Mul x b", "torch-compile", "gelu");
    expect("a=Softplus x; b=Tanh a; c=Mul x b", "torch-eager", "mish");
    /* One kernel on the phone is two here. */
    expect("a=Sigmoid x; b=Mul x a", "tflite-cpu", "sigmoid mul");
}

static void test_norms(void **state) {
    (void)state;
    const char *bare = "m=ReduceMean x; d=Sub x m; p=Pow d $ ; v=ReduceMean p; e=Add v $ ; s=Sqrt e; n=Div d s";
    expect(bare, "torch-eager", "ln");
    char affine[256];
    snprintf(affine, sizeof affine, "%s; w=Mul n # ; b=Add w # ", bare);
    expect(affine, "torch-eager", "ln");
    expect(affine, "torch-compile", "ln");
    expect("p=Pow x $ ; m=ReduceMean p; e=Add m $ ; s=Sqrt e; n=Div x s; w=Mul n # ", "torch-eager", "rmsnorm");
    expect("a=Reshape x # ; b=InstanceNormalization a # # ; c=Reshape b # ; d=Mul c # ; e=Add d # ", "torch-eager",
           "gn");
}

static void test_attention(void **state) {
    (void)state;
    const char *scaled =
        "s=Mul q $ ; t=Transpose k; a=MatMul s t; p=Softmax a; o=MatMul p v; r=Transpose o; c=Reshape r # ";
    expect(scaled, "torch-eager", "attention copy");
    /* With the scale after the product, the program computes attention itself; a compiler still fuses it. */
    const char *decomposed = "a=MatMul q k; s=Div a $ ; m=Add s mask; p=Softmax m; o=MatMul p v";
    expect(decomposed, "torch-eager", "matmul div add softmax matmul");
    expect(decomposed, "torch-compile", "attention");
    expect("a=MatMul q k; s=Div a $ ; p=Softmax s; o=MatMul p v", "tflite-cpu", "matmul div softmax matmul");
    /* A window's bias and its mask, with the view that broadcasts it; a mask that selects. */
    expect(
        "s=Mul q $ ; a=MatMul s k; b=Add a # ; r=Reshape b # ; m=Add r mask; t=Reshape m # ; p=Softmax t; o=MatMul p v",
        "torch-eager", "attention");
    expect("s=Div q $ ; a=MatMul s k; w=Where c a $ ; p=Softmax w; d=Dropout p; o=MatMul d v", "torch-eager",
           "attention");
    /* The query may be a product that is not a scaling. */
    expect("r=Mul q cos; a=MatMul r k; p=Softmax a; o=MatMul p v", "torch-compile", "mul attention");
    ft_graph *graph = build(scaled);
    ft_kernels kernels = fuse_with(graph, "torch-compile");
    assert_string_equal(graph->ops[kernels.items[0].root].type, "MatMul");
    ft_kernels_free(&kernels);
    ft_graph_free(graph);
}

/* --- Trees --------------------------------------------------------------------------------------------------- */

static void test_trees(void **state) {
    (void)state;
    /* Several readers do not stop a tree; a type lists each name once. */
    expect("a=Add x y; b=Exp a; c=Neg a; d=Mul b c; e=Add d a", "torch-compile", "add-exp-neg-mul");
    /* A node after a conv does not join the kernel before the conv. */
    expect("a=Relu x; b=Conv a % ; c=Add a b", "torch-compile", "relu conv add");
    expect("a=Relu x; b=Conv a % ; c=Neg a; d=Add b c", "torch-compile", "relu-neg conv add");
    expect("a=Exp x; b=Exp y; c=Exp z; d=Add a b; e=Add d c", "torch-compile", "exp-add");
    expect("a=MaxPool x; b=Relu a", "torch-compile", "maxpool-relu");
    expect("a=Relu x; b=MaxPool a", "torch-compile", "relu maxpool");
    expect("a=LayerNormalization x # # ; b=Add a x; c=LayerNormalization b # # ", "torch-compile", "ln-add");
}

/* A reduction fixes the iteration domain of a kernel: larger nodes do not join. */
static void test_domains(void **state) {
    (void)state;
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(graph, 4, 8), y = toy_input(graph, 16, 4, 8);
    uint32_t a = toy_op(graph, "Relu", x, FT_NONE, FT_NONE, toy_value(graph, 4, 8));
    uint32_t m = toy_op(graph, "ReduceSum", a, FT_NONE, FT_NONE, toy_value(graph, 4, 1));
    uint32_t s = toy_op(graph, "Sqrt", m, FT_NONE, FT_NONE, toy_value(graph, 4, 1));
    uint32_t d = toy_op(graph, "Div", a, s, FT_NONE, toy_value(graph, 4, 8));
    uint32_t e = toy_op(graph, "Add", d, y, FT_NONE, toy_value(graph, 16, 4, 8));
    toy_finish(graph, e, 1, 1);
    ft_kernels kernels = fuse_with(graph, "torch-compile");
    assert_int_equal(kernels.count, 2);
    assert_string_equal(kernels.items[0].type, "relu-reducesum-sqrt-div");
    assert_string_equal(kernels.items[1].type, "add");
    ft_kernels_free(&kernels);
    ft_graph_free(graph);
}

/* --- Names --------------------------------------------------------------------------------------------------- */

static void test_names(void **state) {
    (void)state;
    expect("a=MatMul x % ; b=MatMul a x", "tflite-cpu", "fc matmul");
    expect("a=UnknownOp x", "tflite-cpu", "unknownop");
    expect("a=ReduceMean x", "tflite-cpu", "mean");
    expect("a=Gather x $ ; b=Conv a % ", "torch-eager", "conv");
    expect("a=Gather x # ; b=Conv a % ", "torch-eager", "gather conv");
    ft_graph *graph = build("a=Relu x; b=ReduceMean a");
    ft_attr axes = toy_ints(graph, "axes", -2, -1);
    toy_attrs(graph, &axes, 1);
    ft_kernels kernels = fuse_with(graph, "tflite-cpu");
    assert_string_equal(kernels.items[1].type, "gap");
    ft_kernels_free(&kernels);
    ft_graph_free(graph);
}

static void test_fused_activation(void **state) {
    (void)state;
    ft_graph *graph = build_as(FT_FORMAT_TFLITE, FT_NHWC, "a=CONV_2D x # # ; b=ADD a x");
    for (uint32_t i = 0; i < 2; i++) {
        ft_attr *activation = ARENA_NEW(&graph->memory, ft_attr);
        assert_int_equal(graph_attr_string(graph, activation, "activation", i == 0 ? "RELU6" : "NONE", NULL), FT_OK);
        graph->ops[i].attrs = activation;
        graph->ops[i].attr_count = 1;
    }
    ft_kernels kernels = fuse_with(graph, "tflite-cpu");
    assert_int_equal(kernels.count, 2);
    assert_string_equal(kernels.items[0].type, "conv-relu");
    assert_string_equal(kernels.items[1].type, "add");
    ft_kernels_free(&kernels);
    kernels = fuse_with(graph, "tflite-gpu");
    assert_string_equal(kernels.items[0].type, "conv-relu-add");
    ft_kernels_free(&kernels);
    ft_graph_free(graph);
}

/* --- Folded operators, loops, large and random graphs -------------------------------------------------------- */

static void test_folded(void **state) {
    (void)state;
    ft_graph *graph = build("s=Shape x; c=Cast s; a=Conv x % ; b=Reshape a c; r=Relu b");
    graph->ops[0].is_folded = graph->ops[1].is_folded = true;
    check_all_rules(graph);
    ft_kernels kernels = fuse_with(graph, "tflite-cpu");
    assert_int_equal(kernels.kernel_of_op[0], FT_NONE);
    assert_int_equal(kernels.kernel_of_op[1], FT_NONE);
    assert_int_equal(kernels.count, 2); /* conv, reshape-relu */
    ft_kernels_free(&kernels);
    for (uint32_t i = 0; i < graph->op_count; i++) graph->ops[i].is_folded = true;
    kernels = fuse_with(graph, "torch-compile");
    assert_int_equal(kernels.count, 0);
    ft_kernels_free(&kernels);
    ft_graph_free(graph);
}

/* A loop body is not fused with operators outside of the loop. */
static void test_loops(void **state) {
    (void)state;
    ft_graph *graph = build("a=Conv x % ; b=Relu a; c=Relu b");
    uint32_t loop;
    assert_int_equal(graph_add_loop(graph, &(graph_loop){.trips = 4}, &loop, NULL), FT_OK);
    graph->ops[1].loop = graph->ops[2].loop = loop;
    ft_kernels kernels = fuse_with(graph, "tflite-cpu");
    assert_int_equal(kernels.count, 2);
    assert_string_equal(kernels.items[0].type, "conv");
    assert_string_equal(kernels.items[1].type, "relu-relu");
    ft_kernels_free(&kernels);
    ft_graph_free(graph);
}

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * UINT32_C(1664525) + UINT32_C(1013904223);
    return *seed >> 8;
}

static void test_random_graphs(void **state) {
    (void)state;
    static const char *const types[] = {"Add",     "Mul",       "Relu",   "Sigmoid", "Identity", "Reshape",
                                        "Softmax", "Transpose", "MatMul", "MaxPool", "Clip",     "Div",
                                        "Concat",  "Sub",       "Sqrt",   "Dropout", "Pow",      "ReduceSum"};
    for (uint32_t seed = 1; seed <= 200; seed++) {
        uint32_t random = seed;
        ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
        uint32_t made[64], count = 0;
        made[count++] = toy_input(graph, 4, 8);
        while (count < 64) {
            uint32_t recent = count < 6 ? count : 6;
            uint32_t a = made[count - 1 - next_random(&random) % recent];
            uint32_t b = made[count - 1 - next_random(&random) % recent];
            if (next_random(&random) % 4 == 0) b = toy_tensor(graph, FT_CONSTANT, FT_FLOAT32, TOY_END);
            const char *type = types[next_random(&random) % (sizeof types / sizeof types[0])];
            made[count++] = toy_op(graph, type, a, b, FT_NONE, toy_value(graph, 4, 8));
        }
        toy_finish(graph, made[count - 1], 1, 1);
        check_all_rules(graph);
        ft_graph_free(graph);
    }
}

/* Time is linear also when each operator could end a block, and when one tensor has all the readers. */
static void test_large(void **state) {
    (void)state;
    enum { COUNT = 60000 };
    for (int shape = 0; shape < 3; shape++) {
        ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
        uint32_t x = toy_input(graph, 4, 8), last = x, first = FT_NONE;
        for (uint32_t i = 0; i < COUNT; i++) {
            uint32_t other = shape == 0 ? last : shape == 1 ? toy_tensor(graph, FT_CONSTANT, FT_FLOAT32, TOY_END) : x;
            uint32_t from = shape == 2 && first != FT_NONE ? first : last;
            last = toy_op(graph, i % 2 == 0 ? "Mul" : "Add", from, other, FT_NONE, toy_value(graph, 4, 8));
            if (first == FT_NONE) first = last;
        }
        toy_finish(graph, last, 1, 1);
        check_all_rules(graph);
        ft_graph_free(graph);
    }
}

/* --- Real data ----------------------------------------------------------------------------------------------- */

static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    }
    return false;
}

/* The kernels that nn-Meter's documentation lists for the models of this data set, in our names; those that its
 * recorded rules allow beyond that list (conv with hard-swish, and pools on GPU and VPU); and the kernels of ShuffleNet
 * on the GPU, which nn-Meter did not run there. */
static void test_cg(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"tflite-cpu",
         "conv-relu fc maxpool gap fc-relu concat avgpool conv-bn-relu bn-relu conv se-relu conv-bn dwconv-bn "
         "dwconv-bn-relu add hswish se conv-bn-bn-relu relu add-relu channelshuffle split conv-bn-hswish"},
        {"tflite-gpu",
         "conv-relu fc maxpool gap fc-relu concat avgpool conv-bn-relu bn-relu conv se-relu conv-bn dwconv-bn "
         "conv-bn-add "
         "dwconv-bn-relu hswish se conv-bn-bn-relu conv-bn-add-add-bn-relu add-relu relu conv-bn-add-relu "
         "conv-bn-add-bn-relu add-add conv-bn-add-add add conv-bn-hswish channelshuffle split avgpool-add "
         "avgpool-relu avgpool-add-relu avgpool-add-add"},
        {"openvino-vpu", "conv-relu relu fc maxpool gap concat avgpool conv-bn-relu bn conv se-relu conv-bn dwconv-bn "
                         "dwconv-bn-relu add hswish conv-bn-hswish se conv-bn-bn-relu add-relu channelshuffle split "
                         "conv-avgpool conv-relu-maxpool avgpool-add avgpool-relu avgpool-add-relu avgpool-add-add "
                         "add-avgpool conv-bn-avgpool"},
    };
    const char *folder = "../shared/data/cg/sample";
    if (access(folder, R_OK) != 0) {
        print_message("# %s is not there: not compared\n", folder);
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ft_source *source = NULL;
        ft_graph *graph = NULL, *bound = NULL;
        ft_error error = {.message = ""};
        if (ft_source_open(folder, &source, &error) != FT_OK) fail_msg("%s", error.message);
        while (ft_source_next(source, &graph, &error) == FT_OK && graph != NULL) {
            assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
            ft_kernels kernels = fuse_with(bound, cases[i][0]);
            for (uint32_t k = 0; k < kernels.count; k++) {
                if (!has_word(cases[i][1], kernels.items[k].type))
                    fail_msg("%s, %s: kernel %s", cases[i][0], ft_graph_name(graph), kernels.items[k].type);
            }
            if (i == 0) check_all_rules(bound);
            ft_kernels_free(&kernels);
            ft_graph_free(bound);
            ft_graph_free(graph);
        }
        ft_source_close(source);
    }
}

/* Counted by hand in the models' definitions: layers, blocks and heads. */
static void test_timm(void **state) {
    (void)state;
    static const struct {
        const char *file, *rules, *type;
        uint32_t count;
    } cases[] = {
        {"vit_base_patch16_224@224", "torch-eager", "attention", 12}, /* 12 blocks of 4 linear layers, and the head */
        {"vit_base_patch16_224@224", "torch-eager", "fc", 49},
        {"vit_base_patch16_224@224", "torch-eager", "gelu", 12},
        {"vit_base_patch16_224@224", "torch-eager", "ln", 25},
        {"vit_base_patch16_224@224", "torch-compile", "add-ln", 24},
        {"resnet18@224", "tflite-gpu", "conv-bn-add-relu", 8}, /* 8 blocks, 3 of them with a conv in the shortcut */
        {"resnet18@224", "tflite-gpu", "conv-bn-relu", 9},
        {"resnet18@224", "tflite-gpu", "conv-bn", 3},
        {"mobilenetv3_large_075@224", "tflite-cpu", "se", 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "../shared/data/timm/graphs/%s.onnx.gz", cases[i].file);
        if (access(path, R_OK) != 0) {
            print_message("# %s is not there: not compared\n", path);
            skip();
        }
        ft_graph *graph = NULL, *bound = NULL;
        ft_error error = {.message = ""};
        if (ft_graph_read(path, &graph, &error) != FT_OK) fail_msg("%s", error.message);
        if (ft_graph_bind(graph, NULL, &bound, &error) != FT_OK) fail_msg("%s", error.message);
        check_all_rules(bound);
        ft_kernels kernels = fuse_with(bound, cases[i].rules);
        uint32_t count = 0;
        for (uint32_t k = 0; k < kernels.count; k++) count += strcmp(kernels.items[k].type, cases[i].type) == 0;
        if (count != cases[i].count) fail_msg("%s: %u of %s", cases[i].file, count, cases[i].type);
        ft_kernels_free(&kernels);
        ft_graph_free(bound);
        ft_graph_free(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_residual),
        cmocka_unit_test(test_fan_out),
        cmocka_unit_test(test_free_operators),
        cmocka_unit_test(test_hard_swish),
        cmocka_unit_test(test_squeeze_excite),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_domains),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_fused_activation),
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_cg),
        cmocka_unit_test(test_timm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
