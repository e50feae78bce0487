/* Tests of the CG reader on tables written here, and on the CG set itself when it is available. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "foretell/foretell.h"
#include "read/cg.h"
#include "support/folder.h"

#define MODELS "family,index,name,num_nodes,num_edges,cpu_ms,gpu_ms\n"
#define NODES  "op,in0,in1,in2,in3,in4,k_h,k_w,k_cin,k_cout,s_h,s_w,out0,out1,out2,out3,out4\n"
#define EDGES  "src,dst\n"

/* A convolution, its norm and activation, whose map is recorded as 1xC, and a classifier. */
#define SMALL_NODES                                                                                                    \
    "Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,32,32,3,0\n"                                                                  \
    "Conv2D,1,32,32,3,0,3,3,3,8,2,2,1,16,16,8,0\n"                                                                     \
    "FusedBatchNorm,1,16,16,8,0,0,0,0,0,0,0,1,16,16,8,0\n"                                                             \
    "Relu,1,16,16,8,0,0,0,0,0,0,0,1,8,0,0,0\n"                                                                         \
    "Mean,1,8,0,0,0,0,0,0,0,0,0,1,8,0,0,0\n"                                                                           \
    "Reshape,1,8,0,0,0,0,0,0,0,0,0,-1,8,0,0,0\n"                                                                       \
    "MatMul,-1,8,0,0,0,0,0,0,0,0,0,-1,10,0,0,0\n"
#define SMALL_EDGES "0,1\n1,2\n2,3\n3,4\n4,5\n5,6\n"

static cg_set *open_tables(const char *models, const char *nodes, const char *edges) {
    cg_set *set = NULL;
    ft_error error = {0};
    const cg_texts tables = {{models, nodes, edges}, {strlen(models), strlen(nodes), strlen(edges)}};
    if (cg_open_memory(&tables, "made", &set, &error) != FT_OK) fail_msg("%s", error.message);
    return set;
}

