/* Tests of optimisers against PyTorch's (reference/optim.csv), with threads, ranges of decay, saving and resuming. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "nn/optim.h"
#include "support/failing.h"

enum { COUNT = 7 };

typedef struct setting {
    const char *name;
    double rate;
    optim_options options;
    bool has_range;
} setting;

static const setting settings[] = {
    {.name = "sgd", .rate = 0.05, .options = {.kind = OPTIM_SGD}},
    {.name = "sgd decay", .rate = 0.05, .options = {.kind = OPTIM_SGD, .weight_decay = 0.1}},
    {.name = "momentum", .rate = 0.05, .options = {.kind = OPTIM_SGD, .momentum = 0.9, .weight_decay = 0.1}},
    {.name = "nesterov",
     .rate = 0.05,
     .options = {.kind = OPTIM_SGD, .momentum = 0.8, .is_nesterov = true, .weight_decay = 0.1}},
    {.name = "adam", .rate = 0.02, .options = {.kind = OPTIM_ADAM}},
    {.name = "adam decay",
     .rate = 0.02,
     .options = {.kind = OPTIM_ADAM, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1}},
    {.name = "adamw", .rate = 0.02, .options = {.kind = OPTIM_ADAMW, .weight_decay = 0.1}},
    {.name = "adamw range", .rate = 0.02, .options = {.kind = OPTIM_ADAMW, .weight_decay = 0.5}, .has_range = true},
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

/* Missing settings have their defaults. */
static optim_options options_of(const setting *s) {
    optim_options options = s->options, standard = optim_options_default(s->options.kind);
    if (options.epsilon == 0) {
        options.beta1 = standard.beta1;
        options.beta2 = standard.beta2;
        options.epsilon = standard.epsilon;
    }
    return options;
}

static optim *made(const optim_options *options, size_t count, const optim_range *ranges, uint32_t range_count) {
    optim *o = NULL;
    ft_error error = {.message = ""};
    if (optim_new(options, count, ranges, range_count, &o, &error) != FT_OK) fail_msg("%s", error.message);
    return o;
}

static optim *made_for(const setting *s) {
    static const optim_range range = {.begin = 2, .end = 5};
    optim_options options = options_of(s);
    return made(&options, COUNT, s->has_range ? &range : NULL, s->has_range ? 1 : 0);
}

/* As in reference/optim.py. */
static void fill_gradient(float *g, int t) {
    for (int i = 0; i < COUNT; i++) g[i] = (float)((i * 7 + t * 13) % 11 - 5) / 8 * ldexpf(1, i - 3);
}

static void fill_start(float *x) {
    for (int i = 0; i < COUNT; i++) x[i] = (float)(i - 3) * 0.5F;
}

/* Runs steps from .. to-1. */
static void run(optim *o, const setting *s, float *x, int from, int to) {
    float g[COUNT];
    for (int t = from; t < to; t++) {
        fill_gradient(g, t);
        optim_step(o, x, g, s->rate, NULL);
    }
}

static const setting *setting_named(const char *name) {
    for (size_t i = 0; i < SETTINGS; i++)
        if (strcmp(settings[i].name, name) == 0) return &settings[i];
    fail_msg("no setting is called %s", name);
    return NULL;
}

static void check_line(const char *line) {
    char name[32];
    int step, length;
    assert_int_equal(sscanf(line, "%31[^,],%d,%n", name, &step, &length), 2);
    const setting *s = setting_named(name);
    optim *o = made_for(s);
    float x[COUNT];
    fill_start(x);
    run(o, s, x, 0, step + 1);
    assert_int_equal(optim_steps(o), step + 1);
    char *next = (char *)line + length;
    for (int i = 0; i < COUNT; i++, next++) {
        double theirs = strtod(next, &next);
        if (!(fabs((double)x[i] - theirs) <= 2e-6 * (1 + fabs(theirs))))
            fail_msg("%s, step %d, x%d: %.9g, not %.9g", name, step, i, (double)x[i], theirs);
    }
    optim_free(o);
}

static void test_against_pytorch(void **state) {
    (void)state;
    FILE *file = fopen("tests/nn/reference/optim.csv", "r");
    assert_non_null(file);
    char line[512];
    int lines = 0;
    assert_non_null(fgets(line, sizeof line, file));
    for (; fgets(line, sizeof line, file) != NULL; lines++) check_line(line);
    fclose(file);
    assert_int_equal(lines, SETTINGS * 12);
}

static void test_resumed(void **state) {
    (void)state;
    for (size_t i = 0; i < SETTINGS; i++) {
        const setting *s = &settings[i];
        float whole[COUNT], x[COUNT];
        optim *o = made_for(s), *again = made_for(s);
        fill_start(whole);
        fill_start(x);
        run(o, s, x, 0, 5);
        size_t size = optim_state_size(o);
        void *bytes = malloc(size);
        optim_save(o, bytes);
        assert_int_equal(optim_load(again, bytes, size, NULL), FT_OK);
        run(again, s, x, 5, 12);
        optim_free(o);
        o = made_for(s);
        run(o, s, whole, 0, 12);
        assert_memory_equal(x, whole, sizeof x);
        free(bytes);
        optim_free(o);
        optim_free(again);
    }
}

