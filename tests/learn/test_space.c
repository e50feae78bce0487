/* Tests of search spaces: parsing, errors, drawing points, and converting points to settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "learn/search/space.h"
#include "support/failing.h"

static const char whole[] =
    "{\"rate\": \"log-real:1e-4..0.1\", \"hidden\": \"log-int:16..128\", \"depth\": \"int:2..4\","
    " \"keep\": \"real:0.5..1\", \"loss\": [\"mape\", \"log\"], \"batch\": 64,"
    " \"slope\": {\"range\": \"real:0..1\", \"when\": {\"loss\": [\"mape\"]}}}";

static void open_whole(space *s) {
    ft_error error;
    assert_int_equal(space_open(s, &error), FT_OK);
    assert_int_equal(space_add_text(s, whole, strlen(whole), &error), FT_OK);
}

static void reads_all_kinds(void **state) {
    (void)state;
    space s;
    open_whole(&s);
    assert_int_equal(s.count, 7);
    assert_true(s.keys[0].kind == SPACE_REAL && s.keys[0].is_log && s.keys[0].lo == 1e-4 && s.keys[0].hi == 0.1);
    assert_true(s.keys[1].kind == SPACE_INT && s.keys[1].is_log);
    assert_true(s.keys[2].kind == SPACE_INT && !s.keys[2].is_log && s.keys[2].hi == 4);
    assert_true(s.keys[4].kind == SPACE_CHOICE && s.keys[4].choice_count == 2);
    assert_true(s.keys[5].kind == SPACE_CHOICE && s.keys[5].choice_count == 1);
    assert_int_equal(s.keys[6].when, 4);
    assert_int_equal(s.keys[6].when_mask, 1);
    space_free(&s);
}

static void draws_within_bounds(void **state) {
    (void)state;
    space s;
    rng random;
    uint32_t depths[5] = {0}, slopes = 0;
    open_whole(&s);
    rng_init(&random, 1, 0);
    for (int i = 0; i < 3000; i++) {
        double v[SPACE_MAX_KEYS];
        space_draw(&s, &random, v);
        assert_true(v[0] >= 1e-4 && v[0] <= 0.1 && v[1] >= 16 && v[1] <= 128 && v[1] == trunc(v[1]));
        assert_true(v[2] >= 2 && v[2] <= 4 && v[3] >= 0.5 && v[3] <= 1 && v[4] <= 1 && v[5] == 0);
        depths[(uint32_t)v[2]]++;
        assert_true(isnan(v[6]) == (v[4] == 1)); /* there with "mape" alone */
        slopes += !isnan(v[6]);
        for (uint32_t k = 0; k < 4; k++)
            assert_true(fabs(space_from_unit(&s.keys[k], space_to_unit(&s.keys[k], v[k])) - v[k]) <= 1e-3 * v[k]);
    }
    for (int d = 2; d <= 4; d++) assert_true(depths[d] > 850 && depths[d] < 1150); /* ends are as likely as the rest */
    assert_true(slopes > 1300 && slopes < 1700);
    space_free(&s);
}

static void points_become_settings(void **state) {
    (void)state;
    space s;
    open_whole(&s);
    const double v[] = {0.01, 32, 3, 0.75, 1, 0, NAN};
    json_t *base = json_pack("{s:i}", "seedless", 1), *config = space_config(&s, v, base);
    assert_int_equal(json_object_size(config), 7);
    assert_int_equal(json_integer_value(json_object_get(config, "hidden")), 32);
    assert_string_equal(json_string_value(json_object_get(config, "loss")), "log");
    assert_int_equal(json_integer_value(json_object_get(config, "batch")), 64);
    assert_null(json_object_get(config, "slope"));
    assert_int_equal(json_object_size(base), 1);
    json_decref(base);
    json_decref(config);
    space_free(&s);
}

static void keys_are_set_and_removed(void **state) {
    (void)state;
    space s;
    ft_error error;
    open_whole(&s);
    assert_int_equal(space_set(&s, "depth=int:5..9", &error), FT_OK);
    assert_int_equal(s.count, 7);
    assert_true(s.keys[2].lo == 5);
    assert_int_equal(space_set(&s, "new=a,2,true", &error), FT_OK);
    assert_int_equal(s.keys[7].choice_count, 3);
    assert_true(json_is_string(s.keys[7].choices[0]) && json_is_integer(s.keys[7].choices[1]) &&
                json_is_true(s.keys[7].choices[2]));
    space_remove(&s, "depth");
    space_remove(&s, "nothing");
    assert_int_equal(space_find(&s, "depth"), FT_NONE);
    assert_int_equal(s.keys[5].when, 3); /* slope still hangs on loss */
    space_remove(&s, "loss");
    assert_int_equal(s.keys[4].when, FT_NONE);
    space_free(&s);
}

