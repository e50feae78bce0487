/* The queue of models: tasks run at the same time, and their results come in the order they were added. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../cli/model_queue.h"

enum { TASKS = 200, WAIT_S = 20 };

typedef struct scene {
    atomic_uint ran, running, most_running;
    atomic_uint together; /* tasks wait until so many are running at the same time */
    uint32_t taken;
    pthread_t adder;
} scene;

static void pause_briefly(void) {
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* Later tasks are shorter, so that they are done before earlier ones. The number of a task is in its status. */
static void run(void *user, model_task *t) {
    scene *s = user;
    uint32_t now = atomic_fetch_add(&s->running, 1) + 1, most = atomic_load(&s->most_running);
    while (now > most && !atomic_compare_exchange_weak(&s->most_running, &most, now)) continue;
    time_t end = time(NULL) + WAIT_S;
    while (atomic_load(&s->most_running) < s->together && time(NULL) < end) pause_briefly();
    if (t->is_explicit) pause_briefly();
    t->work = t->path;
    atomic_fetch_add(&s->ran, 1);
    atomic_fetch_sub(&s->running, 1);
}

static void take(void *user, model_task *t) {
    scene *s = user;
    assert_true(pthread_equal(pthread_self(), s->adder));
    assert_ptr_equal(t->work, t->path); /* it was run */
    assert_int_equal(strtoul(t->path, NULL, 10), s->taken++);
    free(t->path);
}

static uint32_t run_tasks(uint32_t threads, uint32_t together) {
    scene s = {.together = together, .adder = pthread_self()};
    model_queue *q = model_queue_new(threads, run, take, &s);
    assert_non_null(q);
    for (uint32_t i = 0; i < TASKS; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        model_queue_add(q, &(model_task){.path = strdup(text), .is_explicit = i % 5 == 0});
        if (i == TASKS / 2) {
            model_queue_drain(q);
            assert_int_equal(s.taken, i + 1);
        }
    }
    model_queue_free(q);
    assert_int_equal(s.ran, TASKS);
    assert_int_equal(s.taken, TASKS);
    return s.most_running;
}

static void results_come_in_order(void **state) {
    (void)state;
    assert_int_equal(run_tasks(1, 1), 1);
    assert_true(run_tasks(2, 1) <= 2);
    assert_true(run_tasks(7, 1) <= 7);
    run_tasks(0, 1);
}

/* Each of the threads runs a task: the adding one takes part while it waits. */
static void tasks_run_at_the_same_time(void **state) {
    (void)state;
    assert_int_equal(run_tasks(2, 2), 2);
    assert_int_equal(run_tasks(4, 4), 4);
}

static void one_thread_takes_each_result_at_once(void **state) {
    (void)state;
    scene s = {.together = 1, .adder = pthread_self()};
    model_queue *q = model_queue_new(1, run, take, &s);
    assert_non_null(q);
    for (uint32_t i = 0; i < 3; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        model_queue_add(q, &(model_task){.path = strdup(text)});
        assert_int_equal(s.taken, i + 1);
    }
    model_queue_free(q);
    model_queue_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_in_order),
        cmocka_unit_test(tasks_run_at_the_same_time),
        cmocka_unit_test(one_thread_takes_each_result_at_once),
    };
    return cmocka_run_group_tests_name("cli/model_queue", tests, NULL, NULL);
}
