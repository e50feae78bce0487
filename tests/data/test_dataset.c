/* Tests of opening data sets: their content, and the detection of changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/graphfile.h"
#include "foretell/foretell.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/small_set.h"

static void expect_failure(const char *folder, ft_status status, const char *text) {
    ft_dataset *data = NULL;
    ft_error error = {0};
    assert_int_equal(ft_dataset_open(folder, &data, &error), status);
    if (strstr(error.message, text) == NULL) fail_msg("'%s' does not contain '%s'", error.message, text);
    assert_null(data);
}

static void test_content(void **state) {
    (void)state;
    make_small_set("set");
    ft_dataset *data = open_set("set");
    assert_int_equal(ft_dataset_graph_count(data), 3);
    assert_int_equal(ft_dataset_record_count(data), 6);
    assert_int_equal(ft_dataset_metric_count(data), 2);
    assert_string_equal(ft_dataset_metric_name(data, 1), "peak_bytes");
    assert_int_equal(ft_dataset_metric(data, "peak_bytes"), 1);
    assert_int_equal(ft_dataset_metric(data, "util_ratio"), FT_NONE);
    assert_null(ft_dataset_metric_name(data, 2));
    assert_null(ft_dataset_graph_id(data, 3));
    const ft_record *r = &ft_dataset_records(data)[3];
    assert_int_equal(r->graph, 1);
    assert_string_equal(r->name, "net_1");
    assert_string_equal(r->family, "narrow");
    assert_string_equal(r->device, "adreno-640");
    assert_string_equal(r->part, "train");
    assert_string_equal(r->setting, "");
    assert_int_equal(r->batch, 1);
    assert_int_equal(r->dtype, FT_FLOAT32);
    assert_int_equal(r->mode, FT_INFER);
    assert_false(r->is_synthetic);
    assert_true(r->metrics[0] == 202);
    assert_true(isnan(r->metrics[1]));
    ft_dataset_free(data);
    ft_dataset_free(NULL);
}

/* The graph outlives the data set, and has the same cost. */
static void test_graphs(void **state) {
    (void)state;
    make_small_set("set");
    ft_dataset *data = open_set("set");
    ft_graph *graph = NULL, *bound = NULL;
    ft_error error;
    assert_int_equal(ft_dataset_graph(data, 2, &graph, &error), FT_OK);
    assert_int_equal(ft_dataset_graph(data, 3, &graph, &error), FT_ERR_USAGE);
    assert_string_equal(ft_graph_name(graph), ft_dataset_graph_id(data, 2));
    ft_dataset_free(data);
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    assert_int_equal(ft_graph_bind(graph, &(ft_binding){.batch = 3}, &bound, &error), FT_OK);
    assert_int_equal(ft_cost_compute(bound, &options, &cost, &error), FT_OK);
    assert_int_equal(cost.total.forward.macs, 3 * 8 * 16);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(graph);
}

/* Same content, same bytes and same hash, wherever it is. */
static void test_same_bytes(void **state) {
    (void)state;
    static const char *const files[] = {"graphs.ftg", "records.csv", "dataset.json"};
    make_small_set("one");
    make_small_set("two");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char command[64];
        snprintf(command, sizeof command, "cmp one/%s two/%s", files[i], files[i]);
        assert_int_equal(system(command), 0);
    }
    ft_dataset *one = open_set("one"), *two = open_set("two");
    assert_string_equal(ft_dataset_hash(one), ft_dataset_hash(two));
    ft_dataset_free(one);
    ft_dataset_free(two);
}

static void test_not_a_data_set(void **state) {
    (void)state;
    expect_failure("absent", FT_ERR_IO, "absent: no such data set");
    write_text("file", "x");
    expect_failure("file", FT_ERR_IO, "not a folder");
    mkdir("empty", 0777);
    expect_failure("empty", FT_ERR_FORMAT, "has no dataset.json");
    write_text("empty/dataset.json", "{\"format\": \"something else\"}");
    expect_failure("empty", FT_ERR_FORMAT, "not the manifest of a foretell data set");
    write_text("empty/dataset.json", "{");
    expect_failure("empty", FT_ERR_DAMAGED, "dataset.json");
    write_text("empty/dataset.json", "{\"format\": \"foretell data set\", \"version\": 99}");
    expect_failure("empty", FT_ERR_UNSUPPORTED, "version 99");
}

