/* Tests of learning rates against PyTorch's schedulers (reference/schedule.csv), and of early stopping. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nn/schedule.h"

/* As in reference/optim.py. */
static const double losses[] = {10, 8, 7, 7, 7.5, 6.9999, 7, 7, 5, 5, 5, 5, 5, 5, 5,
                                4,  4, 4, 4, 4,   4,      4, 4, 4, 4, 4, 4, 4, 4, 4};

static schedule_options options_named(const char *name) {
    schedule_kind kind;
    char first[32];
    assert_int_equal(sscanf(name, "%31s", first), 1);
    assert_true(schedule_find(first, &kind));
    schedule_options o = schedule_options_default(kind);
    bool has_more = strcmp(first, name) != 0;
    o.rate = 0.2;
    switch (kind) {
    case SCHEDULE_STEP:
        o.every = 7;
        o.factor = 0.3;
        break;
    case SCHEDULE_PLATEAU:
        o.factor = 0.3;
        o.patience = 2;
        o.cooldown = 1;
        o.min_rate = 0.003;
        break;
    case SCHEDULE_COSINE:
        o.total_steps = 30;
        o.last_rate = 0.01;
        o.warmup_steps = has_more ? 5 : 0;
        o.warmup_ratio = 0.25;
        break;
    case SCHEDULE_ONE_CYCLE:
        o.total_steps = has_more ? 33 : 40;
        if (!has_more) break;
        o.up_ratio = 0.45;
        o.start_divisor = 10;
        o.end_divisor = 100;
        break;
    case SCHEDULE_CYCLIC:
        o.low_rate = 0.02;
        o.up_steps = has_more ? 5 : 6;
        o.down_steps = has_more ? 5 : 9;
        o.factor = has_more ? 0.5 : 1;
        break;
    default:
        break;
    }
    assert_int_equal(schedule_check(&o, NULL), FT_OK);
    return o;
}

static void check_line(const char *line) {
    char name[32];
    int step;
    double theirs;
    assert_int_equal(sscanf(line, "%31[^,],%d,%lf", name, &step, &theirs), 3);
    schedule_options o = options_named(name);
    schedule_state state = schedule_begin();
    for (int t = 0; t < step && o.kind == SCHEDULE_PLATEAU; t++) {
        char bytes[sizeof state]; /* as a checkpoint does it */
        memcpy(bytes, &state, sizeof state);
        memset(&state, 0xff, sizeof state);
        memcpy(&state, bytes, sizeof state);
        schedule_report(&o, &state, losses[t]);
    }
    double ours = schedule_rate(&o, &state, (uint64_t)step);
    if (!(fabs(ours - theirs) <= 1e-9 * theirs + 1e-12))
        fail_msg("%s, step %d: %.12g, not %.12g", name, step, ours, theirs);
}

static void test_against_pytorch(void **state) {
    (void)state;
    FILE *file = fopen("tests/nn/reference/schedule.csv", "r");
    assert_non_null(file);
    char line[256];
    int lines = 0;
    assert_non_null(fgets(line, sizeof line, file));
    for (; fgets(line, sizeof line, file) != NULL; lines++) check_line(line);
    fclose(file);
    assert_int_equal(lines, 275);
}

/* Cases that PyTorch rejects or does not define: after the last step, and limits of options. */
static void test_edges(void **state) {
    (void)state;
    schedule_state none = schedule_begin();
    schedule_options o = options_named("cosine");
    assert_true(schedule_rate(&o, &none, 1000) == o.last_rate);
    o = options_named("one-cycle");
    double end = o.rate / o.start_divisor / o.end_divisor;
    assert_true(fabs(schedule_rate(&o, &none, 39) - end) < 1e-15);
    assert_true(fabs(schedule_rate(&o, &none, UINT64_MAX) - end) < 1e-15);
    o.up_ratio = 0; /* only falls */
    assert_true(schedule_rate(&o, &none, 0) == o.rate);
    o.up_ratio = 1; /* only rises */
    assert_true(schedule_rate(&o, &none, 39) == o.rate);
    o.total_steps = 1;
    o.up_ratio = 0.3;
    assert_true(isfinite(schedule_rate(&o, &none, 0)));
    o = schedule_options_default(SCHEDULE_CONSTANT);
    o.warmup_steps = 4;
    for (uint64_t step = 0; step < 6; step++) {
        double ratio = step < 4 ? (double)step / 4 : 1;
        assert_true(fabs(schedule_rate(&o, &none, step) - o.rate * ratio) < 1e-15);
    }
    /* Other kinds ignore losses, and NaN is not an improvement. */
    schedule_state before = none;
    schedule_report(&o, &none, 1);
    assert_memory_equal(&before, &none, sizeof none);
    o = options_named("plateau");
    for (int i = 0; i < 3; i++) schedule_report(&o, &none, NAN);
    assert_true(schedule_rate(&o, &none, 3) < o.rate);
}

