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

/* assert_float_equal has the precision of a float. */
#define assert_near(value, expected) assert_true(fabs((value) / (expected)-1) < 1e-6)

static adjustment *weighted(void) {
    static const float weights[1 + TERMS + FEATURES] = {0.25F, 0.5F, -1, 0.125F, 0.25F, 0.5F, -0.75F};
    adjustment *a = new_one();
    a->mean[0] = 1, a->mean[1] = 2;
    a->inverse[0] = 0.5F, a->inverse[1] = 2;
    memcpy(a->weights, weights, sizeof weights);
    return a;
}

/* Features 3, 2.5, 1, 0 are scaled to 1, 1, 1, 0: the row shifts by 0.25 + 0.125 + 0.25 + 0.5 = 1.125. */
static void rows_are_multiplied_by_hand(void **state) {
    (void)state;
    adjustment *a = weighted();
    double scaled[FEATURES], times[TERMS], factors[ADJUST_MAX_TERMS];
    const double terms[TERMS] = {2, 5};
    adjust_scale(a, (const float[]){3, 2.5F, 1, 0}, scaled);
    assert_true(scaled[0] == 1 && scaled[1] == 1 && scaled[2] == 1 && scaled[3] == 0);
    adjust_factors(a, factors);
    assert_near(factors[0], exp(0.5));
    assert_near(factors[1], exp(-1));
    assert_near(adjust_row(a, factors, terms, scaled, times), 2 * exp(1.625) + 5 * exp(0.125));
    assert_near(times[0], 2 * exp(1.625));
    assert_near(times[1], 5 * exp(0.125));
    adjust_scale(a, (const float[]){-100, 100, 1, 7}, scaled);
    assert_true(scaled[0] == -5 && scaled[1] == 5 && scaled[2] == 1 && scaled[3] == 7);
    adjust_free(a);
}

static void corrections_are_bounded(void **state) {
    (void)state;
    adjustment *a = new_one();
    double times[TERMS], factors[ADJUST_MAX_TERMS];
    const double terms[TERMS] = {2, 5}, scaled[FEATURES] = {0};
    a->weights[1] = 100, a->weights[2] = -100;
    adjust_factors(a, factors);
    assert_near(factors[0], exp(8));
    assert_near(factors[1], exp(-8));
    a->weights[0] = -100;
    assert_near(adjust_row(a, factors, terms, scaled, times), 2 + 5 * exp(-16));
    adjust_free(a);
}

/* Sizes 1 and 3 have the mean 2 and the deviation 1. Pieces 1 and 2 are equal. */
static void cases_have_standardised_rows(void **state) {
    (void)state;
    static const double times[2 * TERMS] = {2, 5, 3, 7};
    static const float features[2 * FEATURES] = {1, 10, 1, 0, 3, 10, 0, 1};
    static const uint32_t row_of[] = {0, 1, 1};
    const explanation made_of = {.count = 3,
                                 .row_of = row_of,
                                 .row_count = 2,
                                 .term_count = TERMS,
                                 .times = times,
                                 .size_count = SIZES,
                                 .feature_count = FEATURES,
                                 .features = features};
    adjustment *a = new_one();
    adjust_case c;
    arena memory;
    ft_error error;
    arena_init(&memory, UINT64_MAX);
    adjust_fit_scaling(a, &made_of, 1);
    assert_near(a->mean[0], 2);
    assert_near(a->mean[1], 10);
    assert_near(a->inverse[0], 1);
    assert_int_equal(adjust_case_make(a, &made_of, 50, &memory, &c, &error), FT_OK);
    assert_int_equal(c.row_count, 2);
    assert_near(c.log_measured, log(50));
    assert_true(c.repeats[0] == 1 && c.repeats[1] == 2 && c.times[3] == 7);
    assert_near(c.scaled[0], -1);
    assert_near(c.scaled[FEATURES], 1);
    assert_true(c.scaled[1] == 0 && c.scaled[2] == 1 && c.scaled[FEATURES + 3] == 1);
    assert_near(adjust_case_log(a, &c), log(2 + 5 + 2 * (3 + 7)));
    a->weights[1] = 1; /* the first term */
    assert_near(adjust_case_log(a, &c), log((2 + 2 * 3) * exp(1) + 5 + 2 * 7));
    adjust_free(a);
    arena_free(&memory);
}

