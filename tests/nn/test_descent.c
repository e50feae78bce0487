/* Tests of the training loop: schedules, kept parameters, several tasks, saving and resuming. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nn/descent.h"
#include "nn/ops.h"

/* The loss is the squared distance of a row of three from `target`. */
static param_id weight;
static const float target[3] = {1, -2, 3};

static params small_params(void) {
    params p;
    params_init(&p);
    weight = params_add(&p, 1, 3, PARAM_ZEROS, "weight");
    params_add_state(&p, 1, 1, PARAM_ZEROS, "state");
    assert_int_equal(params_finish(&p, 1, NULL), FT_OK);
    return p;
}

static tensor *distance(void *user, tape *t, uint32_t part) {
    (void)user;
    (void)part;
    loss_options options = {.kind = LOSS_MSE, .scale = 1};
    return nn_loss(t, tape_param(t, weight), target, &options);
}

static void step(descent *d) {
    double total;
    assert_int_equal(descent_step(d, 1, distance, NULL, &total, NULL), FT_OK);
}

static const descent_options plain = {.rate = 0.1, .steps = 100, .parts = 1};

static void loss_falls(void **state) {
    (void)state;
    params p = small_params();
    schedule_options steady = schedule_options_default(SCHEDULE_CONSTANT);
    optim_options adamw = optim_options_default(OPTIM_ADAMW);
    descent_options options = plain;
    options.schedule = &steady;
    options.optimizer = &adamw;
    options.clip = 1;
    descent d;
    assert_int_equal(descent_open(&d, &p, &options, NULL), FT_OK);
    while (!descent_is_done(&d)) step(&d);
    assert_int_equal(d.done, 100);
    for (int i = 0; i < 3; i++) assert_true(fabsf(p.values[i] - target[i]) < 0.1F);
    descent_close(&d);
    params_free(&p);
}

static void best_parameters_are_kept(void **state) {
    (void)state;
    params p = small_params();
    descent_options options = plain;
    options.keeps_best = true;
    options.patience = 3;
    options.check_steps = 2;
    descent d;
    assert_int_equal(descent_open(&d, &p, &options, NULL), FT_OK);
    float best = 0;
    uint32_t looks = 0;
    while (!descent_is_done(&d)) {
        step(&d);
        if (!descent_is_validation_due(&d)) continue;
        descent_report(&d, looks == 2 ? 1 : 5); /* the third validation is the best */
        if (looks++ == 2) best = p.values[0];
    }
    assert_int_equal(looks, 6);
    assert_int_equal(d.done, 12);
    assert_true(p.values[0] != best);
    descent_finish(&d);
    assert_true(p.values[0] == best);
    descent_close(&d);
    params_free(&p);
}

static void moving_average_is_kept(void **state) {
    (void)state;
    params p = small_params();
    descent_options options = plain;
    options.average = 0.9;
    descent d;
    assert_int_equal(descent_open(&d, &p, &options, NULL), FT_OK);
    for (int i = 0; i < 20; i++) step(&d);
    float last = p.values[0];
    descent_use_average(&d);
    float shown = p.values[0];
    descent_restore_values(&d);
    assert_true(p.values[0] == last && shown != last && shown > 0 && shown < last);
    descent_finish(&d);
    assert_true(p.values[0] == shown);
    descent_close(&d);
    params_free(&p);
}

static void rate_falls_on_a_plateau(void **state) {
    (void)state;
    params p = small_params();
    schedule_options plateau = schedule_options_default(SCHEDULE_PLATEAU);
    plateau.patience = 0;
    descent_options options = plain;
    options.schedule = &plateau;
    descent d;
    assert_int_equal(descent_open(&d, &p, &options, NULL), FT_OK);
    descent_report(&d, 1);
    assert_true(d.schedule.factor == 1);
    descent_report(&d, 2);
    assert_true(d.schedule.factor < 1);
    descent_close(&d);
    params_free(&p);
}

/* --- Several tasks ------------------------------------------------------------------------------------------ */

