/* request.c - a request from its first header to the end of its answer. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "problem.h"
#include "server.h"

enum { MAX_JSON = 16 << 20, MAX_BODIES = 4, MESSAGE_SIZE = 1024 };

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- Answers ----------------------------------------------------------------------------------------------------- */

static void queue(request *r, unsigned http_status, struct MHD_Response *response) {
    r->is_answered = true;
    r->http_status = http_status;
    client_set_deadline(r, r->sent);
    if (response != NULL && http.MHD_queue_response(r->connection, http_status, response) == MHD_YES) return;
    r->http_status = 0; /* the connection is closed: request_handle returns MHD_NO */
}

void request_send(request *r, unsigned http_status, const char *type, char *body, size_t size) {
    static char nothing[1];
    struct MHD_Response *response = http.MHD_create_response_from_buffer(
        size, body != NULL ? body : nothing, body != NULL ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response == NULL) {
        free(body);
        queue(r, 500, NULL);
        return;
    }
    r->sent = size;
    if (type != NULL) http.MHD_add_response_header(response, "Content-Type", type);
    if (http_status == 401) http.MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (http_status == 503) http.MHD_add_response_header(response, "Retry-After", "1");
    if (atomic_load(&r->s->is_draining) || (r->client != NULL && r->client->is_surplus))
        http.MHD_add_response_header(response, "Connection", "close");
    queue(r, http_status, response);
    if (r->entry != NULL && http_status == 200) {
        r->entry->response = response;
        r->entry->http_status = http_status;
        r->entry->size = sizeof *r->entry + r->entry->key_size + size;
    } else {
        http.MHD_destroy_response(response);
    }
}

void request_send_cached(request *r, const cache_entry *entry) {
    r->is_cached = true;
    r->sent = entry->size;
    queue(r, entry->http_status, entry->response);
}

void request_send_text(request *r, unsigned http_status, const char *type, text *t) {
    if (t->failed) {
        text_free(t);
        request_fail(r, 507, "out of memory");
        return;
    }
    request_send(r, http_status, type, t->data, t->size);
    *t = (text){0};
}

void request_send_file(request *r, const char *type, int fd, uint64_t size) {
    struct MHD_Response *response = http.MHD_create_response_from_fd64(size, fd);
    if (response == NULL) {
        close(fd);
        request_fail(r, 500, "the file cannot be sent");
        return;
    }
    r->sent = size;
    http.MHD_add_response_header(response, "Content-Type", type);
    queue(r, 200, response);
    http.MHD_destroy_response(response);
}

void request_fail(request *r, unsigned http_status, const char *format, ...) {
    char message[MESSAGE_SIZE];
    text t = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    problem_put(&t, http_status, FT_OK, message);
    text_put(&t, "\n");
    if (t.failed) text_free(&t);
    request_send(r, http_status, type_problem, t.data, t.size);
}

void request_fail_status(request *r, const ft_error *error) {
    text t = {0};
    unsigned http_status = problem_http_status(error->status);
    problem_put(&t, http_status, error->status, error->message);
    text_put(&t, "\n");
    if (t.failed) text_free(&t);
    request_send(r, http_status, type_problem, t.data, t.size);
}

/* --- Options of the address --------------------------------------------------------------------------------------- */