/* The weights that a fit finds for cases of one row that were measured as some multiples of the prediction. */
static void fit_ratios(adjust_kind kind, const double *ratios, uint32_t count, adjustment *a) {
    double one = 1, times[TERMS] = {2, 5}, scaled[FEATURES] = {0};
    adjust_case cases[8];
    const adjust_case *all[8];
    ft_error error;
    for (uint32_t i = 0; i < count; i++) {
        cases[i] = (adjust_case){.log_measured = log(7 * ratios[i]), .weight = 1, .row_count = 1};
        cases[i].repeats = &one;
        cases[i].times = times;
        cases[i].scaled = scaled;
        all[i] = &cases[i];
    }
    assert_int_equal(adjust_fit(a, kind, all, count, NULL, &error), FT_OK);
}

static void the_scale_is_the_median_ratio(void **state) {
    (void)state;
    static const double odd[] = {10, 2, 3}, even[] = {16, 2, 8, 4}, many[] = {2, 3, 1, 30, 9};
    adjustment *a = new_one();
    ft_error error;
    fit_ratios(ADJUST_SCALE, odd, 3, a);
    assert_near(a->weights[0], log(3));
    fit_ratios(ADJUST_REFIT, even, 4, a); /* too few for anything else */
    assert_near(a->weights[0], log(sqrt(32)));
    for (uint32_t i = 1; i < adjust_weight_count(a); i++) assert_true(a->weights[i] == 0);
    fit_ratios(ADJUST_SCALE, many, 5, a);
    assert_near(a->weights[0], log(3));
    assert_true(a->weights[1] == 0);
    fit_ratios(ADJUST_REFIT_COSTS, many, 5, a); /* enough */
    assert_true(a->weights[1] != 0);
    assert_int_equal(adjust_fit(a, ADJUST_SCALE, NULL, 0, NULL, &error), FT_ERR_USAGE);
    adjust_free(a);
}

/* --- Predictions --------------------------------------------------------------------------------------------- */

/* A model of two rows and three pieces. */
typedef struct fake {
    uint32_t part_count, term_count;
    bool has_rows;
} fake;

static target_device asked;

static ft_status fake_explain(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                              ft_error *error) {
    (void)error;
    static const double times[3 * TERMS] = {2, 5, 3, 7, 1, 1};
    static const float features[3 * FEATURES] = {3, 2.5F, 1, 0, 1, 2, 0, 0, 1, 2, 0, 0};
    static const uint32_t row_of[] = {1, 0, 1};
    static ft_part parts[3];
    const fake *m = model;
    asked = *in->target;
    parts[0].value = 10, parts[1].value = 7, parts[2].value = 10;
    out->value = 27;
    out->coverage_ratio = 0.5;
    out->parts = m->part_count > 0 ? parts : NULL;
    out->part_count = m->part_count;
    *made_of = (explanation){.count = 3, .row_count = m->has_rows ? 2 : 3, .term_count = m->term_count};
    made_of->row_of = m->has_rows ? row_of : NULL;
    made_of->times = times;
    made_of->size_count = SIZES;
    made_of->feature_count = FEATURES;
    made_of->features = features;
    return FT_OK;
}

static ft_status fake_predict(const void *model, const predict_input *in, model_output *out, ft_error *error) {
    (void)model, (void)in, (void)error;
    out->value = 16;
    return FT_OK;
}

static const family explained = {.name = "fake", .predict = fake_predict, .optional = {.explain = fake_explain}};
static const family plain = {.name = "plain", .predict = fake_predict};

static ft_status predict_with(const adjustment *a, const fake *m, model_output *out, ft_error *error) {
    arena memory;
    const target_device target = {.index = 3, .output = 2};
    arena_init(&memory, UINT64_MAX);
    ft_status status =
        adjust_predict(a, &explained, m, &(predict_input){.target = &target, .memory = &memory}, out, error);
    arena_free(&memory);
    return status;
}

