/* Tests of comparing predictors: shared records, best scores, and the documents. */
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

enum { COUNT = 40 };

/* Evaluations of 20 records a device; errors of +-`error` percent, going round two families. */
typedef struct sample {
    ft_case cases[COUNT];
    arena memory;
    ft_evaluation evaluation;
} sample;

static void make(sample *s, double error, const char *other_device, uint32_t skipped) {
    ft_error failure;
    uint32_t count = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        if (i == skipped) continue;
        double measured = 100 + i, sign = i % 2 == 0 ? 1 : -1;
        uint32_t shift = i >= COUNT / 2 && strcmp(other_device, "npu") == 0 ? 100 : 0; /* a record has one device */
        s->cases[count++] = (ft_case){.record = i + shift,
                                      .device = i < COUNT / 2 ? "cpu" : other_device,
                                      .family = i % 4 < 2 ? "alex" : "vgg",
                                      .name = "m",
                                      .measured = measured,
                                      .predicted = measured * (1 + sign * error / 100),
                                      .lo = (double)NAN,
                                      .hi = (double)NAN};
    }
    s->evaluation = (ft_evaluation){
        .predictor_family = "fake", .metric = "time_us", .data_hash = "00ff", .cases = s->cases, .case_count = count};
    arena_init(&s->memory, 1 << 20);
    ft_evaluation *e = &s->evaluation;
    assert_int_equal(
        evaluation_scores(&s->memory, e->metric, e->cases, e->case_count, &e->scores, &e->score_count, &failure),
        FT_OK);
}

static ft_status write_to(char **text, const ft_compared_predictor *predictors, uint32_t count, bool has_families,
                          ft_output output, ft_error *error) {
    size_t size;
    ft_style style = ft_style_default();
    style.output = output;
    FILE *stream = open_memstream(text, &size);
    assert_non_null(stream);
    ft_status status = ft_compare_write(predictors, count, has_families, 1, &style, stream, error);
    fclose(stream);
    return status;
}

static json_t *compare_json(const ft_compared_predictor *predictors, uint32_t count, bool has_families,
                            json_t *schema) {
    char *text;
    ft_error error;
    json_error_t json_error;
    assert_int_equal(write_to(&text, predictors, count, has_families, FT_JSON, &error), FT_OK);
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &json_error);
    assert_non_null(document);
    free(text);
    assert_true(schema_fits(document, schema, "the document"));
    return document;
}

static const json_t *row_of(const json_t *document, size_t index) {
    return json_array_get(json_object_get(document, "results"), index);
}

