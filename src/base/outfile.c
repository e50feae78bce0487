/* outfile.c - atomic output of files and folders.
 *
 * Temporary files are in the folder of the final ones, so that a rename stays on one file system. Their names contain
 * the process id, which identifies leftovers of a killed process. */
#include "base/outfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum { MAX_TRIES = 1000, MAX_OPEN_FOLDERS = 16 };

/* --- Paths --------------------------------------------------------------------------------------------------- */

/* Follows a link, so that its target is replaced and not the link; removes trailing slashes. */
static char *real_path(const char *path) {
    char *found = realpath(path, NULL);
    if (found != NULL) return found;
    if (errno == ENOMEM) return NULL;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    return strndup(path, length);
}

static char *temporary_path(const char *path, int number) {
    char *text;
    return asprintf(&text, "%s.%ld-%d.tmp", path, (long)getpid(), number) < 0 ? NULL : text;
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
    for (int i = 0; i < MAX_TRIES; i++) {
        out->temporary = temporary_path(out->path, i);
        if (out->temporary == NULL) return FT_NOMEM(error);
        int file = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        int code = errno;
        if (file >= 0) {
            out->stream = fdopen(file, "wb");
            if (out->stream != NULL) return FT_OK;
            close(file);
            unlink(out->temporary);
            code = ENOMEM;
        }
        free(out->temporary);
        out->temporary = NULL;
        if (code != EEXIST) return ft_fail_file(error, out->path, "cannot write", code);
    }
    return ft_fail(error, FT_ERR_IO, "%s: too many temporary files %s.*.tmp: remove them", out->path, out->path);
}

static ft_status open_stream(outfile *out, ft_error *error) {
    struct stat info;
    if (stat(out->path, &info) != 0) return open_temporary(out, error);
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
    if (out->path == NULL) return FT_NOMEM(error);
    ft_status status = open_stream(out, error);
    if (status != FT_OK) outfile_discard(out);
    return status;
}

static ft_status finish(outfile *out, ft_error *error) {
    assert(out->stream != NULL && out->path != NULL);
    bool is_file = out->temporary != NULL;
    errno = 0;
    bool is_written = fflush(out->stream) == 0 && !ferror(out->stream);
    if (is_written && is_file) is_written = fsync(fileno(out->stream)) == 0;
    int code = errno;
    if (fclose(out->stream) != 0 && is_written) {
        is_written = false;
        code = errno;
    }
    out->stream = NULL;
    if (!is_written && code == 0) /* a write before this one failed */
        return ft_fail(error, FT_ERR_IO, "%s: cannot write all of it; free space on the disk, or choose another path",
                       out->path);
    if (!is_written) return ft_fail_file(error, out->path, "cannot write", code);
    if (!is_file) return FT_OK;
    if (rename(out->temporary, out->path) != 0) return ft_fail_file(error, out->path, "cannot write", errno);
    free(out->temporary);
    out->temporary = NULL;
    sync_folder_of(out->path);
    return FT_OK;
}

ft_status outfile_commit(outfile *out, ft_error *error) {
    ft_status status = finish(out, error);
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
    *out = (outfolder){.path = real_path(path)};
    if (out->path == NULL) return FT_NOMEM(error);
    ft_status status = FT_OK;
    for (int i = 0; i < MAX_TRIES && status == FT_OK; i++) {
        out->temporary = temporary_path(out->path, i);
        if (out->temporary == NULL) {
            status = FT_NOMEM(error);
            break;
        }
        if (mkdir(out->temporary, 0777) == 0) return FT_OK;
        int code = errno;
        free(out->temporary);
        out->temporary = NULL;
        if (code != EEXIST) status = ft_fail_file(error, out->path, "cannot create the folder", code);
    }
    if (status == FT_OK)
        status =
            ft_fail(error, FT_ERR_IO, "%s: too many temporary folders %s.*.tmp: remove them", out->path, out->path);
    outfolder_discard(out);
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

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    remove(path); /* leftovers are recognisable by the name *.tmp */
    return 0;
}

void outfolder_discard(outfolder *out) {
    if (out->temporary != NULL) nftw(out->temporary, remove_one, MAX_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    free(out->temporary);
    free(out->path);
    *out = (outfolder){0};
}
