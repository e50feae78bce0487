/* Settings of a fit: taken where they are known and within bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/config.h"

static ft_status take(const char *text, double *a, double *b, ft_error *error) {
    const config_key keys[] = {{"alpha", 0, 1, a}, {"beta", 1, 100, b}};
    json_t *config = NULL;
    if (text != NULL) assert_int_equal(json_parse(text, strlen(text), &config, error), FT_OK);
    ft_status status = config_take(config, keys, 2, error);
    json_decref(config);
    return status;
}

static void takes_what_it_knows(void **state) {
    (void)state;
    double a = 0.5, b = 7;
    ft_error error;
    assert_int_equal(take(NULL, &a, &b, &error), FT_OK);
    assert_int_equal(take("{}", &a, &b, &error), FT_OK);
    assert_true(a == 0.5 && b == 7);
    assert_int_equal(take("{\"beta\": 100}", &a, &b, &error), FT_OK);
    assert_true(a == 0.5 && b == 100);
}

static void refuses_the_rest(void **state) {
    (void)state;
    double a = 0.5, b = 7;
    ft_error error;
    assert_int_equal(take("{\"gamma\": 1}", &a, &b, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "config: there is no setting 'gamma'; there are alpha, beta");
    assert_int_equal(take("{\"alpha\": 2}", &a, &b, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "config: 'alpha': is 2, but must be from 0 to 1");
    assert_int_equal(take("{\"alpha\": \"x\"}", &a, &b, &error), FT_ERR_USAGE);
    assert_int_equal(take("[]", &a, &b, &error), FT_ERR_USAGE);
    json_t *config = NULL;
    assert_int_equal(json_parse("{\"x\": 1}", 8, &config, &error), FT_OK);
    assert_int_equal(config_take(config, NULL, 0, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "config: there is no setting 'x'; there are none");
    json_decref(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(takes_what_it_knows), cmocka_unit_test(refuses_the_rest)};
    return cmocka_run_group_tests_name("predictor/config", tests, NULL, NULL);
}
