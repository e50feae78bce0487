/* pool.h - the worker processes: a thread for each hands it one job at a time, limits its time, and replaces it when it
 * ends. */
#ifndef SERVE_POOL_H
#define SERVE_POOL_H

#include "job.h"
#include "serve.h"

typedef struct job job;
struct job {
    text message; /* for the worker; freed with the job */
    int fd;       /* goes with it; -1: none */
    bool is_reload;
    uint64_t generation; /* of the predictors that made the answer */
    job_answer answer;
    void (*done)(job *j); /* called by a thread of the pool */
    void *user;
    job *next;
};

void job_free(job *j);

typedef struct pool pool;

/* Starts the first worker, so that wrong predictors are an error at once. */
ft_status pool_open(const serve_options *options, pool **made, ft_error *error);
/* False: too many jobs are waiting. */
bool pool_submit(pool *p, job *j);
/* Finishes the jobs that were submitted, then ends the workers. */
void pool_close(pool *p);

/* Counts up with every reload of the predictors: answers of other generations are out of date. */
uint64_t pool_generation(pool *p);

typedef struct pool_state {
    uint32_t workers, waiting, busy;
    uint64_t timeouts, crashes, starts;
} pool_state;
pool_state pool_get_state(pool *p);

#endif
