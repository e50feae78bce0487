/* Tests of the PerfSeer reader on pickles written by real networkx: the four in tests/data/perfseer, and, when
 * Python has networkx, all forms of make_pickles.py. The expected numbers are computed by hand below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "foretell/foretell.h"
#include "graph/graph.h"
#include "read/perfseer.h"
#include "support/folder.h"

#define SHIPPED "tests/data/perfseer"

static char root[PATH_MAX]; /* of the tree: tests that write are in folders of their own */

static void expect_shape(const ft_tensor *t, int32_t rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    const int64_t dims[] = {a, b, c, d};
    assert_non_null(t);
    assert_int_equal(t->rank, rank);
    for (int32_t i = 0; i < rank; i++) assert_int_equal(t->dims[i], dims[i]);
}

/* MACs: 4*8*16*16*27 + 4*8*16*16*9 + 4*16*16*16*8 + 4*32*10. Parameters: 3x3x3x8+8, 3x3x8+8, 2x8, 8x16, 32x10+10. */
static void expect_cost(const ft_graph *graph) {
    ft_graph *bound = NULL;
    ft_cost cost = {0};
    ft_error error;
    ft_cost_options options = ft_cost_options_default();
    assert_int_equal(ft_graph_bind(graph, NULL, &bound, &error), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_int_equal(cost.total.forward.macs, 221184 + 73728 + 131072 + 1280);
    assert_int_equal(cost.total.params, 224 + 80 + 16 + 128 + 330);
    assert_int_equal(cost.buffers, 16);
    assert_int_equal(ft_graph_batch(bound), 4);
    assert_true(cost.coverage_ratio == 1);
    /* The file's count omits the addition of biases: at most one operation in 18 here. */
    for (uint32_t i = 0; i < bound->op_count; i++) {
        double said = op_attr_float(&bound->ops[i], "stored_flops", -1), ours = (double)cost.ops[i].forward.flops;
        assert_true(ours >= said && ours <= said * (1 + 1.0 / 18));
    }
    ft_cost_free(&cost);
    ft_graph_free(bound);
}

static void expect_network(const char *path) {
    static const char *const types[] = {
        "Conv",        "Relu", "Conv",   "BatchNormalization", "Relu",    "Conv", "MaxPool",
        "AveragePool", "Add",  "Concat", "GlobalAveragePool",  "Flatten", "Gemm"};
    ft_graph *graph = NULL;
    ft_error error = {0};
    if (ft_graph_read(path, &graph, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(ft_graph_format(graph), FT_FORMAT_PERFSEER);
    assert_int_equal(ft_graph_layout(graph), FT_NCHW);
    assert_int_equal(graph->op_count, 13);
    for (uint32_t i = 0; i < 13; i++) assert_string_equal(graph->ops[i].type, types[i]);
    assert_int_equal(graph->inputs.count, 1);
    assert_int_equal(graph->outputs.count, 1);
    expect_shape(&graph->tensors[graph->inputs.items[0]], 4, 4, 3, 32, 32);
    expect_shape(&graph->tensors[graph->outputs.items[0]], 2, 4, 10, 0, 0);
    expect_shape(op_input(graph, &graph->ops[0], 1), 4, 8, 3, 3, 3);
    expect_shape(op_input(graph, &graph->ops[0], 2), 1, 8, 0, 0, 0);
    expect_shape(op_input(graph, &graph->ops[2], 1), 4, 8, 1, 3, 3);
    assert_int_equal(op_attr_int(&graph->ops[2], "group", 0), 8);
    assert_int_equal(graph->ops[3].input_count, 5);
    assert_int_equal(graph->ops[5].input_count, 2); /* no bias */
    assert_ptr_equal(op_input(graph, &graph->ops[8], 0), op_output(graph, &graph->ops[6], 0));
    assert_ptr_equal(op_input(graph, &graph->ops[8], 1), op_output(graph, &graph->ops[7], 0));
    assert_ptr_equal(op_input(graph, &graph->ops[9], 1), op_output(graph, &graph->ops[8], 0));
    expect_shape(op_input(graph, &graph->ops[12], 1), 2, 10, 32, 0, 0);
    expect_shape(op_output(graph, &graph->ops[9], 0), 4, 4, 32, 8, 8);
    assert_string_equal(ft_graph_meta(graph, "stored_flops"), "952832");
    expect_cost(graph);
    ft_graph_free(graph);
}

static int expect_folder(const char *folder) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[1024];
        if (strstr(entry->d_name, ".pkl") == NULL) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        expect_network(path);
        count++;
    }
    closedir(dir);
    return count;
}

static void test_shipped(void **state) {
    (void)state;
    assert_int_equal(expect_folder(SHIPPED), 4);
}

static void test_all_forms(void **state) {
    (void)state;
    if (system("/usr/bin/python3 -c 'import networkx' 2>/dev/null") != 0) {
        print_message("# python3-networkx is not installed: only the shipped pickles are tested\n");
        skip();
    }
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "/usr/bin/python3 '%s/tests/read/make_pickles.py' .", root);
    assert_int_equal(system(command), 0);
    assert_true(expect_folder(".") >= 42); /* seven forms, six protocols; numpy's scalars when it is installed */
}