const char *request_option(const request *r, const char *name) {
    return http.MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result put_option(void *user, enum MHD_ValueKind kind, const char *key, const char *value) {
    text *t = user;
    (void)kind;
    text_put(t, t->size > 1 ? ", " : "");
    text_json(t, key);
    text_put(t, ": ");
    text_json(t, value != NULL ? value : "");
    return MHD_YES;
}

void request_put_options(const request *r, text *t) {
    text_put(t, "{");
    http.MHD_get_connection_values(r->connection, MHD_GET_ARGUMENT_KIND, put_option, t);
    text_put(t, "}");
}

/* --- The head ---------------------------------------------------------------------------------------------------- */

static const char *header(const request *r, const char *name) {
    return http.MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* Bytes that the client announces; 0 when they come in chunks. */
static uint64_t announced(const request *r) {
    const char *length = header(r, "Content-Length");
    return length != NULL ? strtoull(length, NULL, 10) : 0;
}

static void check_route(request *r) {
    bool has_path = false;
    char allowed[64] = "";
    r->route = route_find(r->method, r->path, &has_path, allowed, sizeof allowed);
    if (r->route != NULL) {
        size_t length = strlen(r->route->path);
        r->argument = r->path + length;
    } else if (has_path) {
        request_fail(r, 405, "%.16s: there are %s", r->method, allowed);
    } else {
        request_fail(r, 404, "%.200s: no such path; /openapi.json describes those that there are", r->path);
    }
}

/* What can be refused before the body comes is. */
static void check_head(request *r) {
    const server *s = r->s;
    r->is_checked = true;
    check_route(r);
    if (r->is_answered) return;
    if (!r->route->is_open && !access_is_granted(s, header(r, "Authorization")))
        request_fail(r, 401, "a token is needed: Authorization: Bearer TOKEN");
    else if (!r->route->is_open && r->client != NULL && r->client->is_surplus)
        request_fail(r, 503, "%u connections are open, and no more are accepted now", s->max_clients);
    else if (announced(r) > s->options->max_body)
        request_fail(r, 413, "the body has %llu bytes, but at most %llu are allowed (--max-body)",
                     (unsigned long long)announced(r), (unsigned long long)s->options->max_body);
    else if (atomic_load(&s->body_bytes) + announced(r) > MAX_BODIES * s->options->max_body)
        request_fail(r, 503, "too many large requests at once");
}

/* --- The body ---------------------------------------------------------------------------------------------------- */

/* JSON by its type, or by its first character where a client did not care for the type. */
static bool is_json(const request *r, const char *bytes, size_t size) {
    const char *type = header(r, "Content-Type");
    if (r->route->body == BODY_MODEL) return false;
    if (type != NULL && strncasecmp(type, type_json, strlen(type_json)) == 0) return true;
    if (type != NULL && strncasecmp(type, type_bytes, strlen(type_bytes)) == 0) return false;
    size_t at = 0;
    while (at < size && isspace((unsigned char)bytes[at])) at++;
    return at < size && bytes[at] == '{';
}

static bool write_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written <= 0) return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

static void begin_body(request *r, const char *bytes, size_t size) {
    r->has_kind = true;
    if (r->route->body == BODY_NONE) return;
    r->is_model = !is_json(r, bytes, size);
    if (!r->is_model) return;
    r->fd = models_new_file(r->s->models);
    if (http.gnutls_hash_init(&r->hash, HTTP_SHA256) < 0) r->hash = NULL;
}

/* What is too much is read and dropped, so that the client reads the answer; but not without end. False: close. */
static bool add_body(request *r, const char *bytes, size_t size) {
    uint64_t max = r->s->options->max_body;
    r->received += size;
    atomic_fetch_add(&r->s->body_bytes, size);
    if (!r->has_kind) begin_body(r, bytes, size);
    if (!r->is_model && max > MAX_JSON) max = MAX_JSON;
    if (r->received > max) r->is_too_large = true;
    if (r->is_too_large) return r->received <= 2 * max;
    if (r->route->body == BODY_NONE) return r->received <= MAX_JSON;
    if (!r->is_model) {
        text_add(&r->body, bytes, size);
        return !r->body.failed;
    }
    return r->fd >= 0 && r->hash != NULL && http.gnutls_hash(r->hash, bytes, size) >= 0 &&
           write_all(r->fd, bytes, size);
}

static void end_body(request *r) {
    unsigned char digest[HTTP_SHA256_BYTES];
    if (r->hash == NULL) return;
    http.gnutls_hash_deinit(r->hash, digest);
    r->hash = NULL;
    for (size_t i = 0; i < sizeof digest; i++) snprintf(r->id + 2 * i, 3, "%02x", digest[i]);
}

/* --- The whole ---------------------------------------------------------------------------------------------------- */

static request *new_request(server *s, struct MHD_Connection *connection, const char *url, const char *method) {
    request *r = calloc(1, sizeof *r);
    if (r == NULL) return NULL;
    const union MHD_ConnectionInfo *info = http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    *r = (request){.s = s, .connection = connection, .start_ns = now_ns(), .fd = -1};
    r->client = info != NULL ? info->socket_context : NULL;
    r->path = strdup(url);
    r->method = strdup(method);
    if (r->path == NULL || r->method == NULL) {
        free(r->path);
        free(r->method);
        free(r);
        return NULL;
    }
    atomic_fetch_add(&s->active, 1);
    return r;
}

/* MHD_YES, unless an answer could not even be queued. */
static enum MHD_Result outcome(const request *r) {
    return r->is_answered && r->http_status == 0 ? MHD_NO : MHD_YES;
}

static void answer(request *r) {
    end_body(r);
    client_set_waiting(r);
    if (r->is_too_large)
        request_fail(r, 413, "the body is larger than %llu bytes",
                     (unsigned long long)(r->is_model || r->s->options->max_body < MAX_JSON ? r->s->options->max_body
                                                                                            : MAX_JSON));
    else
        r->route->answer(r);
}

enum MHD_Result request_handle(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                               const char *version, const char *upload, size_t *upload_size, void **state) {
    request *r = *state;
    (void)version;
    if (r == NULL) {
        *state = r = new_request(cls, connection, url, method);
        if (r == NULL) return MHD_NO;
        client_set_deadline(r, announced(r));
        check_head(r);
        return outcome(r);
    }
    if (*upload_size > 0) {
        bool goes_on = r->is_answered || add_body(r, upload, *upload_size);
        *upload_size = 0;
        return goes_on ? MHD_YES : MHD_NO;
    }
    if (!r->is_answered) answer(r);
    return outcome(r);
}

void request_completed(void *cls, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode code) {
    request *r = *state;
    (void)cls;
    (void)connection;
    (void)code;
    if (r == NULL) return;
    server *s = r->s;
    double seconds = (double)(now_ns() - r->start_ns) / 1e9;
    client_set_deadline(r, 0);
    pthread_mutex_lock(&s->lock);
    metrics_count(&s->metrics[r->route != NULL ? (size_t)(r->route - routes) : route_count()],
                  r->http_status != 0 ? r->http_status : 499, seconds);
    pthread_mutex_unlock(&s->lock);
    access_log(r, seconds);
    end_body(r);
    if (r->fd >= 0) close(r->fd);
    atomic_fetch_sub(&s->body_bytes, r->received);
    job_free(r->job);
    text_free(&r->body);
    text_free(&r->key);
    cache_entry_free(r->entry);
    free(r->name);
    free(r->path);
    free(r->method);
    free(r);
    *state = NULL;
    atomic_fetch_sub(&s->active, 1);
}
