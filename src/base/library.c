/* library.c - functions of shared libraries that are loaded when they are first needed. */
#include "base/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

/* dlopen has no codes, and its texts are translated unless the process never called setlocale: they only refine the
 * status. */
static ft_status fail_to_load(const char *file, ft_error *error) {
    static const char *const memory[] = {"failed to map segment", "annot allocate", "annot create", "annot map",
                                         "out of memory"};
    const char *text = dlerror(); /* it names the file */
    if (text == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (strstr(text, memory[i]) != NULL)
            return ft_fail(error, FT_ERR_NOMEM, "out of memory while loading %s (%s)", file, text);
    bool is_absent = strstr(text, "No such file") != NULL;
    bool is_io = !is_absent && (strstr(text, "cannot open") != NULL || strstr(text, "cannot read") != NULL);
    return ft_fail(error, is_io ? FT_ERR_IO : FT_ERR_UNSUPPORTED, "%s", text);
}

ft_status library_load(const char *file, const library_function *functions, size_t count, ft_error *error) {
    void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) return fail_to_load(file, error);
    ft_status status = FT_OK;
    for (size_t i = 0; i < count && status == FT_OK; i++) {
        void *address = dlsym(handle, functions[i].name);
        if (address == NULL) status = ft_fail(error, FT_ERR_UNSUPPORTED, "%s: no function %s", file, functions[i].name);
        /* POSIX: the address of a function fits a pointer to an object. ISO C has no assignment between the two. */
        memcpy(functions[i].pointer, &address, sizeof address);
    }
    dlclose(handle); /* NODELETE keeps it */
    return status;
}

bool library_has_room(size_t bytes) {
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return room != MAP_FAILED && munmap(room, bytes) == 0;
}
