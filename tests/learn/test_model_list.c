/* Tests of lists of models: by graph or by name, with columns of others, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "learn/adapt/model_list.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/small_set.h"

static arena memory;

static ft_status parse(const char *text, model_list *list, ft_error *error) {
    return model_list_parse("list.csv", text, strlen(text), &memory, list, error);
}

static void test_columns_in_any_order(void **state) {
    (void)state;
    model_list list;
    ft_error error;
    assert_int_equal(parse("weight,name,time_us,graph\n0.5,\"a, b\",7,00ff\n0.5,c,8,\n", &list, &error), FT_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "a, b");
    assert_string_equal(list.items[0].graph, "00ff");
    assert_string_equal(list.items[1].name, "c");
    assert_string_equal(list.items[1].graph, "");
    assert_true(list.items[0].weight == 0.5);
    assert_int_equal(parse("name\nx\n", &list, &error), FT_OK);
    assert_string_equal(list.items[0].graph, "");
}

static void refuses(const char *text, ft_status status, const char *part) {
    model_list list;
    ft_error error;
    assert_int_equal(parse(text, &list, &error), status);
    if (strstr(error.message, part) == NULL) fail_msg("'%s' has no '%s'", error.message, part);
}

static void test_what_is_refused(void **state) {
    (void)state;
    refuses("", FT_ERR_FORMAT, "'graph' or 'name'");
    refuses("model,device\na,b\n", FT_ERR_FORMAT, "'graph' or 'name'");
    refuses("name\n", FT_ERR_USAGE, "lists no model");
    refuses("name,graph\na\n", FT_ERR_DAMAGED, "line 2: has 1 fields");
    refuses("name,weight\na,much\n", FT_ERR_DAMAGED, "weight is 'much'");
    refuses("name,weight\na,-1\n", FT_ERR_DAMAGED, "weight is '-1'");
    refuses("name,graph\n\"a,b\n", FT_ERR_DAMAGED, "list.csv");
    model_list list;
    ft_error error;
    assert_int_equal(model_list_read("absent.csv", &memory, &list, &error), FT_ERR_IO);
}

static void test_models_are_found(void **state) {
    (void)state;
    make_small_set("set");
    ft_dataset *data = open_set("set");
    const ft_record *records = ft_dataset_records(data);
    char text[512];
    uint32_t graphs[4];
    model_list list;
    ft_error error;
    snprintf(text, sizeof text, "name,graph\nnobody,%s\n%s,\nnobody,0000\n", ft_dataset_graph_id(data, 1),
             records[0].name);
    write_text("list.csv", text);
    assert_int_equal(model_list_read("list.csv", &memory, &list, &error), FT_OK);
    assert_int_equal(model_list_find(&list, data, &memory, graphs, &error), FT_OK);
    assert_int_equal(graphs[0], 1);
    assert_int_equal(graphs[1], records[0].graph);
    assert_int_equal(graphs[2], FT_NONE);
    ft_dataset_free(data);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        model_list list;
        ft_error error;
        arena own;
        arena_init(&own, UINT64_MAX);
        failing_start(n);
        ft_status status = model_list_parse("list.csv", "name\na\nb\n", 9, &own, &list, &error);
        bool has_failed = failing_stop();
        arena_free(&own);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

static int begin(void **state) {
    arena_init(&memory, UINT64_MAX);
    return folder_enter(state);
}

static int end(void **state) {
    arena_free(&memory);
    return folder_leave(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_columns_in_any_order, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_models_are_found, begin, end),
        cmocka_unit_test_setup_teardown(test_memory_runs_out, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
