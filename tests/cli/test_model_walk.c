/* The walk over the models of a command line: models are prepared at the same time, and visited in their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../../cli/model_walk.h"
#include "support/folder.h"

enum { FILES = 40, WAIT_S = 20 };

/* The smallest file of nn-Meter's format: one operator. */
static void write_model(const char *path) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{\"in\": {\"attr\": {\"type\": \"Placeholder\", \"attr\": {\"shape\": [1, 8, 8, 3]}, \"output_shape\": [[1, "
          "8, 8, 3]]}, "
          "\"inbounds\": [], \"outbounds\": [\"r\"]}, \"r\": {\"attr\": {\"type\": \"Relu\", \"attr\": {}, "
          "\"output_shape\": [[1, 8, 8, 3]]}, \"inbounds\": [\"in\"], \"outbounds\": []}}",
          f);
    assert_int_equal(fclose(f), 0);
}

typedef struct scene {
    atomic_uint prepared, running, most_running;
    uint32_t together; /* models that wait for each other */
    uint32_t visited, released;
    char order[FILES * 16];
} scene;

static scene now;

static ft_status prepare(const model_walk *m, const char *path, const ft_graph *graph, void **work, ft_error *error) {
    (void)m;
    uint32_t running = atomic_fetch_add(&now.running, 1) + 1, most = atomic_load(&now.most_running);
    while (running > most && !atomic_compare_exchange_weak(&now.most_running, &most, running)) continue;
    time_t end = time(NULL) + WAIT_S;
    while (atomic_load(&now.most_running) < now.together && time(NULL) < end)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    atomic_fetch_add(&now.prepared, 1);
    atomic_fetch_sub(&now.running, 1);
    *work = strdup(path);
    if (ft_graph_op_count(graph) == 1 && strstr(path, "bad") == NULL) return FT_OK;
    snprintf(error->message, sizeof error->message, "bad");
    return error->status = FT_ERR_GRAPH;
}

static void release(void *work) {
    now.released++;
    free(work);
}

static ft_status visit(model_walk *m, const char *path, const ft_graph *graph, void *work, ft_error *error) {
    (void)m;
    (void)graph;
    assert_string_equal(path, work);
    now.visited++;
    strcat(strcat(now.order, path), " ");
    if (strstr(path, "last") == NULL) return FT_OK;
    snprintf(error->message, sizeof error->message, "the output is full");
    return error->status = FT_ERR_IO;
}

static model_walk walk_folder(uint32_t threads, uint32_t together) {
    static char path[] = "models";
    static char *paths[] = {path};
    static output out;
    out.stream = stdout;
    memset(&now, 0, sizeof now);
    now.together = together;
    model_walk m = {.paths = {.items = paths, .count = 1},
                    .out = &out,
                    .is_quiet = true,
                    .threads = threads,
                    .prepare = prepare,
                    .release = release,
                    .visit = visit};
    model_walk_run(&m);
    assert_int_equal(now.released, now.prepared);
    return m;
}

static void make_folder(void) {
    assert_int_equal(mkdir("models", 0777), 0);
    for (int i = 0; i < FILES; i++) {
        char path[64];
        snprintf(path, sizeof path, "models/%02d%s.json", i, i % 10 == 7 ? "bad" : "");
        write_model(path);
    }
    FILE *f = fopen("models/35.txt", "w");
    assert_non_null(f);
    fclose(f);
}

static void models_are_prepared_at_the_same_time(void **state) {
    (void)state;
    make_folder();
    model_walk m = walk_folder(2, 2);
    assert_int_equal(now.most_running, 2);
    assert_int_equal(m.model_count, FILES - 4);
}

static void any_number_of_threads_gives_the_same_order(void **state) {
    (void)state;
    char order[sizeof now.order];
    make_folder();
    for (uint32_t threads = 1; threads <= 9; threads += 2) {
        model_walk m = walk_folder(threads, 1);
        assert_int_equal(m.model_count, FILES - 4);
        assert_int_equal(m.failed_count, 4);
        assert_int_equal(m.skipped_count, 1);
        assert_int_equal(m.file_count, FILES + 1);
        assert_int_equal(m.first_failure, FT_ERR_GRAPH);
        assert_int_equal(now.visited, FILES - 4); /* those that failed are not visited */
        if (threads > 1) assert_string_equal(now.order, order);
        strcpy(order, now.order);
    }
}

/* What an error of the output ends is not visited, and still freed. */
static void an_error_of_the_output_ends_the_walk(void **state) {
    (void)state;
    make_folder();
    assert_int_equal(rename("models/12.json", "models/12last.json"), 0);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        model_walk m = walk_folder(threads, 1);
        assert_int_equal(m.fatal, FT_ERR_IO);
        assert_int_equal(now.visited, 12); /* 0 to 12 without 7 */
    }
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_enter, folder_leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(models_are_prepared_at_the_same_time),
        IN_FOLDER(any_number_of_threads_gives_the_same_order),
        IN_FOLDER(an_error_of_the_output_ends_the_walk),
    };
    return cmocka_run_group_tests_name("cli/model_walk", tests, NULL, NULL);
}