/* Replaces the first `from` in a file by `to`, of the same length or not. */
static void edit(const char *path, const char *from, const char *to) {
    char *text = read_text(path), *at = strstr(text, from), *made = malloc(strlen(text) + strlen(to) + 1);
    assert_non_null(at);
    sprintf(made, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    write_text(path, made);
    free(text);
    free(made);
}

static void test_edited_table(void **state) {
    (void)state;
    ft_error error;
    make_small_set("set");
    edit("set/records.csv", "101.5", "101.6"); /* same length */
    expect_failure("set", FT_ERR_DAMAGED, "set/records.csv: has changed since the data set was created");
    expect_failure("set", FT_ERR_DAMAGED, "foretell data rehash set");
    assert_int_equal(ft_dataset_rehash("set", &error), FT_OK);
    ft_dataset *data = open_set("set");
    assert_true(ft_dataset_records(data)[1].metrics[0] == 101.6);
    ft_dataset_free(data);
    assert_int_equal(ft_dataset_check("set", NULL, NULL, &error), FT_OK);
}

static void test_edited_manifest(void **state) {
    (void)state;
    make_small_set("set");
    edit("set/dataset.json", "\"records\": 6", "\"records\": 7");
    expect_failure("set", FT_ERR_DAMAGED, "records.csv: has changed");
}

static void flip(const char *path, long at) {
    FILE *stream = fopen(path, "r+b");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, at, SEEK_SET), 0);
    int c = fgetc(stream);
    assert_int_equal(fseek(stream, at, SEEK_SET), 0);
    fputc(c ^ 1, stream);
    fclose(stream);
}

static uint32_t count_readable(const ft_dataset *data) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ft_dataset_graph_count(data); i++) {
        ft_graph *graph = NULL;
        ft_error error;
        ft_status status = ft_dataset_graph(data, i, &graph, &error);
        if (status != FT_OK) assert_non_null(strstr(error.message, "is damaged"));
        count += status == FT_OK;
        ft_graph_free(graph);
    }
    return count;
}

/* Damage to a graph is detected by the check and when it is unpacked; damage anywhere else at opening. */
static void test_damaged_graphs(void **state) {
    (void)state;
    ft_error error;
    struct stat info;
    make_small_set("set");
    assert_int_equal(stat("set/graphs.ftg", &info), 0);
    for (long at = 0; at < info.st_size; at++) {
        ft_dataset *data = NULL;
        flip("set/graphs.ftg", at);
        ft_status status = ft_dataset_open("set", &data, &error);
        bool is_in_graph = at >= 64 && at < info.st_size - 3 * 24;
        if (is_in_graph != (status == FT_OK)) fail_msg("byte %ld: status %d", at, status);
        if (is_in_graph) assert_int_equal(count_readable(data), 2);
        ft_dataset_free(data);
        assert_int_not_equal(ft_dataset_check("set", NULL, NULL, &error), FT_OK);
        flip("set/graphs.ftg", at);
    }
    assert_int_equal(ft_dataset_check("set", NULL, NULL, &error), FT_OK);
    assert_int_equal(truncate("set/graphs.ftg", info.st_size - 1), 0);
    expect_failure("set", FT_ERR_DAMAGED, "set/graphs.ftg: has");
    assert_int_equal(truncate("set/graphs.ftg", 20), 0);
    expect_failure("set", FT_ERR_DAMAGED, "ends inside the header");
}