static ft_graph *next_graph(cg_set *set) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (cg_next(set, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_non_null(graph);
    return graph;
}

static void expect_end(cg_set *set) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (cg_next(set, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_null(graph);
    cg_close(set);
}

static ft_graph *only_graph(const char *nodes, const char *edges) {
    char models[256];
    size_t node_count = 0, edge_count = 0;
    for (const char *p = nodes; *p != '\0'; p++) node_count += *p == '\n';
    for (const char *p = edges; *p != '\0'; p++) edge_count += *p == '\n';
    snprintf(models, sizeof models, MODELS "f,0,x,%zu,%zu,,\n", node_count - 1, edge_count - 1);
    cg_set *set = open_tables(models, nodes, edges);
    ft_graph *graph = next_graph(set);
    expect_end(set);
    return graph;
}

static void expect_shape(const ft_graph *graph, const ft_tensor *tensor, const char *expected) {
    char text[128];
    assert_non_null(tensor);
    assert_string_equal(shape_text(graph, tensor, text, sizeof text), expected);
}

static void expect_output(const ft_graph *graph, const char *op_name, const char *expected) {
    for (uint32_t i = 0; i < graph->op_count; i++) {
        if (strcmp(graph->ops[i].name, op_name) != 0) continue;
        expect_shape(graph, op_output(graph, &graph->ops[i], 0), expected);
        return;
    }
    fail_msg("no operator '%s'", op_name);
}

static const ft_op *find_op(const ft_graph *graph, const char *name) {
    for (uint32_t i = 0; i < graph->op_count; i++) {
        if (strcmp(graph->ops[i].name, name) == 0) return &graph->ops[i];
    }
    fail_msg("no operator '%s'", name);
    return NULL;
}

/* --- What is read ------------------------------------------------------------------------------------------------ */

static void test_small(void **state) {
    (void)state;
    ft_graph *g = only_graph(NODES SMALL_NODES, EDGES SMALL_EDGES);
    assert_int_equal(ft_graph_format(g), FT_FORMAT_CG);
    assert_int_equal(ft_graph_layout(g), FT_NHWC);
    assert_int_equal(g->op_count, 6);
    assert_int_equal(g->inputs.count, 1);
    expect_shape(g, &g->tensors[g->inputs.items[0]], "1x32x32x3");
    assert_int_equal(g->outputs.count, 1);
    expect_shape(g, &g->tensors[g->outputs.items[0]], "1x10");
    const ft_op *conv = find_op(g, "1:Conv2D");
    expect_shape(g, op_input(g, conv, 1), "3x3x3x8");
    assert_string_equal(op_input(g, conv, 1)->name, "1:Conv2D/weight");
    assert_int_equal(op_input(g, conv, 1)->role, FT_CONSTANT);
    assert_string_equal(op_attr_string(conv, "auto_pad", ""), "SAME_UPPER");
    uint32_t count;
    assert_int_equal(op_attr_ints(conv, "strides", &count)[1], 2);
    const ft_op *norm = find_op(g, "2:FusedBatchNorm");
    assert_int_equal(norm->input_count, 5);
    expect_shape(g, op_input(g, norm, 4), "8");
    expect_output(g, "3:Relu", "1x16x16x8"); /* recorded as 1x8 */
    const ft_op *mean = find_op(g, "4:Mean");
    assert_int_equal(op_attr_ints(mean, "axes", &count)[0], 1);
    assert_int_equal(count, 2);
    assert_int_equal(op_attr_int(mean, "keepdims", -1), 0);
    const ft_tensor *target = op_input(g, find_op(g, "5:Reshape"), 1);
    assert_int_equal(target->value->count, 2);
    assert_int_equal(target->value->ints[1], 8);
    expect_shape(g, op_input(g, find_op(g, "6:MatMul"), 1), "8x10");
    ft_graph_free(g);
}

/* MACs: 16*16*8*27 + 8*10. Parameters: 27*8, 2*8, 80; the norm's statistics are not parameters. */
static void test_cost_of_small(void **state) {
    (void)state;
    ft_graph *g = only_graph(NODES SMALL_NODES, EDGES SMALL_EDGES), *bound = NULL;
    ft_cost cost = {0};
    ft_error error;
    ft_cost_options options = ft_cost_options_default();
    assert_int_equal(ft_graph_bind(g, NULL, &bound, &error), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_int_equal(cost.total.forward.macs, 55296 + 80);
    assert_int_equal(cost.total.params, 216 + 16 + 80);
    assert_int_equal(cost.buffers, 16);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(g);
}

static void test_meta_and_names(void **state) {
    (void)state;
    cg_set *set = open_tables(MODELS "nets,7,\"a \"\"b\"\"\",7,6,1.25,\nnets,8,,7,6,,2\n",
                              NODES SMALL_NODES SMALL_NODES, EDGES SMALL_EDGES SMALL_EDGES);
    assert_int_equal(cg_count(set), 2);
    ft_graph *g = next_graph(set);
    assert_string_equal(ft_graph_name(g), "a \"b\"");
    assert_string_equal(ft_graph_meta(g, "family"), "nets");
    assert_string_equal(ft_graph_meta(g, "cpu_ms"), "1.25");
    assert_null(ft_graph_meta(g, "gpu_ms")); /* empty: not measured */
    ft_graph_free(g);
    g = next_graph(set);
    assert_string_equal(ft_graph_name(g), "nets_8");
    assert_null(ft_graph_meta(g, "cpu_ms"));
    assert_string_equal(ft_graph_meta(g, "gpu_ms"), "2");
    ft_graph_free(g);
    expect_end(set);
}

/* The pool before it can only be VALID (28 -> 13), so the one whose size is lost is VALID, too: 13 -> 6, not 7. */
static void test_lost_pool_has_the_padding_of_the_last(void **state) {
    (void)state;
    ft_graph *g = only_graph(NODES "Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,28,28,4,0\n"
                                   "MaxPool,1,28,28,4,0,3,3,0,0,2,2,1,13,13,4,0\n"
                                   "MaxPool,1,13,13,4,0,3,3,0,0,2,2,1,4,0,0,0\n"
                                   "Mean,1,4,0,0,0,0,0,0,0,0,0,1,4,0,0,0\n",
                             EDGES "0,1\n1,2\n2,3\n");
    expect_output(g, "2:MaxPool", "1x6x6x4");
    assert_string_equal(op_attr_string(find_op(g, "2:MaxPool"), "auto_pad", ""), "VALID");
    ft_graph_free(g);
}

/* The only other pool is of another type, and SAME. */
static void test_lost_pool_is_same_without_one(void **state) {
    (void)state;
    ft_graph *g = only_graph(NODES "Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,15,15,4,0\n"
                                   "MaxPool,1,15,15,4,0,3,3,0,0,2,2,1,7,7,4,0\n"
                                   "AvgPool,1,7,7,4,0,2,2,0,0,2,2,1,4,0,0,0\n"
                                   "Mean,1,4,0,0,0,0,0,0,0,0,0,1,4,0,0,0\n",
                             EDGES "0,1\n1,2\n2,3\n");
    expect_output(g, "2:AvgPool", "1x4x4x4");
    ft_graph_free(g);
}

static void test_lost_concat(void **state) {
    (void)state;
    ft_graph *g = only_graph(NODES "Placeholder,0,0,0,0,0,0,0,0,0,0,0,-1,7,7,4,0\n"
                                   "Relu,-1,7,7,4,0,0,0,0,0,0,0,-1,7,7,4,0\n"
                                   "ConcatV2,-1,7,7,4,0,0,0,0,0,0,0,-1,8,0,0,0\n"
                                   "Mean,-1,8,0,0,0,0,0,0,0,0,0,-1,8,0,0,0\n",
                             EDGES "0,1\n0,2\n1,2\n2,3\n");
    expect_output(g, "2:ConcatV2", "1x7x7x8");
    assert_int_equal(op_attr_int(find_op(g, "2:ConcatV2"), "axis", -1), 3);
    ft_graph_free(g);
}

/* The gate of a squeeze-and-excite block is recorded with the size of the map it scales. */
static void test_gate_shape(void **state) {
    (void)state;
    ft_graph *g = only_graph(NODES "Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,8,8,4,0\n"
                                   "AvgPool,1,8,8,4,0,8,8,0,0,1,1,1,1,1,4,0\n"
                                   "Const,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
                                   "Mul,1,1,1,4,0,0,0,0,0,0,0,1,8,8,4,0\n"
                                   "Mul,1,8,8,4,0,0,0,0,0,0,0,1,8,8,4,0\n",
                             EDGES "0,1\n1,3\n2,3\n3,4\n0,4\n");
    expect_output(g, "3:Mul", "1x1x1x4");
    expect_output(g, "4:Mul", "1x8x8x4");
    expect_shape(g, op_input(g, find_op(g, "3:Mul"), 1), "scalar");
    assert_string_equal(op_attr_string(find_op(g, "1:AvgPool"), "auto_pad", ""), "VALID");
    assert_int_equal(g->op_count, 3);
    ft_graph_free(g);
}

/* Channel shuffle: the constants and the shape computation are omitted, the work stays. */
static void test_shuffle(void **state) {
    (void)state;
    ft_graph *g = only_graph(NODES "Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,4,4,8,0\n"
                                   "Const,0,0,0,0,0,0,0,0,0,0,0,4,0,0,0,0\n"
                                   "Const,0,0,0,0,0,0,0,0,0,0,0,1,0,0,0,0\n"
                                   "StridedSlice,1,4,4,8,0,0,0,0,0,0,0,1,4,4,8,0\n"
                                   "Pack,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
                                   "Reshape,1,4,4,8,0,0,0,0,0,0,0,1,4,4,2,4\n"
                                   "Const,0,0,0,0,0,0,0,0,0,0,0,5,0,0,0,0\n"
                                   "Transpose,1,4,4,2,4,0,0,0,0,0,0,1,4,4,4,2\n"
                                   "Reshape,1,4,4,4,2,0,0,0,0,0,0,1,4,4,8,0\n"
                                   "Split,1,4,4,8,0,0,0,0,0,0,0,1,4,4,4,0\n"
                                   "Relu,1,4,4,4,0,0,0,0,0,0,0,1,4,4,4,0\n"
                                   "ConcatV2,1,4,4,4,0,0,0,0,0,0,0,1,4,4,8,0\n",
                             EDGES "1,3\n2,3\n3,4\n2,4\n0,5\n4,5\n5,7\n6,7\n7,8\n4,8\n8,9\n9,10\n9,11\n10,11\n");
    assert_int_equal(g->op_count, 6);
    const ft_op *split = find_op(g, "9:Split"), *transpose = find_op(g, "7:Transpose");
    uint32_t count;
    const int64_t *perm = op_attr_ints(transpose, "perm", &count);
    const int64_t expected[] = {0, 1, 2, 4, 3};
    assert_int_equal(count, 5);
    assert_memory_equal(perm, expected, sizeof expected);
    assert_int_equal(transpose->input_count, 1);
    /* Each reader gets a part of its own. */
    assert_int_equal(split->output_count, 2);
    assert_int_equal(find_op(g, "10:Relu")->inputs[0], split->outputs[0]);
    assert_int_equal(find_op(g, "11:ConcatV2")->inputs[0], split->outputs[1]);
    expect_shape(g, op_output(g, split, 1), "1x4x4x4");
    for (uint32_t i = 0; i < g->tensor_count; i++) assert_true(g->tensors[i].use_count > 0 || g->tensors[i].is_output);
    ft_graph_free(g);
}

static void test_unknown_operators_and_order(void **state) {
    (void)state;
    ft_graph *g = only_graph(NODES "Softsign9,1,4,0,0,0,0,0,0,0,0,0,1,4,0,0,0\n"
                                   "Relu,1,4,0,0,0,0,0,0,0,0,0,1,4,0,0,0\n"
                                   "Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,4,0,0,0\n",
                             EDGES "1,0\n2,1\n");
    assert_int_equal(g->op_count, 2);
    assert_string_equal(g->ops[0].type, "Relu"); /* sorted, though the table lists it after its reader */
    assert_false(ft_opdef_is_known(g->ops[1].def));
    ft_graph_free(g);
}

/* --- What is wrong ----------------------------------------------------------------------------------------------- */

static void expect_open_error(const char *models, const char *nodes, const char *edges, const char *message) {
    cg_set *set = NULL;
    ft_error error;
    const cg_texts tables = {{models, nodes, edges}, {strlen(models), strlen(nodes), strlen(edges)}};
    assert_int_not_equal(cg_open_memory(&tables, "made", &set, &error), FT_OK);
    assert_string_equal(error.message, message);
    assert_null(set);
}

static void test_wrong_headers(void **state) {
    (void)state;
    expect_open_error("a,b\n", NODES, EDGES,
                      "made/models.csv: line 1: expected the columns num_nodes and num_edges of a CG table");
    expect_open_error("", NODES, EDGES,
                      "made/models.csv: line 1: expected the columns num_nodes and num_edges of a CG table");
    expect_open_error(MODELS, "op,in0\n", EDGES,
                      "made/nodes.csv: line 1: expected the 17 columns op,in0,... of a CG nodes table");
    expect_open_error(MODELS, NODES, "from,to\n",
                      "made/edges.csv: line 1: expected the 2 columns src,dst,... of a CG edges table");
}

static void expect_next_error(cg_set *set, ft_status expected, const char *message) {
    ft_graph *graph = NULL;
    ft_error error = {0};
    assert_int_equal(cg_next(set, &graph, &error), expected);
    assert_string_equal(error.message, message);
    assert_null(graph);
}

/* Three models; the middle one has an error, the others are read. */
static void expect_middle_error(const char *middle_nodes, const char *middle_edges, ft_status status,
                                const char *message) {
    char nodes[2048], edges[512];
    snprintf(nodes, sizeof nodes, "%s%s%s%s", NODES, SMALL_NODES, middle_nodes, SMALL_NODES);
    snprintf(edges, sizeof edges, "%s%s%s%s", EDGES, SMALL_EDGES, middle_edges, SMALL_EDGES);
    cg_set *set = open_tables(MODELS "f,0,a,7,6,,\nf,1,b,2,1,,\nf,2,c,7,6,,\n", nodes, edges);
    ft_graph_free(next_graph(set));
    expect_next_error(set, status, message);
    ft_graph *last = next_graph(set);
    assert_string_equal(ft_graph_name(last), "c");
    assert_int_equal(last->op_count, 6);
    ft_graph_free(last);
    expect_end(set);
}

#define TWO_NODES                                                                                                      \
    "Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,4,0,0,0\n"                                                                    \
    "Relu,1,4,0,0,0,0,0,0,0,0,0,1,4,0,0,0\n"

static void test_one_bad_model(void **state) {
    (void)state;
    expect_middle_error("Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,4,0,0,0\nRelu,x,4,0,0,0,0,0,0,0,0,0,1,4,0,0,0\n", "0,1\n",
                        FT_ERR_DAMAGED,
                        "model 'b': made/nodes.csv: line 10: in0 is 'x'; expected an integer from -1 to 1099511627776");
    expect_middle_error("Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,4,0,0,0\nRelu,1,4\n", "0,1\n", FT_ERR_DAMAGED,
                        "model 'b': made/nodes.csv: line 10: has 3 fields instead of 17");
    expect_middle_error(TWO_NODES, "0,2\n", FT_ERR_DAMAGED,
                        "model 'b': made/edges.csv: line 8: dst is '2'; expected an integer from 0 to 1");
    expect_middle_error(TWO_NODES, "1,1\n", FT_ERR_GRAPH,
                        "model 'b': made/models.csv: the graph has a cycle through operator '1:Relu' (Relu)");
    expect_middle_error(TWO_NODES, "1,0\n", FT_ERR_GRAPH,
                        "model 'b': made/models.csv: node '0:Placeholder' is a graph input, but has inputs itself");
    expect_middle_error(TWO_NODES, "0\n", FT_ERR_DAMAGED,
                        "model 'b': made/edges.csv: line 8: expected two node numbers, src,dst");
}

static void test_tables_that_do_not_agree(void **state) {
    (void)state;
    cg_set *set = open_tables(MODELS "f,0,a,8,6,,\n", NODES SMALL_NODES, EDGES SMALL_EDGES);
    expect_next_error(set, FT_ERR_DAMAGED,
                      "model 'a': made/nodes.csv: truncated: has 7 of the 8 rows that made/models.csv:2 announces");
    expect_end(set);
    set = open_tables(MODELS "f,0,a,7,2000000,,\n", NODES SMALL_NODES, EDGES SMALL_EDGES);
    expect_next_error(
        set, FT_ERR_DAMAGED,
        "model 'a': made/edges.csv: truncated: has 6 of the 2000000 rows that made/models.csv:2 announces");
    expect_end(set);
    set = open_tables(MODELS "f,0,a,7,5,,\n", NODES SMALL_NODES, EDGES SMALL_EDGES);
    ft_graph_free(next_graph(set));
    expect_next_error(set, FT_ERR_DAMAGED,
                      "made/edges.csv: has 1 rows more than the models in made/models.csv announce");
    expect_end(set);
    set = open_tables(MODELS "f,0,a,99999999999,6,,\n", NODES SMALL_NODES, EDGES SMALL_EDGES);
    expect_next_error(set, FT_ERR_DAMAGED,
                      "made/models.csv: line 2: num_nodes is '99999999999'; expected an integer from 1 to 2000000");
    expect_end(set);
}

/* Wherever the tables end, each missing model is reported once. */
static void test_every_lost_model_is_named(void **state) {
    (void)state;
    cg_set *set = open_tables(MODELS "f,0,a,7,6,,\nf,1,b,9,6,,\nf,2,c,7,6,,\n", NODES SMALL_NODES SMALL_NODES,
                              EDGES SMALL_EDGES SMALL_EDGES SMALL_EDGES);
    ft_graph_free(next_graph(set));
    expect_next_error(set, FT_ERR_DAMAGED,
                      "model 'b': made/nodes.csv: truncated: has 7 of the 9 rows that made/models.csv:3 announces");
    expect_next_error(set, FT_ERR_DAMAGED,
                      "model 'c': made/nodes.csv: truncated: has 0 of the 7 rows that made/models.csv:4 announces");
    expect_end(set);
    set = open_tables(MODELS "f,0,a,-7,6,,\nf,1,b,7,6,,\nf,2,c,7\n", NODES SMALL_NODES SMALL_NODES,
                      EDGES SMALL_EDGES SMALL_EDGES);
    expect_next_error(set, FT_ERR_DAMAGED,
                      "made/models.csv: line 2: num_nodes is '-7'; expected an integer from 1 to 2000000");
    for (int line = 3; line <= 4; line++) {
        char message[200];
        snprintf(message, sizeof message,
                 "made/models.csv: line %d: the first row of this model is unknown: line 2 has no valid num_nodes "
                 "and num_edges",
                 line);
        expect_next_error(set, FT_ERR_DAMAGED, message);
    }
    expect_end(set);
}

/* --- Files ------------------------------------------------------------------------------------------------------- */

static void write_table(const char *folder, const char *name, const char *text, bool is_packed) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.csv%s", folder, name, is_packed ? ".gz" : "");
    gzFile file = gzopen(path, is_packed ? "wb" : "wbT");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    gzclose(file);
}

static void test_files(void **state) {
    (void)state;
    const char *folder = "tables";
    char path[512];
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_false(cg_matches_path(folder));
    write_table(folder, "models", MODELS "f,0,a,7,6,,\nf,1,b,7,6,,\n", false);
    write_table(folder, "nodes", NODES SMALL_NODES SMALL_NODES, true);
    assert_false(cg_matches_path(folder));
    write_table(folder, "edges", EDGES SMALL_EDGES SMALL_EDGES, true);
    assert_true(cg_matches_path(folder));
    snprintf(path, sizeof path, "%s/nodes.csv.gz", folder);
    assert_true(cg_matches_path(path));
    snprintf(path, sizeof path, "%s/nodes.txt", folder);
    assert_false(cg_matches_path(path));
    snprintf(path, sizeof path, "%s/models.csv", folder);
    const char *const places[] = {folder, path};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        ft_source *source;
        ft_error error;
        ft_graph *graph;
        assert_int_equal(ft_source_open(places[i], &source, &error), FT_OK);
        assert_int_equal(ft_source_count(source), 2);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(ft_source_next(source, &graph, &error), FT_OK);
            assert_int_equal(graph->op_count, 6);
            ft_graph_free(graph);
        }
        assert_int_equal(ft_source_next(source, &graph, &error), FT_OK);
        assert_null(graph);
        ft_source_close(source);
    }
}

