/* schema.c - a validator of JSON documents. */
#include "support/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_type(json_t *value, const char *type) {
    if (strcmp(type, "object") == 0) return json_is_object(value);
    if (strcmp(type, "array") == 0) return json_is_array(value);
    if (strcmp(type, "string") == 0) return json_is_string(value);
    if (strcmp(type, "integer") == 0) return json_is_integer(value);
    if (strcmp(type, "number") == 0) return json_is_number(value);
    if (strcmp(type, "boolean") == 0) return json_is_boolean(value);
    if (strcmp(type, "null") == 0) return json_is_null(value);
    fail_msg("the schema has the unknown type '%s'", type);
    return false;
}

static bool fits_type(json_t *value, json_t *types) {
    if (json_is_string(types)) return has_type(value, json_string_value(types));
    size_t i;
    json_t *type;
    json_array_foreach(types, i, type) if (has_type(value, json_string_value(type))) return true;
    return false;
}

static bool fits_object(json_t *value, json_t *rule, const char *where) {
    json_t *properties = json_object_get(rule, "properties"), *others = json_object_get(rule, "additionalProperties");
    const char *key;
    json_t *item;
    size_t i;
    if (!json_is_object(value)) return true; /* the keyword "type" decides whether it may be something else */
    json_array_foreach(json_object_get(rule, "required"), i, item) {
        if (json_object_get(value, json_string_value(item)) != NULL) continue;
        print_message("%s lacks %s\n", where, json_string_value(item));
        return false;
    }
    json_object_foreach(value, key, item) {
        json_t *known = json_object_get(properties, key);
        if (known == NULL && json_is_object(others)) known = others;
        if (known == NULL) print_message("%s has the key %s, which is not in the schema\n", where, key);
        if (known == NULL || !schema_fits(item, known, key)) return false;
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
    static const char *const ignored[] = {"$schema", "title", "description", "required"};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (strcmp(word, ignored[i]) == 0) return true;
    if (strcmp(word, "type") == 0) return fits_type(value, argument);
    if (strcmp(word, "enum") == 0) return fits_enum(value, argument);
    if (strcmp(word, "properties") == 0) return fits_object(value, rule, where);
    if (strcmp(word, "additionalProperties") == 0) /* checked together with the properties, if any */
        return json_object_get(rule, "properties") != NULL || fits_object(value, rule, where);
    if (strcmp(word, "minimum") == 0)
        return !json_is_number(value) || json_number_value(value) >= json_number_value(argument);
    if (strcmp(word, "maximum") == 0)
        return !json_is_number(value) || json_number_value(value) <= json_number_value(argument);
    if (strcmp(word, "items") == 0) {
        size_t i;
        json_t *item;
        json_array_foreach(value, i, item) if (!schema_fits(item, argument, where)) return false;
        return true;
    }
    fail_msg("the schema has the unknown keyword '%s'", word);
    return false;
}

bool schema_fits(json_t *value, json_t *rule, const char *where) {
    const char *word;
    json_t *argument;
    json_object_foreach(rule, word, argument) {
        if (fits_rule(value, rule, word, argument, where)) continue;
        print_message("%s does not fit '%s'\n", where, word);
        return false;
    }
    return true;
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

/* Every key of the schema is in the guide, as `key`. */
static void check_documented(json_t *rule, const char *guide, const char *path) {
    const char *key;
    json_t *item;
    json_object_foreach(json_object_get(rule, "properties"), key, item) {
        char quoted[128];
        snprintf(quoted, sizeof quoted, "`%s`", key);
        if (strstr(guide, quoted) == NULL) fail_msg("%s does not explain %s", path, key);
        check_documented(item, guide, path);
    }
    json_t *items = json_object_get(rule, "items");
    if (items != NULL) check_documented(items, guide, path);
}

void schema_is_documented(json_t *schema, const char *path) {
    char *guide = read_text(path);
    check_documented(schema, guide, path);
    free(guide);
}

json_t *schema_load(const char *path) {
    json_error_t error;
    json_t *schema = json_load_file(path, 0, &error);
    if (schema == NULL) print_message("schema: %s, line %d\n", error.text, error.line);
    return schema;
}
