/* Corrections of adapted predictors: zero weights change nothing, fits recover the truth, damaged ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "predictor/core/adjust_fit.h"
#include "predictor/core/file.h"
#include "predictor/core/predictor.h"

enum { TERMS = 2, SIZES = 2, FEATURES = 4, ROWS = 3, CASES = 24 };

/* Predictions of a few rows with features by chance. */
typedef struct made {
    double times[ROWS * TERMS];
    float features[ROWS * FEATURES];
    uint32_t row_of[ROWS + 2];
    explanation made_of;
} made;

static void make(rng *random, made *m) {
    for (uint32_t i = 0; i < ROWS * TERMS; i++) m->times[i] = 1 + 10 * rng_uniform(random);
    for (uint32_t i = 0; i < ROWS * FEATURES; i++)
        m->features[i] = i % FEATURES < SIZES ? (float)(8 + 3 * rng_normal(random)) : (float)rng_below(random, 2);
    for (uint32_t i = 0; i < ROWS + 2; i++) m->row_of[i] = i < ROWS ? i : rng_below(random, ROWS);
    m->made_of = (explanation){.count = ROWS + 2, .row_of = m->row_of, .row_count = ROWS, .term_count = TERMS};
    m->made_of.times = m->times;
    m->made_of.size_count = SIZES;
    m->made_of.feature_count = FEATURES;
    m->made_of.features = m->features;
}

static adjustment *new_one(void) {
    adjustment *a;
    ft_error error;
    assert_int_equal(adjust_new(0, NULL, TERMS, SIZES, FEATURES, &a, &error), FT_OK);
    return a;
}

/* Another device: all twice as slow, the second term three times, and the first flag makes rows slower by a half. */
static double truth(const made *m) {
    double sum = 0;
    for (uint32_t i = 0; i < m->made_of.count; i++) {
        uint32_t row = m->row_of[i];
        double factor = m->features[row * FEATURES + SIZES] != 0 ? 1.5 : 1;
        sum += 2 * factor * (m->times[row * TERMS] + 3 * m->times[row * TERMS + 1]);
    }
    return sum;
}

static void zero_weights_change_nothing(void **state) {
    (void)state;
    adjustment *a = new_one();
    double scaled[FEATURES], times[TERMS], factors[ADJUST_MAX_TERMS];
    const double terms[TERMS] = {2, 5};
    const float features[FEATURES] = {100, -100, 1, 0};
    a->inverse[0] = 1;
    adjust_scale(a, features, scaled);
    assert_true(scaled[0] == 5 && scaled[1] == 0 && scaled[2] == 1);
    adjust_factors(a, factors);
    assert_true(adjust_row(a, factors, terms, scaled, times) == 7);
    a->weights[0] = 1e6F; /* bounded */
    assert_true(isfinite(adjust_row(a, factors, terms, scaled, times)));
    adjust_free(a);
    adjust_free(NULL);
}

static double fit_error(adjust_kind kind) {
    made *all = calloc(2 * CASES, sizeof *all);
    explanation seen[CASES];
    adjust_case cases[2 * CASES];
    const adjust_case *some[CASES];
    adjustment *a = new_one();
    arena memory;
    rng random;
    double sum = 0;
    ft_error error;
    arena_init(&memory, UINT64_MAX);
    rng_init(&random, 1, 0);
    for (uint32_t i = 0; i < 2 * CASES; i++) make(&random, &all[i]);
    for (uint32_t i = 0; i < CASES; i++) seen[i] = all[i].made_of;
    adjust_fit_scaling(a, seen, CASES);
    for (uint32_t i = 0; i < 2 * CASES; i++)
        assert_int_equal(adjust_case_make(a, &all[i].made_of, truth(&all[i]), &memory, &cases[i], &error), FT_OK);
    for (uint32_t i = 0; i < CASES; i++) some[i] = &cases[i];
    assert_int_equal(adjust_fit(a, kind, some, CASES, NULL, &error), FT_OK);
    for (uint32_t i = CASES; i < 2 * CASES; i++)
        sum += fabs(adjust_case_log(a, &cases[i]) - cases[i].log_measured) / CASES;
    adjust_free(a);
    arena_free(&memory);
    free(all);
    return sum;
}

static void fits_recover_the_true_correction(void **state) {
    (void)state;
    double scale = fit_error(ADJUST_SCALE), refit = fit_error(ADJUST_REFIT),
           refit_costs = fit_error(ADJUST_REFIT_COSTS);
    assert_true(scale > 0.08);
    assert_true(refit < 0.03);
    assert_true(refit_costs < 0.03);
}

