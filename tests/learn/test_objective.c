/* Tests of the objective of a search, read from the metrics.json of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "learn/search/objective.h"

static ft_status value_of(const char *text, const char *part, const char *score, double *value, ft_error *error) {
    json_t *metrics = NULL;
    const score_field *field;
    assert_int_equal(objective_find(score, &field, error), FT_OK);
    assert_int_equal(json_parse(text, strlen(text), &metrics, error), FT_OK);
    ft_status status = objective_of(metrics, part, field, value, error);
    json_decref(metrics);
    return status;
}

static const char two_devices[] =
    "{\"results\": [{\"part\": \"valid\", \"family\": \"all\", \"device\": \"a\", \"mape\": 4, \"acc10\": 90},"
    "{\"part\": \"valid\", \"family\": \"mean\", \"device\": \"a\", \"mape\": 100, \"acc10\": 1},"
    "{\"part\": \"test\", \"family\": \"all\", \"device\": \"a\", \"mape\": 50, \"acc10\": 2},"
    "{\"part\": \"valid\", \"family\": \"all\", \"device\": \"b\", \"mape\": 6, \"acc10\": null}]}";

static void is_the_mean_over_devices(void **state) {
    (void)state;
    double value;
    ft_error error;
    assert_int_equal(value_of(two_devices, "valid", NULL, &value, &error), FT_OK);
    assert_true(value == 5);
    assert_int_equal(value_of(two_devices, "test", "mape", &value, &error), FT_OK);
    assert_true(value == 50);
}

static void missing_scores_are_errors(void **state) {
    (void)state;
    double value;
    ft_error error;
    assert_int_equal(value_of(two_devices, "valid", "acc10", &value, &error), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "the run has no acc10 on the valid part: the training failed");
    assert_int_equal(value_of("{}", "valid", "mape", &value, &error), FT_ERR_DAMAGED);
    assert_string_equal(error.message, "the run was not scored on the valid part");
    assert_int_equal(value_of("{\"results\": [1, {}]}", "valid", "mape", &value, &error), FT_ERR_DAMAGED);
    assert_int_equal(objective_of_run("nowhere", "valid", &score_fields[0], &value, &error), FT_ERR_IO);
}

static void only_scores_with_an_optimum_are_objectives(void **state) {
    (void)state;
    const score_field *field;
    ft_error error;
    assert_int_equal(objective_find("acc5", &field, &error), FT_OK);
    assert_true(objective_loss(field, 3) == -3);
    assert_int_equal(objective_find("mape", &field, &error), FT_OK);
    assert_true(objective_loss(field, 3) == 3);
    assert_int_equal(objective_find("bias", &field, &error), FT_ERR_USAGE);
    assert_int_equal(objective_find("coverage90", &field, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "the objectives are mape, rmspe"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_mean_over_devices),
                                       cmocka_unit_test(missing_scores_are_errors),
                                       cmocka_unit_test(only_scores_with_an_optimum_are_objectives)};
    return cmocka_run_group_tests_name("learn/objective", tests, NULL, NULL);
}
