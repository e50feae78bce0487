/* Settings that families declare: defaults and ranges within bounds, and every one of them can be parsed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "predictor/core/settings.h"

static void check_number(const ft_setting *s) {
    assert_true(s->lo <= s->hi);
    assert_true(s->usual >= s->lo && s->usual <= s->hi);
    if (!s->is_searched) return;
    assert_true(s->from < s->to && s->from >= s->lo && s->to <= s->hi);
    if (s->is_log) assert_true(s->from > 0);
}

static void check_off(const ft_setting *s) {
    double taken;
    ft_error error;
    json_t *config = json_pack("{s:o}", s->name, json_loads(s->off, JSON_DECODE_ANY, NULL));
    assert_non_null(config);
    assert_int_equal(settings_parse(config, s, 1, &taken, &error), FT_OK);
    json_decref(config);
}

static void declared_settings_are_consistent(void **state) {
    (void)state;
    for (uint32_t f = 0; f < family_total; f++) {
        ft_setting list[FT_MAX_SETTINGS];
        uint32_t count = ft_family_settings(f, list, FT_MAX_SETTINGS), efforts = 0;
        assert_true(count <= FT_MAX_SETTINGS);
        for (uint32_t i = 0; i < count; i++) {
            const ft_setting *s = &list[i];
            assert_non_null(s->name);
            assert_true(s->text != NULL && s->text[0] != '\0');
            for (uint32_t k = 0; k < i; k++) assert_string_not_equal(list[k].name, s->name);
            if (s->kind == FT_SETTING_WORD)
                assert_true(s->usual < s->word_count);
            else
                check_number(s);
            if (s->off != NULL) check_off(s);
            efforts += s->is_effort;
        }
        assert_true(efforts <= 1);
    }
}

static void the_default_family_lists_settings(void **state) {
    (void)state;
    ft_setting list[1];
    assert_true(ft_family_settings(0, list, 1) > 1);
    assert_string_equal(list[0].name, "hidden");
    assert_string_equal(ft_setting_kind_name(list[0].kind), "int");
    assert_int_equal(ft_family_settings(family_total, list, 1), 0);
}

/* --- Taking -------------------------------------------------------------------------------------------------- */

static const char *const colours[] = {"red", "green"};
static const ft_setting settings[] = {
    {"alpha", "a share", FT_SETTING_REAL, 0.5, 0, 1, .off = "0"},
    {"beta", "a count", FT_SETTING_INT, 7, 1, 100, .is_effort = true},
    {.name = "colour", .text = "a word", .kind = FT_SETTING_WORD, .usual = 1, .words = colours, .word_count = 2},
};

static ft_status take(const char *text, double values[3], ft_error *error) {
    json_t *config = NULL;
    assert_int_equal(json_parse(text, strlen(text), &config, error), FT_OK);
    ft_status status = settings_parse(config, settings, 3, values, error);
    json_decref(config);
    return status;
}

static void settings_are_parsed(void **state) {
    (void)state;
    double v[3];
    ft_error error;
    assert_int_equal(settings_parse(NULL, settings, 3, v, &error), FT_OK);
    assert_true(v[0] == 0.5 && v[1] == 7 && v[2] == 1);
    assert_int_equal(take("{\"beta\": 9, \"colour\": \"red\"}", v, &error), FT_OK);
    assert_true(v[0] == 0.5 && v[1] == 9 && v[2] == 0);
    assert_int_equal(take("{\"colour\": \"blue\"}", v, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "config: 'colour': is 'blue', but must be one of red, green");
    assert_int_equal(take("{\"colour\": 1}", v, &error), FT_ERR_USAGE);
    assert_int_equal(take("{\"beta\": 101}", v, &error), FT_ERR_USAGE);
    assert_int_equal(take("{\"gamma\": 1}", v, &error), FT_ERR_USAGE);
    assert_string_equal(error.message, "config: there is no setting 'gamma'; there are alpha, beta, colour");
    assert_int_equal(take("[]", v, &error), FT_ERR_USAGE);
}

static void values_become_json(void **state) {
    (void)state;
    json_t *word = settings_value(&settings[2], 0), *whole = settings_value(&settings[1], 12);
    assert_string_equal(json_string_value(word), "red");
    assert_true(json_is_integer(whole) && json_integer_value(whole) == 12);
    json_decref(word);
    json_decref(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(declared_settings_are_consistent),
                                       cmocka_unit_test(the_default_family_lists_settings),
                                       cmocka_unit_test(settings_are_parsed), cmocka_unit_test(values_become_json)};
    return cmocka_run_group_tests_name("predictor/settings", tests, NULL, NULL);
}
