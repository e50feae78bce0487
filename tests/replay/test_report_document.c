/* Tests of reports: JSON follows its schema, CSV and tables have the same values, and write errors are reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/failing.h"
#include "support/flow_csv.h"
#include "support/schema.h"

static const char csv[] =
    "name,type,time_us,after,gradient_bytes\n\"a, \"\"b\"\"\",conv,10,,4096\nc,relu,20,\"a, \"\"b\"\"\",\n";
static ft_flow *flow;
static ft_replay replays[2];
static ft_model_replays view;

static int begin(void **state) {
    (void)state;
    ft_replay_options options = ft_replay_options_default();
    flow = flow_from_csv(csv);
    options.mode = FT_TRAIN;
    options.engines = "mme:conv;tpc:*";
    options.gaps = "tpc=1";
    for (uint32_t i = 0; i < 2; i++) {
        options.workers = i + 1;
        if (ft_replay_run(flow, &options, &replays[i], NULL) != FT_OK) return -1;
    }
    view = (ft_model_replays){.file = "f.csv", .flow = flow, .batch = 4, .replays = replays, .count = 2};
    return 0;
}

static int end(void **state) {
    (void)state;
    ft_replay_free(&replays[0]);
    ft_replay_free(&replays[1]);
    ft_flow_free(flow);
    return 0;
}

static char *report(ft_output output, bool has_kernels, uint32_t top, int count, ft_status *status) {
    char *text = NULL;
    size_t size = 0;
    ft_error error;
    ft_replay_report *r = NULL;
    ft_replay_style style = {.style = ft_style_default(), .has_kernels = has_kernels, .top = top};
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    style.style.output = output;
    style.is_list = count > 1;
    *status = ft_replay_report_begin(stream, &style, &r, &error);
    for (int i = 0; i < count && *status == FT_OK; i++) *status = ft_replay_report_add(r, &view, &error);
    ft_status ended = ft_replay_report_end(r, &error);
    if (*status == FT_OK) *status = ended;
    fclose(stream);
    return text;
}

static char *good_report(ft_output output, bool has_kernels, uint32_t top, int count) {
    ft_status status;
    char *text = report(output, has_kernels, top, count, &status);
    assert_int_equal(status, FT_OK);
    return text;
}

static void test_json(void **state) {
    (void)state;
    char *text = good_report(FT_JSON, true, 0, 2);
    json_t *root = json_loads(text, 0, NULL), *schema = schema_load("docs/schema/replay.schema.json");
    assert_true(schema_fits(root, schema, "replay"));
    schema_is_documented(schema, "docs/replay.md");
    json_decref(schema);
    assert_int_equal(json_array_size(root), 4);
    const json_t *two = json_array_get(root, 1);
    assert_int_equal(json_integer_value(json_object_get(two, "workers")), 2);
    assert_float_equal(json_number_value(json_object_get(two, "iteration_us")), replays[1].iteration_us, 1e-12);
    /* Every worker computes a batch of 4 in each iteration. */
    assert_float_equal(json_number_value(json_object_get(two, "samples_per_s")), 2 * 4 * 1e6 / replays[1].iteration_us,
                       1e-6);
    assert_float_equal(json_number_value(json_object_get(two, "speedup_ratio")),
                       replays[1].kernel_us / replays[1].iteration_us, 1e-12);
    assert_int_equal(json_integer_value(json_object_get(two, "gradient_bytes")), 4096);
    assert_int_equal(json_array_size(json_object_get(two, "engines")), 5);
    assert_int_equal(json_array_size(json_object_get(two, "kernels")), replays[1].total_event_count);
    assert_int_equal(json_array_size(json_object_get(two, "critical_path")), replays[1].critical_count);
    json_decref(root);
    free(text);
}

static void test_csv(void **state) {
    (void)state;
    char *text = good_report(FT_CSV, false, 0, 1), expected[64];
    assert_int_equal(strncmp(text, "file,device,batch,mode,times_from,engines_spec,", 47), 0);
    snprintf(expected, sizeof expected, ",%.17g,", replays[0].kernel_us);
    assert_non_null(strstr(text, expected));
    assert_non_null(strstr(text, ",engines,critical_path,notes\n"));
    free(text);
    text = good_report(FT_CSV, true, 2, 1);
    uint32_t lines = 0;
    for (const char *at = text; *at != '\0'; at++) lines += *at == '\n';
    assert_int_equal(lines, 1 + 2 * 2);
    assert_non_null(strstr(text, "f.csv,,1,"));
    free(text);
}

static void test_table(void **state) {
    (void)state;
    char *text = good_report(FT_TABLE, true, 0, 1);
    assert_non_null(strstr(text, "Workers  Iteration"));
    assert_non_null(strstr(text, "Engines of the first worker, and the network"));
    assert_non_null(strstr(text, "Critical path: "));
    assert_non_null(strstr(text, "When kernels run"));
    assert_non_null(strstr(text, "the network is assumed: a ring"));
    free(text);
    text = good_report(FT_TABLE, false, 0, 3); /* a list: one heading, two lines each */
    uint32_t lines = 0;
    for (const char *at = text; *at != '\0'; at++) lines += *at == '\n';
    assert_int_equal(lines, 2 + 3 * 2);
    free(text);
}

/* Every cell of the table, listed in tests/replay/table.txt. After a wanted change, review and copy
 * $BUILD/replay-table.txt. */
static void test_table_is_as_listed(void **state) {
    (void)state;
    const char *build = getenv("BUILD");
    char path[256], expected[16384];
    char *text = good_report(FT_TABLE, true, 0, 1), *list = good_report(FT_TABLE, false, 0, 3);
    snprintf(path, sizeof path, "%s/replay-table.txt", build != NULL ? build : "build");
    FILE *out = fopen(path, "w"), *in = fopen("tests/replay/table.txt", "r");
    assert_non_null(out);
    assert_non_null(in);
    fprintf(out, "%s\n%s", text, list);
    fclose(out);
    size_t size = fread(expected, 1, sizeof expected - 1, in);
    fclose(in);
    expected[size] = '\0';
    assert_int_equal(size, strlen(text) + 1 + strlen(list));
    assert_memory_equal(expected, text, strlen(text));
    assert_string_equal(expected + strlen(text) + 1, list);
    free(text);
    free(list);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    static const ft_output outputs[] = {FT_TABLE, FT_JSON, FT_CSV};
    for (uint32_t i = 0; i < 3; i++) {
        FILE *stream = fopen("/dev/null", "w");
        assert_non_null(stream);
        for (long n = 0;; n++) {
            ft_replay_report *r = NULL;
            ft_replay_style style = {.style = ft_style_default(), .has_kernels = true};
            style.style.output = outputs[i];
            failing_start(n);
            ft_status status = ft_replay_report_begin(stream, &style, &r, NULL);
            if (status == FT_OK) status = ft_replay_report_add(r, &view, NULL);
            bool is_failed = failing_stop();
            ft_replay_report_end(r, NULL);
            if (!is_failed) break;
            assert_int_equal(status, FT_ERR_NOMEM);
        }
        fclose(stream);
    }
}

static void test_full_disk(void **state) {
    (void)state;
    ft_replay_report *r = NULL;
    ft_error error;
    const ft_replay_style style = {.style = ft_style_default()};
    FILE *stream = fopen("/dev/full", "w");
    if (stream == NULL) skip();
    assert_int_equal(ft_replay_report_begin(stream, &style, &r, &error), FT_OK);
    assert_int_equal(ft_replay_report_add(r, &view, &error), FT_ERR_IO);
    ft_replay_report_end(r, &error);
    fclose(stream);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_table_is_as_listed),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
