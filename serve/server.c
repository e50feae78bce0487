/* server.c - the process: listens, shuts down connections that stand still, reloads and drains on signals. */
#include "server.h"
#include "problem.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    BACKLOG = 1024,
    MAX_CONNECTIONS = 16384,
    CONNECTION_BYTES = 64 << 10,
    SURPLUS_MS = 1000,
    SLOWEST_BYTES_S = 64 << 10,
    SWEEP_MS = 250,
    MAX_FILE = 1 << 20
};

static ft_status fail(ft_error *error, ft_status status, const char *subject, const char *what) {
    return error_set(error, status, "%s: %s", subject, what);
}

/* --- Connections -------------------------------------------------------------------------------------------------- */

static void set_deadline(server *s, client *c, int64_t deadline_ms) {
    if (c == NULL) return;
    pthread_mutex_lock(&s->clients_lock);
    c->deadline_ms = deadline_ms;
    pthread_mutex_unlock(&s->clients_lock);
}

void client_set_deadline(const request *r, uint64_t bytes) {
    int64_t extra = (int64_t)(bytes / SLOWEST_BYTES_S) * 1000;
    set_deadline(r->s, r->client, now_ms() + (int64_t)r->s->options->timeout_s * 1000 + extra);
}

void client_set_waiting(const request *r) {
    set_deadline(r->s, r->client, 0);
}

/* Those above the limit have a moment to hear that they are refused, and there are not many of them. */
static uint32_t surplus_connections(const server *s) {
    return s->max_clients / 16 + 4;
}

static void add_client(server *s, struct MHD_Connection *connection, void **context) {
    const union MHD_ConnectionInfo *info = http.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    client *c = info != NULL ? calloc(1, sizeof *c) : NULL;
    if (c == NULL) return;
    unsigned others = atomic_load(&s->client_count);
    bool is_surplus = others >= s->max_clients;
    int64_t patience_ms = is_surplus ? SURPLUS_MS : (int64_t)s->options->timeout_s * 1000;
    *c = (client){.owner = s, .fd = info->connect_fd, .deadline_ms = now_ms() + patience_ms, .is_surplus = is_surplus};
    if (others >= s->max_clients + surplus_connections(s)) shutdown(c->fd, SHUT_RDWR);
    pthread_mutex_lock(&s->clients_lock);
    c->next = s->clients;
    if (c->next != NULL) c->next->previous = c;
    s->clients = c;
    pthread_mutex_unlock(&s->clients_lock);
    atomic_fetch_add(&s->client_count, 1);
    *context = c;
}

/* The descriptor is closed after this. */
static void remove_client(server *s, client *c) {
    if (c == NULL) return;
    pthread_mutex_lock(&s->clients_lock);
    if (c->next != NULL) c->next->previous = c->previous;
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        s->clients = c->next;
    pthread_mutex_unlock(&s->clients_lock);
    atomic_fetch_sub(&s->client_count, 1);
    free(c);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = NULL;
        add_client(cls, connection, context);
    } else {
        remove_client(cls, *context);
        *context = NULL;
    }
}

/* libmicrohttpd's own limit counts from the last byte: a client that sends one now and then would stay for ever. */
static void sweep(server *s) {
    int64_t now = now_ms();
    pthread_mutex_lock(&s->clients_lock);
    for (client *c = s->clients; c != NULL; c = c->next) {
        if (c->deadline_ms == 0 || now < c->deadline_ms) continue;
        shutdown(c->fd, SHUT_RDWR);
        c->deadline_ms = 0;
    }
    pthread_mutex_unlock(&s->clients_lock);
}

/* --- Listening --------------------------------------------------------------------------------------------------- */

static int listen_to(const struct addrinfo *found) {
    int on = 1;
    for (const struct addrinfo *a = found; a != NULL; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
        if (fd < 0) continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) return fd;
        int code = errno;
        close(fd);
        errno = code;
    }
    return -1;
}

/* "127.0.0.1:8080", "[::1]:8080", "localhost:0" */
static ft_status open_tcp(const char *text, int *fd, ft_error *error) {
    char host[256];
    const char *colon = strrchr(text, ':');
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM}, *found = NULL;
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    if (colon == NULL || length >= sizeof host || colon[1] == '\0')
        return fail(error, FT_ERR_USAGE, text, "expected ADDRESS:PORT, as 127.0.0.1:8080");
    bool is_bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(is_bracketed ? length - 2 : length), is_bracketed ? text + 1 : text);
    int failed = getaddrinfo(host[0] != '\0' ? host : NULL, colon + 1, &hints, &found);
    if (failed != 0) return fail(error, FT_ERR_USAGE, text, gai_strerror(failed));
    *fd = listen_to(found);
    freeaddrinfo(found);
    return *fd >= 0 ? FT_OK : fail(error, FT_ERR_IO, text, strerror(errno));
}

