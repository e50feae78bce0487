/* http_library.c - loads libmicrohttpd and GnuTLS. */
#include "http_library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "problem.h"

http_library http;

/* POSIX: the address of a function fits a pointer to an object. */
static bool find(void *handle, const char *name, void *pointer) {
    void *address = dlsym(handle, name);
    memcpy(pointer, &address, sizeof address);
    return address != NULL;
}

static ft_status fail(ft_error *error) {
    const char *text = dlerror();
    return error_set(error, FT_ERR_UNSUPPORTED, "%s: install libmicrohttpd12", text != NULL ? text : "out of memory");
}

ft_status http_library_load(ft_error *error) {
    bool is_whole = true;
    void *server = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    void *hashes = server != NULL ? dlopen("libgnutls.so.30", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (hashes == NULL) return fail(error);
#define HTTP_FUNCTION_FIND(name) is_whole = is_whole && find(server, #name, &http.name);
    HTTP_FUNCTION_LIST(HTTP_FUNCTION_FIND)
#undef HTTP_FUNCTION_FIND
    is_whole = is_whole && find(hashes, "gnutls_hash_init", &http.gnutls_hash_init) &&
               find(hashes, "gnutls_hash", &http.gnutls_hash) &&
               find(hashes, "gnutls_hash_deinit", &http.gnutls_hash_deinit);
    return is_whole ? FT_OK : fail(error);
}
