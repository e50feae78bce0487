/* Tests of what is said of data sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "foretell/foretell.h"
#include "report/metric.h"
#include "support/failing.h"
#include "support/folder.h"
#include "support/small_set.h"

typedef struct document {
    char *text;
    size_t size;
} document;

static document info(const ft_dataset *data, ft_output output) {
    document d = {0};
    ft_error error;
    ft_style style = ft_style_default();
    style.output = output;
    FILE *stream = open_memstream(&d.text, &d.size);
    if (ft_report_dataset(stream, &style, "set", data, &error) != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    return d;
}

static document list(const ft_dataset *data, ft_output output, const ft_record_filter *filter, bool has_costs) {
    document d = {0};
    ft_error error;
    ft_style style = ft_style_default();
    style.output = output;
    FILE *stream = open_memstream(&d.text, &d.size);
    ft_status status = has_costs ? ft_report_record_costs(stream, &style, data, filter, NULL, NULL, &error)
                                 : ft_report_records(stream, &style, data, filter, &error);
    if (status != FT_OK) fail_msg("%s", error.message);
    fclose(stream);
    return d;
}

static void expect(const document *d, const char *text) {
    if (strstr(d->text, text) == NULL) fail_msg("no '%s' in:\n%s", text, d->text);
}

static void test_metric_words(void **state) {
    (void)state;
    static const struct {
        const char *metric;
        double value;
        const char *text;
    } cases[] = {{"time_us", 12.34, "12.3 us"},   {"time_us", 148164, "148 ms"}, {"time_us", 2.5e6, "2.50 s"},
                 {"peak_bytes", 2048, "2.0 KiB"}, {"util_ratio", 0.5, "50.0 %"}, {"energy_mj", 12.5, "12.5"},
                 {"time_us", (double)NAN, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[UNIT_TEXT_SIZE];
        metric_words(cases[i].metric, cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void test_info(void **state) {
    (void)state;
    make_small_set("set");
    ft_dataset *data = open_set("set");
    document d = info(data, FT_TABLE);
    expect(&d, "Graphs   3 distinct");
    expect(&d, "cortex-a76  time_us           3");
    expect(&d, "narrow       2        4");
    free(d.text);
    d = info(data, FT_CSV);
    expect(&d, "device,family,metric,n,min,median,max\n"
               "cortex-a76,all,time_us,3,100.5,201,301.5\n"
               "cortex-a76,narrow,time_us,2,100.5,150.75,201\n");
    expect(&d, "cortex-a76,all,peak_bytes,3,4096,8192,16384\n");
    free(d.text);
    d = info(data, FT_JSON);
    json_t *root;
    ft_error error;
    assert_int_equal(json_parse(d.text, d.size, &root, &error), FT_OK);
    assert_int_equal(json_integer_value(json_object_get(root, "records")), 6);
    assert_string_equal(json_string_value(json_object_get(root, "hash")), ft_dataset_hash(data));
    assert_int_equal(json_array_size(json_object_get(root, "families")), 2);
    assert_int_equal(json_array_size(json_object_get(root, "values")), 9);
    json_decref(root);
    free(d.text);
    ft_dataset_free(data);
}

/* What is shown as CSV is the table itself. */
static void test_records(void **state) {
    (void)state;
    make_small_set("set");
    ft_dataset *data = open_set("set");
    char *table = read_text("set/records.csv");
    document d = list(data, FT_CSV, NULL, false);
    assert_string_equal(d.text, table);
    free(table);
    free(d.text);
    d = list(data, FT_JSON, &(ft_record_filter){.device = "adreno-640", .family = "wide"}, false);
    json_t *root;
    ft_error error;
    assert_int_equal(json_parse(d.text, d.size, &root, &error), FT_OK);
    assert_int_equal(json_array_size(root), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(root, 0), "name")), "net_2");
    assert_true(json_is_null(json_object_get(json_array_get(root, 0), "peak_bytes")));
    json_decref(root);
    free(d.text);
    d = list(data, FT_TABLE, &(ft_record_filter){.limit = 2}, false);
    expect(&d, "net_0");
    expect(&d, "2 of 6 records");
    assert_null(strstr(d.text, "net_1"));
    free(d.text);
    d = list(data, FT_CSV, &(ft_record_filter){.graph = ft_dataset_graph_id(data, 1)}, false);
    expect(&d, "net_1");
    assert_null(strstr(d.text, "net_0"));
    free(d.text);
    ft_dataset_free(data);
}

static void test_costs(void **state) {
    (void)state;
    make_small_set("set");
    ft_dataset *data = open_set("set");
    document d = list(data, FT_CSV, &(ft_record_filter){.limit = 1}, true);
    expect(&d,
           ",graph_ops,graph_params,graph_macs,graph_flops,graph_moved_bytes,graph_weight_bytes,graph_peak_bytes\n");
    expect(&d, ",100.5,4096,2,32,32,"); /* two operators, 8 x 4 weights */
    free(d.text);
    d = list(data, FT_JSON, NULL, true);
    expect(&d, "\"graph_macs\": 128");
    free(d.text);
    ft_dataset_free(data);
}

static void test_failures(void **state) {
    (void)state;
    ft_error error;
    ft_style style = ft_style_default();
    make_small_set("set");
    ft_dataset *data = open_set("set");
    FILE *full = fopen("/dev/full", "w");
    assert_int_equal(ft_report_dataset(full, &style, "set", data, &error), FT_ERR_IO);
    style.output = FT_CSV;
    assert_int_equal(ft_report_records(full, &style, data, NULL, &error), FT_ERR_IO);
    fclose(full);
    FILE *null = fopen("/dev/null", "w");
    for (long n = 0;; n++) {
        failing_start(n);
        ft_status status = ft_report_dataset(null, &style, "set", data, &error);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    fclose(null);
    ft_dataset_free(data);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metric_words),
        IN_FOLDER(test_info),
        IN_FOLDER(test_records),
        IN_FOLDER(test_costs),
        IN_FOLDER(test_failures),
    };
    return cmocka_run_group_tests_name("report/dataset", tests, NULL, NULL);
}
