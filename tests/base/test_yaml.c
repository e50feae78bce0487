/* YAML configurations are the values that the same JSON would be, by the core schema of YAML 1.2, within limits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/yaml.h"
#include "support/failing.h"

static json_t *parsed(const char *text) {
    json_t *root = NULL;
    ft_error error;
    if (config_text_parse(text, strlen(text), &root, &error) != FT_OK) fail_msg("%s: %s", text, error.message);
    return root;
}

static void expect(const char *yaml, const char *json) {
    json_t *a = parsed(yaml), *b = parsed(json);
    if (!json_equal(a, b)) {
        char *text = json_dumps(a, 0);
        fail_msg("%s\nis %s instead of %s", yaml, text, json);
    }
    json_decref(a);
    json_decref(b);
}

static void configurations_are_those_of_json(void **state) {
    (void)state;
    expect("depth: 6\nrate: 1e-3\nloss: huber\n", "{\"depth\": 6, \"rate\": 0.001, \"loss\": \"huber\"}");
    expect("# a comment\n---\nsizes: [1, 2]\nnested:\n  - a: 1\n    b: x\n  - []\n  - {}\n...\n",
           "{\"sizes\": [1, 2], \"nested\": [{\"a\": 1, \"b\": \"x\"}, [], {}]}");
    expect("- 1\n- text\n", "[1, \"text\"]");
    expect("text: |\n  two\n  lines\nfolded: >-\n  one\n  line\n",
           "{\"text\": \"two\\nlines\\n\", \"folded\": \"one line\"}");
    expect("a: {b: 1, \"c\": 2}\n", "{\"a\": {\"b\": 1, \"c\": 2}}");
    expect("1: x\nnull: y\n", "{\"1\": \"x\", \"null\": \"y\"}"); /* keys are texts */
    expect(" \n{\"a\": 1}", "{\"a\": 1}");                        /* JSON */
    expect("\xEF\xBB\xBF{a: 1}", "{\"a\": 1}");                   /* with a byte order mark: YAML's short form */
}

/* YAML 1.2, not 1.1: "yes", "012", "1_000" and "12:30" are not what they were. */
static void plain_scalars_are_of_the_core_schema(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"", "null"},
        {"~", "null"},
        {"Null", "null"},
        {"nULL", "\"nULL\""},
        {"true", "true"},
        {"False", "false"},
        {"TRUE", "true"},
        {"yes", "\"yes\""},
        {"on", "\"on\""},
        {"0", "0"},
        {"-7", "-7"},
        {"+12", "12"},
        {"012", "12"},
        {"0o17", "15"},
        {"0x1F", "31"},
        {"-0x1F", "\"-0x1F\""},
        {"0o8", "\"0o8\""},
        {"0x", "\"0x\""},
        {"1_000", "\"1_000\""},
        {"12:30", "\"12:30\""},
        {"1.5", "1.5"},
        {".5", "0.5"},
        {"-.5", "-0.5"},
        {"5.", "5.0"},
        {"5.e3", "5000.0"},
        {"1e3", "1000.0"},
        {"+1E-2", "0.01"},
        {"1e", "\"1e\""},
        {".", "\".\""},
        {"e3", "\"e3\""},
        {"1.2.3", "\"1.2.3\""},
        {"'12'", "\"12\""},
        {"\"true\"", "\"true\""},
        {"9223372036854775807", "9223372036854775807"},
        {"0x7FFFFFFFFFFFFFF", "576460752303423487"},
        {"18446744073709551616", "18446744073709551616.0"},
        {"log-real:1..2", "\"log-real:1..2\""},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char yaml[128], json[128];

        snprintf(yaml, sizeof yaml, "a: %s\n", pairs[i][0]);
        snprintf(json, sizeof json, "{\"a\": %s}", pairs[i][1]);
        expect(yaml, json);
    }
}

static void refuse(const char *text, size_t size, ft_status status, const char *why) {
    json_t *root = NULL;
    ft_error error = {.message = ""};
    ft_status found = config_text_parse(text, size, &root, &error);
    if (found != status || strstr(error.message, why) == NULL || root != NULL)
        fail_msg("'%.60s': status %d, '%s'", text, found, error.message);
}

