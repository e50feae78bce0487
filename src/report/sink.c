/* sink.c - buffered output, and a hash table of the texts that were shortened in it. */
#include "report/sink.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

enum { RELIEVE_BYTES = 1 << 16 };

static void pass_on(sink *s) {
    if (s->text.length == 0) return;
    errno = 0;
    if (s->write_errno == 0 && fwrite(s->text.data, 1, s->text.length, s->stream) != s->text.length)
        s->write_errno = errno != 0 ? errno : EIO;
    s->text.length = 0;
}

void sink_relieve(sink *s) {
    if (s->text.length >= RELIEVE_BYTES) pass_on(s);
}

ft_status sink_flush(sink *s, ft_error *error) {
    pass_on(s);
    if (s->write_errno == 0 && fflush(s->stream) != 0) s->write_errno = errno;
    if (s->text.failed) return FT_NOMEM(error);
    if (s->write_errno != 0) return ft_fail_file(error, NULL, "cannot write the report", s->write_errno);
    return FT_OK;
}

/* FNV-1a; never 0. */
static uint64_t hash(const char *text) {
    uint64_t h = 0xcbf29ce484222325;
    for (; *text != '\0'; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3;
    return h | 1;
}

static struct shortened_text *find(struct shortened_text *table, uint32_t capacity, uint64_t shown) {
    assert(capacity > 0 && (capacity & (capacity - 1)) == 0 && shown != 0);
    uint32_t at = (uint32_t)(shown >> 1) & (capacity - 1);
    while (table[at].shown != 0 && table[at].shown != shown) at = (at + 1) & (capacity - 1);
    return &table[at];
}

static bool grow(sink *s) {
    uint32_t capacity = s->shortened_capacity == 0 ? 64 : 2 * s->shortened_capacity;
    struct shortened_text *larger = calloc(capacity, sizeof *larger);
    if (larger == NULL) return false;
    for (uint32_t i = 0; i < s->shortened_capacity; i++)
        if (s->shortened[i].shown != 0) *find(larger, capacity, s->shortened[i].shown) = s->shortened[i];
    free(s->shortened);
    s->shortened = larger;
    s->shortened_capacity = capacity;
    return true;
}

bool sink_is_new(sink *s, const char *shown, const char *whole) {
    if (2 * s->shortened_count >= s->shortened_capacity && !grow(s)) {
        s->text.failed = true;
        return true;
    }
    struct shortened_text *place = find(s->shortened, s->shortened_capacity, hash(shown));
    if (place->shown != 0) return place->whole == hash(whole);
    *place = (struct shortened_text){.shown = hash(shown), .whole = hash(whole)};
    s->shortened_count++;
    assert(s->shortened_count < s->shortened_capacity); /* find() ends at an empty slot */
    return true;
}

void sink_free(sink *s) {
    free(s->shortened);
    s->shortened = NULL;
    s->shortened_count = s->shortened_capacity = 0;
    buf_free(&s->text);
}
