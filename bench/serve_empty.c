/* serve_empty.c - an HTTP server that reads a request and sends an answer of a given size: what libmicrohttpd itself
 * takes.
 *
 *     serve_empty BYTES    listens on a free port of this machine, which it prints, until its input ends */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct MHD_Response *response;

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state) {
    static int seen;
    (void)cls;
    (void)url;
    (void)method;
    (void)version;
    (void)upload;
    if (*state == NULL) {
        *state = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

int main(int argc, char **argv) {
    size_t size = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    char *body = malloc(size + 1);
    if (body == NULL) return 1;
    memset(body, 'x', size);
    response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) return 1;
    MHD_add_response_header(response, "Content-Type", "application/json");
    struct MHD_Daemon *d = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL,
                                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)64 << 10, MHD_OPTION_END);
    if (d == NULL) return 1;
    printf("%u\n", (unsigned)MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    MHD_stop_daemon(d);
    MHD_destroy_response(response);
    return 0;
}