/* A socket that a server left behind is replaced; one with a server, and any other file, is not. */
static ft_status open_unix(const char *path, int *fd, ft_error *error) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if (strlen(path) >= sizeof address.sun_path) return fail(error, FT_ERR_USAGE, path, "the path is too long");
    memcpy(address.sun_path, path, strlen(path) + 1);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0) return fail(error, FT_ERR_IO, path, strerror(errno));
    if (stat(path, &info) == 0 && S_ISSOCK(info.st_mode)) {
        if (connect(*fd, (struct sockaddr *)&address, sizeof address) == 0) {
            close(*fd);
            return fail(error, FT_ERR_IO, path, "another server listens there");
        }
        unlink(path);
    }
    mode_t mask = umask(0117); /* for the owner and the group */
    bool is_bound = bind(*fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(*fd, BACKLOG) == 0;
    int code = errno;
    umask(mask);
    if (is_bound) return FT_OK;
    close(*fd);
    return fail(error, FT_ERR_IO, path, strerror(code));
}

static void print_address(int fd, bool has_tls) {
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    char host[256], port[16];
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0 ||
        getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    bool is_v6 = address.ss_family == AF_INET6;
    fprintf(stderr, "foretell: listening on %s://%s%s%s:%s\n", has_tls ? "https" : "http", is_v6 ? "[" : "", host,
            is_v6 ? "]" : "", port);
}

/* --- Daemons ----------------------------------------------------------------------------------------------------- */

/* Files of certificates: NUL-terminated. NULL after a failure. */
static char *read_file(const char *path, ft_error *error) {
    FILE *file = fopen(path, "re");
    char *text = file != NULL ? malloc(MAX_FILE) : NULL;
    size_t size = text != NULL ? fread(text, 1, MAX_FILE - 1, file) : 0;
    bool is_read = text != NULL && !ferror(file) && feof(file);
    if (!is_read) fail(error, FT_ERR_IO, path, file == NULL ? strerror(errno) : "cannot read it");
    if (file != NULL) fclose(file);
    if (is_read) {
        text[size] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

static ft_status start_daemon(server *s, int fd, const char *cert, const char *key, ft_error *error) {
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_LISTEN_SOCKET, fd, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)s->max_clients + surplus_connections(s), NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)request_completed, s},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, s},
        {cert != NULL ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, (void *)key},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)cert},
        {MHD_OPTION_END, 0, NULL},
    };
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (cert != NULL ? MHD_USE_TLS : 0);
    struct MHD_Daemon *d =
        http.MHD_start_daemon(flags, 0, NULL, NULL, request_handle, s, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (d == NULL)
        return fail(error, FT_ERR_IO, "the server cannot start",
                    cert != NULL ? "are certificate and key valid, and of each other?" : strerror(errno));
    s->daemons[s->daemon_count++] = d;
    return FT_OK;
}

static ft_status start_tcp(server *s, ft_error *error) {
    const serve_options *o = s->options;
    int fd = -1;
    char *cert = NULL, *key = NULL;
    ft_status status = open_tcp(o->listen, &fd, error);
    if (status == FT_OK && o->tls_cert != NULL) {
        cert = read_file(o->tls_cert, error);
        key = cert != NULL ? read_file(o->tls_key, error) : NULL;
        if (key == NULL) status = error->status;
    }
    if (status == FT_OK) status = start_daemon(s, fd, cert, key, error);
    if (status == FT_OK)
        print_address(fd, cert != NULL);
    else if (fd >= 0)
        close(fd);
    free(cert);
    if (key != NULL) explicit_bzero(key, strlen(key));
    free(key);
    return status;
}

static ft_status start_unix(server *s, ft_error *error) {
    int fd = -1;
    ft_status status = open_unix(s->options->socket, &fd, error);
    if (status != FT_OK) return status;
    status = start_daemon(s, fd, NULL, NULL, error);
    if (status == FT_OK)
        fprintf(stderr, "foretell: listening on %s\n", s->options->socket);
    else
        close(fd);
    return status;
}

/* --- Stopping ---------------------------------------------------------------------------------------------------- */

