/* Tests of the reader of TensorFlow graphs on whole models: nodes, options, constants, functions, control flow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "foretell/foretell.h"
#include "graph/graph.h"
#include "support/folder.h"
#include "support/onnx_model.h"
#include "support/tf_model.h"

static ft_graph *read_or_fail(const tf_model *m) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (tf_model_read(m, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    return graph;
}

static ft_graph *bind_or_fail(const ft_graph *graph) {
    ft_graph *bound = NULL;
    ft_error error = {0};
    if (ft_graph_bind(graph, NULL, &bound, &error) != FT_OK) fail_msg("%s", error.message);
    return bound;
}

static uint64_t macs_of(const ft_graph *bound) {
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    ft_error error;
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    uint64_t macs = cost.total.forward.macs;
    ft_cost_free(&cost);
    return macs;
}

static void assert_shape(const ft_graph *bound, const char *tensor, const char *expected) {
    char text[128];
    assert_string_equal(shape_text(bound, tensor_named(bound, tensor), text, sizeof text), expected);
}

/* The shape of tensor `y` and the MACs of a model. */
static void check(const char *text, const char *tensor, const char *shape, uint64_t macs) {
    tf_model *m = tf_model_new(text);
    tf_model_pack(m);
    ft_graph *graph = read_or_fail(m), *bound = bind_or_fail(graph);
    assert_shape(bound, tensor, shape);
    assert_int_equal(macs_of(bound), macs);
    ft_graph_free(bound);
    ft_graph_free(graph);
    tf_model_free(m);
}

static void check_failure(const char *text, ft_status status, const char *message) {
    tf_model *m = tf_model_new(text);
    ft_graph *graph = NULL;
    ft_error error = {0};
    tf_model_pack(m);
    assert_int_equal(tf_model_read(m, &graph, &error), status);
    assert_null(graph);
    if (strstr(error.message, message) == NULL) fail_msg("'%s' is not in: %s", message, error.message);
    tf_model_free(m);
}

#define X  "Placeholder x dtype=float shape=-1,8,8,3\n"
#define XN "Placeholder x dtype=float shape=2,3,8,8\n"

static void reads_a_frozen_network(void **state) {
    (void)state;
    tf_model *m = tf_model_new("Relu r b\n" /* nodes need not be sorted */
                               "BiasAdd b c bias/read data_format=NHWC\n"
                               "Conv2D c x w/read strides=1,2,2,1 padding=SAME data_format=NHWC ^init\n" X
                               "Const w dtype=float shape=3,3,3,4\n"
                               "Identity w/read w T=float\n"
                               "Const bias dtype=float shape=4\n"
                               "Identity bias/read bias T=float\n"
                               "NoOp init ^w\n");
    tf_model_pack(m);
    ft_graph *graph = read_or_fail(m);
    assert_int_equal(ft_graph_format(graph), FT_FORMAT_TENSORFLOW);
    assert_int_equal(ft_graph_layout(graph), FT_NHWC);
    assert_string_equal(ft_graph_name(graph), "test.pb");
    assert_int_equal(ft_graph_op_count(graph), 3); /* without Identity, Const, NoOp */
    assert_string_equal(ft_graph_ops(graph)[0].type, "Conv2D");
    assert_string_equal(ft_graph_ops(graph)[2].name, "r");
    assert_int_equal(ft_graph_input_count(graph), 1);
    assert_int_equal(ft_graph_output_count(graph), 1);
    assert_string_equal(ft_dim_symbol(graph, tensor_named(graph, "x")->dims[0]), "batch");
    assert_int_equal(tensor_named(graph, "w")->stored_bytes, 3 * 3 * 3 * 4 * 4);
    assert_null(tensor_named(graph, "w")->value); /* weights are not read */
    ft_graph *bound = bind_or_fail(graph);
    assert_shape(bound, "r", "1x4x4x4");
    assert_int_equal(macs_of(bound), 4 * 4 * 4 * 27);
    ft_graph_free(bound);
    ft_graph_free(graph);
    tf_model_free(m);
}