/* --- In the file --------------------------------------------------------------------------------------------- */

#define HEAD                                                                                                           \
    "{\"format\": \"foretell predictor\", \"family\": \"flops\", \"schema\": \"flops/1+adapted\", \"metric\": "        \
    "\"time_us\", \"params\": {}, \"devices\": [\"adreno-640\", \"mine\"], \"adapted\": "
#define GOOD "{\"device\": \"mine\", \"base\": 0, \"runtime\": null, \"terms\": 1, \"sizes\": 1, \"features\": 1}"

static ft_status open_with(const char *adapted, size_t count, ft_predictor **predictor, ft_error *error) {
    static const float block[16] = {10, 0.5F, 3, 1, 0.5F};
    char header[1024];
    json_t *root = NULL;
    buf bytes = {0};
    snprintf(header, sizeof header, "%s%s}", HEAD, adapted);
    if (json_parse(header, strlen(header), &root, error) != FT_OK) fail_msg("%s: %s", header, error->message);
    assert_int_equal(predictor_file_encode(root, block, count, &bytes, error), FT_OK);
    json_decref(root);
    ft_status status = ft_predictor_open_memory(bytes.data, bytes.length, "my.ftm", predictor, error);
    buf_free(&bytes);
    return status;
}

static void refuses(const char *adapted, size_t count, const char *part) {
    ft_predictor *p;
    ft_error error;
    ft_status status = open_with(adapted, count, &p, &error);
    if (status == FT_OK) fail_msg("%s was taken", adapted);
    if (strstr(error.message, part) == NULL) fail_msg("'%s' has no '%s'", error.message, part);
}

static void damaged_corrections_are_refused(void **state) {
    (void)state;
    ft_predictor *p;
    ft_error error;
    if (open_with("{\"known\": 1, \"adjustments\": [" GOOD "]}", 7, &p, &error) != FT_OK) fail_msg("%s", error.message);
    assert_int_equal(predictor_known_count(p), 1);
    assert_null(predictor_adjustment(p, 0));
    assert_non_null(predictor_adjustment(p, 1));
    assert_true(predictor_adjustment(p, 1)->weights[0] == 0.5F);
    ft_predictor_free(p);
    refuses("{\"known\": 1, \"adjustments\": [" GOOD "]}", 6, "");
    refuses("{\"known\": 1, \"adjustments\": [" GOOD "]}", 2, "too short");
    refuses("{\"known\": 1, \"adjustments\": []}", 2, "'mine' is neither a device of the model nor adapted to");
    refuses("{\"known\": 1, \"adjustments\": [" GOOD ", " GOOD "]}", 12, "twice");
    refuses("{\"known\": 3, \"adjustments\": []}", 2, "'known'");
    refuses("{\"known\": 1, \"adjustments\": [{\"device\": \"mine\", \"metric\": \"other\"}]}", 2, "");
    refuses("{\"known\": 1, \"adjustments\": [{\"device\": \"mine\", \"metric\": \"other\", \"base\": 0, \"terms\": 1, "
            "\"sizes\": 1, \"features\": 1}]}",
            7, "a metric that the model does not have");
    refuses("{\"known\": 1}", 2, "'adjustments'");
    refuses("[]", 2, "'known'");
    refuses("{\"known\": 1, \"adjustments\": [{\"device\": \"mine\", \"base\": 1, \"terms\": 1, \"sizes\": 1, "
            "\"features\": 1}]}",
            7, "'base'");
    refuses("{\"known\": 1, \"adjustments\": [{\"device\": \"mine\", \"base\": null, \"terms\": 1, \"sizes\": 1, "
            "\"features\": 1}]}",
            7, "no base");
    refuses("{\"known\": 1, \"adjustments\": [{\"device\": \"mine\", \"base\": 0, \"runtime\": \"/etc/passwd\", "
            "\"terms\": 1, \"sizes\": 1, \"features\": 1}]}",
            7, "not bundled");
    refuses("{\"known\": 1, \"adjustments\": [{\"device\": \"mine\", \"base\": 0, \"terms\": 1, \"sizes\": 2, "
            "\"features\": 1}]}",
            8, "too short");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_weights_change_nothing),
        cmocka_unit_test(fits_recover_the_true_correction),
        cmocka_unit_test(damaged_corrections_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