static tensor *one_of_three(void *user, tape *t, uint32_t part, uint32_t task) {
    (void)user;
    (void)part;
    float mask[3] = {task == 0, task == 1, task == 2};
    float *kept = tape_alloc(t, 3, sizeof *kept);
    if (kept == NULL) return NULL;
    memcpy(kept, mask, sizeof mask);
    loss_options options = {.kind = LOSS_MSE, .scale = 1, .mask = kept};
    return nn_loss(t, tape_param(t, weight), target, &options);
}

static void add_all(float *const *gradients, uint32_t tasks, size_t count, rng *random, float *result) {
    (void)random;
    for (size_t i = 0; i < count; i++) {
        result[i] = 0;
        for (uint32_t k = 0; k < tasks; k++) result[i] += gradients[k][i];
    }
}

static void only_first(float *const *gradients, uint32_t tasks, size_t count, rng *random, float *result) {
    (void)random;
    (void)tasks;
    memcpy(result, gradients[0], count * sizeof *result);
}

static void tasks_are_combined(void **state) {
    (void)state;
    params p = small_params(), q = small_params();
    descent d, e;
    double total, whole;
    assert_int_equal(descent_open(&d, &p, &plain, NULL), FT_OK);
    assert_int_equal(descent_open(&e, &q, &plain, NULL), FT_OK);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(descent_step_tasks(&d, &(descent_tasks){1, 3, one_of_three, add_all, NULL}, &total, NULL),
                         FT_OK);
        assert_int_equal(descent_step(&e, 1, distance, NULL, &whole, NULL), FT_OK);
        assert_true(fabs(total - whole) < 1e-5);
    }
    assert_memory_equal(p.values, q.values, 3 * sizeof(float));
    float before = p.values[1];
    for (int i = 0; i < 3; i++)
        assert_int_equal(descent_step_tasks(&d, &(descent_tasks){1, 3, one_of_three, only_first, NULL}, &total, NULL),
                         FT_OK);
    assert_true(p.values[0] != q.values[0] && fabsf(before - p.values[1]) < fabsf(q.values[0] - p.values[0]));
    descent_close(&d);
    descent_close(&e);
    params_free(&p);
    params_free(&q);
}

/* --- Saving and resuming ------------------------------------------------------------------------------------- */

static void training_resumes_to_the_same_bits(void **state) {
    (void)state;
    schedule_options plateau = schedule_options_default(SCHEDULE_PLATEAU);
    plateau.patience = 0;
    descent_options options = plain;
    options.schedule = &plateau;
    options.average = 0.9;
    options.keeps_best = true;
    options.steps = 20;
    float expected[4];
    for (int stop = 0; stop <= 20; stop += 5) {
        params p = small_params();
        descent d;
        assert_int_equal(descent_open(&d, &p, &options, NULL), FT_OK);
        for (uint32_t i = 0; i < 20; i++) {
            if ((int)i == stop && stop > 0) {
                float *kept = malloc(descent_state_size(&d) * sizeof *kept);
                assert_non_null(kept);
                descent_save(&d, kept);
                descent_close(&d);
                params_initialize(&p, 9);
                assert_int_equal(descent_open(&d, &p, &options, NULL), FT_OK);
                assert_int_equal(descent_load(&d, kept, i, NULL), FT_OK);
                free(kept);
            }
            step(&d);
            descent_use_average(&d);
            descent_report(&d, i % 3 + 10.0 / (i + 1));
            descent_restore_values(&d);
        }
        descent_finish(&d);
        if (stop == 0) memcpy(expected, p.values, sizeof expected);
        assert_memory_equal(p.values, expected, sizeof expected);
        ft_error error;
        assert_int_equal(descent_load(&d, expected, 21, &error), FT_ERR_DAMAGED);
        descent_close(&d);
        params_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(loss_falls),
                                       cmocka_unit_test(best_parameters_are_kept),
                                       cmocka_unit_test(moving_average_is_kept),
                                       cmocka_unit_test(rate_falls_on_a_plateau),
                                       cmocka_unit_test(tasks_are_combined),
                                       cmocka_unit_test(training_resumes_to_the_same_bits)};
    return cmocka_run_group_tests_name("nn/descent", tests, NULL, NULL);
}
