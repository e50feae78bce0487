/* Tests that JSON output fits docs/schema/inspect.schema.json, and that docs/inspect.md explains every key.
 *
 * The validator knows the few words that the schema uses and refuses any other, so the schema cannot outgrow it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/report_model.h"

static json_t *schema;

static bool has_type(json_t *value, const char *type) {
    if (strcmp(type, "object") == 0) return json_is_object(value);
    if (strcmp(type, "array") == 0) return json_is_array(value);
    if (strcmp(type, "string") == 0) return json_is_string(value);
    if (strcmp(type, "integer") == 0) return json_is_integer(value);
    if (strcmp(type, "number") == 0) return json_is_number(value);
    if (strcmp(type, "boolean") == 0) return json_is_boolean(value);
    if (strcmp(type, "null") == 0) return json_is_null(value);
    fail_msg("the schema knows a type '%s'", type);
    return false;
}

static bool fits_type(json_t *value, json_t *types) {
    if (json_is_string(types)) return has_type(value, json_string_value(types));
    size_t i;
    json_t *type;
    json_array_foreach(types, i, type) if (has_type(value, json_string_value(type))) return true;
    return false;
}

static bool fits(json_t *value, json_t *rule, const char *where);

static bool fits_object(json_t *value, json_t *rule, const char *where) {
    json_t *properties = json_object_get(rule, "properties"), *others = json_object_get(rule, "additionalProperties");
    const char *key;
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(rule, "required"), i, item) {
        if (json_object_get(value, json_string_value(item)) != NULL) continue;
        print_message("%s lacks %s\n", where, json_string_value(item));
        return false;
    }
    json_object_foreach(value, key, item) {
        json_t *known = json_object_get(properties, key);
        if (known == NULL && json_is_object(others)) known = others;
        if (known == NULL) print_message("%s has the key %s, which the schema does not know\n", where, key);
        if (known == NULL || !fits(item, known, key)) return false;
    }
    return true;
}

static bool fits_enum(json_t *value, json_t *choices) {
    size_t i;
    json_t *choice;
    json_array_foreach(choices, i, choice) if (json_equal(value, choice)) return true;
    return false;
}

static bool fits_rule(json_t *value, json_t *rule, const char *word, json_t *argument, const char *where) {
    static const char *const done_elsewhere[] = {"$schema", "title", "description", "required"};
    for (size_t i = 0; i < sizeof done_elsewhere / sizeof done_elsewhere[0]; i++)
        if (strcmp(word, done_elsewhere[i]) == 0) return true;
    if (strcmp(word, "type") == 0) return fits_type(value, argument);
    if (strcmp(word, "enum") == 0) return fits_enum(value, argument);
    if (strcmp(word, "properties") == 0) return fits_object(value, rule, where);
    if (strcmp(word, "additionalProperties") == 0) /* looked at together with the properties, when there are any */
        return json_object_get(rule, "properties") != NULL || fits_object(value, rule, where);
    if (strcmp(word, "minimum") == 0)
        return !json_is_number(value) || json_number_value(value) >= json_number_value(argument);
    if (strcmp(word, "maximum") == 0)
        return !json_is_number(value) || json_number_value(value) <= json_number_value(argument);
    if (strcmp(word, "items") == 0) {
        size_t i;
        json_t *item;
        json_array_foreach(value, i, item) if (!fits(item, argument, where)) return false;
        return true;
    }
    fail_msg("the schema uses the word '%s'", word);
    return false;
}

static bool fits(json_t *value, json_t *rule, const char *where) {
    const char *word;
    json_t *argument;
    json_object_foreach(rule, word, argument) {
        if (fits_rule(value, rule, word, argument, where)) continue;
        print_message("%s does not fit '%s'\n", where, word);
        return false;
    }
    return true;
}

static json_t *report_with(bool has_lists) {
    ft_rules *rules = NULL;
    ft_error error;
    json_error_t json_error;
    ft_inspect_options options = ft_inspect_options_default();
    options.style.output = FT_JSON;
    options.has_nodes = has_lists;
    if (has_lists) assert_int_equal(ft_rules_open("torch-compile", &rules, &error), FT_OK);
    options.rules = rules;
    char *text = model_report(&options, 2);
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &json_error);
    assert_non_null(document);
    free(text);
    ft_rules_free(rules);
    return document;
}

static void test_reports_fit(void **state) {
    (void)state;
    for (int has_lists = 0; has_lists < 2; has_lists++) {
        json_t *document = report_with(has_lists);
        assert_true(fits(document, schema, "the document"));
        json_decref(document);
    }
}

/* A validator that accepts everything would not be noticed otherwise. */
static void test_wrong_reports_do_not(void **state) {
    (void)state;
    json_t *document = report_with(true), *model = json_array_get(document, 0);
    json_object_set_new(model, "colour", json_string("red"));
    assert_false(fits(document, schema, "a document with a key too many"));
    json_object_del(model, "colour");
    json_object_set_new(json_object_get(model, "summary"), "macs", json_real(1.5));
    assert_false(fits(document, schema, "a document with half a MAC"));
    json_object_set_new(json_object_get(model, "summary"), "macs", json_integer(1));
    assert_true(fits(document, schema, "the document"));
    json_object_del(json_object_get(model, "summary"), "macs");
    assert_false(fits(document, schema, "a document without MACs"));
    json_decref(document);
}

static char *read_text(const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL) fail_msg("cannot open %s: run the test in the root of the repository", path);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* Every key of the schema stands in the guide, as `key`. */
static void check_documented(json_t *rule, const char *guide) {
    const char *key;
    json_t *item;
    json_object_foreach(json_object_get(rule, "properties"), key, item) {
        char quoted[128];
        snprintf(quoted, sizeof quoted, "`%s`", key);
        if (strstr(guide, quoted) == NULL) fail_msg("docs/inspect.md does not explain %s", key);
        check_documented(item, guide);
    }
    json_t *items = json_object_get(rule, "items");
    if (items != NULL) check_documented(items, guide);
}

static void test_guide_explains_every_key(void **state) {
    (void)state;
    char *guide = read_text("docs/inspect.md");
    check_documented(schema, guide);
    free(guide);
}

static int load_schema(void **state) {
    (void)state;
    json_error_t error;
    schema = json_load_file("docs/schema/inspect.schema.json", 0, &error);
    if (schema == NULL) print_message("schema: %s, line %d\n", error.text, error.line);
    return schema == NULL;
}

static int free_schema(void **state) {
    (void)state;
    json_decref(schema);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports_fit),
        cmocka_unit_test(test_wrong_reports_do_not),
        cmocka_unit_test(test_guide_explains_every_key),
    };
    return cmocka_run_group_tests_name("report/schema", tests, load_schema, free_schema);
}