static void test_absent_folder(void **state) {
    (void)state;
    cg_set *set = NULL;
    ft_error error;
    assert_int_equal(cg_open("tests/no-such-folder", &set, &error), FT_ERR_FORMAT);
    assert_int_equal(cg_open("tests", &set, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "tests: models.csv"));
}

static void test_matches(void **state) {
    (void)state;
    const char *const tables[] = {MODELS, NODES, EDGES, "src,dst\r\n1,2"};
    for (size_t i = 0; i < 4; i++) assert_true(cg_matches((const uint8_t *)tables[i], strlen(tables[i])));
    assert_false(cg_matches((const uint8_t *)"src,dstx\n", 9));
    assert_false(cg_matches((const uint8_t *)"", 0));
}

/* --- The set itself ---------------------------------------------------------------------------------------------- */

static bool has_set(void) {
    if (access("../shared/data/cg/sample/models.csv", R_OK) == 0) return true;
    print_message("# ../shared/data/cg is not available: only small tables are tested\n");
    return false;
}

/* Known networks: torchvision's parameter counts minus the 1000 biases of the classifier, which CG omits. */
static void test_sample(void **state) {
    (void)state;
    if (!has_set()) skip();
    static const struct {
        const char *name;
        uint64_t params;
    } known[] = {{"resnet18_0", 11689512 - 1000}, {"resnet34_0", 21797672 - 1000}, {"resnet50_0", 25557032 - 1000}};
    cg_set *set = NULL;
    ft_error error;
    int found = 0, count = 0;
    assert_int_equal(cg_open("../shared/data/cg/sample", &set, &error), FT_OK);
    assert_int_equal(cg_count(set), 44);
    for (ft_graph *g; cg_next(set, &g, &error) == FT_OK && g != NULL; count++) {
        ft_graph *bound = NULL;
        ft_cost cost = {0};
        ft_cost_options options = ft_cost_options_default();
        if (ft_graph_bind(g, NULL, &bound, &error) != FT_OK) fail_msg("%s: %s", ft_graph_name(g), error.message);
        assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
        assert_true(cost.coverage_ratio == 1);
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (strcmp(known[i].name, ft_graph_name(g)) != 0) continue;
            assert_int_equal(cost.total.params, known[i].params);
            found++;
        }
        ft_cost_free(&cost);
        ft_graph_free(bound);
        ft_graph_free(g);
    }
    cg_close(set);
    assert_int_equal(count, 44);
    assert_int_equal(found, 3);
}

