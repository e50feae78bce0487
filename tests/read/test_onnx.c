/* Tests of the ONNX reader on whole models: names, types, attributes, constants, metadata. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/onnx_model.h"

static void reads_a_small_network(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    m->proto->producer_name = "tester";
    m->proto->producer_version = "1.2";
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "N,3,8,8");
    onnx_input(m, m->graph, "w", ONNX_FLOAT, "4,3,3,3"); /* old files list their weights among the inputs */
    onnx_initializer(m, m->graph, "w", ONNX_FLOAT, "4,3,3,3");
    Onnx__NodeProto *conv = onnx_node(m, m->graph, "Conv", "x w", "c");
    conv->name = "conv1";
    int64_t strides[] = {2, 2};
    onnx_attr_ints(m, conv, "strides", strides, 2);
    onnx_attr_int(m, conv, "group", 1);
    onnx_info(m, m->graph, "c", ONNX_FLOAT, "N,4,M,3");
    onnx_node(m, m->graph, "Relu", "c", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);

    ft_graph *g = onnx_model_read(m);
    assert_string_equal(ft_graph_name(g), "g");
    assert_int_equal(ft_graph_format(g), FT_FORMAT_ONNX);
    assert_int_equal(ft_graph_layout(g), FT_NCHW);
    assert_string_equal(ft_graph_meta(g, "producer"), "tester 1.2");
    assert_string_equal(ft_graph_meta(g, "opset"), "17");
    assert_string_equal(ft_graph_meta(g, "ir_version"), "8");
    assert_string_equal(op_types(m, g), "Conv Relu");
    assert_int_equal(ft_graph_input_count(g), 1);
    assert_int_equal(ft_graph_output_count(g), 1);

    const ft_tensor *x = tensor_named(g, "x"), *w = tensor_named(g, "w"), *c = tensor_named(g, "c");
    assert_int_equal(x->role, FT_INPUT);
    assert_int_equal(x->rank, 4);
    assert_string_equal(ft_dim_symbol(g, x->dims[0]), "N");
    assert_int_equal(x->dims[3], 8);
    assert_int_equal(w->role, FT_CONSTANT);
    assert_int_equal(w->stored_bytes, 0); /* dims and type, but no data */
    assert_null(w->value);
    assert_int_equal(c->dims[0], x->dims[0]);
    assert_true(c->dims[2] == FT_DIM_UNKNOWN); /* symbols that no input has count as unknown */
    assert_int_equal(c->dims[3], 3);
    assert_int_equal(tensor_named(g, "y")->rank, -1);
    assert_true(tensor_named(g, "y")->is_output);

    const ft_op *op = op_named(g, "conv1");
    assert_int_equal(op->input_count, 2);
    assert_int_equal(ft_op_attr(op, "strides")->count, 2);
    assert_int_equal(ft_op_attr(op, "strides")->ints[1], 2);
    assert_int_equal(ft_op_attr(op, "group")->i, 1);
    assert_string_equal(ft_graph_ops(g)[1].name, "y"); /* an unnamed node gets the name of its output */
    ft_graph_free(g);
    onnx_model_free(m);
}

