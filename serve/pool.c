/* pool.c - worker processes and the threads that hand them jobs. */
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WAITING = 1024, START_MS = 60000 };

/* A process; `pid` 0: none is running. */
typedef struct process {
    pid_t pid;
    int socket;
    uint64_t generation;
} process;

typedef struct slot {
    pool *owner;
    pthread_t thread;
    process process;
} slot;

struct pool {
    char **arguments; /* of a worker */
    int64_t timeout_ms;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t has_jobs;
    job *first, *last;
    bool is_closing;
    uint64_t generation;
    pool_state state;
    uint32_t slot_count;
    slot *slots;
};

void job_free(job *j) {
    if (j == NULL) return;
    text_free(&j->message);
    if (j->fd >= 0) close(j->fd);
    free(j->answer.body);
    free(j);
}

/* --- Processes ------------------------------------------------------------------------------------------------- */

static void process_end(process *p, int *status) {
    if (p->pid == 0) return;
    close(p->socket);
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, status, 0) < 0 && errno == EINTR) {
    }
    p->pid = 0;
}

/* The worker starts with the signals that this program was started with: threads of the server block some. */
static int spawn(char **arguments, int socket, pid_t *pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0) return failed;
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        failed = posix_spawn_file_actions_adddup2(&actions, socket, SERVE_WORKER_FD);
        if (failed == 0) failed = posix_spawnattr_setsigmask(&attributes, &none);
        if (failed == 0) failed = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        if (failed == 0) failed = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* The first message of a worker says whether it could open the predictors. */
static ft_status await_ready(process *p, ft_error *error) {
    text message;
    job_answer ready = {0};
    bool is_late;
    ft_status status = FT_ERR_INTERNAL;
    snprintf(error->message, sizeof error->message,
             "a worker ended before it was ready: is its memory limit too small?");
    if (job_receive(p->socket, &message, NULL, now_ms() + START_MS, &is_late)) {
        if (job_answer_get(&message, &ready)) {
            status = ready.status;
            const char *detail = ready.body != NULL ? strstr(ready.body, "\"detail\": \"") : NULL;
            if (detail != NULL) {
                snprintf(error->message, sizeof error->message, "%s", detail + strlen("\"detail\": \""));
                error->message[strcspn(error->message, "\"")] = '\0';
            }
        }
        text_free(&message);
        free(ready.body);
    }
    return error->status = status;
}

static ft_status process_start(const pool *p, uint64_t generation, process *made, ft_error *error) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        snprintf(error->message, sizeof error->message, "cannot start a worker: %s", strerror(errno));
        return error->status = FT_ERR_IO;
    }
    /* dup2 onto the same number would leave it closed on exec. */
    int end = ends[1] == SERVE_WORKER_FD ? dup(ends[1]) : ends[1];
    *made = (process){.socket = ends[0], .generation = generation};
    int failed = spawn(p->arguments, end, &made->pid);
    if (end != ends[1]) close(end);
    close(ends[1]);
    if (failed != 0) {
        close(ends[0]);
        made->pid = 0;
        snprintf(error->message, sizeof error->message, "cannot start a worker: %s", strerror(failed));
        return error->status = FT_ERR_IO;
    }
    ft_status status = await_ready(made, error);
    if (status != FT_OK) process_end(made, NULL);
    return status;
}

/* --- Jobs ------------------------------------------------------------------------------------------------------ */

static void count(pool *p, uint64_t *counter) {
    pthread_mutex_lock(&p->lock);
    ++*counter;
    pthread_mutex_unlock(&p->lock);
}

uint64_t pool_generation(pool *p) {
    pthread_mutex_lock(&p->lock);
    uint64_t generation = p->generation;
    pthread_mutex_unlock(&p->lock);
    return generation;
}

/* A process of the current predictors. */
static ft_status ensure_process(slot *s, ft_error *error) {
    uint64_t generation = pool_generation(s->owner);
    if (s->process.pid != 0 && s->process.generation == generation) return FT_OK;
    process_end(&s->process, NULL);
    count(s->owner, &s->owner->state.starts);
    return process_start(s->owner, generation, &s->process, error);
}

static void explain_end(job *j, int status) {
    if (WIFSIGNALED(status))
        job_answer_fail(&j->answer, 500, FT_ERR_INTERNAL, "the worker of this request was ended by signal %d",
                        WTERMSIG(status));
    else
        job_answer_fail(&j->answer, 500, FT_ERR_INTERNAL, "the worker of this request ended with status %d",
                        WEXITSTATUS(status));
}

static void run_on_process(slot *s, job *j) {
    pool *p = s->owner;
    text message = {0};
    bool is_late = false;
    int status = 0;
    j->generation = s->process.generation;
    bool is_answered = job_send(s->process.socket, &j->message, j->fd) &&
                       job_receive(s->process.socket, &message, NULL, now_ms() + p->timeout_ms, &is_late) &&
                       job_answer_get(&message, &j->answer);
    text_free(&message);
    if (is_answered) return;
    if (is_late) {
        process_end(&s->process, &status);
        count(p, &p->state.timeouts);
        job_answer_fail(&j->answer, 504, FT_OK, "the request took longer than %lld s (--timeout)",
                        (long long)(p->timeout_ms / 1000));
        return;
    }
    /* It is ending by itself: its status is waited for before it is ended. */
    close(s->process.socket);
    while (waitpid(s->process.pid, &status, 0) < 0 && errno == EINTR) {
    }
    s->process.pid = 0;
    count(p, &p->state.crashes);
    explain_end(j, status);
}