static double number_of(const json_t *row, const char *key) {
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void check_row(const json_t *row, const char *predictor, const char *device, const char *family, double n,
                      double mape) {
    assert_string_equal(json_string_value(json_object_get(row, "predictor")), predictor);
    assert_string_equal(json_string_value(json_object_get(row, "device")), device);
    assert_string_equal(json_string_value(json_object_get(row, "family")), family);
    assert_true(number_of(row, "n") == n);
    assert_true(fabs(number_of(row, "mape") - mape) < 1e-9);
}

static bool is_best(const json_t *row, const char *key) {
    const json_t *best = json_object_get(row, "best");
    for (size_t i = 0; i < json_array_size(best); i++)
        if (strcmp(json_string_value(json_array_get(best, i)), key) == 0) return true;
    return false;
}

static sample a, b;

static void test_rows(void **state) {
    make(&a, 4, "gpu", FT_NONE);
    make(&b, 6, "gpu", FT_NONE);
    const ft_compared_predictor predictors[] = {{"a.ftm", &a.evaluation}, {"b.ftm", &b.evaluation}};
    json_t *document = compare_json(predictors, 2, true, *state);
    assert_int_equal(json_array_size(json_object_get(document, "results")), 2 * 2 * 4);
    check_row(row_of(document, 0), "a.ftm", "cpu", "all", 20, 4);
    check_row(row_of(document, 1), "b.ftm", "cpu", "all", 20, 6);
    check_row(row_of(document, 3), "b.ftm", "cpu", "mean", 20, 6);
    check_row(row_of(document, 4), "a.ftm", "cpu", "alex", 10, 4);
    check_row(row_of(document, 15), "b.ftm", "gpu", "vgg", 10, 6);
    const json_t *first = row_of(document, 0), *second = row_of(document, 1);
    assert_true(is_best(first, "mape") && !is_best(second, "mape"));
    assert_false(is_best(first, "acc10") || is_best(second, "acc10")); /* all are within 10 % with both */
    assert_true(is_best(first, "acc5") && !is_best(second, "acc5"));
    assert_false(is_best(first, "coverage90"));
    assert_true(isnan(number_of(first, "mape_difference")));
    assert_true(fabs(number_of(second, "mape_difference") - 2) < 1e-9);
    assert_true(fabs(number_of(second, "mape_difference_lo") - 2) < 1e-9); /* each is worse by the same */
    assert_true(fabs(number_of(second, "mape_difference_hi") - 2) < 1e-9);
    json_decref(document);
    document = compare_json(predictors, 2, false, *state);
    assert_int_equal(json_array_size(json_object_get(document, "results")), 2 * 2 * 2);
    json_decref(document);
    arena_free(&a.memory);
    arena_free(&b.memory);
}

/* One knows a device that the other does not, and lacks a record of the one they share. */
static void test_shared_records(void **state) {
    make(&a, 4, "gpu", 3);
    make(&b, 6, "npu", FT_NONE);
    const ft_compared_predictor predictors[] = {{"a.ftm", &a.evaluation}, {"b.ftm", &b.evaluation}};
    json_t *document = compare_json(predictors, 2, false, *state);
    assert_int_equal(json_array_size(json_object_get(document, "results")), 8);
    check_row(row_of(document, 0), "a.ftm", "cpu", "all", 19, 4);
    check_row(row_of(document, 1), "b.ftm", "cpu", "all", 19, 6);
    check_row(row_of(document, 4), "a.ftm", "gpu", "all", 20, 4);
    check_row(row_of(document, 6), "b.ftm", "npu", "all", 20, 6);
    assert_true(isnan(number_of(row_of(document, 6), "mape_difference")));
    assert_false(is_best(row_of(document, 6), "mape")); /* alone */
    json_decref(document);
    arena_free(&a.memory);
    arena_free(&b.memory);
}

static void test_table_and_csv(void **state) {
    (void)state;
    ft_error error;
    char *text;
    make(&a, 4, "gpu", FT_NONE);
    make(&b, 6, "gpu", FT_NONE);
    const ft_compared_predictor predictors[] = {{"a.ftm", &a.evaluation}, {"b.ftm", &b.evaluation}};
    assert_int_equal(write_to(&text, predictors, 2, false, FT_TABLE, &error), FT_OK);
    assert_non_null(strstr(text, "time_us; all records\n\ncpu, all records\n"));
    assert_non_null(strstr(text, "a.ftm"));
    assert_non_null(strstr(text, "4.00*"));
    assert_non_null(strstr(text, "2.00 [2.00, 2.00]\n"));
    free(text);
    /* Shared parts of the paths are omitted. */
    const ft_compared_predictor runs[] = {{"runs/one/p.ftm", &a.evaluation}, {"runs/two/p.ftm", &b.evaluation}};
    assert_int_equal(write_to(&text, runs, 2, false, FT_TABLE, &error), FT_OK);
    assert_non_null(strstr(text, "\n  one "));
    assert_non_null(strstr(text, "\n  two "));
    free(text);
    const ft_compared_predictor nested[] = {{"a/a", &a.evaluation}, {"a/a/a", &b.evaluation}};
    assert_int_equal(write_to(&text, nested, 2, false, FT_TABLE, &error), FT_OK);
    assert_non_null(strstr(text, "\n  a "));
    assert_non_null(strstr(text, "\n  a/a "));
    free(text);
    assert_int_equal(write_to(&text, predictors, 2, false, FT_CSV, &error), FT_OK);
    assert_non_null(strstr(text, "predictor,device,family,metric,n,mape,"));
    assert_non_null(strstr(text, "\nb.ftm,gpu,mean,time_us,20,"));
    free(text);
    arena_free(&a.memory);
    arena_free(&b.memory);
}

static void test_refused(void **state) {
    (void)state;
    ft_error error;
    char *text;
    make(&a, 4, "gpu", FT_NONE);
    make(&b, 6, "gpu", FT_NONE);
    const ft_compared_predictor predictors[] = {{"a.ftm", &a.evaluation}, {"b.ftm", &b.evaluation}};
    assert_int_equal(write_to(&text, predictors, 0, false, FT_CSV, &error), FT_ERR_USAGE);
    free(text);
    b.evaluation.data_hash = "11";
    assert_int_equal(write_to(&text, predictors, 2, false, FT_CSV, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "different data sets"));
    free(text);
    b.evaluation.metric = "peak_bytes";
    assert_int_equal(write_to(&text, predictors, 2, false, FT_CSV, &error), FT_ERR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "b.ftm predicts 'peak_bytes'"));
    free(text);
    arena_free(&a.memory);
    arena_free(&b.memory);
}

static void test_no_memory(void **state) {
    (void)state;
    make(&a, 4, "gpu", FT_NONE);
    make(&b, 6, "gpu", FT_NONE);
    const ft_compared_predictor predictors[] = {{"a.ftm", &a.evaluation}, {"b.ftm", &b.evaluation}};
    ft_style style = ft_style_default();
    FILE *stream = fopen("/dev/null", "w");
    assert_non_null(stream);
    for (long n = 0;; n++) {
        ft_error error;
        failing_start(n);
        ft_status status = ft_compare_write(predictors, 2, true, 1, &style, stream, &error);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    fclose(stream);
    arena_free(&a.memory);
    arena_free(&b.memory);
}

static void test_guide_explains_every_key(void **state) {
    schema_is_documented(*state, "docs/evaluation.md");
}

static int load_schema(void **state) {
    *state = schema_load("docs/schema/comparison.schema.json");
    return *state == NULL;
}

static int free_schema(void **state) {
    json_decref(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),          cmocka_unit_test(test_shared_records),
        cmocka_unit_test(test_table_and_csv), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),     cmocka_unit_test(test_guide_explains_every_key),
    };
    return cmocka_run_group_tests_name("learn/compare", tests, load_schema, free_schema);
}
