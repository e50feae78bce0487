/* Tests of the three documents of an evaluation; the JSON must match docs/schema/evaluation.schema.json. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/evaluate/evaluation.h"
#include "support/failing.h"
#include "support/schema.h"

#define CASE(number, d, f, n, m, p)                                                                                    \
    {                                                                                                                  \
        .record = (number), .device = (d), .family = (f), .name = (n), .measured = (m), .predicted = (p),              \
        .lo = (p)*0.9, .hi = (p)*1.1                                                                                   \
    }

static const ft_case cases[] = {
    CASE(0, "cpu", "vgg", "v,1", 1000, 1100),  CASE(1, "cpu", "alex", "a1", 500, 500),
    CASE(2, "cpu", "vgg", "v2", 20000, 24000), CASE(3, "gpu", "vgg", "v\x01", 100, 80),
    CASE(5, "gpu", "vgg", "v2", 200, 202),
};

static arena memory;

static ft_evaluation make(void) {
    ft_error error;
    ft_evaluation e = {.predictor_family = "fake",
                       .metric = "time_us",
                       .data_hash = "00ff",
                       .split = "random",
                       .split_hash = "ee",
                       .seed = 7,
                       .part = FT_PART_TEST,
                       .cases = cases,
                       .case_count = sizeof cases / sizeof cases[0],
                       .left_out = 3};
    arena_init(&memory, 1 << 20);
    assert_int_equal(evaluation_scores(&memory, e.metric, e.cases, e.case_count, &e.scores, &e.score_count, &error),
                     FT_OK);
    return e;
}

/* The document as text, which the caller frees. */
static char *write_document(const ft_evaluation *e, ft_output output, uint32_t worst) {
    char *text = NULL;
    size_t size;
    ft_error error;
    ft_style style = ft_style_default();
    style.output = output;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_int_equal(ft_evaluation_write(e, "p.ftm", worst, &style, stream, &error), FT_OK);
    fclose(stream);
    return text;
}

static void test_table(void **state) {
    (void)state;
    ft_evaluation e = make();
    char *text = write_document(&e, FT_TABLE, 1);
    assert_string_equal(text, "p.ftm\n"
                              "  fake, time_us; test part of split random, seed 7\n"
                              "  data set 00ff: 5 records, 3 left out\n"
                              "\n"
                              "  Device                n   MAPE  RMSPE  <=5 %  <=10 %  Cover  Width   Bias\n"
                              "  -------------------------------------------------------------------------\n"
                              "  cpu                   3  10.00  12.91   33.3    66.7   66.7   22.0  10.00\n"
                              "  gpu                   2  10.50  14.16   50.0    50.0   50.0   18.1  -9.50\n"
                              "\n"
                              "cpu\n"
                              "  Family                n   MAPE  RMSPE  <=5 %  <=10 %  Cover  Width   Bias\n"
                              "  -------------------------------------------------------------------------\n"
                              "  alex                  1   0.00   0.00  100.0   100.0  100.0   20.0   0.00\n"
                              "  vgg                   2  15.00  15.81    0.0    50.0   50.0   23.0  15.00\n"
                              "  -------------------------------------------------------------------------\n"
                              "  mean of families      3   7.50   7.91   50.0    75.0   75.0   21.5   7.50\n"
                              "  all records           3  10.00  12.91   33.3    66.7   66.7   22.0  10.00\n"
                              "\n"
                              "  Errors, shares, width of the interval and bias in percent.\n"
                              "\n"
                              "Largest errors\n"
                              "  Device  Model  Family  Measured  Predicted    Error   90 % interval\n"
                              "  -------------------------------------------------------------------\n"
                              "  cpu     v2     vgg      20.0 ms    24.0 ms   20.0 %  21.6 - 26.4 ms\n"
                              "  gpu     v?     vgg       100 us    80.0 us  -20.0 %  72.0 - 88.0 us\n");
    free(text);
    arena_free(&memory);
}

static void test_csv(void **state) {
    (void)state;
    ft_evaluation e = make();
    char *text = write_document(&e, FT_CSV, 5);
    assert_non_null(strstr(text, "device,family,metric,n,mape,rmspe,acc5,acc10,rmse,spearman,kendall,coverage90,"
                                 "width90,bias,acc20\ncpu,all,time_us,3,"));
    assert_non_null(strstr(text, "\ncpu,alex,time_us,1,0,0,100,100,0,,,100,20,0,100\n")); /* no order of one */
    free(text);
    arena_free(&memory);
}

static json_t *parse(char *text) {
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(document);
    free(text);
    return document;
}

