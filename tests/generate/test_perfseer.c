/* Tests of generated folders: the layout, the same bytes for any number of threads, atomic creation, and their
 * import. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foretell/foretell.h"
#include "support/failing.h"
#include "support/folder.h"

static ft_generate_result generate(const char *folder, uint32_t networks, const ft_generate_options *options) {
    ft_generate_result result;
    ft_error error;
    if (ft_generate_perfseer(folder, networks, options, &result, &error) != FT_OK) fail_msg("%s", error.message);
    return result;
}

static void test_layout(void **state) {
    (void)state;
    ft_generate_result r = generate("out", 3, &(ft_generate_options){.seed = 1});
    char command[256];
    assert_int_equal(r.networks, 3);
    assert_int_equal(r.graphs + r.skipped, 27);
    snprintf(command, sizeof command, "test $(ls out/dataset/cg/cg/*.pkl | wc -l) = %llu",
             (unsigned long long)r.graphs);
    assert_int_equal(system(command), 0);
    assert_int_equal(system("(cd out/dataset/cg/cg && ls | sed 's/.pkl$//') >a; "
                            "(cd out/dataset/label/label && ls | sed 's/.txt$//') >b; cmp -s a b"),
                     0);
    assert_int_equal(system("grep -q SYNTHETIC out/README.txt && ! grep -qv _synthetic_ a"), 0);
}

static void test_same_bytes(void **state) {
    (void)state;
    ft_generate_options options = {.seed = 4, .noise_ratio = 0.02, .threads = 1};
    generate("a", 5, &options);
    options.threads = 3;
    generate("b", 5, &options);
    assert_int_equal(system("diff -r a b"), 0);
    options.seed = 5;
    generate("c", 5, &options);
    assert_int_not_equal(system("diff -rq a/dataset/cg c/dataset/cg >diffs"), 0);
}

/* The bytes of a data set, names included, belong to its seed; so do the numbers that describe it. */
static void test_bytes_of_a_seed(void **state) {
    (void)state;
    ft_generate_result r = generate("out", 4, &(ft_generate_options){.seed = 9, .noise_ratio = 0.02});
    assert_int_equal(system("cd out/dataset && LC_ALL=C; export LC_ALL; find . -type f | sort >../../names; "
                            "(cat ../../names; xargs -d '\\n' cat <../../names) | cksum >../../sum"),
                     0);
    char found[64] = "";
    FILE *file = fopen("sum", "r");
    assert_non_null(file);
    assert_non_null(fgets(found, sizeof found, file));
    fclose(file);
    assert_string_equal(found, "3840600851 1150726\n");
    static const double expected[FT_MARGINALS][4] = {
        {130.023176, 2.45243277, 39.2389243, 627.822789}, {10.6250936, 0.116538432, 3.23856688, 59.5425483},
        {2.56825236, 1.684088, 2.267086, 4.350504},       {61.4807424, 14.3083893, 75.2679813, 93.8856316},
        {5885.00984, 1579.78025, 2867.76649, 23278.4708}, {85.6427356, 15.2145501, 36.4588363, 399.658579},
        {72.1906449, 16.5044962, 94.7605426, 99},         {1778.65791, 1413.64965, 1533.49494, 4293.94159},
        {27.5208234, 4.54880108, 10.6321906, 138.771267},
    };
    for (int i = 0; i < FT_MARGINALS; i++) {
        const double numbers[] = {r.marginals[i].mean, r.marginals[i].min, r.marginals[i].median, r.marginals[i].max};
        for (int k = 0; k < 4; k++)
            if (fabs(numbers[k] - expected[i][k]) > 1e-6 * fabs(expected[i][k]))
                fail_msg("%s, number %d: %.9g != %.9g", r.marginals[i].name, k, numbers[k], expected[i][k]);
    }
}

