/* serve.h - `foretell serve`: predictions over HTTP.
 *
 * One process talks HTTP and keeps models and answers; worker processes of the same program predict. So a model that
 * takes too long or too much memory, or that crashes a reader, costs its own request only. docs/serve.md is for users.
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "foretell/foretell.h"

enum { SERVE_MAX_NAMES = 64 };

typedef enum serve_log { SERVE_LOG_NONE, SERVE_LOG_TEXT, SERVE_LOG_JSON } serve_log;

typedef struct serve_options {
    const char *listen;             /* "ADDR:PORT"; NULL: none */
    const char *socket;             /* path of a Unix socket; NULL: none */
    const char *tls_cert, *tls_key; /* PEM files; NULL: without TLS */
    const char *token_file;         /* a token per line; NULL: no token is needed */
    const char *models;             /* folder of uploads and observations; NULL: neither is kept */
    const char *const *folders;     /* folders whose models can be named by path */
    uint32_t folder_count;
    const char *const *predictors; /* files; none: the bundled ones */
    uint32_t predictor_count;
    uint32_t workers;
    uint32_t timeout_s;     /* of a prediction, and of a client that does not go on */
    uint64_t max_body;      /* bytes of a request */
    uint64_t max_models;    /* bytes of all uploads */
    uint64_t worker_memory; /* bytes of a worker */
    serve_log log;
} serve_options;

/* Serves until SIGTERM or SIGINT, then finishes the requests under way. */
ft_status serve_run(const serve_options *options, ft_error *error);

/* The process of a worker: argv[0] is the limit of its memory in bytes, the others are predictor files. Its socket is
 * SERVE_WORKER_FD. Returns the exit status. */
enum { SERVE_WORKER_FD = 3 };
int serve_worker(int argc, char **argv);

#endif
