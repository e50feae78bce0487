/* outfile.c - atomic output of files and folders.
 *
 * Temporary files are in the folder of the final ones, so that a rename stays on one file system (temporary.h). */
#include "base/outfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/temporary.h"

enum { MAX_LINKS = 40 };

/* --- Paths --------------------------------------------------------------------------------------------------- */

/* The target of a link, as seen from where the link is; NULL, with errno, when `path` is not a link. */
static char *link_target(const char *path) {
    char target[PATH_MAX], *joined;
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) return NULL;
    target[length] = '\0';
    const char *slash = strrchr(path, '/');
    if (target[0] == '/' || slash == NULL) return strdup(target);
    return asprintf(&joined, "%.*s/%s", (int)(slash - path), path, target) < 0 ? NULL : joined;
}

/* Follows links, also to what does not exist yet, so that the target is replaced and not the link; removes trailing
 * slashes. NULL, with errno, on failure. */
static char *real_path(const char *path) {
    char *found = realpath(path, NULL);
    if (found != NULL || errno == ENOMEM) return found;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    found = strndup(path, length);
    struct stat info;
    if (stat(path, &info) == 0) return found; /* a pipe behind /dev/stdout, whose link names no path */
    for (int i = 0; found != NULL; i++) {
        char *target = link_target(found);
        if (target == NULL && errno != ENOMEM) return found;
        free(found);
        found = target;
        if (i < MAX_LINKS) continue;
        free(found);
        errno = ELOOP;
        return NULL;
    }
    return NULL;
}

/* A rename is durable only when its folder is synced. Not every file system supports that, so failures are ignored. */
static void sync_folder_of(const char *path) {
    char *copy = strdup(path);
    if (copy == NULL) return;
    char *slash = strrchr(copy, '/');
    if (slash == copy) slash[1] = '\0';
    if (slash != NULL && slash != copy) *slash = '\0';
    int folder = open(slash != NULL ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        fsync(folder);
        close(folder);
    }
    free(copy);
}

/* --- Files --------------------------------------------------------------------------------------------------- */

/* /dev/stdout, /dev/full and pipes are written to directly: they must not be replaced by a file. */
static bool is_replaceable(const struct stat *info) {
    return S_ISREG(info->st_mode);
}

static ft_status open_temporary(outfile *out, ft_error *error) {
    temporary made;
    FT_TRY(temporary_new(out->path, false, &made, error));
    out->temporary = made.path;
    out->stream = fdopen(made.file, "wb");
    if (out->stream != NULL) return FT_OK;
    close(made.file);
    return FT_NOMEM(error);
}

static ft_status open_stream(outfile *out, ft_error *error) {
    struct stat info;
    if (stat(out->path, &info) != 0)
        return errno == ENOENT ? open_temporary(out, error) : ft_fail_file(error, out->path, "cannot write", errno);
    if (S_ISDIR(info.st_mode)) return ft_fail(error, FT_ERR_IO, "%s: is a folder; name a file", out->path);
    if (is_replaceable(&info)) {
        if (access(out->path, W_OK) != 0) return ft_fail_file(error, out->path, "cannot write", errno);
        FT_TRY(open_temporary(out, error));
        /* Keeps the permissions of the old file. Where they cannot be set, the default ones stay. */
        if (fchmod(fileno(out->stream), info.st_mode & 07777) != 0) errno = 0;
        return FT_OK;
    }
    out->stream = fopen(out->path, "wb");
    return out->stream != NULL ? FT_OK : ft_fail_file(error, out->path, "cannot write", errno);
}

ft_status outfile_open(const char *path, outfile *out, ft_error *error) {
    *out = (outfile){.path = real_path(path)};
    if (out->path == NULL) return ft_fail_file(error, path, "cannot write", errno);
    ft_status status = open_stream(out, error);
    if (status != FT_OK) outfile_discard(out);
    return status;
}

/* 0, or an errno; -1 when a write before failed whose reason is lost. A temporary file is renamed while it is open,
 * since the lock on it ends when it is closed. Its bytes are on disk by then: nothing that close may report concerns
 * them. */
