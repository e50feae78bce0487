/* library.c - functions of shared libraries that are loaded when they are first needed. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"

ft_status library_load(const char *file, const library_function *functions, size_t count, ft_error *error) {
    void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) return ft_fail(error, FT_ERR_UNSUPPORTED, "%s", dlerror()); /* it names the file */
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
