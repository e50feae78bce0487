/* Numbers and choices by name: read when they are known and within bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/core/settings.h"

static ft_status take(const char *text, double *a, double *b, ft_error *error) {
    const config_key keys[] = {{"alpha", 0, 1, a}, {"beta", 1, 100, b}};
    json_t *config = NULL;
    if (text != NULL) assert_int_equal(json_parse(text, strlen(text), &config, error), FT_OK);
    ft_status status = config_read(config, keys, 2, error);
    json_decref(config);
    return status;
}

static void known_settings_are_read(void **state) {
    (void)state;
    double a = 0.5, b = 7;
    ft_error error;
    assert_int_equal(take(NULL, &a, &b, &error), FT_OK);
    assert_int_equal(take("{}", &a, &b, &error), FT_OK);
    assert_true(a == 0.5 && b == 7);
    assert_int_equal(take("{\"beta\": 100}", &a, &b, &error), FT_OK);
    assert_true(a == 0.5 && b == 100);
}

static void unknown_settings_and_values_are_refused(void **state) {
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
    assert_int_equal(config_read(config, NULL, 0, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "config: there is no setting 'x'; there are none");
    json_decref(config);
}

static void choices_are_read_and_written(void **state) {
    (void)state;
    static const char *const colours[] = {"red", "green"};
    double size = 3, share = 0.5;
    uint32_t colour = 0;
    config_list list = {0};
    ft_error error;
    config_add_whole(&list, "size", 1, 10, &size);
    config_add_number(&list, "share", 0, 1, &share);
    config_add_choice(&list, "colour", colours, 2, &colour);
    json_t *config = json_pack("{s:s, s:i}", "colour", "green", "size", 4);
    assert_int_equal(config_read_list(config, &list, &error), FT_OK);
    assert_true(colour == 1 && size == 4 && share == 0.5);
    json_decref(config);
    json_t *written = config_write_list(&list);
    colour = 0;
    size = share = 1;
    assert_int_equal(config_read_list(written, &list, &error), FT_OK);
    assert_true(colour == 1 && size == 4 && share == 0.5);
    json_decref(written);
    config = json_pack("{s:s}", "colour", "blue");
    assert_int_equal(config_read_list(config, &list, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "config: 'colour': is 'blue', but must be one of red, green");
    json_decref(config);
    config = json_pack("{s:f}", "size", 1.5);
    assert_int_equal(config_read_list(config, &list, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "config: 'size': is 1.5, but a whole number is expected");
    json_decref(config);
    config = json_pack("{s:f}", "weight", 1.5);
    assert_int_equal(config_read_list(config, &list, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "config: there is no setting 'weight'; there are size, share, colour");
    json_decref(config);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_settings_are_read),
                                       cmocka_unit_test(unknown_settings_and_values_are_refused),
                                       cmocka_unit_test(choices_are_read_and_written)};
    return cmocka_run_group_tests_name("predictor/config", tests, NULL, NULL);
}
