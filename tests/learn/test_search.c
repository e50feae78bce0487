/* Tests of searches: jobs depend on losses alone, the best trials are promoted, and ranks extrapolate to the last rung.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "learn/search/search.h"

enum { TRIALS = 40, GENERATION = 9, ROOM = 4096 };

static const char text[] = "{\"x\": \"real:0..1\", \"y\": \"real:0..1\"}";

/* On lower rungs the loss has an error that depends on the trial alone. */
static double loss_of(const search *s, search_job job) {
    const double *v = s->trials[job.trial].values;
    if (job.trial % 13 == 5) return NAN;
    double noise = 0.05 * (2 - job.rung) * sin(job.trial * 12.9898);
    return (v[0] - 0.3) * (v[0] - 0.3) + (v[1] - 0.8) * (v[1] - 0.8) + noise;
}

typedef struct course_log {
    search_job jobs[ROOM];
    uint32_t count;
    double best;
    uint32_t best_trial;
} course_log;

static void play(const space *s, const search_options *options, bool is_backwards, course_log *found) {
    search course;
    ft_error error;
    search_job jobs[SEARCH_MAX_GENERATION];
    uint32_t count;
    *found = (course_log){0};
    assert_int_equal(search_open(&course, s, options, &error), FT_OK);
    while ((count = search_next(&course, jobs)) > 0) {
        for (uint32_t i = 0; i < count; i++) found->jobs[found->count++] = jobs[i];
        for (uint32_t i = 0; i < count; i++) {
            search_job job = jobs[is_backwards ? count - 1 - i : i];
            search_report(&course, job, loss_of(&course, job));
        }
    }
    found->best_trial = search_best(&course);
    found->best = search_loss(&course.trials[found->best_trial]);
    assert_int_equal(course.count, options->trials);
    assert_int_equal(course.trials[found->best_trial].rungs_done, options->rungs);
    search_free(&course);
}

static const double defaults[] = {0.9, 0.1};
static const search_options options = {
    .seed = 1, .trials = TRIALS, .generation = GENERATION, .rungs = 3, .factor = 3, .defaults = defaults};

static void open_space(space *s) {
    ft_error error;
    assert_int_equal(space_open(s, &error), FT_OK);
    assert_int_equal(space_add_text(s, text, strlen(text), &error), FT_OK);
}

static void order_of_results_does_not_matter(void **state) {
    (void)state;
    static course_log a, b;
    space s;
    open_space(&s);
    play(&s, &options, false, &a);
    play(&s, &options, true, &b);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.jobs, b.jobs, a.count * sizeof a.jobs[0]);
    assert_true(a.best == b.best && a.best_trial == b.best_trial);
    space_free(&s);
}

static void rungs_get_fewer(void **state) {
    (void)state;
    static course_log found;
    space s;
    uint32_t at[3] = {0}, of_default = 0;
    open_space(&s);
    play(&s, &options, false, &found);
    for (uint32_t i = 0; i < found.count; i++) {
        at[found.jobs[i].rung]++;
        of_default += found.jobs[i].trial == 0;
    }
    assert_int_equal(at[0], TRIALS);
    assert_int_equal(at[1], 4 * 3 + 1 + 1); /* the defaults go on anyway; the last generation has four */
    assert_int_equal(at[2], 5 + 1);
    assert_int_equal(of_default, 3);
    space_free(&s);
}

/* A longer search begins as the shorter one did, so that one can be made longer. */
static void longer_searches_begin_the_same(void **state) {
    (void)state;
    static course_log a, b;
    space s;
    search_options more = options;
    more.trials = 2 * GENERATION;
    open_space(&s);
    play(&s, &more, false, &a);
    more.trials = 3 * GENERATION;
    play(&s, &more, false, &b);
    assert_true(b.count > a.count);
    assert_memory_equal(a.jobs, b.jobs, a.count * sizeof a.jobs[0]);
    space_free(&s);
}

static void finds_a_good_place(void **state) {
    (void)state;
    static course_log found;
    space s;
    open_space(&s);
    play(&s, &options, false, &found);
    assert_true(found.best < 0.05);
    space_free(&s);
}

static void all_may_fail(void **state) {
    (void)state;
    space s;
    search course;
    ft_error error;
    search_job jobs[GENERATION];
    uint32_t count, total = 0;
    open_space(&s);
    assert_int_equal(search_open(&course, &s, &options, &error), FT_OK);
    while ((count = search_next(&course, jobs)) > 0)
        for (uint32_t i = 0; i < count; i++, total++) search_report(&course, jobs[i], NAN);
    assert_int_equal(total, TRIALS);
    assert_int_equal(search_best(&course), FT_NONE);
    search_free(&course);
    space_free(&s);
}

static void shares_grow_to_one(void **state) {
    (void)state;
    assert_true(halving_share(0, 1, 3) == 1);
    assert_true(halving_share(2, 3, 3) == 1);
    assert_true(fabs(halving_share(0, 3, 3) - 1.0 / 9) < 1e-15);
    assert_true(halving_share(1, 3, 4) == 0.25);
}

static void the_best_are_promoted(void **state) {
    (void)state;
    const double losses[] = {5, 1, NAN, 3, 2, 9, 8, 7, 6};
    bool is_promoted[9];
    assert_int_equal(halving_promote(losses, 9, 3, is_promoted), 3);
    for (int i = 0; i < 9; i++) assert_int_equal(is_promoted[i], i == 1 || i == 3 || i == 4);
}

