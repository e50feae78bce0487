/* catalogue.h - the bundled models: packed files in the library (scripts/embed-models makes the table). */
#ifndef READ_CATALOGUE_H
#define READ_CATALOGUE_H

#include <stddef.h>

#include "base/embedded.h"
#include "foretell/catalogue.h"

typedef struct catalogue_entry {
    const char *family;
    const char *symbols; /* that need a value, separated by spaces */
    unsigned long long params;
    const unsigned char *bytes; /* gzip */
    size_t size;
} catalogue_entry;

/* Names, texts and other names; and what else there is of each. */
extern const embedded_file model_builtin[];
extern const catalogue_entry model_entries[];
extern const uint32_t model_builtin_count;

/* The model that is meant by a path where there is no file; NULL when there is a file, or no such model. */
const catalogue_entry *catalogue_find_path(const char *path);
/* Adds the names of similar models to the message about a path that is not there, unless it is the path of a file. */
void catalogue_suggest(const char *path, ft_error *error);

#endif