/* Predictors are replaced by those of a new worker, or stay when it cannot open them. */
static void reload(slot *s, job *j) {
    process fresh = {0};
    ft_error error = {0};
    pool *p = s->owner;
    count(p, &p->state.starts);
    ft_status status = process_start(p, pool_generation(p) + 1, &fresh, &error);
    if (status != FT_OK) {
        job_answer_fail(&j->answer, 500, status, "the predictors in use stay: %s", error.message);
        return;
    }
    process_end(&s->process, NULL);
    pthread_mutex_lock(&p->lock);
    fresh.generation = ++p->generation;
    pthread_mutex_unlock(&p->lock);
    s->process = fresh;
    run_on_process(s, j);
}

static void run_job(slot *s, job *j) {
    ft_error error = {0};
    if (j->is_reload)
        reload(s, j);
    else if (ensure_process(s, &error) != FT_OK)
        job_answer_fail(&j->answer, 503, FT_OK, "%s", error.message);
    else
        run_on_process(s, j);
}

static job *take_job(pool *p) {
    pthread_mutex_lock(&p->lock);
    while (p->first == NULL && !p->is_closing) pthread_cond_wait(&p->has_jobs, &p->lock);
    job *j = p->first;
    if (j != NULL) {
        p->first = j->next;
        if (p->first == NULL) p->last = NULL;
        p->state.waiting--;
        p->state.busy++;
    }
    pthread_mutex_unlock(&p->lock);
    return j;
}

static void *run_slot(void *user) {
    slot *s = user;
    job *j;
    while ((j = take_job(s->owner)) != NULL) {
        run_job(s, j);
        pthread_mutex_lock(&s->owner->lock);
        s->owner->state.busy--;
        pthread_mutex_unlock(&s->owner->lock);
        j->done(j);
    }
    process_end(&s->process, NULL);
    return NULL;
}

bool pool_submit(pool *p, job *j) {
    pthread_mutex_lock(&p->lock);
    bool is_taken = p->state.waiting < MAX_WAITING && !p->is_closing;
    if (is_taken) {
        j->next = NULL;
        if (p->last != NULL)
            p->last->next = j;
        else
            p->first = j;
        p->last = j;
        p->state.waiting++;
        pthread_cond_signal(&p->has_jobs);
    }
    pthread_mutex_unlock(&p->lock);
    return is_taken;
}

pool_state pool_get_state(pool *p) {
    pthread_mutex_lock(&p->lock);
    pool_state state = p->state;
    pthread_mutex_unlock(&p->lock);
    return state;
}

/* --- Opening --------------------------------------------------------------------------------------------------- */

static bool make_arguments(pool *p, const serve_options *options) {
    static char name[] = "foretell", command[] = "serve", mode[] = "--worker";
    char memory[32];
    p->arguments = calloc((size_t)options->predictor_count + 5, sizeof *p->arguments);
    if (p->arguments == NULL) return false;
    snprintf(memory, sizeof memory, "%llu", (unsigned long long)options->worker_memory);
    p->arguments[0] = name;
    p->arguments[1] = command;
    p->arguments[2] = mode;
    p->arguments[3] = strdup(memory);
    for (uint32_t i = 0; i < options->predictor_count; i++) p->arguments[4 + i] = (char *)options->predictors[i];
    return p->arguments[3] != NULL;
}

static ft_status start_threads(pool *p, ft_error *error) {
    for (uint32_t i = 0; i < p->slot_count; i++) p->slots[i].owner = p;
    p->state.starts = 1;
    ft_status status = process_start(p, p->generation, &p->slots[0].process, error);
    if (status != FT_OK) return status;
    for (; p->state.workers < p->slot_count; p->state.workers++)
        if (pthread_create(&p->slots[p->state.workers].thread, NULL, run_slot, &p->slots[p->state.workers]) != 0) break;
    if (p->state.workers > 0) return FT_OK;
    process_end(&p->slots[0].process, NULL);
    snprintf(error->message, sizeof error->message, "cannot start a thread");
    return error->status = FT_ERR_IO;
}

ft_status pool_open(const serve_options *options, pool **made, ft_error *error) {
    pool *p = calloc(1, sizeof *p);
    slot *slots = calloc(options->workers, sizeof *slots);
    snprintf(error->message, sizeof error->message, "out of memory");
    error->status = FT_ERR_NOMEM;
    if (p == NULL || slots == NULL || !make_arguments(p, options)) {
        free(slots);
        if (p != NULL) free(p->arguments);
        free(p);
        return error->status;
    }
    p->slots = slots;
    p->slot_count = options->workers;
    p->timeout_ms = (int64_t)options->timeout_s * 1000;
    p->generation = 1;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->has_jobs, NULL);
    ft_status status = start_threads(p, error);
    if (status == FT_OK)
        *made = p;
    else
        pool_close(p);
    return status;
}

void pool_close(pool *p) {
    if (p == NULL) return;
    pthread_mutex_lock(&p->lock);
    p->is_closing = true;
    pthread_cond_broadcast(&p->has_jobs);
    uint32_t workers = p->state.workers;
    pthread_mutex_unlock(&p->lock);
    for (uint32_t i = 0; i < workers; i++) pthread_join(p->slots[i].thread, NULL);
    pthread_cond_destroy(&p->has_jobs);
    pthread_mutex_destroy(&p->lock);
    free(p->arguments[3]);
    free(p->arguments);
    free(p->slots);
    free(p);
}
