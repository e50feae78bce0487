/* Tests of marginals: mean, minimum, median and maximum of the added rows, and the three documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generate/marginals.h"
#include "support/failing.h"

static ft_generate_result add_up(uint32_t count) {
    ft_generate_result result = {.networks = 2, .graphs = count, .skipped = 1};
    marginals *m = marginals_new();
    assert_non_null(m);
    for (uint32_t i = 0; i < count; i++) {
        marginal_row row = {{0}};
        for (int k = 0; k < FT_MARGINALS; k++) row.values[k] = (double)((i * 7919) % count) + k;
        assert_true(marginals_add(m, &row));
    }
    marginals_finish(m, result.marginals);
    marginals_free(m);
    return result;
}

static void test_numbers(void **state) {
    (void)state;
    ft_generate_result r = add_up(10000);
    for (int k = 0; k < FT_MARGINALS; k++) {
        assert_true(r.marginals[k].min == k && r.marginals[k].max == 9999 + k);
        assert_true(r.marginals[k].median == 4999.5 + k && r.marginals[k].mean == 4999.5 + k);
    }
    assert_true(r.marginals[MARGINAL_PARAMS].published[2] == 3.6);
    assert_true(add_up(0).marginals[0].mean == 0);
}

static char *document(ft_output output) {
    ft_generate_result r = add_up(3);
    ft_style style = ft_style_default();
    char *text = NULL;
    size_t size = 0;
    ft_error error;
    style.output = output;
    style.width = 200;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    assert_int_equal(ft_generate_write(&r, &style, stream, &error), FT_OK);
    fclose(stream);
    return text;
}

/* Every document marks the numbers as synthetic. */
static void test_documents(void **state) {
    (void)state;
    static const struct {
        ft_output output;
        const char *texts[3];
    } cases[] = {
        {FT_TABLE, {"synthetic data", "published", "parameters (M)"}},
        {FT_JSON, {"\"source\": \"synthetic\"", "\"published_median\": 40.8", "\"graphs\": 3"}},
        {FT_CSV, {"name,source,networks,graphs,mean,published_mean", "params_m,synthetic,2,3,3,9.5", "254.9"}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = document(cases[i].output);
        for (int k = 0; k < 3; k++)
            if (strstr(text, cases[i].texts[k]) == NULL) fail_msg("no '%s' in:\n%s", cases[i].texts[k], text);
        free(text);
    }
}

/* Of 0, 1, 2 (+ the row): mean, minimum, median and maximum, each before the published number. */
static void test_cells_of_the_table(void **state) {
    (void)state;
    char *text = document(FT_TABLE), *line = strstr(text, "parameters (M)");
    double numbers[8];
    assert_non_null(line);
    const int found = sscanf(line + strlen("parameters (M)"), "%lf %lf %lf %lf %lf %lf %lf %lf", &numbers[0],
                             &numbers[1], &numbers[2], &numbers[3], &numbers[4], &numbers[5], &numbers[6], &numbers[7]);
    ft_generate_result r = add_up(3);
    const ft_marginal *m = &r.marginals[MARGINAL_PARAMS];
    assert_int_equal(found, 8);
    assert_true(numbers[0] == m->mean && numbers[2] == m->min && numbers[4] == m->median && numbers[6] == m->max);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(numbers[2 * i + 1] - m->published[i]) <= 0.01 * m->published[i]); /* rounded */
    free(text);
}

static void test_out_of_memory(void **state) {
    (void)state;
    for (long n = 0;; n++) {
        marginal_row row = {{0}};
        failing_start(n);
        marginals *m = marginals_new();
        bool is_added = m != NULL && marginals_add(m, &row);
        bool has_failed = failing_stop();
        marginals_free(m);
        assert_true(is_added != has_failed);
        if (!has_failed) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_cells_of_the_table),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("generate/marginals", tests, NULL, NULL);
}