static void options_become_attributes(void **state) {
    (void)state;
    check(X "Const w dtype=float shape=3,3,3,2\nDepthwiseConv2dNative y x w strides=1,1,1,1 padding=VALID\n", "y",
          "1x6x6x6", 36 * 6 * 9);
    check(XN "Const w dtype=float shape=3,3,3,4\nConv2D y x w strides=1,1,2,2 padding=SAME data_format=NCHW\n", "y",
          "2x4x4x4", 2 * 16 * 4 * 27);
    check(X "Const w dtype=float shape=3,3,3,4\n"
            "Conv2D y x w strides=1,2,2,1 padding=EXPLICIT explicit_paddings=0,0,1,2,0,1,0,0 dilations=1,1,1,1\n",
          "y", "1x5x4x4", 20 * 4 * 27);
    check(X "Const w dtype=float shape=3,3,3,4\nConv2D y x w strides=1,1,1,1 padding=VALID dilations=1,2,2,1\n", "y",
          "1x4x4x4", 16 * 4 * 27);
    check(X "MaxPool y x ksize=1,2,2,1 strides=1,2,2,1 padding=VALID\n", "y", "1x4x4x3", 0);
    /* The filter of a transposed convolution is height, width, channels out, channels in. */
    check(X "Const w dtype=float shape=3,3,5,3\nConst size dtype=int32 shape=4 value=1,16,16,5\n"
            "Conv2DBackpropInput y size w x strides=1,2,2,1 padding=SAME\n",
          "y", "1x16x16x5", 64 * 9 * 3 * 5);
    check("Placeholder a dtype=float shape=4,6\nConst w dtype=float shape=10,4\n"
          "MatMul y a w transpose_a=true transpose_b=true\n",
          "y", "6x10", 6 * 4 * 10);
    check("Placeholder a dtype=float shape=2,4,6\nPlaceholder b dtype=float shape=2,4,5\nBatchMatMulV2 y a b "
          "adj_x=true\n",
          "y", "2x6x5", 2 * 6 * 4 * 5);
    check("Placeholder a dtype=float shape=2,4,6\nPlaceholder b dtype=float shape=6,3,5\n"
          "Einsum y a b equation=abc,cde->abde\n",
          "y", "2x4x3x5", 2 * 4 * 6 * 15);
}

static void fused_operators_are_one(void **state) {
    (void)state;
    const char *text = X "Const w dtype=float shape=1,1,3,4\nConst b dtype=float shape=4\n"
                         "_FusedConv2D y x w b strides=1,1,1,1 padding=SAME fused_ops=#BiasAdd,Relu6 num_args=1\n";
    tf_model *m = tf_model_new(text);
    tf_model_pack(m);
    ft_graph *graph = read_or_fail(m);
    assert_int_equal(ft_graph_op_count(graph), 1);
    assert_string_equal(ft_op_attr(&ft_graph_ops(graph)[0], "activation")->s, "RELU6");
    ft_graph_free(graph);
    tf_model_free(m);
    check(text, "y", "1x8x8x4", 64 * 12);
    check("Placeholder a dtype=float shape=4,6\nConst w dtype=float shape=6,10\nConst b dtype=float shape=10\n"
          "_FusedMatMul y a w b fused_ops=#BiasAdd\n",
          "y", "4x10", 240);
}