/* Nothing new is accepted; what is under way is finished. */
static void drain(server *s, const sigset_t *signals) {
    const struct timespec pause = {0, 20 * 1000 * 1000};
    int64_t deadline = now_ms() + ((int64_t)s->options->timeout_s + 5) * 1000;
    atomic_store(&s->is_draining, true);
    for (uint32_t i = 0; i < s->daemon_count; i++) {
        MHD_socket fd = http.MHD_quiesce_daemon(s->daemons[i]);
        if (fd != MHD_INVALID_SOCKET) close(fd);
    }
    if (s->options->socket != NULL) unlink(s->options->socket);
    while (atomic_load(&s->active) > 0 && now_ms() < deadline) {
        int signal = sigtimedwait(signals, NULL, &pause);
        if (signal == SIGINT || signal == SIGTERM) _exit(128 + signal); /* the second one */
        sweep(s);
    }
}

/* By a signal: the old predictors stay when the new ones cannot be opened. */
static void reload_done(job *j) {
    server *s = j->user;
    bool is_reloaded = j->answer.http_status == 200;
    fprintf(stderr, "foretell: %s\n", is_reloaded ? "predictors reloaded" : "predictors cannot be reloaded");
    pthread_mutex_lock(&s->lock);
    s->reloads += is_reloaded;
    cache_clear(s->cache);
    pthread_mutex_unlock(&s->lock);
    job_free(j);
}

static void reload(server *s) {
    job *j = calloc(1, sizeof *j);
    if (j == NULL) return;
    *j = (job){.fd = -1, .is_reload = true, .done = reload_done, .user = s};
    text_add_string(&j->message, JOB_PREDICTORS);
    text_add_bytes(&j->message, "", 0);
    text_add_u32(&j->message, 0);
    if (j->message.failed || !pool_submit(s->pool, j)) job_free(j);
}

static void wait_for_signal(server *s, const sigset_t *signals) {
    const struct timespec pause = {0, SWEEP_MS * 1000 * 1000};
    for (;;) {
        int signal = sigtimedwait(signals, NULL, &pause);
        if (signal == SIGHUP) reload(s);
        if (signal == SIGTERM || signal == SIGINT) return;
        sweep(s);
    }
}

/* --- The whole --------------------------------------------------------------------------------------------------- */

/* Thousands of connections need as many descriptors. A quarter is for files, bodies and workers. */
static void raise_limits(server *s) {
    struct rlimit limit;
    s->max_clients = MAX_CONNECTIONS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 * 3 < MAX_CONNECTIONS)
        s->max_clients = (uint32_t)(limit.rlim_cur / 4 * 3);
}

static void block_signals(sigset_t *signals) {
    sigemptyset(signals);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, signals, NULL); /* threads inherit it */
    signal(SIGPIPE, SIG_IGN);
}

static void close_server(server *s) {
    for (uint32_t i = 0; i < s->daemon_count; i++) http.MHD_stop_daemon(s->daemons[i]);
    pool_close(s->pool);
    cache_free(s->cache);
    observations_close(s->observations);
    models_close(s->models);
    access_free_tokens(s);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->clients_lock);
}

static ft_status open_server(server *s, ft_error *error) {
    const serve_options *o = s->options;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->clients_lock, NULL);
    for (size_t i = 0; i < route_count(); i++)
        s->metrics[i] = (route_metrics){.route = routes[i].path, .method = routes[i].method};
    s->metrics[route_count()] = (route_metrics){.route = "none", .method = "any"};
    s->cache = cache_new();
    if (s->cache == NULL) return fail(error, FT_ERR_NOMEM, "the server", "out of memory");
    ft_status status = http_library_load(error);
    if (status == FT_OK && o->token_file != NULL) status = access_read_tokens(s, o->token_file, error);
    if (status == FT_OK) status = models_open(o, &s->models, error);
    if (status == FT_OK && o->models != NULL) status = observations_open(o->models, s->models, &s->observations, error);
    if (status == FT_OK) status = pool_open(o, &s->pool, error);
    if (status == FT_OK && o->listen != NULL) status = start_tcp(s, error);
    if (status == FT_OK && o->socket != NULL) status = start_unix(s, error);
    return status;
}

ft_status serve_run(const serve_options *options, ft_error *error) {
    sigset_t signals;
    server *s = calloc(1, sizeof *s);
    if (s == NULL) return fail(error, FT_ERR_NOMEM, "the server", "out of memory");
    s->options = options;
    raise_limits(s);
    block_signals(&signals);
    ft_status status = open_server(s, error);
    if (status == FT_OK) {
        wait_for_signal(s, &signals);
        drain(s, &signals);
    }
    close_server(s);
    free(s);
    return status;
}
