/* language.c - speed of reading a language model and of answering about it, as calls of the library.
 *
 *     language ROUNDS FILE...    for each file: read; inspect (the summary of `foretell inspect`); serve and train, the
 *                                memory of a model that is read already, on an H100; and read and answer together
 *
 * Prints lines of CSV: file,case,value,unit. A value is the smallest of five medians of so many rounds, a tenth of a
 * second apart, of processor time, which other load of a shared machine does not stretch. */
#include <foretell/foretell.h>
#include <foretell/language.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ROUNDS = 100000, TURNS = 5, SEQUENCE = 2048 };

typedef struct bench {
    const char *path;
    ft_predictor_set *set;
    ft_graph *model; /* NULL: it is read in each round */
    ft_mode mode;
} bench;

static _Noreturn void fail(const char *text) {
    fprintf(stderr, "language: %s\n", text);
    exit(1);
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static ft_graph *read_model(const bench *b) {
    ft_graph *model = NULL;
    ft_error error;
    if (b->model != NULL) return b->model;
    if (ft_graph_read(b->path, &model, &error) != FT_OK) fail(error.message);
    return model;
}

static void drop_model(const bench *b, ft_graph *model) {
    if (b->model == NULL) ft_graph_free(model);
}

static void read_only(const bench *b) {
    drop_model(b, read_model(b));
}

static void inspect(const bench *b) {
    ft_graph *model = read_model(b);
    ft_language language;
    ft_error error;
    if (ft_language_of(model, NULL, &language, &error) != FT_OK) fail(error.message);
    drop_model(b, model);
}

static void predict(const bench *b) {
    const ft_shape_binding shapes[] = {{.name = "sequence", .rank = 1, .dims = {SEQUENCE}},
                                       {.name = "logits", .rank = 1, .dims = {SEQUENCE}},
                                       {.name = "past", .rank = 1, .dims = {0}}};
    ft_binding binding = {.shapes = shapes, .shape_count = b->mode == FT_TRAIN ? 3 : 0};
    ft_request request = {.device = "h100", .batch = 1, .mode = b->mode, .dtype = FT_BFLOAT16, .optimizer = FT_ADAMW};
    ft_graph *model = read_model(b);
    ft_results results;
    ft_error error;
    if (ft_predict(b->set, model, &binding, &request, 1, &results, &error) != FT_OK) fail(error.message);
    ft_results_free(&results);
    drop_model(b, model);
}

static void time_case(const bench *b, const char *name, void (*run)(const bench *b), long rounds) {
    const struct timespec pause = {.tv_nsec = 100000000};
    double *us = calloc((size_t)rounds, sizeof *us), least = INFINITY;
    if (us == NULL) fail("out of memory");
    run(b); /* warms the caches */
    for (int turn = 0; turn < TURNS; turn++) {
        if (turn > 0) nanosleep(&pause, NULL);
        for (long i = 0; i < rounds; i++) {
            double started = now_us();
            run(b);
            us[i] = now_us() - started;
        }
        qsort(us, (size_t)rounds, sizeof *us, ascending);
        least = fmin(least, us[rounds / 2]);
    }
    free(us);
    const char *slash = strrchr(b->path, '/');
    printf("%s,%s,%.0f,us\n", slash != NULL ? slash + 1 : b->path, name, least);
}

static void time_file(bench *b, long rounds) {
    static const struct {
        const char *name, *with_read;
        ft_mode mode;
    } modes[] = {{"serve", "read and serve", FT_INFER}, {"train", "read and train", FT_TRAIN}};
    time_case(b, "read", read_only, rounds);
    time_case(b, "read and inspect", inspect, rounds);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        b->mode = modes[i].mode;
        time_case(b, modes[i].with_read, predict, rounds);
        b->model = read_model(b);
        time_case(b, modes[i].name, predict, rounds);
        ft_graph_free(b->model);
        b->model = NULL;
    }
}

int main(int argc, char **argv) {
    bench b = {0};
    ft_error error;
    long rounds = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    if (rounds < 1 || rounds > MAX_ROUNDS) fail("usage: language ROUNDS FILE...");
    if (ft_predictor_set_open(NULL, 0, &b.set, &error) != FT_OK) fail(error.message);
    for (int i = 2; i < argc; i++) {
        b.path = argv[i];
        time_file(&b, rounds);
    }
    ft_predictor_set_free(b.set);
    return 0;
}