static void refuses(schedule_options o, const char *part) {
    ft_error error = {.message = ""};
    assert_int_equal(schedule_check(&o, &error), FT_ERR_USAGE);
    if (strstr(error.message, part) == NULL) fail_msg("%s", error.message);
}

static void test_refuses(void **state) {
    (void)state;
    schedule_kind kind;
    assert_false(schedule_find("linear", &kind));
    for (int k = SCHEDULE_CONSTANT; k <= SCHEDULE_CYCLIC; k++) {
        schedule_options o = schedule_options_default((schedule_kind)k);
        assert_int_equal(schedule_check(&o, NULL), FT_OK);
        o.rate = 0;
        refuses(o, k == SCHEDULE_CYCLIC ? "low_rate" : "rate: above 0");
        o.rate = NAN;
        refuses(o, "schedule");
    }
#define WRONG(kind, field, value, part)                                                                                \
    do {                                                                                                               \
        schedule_options o = schedule_options_default(kind);                                                           \
        o.field = (value);                                                                                             \
        refuses(o, part);                                                                                              \
    } while (0)
    WRONG(SCHEDULE_STEP, every, 0, "schedule step: every");
    WRONG(SCHEDULE_STEP, factor, 0, "factor");
    WRONG(SCHEDULE_PLATEAU, factor, 1, "schedule plateau: factor");
    WRONG(SCHEDULE_PLATEAU, min_rate, 1, "min_rate");
    WRONG(SCHEDULE_PLATEAU, min_delta, -1, "min_delta");
    WRONG(SCHEDULE_COSINE, warmup_steps, 1000, "total_steps");
    WRONG(SCHEDULE_COSINE, last_rate, 1, "last_rate");
    WRONG(SCHEDULE_COSINE, warmup_ratio, 2, "warmup_ratio");
    WRONG(SCHEDULE_ONE_CYCLE, total_steps, 0, "total_steps");
    WRONG(SCHEDULE_ONE_CYCLE, up_ratio, 1.1, "up_ratio");
    WRONG(SCHEDULE_ONE_CYCLE, start_divisor, 0, "start_divisor");
    WRONG(SCHEDULE_ONE_CYCLE, end_divisor, -1, "end_divisor");
    WRONG(SCHEDULE_ONE_CYCLE, warmup_steps, 3, "schedule one-cycle: warmup_steps");
    WRONG(SCHEDULE_CYCLIC, up_steps, 0, "up_steps");
    WRONG(SCHEDULE_CYCLIC, factor, 2, "factor");
    WRONG(SCHEDULE_CONSTANT, kind, (schedule_kind)9, "schedule: kind");
}

static void test_early_stop(void **state) {
    (void)state;
    early_stop s = early_stop_begin();
    static const double given[] = {5, 4, 4.5, 3.95, 3, 3.5, NAN, 3.2};
    static const bool better[] = {true, true, false, false, true, false, false, false};
    static const bool over[] = {false, false, false, false, false, false, false, true};
    assert_false(early_stop_is_done(&s, 1));
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(early_stop_report(&s, given[i], 0.1), better[i]);
        assert_int_equal(early_stop_is_done(&s, 3), over[i]);
        assert_false(early_stop_is_done(&s, 0));
    }
    assert_true(s.best == 3);
    assert_int_equal(s.best_round, 4);
    assert_int_equal(s.rounds, 8);
    assert_true(early_stop_is_done(&s, 2));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_pytorch),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_early_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
