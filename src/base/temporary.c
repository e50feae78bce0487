/* temporary.c - see temporary.h. */
#include "base/temporary.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"

enum { MAX_TRIES = 1000, MAX_OPEN_FOLDERS = 16 };

static uint32_t host_hash(void) {
    struct utsname names;
    if (uname(&names) != 0) return 0;
    return (uint32_t)hash_bytes(names.nodename, strlen(names.nodename)).low;
}

/* --- Leftovers --------------------------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    remove(path);
    return 0;
}

void temporary_remove(const char *path) {
    nftw(path, remove_one, MAX_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/* Skips some characters and the digits behind them; false when there is no digit. */
static bool skip_digits(const char **at, size_t before) {
    size_t digits = strspn(*at + before, "0123456789");
    *at += before + digits;
    return digits > 0;
}

/* Whether a name is one of ours: "NAME.HOST-PID-NUMBER.tmp". */
static bool is_temporary(const char *entry, const char *name, uint32_t host) {
    char prefix[sizeof ".01234567-"];
    size_t length = strlen(name);
    if (strncmp(entry, name, length) != 0) return false;
    snprintf(prefix, sizeof prefix, ".%08x-", host);
    const char *at = entry + length;
    if (strncmp(at, prefix, sizeof prefix - 1) != 0) return false;
    return skip_digits(&at, sizeof prefix - 1) && *at == '-' && skip_digits(&at, 1) && strcmp(at, ".tmp") == 0;
}

/* Whether no process holds the lock; the caller does then, until it closes *file. */
static bool is_abandoned(int folder, const char *entry, int *file) {
    struct stat info;
    *file = openat(folder, entry, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*file < 0) return false;
    bool is_ours = fstat(*file, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
    if (is_ours && flock(*file, LOCK_EX | LOCK_NB) == 0) return true;
    close(*file);
    return false;
}

/* Cleaning up is no duty of the caller: what cannot be removed stays. */
static void sweep(const char *of, uint32_t host) {
    const char *slash = strrchr(of, '/'), *name = slash != NULL ? slash + 1 : of;
    char *path = slash == NULL ? strdup(".") : strndup(of, slash == of ? 1 : (size_t)(slash - of));
    DIR *folder = path != NULL ? opendir(path) : NULL;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        int file;
        char *full = NULL;
        if (!is_temporary(entry->d_name, name, host) || !is_abandoned(dirfd(folder), entry->d_name, &file)) continue;
        if (asprintf(&full, "%s/%s", path, entry->d_name) >= 0) {
            temporary_remove(full);
            free(full);
        }
        close(file);
    }
    if (folder != NULL) closedir(folder);
    free(path);
}

/* --- New ones ---------------------------------------------------------------------------------------------------- */

/* Whether the entry at `path` is still the open one: a process that sweeps could have taken it for abandoned before it
 * was locked. */
static bool is_still_there(const char *path, int file) {
    struct stat open_info, info;
    return fstat(file, &open_info) == 0 && lstat(path, &info) == 0 && open_info.st_dev == info.st_dev &&
           open_info.st_ino == info.st_ino;
}

/* -1, with errno, on failure. EEXIST: another name is to be tried. */
static int create(const char *path, bool is_folder) {
    if (is_folder && mkdir(path, 0777) != 0) return -1;
    int flags = is_folder ? O_RDONLY | O_DIRECTORY : O_WRONLY | O_CREAT | O_EXCL;
    int file = open(path, flags | O_CLOEXEC, 0666);
    if (file < 0) {
        int code = errno;
        if (is_folder) rmdir(path);
        errno = code;
        return -1;
    }
    bool is_locked = flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; /* not all file systems have locks */
    if (is_locked && is_still_there(path, file)) return file;
    close(file);
    errno = EEXIST;
    return -1;
}

ft_status temporary_new(const char *of, bool is_folder, temporary *made, ft_error *error) {
    uint32_t host = host_hash();
    sweep(of, host);
    for (int i = 0; i < MAX_TRIES; i++) {
        char *path;
        if (asprintf(&path, "%s.%08x-%ld-%d.tmp", of, (unsigned)host, (long)getpid(), i) < 0) return FT_NOMEM(error);
        *made = (temporary){.path = path, .file = create(path, is_folder)};
        if (made->file >= 0) return FT_OK;
        int code = errno;
        free(path);
        if (code != EEXIST)
            return ft_fail_file(error, of, is_folder ? "cannot create the folder" : "cannot write", code);
    }
    return ft_fail(error, FT_ERR_IO, "%s: too many temporary files %s.*.tmp: remove them", of, of);
}
