#include "base/embedded.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    if (length == 0 || strchr(word, ' ') != NULL) return false;
    for (const char *at = words; (at = strstr(at, word)) != NULL; at++) {
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    }
    return false;
}

const embedded_file *embedded_find(const embedded_file *files, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(files[i].name, name) == 0 || has_word(files[i].other_names, name)) return &files[i];
    }
    return NULL;
}

ft_status embedded_fail(const embedded_file *files, uint32_t count, const char *what, const char *name,
                        ft_error *error) {
    ft_fail(error, FT_ERR_USAGE, "there is no %s '%s'; there are", what, name);
    for (uint32_t i = 0; error != NULL && i < count; i++) {
        size_t length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, "%s %s", i == 0 ? "" : ",", files[i].name);
    }
    return FT_ERR_USAGE;
}

bool embedded_is_path(const char *name) {
    size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}