/* Operands that ONNX has as attributes, shape arithmetic, slices. */
static void operands_are_read(void **state) {
    (void)state;
    check(X "Const axis dtype=int32 shape= value=3\nConcatV2 y x x axis N=2\n", "y", "1x8x8x6", 0);
    check(X "Const axis dtype=int32 shape= value=-1\nConcat y axis x x x N=3\n", "y", "1x8x8x9", 0);
    check(X "Const axes dtype=int32 shape=2 value=1,2\nMean y x axes\n", "y", "1x3", 0);
    check(X "Const axes dtype=int32 shape=2 value=1,2\nSum y x axes keep_dims=true\n", "y", "1x1x1x3", 0);
    check(X "Const axes dtype=int32 shape=0\nMax y x axes\n", "y", "1x8x8x3", 0);
    check(X "Const axis dtype=int32 shape= value=3\nSplit s axis x num_split=3\nRelu y s:2\n", "y", "1x8x8x1", 0);
    check(X "Const i dtype=int32 shape=5 value=0,1,2,0,1\nConst axis dtype=int32 shape= value=1\n"
            "GatherV2 y x i axis\n",
          "y", "1x5x8x3", 0);
    check(X "Const b dtype=int32 shape=2 value=0,2\nConst e dtype=int32 shape=2 value=0,6\n"
            "Const s dtype=int32 shape=2 value=1,2\nStridedSlice y x b e s begin_mask=1 end_mask=1\n",
          "y", "1x2x8x3", 0);
    check(X "Shape s x out_type=int32\nConst b dtype=int32 shape=1 value=0\nConst e dtype=int32 shape=1 value=1\n"
            "Const t dtype=int32 shape=1 value=1\nStridedSlice n s b e t shrink_axis_mask=1\n"
            "Const rest dtype=int32 shape= value=-1\nPack p n rest axis=0 N=2\nReshape y x p\n",
          "y", "1x192", 0);
    check(X "Const size dtype=int32 shape=2 value=16,24\nResizeBilinear y x size\n", "y", "1x16x24x3", 0);
    /* Images of a resize are NHWC also where those of convolutions are NCHW. */
    check(XN "MaxPool p x ksize=1,1,2,2 strides=1,1,2,2 padding=VALID data_format=NCHW\n"
             "Const perm dtype=int32 shape=4 value=0,2,3,1\nTranspose t p perm\n"
             "Const size dtype=int32 shape=2 value=16,24\nResizeBilinear y t size\n",
          "y", "2x16x24x3", 0);
    check("Placeholder b dtype=float shape=50,4\nPlaceholder s dtype=float shape=50\n"
          "Const n dtype=int32 shape= value=10\nConst t dtype=float shape=\nNonMaxSuppressionV3 y b s n t t\n",
          "y", "10", 0);
}

/* In the list for its type, the last element of a constant stands for all that follow. */
static void lists_of_elements_are_read(void **state) {
    (void)state;
    tf_model *m = tf_model_new(X "Const axes dtype=int32 shape=2\nMean y x axes\n");
    Tf__Tensor *tensor = tf_model_node(m, "axes")->attr[2]->value->tensor;
    int32_t axes[] = {1, 2};
    tensor->has_tensor_content = false;
    tensor->int_val = axes;
    tensor->n_int_val = 2;
    tf_model_pack(m);
    ft_graph *graph = read_or_fail(m), *bound = bind_or_fail(graph);
    assert_shape(bound, "y", "1x3");
    ft_graph_free(bound);
    ft_graph_free(graph);
    tensor->n_int_val = 1; /* 1, 1 */
    tf_model_pack(m);
    graph = read_or_fail(m);
    assert_int_equal(tensor_named(graph, "axes")->value->ints[1], 1);
    ft_graph_free(graph);
    tf_model_free(m);
}

/* --- Functions and control flow ---------------------------------------------------------------------------------- */

#define MATRIX "Placeholder x dtype=float shape=4,6\nConst w dtype=float shape=6,6\n"

static void functions_are_inlined(void **state) {
    (void)state;
    check(MATRIX "StatefulPartitionedCall y x w f=@outer\n"
                 "function outer a b -> out=two:output:0\n"
                 "PartitionedCall one a b f=@inner\nPartitionedCall two one:output:0 b f=@inner\nend\n"
                 "function inner a b -> out=m:product:0\nMatMul m a b\nend\n",
          "y/two/m", "4x6", 2 * 4 * 36);
    /* Variables are weights that are not in the file. */
    check("Placeholder x dtype=float shape=4,6\nVarHandleOp v dtype=float shape=6,10\n"
          "StatefulPartitionedCall y x v f=@dense\n"
          "function dense a r -> out=m:product:0\nReadVariableOp w r dtype=float\nMatMul m a w:value:0\nend\n",
          "y/m", "4x10", 4 * 60);
}

