/* filecopy.c - see filecopy.h.
 *
 * The memory is mapped, not allocated: freeing a large block would raise the limit above which malloc of the host maps
 * its blocks. */
#include "base/filecopy.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

enum { BLOCK_BYTES = 1 << 16, ENDED_EARLY = -1 };

/* Returns 0, an errno or ENDED_EARLY. */
static int read_bytes(int file, size_t offset, uint8_t *bytes, size_t size) {
    while (size > 0) {
        ssize_t count = pread(file, bytes, size, (off_t)offset);
        if (count == 0) return ENDED_EARLY;
        if (count < 0 && errno != EINTR) return errno;
        if (count < 0) continue;
        offset += (size_t)count;
        bytes += count;
        size -= (size_t)count;
    }
    return 0;
}

static bool is_same_file(const filecopy *copy, const struct stat *info) {
    return (size_t)info->st_size == copy->size && info->st_mtim.tv_sec == copy->modified.tv_sec &&
           info->st_mtim.tv_nsec == copy->modified.tv_nsec;
}

static ft_status check(const filecopy *copy, int file, const char *path, ft_error *error) {
    struct stat info;
    if (copy->fault > 0) return ft_fail_file(error, path, "cannot read", copy->fault);
    if (copy->fault == 0 && fstat(file, &info) == 0 && is_same_file(copy, &info)) return FT_OK;
    return ft_fail(error, FT_ERR_IO, "%s: was changed while it was read: try again when it is complete", path);
}

static ft_status map_memory(filecopy *copy, const char *path, bool is_whole, ft_error *error) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (is_whole ? MAP_POPULATE : MAP_NORESERVE);
    void *memory = mmap(NULL, copy->size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED)
        return ft_fail(error, FT_ERR_NOMEM, "%s: out of memory: it has %zu bytes", path, copy->size);
    copy->bytes = memory;
    if (is_whole) return FT_OK;
    copy->blocks = calloc(copy->size / BLOCK_BYTES / 64 + 1, sizeof *copy->blocks);
    return copy->blocks != NULL ? FT_OK : FT_NOMEM(error);
}

static ft_status open_copy(int file, const char *path, uint64_t whole_bytes, filecopy *copy, ft_error *error) {
    struct stat info;
    if (fstat(file, &info) != 0) return ft_fail_file(error, NULL, path, errno);
    if (S_ISDIR(info.st_mode)) return ft_fail(error, FT_ERR_IO, "%s: is a folder, not a file", path);
    if (!S_ISREG(info.st_mode)) return ft_fail(error, FT_ERR_IO, "%s: is not a regular file", path);
    if (info.st_size == 0) return ft_fail(error, FT_ERR_FORMAT, "%s: is empty", path);
    copy->size = (size_t)info.st_size;
    copy->modified = info.st_mtim;
    bool is_whole = copy->size <= whole_bytes;
    FT_TRY(map_memory(copy, path, is_whole, error));
    if (!is_whole) return FT_OK;
    copy->fault = read_bytes(file, 0, copy->bytes, copy->size);
    return check(copy, file, path, error);
}

ft_status filecopy_open(const char *path, uint64_t whole_bytes, filecopy *copy, ft_error *error) {
    *copy = (filecopy){.file = -1};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return ft_fail_file(error, NULL, path, errno);
    ft_status status = open_copy(file, path, whole_bytes, copy, error);
    if (copy->blocks != NULL)
        copy->file = file;
    else
        close(file);
    if (status != FT_OK) filecopy_close(copy);
    return status;
}

static bool has_block(const filecopy *copy, size_t block) {
    return copy->blocks[block / 64] >> block % 64 & 1;
}

void filecopy_load(filecopy *copy, const uint8_t *at, size_t size) {
    if (copy == NULL || copy->blocks == NULL || size == 0) return;
    assert(at >= copy->bytes && size <= copy->size - (size_t)(at - copy->bytes));
    size_t offset = (size_t)(at - copy->bytes), end = (offset + size - 1) / BLOCK_BYTES + 1;
    for (size_t block = offset / BLOCK_BYTES; block < end;) {
        size_t first = block;
        for (; block < end && !has_block(copy, block); block++) copy->blocks[block / 64] |= UINT64_C(1) << block % 64;
        size_t to = block * BLOCK_BYTES < copy->size ? block * BLOCK_BYTES : copy->size;
        if (block > first && copy->fault == 0)
            copy->fault = read_bytes(copy->file, first * BLOCK_BYTES, copy->bytes + first * BLOCK_BYTES,
                                     to - first * BLOCK_BYTES);
        while (block < end && has_block(copy, block)) block++;
    }
}

bool filecopy_read(const filecopy *copy, size_t offset, void *bytes, size_t size) {
    assert(offset <= copy->size && size <= copy->size - offset);
    if (copy->blocks != NULL) return read_bytes(copy->file, offset, bytes, size) == 0;
    memcpy(bytes, copy->bytes + offset, size);
    return true;
}

ft_status filecopy_check(const filecopy *copy, const char *path, ft_error *error) {
    return copy->blocks != NULL ? check(copy, copy->file, path, error) : FT_OK;
}

void filecopy_close(filecopy *copy) {
    if (copy->bytes != NULL) munmap(copy->bytes, copy->size);
    if (copy->blocks != NULL) close(copy->file);
    free(copy->blocks);
    *copy = (filecopy){.file = -1};
}
