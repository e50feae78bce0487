/* library.h - shared libraries loaded on first use instead of at start.
 *
 * OpenBLAS, cairo and libxgboost take longer to load than most commands run, and few commands call them. A table of
 * pointers to their functions is filled when the first one is needed. */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "foretell/status.h"

typedef struct library_function {
    const char *name;
    void *pointer; /* address of the pointer to a function that library_load fills */
} library_function;

/* Loads `file` (a name for the loader's search path, or a path) and fills all pointers. The library stays loaded until
 * the process ends: threads that it started would outlive its code. Its symbols stay private to the caller. Fails with
 * FT_ERR_UNSUPPORTED and a message that names the file and the reason where there is no such library, and with
 * FT_ERR_NOMEM or FT_ERR_IO where it, or one that it needs, could not be loaded for want of memory or by an error of
 * the system. */
ft_status library_load(const char *file, const library_function *functions, size_t count, ft_error *error);

/* Whether the process may map `bytes` more: asked before calls into libraries that try for ever, or end the process,
 * when they get no memory. */
bool library_has_room(size_t bytes);

#endif
