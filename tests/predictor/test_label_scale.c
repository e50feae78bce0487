/* Transforms of labels are inverted, fitted and loaded; damaged files are errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/rng.h"
#include "predictor/gnn/label_scale.h"

enum { COUNT = 2000 };

/* Draws whose logarithms are normal, about 20 and from 0.1 to 4000. */
static void draw(double labels[static COUNT]) {
    rng random;
    rng_init(&random, 7, 0);
    for (int i = 0; i < COUNT; i++) labels[i] = exp(3 + 1.2 * rng_normal(&random));
}

static void test_inverse(void **state) {
    (void)state;
    for (label_form form = 0; form < LABEL_FORMS; form++) {
        double labels[COUNT];
        draw(labels);
        label_scale s = label_scale_fit(form, labels, COUNT);
        double before = -INFINITY;
        for (double label = 0.05; label < 5e4; label *= 1.1) {
            double target = label_to_target(&s, label);
            assert_true(target > before);
            assert_true(fabs(label_of_target(&s, target) / label - 1) < 1e-6);
            before = target;
        }
    }
}

static void test_standardised(void **state) {
    (void)state;
    for (label_form form = 0; form < LABEL_FORMS; form++) {
        double labels[COUNT], mean = 0, squares = 0;
        draw(labels);
        label_scale s = label_scale_fit(form, labels, COUNT);
        for (int i = 0; i < COUNT; i++) mean += label_to_target(&s, labels[i]) / COUNT;
        for (int i = 0; i < COUNT; i++) squares += pow(label_to_target(&s, labels[i]) - mean, 2) / COUNT;
        double tolerance = form == LABEL_QUANTILE ? 0.05 : 1e-9; /* knots are few */
        assert_true(fabs(mean - (form == LABEL_RAW ? 1 : 0)) < tolerance);
        if (form != LABEL_RAW) assert_true(fabs(squares - 1) < tolerance);
    }
}

/* The power of the draws is found: 0 for log-normal ones, or the power whose inverse they are. */
static void test_powers(void **state) {
    (void)state;
    double labels[COUNT];
    rng random;
    draw(labels);
    assert_true(fabs(label_scale_fit(LABEL_BOX_COX, labels, COUNT).power) < 0.05);
    for (double power = -0.5; power < 0.6; power += 1) {
        rng_init(&random, 8, 0);
        for (int i = 0; i < COUNT; i++) labels[i] = pow(1 + power * (0.5 + 0.3 * rng_normal(&random)), 1 / power);
        assert_true(fabs(label_scale_fit(LABEL_BOX_COX, labels, COUNT).power - power) < 0.15);
    }
}

/* The same for labels in any order, for few of them, and for equal ones. */
static void test_few_and_equal_labels(void **state) {
    (void)state;
    for (label_form form = 0; form < LABEL_FORMS; form++) {
        double some[] = {5, 1, 5, 2}, turned[] = {2, 5, 1, 5}, same[] = {4, 4}, one[] = {3};
        label_scale a = label_scale_fit(form, some, 4), b = label_scale_fit(form, turned, 4);
        assert_true(label_to_target(&a, 3) == label_to_target(&b, 3));
        a = label_scale_fit(form, same, 2);
        assert_true(isfinite(label_to_target(&a, 4)) && fabs(label_of_target(&a, label_to_target(&a, 4)) - 4) < 1e-5);
        a = label_scale_fit(form, one, 1);
        assert_true(fabs(label_of_target(&a, label_to_target(&a, 3)) - 3) < 1e-5);
    }
}

static void test_extrapolation(void **state) {
    (void)state;
    for (label_form form = 0; form < LABEL_FORMS; form++) {
        double labels[COUNT];
        draw(labels);
        label_scale s = label_scale_fit(form, labels, COUNT);
        for (double target = -40; target <= 40; target += 5) assert_true(!isnan(label_of_target(&s, target)));
        assert_true(label_spread(&s, 0.5, 0.1) > 0);
    }
}

static void test_files(void **state) {
    (void)state;
    ft_error error;
    for (label_form form = 0; form < LABEL_FORMS; form++) {
        double labels[COUNT];
        draw(labels);
        label_scale s = label_scale_fit(form, labels, COUNT), read;
        json_t *object = json_object();
        object = label_scale_save(&s, object);
        assert_int_equal(label_scale_load(object, form, &read, &error), FT_OK);
        assert_true(label_to_target(&s, 17) == label_to_target(&read, 17));
        json_object_set_new(object, "scale", json_real(0));
        assert_int_equal(label_scale_load(object, form, &read, &error), FT_ERR_DAMAGED);
        json_object_set_new(object, "scale", json_real(1));
        json_object_set_new(object, "power", json_string("two"));
        assert_int_equal(label_scale_load(object, form, &read, &error), form == LABEL_BOX_COX ? FT_ERR_DAMAGED : FT_OK);
        json_object_set_new(object, "power", json_real(1));
        if (form == LABEL_QUANTILE) json_array_set_new(json_object_get(object, "knots"), 5, json_real(-500));
        assert_int_equal(label_scale_load(object, form, &read, &error),
                         form == LABEL_QUANTILE ? FT_ERR_DAMAGED : FT_OK);
        json_decref(object);
    }
    assert_false(label_is_valid(LABEL_BOX_COX, 0) || label_is_valid(LABEL_LOG, -1) || label_is_valid(LABEL_RAW, NAN));
    assert_true(label_is_valid(LABEL_RAW, 0) && label_is_valid(LABEL_QUANTILE, 1e-9));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse),       cmocka_unit_test(test_standardised),
        cmocka_unit_test(test_powers),        cmocka_unit_test(test_few_and_equal_labels),
        cmocka_unit_test(test_extrapolation), cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