static void reads_attributes_of_all_kinds(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "2");
    Onnx__NodeProto *node = onnx_node(m, m->graph, "Thing", "x - x", "y -");
    node->domain = "my.domain";
    node->name = "n";
    Onnx__AttributeProto *a = onnx_attr(m, node, "f", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = true;
    a->f = 0.5f;
    a = onnx_attr(m, node, "s", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    a->has_s = true;
    a->s = (ProtobufCBinaryData){.len = 5, .data = (uint8_t *)"bij->"};
    float floats[] = {1.0f, -2.0f};
    a = onnx_attr(m, node, "fs", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    a->n_floats = 2;
    a->floats = floats;
    ProtobufCBinaryData strings[] = {{.len = 4, .data = (uint8_t *)"Tanh"}, {.len = 4, .data = (uint8_t *)"Relu"}};
    a = onnx_attr(m, node, "ss", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
    a->n_strings = 2;
    a->strings = strings;
    float one_value = 7.0f;
    Onnx__TensorProto *one = onnx_tensor(m, "", ONNX_FLOAT, "1");
    onnx_raw(m, one, &one_value, sizeof one_value);
    onnx_attr(m, node, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t = one;
    int64_t three_values[] = {4, 5, 6};
    Onnx__TensorProto *three = onnx_tensor(m, "", ONNX_INT64, "3");
    three->n_int64_data = 3;
    three->int64_data = three_values;
    onnx_attr(m, node, "list", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t = three;
    a = onnx_attr(m, node, "old", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED); /* as before IR 2 */
    a->has_i = true;
    a->i = -3;
    onnx_output(m, m->graph, "y", ONNX_FLOAT, "2");

    ft_graph *g = onnx_model_read(m);
    const ft_op *op = op_named(g, "n");
    assert_string_equal(op->type, "my.domain::Thing");
    assert_false(ft_opdef_is_known(op->def));
    assert_int_equal(op->inputs[1], FT_NONE);
    assert_int_equal(op->outputs[1], FT_NONE);
    assert_true(ft_op_attr(op, "f")->f == 0.5);
    assert_string_equal(ft_op_attr(op, "s")->s, "bij->");
    assert_true(ft_op_attr(op, "fs")->floats[1] == -2.0);
    assert_string_equal(ft_op_attr(op, "ss")->s, "Tanh Relu");
    assert_true(ft_op_attr(op, "value")->f == 7.0);
    assert_int_equal(ft_op_attr(op, "value_dtype")->i, FT_FLOAT32);
    assert_int_equal(ft_op_attr(op, "list")->count, 3);
    assert_int_equal(ft_op_attr(op, "list")->ints[2], 6);
    assert_int_equal(ft_op_attr(op, "list_dtype")->i, FT_INT64);
    assert_int_equal(ft_op_attr(op, "old")->i, -3);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void operators_of_other_domains_are_found_by_name(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "2");
    onnx_node(m, m->graph, "Relu", "x", "a")->domain = "com.example";
    onnx_node(m, m->graph, "Relu", "a", "b")->domain = "ai.onnx";
    onnx_node(m, m->graph, "Nonesuch", "b", "c")->domain = "ai.onnx.ml";
    onnx_output(m, m->graph, "c", ONNX_FLOAT, "2");
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "Relu Relu Nonesuch");
    assert_true(ft_opdef_is_known(ft_graph_ops(g)[0].def));
    ft_graph_free(g);
    onnx_model_free(m);
}

static void constant_nodes_are_tensors(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    int64_t ints[] = {1, -1};
    float floats[] = {0.25f};
    onnx_attr_int(m, onnx_node(m, m->graph, "Constant", "", "i"), "value_int", 42);
    onnx_attr_ints(m, onnx_node(m, m->graph, "Constant", "", "is"), "value_ints", ints, 2);
    Onnx__AttributeProto *a = onnx_attr(m, onnx_node(m, m->graph, "Constant", "", "f"), "value_float",
                                        ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    a->has_f = true;
    a->f = 1.5f;
    a = onnx_attr(m, onnx_node(m, m->graph, "Constant", "", "fs"), "value_floats",
                  ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    a->floats = floats;
    a->n_floats = 1;
    a = onnx_attr(m, onnx_node(m, m->graph, "Constant", "", "s"), "value_string",
                  ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    a->has_s = true;
    a->s = (ProtobufCBinaryData){.len = 1, .data = (uint8_t *)"q"};
    Onnx__TensorProto *t = onnx_tensor(m, "", ONNX_INT32, "2,1");
    onnx_raw(m, t, (int32_t[]){-5, 6}, 8);
    onnx_attr(m, onnx_node(m, m->graph, "Constant", "", "t"), "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)
        ->t = t;
    onnx_node(m, m->graph, "Concat", "i is f fs s t", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);

    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "Concat");
    assert_int_equal(tensor_named(g, "i")->role, FT_CONSTANT);
    assert_int_equal(tensor_named(g, "i")->rank, 0);
    assert_int_equal(tensor_named(g, "i")->value->ints[0], 42);
    assert_int_equal(tensor_named(g, "is")->dims[0], 2);
    assert_int_equal(tensor_named(g, "is")->value->ints[1], -1);
    assert_true(tensor_named(g, "f")->value->floats[0] == 1.5);
    assert_int_equal(tensor_named(g, "fs")->rank, 1);
    assert_int_equal(tensor_named(g, "s")->dtype, FT_STRING);
    assert_int_equal(tensor_named(g, "t")->dims[0], 2);
    assert_int_equal(tensor_named(g, "t")->value->ints[0], -5);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void unsorted_nodes_are_sorted(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "2");
    onnx_node(m, m->graph, "Sigmoid", "b", "y");
    onnx_node(m, m->graph, "Tanh", "a", "b");
    onnx_node(m, m->graph, "Relu", "x", "a");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, "2");
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(op_types(m, g), "Relu Tanh Sigmoid");
    ft_graph_free(g);
    onnx_model_free(m);
}

static void types_without_a_shape_have_no_rank(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    Onnx__TypeProto__Sequence sequence = ONNX__TYPE_PROTO__SEQUENCE__INIT;
    Onnx__ValueInfoProto *info = onnx_input(m, m->graph, "list", ONNX_FLOAT, "2");
    sequence.elem_type = arena_copy(&m->memory, info->type, sizeof *info->type);
    info->type->value_case = ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE;
    info->type->sequence_type = &sequence;
    onnx_input(m, m->graph, "free", ONNX_FLOAT16, NULL);
    onnx_input(m, m->graph, "scalar", ONNX_FLOAT, "");
    onnx_input(m, m->graph, "odd", ONNX_INT8, "?,-1,0");
    onnx_node(m, m->graph, "SequenceAt", "list scalar", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, NULL);
    ft_graph *g = onnx_model_read(m);
    assert_int_equal(tensor_named(g, "list")->rank, -1);
    assert_int_equal(tensor_named(g, "free")->rank, -1);
    assert_int_equal(tensor_named(g, "free")->dtype, FT_FLOAT16);
    assert_int_equal(tensor_named(g, "scalar")->rank, 0);
    assert_int_equal(tensor_named(g, "odd")->rank, 3);
    assert_true(tensor_named(g, "odd")->dims[0] == FT_DIM_UNKNOWN);
    assert_true(tensor_named(g, "odd")->dims[1] == FT_DIM_UNKNOWN);
    assert_int_equal(tensor_named(g, "odd")->dims[2], 0);
    ft_graph_free(g);
    onnx_model_free(m);
}

static void keeps_metadata(void **state) {
    (void)state;
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "2");
    onnx_node(m, m->graph, "Relu", "x", "y");
    onnx_output(m, m->graph, "y", ONNX_FLOAT, "2");
    static char blob[100000];
    memset(blob, 'z', sizeof blob - 1);
    Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT, large = entry;
    entry.key = "licence";
    entry.value = "none";
    large.key = "large";
    large.value = blob;
    Onnx__StringStringEntryProto *entries[] = {&entry, &large};
    m->proto->metadata_props = entries;
    m->proto->n_metadata_props = 2;
    Onnx__OperatorSetIdProto set = ONNX__OPERATOR_SET_ID_PROTO__INIT;
    Onnx__OperatorSetIdProto *sets[] = {m->proto->opset_import[0], &set};
    set.domain = "com.microsoft";
    set.has_version = true;
    set.version = 1;
    m->proto->opset_import = sets;
    m->proto->n_opset_import = 2;
    ft_graph *g = onnx_model_read(m);
    assert_string_equal(ft_graph_meta(g, "licence"), "none");
    assert_string_equal(ft_graph_meta(g, "large"), "");
    assert_string_equal(ft_graph_meta(g, "opset.com.microsoft"), "1");
    assert_null(ft_graph_meta(g, "producer"));
    ft_graph_free(g);
    onnx_model_free(m);
}

/* --- What is wrong is said --------------------------------------------------------------------------------------- */

static onnx_model *relu_model(void) {
    onnx_model *m = onnx_model_new();
    onnx_input(m, m->graph, "x", ONNX_FLOAT, "2");
    onnx_node(m, m->graph, "Relu", "x", "y")->name = "relu";
    onnx_output(m, m->graph, "y", ONNX_FLOAT, "2");
    return m;
}

static void check_fails(onnx_model *m, ft_status expected, const char *part) {
    ft_error error;
    assert_int_equal(onnx_model_fails(m, &error), expected);
    assert_int_equal(error.status, expected);
    if (strncmp(error.message, "test.onnx: ", 11) != 0 || strstr(error.message, part) == NULL)
        fail_msg("'%s' does not contain '%s'", error.message, part);
    onnx_model_free(m);
}

static void refuses_wrong_graphs(void **state) {
    (void)state;
    onnx_model *m = relu_model();
    onnx_node(m, m->graph, "Tanh", "x", "y");
    check_fails(m, FT_ERR_GRAPH, "'y'");

    m = relu_model();
    onnx_initializer(m, m->graph, "y", ONNX_FLOAT, "2");
    check_fails(m, FT_ERR_GRAPH, "'y'");

    m = relu_model();
    onnx_node(m, m->graph, "Tanh", "nowhere", "z");
    check_fails(m, FT_ERR_GRAPH, "'nowhere'");

    m = relu_model();
    onnx_output(m, m->graph, "missing", ONNX_FLOAT, "2");
    check_fails(m, FT_ERR_GRAPH, "'missing'");

    m = relu_model();
    onnx_node(m, m->graph, "Add", "b x", "a")->name = "first";
    onnx_node(m, m->graph, "Relu", "a", "b");
    check_fails(m, FT_ERR_GRAPH, "cycle");

    m = relu_model();
    m->graph->node[0]->op_type = "";
    check_fails(m, FT_ERR_DAMAGED, "'relu'");

    m = relu_model();
    onnx_node(m, m->graph, "Constant", "", "c");
    check_fails(m, FT_ERR_DAMAGED, "'c'");

    m = relu_model();
    onnx_input(m, m->graph, "deep", ONNX_FLOAT, "1,1,1,1,1,1,1,1,1");
    check_fails(m, FT_ERR_LIMIT, "'deep'");

    m = relu_model();
    onnx_input(m, m->graph, "long", ONNX_FLOAT, "9000000000000000");
    check_fails(m, FT_ERR_LIMIT, "'long'");

    m = relu_model();
    onnx_input(m, m->graph, "huge", ONNX_FLOAT, "1000000000,1000000000");
    check_fails(m, FT_ERR_LIMIT, "'huge'");

    m = relu_model();
    for (int i = 0; i < 300; i++) onnx_attr_int(m, m->graph->node[0], "a", i);
    check_fails(m, FT_ERR_LIMIT, "'relu'");

    m = relu_model();
    m->proto->graph = NULL;
    m->proto->producer_name = "cut";
    check_fails(m, FT_ERR_DAMAGED, "no graph");
}

/* --- Real files -------------------------------------------------------------------------------------------------- */

static void reads_every_timm_graph(void **state) {
    (void)state;
    const char *folder = "../shared/data/timm/graphs";
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        print_message("# %s is not available: only small models are tested\n", folder);
        skip();
        return;
    }
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strstr(entry->d_name, ".onnx.gz") == NULL) continue;
        char path[1024];
        ft_graph *g = NULL;
        ft_error error;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (ft_graph_read(path, &g, &error) != FT_OK) fail_msg("%s", error.message);
        assert_int_equal(ft_graph_input_count(g), 1);
        assert_true(ft_graph_op_count(g) > 10);
        /* python3-onnx counts 175 nodes other than Constant, and 267 initialisers. */
        if (strcmp(entry->d_name, "resnet50@224.onnx.gz") == 0) {
            uint32_t constants = 0;
            for (uint32_t i = 0; i < ft_graph_tensor_count(g); i++)
                constants += ft_graph_tensors(g)[i].role == FT_CONSTANT;
            assert_int_equal(ft_graph_op_count(g), 175);
            assert_int_equal(constants, 267);
        }
        ft_graph_free(g);
        count++;
    }
    closedir(dir);
    assert_true(count > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_small_network),
        cmocka_unit_test(reads_attributes_of_all_kinds),
        cmocka_unit_test(operators_of_other_domains_are_found_by_name),
        cmocka_unit_test(constant_nodes_are_tensors),
        cmocka_unit_test(unsorted_nodes_are_sorted),
        cmocka_unit_test(types_without_a_shape_have_no_rank),
        cmocka_unit_test(keeps_metadata),
        cmocka_unit_test(refuses_wrong_graphs),
        cmocka_unit_test(reads_every_timm_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
