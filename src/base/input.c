/* input.c - copies files, reads pipes, and inflates gzip with a limit on the output. */
#include "base/input.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"

/* Grows by doubling: the size stored in a gzip file is not trusted. */
static bool grow(uint8_t **bytes, size_t *capacity, uint64_t limit) {
    if (*capacity >= limit) return false;
    size_t larger = *capacity == 0 ? 64 * 1024 : *capacity * 2;
    if (larger > limit) larger = (size_t)limit;
    uint8_t *moved = realloc(*bytes, larger);
    if (moved == NULL) return false;
    *bytes = moved;
    *capacity = larger;
    return true;
}

/* The last four bytes of a gzip file hold its unpacked size; trusted up to 64 times the packed size. */
static size_t first_guess(const uint8_t *bytes, size_t size, uint64_t limit) {
    const uint8_t *end = bytes + size - 4;
    uint64_t claimed = end[0] | (uint64_t)end[1] << 8 | (uint64_t)end[2] << 16 | (uint64_t)end[3] << 24;
    uint64_t max = (uint64_t)size * 64;
    if (claimed > max) claimed = max;
    if (claimed > limit) claimed = limit;
    return (size_t)claimed;
}

/* Unpacks all members of a gzip file into one growing buffer. */
typedef struct unpacking {
    const char *name;
    uint64_t limit;
    z_stream stream;
    size_t left; /* packed bytes not yet given to the stream */
    uint8_t *out;
    size_t capacity, length;
} unpacking;

/* Inflates until the buffer is full. With a full buffer, one byte goes into a spill buffer, which distinguishes
 * "exactly full" from "more to come"; only in the latter case the buffer grows. */
static ft_status inflate_some(unpacking *u, int *result, size_t *made, ft_error *error) {
    z_stream *stream = &u->stream;
    uint8_t spill[1] = {0};
    bool is_full = u->length == u->capacity;
    size_t room = is_full ? sizeof spill : u->capacity - u->length;
    if (stream->avail_in == 0) {
        stream->avail_in = u->left > UINT_MAX ? UINT_MAX : (uInt)u->left;
        u->left -= stream->avail_in;
    }
    stream->next_out = is_full ? spill : u->out + u->length;
    stream->avail_out = room > UINT_MAX ? UINT_MAX : (uInt)room;
    uInt before = stream->avail_out;
    *result = inflate(stream, Z_NO_FLUSH);
    *made = before - stream->avail_out;
    assert(*made <= room);
    if (*made > 0 && is_full) {
        if (!grow(&u->out, &u->capacity, u->limit))
            return u->capacity >= u->limit ? ft_fail(error, FT_ERR_LIMIT, "%s: unpacks to more than %llu bytes",
                                                     u->name, (unsigned long long)u->limit)
                                           : FT_NOMEM(error);
        u->out[u->length] = spill[0];
    }
    u->length += *made;
    return FT_OK;
}

/* At the end of a member: no input is left, or only padding. */
static bool was_last_member(const unpacking *u) {
    return u->stream.avail_in > 0 ? *u->stream.next_in != 0x1f : u->left == 0;
}

static ft_status inflate_all(unpacking *u, ft_error *error) {
    for (;;) {
        int result;
        size_t made;
        FT_TRY(inflate_some(u, &result, &made, error));
        if (result == Z_STREAM_END) {
            if (was_last_member(u)) return FT_OK;
            if (inflateReset(&u->stream) == Z_OK) continue;
        }
        if (result == Z_MEM_ERROR) return FT_NOMEM(error);
        bool is_cut = made == 0 && u->stream.avail_in == 0 && u->left == 0;
        if (result != Z_OK || is_cut)
            return ft_fail(error, FT_ERR_DAMAGED, "%s: damaged or truncated gzip data after %llu bytes", u->name,
                           (unsigned long long)u->length);
    }
}

static ft_status gunzip(const uint8_t *bytes, size_t size, const char *name, uint64_t limit, input *in,
                        ft_error *error) {
    unpacking u = {.name = name, .limit = limit, .stream = {.next_in = (Bytef *)(uintptr_t)bytes}, .left = size};
    if (inflateInit2(&u.stream, 15 + 16) != Z_OK) return FT_NOMEM(error);
    size_t guess = first_guess(bytes, size, limit);
    u.out = guess > 0 ? malloc(guess) : NULL;
    u.capacity = u.out != NULL ? guess : 0;
    ft_status status = inflate_all(&u, error);
    inflateEnd(&u.stream);
    if (status != FT_OK) {
        free(u.out);
        return status;
    }
    in->unpacked = u.out;
    in->bytes = u.out;
    in->size = u.length;
    return FT_OK;
}

