/* Tests of the documents of an ablation: table, JSON and CSV agree, and the JSON matches its schema. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "foretell/tune.h"
#include "support/schema.h"

static const double all[] = {4, 5}, without[] = {6, 6.5}, none[] = {NAN, NAN};
static const ft_factor factors[] = {
    {"all", 2, 4.5, 0.7, NAN, NAN, all, NULL},
    {"rounds=0", 2, 6.25, 0.35, 1.75, 0.35, without, NULL},
    {"broken=1", 0, NAN, NAN, NAN, NAN, none, "does not work"},
};
static const ft_ablation ablation = {.family = "toy",
                                     .metric = "time_us",
                                     .split = "random",
                                     .objective = "mape",
                                     .seed = 1,
                                     .seeds = 2,
                                     .part = FT_PART_VALID,
                                     .factors = factors,
                                     .count = 3,
                                     .is_complete = false};

static char *text_of(ft_output output) {
    char *text = NULL;
    size_t length;
    ft_error error;
    ft_style style = ft_style_default();
    style.output = output;
    FILE *stream = open_memstream(&text, &length);
    assert_int_equal(ft_ablation_write(&ablation, &style, stream, &error), FT_OK);
    fclose(stream);
    return text;
}

static void table_and_csv(void **state) {
    (void)state;
    char *table = text_of(FT_TABLE), *csv = text_of(FT_CSV);
    assert_non_null(strstr(table, "toy: mape of time_us on the validation part of split random, 2 seeds from 1"));
    assert_non_null(strstr(table, "+1.750"));
    assert_non_null(strstr(table, "broken=1 failed: does not work"));
    assert_non_null(strstr(table, "Time was up"));
    assert_string_equal(csv, "without,n,mape,mape_deviation,difference,difference_deviation\n"
                             "nothing,2,4.5,0.7,,\n"
                             "rounds=0,2,6.25,0.35,1.75,0.35\n"
                             "broken=1,0,,,,\n");
    free(table);
    free(csv);
}

static void json_fits_its_schema(void **state) {
    char *text = text_of(FT_JSON);
    json_t *document = json_loads(text, 0, NULL);
    assert_true(schema_fits(document, *state, "the document"));
    assert_int_equal(json_array_size(json_object_get(document, "results")), 3);
    json_decref(document);
    free(text);
}

static void guide_explains_every_key(void **state) {
    schema_is_documented(*state, "docs/tuning.md");
}

static int load_schema(void **state) {
    *state = schema_load("docs/schema/ablation.schema.json");
    return *state == NULL;
}

static int free_schema(void **state) {
    json_decref(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(table_and_csv), cmocka_unit_test(json_fits_its_schema),
                                       cmocka_unit_test(guide_explains_every_key)};
    return cmocka_run_group_tests_name("learn/ablation_write", tests, load_schema, free_schema);
}
