/* checkpoint.c - writes and verifies checkpoint files. */
#include "learn/train/checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/input.h"
#include "base/outfile.h"

static const char magic[8] = {'F', 'T', 'C', 'H', 'E', 'C', 'K', '1'};

enum { RUN_OFFSET = 8, SIZE_OFFSET = 40, HASH_OFFSET = 48, DIGITS = HASH_TEXT - 1 };
static_assert(HASH_OFFSET + DIGITS == CHECKPOINT_HEADER, "the hash ends the header");

static void put_size(uint8_t *bytes, uint64_t value) {
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get_size(const uint8_t *bytes) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* The hash of everything but the magic and the hash itself. */
static bool hash_content(const uint8_t *header, const void *state, size_t size, char text[static HASH_TEXT]) {
    hasher *h = hasher_new();
    if (h == NULL) return false;
    hasher_add(h, header + RUN_OFFSET, HASH_OFFSET - RUN_OFFSET);
    if (size > 0) hasher_add(h, state, size);
    hash_text(hasher_end(h), text);
    return true;
}

ft_status checkpoint_write(const char *path, hash128 run, const void *state, size_t size, ft_error *error) {
    uint8_t header[CHECKPOINT_HEADER];
    char text[HASH_TEXT];
    memcpy(header, magic, sizeof magic);
    memcpy(header + RUN_OFFSET, hash_text(run, text), DIGITS);
    put_size(header + SIZE_OFFSET, size);
    if (!hash_content(header, state, size, text)) return FT_NOMEM(error);
    memcpy(header + HASH_OFFSET, text, DIGITS);
    outfile out;
    FT_TRY(outfile_open(path, &out, error));
    fwrite(header, 1, sizeof header, out.stream); /* outfile_commit checks for write errors */
    if (size > 0) fwrite(state, 1, size, out.stream);
    return outfile_commit(&out, error);
}

static ft_status damaged(ft_error *error, const char *what) {
    return ft_fail(error, FT_ERR_DAMAGED, "the checkpoint is damaged (%s): remove it to restart the run", what);
}

ft_status checkpoint_parse(const void *bytes, size_t size, hash128 run, const void **state, size_t *state_size,
                           ft_error *error) {
    const uint8_t *header = bytes;
    char text[HASH_TEXT];
    if (size < CHECKPOINT_HEADER) return damaged(error, "truncated");
    if (memcmp(header, magic, sizeof magic) != 0)
        return ft_fail(error, FT_ERR_FORMAT, "not a checkpoint of this version: remove it to restart the run");
    if (get_size(header + SIZE_OFFSET) != size - CHECKPOINT_HEADER)
        return damaged(error, "the size in its header is wrong");
    if (!hash_content(header, header + CHECKPOINT_HEADER, size - CHECKPOINT_HEADER, text)) return FT_NOMEM(error);
    if (memcmp(header + HASH_OFFSET, text, DIGITS) != 0) return damaged(error, "hash mismatch");
    if (memcmp(header + RUN_OFFSET, hash_text(run, text), DIGITS) != 0)
        return ft_fail(error, FT_ERR_USAGE,
                       "the checkpoint belongs to another run (other data, options or version): remove it to restart "
                       "the run");
    *state = header + CHECKPOINT_HEADER;
    *state_size = size - CHECKPOINT_HEADER;
    return FT_OK;
}

static ft_status copy_state(const input *in, hash128 run, void **state, size_t *size, ft_error *error) {
    const void *found;
    size_t found_size;
    FT_TRY(checkpoint_parse(in->bytes, in->size, run, &found, &found_size, error));
    void *copy = malloc(found_size > 0 ? found_size : 1);
    if (copy == NULL) return FT_NOMEM(error);
    if (found_size > 0) memcpy(copy, found, found_size);
    *state = copy;
    *size = found_size;
    return FT_OK;
}

ft_status checkpoint_read(const char *path, hash128 run, void **state, size_t *size, ft_error *error) {
    *state = NULL;
    *size = 0;
    if (access(path, F_OK) != 0 && errno == ENOENT) return FT_OK;
    input in;
    FT_TRY(input_open(path, CHECKPOINT_MAX_BYTES, &in, error));
    ft_status status = copy_state(&in, run, state, size, error);
    input_close(&in);
    return status == FT_OK ? FT_OK : ft_fail_prefix(error, status, "%s", path);
}