static int finish(outfile *out) {
    assert(out->stream != NULL && out->path != NULL);
    bool is_file = out->temporary != NULL, has_failed = ferror(out->stream) != 0;
    int code = fflush(out->stream) != 0 ? errno : has_failed ? -1 : 0;
    if (code == 0 && is_file && fsync(fileno(out->stream)) != 0) code = errno;
    if (code == 0 && is_file && rename(out->temporary, out->path) != 0) code = errno;
    if (fclose(out->stream) != 0 && code == 0 && !is_file) code = errno;
    out->stream = NULL;
    if (code != 0 || !is_file) return code;
    free(out->temporary);
    out->temporary = NULL;
    sync_folder_of(out->path);
    return 0;
}

ft_status outfile_commit(outfile *out, ft_error *error) {
    int code = finish(out);
    ft_status status = FT_OK;
    if (code > 0) status = ft_fail_file(error, out->path, "cannot write", code);
    if (code < 0)
        status = ft_fail(error, FT_ERR_IO, "%s: cannot write all of it; free space on the disk, or choose another path",
                         out->path);
    outfile_discard(out);
    return status;
}

void outfile_discard(outfile *out) {
    if (out->stream != NULL) fclose(out->stream);
    if (out->temporary != NULL) unlink(out->temporary);
    free(out->temporary);
    free(out->path);
    *out = (outfile){0};
}

ft_status outfile_write(const char *path, const void *bytes, size_t size, ft_error *error) {
    outfile out;
    FT_TRY(outfile_open(path, &out, error));
    if (size == 0 || fwrite(bytes, 1, size, out.stream) == size) return outfile_commit(&out, error);
    ft_status status =
        ft_fail_file(error, path, "cannot write", errno); /* the reason is lost once the stream is closed */
    outfile_discard(&out);
    return status;
}

/* --- Folders ------------------------------------------------------------------------------------------------- */

static ft_status exists_already(const char *path, ft_error *error) {
    return ft_fail(error, FT_ERR_IO, "%s: exists already: name another folder, or remove it first", path);
}

ft_status outfolder_open(const char *path, outfolder *out, ft_error *error) {
    struct stat info;
    if (lstat(path, &info) == 0) return exists_already(path, error);
    *out = (outfolder){.path = real_path(path), .lock = -1};
    if (out->path == NULL) return ft_fail_file(error, path, "cannot create the folder", errno);
    temporary made;
    ft_status status = temporary_new(out->path, true, &made, error);
    if (status == FT_OK) {
        out->temporary = made.path;
        out->lock = made.file;
    } else {
        outfolder_discard(out);
    }
    return status;
}

/* A plain rename would replace an empty folder, so RENAME_NOREPLACE is used where the file system supports it. */
static int rename_to_new(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    struct stat info;
    if (lstat(to, &info) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(from, to);
}

ft_status outfolder_commit(outfolder *out, ft_error *error) {
    assert(out->temporary != NULL && out->path != NULL);
    ft_status status = FT_OK;
    if (rename_to_new(out->temporary, out->path) == 0) {
        sync_folder_of(out->path);
        free(out->temporary);
        out->temporary = NULL;
    } else if (errno == EEXIST || errno == ENOTEMPTY) {
        status = exists_already(out->path, error);
    } else {
        status = ft_fail_file(error, out->path, "cannot create the folder", errno);
    }
    outfolder_discard(out);
    return status;
}

void outfolder_discard(outfolder *out) {
    if (out->temporary != NULL) temporary_remove(out->temporary);
    if (out->path != NULL && out->lock >= 0) close(out->lock);
    free(out->temporary);
    free(out->path);
    *out = (outfolder){.lock = -1};
}

/* --- Public names -------------------------------------------------------------------------------------------- */

ft_status ft_outfile_open(const char *path, ft_outfile *out, ft_error *error) {
    FT_REQUIRE(error, path, out);
    return outfile_open(path, out, error);
}

ft_status ft_outfile_commit(ft_outfile *out, ft_error *error) {
    FT_REQUIRE(error, out);
    FT_REQUIRE(error, out->stream);
    return outfile_commit(out, error);
}

void ft_outfile_discard(ft_outfile *out) {
    if (out != NULL) outfile_discard(out);
}