static void a_signature_names_the_outputs(void **state) {
    (void)state;
    tf_model *m = tf_model_new(MATRIX "MatMul a x w\nRelu b a\nRelu c b\nSaveV2 save c\n");
    tf_model_pack_saved(m, "out=b:0");
    ft_graph *graph = read_or_fail(m);
    assert_int_equal(ft_graph_op_count(graph), 2); /* c is not needed */
    assert_string_equal(ft_graph_meta(graph, "producer"), "TensorFlow 2.9.1");
    assert_string_equal(ft_graph_meta(graph, "signature"), "serving_default");
    assert_true(tensor_named(graph, "b")->is_output);
    ft_graph_free(graph);
    tf_model_pack_saved(m, NULL);
    graph = read_or_fail(m);
    assert_int_equal(ft_graph_op_count(graph), 3); /* c is saved, and is a result nevertheless */
    ft_graph_free(graph);
    tf_model_free(m);
}

/* A folder with a SavedModel stands for the file in it; a folder without one is no model. */
static void a_folder_is_a_model(void **state) {
    (void)state;
    tf_model *m = tf_model_new(MATRIX "MatMul y x w\n");
    ft_graph *graph = NULL;
    ft_error error = {0};
    tf_model_pack_saved(m, "out=y:0");
    assert_int_equal(mkdir("net", 0777), 0);
    assert_int_not_equal(ft_graph_read("net", &graph, &error), FT_OK);
    FILE *file = fopen("net/saved_model.pb", "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(m->bytes, 1, m->size, file), m->size);
    fclose(file);
    static const char *const paths[] = {"net", "net/", "net/saved_model.pb"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ft_graph_read(paths[i], &graph, &error), FT_OK);
        assert_string_equal(ft_graph_name(graph), "net");
        ft_graph_free(graph);
    }
    tf_model_free(m);
}

/* Of a branch whose condition is not known, the one with more operators counts. */
static void branches_are_selected(void **state) {
    (void)state;
#define BRANCHES                                                                                                       \
    "function big a b -> out=n:product:0\nMatMul m a b\nMatMul n m:product:0 b\nend\n"                                 \
    "function small a b -> out=r:y:0\nRelu r a\nend\n"
    check(MATRIX "Placeholder c dtype=bool shape=\nIf y c x w then_branch=@small else_branch=@big\n" BRANCHES, "y",
          "4x6", 2 * 4 * 36);
    check(MATRIX
          "Const c dtype=bool shape= value=1\nStatelessIf y c x w then_branch=@small else_branch=@big\n" BRANCHES,
          "y", "4x6", 0);
    /* The same as Switch and Merge. */
#define SWITCHES "Switch s x c\nRelu r s:1\nMatMul m s w\nMatMul n m w\nMerge y n r N=2\nNeg z y\n"
    check(MATRIX "Placeholder c dtype=bool shape=\n" SWITCHES, "z", "4x6", 2 * 4 * 36);
    check(MATRIX "Const c dtype=bool shape= value=1\n" SWITCHES, "z", "4x6", 0);
    check(MATRIX "Const c dtype=bool shape= value=0\n" SWITCHES, "z", "4x6", 2 * 4 * 36);
}