static void at_least_one_is_promoted_unless_all_failed(void **state) {
    (void)state;
    const double two[] = {4, 3}, none[] = {NAN, NAN, NAN}, few[] = {NAN, NAN, NAN, NAN, NAN, NAN, 2, NAN, NAN};
    bool is_promoted[9];
    assert_int_equal(halving_promote(two, 2, 3, is_promoted), 1);
    assert_true(!is_promoted[0] && is_promoted[1]);
    assert_int_equal(halving_promote(none, 3, 3, is_promoted), 0);
    assert_int_equal(halving_promote(few, 9, 3, is_promoted), 1);
    assert_true(is_promoted[6]);
    assert_int_equal(halving_promote(NULL, 0, 3, is_promoted), 0);
}

/* 5 / 2 = 2 are promoted; failed trials are no competition, but count in the size of the rung. */
static void a_share_of_the_rung_is_promoted(void **state) {
    (void)state;
    const double losses[] = {3, NAN, 1, 2, NAN};
    bool is_promoted[5];
    assert_int_equal(halving_promote(losses, 5, 2, is_promoted), 2);
    assert_true(!is_promoted[0] && !is_promoted[1] && is_promoted[2] && is_promoted[3] && !is_promoted[4]);
    assert_int_equal(halving_promote(losses, 5, 5, is_promoted), 1);
    assert_true(is_promoted[2]);
    for (uint32_t rung = 0; rung < 4; rung++) assert_true(halving_share(rung, 4, 2) == (double)(1 << rung) / 8);
}

static void of_equal_losses_the_first_is_promoted(void **state) {
    (void)state;
    const double same[] = {1, 1, 1, 1, 1, 1};
    bool is_promoted[6];
    assert_int_equal(halving_promote(same, 6, 3, is_promoted), 2);
    assert_true(is_promoted[0] && is_promoted[1] && !is_promoted[2]);
}

static void report(search *s, const search_job *jobs, const double *losses, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) search_report(s, jobs[i], losses[i]);
}

/* Losses 4, 2, 3, 3.2 on the first rung: 1 and 2 are promoted, and 0, the defaults. They come to 3, 1 and 2.5: the mean
 * decrease is (1 + 1 + 0.5) / 3 = 5/6. So trial 3, at 3.2 - 5/6 = 2.37, ranks behind 1 and before 2 and 0. */
static void trials_are_ranked_by_their_loss_on_the_last_rung(void **state) {
    (void)state;
    const search_options few = {.seed = 3, .trials = 8, .generation = 4, .rungs = 2, .factor = 2, .defaults = defaults};
    const uint32_t order[] = {1, 3, 2, 0};
    search course;
    space s;
    ft_error error;
    search_job jobs[4];
    open_space(&s);
    assert_int_equal(search_open(&course, &s, &few, &error), FT_OK);
    assert_int_equal(search_best(&course), FT_NONE);
    assert_int_equal(search_next(&course, jobs), 4);
    assert_memory_equal(course.trials[0].values, defaults, sizeof defaults);
    report(&course, jobs, (const double[]){4, 2, 3, 3.2}, 4);
    assert_int_equal(search_best(&course), 1);
    assert_int_equal(search_next(&course, jobs), 3);
    for (uint32_t i = 0; i < 3; i++) assert_true(jobs[i].trial == i && jobs[i].rung == 1);
    report(&course, jobs, (const double[]){3, 1, 2.5}, 3);
    assert_int_equal(search_next(&course, jobs), 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(course.ranked[i].trial, order[i]);
        assert_ptr_equal(course.points[i], course.trials[order[i]].values);
        assert_int_equal(jobs[i].trial, 4 + i);
    }
    assert_true(fabs(course.ranked[1].final_loss - (3.2 - 5.0 / 6)) < 1e-12);
    assert_int_equal(search_best(&course), 1);
    search_free(&course);
    space_free(&s);
}

/* A trial on a higher rung is better than one with a smaller loss on a lower rung; one that failed there is not. */
static void the_highest_rung_decides(void **state) {
    (void)state;
    const search_options few = {.seed = 3, .trials = 3, .generation = 3, .rungs = 2, .factor = 3};
    search course;
    space s;
    ft_error error;
    search_job jobs[3];
    open_space(&s);
    assert_int_equal(search_open(&course, &s, &few, &error), FT_OK);
    assert_int_equal(search_next(&course, jobs), 3);
    report(&course, jobs, (const double[]){5, 1, 2}, 3);
    assert_int_equal(search_next(&course, jobs), 2); /* 1, and the defaults */
    search_report(&course, jobs[0], 6);
    search_report(&course, jobs[1], NAN);
    assert_int_equal(search_best(&course), 0);
    assert_true(search_loss(&course.trials[0]) == 6 && isnan(search_loss(&course.trials[1])));
    assert_int_equal(search_next(&course, jobs), 0);
    search_free(&course);
    space_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_results_does_not_matter),
        cmocka_unit_test(rungs_get_fewer),
        cmocka_unit_test(longer_searches_begin_the_same),
        cmocka_unit_test(finds_a_good_place),
        cmocka_unit_test(all_may_fail),
        cmocka_unit_test(shares_grow_to_one),
        cmocka_unit_test(the_best_are_promoted),
        cmocka_unit_test(at_least_one_is_promoted_unless_all_failed),
        cmocka_unit_test(a_share_of_the_rung_is_promoted),
        cmocka_unit_test(of_equal_losses_the_first_is_promoted),
        cmocka_unit_test(trials_are_ranked_by_their_loss_on_the_last_rung),
        cmocka_unit_test(the_highest_rung_decides),
    };
    return cmocka_run_group_tests_name("learn/search", tests, NULL, NULL);
}
