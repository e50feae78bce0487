/* server.h - the state of a server, and of a request under way. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "cache.h"
#include "metrics.h"
#include "models.h"
#include "observations.h"
#include "pool.h"

enum { MAX_TOKENS = 64, MAX_ROUTES = 24, MAX_DAEMONS = 2 };

typedef struct server server;
typedef struct request request;

/* --- Routes (routes.c) ------------------------------------------------------------------------------------------- */

typedef enum body_kind {
    BODY_NONE,
    BODY_REQUEST, /* JSON, or the bytes of a model with options in the address */
    BODY_MODEL,   /* the bytes of a model */
} body_kind;

typedef struct route {
    const char *method, *path; /* a path that ends in '/' has an argument behind it */
    body_kind body;
    bool is_open;        /* without a token */
    const char *command; /* of the workers; NULL: answered at once */
    void (*answer)(request *r);
} route;

extern const route routes[];
size_t route_count(void);
/* NULL: none. `has_path`: there is one for another method, all of which are in `allowed`. */
const route *route_find(const char *method, const char *path, bool *has_path, char *allowed, size_t size);

/* --- Connections (server.c) -------------------------------------------------------------------------------------- */

/* A connection whose client does not go on until `deadline_ms` is shut down; 0: it waits for the server. */
typedef struct client {
    server *owner;
    int fd;
    int64_t deadline_ms;
    bool is_surplus; /* above the limit: its requests are refused */
    struct client *next, *previous;
} client;

struct server {
    const serve_options *options;
    char *tokens[MAX_TOKENS];
    uint32_t token_count;
    models *models;
    observations *observations; /* NULL: without a store */
    pool *pool;
    struct MHD_Daemon *daemons[MAX_DAEMONS];
    uint32_t daemon_count;
    atomic_bool is_draining;
    atomic_uint active;           /* requests under way */
    atomic_ullong body_bytes;     /* bodies of requests under way */
    pthread_mutex_t clients_lock; /* of the list of clients and their deadlines */
    client *clients;
    atomic_uint client_count;
    uint32_t max_clients;
    pthread_mutex_t lock; /* of all below */
    cache *cache;
    uint64_t cache_generation; /* of the predictors that made the answers */
    uint64_t cache_hits, cache_misses, reloads;
    route_metrics metrics[MAX_ROUTES + 1]; /* by route; the last: none */
};

/* The time that a client has to go on, with time for so many bytes. */
void client_set_deadline(const request *r, uint64_t bytes);
void client_set_waiting(const request *r);

/* --- Requests (request.c) ---------------------------------------------------------------------------------------- */

struct request {
    server *s;
    struct MHD_Connection *connection;
    client *client;
    const route *route;   /* NULL: none */
    char *path, *method;  /* for the log */
    const char *argument; /* behind the path of the route */
    int64_t start_ns;
    bool is_checked, is_answered, is_cached;
    unsigned http_status;
    uint64_t received, sent; /* bytes of bodies */

    /* The body: a text, or a file with the hash of its bytes. */
    bool is_model, has_kind, is_too_large;
    text body;
    int fd; /* -1: none */
    void *hash;
    char id[MODEL_ID_SIZE];

    /* While workers have it. */
    job *job;
    atomic_bool is_done;
    text key;           /* in the cache */
    cache_entry *entry; /* for the cache, once it is answered */
    char *name;         /* of an upload */
};

enum MHD_Result request_handle(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                               const char *version, const char *upload, size_t *upload_size, void **state);
void request_completed(void *cls, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode code);

/* Answers, once for each request. The body is taken over; NULL with size 0: none. */
void request_send(request *r, unsigned http_status, const char *type, char *body, size_t size);
void request_send_text(request *r, unsigned http_status, const char *type, text *t);
void request_send_cached(request *r, const cache_entry *entry);
void request_send_file(request *r, const char *type, int fd, uint64_t size);
void request_fail(request *r, unsigned http_status, const char *format, ...) FT_PRINTF(3, 4);
/* The same with the status of the library. */
void request_fail_status(request *r, const ft_error *error);
/* An option of the address; NULL: absent. */
const char *request_option(const request *r, const char *name);
/* The options of the address as a JSON object. */
void request_put_options(const request *r, text *t);

/* --- Access (access.c) ------------------------------------------------------------------------------------------- */

ft_status access_read_tokens(server *s, const char *path, ft_error *error);
void access_free_tokens(server *s);
bool access_is_granted(const server *s, const char *authorization);
void access_log(const request *r, double seconds);

/* The OpenAPI file (openapi.c). */
extern const char openapi_text[];

#endif