static void test_state_of_another_optimiser(void **state) {
    (void)state;
    ft_error error = {.message = ""};
    optim *adam = made_for(setting_named("adam")), *adamw = made_for(setting_named("adamw"));
    size_t size = optim_state_size(adam);
    char *bytes = malloc(size);
    optim_save(adam, bytes);
    assert_int_equal(optim_load(adamw, bytes, size, &error), FT_ERR_DAMAGED);
    assert_non_null(strstr(error.message, "another"));
    assert_int_equal(optim_load(adam, bytes, size - 1, &error), FT_ERR_DAMAGED);
    assert_int_equal(optim_load(adam, bytes, 0, &error), FT_ERR_DAMAGED);
    optim_free(adam);
    optim_free(adamw);
    optim_free(NULL);
    free(bytes);
}

/* More than one piece, ranges that begin and end anywhere, any number of threads. */
static void test_threads_and_ranges(void **state) {
    (void)state;
    enum { MANY = 200003 };
    static const optim_range ranges[] = {{3, 10}, {10, 10}, {60000, 70000}, {131072, 131073}, {150000, MANY}};
    float *g = malloc(MANY * sizeof *g), *x[3];
    optim_options options = optim_options_default(OPTIM_ADAMW);
    options.weight_decay = 0.3;
    rng r;
    rng_init(&r, 1, 0);
    for (size_t i = 0; i < MANY; i++) g[i] = (float)rng_normal(&r);
    for (uint32_t k = 0; k < 3; k++) {
        x[k] = malloc(MANY * sizeof *x[k]);
        for (size_t i = 0; i < MANY; i++) x[k][i] = (float)(i % 100) - 50;
        pool *threads = NULL;
        if (k > 0) assert_int_equal(pool_new(k + 1, &threads, NULL), FT_OK);
        optim *o = made(&options, MANY, ranges, 5);
        for (int t = 0; t < 3; t++) optim_step(o, x[k], g, 0.01, threads);
        optim_free(o);
        pool_free(threads);
    }
    assert_memory_equal(x[0], x[1], MANY * sizeof **x);
    assert_memory_equal(x[0], x[2], MANY * sizeof **x);
    /* Against one parameter alone, with decay and without. */
    for (size_t i = 0; i < MANY; i += i < 20 ? 1 : 997) {
        bool has_decay = false;
        for (size_t k = 0; k < 5; k++) has_decay |= i >= ranges[k].begin && i < ranges[k].end;
        options.weight_decay = has_decay ? 0.3 : 0;
        optim *o = made(&options, 1, NULL, 0);
        float alone = (float)(i % 100) - 50;
        for (int t = 0; t < 3; t++) optim_step(o, &alone, &g[i], 0.01, NULL);
        assert_true(alone == x[0][i]);
        optim_free(o);
    }
    for (uint32_t k = 0; k < 3; k++) free(x[k]);
    free(g);
}

static void test_refuses(void **state) {
    (void)state;
    optim *o = NULL;
    ft_error error = {.message = ""};
    static const optim_range crossed[] = {{0, 4}, {3, 5}}, beyond[] = {{0, 8}}, turned[] = {{4, 3}};
    optim_options good = optim_options_default(OPTIM_ADAM), bad;
    assert_int_equal(optim_new(&good, 0, NULL, 0, &o, &error), FT_ERR_USAGE);
    assert_int_equal(optim_new(&good, COUNT, crossed, 2, &o, &error), FT_ERR_USAGE);
    assert_non_null(strstr(error.message, "range 1"));
    assert_int_equal(optim_new(&good, COUNT, beyond, 1, &o, &error), FT_ERR_USAGE);
    assert_int_equal(optim_new(&good, COUNT, turned, 1, &o, &error), FT_ERR_USAGE);
#define WRONG(field, value, part)                                                                                      \
    bad = good;                                                                                                        \
    bad.field = (value);                                                                                               \
    assert_int_equal(optim_new(&bad, COUNT, NULL, 0, &o, &error), FT_ERR_USAGE);                                       \
    assert_non_null(strstr(error.message, part))
    WRONG(momentum, 1, "momentum");
    WRONG(is_nesterov, true, "nesterov");
    WRONG(beta1, 1.5, "betas");
    WRONG(beta2, NAN, "betas");
    WRONG(epsilon, 0, "epsilon");
    WRONG(weight_decay, -1, "weight decay");
    assert_null(o);
    optim_kind kind = OPTIM_SGD;
    assert_true(optim_find("adamw", &kind) && kind == OPTIM_ADAMW);
    assert_true(optim_find("sgd", &kind) && kind == OPTIM_SGD);
    assert_false(optim_find("adagrad", &kind));
}

static void test_no_memory(void **state) {
    (void)state;
    optim_options options = optim_options_default(OPTIM_ADAM);
    long n = 0;
    for (;; n++) {
        optim *o = NULL;
        failing_start(n);
        ft_status status = optim_new(&options, COUNT, NULL, 0, &o, NULL);
        bool has_failed = failing_stop();
        optim_free(o);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
        assert_null(o);
    }
    assert_int_equal(n, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_pytorch),
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_state_of_another_optimiser),
        cmocka_unit_test(test_threads_and_ranges),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
