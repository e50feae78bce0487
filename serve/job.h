/* job.h - what a worker is asked to do, and its answer: messages over a socket. */
#ifndef SERVE_JOB_H
#define SERVE_JOB_H

#include "text.h"

/* Where a worker finds a model. */
typedef enum model_kind {
    MODEL_NONE,
    MODEL_PATH,    /* a file or folder of the administrator's: files beside it are read too */
    MODEL_BYTES,   /* a file whose bytes came from a client: nothing beside it is opened */
    MODEL_BUNDLED, /* one of the library, by name */
    MODEL_BODY,    /* the descriptor that comes with the job */
    MODEL_PROBLEM, /* there is none: `name` is the message, `key` unused */
} model_kind;

typedef struct model_ref {
    model_kind kind;
    unsigned http_status; /* MODEL_PROBLEM */
    char *key;            /* equal keys have equal contents */
    char *path;
    char *name; /* in documents and messages */
} model_ref;

void model_ref_free(model_ref *ref);

/* Commands: those of ft_command_parse, and: */
#define JOB_DEVICES    "list devices"
#define JOB_PREDICTORS "list predictors"
#define JOB_READ       "read" /* a model; the answer is an object about it */

typedef struct job_answer {
    unsigned http_status;
    ft_status status;
    const char *type; /* of the body: a constant */
    char *body;       /* owned */
    size_t size;
} job_answer;

extern const char type_json[], type_csv[], type_table[], type_problem[], type_metrics[], type_bytes[];

/* Messages. False: the other side is gone, or it sent something else. `fd` -1: none. */
bool job_send(int socket, const text *message, int fd);
/* Waits until `deadline_ms` on the monotonic clock, -1: for ever. The message is freed by the caller. `is_late`: the
 * deadline came first. */
bool job_receive(int socket, text *message, int *fd, int64_t deadline_ms, bool *is_late);
int64_t now_ms(void);

void job_answer_put(text *t, const job_answer *answer);
bool job_answer_get(const text *message, job_answer *answer);
/* An answer that is a problem. */
void job_answer_fail(job_answer *answer, unsigned http_status, ft_status status, const char *format, ...)
    FT_PRINTF(4, 5);

#endif