/* Every imported record is marked as synthetic; every network keeps its batches together. */
static void test_import(void **state) {
    (void)state;
    ft_generate_result r = generate("out", 6, &(ft_generate_options){.seed = 2});
    ft_import_result imported;
    ft_import_options options = {.is_strict = true};
    ft_error error;
    ft_dataset *data;
    ft_split split;
    assert_int_equal(ft_import("perfseer", "out", "set", &options, &imported, &error), FT_OK);
    assert_int_equal(imported.graphs, r.graphs);
    assert_int_equal(imported.records, 2 * r.graphs);
    assert_int_equal(ft_dataset_open("set", &data, &error), FT_OK);
    const ft_record *records = ft_dataset_records(data);
    uint32_t count = ft_dataset_record_count(data);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(records[i].is_synthetic);
        assert_non_null(strstr(records[i].name, "synthetic_s["));
        assert_true(records[i].metrics[0] > 0 && records[i].metrics[1] > 1400.0 * 1048576 && records[i].metrics[2] > 0);
    }
    assert_int_equal(ft_split_make(data, "name:50/10/40", 2, &split, &error), FT_OK);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(records[i].name, records[k].name) == 0) assert_int_equal(split.parts[i], split.parts[k]);
    ft_split_free(&split);
    ft_dataset_free(data);
}

static bool stop(void *user, uint64_t done, uint64_t total, const char *what) {
    (void)user;
    (void)total;
    (void)what;
    return done == 0;
}

static void refuse(const char *folder, uint32_t networks, ft_generate_options options, ft_status expected,
                   const char *text) {
    ft_generate_result result;
    ft_error error;
    assert_int_equal(ft_generate_perfseer(folder, networks, &options, &result, &error), expected);
    if (strstr(error.message, text) == NULL) fail_msg("%s", error.message);
}

static void test_refusals(void **state) {
    (void)state;
    refuse("out", 2, (ft_generate_options){.progress = stop}, FT_ERR_CANCELLED, "interrupted");
    assert_int_equal(system("test -z \"$(ls -A)\""), 0);
    refuse("out", 0, (ft_generate_options){0}, FT_ERR_USAGE, "number of networks");
    refuse("out", 2, (ft_generate_options){.noise_ratio = 0.5}, FT_ERR_USAGE, "noise");
    refuse("absent/out", 2, (ft_generate_options){0}, FT_ERR_IO, "absent/out");
    generate("out", 1, &(ft_generate_options){0});
    refuse("out", 1, (ft_generate_options){0}, FT_ERR_IO, "exists already");
}

/* Without a folder nothing is written. */
static void test_only_counted(void **state) {
    (void)state;
    ft_generate_result r = generate(NULL, 20, &(ft_generate_options){0});
    assert_int_equal(r.networks, 20);
    assert_int_equal(r.graphs + r.skipped, 20 * 9); /* nine batch sizes; what does not fit the device is skipped */
    assert_true(r.skipped > 0 && r.skipped < r.graphs);
    assert_int_equal(system("test -z \"$(ls -A)\""), 0);
    assert_true(r.marginals[0].mean > 10 && r.marginals[0].max < 30000);
    assert_true(r.marginals[4].min > 1490 && r.marginals[4].max < 24576);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (long n = 0;; n += 1 + n / 12) {
        ft_generate_result result;
        ft_error error;
        failing_start(n);
        ft_status status = ft_generate_perfseer("out", 1, &(ft_generate_options){.threads = 1}, &result, &error);
        if (!failing_stop()) break;
        assert_int_not_equal(status, FT_OK);
        assert_int_equal(system("test -z \"$(ls -A)\""), 0);
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_layout),   IN_FOLDER(test_same_bytes),   IN_FOLDER(test_bytes_of_a_seed), IN_FOLDER(test_import),
        IN_FOLDER(test_refusals), IN_FOLDER(test_only_counted), IN_FOLDER(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("generate/perfseer", tests, NULL, NULL);
}
