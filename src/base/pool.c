/* pool.c - a blocking thread pool.
 *
 * One job at a time. Threads draw parts from a shared counter, so that a thread that is descheduled does not delay
 * parts it has not begun. Jobs are numbered: a sleeping thread wakes up when the number differs from that of its last
 * job. */
#include "base/pool.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { MAX_THREADS = 1024 };

typedef struct worker {
    struct pool *pool;
    uint32_t number;
    pthread_t thread;
} worker;

struct pool {
    pthread_mutex_t caller; /* held during a job, so that callers take turns */
    pthread_mutex_t lock;   /* guards all below but `next` */
    pthread_cond_t begin, end;
    uint64_t job;
    uint32_t busy; /* threads that have not finished the current job */
    bool is_ending;
    pool_part *part;
    void *user;
    uint32_t count;
    atomic_uint next;
    uint32_t started; /* threads beside the caller's */
    worker workers[];
};

static void do_parts(pool *p, uint32_t number) {
    for (;;) {
        uint32_t i = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (i >= p->count) return;
        p->part(p->user, i, number);
    }
}

static void *work(void *argument) {
    worker *w = argument;
    pool *p = w->pool;
    uint64_t done = 0;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->job == done && !p->is_ending) pthread_cond_wait(&p->begin, &p->lock);
        if (p->is_ending) break;
        done = p->job;
        pthread_mutex_unlock(&p->lock);
        do_parts(p, w->number);
        pthread_mutex_lock(&p->lock);
        assert(p->busy > 0);
        if (--p->busy == 0) pthread_cond_signal(&p->end);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static uint32_t cores_of_this_process(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? (uint32_t)count : 1;
}

ft_status pool_new(uint32_t threads, pool **result, ft_error *error) {
    if (threads == 0) threads = cores_of_this_process();
    if (threads > MAX_THREADS)
        return ft_fail(error, FT_ERR_LIMIT, "%u threads are requested; at most %d are supported", threads, MAX_THREADS);
    pool *p = calloc(1, sizeof *p + (threads - 1) * sizeof(worker));
    if (p == NULL) return FT_NOMEM(error);
    pthread_mutex_init(&p->caller, NULL);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->begin, NULL);
    pthread_cond_init(&p->end, NULL);
    for (uint32_t i = 0; i < threads - 1; i++) {
        worker *w = &p->workers[i];
        *w = (worker){.pool = p, .number = i + 1};
        int reason = pthread_create(&w->thread, NULL, work, w);
        if (reason != 0) {
            pool_free(p);
            return ft_fail(error, FT_ERR_NOMEM, "no memory for thread %u, or too many run: %s; use fewer threads",
                           i + 2, strerror(reason));
        }
        p->started++;
    }
    *result = p;
    return FT_OK;
}

void pool_free(pool *p) {
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->is_ending = true;
    pthread_cond_broadcast(&p->begin);
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < p->started; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->end);
    pthread_cond_destroy(&p->begin);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->caller);
    free(p);
}

uint32_t pool_threads(const pool *p) {
    return p == NULL ? 1 : p->started + 1;
}

void pool_run(pool *p, uint32_t count, pool_part *part, void *user) {
    if (p == NULL) {
        for (uint32_t i = 0; i < count; i++) part(user, i, 0);
        return;
    }
    pthread_mutex_lock(&p->caller);
    pthread_mutex_lock(&p->lock);
    p->part = part;
    p->user = user;
    p->count = count;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    assert(p->busy == 0);
    bool is_shared = count > 1 && p->started > 0;
    if (is_shared) {
        p->busy = p->started;
        p->job++;
        pthread_cond_broadcast(&p->begin);
    }
    pthread_mutex_unlock(&p->lock);
    do_parts(p, 0);
    pthread_mutex_lock(&p->lock);
    while (p->busy > 0) pthread_cond_wait(&p->end, &p->lock);
    pthread_mutex_unlock(&p->lock);
    pthread_mutex_unlock(&p->caller);
}

/* --- Batches ------------------------------------------------------------------------------------------------------ */

/* One job of the pool for each batch: its first part takes and reads, the others work on an item each. */
typedef struct batch {
    uint32_t first, count;
    bool is_last;
    ft_status status; /* of reading */
    ft_error error;
} batch;

typedef struct run {
    const batch_steps *steps;
    void *user;
    batch batches[2];
    uint32_t current;
    ft_status taken;
    ft_error error;
} run;

static void read_batch(run *r, batch *b) {
    b->count = 0;
    b->status = r->steps->read(r->user, b->first, &b->count, &b->error);
    assert(b->count <= r->steps->size);
    b->is_last = b->status != FT_OK || b->count < r->steps->size;
}

/* The other batch is taken, and its places get the next items. */
static void do_part(void *user, uint32_t part, uint32_t worker) {
    run *r = user;
    const batch *current = &r->batches[r->current];
    batch *other = &r->batches[!r->current];
    if (part > 0) {
        r->steps->work(r->user, current->first + part - 1, worker);
        return;
    }
    if (other->count > 0) r->taken = r->steps->take(r->user, other->first, other->count, &r->error);
    other->count = 0;
    if (r->taken == FT_OK && !current->is_last) read_batch(r, other);
}

ft_status batches_run(pool *threads, const batch_steps *steps, void *user, ft_error *error) {
    assert(steps->size > 0 && steps->size <= UINT32_MAX / 2);
    run r = {.steps = steps, .user = user, .batches = {{.first = 0}, {.first = steps->size}}};
    read_batch(&r, &r.batches[0]);
    for (;;) {
        const batch *current = &r.batches[r.current];
        pool_run(threads, 1 + current->count, do_part, &r);
        if (r.taken != FT_OK) break;
        r.current = !r.current;
        if (!current->is_last) continue;
        if (current->count > 0) r.taken = steps->take(user, current->first, current->count, &r.error);
        if (r.taken == FT_OK && current->status != FT_OK) {
            r.taken = current->status;
            r.error = current->error;
        }
        break;
    }
    if (r.taken != FT_OK && error != NULL) *error = r.error;
    return r.taken;
}
