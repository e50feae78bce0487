/* http_library.h - libmicrohttpd and the hashes of GnuTLS, which it needs, loaded when a server starts: no other
 * command waits for them. */
#ifndef SERVE_HTTP_LIBRARY_H
#define SERVE_HTTP_LIBRARY_H

#include <microhttpd.h>

#include "foretell/status.h"

/* Functions: X(name). Each is a pointer of the type of the declared function: http.MHD_start_daemon(...). */
#define HTTP_FUNCTION_LIST(X)                                                                                          \
    X(MHD_start_daemon)                                                                                                \
    X(MHD_stop_daemon)                                                                                                 \
    X(MHD_quiesce_daemon)                                                                                              \
    X(MHD_get_connection_info)                                                                                         \
    X(MHD_get_connection_values)                                                                                       \
    X(MHD_lookup_connection_value)                                                                                     \
    X(MHD_create_response_from_buffer)                                                                                 \
    X(MHD_create_response_from_fd64)                                                                                   \
    X(MHD_add_response_header)                                                                                         \
    X(MHD_queue_response)                                                                                              \
    X(MHD_destroy_response)                                                                                            \
    X(MHD_suspend_connection)                                                                                          \
    X(MHD_resume_connection)

typedef struct http_library {
#define HTTP_FUNCTION_POINTER(name) __typeof__(&name) name;
    HTTP_FUNCTION_LIST(HTTP_FUNCTION_POINTER)
#undef HTTP_FUNCTION_POINTER
    /* SHA-256 in pieces. */
    int (*gnutls_hash_init)(void **hash, int algorithm);
    int (*gnutls_hash)(void *hash, const void *bytes, size_t size);
    void (*gnutls_hash_deinit)(void *hash, void *digest);
} http_library;

enum { HTTP_SHA256 = 6, HTTP_SHA256_BYTES = 32 }; /* GNUTLS_DIG_SHA256 */

extern http_library http;

ft_status http_library_load(ft_error *error);

#endif
