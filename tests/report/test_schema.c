/* Tests that JSON output fits docs/schema/inspect.schema.json, and that docs/inspect.md explains every key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>

#include "support/report_model.h"
#include "support/schema.h"

static json_t *schema;

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
        assert_true(schema_fits(document, schema, "the document"));
        json_decref(document);
    }
}

/* A validator that accepts everything would not be noticed otherwise. */
static void test_wrong_reports_do_not(void **state) {
    (void)state;
    json_t *document = report_with(true), *model = json_array_get(document, 0);
    json_object_set_new(model, "colour", json_string("red"));
    assert_false(schema_fits(document, schema, "a document with a key too many"));
    json_object_del(model, "colour");
    json_object_set_new(json_object_get(model, "summary"), "macs", json_real(1.5));
    assert_false(schema_fits(document, schema, "a document with half a MAC"));
    json_object_set_new(json_object_get(model, "summary"), "macs", json_integer(1));
    assert_true(schema_fits(document, schema, "the document"));
    json_object_del(json_object_get(model, "summary"), "macs");
    assert_false(schema_fits(document, schema, "a document without MACs"));
    json_decref(document);
}

static void test_guide_explains_every_key(void **state) {
    (void)state;
    schema_is_documented(schema, "docs/inspect.md");
}

static int load_schema(void **state) {
    (void)state;
    schema = schema_load("docs/schema/inspect.schema.json");
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