/* Row 0 as in rows_are_multiplied_by_hand(); row 1 is scaled to 0, 0, 0, 0 and shifts by 0.25. */
static void pieces_are_corrected_one_by_one(void **state) {
    (void)state;
    adjustment *a = weighted();
    const double first = 2 * exp(1.625) + 5 * exp(0.125), second = 3 * exp(0.75) + 7 * exp(-0.75);
    const double third = exp(0.75) + exp(-0.75);
    fake m = {.part_count = 3, .term_count = TERMS, .has_rows = true};
    model_output out;
    ft_error error;
    assert_int_equal(predict_with(a, &m, &out, &error), FT_OK);
    assert_int_equal(asked.index, 0);
    assert_int_equal(asked.output, 2);
    assert_near(out.value, first + 2 * second);
    assert_near(out.parts[0].value, second);
    assert_near(out.parts[1].value, first);
    assert_near(out.parts[2].value, second);
    assert_true(out.coverage_ratio == 0.5 && out.spread == 1);
    m.has_rows = false;
    assert_int_equal(predict_with(a, &m, &out, &error), FT_OK);
    assert_near(out.value, first + second + third);
    assert_near(out.parts[0].value, first);
    assert_near(out.parts[2].value, third);
    m.part_count = 2; /* not the pieces: parts keep their shares */
    assert_int_equal(predict_with(a, &m, &out, &error), FT_OK);
    assert_near(out.parts[0].value, (first + second + third) * 10 / 27);
    assert_near(out.parts[1].value, (first + second + third) * 7 / 27);
    m.part_count = 0;
    assert_int_equal(predict_with(a, &m, &out, &error), FT_OK);
    assert_null(out.parts);
    m.term_count = 1;
    assert_int_equal(predict_with(a, &m, &out, &error), FT_ERR_DAMAGED);
    a->base = FT_NONE;
    assert_int_equal(predict_with(a, &m, &out, &error), FT_ERR_UNSUPPORTED); /* no data sheet */
    adjust_free(a);
}

static void predictions_without_explanation_are_one_piece(void **state) {
    (void)state;
    model_output out;
    explanation made_of;
    arena memory;
    ft_error error;
    arena_init(&memory, UINT64_MAX);
    assert_int_equal(adjust_explain(&plain, NULL, &(predict_input){.memory = &memory}, &out, &made_of, &error), FT_OK);
    assert_true(out.value == 16 && out.spread == 1 && out.provenance == FT_LEARNED);
    assert_true(made_of.count == 1 && made_of.row_count == 1 && made_of.term_count == 1);
    assert_true(made_of.size_count == 1 && made_of.feature_count == 1 && made_of.row_of == NULL);
    assert_true(made_of.times[0] == 16 && made_of.features[0] == 4); /* log2 */
    arena_free(&memory);
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

static void corrections_are_saved_and_loaded(void **state) {
    (void)state;
    adjustment *a = NULL, *b = NULL, *w = weighted();
    float_block block = {0};
    ft_error error;
    assert_int_equal(adjust_new(1, ft_rules_name_at(0), TERMS, SIZES, FEATURES, &a, &error), FT_OK);
    memcpy(a->mean, w->mean, SIZES * sizeof *a->mean);
    memcpy(a->inverse, w->inverse, SIZES * sizeof *a->inverse);
    memcpy(a->weights, w->weights, adjust_weight_count(a) * sizeof *a->weights);
    json_t *object = adjust_save(a, "mine");
    assert_string_equal(json_string_value(json_object_get(object, "device")), "mine");
    assert_true(adjust_save_floats(a, &block));
    assert_int_equal(block.count, 2 * SIZES + 1 + TERMS + FEATURES);
    assert_int_equal(adjust_float_count(object), block.count);
    const float *at = block.items;
    size_t left = block.count;
    assert_int_equal(adjust_load(object, 2, &at, &left, &b, &error), FT_OK);
    assert_int_equal(left, 0);
    assert_int_equal(b->base, 1);
    assert_string_equal(b->runtime, ft_rules_name_at(0));
    assert_non_null(b->rules);
    assert_memory_equal(b->mean, a->mean, SIZES * sizeof *a->mean);
    assert_memory_equal(b->inverse, a->inverse, SIZES * sizeof *a->inverse);
    assert_memory_equal(b->weights, a->weights, adjust_weight_count(a) * sizeof *a->weights);
    adjust_free(b);
    at = block.items, left = block.count;
    assert_int_equal(adjust_load(object, 1, &at, &left, &b, &error), FT_ERR_DAMAGED); /* base 1 of 1 */
    json_t *list = json_array();
    assert_int_equal(adjust_load(list, 2, &at, &left, &b, &error), FT_ERR_DAMAGED);
    json_decref(list);
    json_decref(object);
    float_block_free(&block);
    adjust_free(a);
    adjust_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_weights_change_nothing),
        cmocka_unit_test(fits_recover_the_true_correction),
        cmocka_unit_test(damaged_corrections_are_refused),
        cmocka_unit_test(rows_are_multiplied_by_hand),
        cmocka_unit_test(corrections_are_bounded),
        cmocka_unit_test(cases_have_standardised_rows),
        cmocka_unit_test(the_scale_is_the_median_ratio),
        cmocka_unit_test(pieces_are_corrected_one_by_one),
        cmocka_unit_test(predictions_without_explanation_are_one_piece),
        cmocka_unit_test(corrections_are_saved_and_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