/* Whole families: every graph is built and bound, and binding infers the shapes of the repaired tables. */
static void expect_family(const char *family) {
    char path[256];
    cg_set *set = NULL;
    ft_error error = {0};
    uint64_t count = 0;
    snprintf(path, sizeof path, "../shared/data/cg/%s", family);
    assert_int_equal(cg_open(path, &set, &error), FT_OK);
    for (;; count++) {
        ft_graph *g = NULL, *bound = NULL;
        if (cg_next(set, &g, &error) != FT_OK) fail_msg("%s", error.message);
        if (g == NULL) break;
        if (ft_graph_bind(g, NULL, &bound, &error) != FT_OK) fail_msg("%s: %s", ft_graph_name(g), error.message);
        for (uint32_t i = 0; i < g->tensor_count; i++) {
            char before[128], after[128];
            assert_string_equal(shape_text(bound, &bound->tensors[i], after, sizeof after),
                                shape_text(g, &g->tensors[i], before, sizeof before));
        }
        ft_graph_free(bound);
        ft_graph_free(g);
    }
    assert_int_equal(count, cg_count(set));
    cg_close(set);
}

static void test_families(void **state) {
    (void)state;
    if (!has_set()) skip();
    expect_family("alexnets");
    expect_family("squeezenets");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_cost_of_small),
        cmocka_unit_test(test_meta_and_names),
        cmocka_unit_test(test_lost_pool_has_the_padding_of_the_last),
        cmocka_unit_test(test_lost_pool_is_same_without_one),
        cmocka_unit_test(test_lost_concat),
        cmocka_unit_test(test_gate_shape),
        cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_unknown_operators_and_order),
        cmocka_unit_test(test_wrong_headers),
        cmocka_unit_test(test_one_bad_model),
        cmocka_unit_test(test_tables_that_do_not_agree),
        cmocka_unit_test(test_every_lost_model_is_named),
        cmocka_unit_test_setup_teardown(test_files, folder_enter, folder_leave),
        cmocka_unit_test(test_absent_folder),
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_families),
    };
    return cmocka_run_group_tests_name("read/cg", tests, NULL, NULL);
}
