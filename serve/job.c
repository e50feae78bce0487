/* job.c - messages between the server and its workers: a length, then that many bytes, with a descriptor at most. */
#include "job.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "problem.h"

enum { MAX_MESSAGE = 1 << 30, MESSAGE_SIZE = 1024 };

const char type_json[] = "application/json", type_csv[] = "text/csv; charset=utf-8",
           type_table[] = "text/plain; charset=utf-8", type_problem[] = "application/problem+json",
           type_metrics[] = "text/plain; version=0.0.4; charset=utf-8", type_bytes[] = "application/octet-stream";

void model_ref_free(model_ref *ref) {
    free(ref->key);
    free(ref->path);
    free(ref->name);
    *ref = (model_ref){0};
}

int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- Sending --------------------------------------------------------------------------------------------------- */

static bool send_all(int socket, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* The length travels with the descriptor. */
static bool send_length(int socket, uint32_t length, int fd) {
    struct iovec part = {&length, sizeof length};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control.bytes;
        control.header =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    ssize_t sent;
    do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof length;
}

bool job_send(int socket, const text *message, int fd) {
    if (message->failed || message->size > MAX_MESSAGE) return false;
    return send_length(socket, (uint32_t)message->size, fd) && send_all(socket, message->data, message->size);
}

/* --- Receiving ------------------------------------------------------------------------------------------------- */

static bool wait_readable(int socket, int64_t deadline_ms, bool *is_late) {
    for (;;) {
        int64_t left = deadline_ms < 0 ? -1 : deadline_ms - now_ms();
        if (deadline_ms >= 0 && left <= 0) return *is_late = true, false;
        struct pollfd poll_fd = {.fd = socket, .events = POLLIN};
        int ready = poll(&poll_fd, 1, left > 3600000 ? 3600000 : (int)left);
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

static void take_descriptor(struct msghdr *message, int *fd) {
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header == NULL || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int))) return;
    int received;
    memcpy(&received, CMSG_DATA(header), sizeof received);
    if (fd != NULL)
        *fd = received;
    else
        close(received);
}

/* Some bytes; with the first of a message may come a descriptor. */
static ssize_t receive_some(int socket, char *bytes, size_t size, int *fd) {
    struct iovec part = {bytes, size};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got > 0) take_descriptor(&message, fd);
    return got;
}

static bool receive_all(int socket, char *bytes, size_t size, int *fd, int64_t deadline_ms, bool *is_late) {
    while (size > 0) {
        if (!wait_readable(socket, deadline_ms, is_late)) return false;
        ssize_t got = receive_some(socket, bytes, size, fd);
        if (got <= 0) return false;
        bytes += got;
        size -= (size_t)got;
    }
    return true;
}

bool job_receive(int socket, text *message, int *fd, int64_t deadline_ms, bool *is_late) {
    uint32_t length = 0;
    *message = (text){0};
    *is_late = false;
    if (fd != NULL) *fd = -1;
    if (!receive_all(socket, (char *)&length, sizeof length, fd, deadline_ms, is_late)) return false;
    if (length > MAX_MESSAGE) return false;
    message->data = malloc((size_t)length + 1);
    if (message->data == NULL) return false;
    message->size = message->capacity = length;
    message->data[length] = '\0';
    if (receive_all(socket, message->data, length, NULL, deadline_ms, is_late)) return true;
    text_free(message);
    return false;
}

/* --- Answers --------------------------------------------------------------------------------------------------- */

static const char *const types[] = {type_json, type_csv, type_table, type_problem};

void job_answer_put(text *t, const job_answer *answer) {
    uint32_t type = 0;
    while (type + 1 < sizeof types / sizeof types[0] && types[type] != answer->type) type++;
    text_add_u32(t, answer->http_status);
    text_add_u32(t, answer->status);
    text_add_u32(t, type);
    text_add_bytes(t, answer->body, answer->size);
}

bool job_answer_get(const text *message, job_answer *answer) {
    text_reader r = {message->data, message->data + message->size, false};
    size_t size;
    answer->http_status = text_read_u32(&r);
    answer->status = (ft_status)text_read_u32(&r);
    uint32_t type = text_read_u32(&r);
    const char *body = text_read_bytes(&r, &size);
    if (r.failed || body == NULL || type >= sizeof types / sizeof types[0]) return false;
    answer->type = types[type];
    answer->size = size;
    answer->body = malloc(size + 1);
    if (answer->body == NULL) return false;
    memcpy(answer->body, body, size + 1);
    return true;
}

void job_answer_fail(job_answer *answer, unsigned http_status, ft_status status, const char *format, ...) {
    char message[MESSAGE_SIZE];
    text t = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    problem_put(&t, http_status, status, message);
    text_put(&t, "\n");
    if (t.failed) text_free(&t);
    free(answer->body);
    *answer = (job_answer){http_status, status, type_problem, t.data, t.size};
}
