/* model_queue.c - a ring of tasks, a lock, and threads that wait for tasks to run.
 *
 * The ring has three parts: tasks that are run or running [first, next), tasks that wait [next, end), and free entries.
 * When it is full, the adding thread waits for the first one; while that is running it runs others itself. */
#include "model_queue.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { TASKS_A_THREAD = 4, MAX_THREADS = 1024 };

typedef struct entry {
    model_task task;
    bool is_done;
} entry;

struct model_queue {
    model_task_run *run;
    model_task_take *take;
    void *user;
    pthread_mutex_t lock; /* guards all below, but not the tasks that are running */
    pthread_cond_t has_task, has_result;
    entry *ring;
    uint64_t capacity, first, next, end; /* numbers of tasks; the entry is the rest of a division by the capacity */
    bool is_ending;
    uint32_t thread_count; /* beside the adding one */
    pthread_t threads[];
};

static entry *entry_of(model_queue *q, uint64_t number) {
    return &q->ring[number % q->capacity];
}

/* Runs the next task that waits. The lock is held before and after. */
static void run_next(model_queue *q) {
    assert(q->next < q->end);
    entry *e = entry_of(q, q->next++);
    pthread_mutex_unlock(&q->lock);
    q->run(q->user, &e->task);
    pthread_mutex_lock(&q->lock);
    e->is_done = true;
    pthread_cond_signal(&q->has_result);
}

static void *work(void *argument) {
    model_queue *q = argument;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (q->next == q->end && !q->is_ending) pthread_cond_wait(&q->has_task, &q->lock);
        if (q->next == q->end) break;
        run_next(q);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

static uint32_t core_count(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (uint32_t)count : 1;
}

model_queue *model_queue_new(uint32_t threads, model_task_run *run, model_task_take *take, void *user) {
    if (threads == 0) threads = core_count();
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    model_queue *q = calloc(1, sizeof *q + (threads - 1) * sizeof(pthread_t));
    if (q == NULL) return NULL;
    q->run = run;
    q->take = take;
    q->user = user;
    q->capacity = threads > 1 ? (uint64_t)threads * TASKS_A_THREAD : 1;
    q->ring = calloc(q->capacity, sizeof *q->ring);
    if (q->ring == NULL) {
        free(q);
        return NULL;
    }
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->has_task, NULL);
    pthread_cond_init(&q->has_result, NULL);
    while (q->thread_count < threads - 1 && pthread_create(&q->threads[q->thread_count], NULL, work, q) == 0)
        q->thread_count++;
    return q;
}

/* Waits for the first task, and takes its result. */
static void take_first(model_queue *q) {
    pthread_mutex_lock(&q->lock);
    assert(q->first < q->end);
    entry *e = entry_of(q, q->first);
    while (!e->is_done) {
        if (q->next < q->end)
            run_next(q);
        else
            pthread_cond_wait(&q->has_result, &q->lock);
    }
    pthread_mutex_unlock(&q->lock);
    q->take(q->user, &e->task);
    q->first++; /* read by this thread alone */
}

void model_queue_add(model_queue *q, const model_task *task) {
    if (q->end - q->first == q->capacity) take_first(q);
    pthread_mutex_lock(&q->lock);
    *entry_of(q, q->end++) = (entry){.task = *task};
    pthread_cond_signal(&q->has_task);
    pthread_mutex_unlock(&q->lock);
    if (q->capacity == 1) take_first(q); /* one thread: no task waits for the next one */
}

void model_queue_drain(model_queue *q) {
    while (q->first < q->end) take_first(q);
}

void model_queue_free(model_queue *q) {
    if (q == NULL) return;
    model_queue_drain(q);
    pthread_mutex_lock(&q->lock);
    q->is_ending = true;
    pthread_cond_broadcast(&q->has_task);
    pthread_mutex_unlock(&q->lock);
    for (uint32_t i = 0; i < q->thread_count; i++) pthread_join(q->threads[i], NULL);
    pthread_cond_destroy(&q->has_result);
    pthread_cond_destroy(&q->has_task);
    pthread_mutex_destroy(&q->lock);
    free(q->ring);
    free(q);
}
