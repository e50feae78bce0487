/* Tests of the thread pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "support/failing.h"

enum { PARTS = 500, MAX_THREADS = 8 };

typedef struct job {
    uint32_t threads;
    uint32_t done[PARTS];           /* times each part was done */
    atomic_int inside[MAX_THREADS]; /* parts each worker does now */
    atomic_int overlaps, strangers;
} job;

static void count_part(void *user, uint32_t part, uint32_t worker) {
    job *j = user;
    if (worker >= j->threads) {
        atomic_fetch_add(&j->strangers, 1);
        return;
    }
    if (atomic_fetch_add(&j->inside[worker], 1) != 0) atomic_fetch_add(&j->overlaps, 1);
    j->done[part]++;
    atomic_fetch_sub(&j->inside[worker], 1);
}

static void check(pool *p, uint32_t count) {
    job j = {.threads = pool_threads(p)};
    pool_run(p, count, count_part, &j);
    for (uint32_t i = 0; i < PARTS; i++) assert_int_equal(j.done[i], i < count);
    assert_int_equal(j.overlaps, 0);
    assert_int_equal(j.strangers, 0);
}

static void test_each_part_once(void **state) {
    (void)state;
    const uint32_t counts[] = {0, 1, 2, 3, 7, PARTS};
    for (uint32_t threads = 1; threads <= 5; threads++) {
        pool *p = NULL;
        assert_int_equal(pool_new(threads, &p, NULL), FT_OK);
        assert_int_equal(pool_threads(p), threads);
        for (int round = 0; round < 50; round++) check(p, counts[round % 6]);
        pool_free(p);
    }
}

static void test_without_pool(void **state) {
    (void)state;
    assert_int_equal(pool_threads(NULL), 1);
    check(NULL, PARTS);
    pool_free(NULL);
}

static void test_own_cores(void **state) {
    (void)state;
    pool *p = NULL;
    assert_int_equal(pool_new(0, &p, NULL), FT_OK);
    assert_in_range(pool_threads(p), 1, sysconf(_SC_NPROCESSORS_ONLN));
    check(p, PARTS);
    pool_free(p);
}

/* Two parts that wait for each other end only if two threads do them. */
static void meet(void *user, uint32_t part, uint32_t worker) {
    (void)part;
    (void)worker;
    pthread_barrier_wait(user);
}

static void test_parts_run_in_parallel(void **state) {
    (void)state;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 3);
    pool *p = NULL;
    assert_int_equal(pool_new(3, &p, NULL), FT_OK);
    for (int i = 0; i < 20; i++) pool_run(p, 3, meet, &barrier);
    pool_free(p);
    pthread_barrier_destroy(&barrier);
}

/* Several callers of one pool take turns. */
static void *call_often(void *argument) {
    for (int i = 0; i < 100; i++) {
        job j = {.threads = pool_threads(argument)};
        pool_run(argument, 20, count_part, &j);
        for (int k = 0; k < 20; k++)
            if (j.done[k] != 1 || j.overlaps + j.strangers > 0) return argument;
    }
    return NULL;
}

static void test_callers_take_turns(void **state) {
    (void)state;
    pool *p = NULL;
    assert_int_equal(pool_new(3, &p, NULL), FT_OK);
    pthread_t other;
    void *failed;
    assert_int_equal(pthread_create(&other, NULL, call_often, p), 0);
    assert_null(call_often(p));
    pthread_join(other, &failed);
    assert_null(failed);
    pool_free(p);
}

static void test_errors(void **state) {
    (void)state;
    ft_error error = {0};
    pool *p = NULL;
    assert_int_equal(pool_new(100000, &p, &error), FT_ERR_LIMIT);
    assert_non_null(strstr(error.message, "100000 threads"));
    failing_start(0);
    ft_status status = pool_new(1, &p, &error);
    assert_true(failing_stop());
    assert_int_equal(status, FT_ERR_NOMEM);
    assert_null(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_part_once),     cmocka_unit_test(test_without_pool),
        cmocka_unit_test(test_own_cores),          cmocka_unit_test(test_parts_run_in_parallel),
        cmocka_unit_test(test_callers_take_turns), cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests_name("base/pool", tests, NULL, NULL);
}
