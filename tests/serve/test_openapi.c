/* test_openapi.c - serve/openapi.json describes what the server does: its routes, the keys of requests, and real
 * answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/foretell.h"
#include "support/schema.h"
#include "support/small_set.h"

static json_t *root;

/* What a "$ref" stands for; the value itself when it has none. */
static json_t *resolve(json_t *value) {
    const char *ref = json_string_value(json_object_get(value, "$ref"));
    if (ref == NULL) return value;
    char path[256];
    json_t *at = root;
    snprintf(path, sizeof path, "%s", ref);
    char *rest = path;
    for (char *key; (key = strsep(&rest, "/")) != NULL;)
        if (strcmp(key, "#") != 0) at = json_object_get(at, key);
    if (at == NULL) fail_msg("%s leads nowhere", ref);
    return at;
}

/* A schema without references. */
static json_t *expand(json_t *schema) {
    json_t *whole = json_deep_copy(resolve(schema)), *item;
    const char *key;
    void *next;
    size_t i;
    json_object_foreach_safe(whole, next, key, item) json_object_set_new(whole, key, expand(item));
    json_array_foreach(whole, i, item) json_array_set_new(whole, i, expand(item));
    return whole;
}

/* The schema of the JSON that an operation answers with; NULL: it answers something else. */
static json_t *answer_schema(json_t *operation) {
    json_t *responses = json_object_get(operation, "responses"), *response = json_object_get(responses, "200");
    if (response == NULL) response = json_object_get(responses, "201");
    json_t *media = json_object_get(json_object_get(response, "content"), "application/json");
    json_t *schema = json_object_get(media, "schema"), *choices = json_object_get(schema, "oneOf");
    return choices != NULL ? json_array_get(choices, 0) : schema;
}

static void check_answer(const char *folder, const char *name, json_t *schema) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *value = json_load_file(path, JSON_DECODE_ANY, NULL), *whole = expand(schema);
    if (value == NULL) fail_msg("%s: the answer is not JSON", name);
    if (!schema_fits(value, whole, name)) fail_msg("%s: the answer does not fit its schema", name);
    json_decref(whole);
    json_decref(value);
}

static void real_answers_fit(void **state) {
    (void)state;
    char folder[] = "/tmp/foretell-openapi-XXXXXX", command[256];
    const char *path, *method;
    json_t *methods, *operation, *schemas = json_object_get(json_object_get(root, "components"), "schemas");
    int checked = 0;
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "bash tests/serve/answers.sh %s", folder);
    assert_int_equal(system(command), 0);
    json_object_foreach(json_object_get(root, "paths"), path, methods) {
        json_object_foreach(methods, method, operation) {
            json_t *schema = answer_schema(operation);
            if (schema == NULL || strcmp(path, "/openapi.json") == 0) continue;
            check_answer(folder, json_string_value(json_object_get(operation, "operationId")), schema);
            checked++;
        }
    }
    assert_int_equal(checked, 12);
    check_answer(folder, "answers", json_object_get(schemas, "Answers"));
    check_answer(folder, "problem", json_object_get(schemas, "Problem"));
    snprintf(command, sizeof command, "cmp %s/openapi serve/openapi.json && rm -r %s", folder, folder);
    assert_int_equal(system(command), 0);
}

/* Path and method of each route are an operation, and the other way round. */
static void routes_are_described(void **state) {
    (void)state;
    char *source = read_text("serve/routes.c"), *page = read_text("docs/serve.md");
    const char *path, *method;
    json_t *methods, *operation;
    size_t described = 0, routes = 0;
    for (const char *at = source; (at = strstr(at, "\n    {\"")) != NULL; at++) routes++;
    json_object_foreach(json_object_get(root, "paths"), path, methods) {
        json_object_foreach(methods, method, operation) {
            char row[256], line[256], upper[8] = "";
            int stem = (int)strcspn(path, "{");
            for (size_t i = 0; method[i] != '\0' && i < sizeof upper - 1; i++) upper[i] = (char)(method[i] - 'a' + 'A');
            snprintf(row, sizeof row, "    {\"%s\", \"%.*s\",", upper, stem, path);
            snprintf(line, sizeof line, "\n#### %s %s\n", upper, path);
            if (strstr(source, row) == NULL) fail_msg("there is no route %s %s", upper, path);
            if (strstr(page, line) == NULL) fail_msg("docs/serve.md lacks %s %s", upper, path);
            described++;
        }
    }
    assert_int_equal(described, routes);
    free(source);
    free(page);
}

static size_t count_keys(const char *list) {
    size_t count = 1;
    for (; *list != '\0'; list++) count += *list == ',';
    return count;
}

/* The message about an unknown key lists those that there are. */
static void keys_are_described(void **state) {
    (void)state;
    static const char *const commands[][2] = {{"predict", "PredictRequest"},
                                              {"fits", "FitsRequest"},
                                              {"max-batch", "MaxBatchRequest"},
                                              {"inspect", "InspectRequest"},
                                              {"observe", "ObserveRequest"}};
    char *page = read_text("docs/serve.md");
    json_t *schemas = json_object_get(json_object_get(root, "components"), "schemas"), *rule;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        ft_command *command = NULL;
        ft_error error;
        const char *key;
        json_t *properties = json_object_get(json_object_get(schemas, commands[i][1]), "properties");
        assert_int_equal(ft_command_parse(commands[i][0], "{\"?\": 1}", 8, &command, &error), FT_ERR_USAGE);
        const char *list = strstr(error.message, "there are ");
        assert_non_null(list);
        list += strlen("there are ");
        json_object_foreach(properties, key, rule) {
            char quoted[64], word[64];
            snprintf(quoted, sizeof quoted, "`%s`", key);
            if (strcmp(key, "requests") == 0) continue;
            if (strstr(page, quoted) == NULL) fail_msg("docs/serve.md lacks %s", quoted);
            snprintf(word, sizeof word, "%s,", key);
            size_t length = strlen(key);
            bool is_last = strlen(list) >= length && strcmp(list + strlen(list) - length, key) == 0;
            if (strstr(list, word) == NULL && !is_last) fail_msg("%s has no key %s", commands[i][0], key);
        }
        assert_int_equal(count_keys(list),
                         json_object_size(properties) - (json_object_get(properties, "requests") != NULL));
    }
    free(page);
}

static int set_up(void **state) {
    (void)state;
    root = schema_load("serve/openapi.json");
    return root == NULL;
}

static int tear_down(void **state) {
    (void)state;
    json_decref(root);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_answers_fit),
        cmocka_unit_test(routes_are_described),
        cmocka_unit_test(keys_are_described),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