static void test_json(void **state) {
    ft_evaluation e = make();
    json_t *document = parse(write_document(&e, FT_JSON, 1));
    assert_true(schema_fits(document, *state, "the document"));
    const json_t *results = json_object_get(document, "results"), *one = json_array_get(results, 2);
    assert_int_equal(json_array_size(results), 7);
    assert_string_equal(json_string_value(json_object_get(one, "family")), "alex");
    assert_true(json_is_null(json_object_get(one, "spearman")));
    assert_string_equal(json_string_value(json_object_get(json_object_get(document, "split"), "spec")), "random");
    const json_t *worst = json_object_get(document, "worst");
    assert_int_equal(json_array_size(worst), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(worst, 0), "record")), 2);
    json_object_set_new(document, "colour", json_string("red"));
    assert_false(schema_fits(document, *state, "a document with a key too many"));
    json_decref(document);
    arena_free(&memory);
}

/* Several metrics: tables and rows one after the other, objects in a list; and why records were refused. */
static void test_chain(void **state) {
    ft_evaluation e = make(), second = e;
    second.metric = "util_ratio";
    second.refused = 2;
    second.refusal = "no such \"type\"";
    e.next = &second;
    char *text = write_document(&e, FT_TABLE, 1);
    assert_non_null(strstr(text, "fake, time_us; test part"));
    assert_non_null(strstr(text, "fake, util_ratio; test part"));
    assert_non_null(strstr(text, "2 of these could not be predicted: no such \"type\""));
    free(text);
    text = write_document(&e, FT_CSV, 1);
    uint32_t lines = 0;
    for (const char *at = text; *at != '\0'; at++) lines += *at == '\n';
    assert_int_equal(lines, 1 + 2 * e.score_count);
    free(text);
    json_t *document = parse(write_document(&e, FT_JSON, 1));
    assert_true(schema_fits(document, *state, "a document of two metrics"));
    const json_t *results = json_object_get(document, "results"),
                 *last = json_array_get(results, 2 * e.score_count - 1);
    assert_int_equal(json_array_size(results), 2 * e.score_count);
    assert_non_null(last);
    const json_t *also = json_array_get(json_object_get(document, "also"), 0);
    assert_string_equal(json_string_value(json_object_get(also, "metric")), "util_ratio");
    assert_int_equal(json_integer_value(json_object_get(also, "refused")), 2);
    assert_int_equal(json_array_size(json_object_get(also, "results")), e.score_count);
    json_decref(document);
    arena_free(&memory);
}

static void test_json_of_all_records(void **state) {
    ft_evaluation e = make();
    e.split = e.split_hash = NULL;
    json_t *document = parse(write_document(&e, FT_JSON, 0));
    assert_true(schema_fits(document, *state, "the document"));
    assert_true(json_is_null(json_object_get(document, "split")));
    assert_string_equal(json_string_value(json_object_get(document, "part")), "all");
    assert_int_equal(json_array_size(json_object_get(document, "worst")), 0);
    json_decref(document);
    arena_free(&memory);
}

static void test_guide_explains_every_key(void **state) {
    schema_is_documented(*state, "docs/evaluation.md");
}

static void test_full_disk(void **state) {
    (void)state;
    ft_error error;
    ft_style style = ft_style_default();
    ft_evaluation e = make();
    FILE *stream = fopen("/dev/full", "w");
    assert_non_null(stream);
    assert_int_equal(ft_evaluation_write(&e, "p", 1, &style, stream, &error), FT_ERR_IO);
    fclose(stream);
    arena_free(&memory);
}

static void test_no_memory(void **state) {
    (void)state;
    ft_evaluation e = make();
    FILE *stream = fopen("/dev/null", "w");
    assert_non_null(stream);
    for (ft_output output = FT_TABLE; output <= FT_CSV; output++) {
        ft_style style = ft_style_default();
        style.output = output;
        for (long n = 0;; n++) {
            ft_error error;
            failing_start(n);
            ft_status status = ft_evaluation_write(&e, "p", 1, &style, stream, &error);
            if (!failing_stop()) break;
            assert_int_equal(status, FT_ERR_NOMEM);
        }
    }
    fclose(stream);
    arena_free(&memory);
}

static int load_schema(void **state) {
    *state = schema_load("docs/schema/evaluation.schema.json");
    return *state == NULL;
}

static int free_schema(void **state) {
    json_decref(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_json_of_all_records),
        cmocka_unit_test(test_guide_explains_every_key),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("learn/evaluation_write", tests, load_schema, free_schema);
}