/* --- Small pickles by hand --------------------------------------------------------------------------------------- */

static ft_status read_bytes(const char *text, size_t size, ft_graph **graph, ft_error *error) {
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, text, size);
    ft_status status = ft_graph_read_memory(copy, size, "hand.pkl", graph, error);
    free(copy);
    return status;
}

static void expect_error(const char *text, ft_status expected, const char *message) {
    ft_graph *graph = NULL;
    ft_error error;
    assert_int_equal(read_bytes(text, strlen(text), &graph, &error), expected);
    assert_string_equal(error.message, message);
    assert_null(graph);
}

/* {0: {1: {}}, 1: {}}: edges between nodes without features. */
static void test_bare_dict_of_dicts(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error;
    const char text[] = "(dI0\n(dI1\n(dssI1\n(ds.";
    assert_int_equal(read_bytes(text, sizeof text - 1, &graph, &error), FT_OK);
    assert_int_equal(graph->op_count, 2);
    assert_string_equal(graph->ops[0].type, "unknown");
    assert_string_equal(graph->ops[1].name, "1:unknown");
    assert_ptr_equal(op_input(graph, &graph->ops[1], 0), op_output(graph, &graph->ops[0], 0));
    assert_int_equal(op_output(graph, &graph->ops[0], 0)->rank, -1);
    ft_graph_free(graph);
}

static void test_errors(void **state) {
    (void)state;
    expect_error("(dI0\n(dI1\n(dssI1\n(dI0\n(dss.", FT_ERR_GRAPH,
                 "hand.pkl: the graph has a cycle through operator '0:unknown' (unknown)");
    expect_error("(dI0\n(dI7\n(dss.", FT_ERR_GRAPH, "hand.pkl: edge 0 of node '0:unknown' leads to an unknown node");
    expect_error("(dI0\n(dsI0\n(ds.", FT_ERR_GRAPH, "hand.pkl: two nodes have the key '0'");
    expect_error("(dI0\nI1\ns.", FT_ERR_FORMAT,
                 "hand.pkl: a pickle that is neither a networkx graph nor a dict of dicts");
    expect_error("(d.", FT_ERR_FORMAT, "hand.pkl: a pickle that is neither a networkx graph nor a dict of dicts");
    expect_error("(d(lI0\n(dss.", FT_ERR_DAMAGED,
                 "hand.pkl: pickle, byte 10: sets a key of a value that is not a dict");
    expect_error("cos\nsystem\n(S'touch /tmp/owned'\ntR.", FT_ERR_REFUSED,
                 "hand.pkl: the pickle refers to 'os.system', which is not a data type of a graph: refused; "
                 "nothing was run");
}

/* A dict that is its own successor list, under its own feature. */
static void test_values_that_hold_themselves(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error;
    const char text[] = "(dp0\nS'feature'\ng0\ns.";
    ft_status status = read_bytes(text, sizeof text - 1, &graph, &error);
    assert_true(status == FT_OK || status == FT_ERR_GRAPH);
    ft_graph_free(graph);
}

