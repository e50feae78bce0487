/* access.c - tokens of clients, and the log of requests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "problem.h"
#include "server.h"

/* --- Tokens ------------------------------------------------------------------------------------------------------ */

static ft_status fail(ft_error *error, const char *path, const char *what) {
    return error_set(error, FT_ERR_USAGE, "%s: %s", path, what);
}

ft_status access_read_tokens(server *s, const char *path, ft_error *error) {
    char line[1024];
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fail(error, path, strerror(errno));
        return error->status = FT_ERR_IO;
    }
    ft_status status = FT_OK;
    while (status == FT_OK && fgets(line, sizeof line, file) != NULL) {
        size_t length = strcspn(line, "\r\n");
        if (line[length] == '\0' && !feof(file)) status = fail(error, path, "a token is longer than 1000 bytes");
        line[length] = '\0';
        if (length == 0 || line[0] == '#' || status != FT_OK) continue;
        if (s->token_count == MAX_TOKENS)
            status = fail(error, path, "more than 64 tokens");
        else if ((s->tokens[s->token_count] = strdup(line)) == NULL)
            status = fail(error, path, "out of memory");
        else
            s->token_count++;
    }
    fclose(file);
    explicit_bzero(line, sizeof line);
    if (status == FT_OK && s->token_count == 0) status = fail(error, path, "has no token: a line each is expected");
    return status;
}

void access_free_tokens(server *s) {
    for (uint32_t i = 0; i < s->token_count; i++) {
        explicit_bzero(s->tokens[i], strlen(s->tokens[i]));
        free(s->tokens[i]);
    }
}

/* The time depends on the length of what was given, not on where it differs. */
static bool is_equal(const char *given, const char *token) {
    size_t length = strlen(given), expected = strlen(token);
    unsigned difference = length != expected;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)given[i] ^ (unsigned char)token[expected > 0 ? i % expected : 0];
    return difference == 0;
}

bool access_is_granted(const server *s, const char *authorization) {
    bool is_granted = s->token_count == 0;
    if (is_granted || authorization == NULL || strncasecmp(authorization, "Bearer ", 7) != 0) return is_granted;
    const char *given = authorization + 7 + strspn(authorization + 7, " ");
    for (uint32_t i = 0; i < s->token_count; i++)
        if (is_equal(given, s->tokens[i])) is_granted = true;
    return is_granted;
}

/* --- The log ------------------------------------------------------------------------------------------------------ */

static void put_time(text *t) {
    struct timespec now;
    struct tm utc;
    char day[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
    text_format(t, "%s.%03ldZ", day, now.tv_nsec / 1000000);
}

static void put_json(text *t, const request *r, double seconds) {
    text_put(t, "{\"time\": \"");
    put_time(t);
    text_put(t, "\", \"method\": ");
    text_json(t, r->method);
    text_put(t, ", \"path\": ");
    text_json(t, r->path);
    text_format(
        t, ", \"status\": %u, \"received_bytes\": %llu, \"sent_bytes\": %llu, \"seconds\": %.6f, \"cached\": %s}\n",
        r->http_status, (unsigned long long)r->received, (unsigned long long)r->sent, seconds,
        r->is_cached ? "true" : "false");
}

void access_log(const request *r, double seconds) {
    text t = {0};
    if (r->s->options->log == SERVE_LOG_NONE || r->path == NULL || r->method == NULL) return;
    if (r->s->options->log == SERVE_LOG_JSON) {
        put_json(&t, r, seconds);
    } else {
        put_time(&t);
        text_format(&t, " %.16s %.200s %u %.3f ms\n", r->method, r->path, r->http_status, 1e3 * seconds);
        for (size_t i = 0; i + 1 < t.size; i++)
            if ((unsigned char)t.data[i] < 0x20) t.data[i] = '?';
    }
    /* One call a line, so that lines of several processes do not mix; a log that cannot be written is lost. */
    if (!t.failed && write(STDERR_FILENO, t.data, t.size) < 0) t.failed = true;
    text_free(&t);
}
