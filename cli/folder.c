/* folder.c - the entries of folders, in an order that does not depend on the file system. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

path_kind path_kind_of(const char *path, bool is_explicit) {
    struct stat info;
    if (lstat(path, &info) != 0) return PATH_OTHER;
    if (S_ISLNK(info.st_mode)) {
        if (stat(path, &info) != 0) return PATH_OTHER;
        if (S_ISDIR(info.st_mode) && !is_explicit) return PATH_OTHER;
    }
    if (S_ISDIR(info.st_mode)) return PATH_FOLDER;
    return S_ISREG(info.st_mode) ? PATH_FILE : PATH_OTHER;
}

static int by_name(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Adds "folder/name" to a growing list; false when out of memory. */
static bool add_entry(char ***entries, size_t *count, const char *folder, const char *name) {
    if ((*count & (*count - 1)) == 0) { /* the list is full at every power of two */
        char **larger = realloc(*entries, (*count == 0 ? 1 : *count * 2) * sizeof **entries);
        if (larger == NULL) return false;
        *entries = larger;
    }
    size_t length = strlen(folder);
    const char *slash = length > 0 && folder[length - 1] == '/' ? "" : "/";
    if (asprintf(&(*entries)[*count], "%s%s%s", folder, slash, name) < 0) return false;
    (*count)++;
    return true;
}

static ft_status fail_to_list(const char *path, int code) {
    return cli_fail(code == ENOMEM ? FT_ERR_NOMEM : FT_ERR_IO, "%s: cannot read this folder: %s", path, strerror(code));
}

char **folder_list(const char *path, size_t *count, ft_status *status) {
    char **entries = NULL;
    *count = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        *status = fail_to_list(path, errno);
        return NULL;
    }
    bool is_complete = true;
    for (const struct dirent *entry; is_complete && (errno = 0, entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.') is_complete = add_entry(&entries, count, path, entry->d_name);
    int code = errno;
    closedir(folder);
    if (!is_complete || code != 0) {
        *status = is_complete ? fail_to_list(path, code)
                              : cli_fail(FT_ERR_NOMEM, "%s: out of memory while listing this folder", path);
        folder_free(entries, *count);
        *count = 0;
        return NULL;
    }
    if (*count > 0) qsort(entries, *count, sizeof *entries, by_name);
    if (entries == NULL) entries = calloc(1, sizeof *entries);
    *status = entries != NULL ? FT_OK : cli_fail(FT_ERR_NOMEM, "%s: out of memory while listing this folder", path);
    return entries;
}

void folder_free(char **entries, size_t count) {
    for (size_t i = 0; i < count; i++) free(entries[i]);
    free(entries);
}

uint64_t folder_count_files(const char *path, bool is_explicit, uint32_t depth) {
    if (path_kind_of(path, is_explicit) != PATH_FOLDER) return 1;
    DIR *folder = depth < FT_MAX_DEPTH ? opendir(path) : NULL;
    if (folder == NULL) return 0;
    uint64_t total = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char *child;
        if (entry->d_name[0] == '.') continue;
        if (asprintf(&child, "%s/%s", path, entry->d_name) < 0) break;
        total += folder_count_files(child, false, depth + 1);
        free(child);
    }
    closedir(folder);
    return total;
}
