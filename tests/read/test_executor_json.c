/* Tests of the graph-executor reader: the corpus file, and texts with one error each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "read/executor_json.h"
#include "support/failing.h"

static buf small_file(void) {
    buf bytes = {0};
    FILE *file = fopen("fuzz/corpus/executor/small.json", "rb");
    assert_non_null(file);
    for (int c; (c = getc(file)) != EOF;) buf_char(&bytes, (char)c);
    fclose(file);
    return bytes;
}

static void test_small(void **state) {
    (void)state;
    buf bytes = small_file();
    executor_graph g;
    ft_error error = {0};
    assert_true(executor_matches((const uint8_t *)bytes.data, bytes.length));
    if (executor_read((const uint8_t *)bytes.data, bytes.length, &g, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(g.node_count, 5);
    assert_int_equal(g.output_count, 6);
    assert_null(g.nodes[0].func_name);
    assert_string_equal(g.nodes[2].func_name, "fused_dense");
    assert_int_equal(g.nodes[2].input_count, 2);
    assert_int_equal(g.nodes[2].inputs[1], 1);
    assert_int_equal(g.nodes[4].first_output, 5);
    assert_int_equal(g.nodes[4].inputs[0], 3);
    assert_int_equal(g.outputs[1].dims, 2);
    assert_int_equal(g.outputs[1].shape[0], 4);
    assert_string_equal(g.outputs[5].dtype, "float32");
    assert_int_equal(g.outputs[5].storage_id, 4);
    assert_int_equal(g.head_count, 2);
    assert_int_equal(g.heads[1], 4);
    executor_free(&g);
    buf_free(&bytes);
}

static void expect_error(const char *text, ft_status status, const char *message) {
    executor_graph g;
    ft_error error = {0};
    assert_int_equal(executor_read((const uint8_t *)text, strlen(text), &g, &error), status);
    assert_string_equal(error.message, message);
    executor_free(&g);
}

static void test_errors(void **state) {
    (void)state;
    expect_error("[]", FT_ERR_DAMAGED, "the text is a list, but an object is expected");
    expect_error("{}", FT_ERR_DAMAGED, "\"nodes\" is absent, but a list is expected");
    expect_error("{\"nodes\": [3]}", FT_ERR_DAMAGED, "node 0: is a number, but an object is expected");
    expect_error("{\"nodes\": [{\"op\": \"null\"}]}", FT_ERR_DAMAGED,
                 "node 0: \"name\": is absent, but a string is expected");
    expect_error("{\"nodes\": [{\"op\": \"call\", \"name\": \"a\"}]}", FT_ERR_UNSUPPORTED,
                 "node 0: \"op\" is \"call\"; only \"tvm_op\" and \"null\" are supported");
    expect_error("{\"nodes\": [{\"op\": \"null\", \"name\": \"a\", \"inputs\": [[0, 0, 0]]}]}", FT_ERR_GRAPH,
                 "node 0: reads node 0, which does not precede it: a cycle");
    expect_error("{\"nodes\": [{\"op\": \"tvm_op\", \"name\": \"a\", \"attrs\": {\"func_name\": \"f\", "
                 "\"num_outputs\": \"0\"}}]}",
                 FT_ERR_DAMAGED, "node 0: \"num_outputs\": is \"0\", but a count from 1 to 1000000 is expected");
    expect_error("{\"nodes\": [], \"heads\": [0]}", FT_ERR_DAMAGED, "\"heads\" 0: is 0, but must be from 0 to -1");
}

static void test_out_of_memory(void **state) {
    (void)state;
    buf bytes = small_file();
    for (long n = 0;; n++) {
        executor_graph g;
        ft_error error;
        failing_start(n);
        ft_status status = executor_read((const uint8_t *)bytes.data, bytes.length, &g, &error);
        bool failed = failing_stop();
        executor_free(&g);
        if (!failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    buf_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