/* A counter from 0 to 5: the product runs five times. The weights do not change, so they stay constant. */
static void trip_counts_are_found(void **state) {
    (void)state;
    check(MATRIX
          "Const zero dtype=int32 shape= value=0\nWhile l zero x w cond=@test body=@step\nRelu y l:1\n"
          "function test i h v -> out=less:z:0\nConst n dtype=int32 shape= value=5\nLess less i n:output:0\nend\n"
          "function step i h v -> a=add:z:0 b=m:product:0 c=same:output:0\n"
          "Const one dtype=int32 shape= value=1\nAddV2 add i one:output:0\nMatMul m h v\nIdentity same v\nend\n",
          "y", "4x6", 5 * 4 * 36);
    check(MATRIX "Const zero dtype=int32 shape= value=0\nConst one dtype=int32 shape= value=1\n"
                 "Const five dtype=int32 shape= value=5\n"
                 "Enter ei zero frame_name=f\nEnter eh x frame_name=f\nEnter ew w frame_name=f is_constant=true\n"
                 "Enter en five frame_name=f is_constant=true\nEnter e1 one frame_name=f is_constant=true\n"
                 "Merge mi ei ni N=2\nMerge mh eh nh N=2\nLess less mi en\nLoopCond go less\n"
                 "Switch si mi go\nSwitch sh mh go\nAdd add si:1 e1\nMatMul m sh:1 ew\n"
                 "NextIteration ni add\nNextIteration nh m\nExit out sh\nRelu y out\n",
          "y", "4x6", 5 * 4 * 36);
}

/* Lists of tensors: a recurrent layer reads an element a trip, and stacks its results. */
static void lists_are_slices_and_stacks(void **state) {
    (void)state;
    check(
        "Placeholder x dtype=float shape=5,4,6\nConst w dtype=float shape=6,6\nConst zero dtype=int32 shape= value=0\n"
        "Const item dtype=int32 shape=2 value=4,6\nConst n dtype=int32 shape= value=5\n"
        "TensorListFromTensor from x item\nTensorListReserve to item n\n"
        "While l zero from to w cond=@test body=@step\nTensorListStack y l:2 item\nRelu z y\n"
        "function test i a b v -> out=less:z:0\nConst n dtype=int32 shape= value=5\nLess less i n:output:0\nend\n"
        "function step i a b v -> o=add:z:0 p=a q=set:output_handle:0 r=v\n"
        "Const one dtype=int32 shape= value=1\nConst item dtype=int32 shape=2 value=4,6\nAddV2 add i one:output:0\n"
        "TensorListGetItem h a i item:output:0\nMatMul m h:item:0 v\nTensorListSetItem set b i m:product:0\nend\n",
        "z", "5x4x6", 5 * 4 * 36);
}

/* --- What is not understood -------------------------------------------------------------------------------------- */

static void unknown_operators_lower_the_coverage(void **state) {
    (void)state;
    tf_model *m = tf_model_new(MATRIX "QuantizedMatMulWithBias q x w\nRelu y q\n");
    tf_model_pack(m);
    ft_graph *graph = read_or_fail(m), *bound = bind_or_fail(graph);
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    ft_error error;
    assert_false(ft_opdef_is_known(ft_graph_ops(graph)[0].def));
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_int_equal(cost.estimated_ops, 2);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
    tf_model_free(m);
    /* An axis that is not constant is not taken for the first one. */
    check(X "Placeholder axis dtype=int32 shape=\nConcatV2 y x x axis N=2\n", "y", "?", 0);
}

static void damage_is_reported(void **state) {
    (void)state;
    check_failure(X "Relu y z\n", FT_ERR_GRAPH, "'z' is read, but no node computes it");
    check_failure(X "Relu x x\n", FT_ERR_GRAPH, "two nodes have the name 'x'");
    check_failure(X "Add a x b\nRelu b a\nRelu y a\n", FT_ERR_GRAPH, "depends on itself");
    check_failure(X "Relu y x:9999\n", FT_ERR_LIMIT, "at most 4096 outputs");
    check_failure(X "Const c dtype=float shape=2\nAdd y x c:1\n", FT_ERR_GRAPH, "output 1 of node 'c'");
    check_failure(X "PartitionedCall y x f=@none\n", FT_ERR_GRAPH, "calls function 'none'");
    check_failure(X "PartitionedCall y x f=@f\nfunction f a -> o=g:o:0\nPartitionedCall g a f=@f\nend\n", FT_ERR_LIMIT,
                  "nested more than 64 deep");
    check_failure(X "PartitionedCall y x f=@f\nfunction f a b -> o=a\nend\n", FT_ERR_GRAPH,
                  "passes 1 values to a function of 2 arguments");
    check_failure(X "PartitionedCall y x f=@f\nfunction f a -> o=r:y:zero\nRelu r a\nend\n", FT_ERR_DAMAGED,
                  "is not the name of an output");
    check_failure("Placeholder x dtype=float shape=2,-7\nRelu y x\n", FT_ERR_DAMAGED, "dimension 1");
    check_failure("Placeholder x dtype=float shape=1,1,1,1,1,1,1,1,1\nRelu y x\n", FT_ERR_LIMIT, "9 dimensions");
    check_failure("Const c dtype=float shape=2\n", FT_ERR_GRAPH, "no node computes a result");
    check_failure(X "Split y x x num_split=100000\n", FT_ERR_LIMIT, "100000 outputs");
}