static void refuses_nonsense(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[]", "is a list, but an object is expected"},
        {"{\"a\": \"int:1..2.5\"}", "'a': needs integers up to 1073741824"},
        {"{\"a\": \"real:2..1\"}", "'a': the range goes from 2 down to 1"},
        {"{\"a\": \"log-real:0..1\"}", "'a': begins at 0: a log range must be above 0"},
        {"{\"a\": \"real:1\"}", "'a': '1' is not a range: write LOWEST..HIGHEST"},
        {"{\"a\": \"1..2\"}", "'a': '1..2': write int:, log-int:, real: or log-real: before a range"},
        {"{\"a\": \"real:1..inf\"}", "'a': '1..inf' is not a range: write LOWEST..HIGHEST"},
        {"{\"a\": []}", "'a': has no choices"},
        {"{\"a\": [[1]]}", "'a': has a choice that is neither number, text nor boolean"},
        {"{\"a\": \"x,,y\"}", "'a': has an empty choice"},
        {"{\"a\": {}}", "'a': an object must have 'range', may have 'when', and nothing else"},
        {"{\"a\": {\"range\": 1, \"when\": {\"b\": 1}}}", "'a': 'when' names 'b', which is not a choice before it"},
        {"{\"b\": [1, 2], \"a\": {\"range\": 1, \"when\": {\"b\": 3}}}", "'a': 'when': 'b' has no such choice"},
        {"{\"\": 1}", "'': not a name of a setting"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        space s;
        ft_error error;
        assert_int_equal(space_open(&s, &error), FT_OK);
        assert_int_not_equal(space_add_text(&s, cases[i].text, strlen(cases[i].text), &error), FT_OK);
        assert_string_equal(error.message, cases[i].message);
        assert_int_not_equal(space_set(&s, "=1", &error), FT_OK);
        assert_int_not_equal(space_set(&s, "x", &error), FT_OK);
        space_free(&s);
    }
}

static void families_give_theirs(void **state) {
    (void)state;
    static const char *const words[] = {"a", "b"};
    static const ft_setting settings[] = {
        {"x", "", FT_SETTING_REAL, 3, 0, 9, .is_searched = true, .from = 1, .to = 5},
        {"y", "", FT_SETTING_INT, 3, 0, 9, .off = "0"},
        {.name = "z", .kind = FT_SETTING_WORD, .usual = 1, .words = words, .word_count = 2, .is_searched = true},
        {"far", "", FT_SETTING_INT, 9, 0, 9, .is_searched = true, .from = 1, .to = 5},
    };
    space s;
    ft_error error;
    double usual[SPACE_MAX_KEYS];
    assert_int_equal(space_open(&s, &error), FT_OK);
    assert_int_equal(space_add_settings(&s, settings, 4, &error), FT_OK);
    assert_int_equal(s.count, 3);
    assert_true(s.keys[1].kind == SPACE_CHOICE && s.keys[1].choice_count == 2);
    space_defaults(&s, settings, 4, usual);
    assert_true(usual[0] == 3 && usual[1] == 1 && isnan(usual[2]));
    space_free(&s);
}

static void the_same_space_is_the_same_text(void **state) {
    (void)state;
    space a, b;
    open_whole(&a);
    open_whole(&b);
    json_t *x = space_json(&a), *y = space_json(&b);
    assert_true(json_equal(x, y));
    b.keys[0].hi = 0.2;
    json_t *z = space_json(&b);
    assert_false(json_equal(x, z));
    json_decref(x);
    json_decref(y);
    json_decref(z);
    space_free(&a);
    space_free(&b);
}

static void memory_may_run_out(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        space s;
        ft_error error;
        failing_start(n);
        ft_status status = space_open(&s, &error);
        if (status == FT_OK) status = space_add_text(&s, whole, strlen(whole), &error);
        bool has_failed = failing_stop();
        space_free(&s);
        if (!has_failed) break;
        if (status != FT_OK) assert_true(status == FT_ERR_NOMEM || status == FT_ERR_USAGE);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_all_kinds),
                                       cmocka_unit_test(draws_within_bounds),
                                       cmocka_unit_test(points_become_settings),
                                       cmocka_unit_test(keys_are_set_and_removed),
                                       cmocka_unit_test(refuses_nonsense),
                                       cmocka_unit_test(families_give_theirs),
                                       cmocka_unit_test(the_same_space_is_the_same_text),
                                       cmocka_unit_test(memory_may_run_out)};
    return cmocka_run_group_tests_name("learn/space", tests, NULL, NULL);
}