static void what_is_not_read_is_named(void **state) {
    (void)state;
    static const struct {
        const char *text;
        ft_status status;
        const char *why;
    } cases[] = {
        {"a: &x 1\n", FT_ERR_UNSUPPORTED, "line 1, column 4: anchors and aliases are not read"},
        {"a: &x [1]\nb: *x\n", FT_ERR_UNSUPPORTED, "anchors and aliases"},
        {"a: *x\n", FT_ERR_UNSUPPORTED, "line 1, column 4: anchors and aliases"},
        {"*x : 1\n", FT_ERR_UNSUPPORTED, "or an alias"},
        {"<<: {a: 1}\n", FT_ERR_UNSUPPORTED, "merge keys"},
        {"a: !!int 3\n", FT_ERR_UNSUPPORTED, "tags are not read"},
        {"a: !!python/object:os.system x\n", FT_ERR_UNSUPPORTED, "tags are not read"},
        {"? [1]\n: 2\n", FT_ERR_UNSUPPORTED, "a key that is a list"},
        {"a: 1\n---\nb: 2\n", FT_ERR_UNSUPPORTED, "more than one document"},
        {"a: 1\nb: 2\na: 3\n", FT_ERR_DAMAGED, "line 3, column 1: a duplicate key"},
        {"a: .inf\n", FT_ERR_DAMAGED, "too large, infinite or none"},
        {"a: -.INF\n", FT_ERR_DAMAGED, "too large, infinite or none"},
        {"a: .nan\n", FT_ERR_DAMAGED, "too large, infinite or none"},
        {"a: 1e999\n", FT_ERR_DAMAGED, "too large, infinite or none"},
        {"a: 0xFFFFFFFFFFFFFFFFFF\n", FT_ERR_DAMAGED, "too large, infinite or none"},
        {"a: \"b\\0c\"\n", FT_ERR_DAMAGED, "NUL character"},
        {"\"b\\0c\": 1\n", FT_ERR_DAMAGED, "NUL character"},
        {"a: [1\n", FT_ERR_DAMAGED, "line 2"},
        {"a: b: c\n", FT_ERR_DAMAGED, "line 1, column 5"},
        {"just text\n", FT_ERR_DAMAGED, "line 1, column 1: an object or a list is expected"},
        {"# nothing\n", FT_ERR_DAMAGED, "an object or a list is expected"},
        {"", FT_ERR_DAMAGED, "an object or a list is expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(cases[i].text, strlen(cases[i].text), cases[i].status, cases[i].why);
    refuse("a: \xFF\n", 5, FT_ERR_DAMAGED, "UTF-8");
}

/* At the limits, and one above. */
static void limits_are_kept(void **state) {
    (void)state;
    char *text = malloc(YAML_MAX_BYTES + 2);
    json_t *root;
    for (int above = 0; above < 2; above++) {
        int depth = YAML_MAX_DEPTH - 1 + above, length = sprintf(text, "a: ");
        memset(text + length, '[', (size_t)depth);
        memset(text + length + depth, ']', (size_t)depth);
        text[length + 2 * depth] = '\0';
        if (above == 0)
            json_decref(parsed(text));
        else
            refuse(text, strlen(text), FT_ERR_LIMIT, "nested too deeply");
    }
    for (int above = 0; above < 2; above++) { /* an object, its key, a list and its items */
        int length = sprintf(text, "a: [");
        for (int i = 0; i < YAML_MAX_VALUES - 3 + above; i++) length += sprintf(text + length, "1,");
        strcpy(text + length, "]");
        if (above == 0)
            json_decref(parsed(text));
        else
            refuse(text, strlen(text), FT_ERR_LIMIT, "too many values");
    }
    memset(text, '#', YAML_MAX_BYTES + 1);
    memcpy(text + YAML_MAX_BYTES - 6, "\na: 12", 6);
    ft_error error;
    assert_int_equal(config_text_parse(text, YAML_MAX_BYTES, &root, &error), FT_OK);
    json_decref(root);
    refuse(text, YAML_MAX_BYTES + 1, FT_ERR_LIMIT, "bytes; YAML may have");
    free(text);
}

/* A value of JSON written as JSON is YAML as well, and the same value: its short form. */
static json_t *draw_value(rng *random, uint32_t depth) {
    static const char *const texts[] = {"", "text", "12", "true", "a b", "x: y", "\n", "null", "#", "'", "\xC3\xA9"};
    switch (rng_below(random, depth > 0 ? 7 : 5)) {
    case 0:
        return json_integer((json_int_t)rng_below(random, 2000) - 1000);
    case 1:
        return json_real(rng_normal(random) * 1e3);
    case 2:
        return json_boolean(rng_below(random, 2) == 0);
    case 3:
        return json_null();
    case 4:
        return json_string(texts[rng_below(random, sizeof texts / sizeof texts[0])]);
    case 5: {
        json_t *list = json_array();
        for (uint32_t i = rng_below(random, 4); i > 0; i--) list = json_list_with(list, draw_value(random, depth - 1));
        return list;
    }
    default: {
        json_t *object = json_object();
        for (uint32_t i = 0; i < 3; i++)
            object = json_with(object, texts[1 + rng_below(random, 9)], draw_value(random, depth - 1));
        return object;
    }
    }
}

static void json_is_yaml(void **state) {
    (void)state;
    rng random;
    rng_init(&random, 12, 0);
    for (uint32_t i = 0; i < 500; i++) {
        json_t *value = json_with(json_object(), "value", draw_value(&random, 4)), *root = NULL;
        char *text = json_dumps(value, JSON_REAL_PRECISION(17)), *commented;
        assert_true(asprintf(&commented, "# so that it is YAML\n%s\n", text) > 0);
        ft_error error;
        if (config_text_parse(commented, strlen(commented), &root, &error) != FT_OK)
            fail_msg("%s: %s", text, error.message);
        if (!json_equal(root, value)) fail_msg("%s", text);
        json_decref(root);
        json_decref(value);
        free(text);
        free(commented);
    }
}

static void out_of_memory_is_an_error(void **state) {
    (void)state;
    static const char text[] = "a: 1\nb: [x, 2.5, {c: ~}]\n";
    json_decref(parsed(text)); /* loads the library */
    for (long n = 0;; n++) {
        json_t *root = NULL;
        failing_start(n);
        ft_status status = config_text_parse(text, strlen(text), &root, NULL);
        bool has_failed = failing_stop();
        json_decref(root);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
}

static void file_names_are_recognised(void **state) {
    (void)state;
    assert_true(config_is_file_name("a.json") && config_is_file_name("b.yaml") && config_is_file_name("b.c.yml"));
    assert_false(config_is_file_name(".yaml") || config_is_file_name("json") || config_is_file_name("a.yamlx"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configurations_are_those_of_json),
        cmocka_unit_test(plain_scalars_are_of_the_core_schema),
        cmocka_unit_test(what_is_not_read_is_named),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(json_is_yaml),
        cmocka_unit_test(out_of_memory_is_an_error),
        cmocka_unit_test(file_names_are_recognised),
    };
    return cmocka_run_group_tests_name("base/yaml", tests, NULL, NULL);
}