static bool is_gzip(const uint8_t *bytes, size_t size) {
    return size >= 18 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8;
}

ft_status input_from_memory(const void *bytes, size_t size, const char *name, uint64_t limit, input *in,
                            ft_error *error) {
    *in = (input){.bytes = bytes, .size = size};
    if (!is_gzip(bytes, size)) return FT_OK;
    return gunzip(bytes, size, name, limit, in, error);
}

/* Takes the packed bytes out of the copy, and frees them. */
static ft_status unpack_file(const char *path, uint64_t limit, input *in, ft_error *error) {
    filecopy packed = in->file;
    in->file = (filecopy){.file = -1};
    filecopy_load(&packed, packed.bytes, packed.size);
    ft_status status = filecopy_check(&packed, path, error);
    if (status == FT_OK) status = gunzip(packed.bytes, packed.size, path, limit, in, error);
    filecopy_close(&packed);
    return status;
}

static ft_status open_file(const char *path, uint64_t whole_bytes, uint64_t limit, input *in, ft_error *error) {
    *in = (input){0};
    FT_TRY(filecopy_open(path, whole_bytes, &in->file, error));
    in->bytes = in->file.bytes;
    in->size = in->file.size;
    filecopy_load(&in->file, in->bytes, in->size < INPUT_FIRST_BYTES ? in->size : INPUT_FIRST_BYTES);
    if (!is_gzip(in->bytes, in->size)) return FT_OK;
    ft_status status = unpack_file(path, limit, in, error);
    if (status != FT_OK) input_close(in);
    return status;
}

ft_status input_open(const char *path, uint64_t limit, input *in, ft_error *error) {
    return open_file(path, UINT64_MAX, limit, in, error);
}

/* --- Pipes --------------------------------------------------------------------------------------------------- */

/* Reads to the end. The buffer has room for one byte above the limit, which distinguishes a stream of `limit` bytes
 * from a longer one. */
static ft_status read_stream(int file, const char *name, uint64_t limit, input *in, ft_error *error) {
    size_t capacity = 0;
    for (;;) {
        if (in->size == capacity && !grow(&in->unpacked, &capacity, limit + 1))
            return capacity > limit ? ft_fail(error, FT_ERR_LIMIT, "%s: has more than %llu bytes; save it to a file",
                                              name, (unsigned long long)limit)
                                    : FT_NOMEM(error);
        ssize_t count = read(file, in->unpacked + in->size, capacity - in->size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return ft_fail_file(error, NULL, name, errno);
        if (count == 0) break;
        in->size += (size_t)count;
    }
    if (in->size == 0) return ft_fail(error, FT_ERR_FORMAT, "%s: is empty", name);
    in->bytes = in->unpacked;
    return FT_OK;
}

static ft_status unpack_stream(const char *name, uint64_t limit, input *in, ft_error *error) {
    if (!is_gzip(in->bytes, in->size)) return FT_OK;
    uint8_t *packed = in->unpacked;
    in->unpacked = NULL;
    ft_status status = gunzip(packed, in->size, name, limit, in, error);
    free(packed);
    return status;
}

ft_status input_open_stream(const char *path, uint64_t limit, input *in, bool *is_stream, ft_error *error) {
    bool is_standard = strcmp(path, "-") == 0;
    struct stat info;
    *is_stream = is_standard || (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
    if (!*is_stream) return open_file(path, INPUT_WHOLE_BYTES, limit, in, error);
    *in = (input){0};
    int file = is_standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return ft_fail_file(error, NULL, path, errno);
    ft_status status = read_stream(file, path, limit, in, error);
    close(file);
    if (status == FT_OK) status = unpack_stream(path, limit, in, error);
    if (status != FT_OK) input_close(in);
    return status;
}

void input_close(input *in) {
    filecopy_close(&in->file);
    free(in->unpacked);
    *in = (input){0};
}
