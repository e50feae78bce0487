/* Networks of an ensemble trained one after another: a training that was stopped at any point resumes from its own
 * checkpoint, and from no other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "predictor/core/ensemble.h"
#include "support/line.h"

enum { NETWORKS = 3, STEPS = 300, SKIPPED = 1 };

typedef struct team {
    line lines[NETWORKS];
    uint32_t calls, stop_after, lines_logged;
    void *kept;
    size_t kept_size;
} team;

static params *values(void *user, uint32_t index) {
    return &((team *)user)->lines[index].values;
}

static ft_status begin(void *user, ensemble_member *member, ft_error *error) {
    team *t = user;
    if (member->index == SKIPPED) return FT_OK;
    FT_TRY(line_begin(&t->lines[member->index], STEPS, member->seed, error));
    member->training = &t->lines[member->index];
    member->descent = &t->lines[member->index].steps;
    return FT_OK;
}

static ft_status step(void *user, const ensemble_member *member, double *loss, ft_error *error) {
    (void)user;
    return line_step(member->training, loss, error);
}

static ft_status validate(void *user, const ensemble_member *member, double *mape, ft_error *error) {
    (void)user;
    (void)member;
    (void)error;
    *mape = NAN;
    return FT_OK;
}

static json_t *describe(void *user, uint32_t index) {
    (void)user;
    return json_pack("{s:i}", "network", (int)index);
}

static void end(void *user, const ensemble_member *member) {
    (void)user;
    descent_close(member->descent);
}

static bool progress(void *user, double ratio, const char *what) {
    team *t = user;
    (void)what;
    assert_true(ratio >= 0 && ratio <= 1);
    return t->stop_after == 0 || ++t->calls < t->stop_after;
}

static void log_line(void *user, json_t *line) {
    ((team *)user)->lines_logged++;
    assert_true(json_is_integer(json_object_get(line, "step")) && json_object_get(line, "valid_mape") == NULL);
    json_decref(line);
}

static ft_status keep(void *user, const void *state, size_t size, ft_error *error) {
    team *t = user;
    (void)error;
    free(t->kept);
    t->kept = malloc(size);
    memcpy(t->kept, state, size);
    t->kept_size = size;
    return FT_OK;
}

static const void *kept(void *user, size_t *size) {
    team *t = user;
    *size = t->kept_size;
    return t->kept;
}

static void team_init(team *t, uint64_t seed) {
    *t = (team){0};
    for (uint32_t i = 0; i < NETWORKS; i++) line_init(&t->lines[i], seed + i);
}

static void team_free(team *t) {
    for (uint32_t i = 0; i < NETWORKS; i++) line_free(&t->lines[i]);
    free(t->kept);
}

static ft_status train(team *t, ft_error *error) {
    fit_context context = {.seed = 5, .user = t, .progress = progress, .log = log_line, .save = keep, .load = kept};
    ensemble e = {&context, NETWORKS, t, values, begin, step, validate, describe, end};
    return ensemble_train(&e, error);
}

static void networks_without_data_are_skipped(void **state) {
    (void)state;
    team t;
    team_init(&t, 1);
    double untouched = line_error(&t.lines[SKIPPED]);
    assert_int_equal(train(&t, NULL), FT_OK);
    for (uint32_t i = 0; i < NETWORKS; i++)
        if (i != SKIPPED) assert_true(line_error(&t.lines[i]) < 0.1);
    assert_true(line_error(&t.lines[SKIPPED]) == untouched);
    assert_int_equal(t.lines_logged, 4);
    team_free(&t);
}

/* Stops in the first network, at its end, and in the last one. */
static void resumed_training_gives_the_same_networks(void **state) {
    (void)state;
    static const uint32_t stops[] = {1, 100, STEPS, STEPS + 1, STEPS + 77};
    team whole;
    team_init(&whole, 1);
    assert_int_equal(train(&whole, NULL), FT_OK);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        team first, second;
        team_init(&first, 1);
        team_init(&second, 50); /* whose values do not matter: all but the skipped one's are in the checkpoint */
        memcpy(second.lines[SKIPPED].values.values, first.lines[SKIPPED].values.values, 2 * sizeof(float));
        memcpy(second.lines[2].values.values, first.lines[2].values.values, 2 * sizeof(float));
        first.stop_after = stops[i];
        assert_int_equal(train(&first, NULL), FT_ERR_CANCELLED);
        second.kept = first.kept;
        second.kept_size = first.kept_size;
        first.kept = NULL;
        assert_int_equal(train(&second, NULL), FT_OK);
        for (uint32_t u = 0; u < NETWORKS; u++)
            assert_memory_equal(values(&second, u)->values, values(&whole, u)->values, 2 * sizeof(float));
        team_free(&first);
        team_free(&second);
    }
    team_free(&whole);
}

static void foreign_checkpoints_are_refused(void **state) {
    (void)state;
    team t;
    ft_error error;
    team_init(&t, 1);
    t.stop_after = STEPS + 77;
    assert_int_equal(train(&t, NULL), FT_ERR_CANCELLED);
    t.stop_after = 0;
    size_t size = t.kept_size;
    for (t.kept_size = 1; t.kept_size < size; t.kept_size++) {
        assert_int_equal(train(&t, &error), FT_ERR_DAMAGED);
        assert_non_null(strstr(error.message, "without --resume"));
    }
    uint32_t beyond = NETWORKS;
    memcpy(t.kept, &beyond, sizeof beyond); /* a network that does not exist */
    assert_int_equal(train(&t, &error), FT_ERR_DAMAGED);
    team_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_without_data_are_skipped),
        cmocka_unit_test(resumed_training_gives_the_same_networks),
        cmocka_unit_test(foreign_checkpoints_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
