/* Tests of creating data sets: equal graphs become one, and a failure leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/builder.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/small_set.h"

static const char *const metrics[] = {"time_us"};

static ft_status add_record(builder *b, uint32_t graph, const char *name, double time, builder_outcome *outcome,
                            ft_error *error) {
    ft_record r = {.graph = graph,
                   .name = name,
                   .family = "f",
                   .device = "cortex-a76",
                   .setting = "",
                   .part = "",
                   .batch = 1,
                   .dtype = FT_FLOAT32,
                   .metrics = &time};
    return builder_add_record(b, &r, outcome, error);
}

static ft_status build(const char *folder, int graph_count, ft_error *error) {
    builder *b = NULL;
    ft_status status = builder_new(folder, metrics, 1, &b, error);
    for (int i = 0; i < graph_count && status == FT_OK; i++) {
        ft_graph *graph = small_graph(1 + i);
        uint32_t index;
        builder_outcome outcome;
        status = builder_add_graph(b, graph, &index, error);
        if (status == FT_OK) status = add_record(b, index, "net", 1 + i, &outcome, error);
        ft_graph_free(graph);
    }
    if (status == FT_OK) status = builder_finish(b, error);
    builder_free(b);
    return status;
}

static void test_equal_graphs_become_one(void **state) {
    (void)state;
    builder *b = NULL;
    ft_error error;
    assert_int_equal(builder_new("set", metrics, 1, &b, &error), FT_OK);
    for (uint32_t i = 0; i < 4; i++) {
        ft_graph *graph = small_graph(i % 2 == 0 ? 4 : 8);
        uint32_t index = 99;
        assert_int_equal(builder_add_graph(b, graph, &index, &error), FT_OK);
        assert_int_equal(index, i % 2);
        ft_graph_free(graph);
    }
    assert_int_equal(builder_graph_count(b), 2);
    builder_free(b);
    assert_int_equal(folder_count("."), 0); /* not finished: no folder */
}

static void test_repeated_records(void **state) {
    (void)state;
    builder *b = NULL;
    ft_error error;
    builder_outcome outcome;
    uint32_t index;
    ft_graph *graph = small_graph(4);
    assert_int_equal(builder_new("set", metrics, 1, &b, &error), FT_OK);
    assert_int_equal(builder_add_graph(b, graph, &index, &error), FT_OK);
    assert_int_equal(add_record(b, index, "a", 1, &outcome, &error), FT_OK);
    assert_int_equal(outcome, RECORD_ADDED);
    assert_int_equal(add_record(b, index, "a", 1, &outcome, &error), FT_OK);
    assert_int_equal(outcome, RECORD_REPEATED);
    assert_int_equal(add_record(b, index, "a", 2, &outcome, &error), FT_OK);
    assert_int_equal(outcome, RECORD_CONTRADICTS);
    assert_int_equal(add_record(b, index, "b", 2, &outcome, &error),
                     FT_OK); /* another measurement, under another name */
    assert_int_equal(outcome, RECORD_ADDED);
    assert_int_equal(add_record(b, 7, "c", 2, &outcome, &error), FT_ERR_INTERNAL);
    assert_int_equal(builder_finish(b, &error), FT_OK);
    builder_free(b);
    ft_graph_free(graph);
    ft_dataset *data = open_set("set");
    assert_int_equal(ft_dataset_record_count(data), 2);
    ft_dataset_free(data);
}

static void test_existing_folder_is_an_error(void **state) {
    (void)state;
    ft_error error;
    mkdir("set", 0777);
    assert_int_equal(build("set", 1, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "exists already"));
    assert_int_equal(build("absent/set", 1, &error), FT_ERR_IO);
    assert_int_equal(folder_count("."), 1);
}

static void test_no_permission(void **state) {
    (void)state;
    ft_error error;
    if (geteuid() == 0) skip(); /* root may write anywhere */
    mkdir("locked", 0555);
    assert_int_equal(build("locked/set", 1, &error), FT_ERR_IO);
    assert_non_null(strstr(error.message, "Permission denied"));
}

/* Files that cannot grow, as on a full disk: an error, and no folder. */
static void test_disk_full(void **state) {
    (void)state;
    ft_error error;
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit <= 1600; limit += 200) {
        small = (struct rlimit){.rlim_cur = limit, .rlim_max = old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        ft_status status = build("set", 60, &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(status, FT_ERR_IO);
        assert_non_null(strstr(error.message, "cannot write"));
        assert_int_equal(folder_count("."), 0);
    }
    assert_int_equal(build("set", 60, &error), FT_OK);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        ft_error error;
        ft_graph *graph = small_graph(4);
        builder *b = NULL;
        builder_outcome outcome;
        uint32_t index;
        failing_start(n);
        ft_status status = builder_new("set", metrics, 1, &b, &error);
        if (status == FT_OK) status = builder_add_graph(b, graph, &index, &error);
        if (status == FT_OK) status = add_record(b, index, "a", 1, &outcome, &error);
        if (status == FT_OK) status = builder_finish(b, &error);
        bool has_failed = failing_stop();
        builder_free(b);
        ft_graph_free(graph);
        if (!has_failed) {
            assert_int_equal(status, FT_OK);
            break;
        }
        if (status == FT_OK) { /* an optional allocation: fsync of a folder */
            assert_int_equal(system("rm -r set"), 0);
            continue;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
        assert_int_equal(folder_count("."), 0);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_equal_graphs_become_one),
        IN_FOLDER(test_repeated_records),
        IN_FOLDER(test_existing_folder_is_an_error),
        IN_FOLDER(test_no_permission),
        IN_FOLDER(test_disk_full),
        IN_FOLDER(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("data/builder", tests, NULL, NULL);
}