/* 1500 nodes that share one dict of 1500 successors: 25 KB that claim 2.25 million edges. */
static void test_shared_successors_end_at_the_limit(void **state) {
    (void)state;
    buf text = {0};
    ft_graph *graph = NULL;
    ft_error error;
    buf_text(&text, "(dp0\n");
    for (int i = 0; i < 1500; i++) buf_format(&text, "I%d\n(ds", i);
    buf_text(&text, "0(d");
    for (int i = 0; i < 1500; i++) buf_format(&text, "I%d\ng0\ns", i);
    buf_char(&text, '.');
    assert_false(text.failed);
    assert_int_equal(read_bytes(text.data, text.length, &graph, &error), FT_ERR_LIMIT);
    assert_string_equal(error.message, "hand.pkl: more than 2000000 edges");
    buf_free(&text);
}

/* Sizes that are negative, huge, fractional or not numbers count as unknown. */
static void test_odd_numbers(void **state) {
    (void)state;
    const char *const numbers[] = {"I-5\n", "F1e300\n", "S'x'\n", "N", "(l", "F0.4\n", "S'-3'\n", "S'1e400'\n"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "(dI0\n(dS'feature'\n(dS'type'\nS'Conv'\nsS'flops'\n%ssS'args'\n(dS'conv_kernel_size'\n%sssS'memory_"
                 "info'\n(dS'output_channels'\n%ssS'output_h'\n%ssS'output_w'\n%ssS'input_channels'\n%sssss.",
                 numbers[i], numbers[i], numbers[i], numbers[i], numbers[i], numbers[i]);
        ft_graph *graph = NULL;
        ft_error error = {0};
        if (read_bytes(text, strlen(text), &graph, &error) != FT_OK) fail_msg("%zu: %s", i, error.message);
        assert_int_equal(graph->op_count, 1);
        assert_int_equal(op_output(graph, &graph->ops[0], 0)->rank, -1);
        ft_graph_free(graph);
    }
}

/* --- Labels and names -------------------------------------------------------------------------------------------- */

static void test_label(void **state) {
    (void)state;
    const char *text = "{'train': '0.5|62.4|30|5255|99|80.5|6000', 'infer': '1e-1| 2 |3|4|5|6|7'}\n";
    perfseer_label label;
    ft_error error;
    assert_int_equal(perfseer_parse_label(text, strlen(text), &label, &error), FT_OK);
    assert_true(label.has_train && label.has_infer);
    const double train[] = {0.5, 62.4, 30, 5255, 99, 80.5, 6000}, infer[] = {0.1, 2, 3, 4, 5, 6, 7};
    for (int i = 0; i < PERFSEER_FIELDS; i++) {
        assert_true(label.train[i] == train[i]);
        assert_true(fabs(label.infer[i] - infer[i]) < 1e-15);
    }
    text = "{ \"infer\" : \"1|2|3|4|5|6|7\" , }";
    assert_int_equal(perfseer_parse_label(text, strlen(text), &label, &error), FT_OK);
    assert_true(!label.has_train && label.has_infer);
}

static void test_bad_labels(void **state) {
    (void)state;
    const char *const texts[] = {"",
                                 "{",
                                 "{}",
                                 "train",
                                 "{'train'}",
                                 "{'train': 1}",
                                 "{'train': '1|2|3|4|5|6'}",
                                 "{'train': '1|2|3|4|5|6|7|8'}",
                                 "{'train': '1|2|3|4|5|6|x'}",
                                 "{'train': '1|2|3|4|5|6|'}",
                                 "{'test': '1|2|3|4|5|6|7'}",
                                 "{'train': '1|2|3|4|5|6|7'",
                                 "{'train': '1|2|3|4|5|6|7'} x",
                                 "{'train': '1|2|3|4|5|6|7",
                                 "{'train': '1|2|3|4|5|6|7' 'infer': '1|2|3|4|5|6|7'}",
                                 "{__import__('os').system('x')}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        perfseer_label label;
        ft_error error;
        assert_int_equal(perfseer_parse_label(texts[i], strlen(texts[i]), &label, &error), FT_ERR_DAMAGED);
        assert_non_null(strstr(error.message, "label, byte "));
    }
}

static const char model_name[] = "bs128_x_s['mobilenet', 'vggnet', 'resnext', 'densenet']_bnum[1, 2]";

