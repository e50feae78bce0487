/* Tests of the settings of a family: from JSON and from key=value items, in sorted order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "learn/train/run_config.h"

static void expect(const char *text, const char *const *settings, uint32_t count, const char *expected) {
    json_t *config = NULL;
    ft_error error = {0};
    assert_int_equal(config_parse(text, settings, count, &config, &error), FT_OK);
    char *found = json_dumps(config, JSON_COMPACT);
    assert_string_equal(found, expected);
    free(found);
    json_decref(config);
}

static void expect_refused(const char *text, const char *setting, ft_status status, const char *words) {
    json_t *config = NULL;
    ft_error error = {0};
    assert_int_equal(config_parse(text, &setting, setting != NULL, &config, &error), status);
    assert_null(config);
    assert_non_null(strstr(error.message, words));
}

static void test_settings(void **state) {
    (void)state;
    const char *const settings[] = {"depth=8", "name=plain text", "rate=0.5", "sizes=[1,2]", "is_deep=true", "z="};
    expect(NULL, NULL, 0, "{}");
    expect("{\"b\": 1, \"a\": {\"d\": 2, \"c\": 3}}", NULL, 0, "{\"a\":{\"c\":3,\"d\":2},\"b\":1}");
    expect(
        "{\"depth\": 3, \"zoo\": null}", settings, 6,
        "{\"depth\":8,\"is_deep\":true,\"name\":\"plain text\",\"rate\":0.5,\"sizes\":[1,2],\"z\":\"\",\"zoo\":null}");
}

static void test_refused(void **state) {
    (void)state;
    expect_refused("[3]", NULL, FT_ERR_USAGE, "is a list, but an object is expected");
    expect_refused("{", NULL, FT_ERR_DAMAGED, "line 1");
    expect_refused("{\"a\": 1, \"a\": 2}", NULL, FT_ERR_DAMAGED, "duplicate");
    expect_refused(NULL, "depth", FT_ERR_USAGE, "write KEY=VALUE");
    expect_refused(NULL, "=8", FT_ERR_USAGE, "write KEY=VALUE");
    expect_refused(NULL, "a=\xff", FT_ERR_USAGE, "UTF-8");
    expect_refused(NULL, "a=[[[[[[[[1]]]]]]]]", FT_ERR_LIMIT, "nested");
    char *large = malloc(CONFIG_MAX_BYTES + 2);
    memset(large, ' ', CONFIG_MAX_BYTES + 1);
    large[CONFIG_MAX_BYTES + 1] = '\0';
    expect_refused(large, NULL, FT_ERR_LIMIT, "longer than");
    free(large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("learn/run_config", tests, NULL, NULL);
}