/* Twenty functions, each of which calls the next one twice. */
static void work_is_limited(void **state) {
    (void)state;
    char text[8192] = X "PartitionedCall y x f=@f0\n";
    for (int i = 0; i < 40; i++) {
        char function[160];
        snprintf(function, sizeof function,
                 "function f%d a -> o=q:o:0\nPartitionedCall p a f=@f%d\nPartitionedCall q p:o:0 f=@f%d\nend\n", i,
                 i + 1, i + 1);
        strcat(text, function);
    }
    strcat(text, "function f40 a -> o=a\nend\n");
    check_failure(text, FT_ERR_LIMIT, "after inlining");
}

/* Every prefix of a file is an error, or a smaller graph; never a crash. */
static void truncation_is_reported(void **state) {
    (void)state;
    tf_model *m = tf_model_new(MATRIX "If y c x w then_branch=@f else_branch=@f\nPlaceholder c dtype=bool shape=\n"
                                      "function f a b -> out=m:product:0\nMatMul m a b\nend\n");
    for (int is_saved = 0; is_saved < 2; is_saved++) {
        if (is_saved)
            tf_model_pack_saved(m, "out=y:0");
        else
            tf_model_pack(m);
        for (size_t size = 0; size < m->size; size++) {
            uint8_t *part = malloc(size + 1); /* its own block: a sanitizer detects a read past the end */
            ft_graph *graph = NULL;
            ft_error error;
            assert_non_null(part);
            memcpy(part, m->bytes, size);
            ft_status status = ft_graph_read_memory(part, size, "part", &graph, &error);
            if (is_saved) assert_int_not_equal(status, FT_OK);
            if (size > 30 && is_saved) assert_int_equal(status, FT_ERR_DAMAGED);
            ft_graph_free(graph);
            free(part);
        }
    }
    tf_model_free(m);
}

/* Bytes of a wrong length for the shape. */
static void payloads_are_checked(void **state) {
    (void)state;
    tf_model *m = tf_model_new(MATRIX "MatMul y x w\n");
    tf_model_node(m, "w")->attr[2]->value->tensor->tensor_content.len = 140;
    tf_model_pack(m);
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(tf_model_read(m, &graph, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "constant 'w' (float32, 6x6) has 140 bytes of data, not 144"));
    tf_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_frozen_network),
        cmocka_unit_test(options_become_attributes),
        cmocka_unit_test(fused_operators_are_one),
        cmocka_unit_test(operands_are_read),
        cmocka_unit_test(lists_of_elements_are_read),
        cmocka_unit_test(functions_are_inlined),
        cmocka_unit_test(a_signature_names_the_outputs),
        cmocka_unit_test_setup_teardown(a_folder_is_a_model, folder_enter, folder_leave),
        cmocka_unit_test(branches_are_selected),
        cmocka_unit_test(trip_counts_are_found),
        cmocka_unit_test(lists_are_slices_and_stacks),
        cmocka_unit_test(unknown_operators_lower_the_coverage),
        cmocka_unit_test(damage_is_reported),
        cmocka_unit_test(work_is_limited),
        cmocka_unit_test(truncation_is_reported),
        cmocka_unit_test(payloads_are_checked),
    };
    return cmocka_run_group_tests_name("read/graphdef", tests, NULL, NULL);
}