static void test_names(void **state) {
    (void)state;
    perfseer_name name;
    perfseer_parse_name(model_name, &name);
    assert_int_equal(name.batch, 128);
    assert_int_equal(name.style_count, 4);
    assert_string_equal(name.styles[0], "mobilenet");
    assert_string_equal(name.styles[3], "densenet");
    perfseer_parse_name("a/b_s['x']/bs2_net.pkl", &name);
    assert_int_equal(name.batch, 2);
    assert_int_equal(name.style_count, 0);
    const char *const odd[] = {"",
                               "bs",
                               "bs_",
                               "bsx_1",
                               "bs0_",
                               "bs99999999999999999999_",
                               "bs12.pkl",
                               "abs12_",
                               "_s['a', 'b']_bnum",
                               "_s[]_bnum",
                               "_s['a', 'b', 'c', 'd', 'e']_bnum",
                               "_s['a"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        perfseer_parse_name(odd[i], &name);
        assert_int_equal(name.batch, 0);
        assert_int_equal(name.style_count, 0);
    }
}

static void copy_file(const char *from, const char *to) {
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    for (int c; (c = getc(in)) != EOF;) putc(c, out);
    fclose(in);
    fclose(out);
}

static void write_file(const char *path, const char *text) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* Reads cg/NAME.pkl with a label text at `place`/NAME.txt, and no other files. */
static ft_status read_labelled(const char *place, const char *label, ft_graph **graph, ft_error *error) {
    char from[PATH_MAX + 64], pickle[1024], path[1024];
    snprintf(from, sizeof from, "%s/" SHIPPED "/plain_p4.pkl", root);
    snprintf(pickle, sizeof pickle, "cg/%s.pkl", model_name);
    snprintf(path, sizeof path, "%s/%s.txt", place, model_name);
    mkdir("cg", 0777);
    mkdir("label", 0777);
    copy_file(from, pickle);
    write_file(path, label);
    ft_status status = ft_graph_read(pickle, graph, error);
    assert_int_equal(unlink(path), 0);
    return status;
}

static void test_labels_beside_the_file(void **state) {
    (void)state;
    const char *const places[] = {"cg", "label"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        ft_graph *graph = NULL;
        ft_error error;
        assert_int_equal(
            read_labelled(places[i], "{'train': '1|2|3|4|5|6|7', 'infer': '0.25|2|3|4|5|6|1410'}", &graph, &error),
            FT_OK);
        assert_string_equal(ft_graph_meta(graph, "train_time_per_sample_ms"), "1");
        assert_string_equal(ft_graph_meta(graph, "infer_time_per_sample_ms"), "0.25");
        assert_string_equal(ft_graph_meta(graph, "infer_memory_peak_mib"), "1410");
        assert_string_equal(ft_graph_meta(graph, "batch"), "128");
        assert_string_equal(ft_graph_meta(graph, "stage_styles"), "mobilenet,vggnet,resnext,densenet");
        assert_string_equal(ft_graph_name(graph), model_name);
        ft_graph_free(graph);
    }
}

static void test_bad_label_beside_the_file(void **state) {
    (void)state;
    ft_graph *graph = NULL;
    ft_error error;
    assert_int_equal(read_labelled("label", "{'train': 'oops'}", &graph, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, ".txt: label, byte "));
    assert_null(graph);
    /* A text file that is not a label is ignored. */
    assert_int_equal(read_labelled("cg", "notes on this model", &graph, &error), FT_OK);
    assert_null(ft_graph_meta(graph, "label_file"));
    ft_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped),
        cmocka_unit_test_setup_teardown(test_all_forms, folder_enter, folder_leave),
        cmocka_unit_test(test_bare_dict_of_dicts),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_values_that_hold_themselves),
        cmocka_unit_test(test_shared_successors_end_at_the_limit),
        cmocka_unit_test(test_odd_numbers),
        cmocka_unit_test(test_label),
        cmocka_unit_test(test_bad_labels),
        cmocka_unit_test(test_names),
        cmocka_unit_test_setup_teardown(test_labels_beside_the_file, folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(test_bad_label_beside_the_file, folder_enter, folder_leave),
    };
    if (getcwd(root, sizeof root) == NULL) return 1;
    return cmocka_run_group_tests_name("read/perfseer", tests, NULL, NULL);
}
