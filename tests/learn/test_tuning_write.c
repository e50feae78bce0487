/* Tests of the documents of a search: table, JSON and CSV agree, and the JSON matches its schema. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/tune.h"
#include "support/failing.h"
#include "support/schema.h"

static const char *const losses[] = {"\"mape\"", "\"huber\""};
static const ft_tune_key keys[] = {{.name = "rate", .is_log = true, .lo = 1e-4, .hi = 0.1},
                                   {.name = "loss", .choices = losses, .choice_count = 2}};
static const double usual[] = {0.01, 0}, good[] = {0.02, 1}, bad[] = {0.05, NAN};
static const double first[] = {6, 5}, second[] = {5.5, 4.25}, third[] = {NAN};
static const ft_trial trials[] = {
    {.index = 0, .rungs = 2, .scores = first, .objective = 5, .config = "{}", .values = usual},
    {.index = 1, .rungs = 2, .scores = second, .objective = 4.25, .config = "{\"rate\": 0.02}", .values = good},
    {.index = 2, .rungs = 1, .scores = third, .objective = NAN, .config = "{}", .values = bad, .error = "diverged"}};
static const ft_tuning tuning = {.family = "toy",
                                 .metric = "time_us",
                                 .split = "random",
                                 .objective = "mape",
                                 .seed = 3,
                                 .rungs = 2,
                                 .factor = 3,
                                 .keys = keys,
                                 .key_count = 2,
                                 .trials = trials,
                                 .count = 3,
                                 .best = 1,
                                 .failed = 1,
                                 .is_complete = true};

/* The caller frees it. */
static char *text_of(const ft_tuning *t, ft_output output, uint32_t top) {
    char *text = NULL;
    size_t length;
    ft_error error;
    ft_style style = ft_style_default();
    style.output = output;
    FILE *stream = open_memstream(&text, &length);
    assert_int_equal(ft_tuning_write(t, top, &style, stream, &error), FT_OK);
    fclose(stream);
    return text;
}

static void table_and_csv(void **state) {
    (void)state;
    char *table = text_of(&tuning, FT_TABLE, 1), *csv = text_of(&tuning, FT_CSV, 0);
    assert_non_null(
        strstr(table, "mape 4.250 with the settings of trial 1, 5.000 with the defaults; 3 trials; 1 failed."));
    assert_non_null(strstr(table, "0 (default)")); /* though only one was asked for */
    assert_null(strstr(table, "diverged"));
    assert_string_equal(csv, "trial,rung,rungs,mape,state,is_default,rate,loss\n"
                             "0,0,2,6,complete,yes,0.01,\"\"\"mape\"\"\"\n"
                             "0,1,2,5,complete,yes,0.01,\"\"\"mape\"\"\"\n"
                             "1,0,2,5.5,complete,no,0.02,\"\"\"huber\"\"\"\n"
                             "1,1,2,4.25,complete,no,0.02,\"\"\"huber\"\"\"\n"
                             "2,0,2,,failed,no,0.05,\n");
    free(table);
    free(csv);
}

static void json_fits_its_schema(void **state) {
    char *text = text_of(&tuning, FT_JSON, 0);
    json_t *document = json_loads(text, 0, NULL);
    assert_true(schema_fits(document, *state, "the document"));
    assert_true(json_number_value(json_object_get(json_object_get(document, "best"), "value")) == 4.25);
    assert_int_equal(json_array_size(json_object_get(document, "results")), 3);
    json_decref(document);
    free(text);
    ft_tuning none = tuning;
    none.best = FT_NONE;
    text = text_of(&none, FT_JSON, 0);
    document = json_loads(text, 0, NULL);
    assert_true(schema_fits(document, *state, "the document"));
    json_decref(document);
    free(text);
    text = text_of(&none, FT_TABLE, 0);
    assert_non_null(strstr(text, "Every trial failed."));
    free(text);
}

static void guide_explains_every_key(void **state) {
    schema_is_documented(*state, "docs/tuning.md");
}

static void memory_may_run_out(void **state) {
    (void)state;
    ft_style style = ft_style_default();
    FILE *stream = fopen("/dev/null", "w");
    for (long n = 0;; n++) {
        ft_error error;
        failing_start(n);
        ft_status status = ft_tuning_write(&tuning, 2, &style, stream, &error);
        if (!failing_stop()) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    fclose(stream);
}

static int load_schema(void **state) {
    *state = schema_load("docs/schema/tuning.schema.json");
    return *state == NULL;
}

static int free_schema(void **state) {
    json_decref(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table_and_csv), cmocka_unit_test(json_fits_its_schema),
                                       cmocka_unit_test(guide_explains_every_key),
                                       cmocka_unit_test(memory_may_run_out)};
    return cmocka_run_group_tests_name("learn/tuning_write", tests, load_schema, free_schema);
}