/* What was read at opening stays, whatever happens to the file. */
static void test_files_changed_in_place(void **state) {
    (void)state;
    struct stat info;
    make_small_set("set");
    assert_int_equal(stat("set/graphs.ftg", &info), 0);
    char *other = calloc(1, (size_t)info.st_size);
    assert_non_null(other);
    int file = open("set/graphs.ftg", O_RDWR);
    assert_true(file >= 0);
    ft_dataset *data = open_set("set");
    assert_int_equal(pwrite(file, other, (size_t)info.st_size, 0), info.st_size);
    assert_int_equal(count_readable(data), 3); /* a small file is copied as a whole */
    ft_dataset_free(data);
    close(file);
    free(other);
}

/* Writes four graphs of `block` bytes; the first byte of each is its number. */
static void write_large(const char *path, size_t block) {
    hash128 hash;
    uint64_t size;
    graphwriter writer;
    char *bytes = calloc(1, block);
    assert_non_null(bytes);
    assert_int_equal(graphwriter_open(path, &writer, NULL), FT_OK);
    for (int i = 0; i < 4; i++) {
        bytes[0] = (char)i;
        assert_int_equal(graphwriter_add(&writer, hash_bytes(bytes, block), bytes, block, NULL), FT_OK);
    }
    assert_int_equal(graphwriter_finish(&writer, &hash, &size, NULL), FT_OK);
    graphwriter_discard(&writer);
    free(bytes);
}

/* Graphs of a large file are read when they are used. */
static void test_large_files_changed_in_place(void **state) {
    (void)state;
    graphfile large;
    buf read = {0};
    const size_t block = 1 << 20;
    write_large("large.ftg", block);
    assert_int_equal(graphfile_open("large.ftg", &large, NULL), FT_OK);
    for (uint32_t i = 0; i < 4; i++) assert_int_equal(graphfile_read(&large, i, &read, NULL), FT_OK);
    int file = open("large.ftg", O_RDWR);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, "x", 1, 64 + 5), 1);
    assert_int_equal(graphfile_read(&large, 0, &read, NULL), FT_ERR_DAMAGED);
    assert_int_equal(graphfile_read(&large, 1, &read, NULL), FT_OK);
    assert_int_equal(read.length, block);
    assert_int_equal(read.data[0], 1);
    assert_int_equal(ftruncate(file, 64 + 3 * (off_t)block - 1), 0);
    assert_int_equal(graphfile_read(&large, 1, &read, NULL), FT_OK);
    for (uint32_t i = 2; i < 4; i++) assert_int_equal(graphfile_read(&large, i, &read, NULL), FT_ERR_DAMAGED);
    close(file);
    graphfile_close(&large);
    buf_free(&read);
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total, const char *what) {
    (void)done;
    (void)what;
    *(uint64_t *)user = total;
    return false;
}

static void test_check_can_be_stopped(void **state) {
    (void)state;
    ft_error error;
    uint64_t total = 0;
    make_small_set("set");
    assert_int_equal(ft_dataset_check("set", stop_at_once, &total, &error), FT_ERR_CANCELLED);
    assert_int_equal(total, 3);
}

static void test_out_of_memory(void **state) {
    (void)state;
    make_small_set("set");
    for (long n = 0;; n++) {
        ft_dataset *data = NULL;
        ft_error error;
        failing_start(n);
        ft_status status = ft_dataset_open("set", &data, &error);
        bool has_failed = failing_stop();
        ft_dataset_free(data);
        if (!has_failed) {
            assert_int_equal(status, FT_OK);
            break;
        }
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_content),
        IN_FOLDER(test_graphs),
        IN_FOLDER(test_same_bytes),
        IN_FOLDER(test_not_a_data_set),
        IN_FOLDER(test_edited_table),
        IN_FOLDER(test_edited_manifest),
        IN_FOLDER(test_damaged_graphs),
        IN_FOLDER(test_check_can_be_stopped),
        IN_FOLDER(test_out_of_memory),
        IN_FOLDER(test_files_changed_in_place),
        IN_FOLDER(test_large_files_changed_in_place),
    };
    return cmocka_run_group_tests_name("data/dataset", tests, NULL, NULL);
}
