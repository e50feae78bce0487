/* pickle_writer.c - encoder of the protocol 4 opcodes that graphs need. */
#include "generate/pickle_writer.h"

#include <assert.h>
#include <string.h>

/* An opcode followed by a number, least significant byte first. */
static void put_op(pickle_writer *w, char opcode, uint64_t value, size_t bytes) {
    assert(bytes <= 8);
    char text[9] = {opcode};
    for (size_t i = 0; i < bytes; i++) text[1 + i] = (char)(value >> 8 * i);
    buf_add(w->out, text, 1 + bytes);
}

static uint32_t memoize(pickle_writer *w) {
    buf_char(w->out, '\x94');
    return w->memo_count++;
}

void pickle_writer_begin(pickle_writer *w, buf *out) {
    *w = (pickle_writer){.out = out};
    buf_add(out, "\x80\x04", 2);
}

void pickle_writer_end(pickle_writer *w) {
    buf_char(w->out, '.');
}

void pickle_put_object(pickle_writer *w, const char *module, const char *name) {
    pickle_put_string(w, module);
    pickle_put_string(w, name);
    buf_add(w->out, "\x93)\x81", 3); /* the class by its name; (); an object */
}

void pickle_put_build(pickle_writer *w) {
    buf_char(w->out, 'b');
}

uint32_t pickle_put_dict(pickle_writer *w) {
    buf_char(w->out, '}');
    return memoize(w);
}

void pickle_put_items_begin(pickle_writer *w) {
    buf_char(w->out, '(');
}

void pickle_put_items_end(pickle_writer *w) {
    buf_char(w->out, 'u');
}

void pickle_put_memo(pickle_writer *w, uint32_t memo) {
    put_op(w, memo < 256 ? 'h' : 'j', memo, memo < 256 ? 1 : 4);
}

void pickle_put_string(pickle_writer *w, const char *text) {
    size_t length = strlen(text);
    assert(length < 256);
    put_op(w, '\x8c', length, 1);
    buf_add(w->out, text, length);
}

/* Interned strings recur in the same order: the one after the last is tried first. */
static bool find_interned(pickle_writer *w, const char *literal) {
    for (uint32_t i = 0; i < w->word_count; i++) {
        uint32_t at = (w->last_word + 1 + i) % w->word_count;
        if (w->words[at] != literal) continue;
        w->last_word = at;
        return true;
    }
    return false;
}

void pickle_put_interned(pickle_writer *w, const char *literal) {
    if (find_interned(w, literal)) {
        pickle_put_memo(w, w->word_memo[w->last_word]);
        return;
    }
    pickle_put_string(w, literal);
    uint32_t memo = memoize(w);
    if (w->word_count == PICKLE_WORDS) return;
    w->last_word = w->word_count;
    w->words[w->word_count] = literal;
    w->word_memo[w->word_count++] = memo;
}

/* One byte, two, four with a sign, or eight. */
void pickle_put_int(pickle_writer *w, int64_t value) {
    if (value >= 0 && value < 256) {
        put_op(w, 'K', (uint64_t)value, 1);
    } else if (value >= 0 && value < 65536) {
        put_op(w, 'M', (uint64_t)value, 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        put_op(w, 'J', (uint64_t)value, 4);
    } else {
        buf_add(w->out, "\x8a\x08", 2);
        for (int i = 0; i < 8; i++) buf_char(w->out, (char)((uint64_t)value >> 8 * i));
    }
}

void pickle_put_float(pickle_writer *w, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_op(w, 'G', __builtin_bswap64(bits), 8); /* most significant byte first */
}
