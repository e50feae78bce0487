/* graphfile.c - the container file of packed graphs.
 *
 * Header and index have hashes of their own, so that opening detects damage to them at once; each graph is
 * identified by the hash of its bytes, which is checked when it is read (graphfile_is_intact). All numbers are
 * little-endian. */
#include "data/graphfile.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"

/* The first byte is not text, and line ends of all systems follow, so that conversions of line ends are detected. */
static const uint8_t magic[8] = {0x89, 'F', 'T', 'G', '\r', '\n', 0x1a, '\n'};

enum {
    VERSION = 1,
    HEADER_SIZE = 64,
    AT_VERSION = 8,
    AT_HEADER_SIZE = 12,
    AT_COUNT = 16,
    AT_INDEX = 24,
    AT_FILE_SIZE = 32,
    AT_INDEX_HASH = 40,
    AT_HEADER_HASH = 56,
    ENTRY_SIZE = 24, /* offset, hash */
    WHOLE_BYTES = 1 << 20,
};

static uint64_t get(const uint8_t *bytes, unsigned size) {
    assert(size <= 8);
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static void put(uint8_t *bytes, uint64_t value, unsigned size) {
    assert(size <= 8);
    for (unsigned i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

static hash128 get_hash(const uint8_t *bytes) {
    return (hash128){.low = get(bytes, 8), .high = get(bytes + 8, 8)};
}

static void put_hash(uint8_t *bytes, hash128 hash) {
    put(bytes, hash.low, 8);
    put(bytes + 8, hash.high, 8);
}

/* --- Reading ----------------------------------------------------------------------------------------------------- */

static uint64_t entry_offset(const graphfile *file, uint32_t index) {
    return get(file->index + (size_t)index * ENTRY_SIZE, 8);
}

static ft_status check_header(const uint8_t *bytes, size_t file_size, const char *name, ft_error *error) {
    if (file_size < sizeof magic || memcmp(bytes, magic, sizeof magic) != 0)
        return ft_fail(error, FT_ERR_FORMAT, "%s: not a file of packed graphs", name);
    if (file_size < HEADER_SIZE)
        return ft_fail(error, FT_ERR_DAMAGED, "%s: truncated: the file ends inside the header", name);
    uint64_t version = get(bytes + AT_VERSION, 4);
    if (version > VERSION)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "%s: version %llu is not supported; this foretell reads up to version %d: update foretell", name,
                       (unsigned long long)version, VERSION);
    if (version == 0 || get(bytes + AT_HEADER_SIZE, 4) != HEADER_SIZE ||
        hash_bytes(bytes, AT_HEADER_HASH).low != get(bytes + AT_HEADER_HASH, 8))
        return ft_fail(error, FT_ERR_DAMAGED, "%s: damaged header", name);
    uint64_t size = get(bytes + AT_FILE_SIZE, 8);
    if (size != file_size)
        return ft_fail(error, FT_ERR_DAMAGED, "%s: has %llu bytes, but its header states %llu", name,
                       (unsigned long long)file_size, (unsigned long long)size);
    return FT_OK;
}

static ft_status check_index(graphfile *file, const char *name, ft_error *error) {
    const uint8_t *bytes = file->copy.bytes;
    uint64_t count = get(bytes + AT_COUNT, 8), at = get(bytes + AT_INDEX, 8);
    if (count >= FT_NONE || at < HEADER_SIZE || at > file->size || file->size - at != count * ENTRY_SIZE)
        return ft_fail(error, FT_ERR_DAMAGED, "%s: damaged: the index is outside the file", name);
    file->index = bytes + at;
    file->index_at = at;
    filecopy_load(&file->copy, file->index, (size_t)(file->size - at));
    file->count = (uint32_t)count;
    file->hash = get_hash(bytes + AT_INDEX_HASH);
    if (!hash_is_equal(hash_bytes(file->index, (size_t)(count * ENTRY_SIZE)), file->hash))
        return ft_fail(error, FT_ERR_DAMAGED, "%s: damaged index", name);
    uint64_t last = HEADER_SIZE;
    for (uint32_t i = 0; i < file->count; i++) {
        uint64_t offset = entry_offset(file, i);
        if (offset < last || offset > at || (i == 0 && offset != HEADER_SIZE))
            return ft_fail(error, FT_ERR_DAMAGED, "%s: damaged: graph %u is outside the file", name, i);
        last = offset;
    }
    return FT_OK;
}

static ft_status check(graphfile *file, const char *name, ft_error *error) {
    size_t head = file->size < HEADER_SIZE ? file->size : HEADER_SIZE;
    filecopy_load(&file->copy, file->copy.bytes, head);
    FT_TRY(check_header(file->copy.bytes, file->size, name, error));
    return check_index(file, name, error);
}

ft_status graphfile_open(const char *path, graphfile *file, ft_error *error) {
    *file = (graphfile){0};
    FT_TRY(filecopy_open(path, WHOLE_BYTES, &file->copy, error));
    file->size = file->copy.size;
    ft_status status = check(file, path, error);
    ft_status copied = filecopy_check(&file->copy, path, error); /* what could not be copied is zeros */
    if (copied != FT_OK) status = copied;
    if (status != FT_OK) graphfile_close(file);
    return status;
}

ft_status graphfile_from_memory(const void *bytes, size_t size, const char *name, graphfile *file, ft_error *error) {
    /* Nothing writes to the bytes of a copy, nor is this one closed. */
    *file = (graphfile){.copy = {.bytes = (uint8_t *)(uintptr_t)bytes, .size = size, .file = -1}, .size = size};
    return check(file, name, error);
}

void graphfile_close(graphfile *file) {
    filecopy_close(&file->copy);
    *file = (graphfile){0};
}

hash128 graphfile_id(const graphfile *file, uint32_t index) {
    assert(index < file->count);
    return get_hash(file->index + (size_t)index * ENTRY_SIZE + 8);
}

ft_status graphfile_read(const graphfile *file, uint32_t index, buf *bytes, ft_error *error) {
    assert(index < file->count);
    uint64_t start = entry_offset(file, index);
    uint64_t end = index + 1 < file->count ? entry_offset(file, index + 1) : file->index_at;
    assert(start <= end && end <= file->size); /* by check_index */
    size_t size = (size_t)(end - start);
    bytes->length = 0;
    if (!buf_reserve(bytes, size)) return FT_NOMEM(error);
    bool is_read = filecopy_read(&file->copy, (size_t)start, bytes->data, size);
    bytes->length = size;
    bool is_intact = is_read && hash_is_equal(hash_bytes(bytes->data, size), graphfile_id(file, index));
    return is_intact ? FT_OK : FT_ERR_DAMAGED;
}

/* --- Writing ----------------------------------------------------------------------------------------------------- */

ft_status graphwriter_open(const char *path, graphwriter *w, ft_error *error) {
    static const uint8_t empty[HEADER_SIZE];
    *w = (graphwriter){.position = HEADER_SIZE};
    FT_TRY(outfile_open(path, &w->out, error));
    fwrite(empty, 1, sizeof empty, w->out.stream); /* placeholder: the header is written last */
    return FT_OK;
}

ft_status graphwriter_add(graphwriter *w, hash128 id, const void *bytes, size_t size, ft_error *error) {
    if (w->count >= FT_NONE - 1) return ft_fail(error, FT_ERR_LIMIT, "a data set holds at most %u graphs", FT_NONE - 1);
    uint8_t entry[ENTRY_SIZE];
    put(entry, w->position, 8);
    put_hash(entry + 8, id);
    buf_add(&w->index, entry, sizeof entry);
    if (w->index.failed) return FT_NOMEM(error);
    if (fwrite(bytes, 1, size, w->out.stream) != size) return ft_fail_file(error, w->out.path, "cannot write", errno);
    w->position += size;
    w->count++;
    return FT_OK;
}

ft_status graphwriter_finish(graphwriter *w, hash128 *hash, uint64_t *size, ft_error *error) {
    uint8_t header[HEADER_SIZE] = {0};
    *hash = hash_bytes(w->index.data, w->index.length);
    *size = w->position + w->index.length;
    memcpy(header, magic, sizeof magic);
    put(header + AT_VERSION, VERSION, 4);
    put(header + AT_HEADER_SIZE, HEADER_SIZE, 4);
    put(header + AT_COUNT, w->count, 8);
    put(header + AT_INDEX, w->position, 8);
    put(header + AT_FILE_SIZE, *size, 8);
    put_hash(header + AT_INDEX_HASH, *hash);
    put(header + AT_HEADER_HASH, hash_bytes(header, AT_HEADER_HASH).low, 8);
    if (w->index.length > 0) fwrite(w->index.data, 1, w->index.length, w->out.stream);
    if (fseek(w->out.stream, 0, SEEK_SET) != 0) return ft_fail_file(error, w->out.path, "cannot write", errno);
    fwrite(header, 1, sizeof header, w->out.stream);
    return outfile_commit(&w->out, error); /* checks the stream for errors */
}

void graphwriter_discard(graphwriter *w) {
    outfile_discard(&w->out);
    buf_free(&w->index);
    *w = (graphwriter){0};
}
