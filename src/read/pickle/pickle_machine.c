/* pickle_machine.c - input bytes, stack, marks and memo of the pickle machine. */
#include "read/pickle/pickle_machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- Reading bytes ----------------------------------------------------------------------------------------------- */

ft_status pickle_damaged(pickle_machine *m, const char *what) {
    return ft_fail(m->error, FT_ERR_DAMAGED, "pickle, byte %zu: %s", m->at, what);
}

ft_status pickle_read_bytes(pickle_machine *m, size_t count, const uint8_t **bytes) {
    assert(m->at <= m->size);
    if (m->size - m->at < count) return pickle_damaged(m, "truncated: the file ends inside a value");
    *bytes = m->bytes + m->at;
    m->at += count;
    return FT_OK;
}

ft_status pickle_read_number(pickle_machine *m, size_t count, uint64_t *number) {
    assert(count <= 8);
    const uint8_t *bytes = NULL;
    FT_TRY(pickle_read_bytes(m, count, &bytes));
    *number = 0;
    for (size_t i = 0; i < count; i++) *number |= (uint64_t)bytes[i] << 8 * i;
    return FT_OK;
}

ft_status pickle_read_line(pickle_machine *m, const char **line, size_t *length) {
    const uint8_t *start = m->bytes + m->at, *end = memchr(start, '\n', m->size - m->at);
    if (end == NULL) return pickle_damaged(m, "truncated: the file ends inside a line");
    *line = (const char *)start;
    *length = (size_t)(end - start);
    m->at += *length + 1;
    return FT_OK;
}

/* --- Stack, marks, memo ------------------------------------------------------------------------------------------ */

bool pickle_reserve(void **items, size_t count, size_t *capacity, size_t size) {
    assert(count <= *capacity);
    if (count < *capacity) return true;
    size_t larger = *capacity == 0 ? 256 : *capacity * 2;
    void *moved = realloc(*items, larger * size);
    if (moved == NULL) return false;
    *items = moved;
    *capacity = larger;
    return true;
}

ft_status pickle_push(pickle_machine *m, pickle_value *value) {
    if (value == NULL || !pickle_reserve((void **)&m->stack, m->depth, &m->stack_capacity, sizeof *m->stack))
        return FT_NOMEM(m->error);
    m->stack[m->depth++] = value;
    return FT_OK;
}

size_t pickle_mark_depth(const pickle_machine *m) {
    return m->mark_count > 0 ? m->marks[m->mark_count - 1] : 0;
}

ft_status pickle_pop(pickle_machine *m, pickle_value **value) {
    if (m->depth <= pickle_mark_depth(m)) return pickle_damaged(m, "pops an empty stack");
    *value = m->stack[--m->depth];
    return FT_OK;
}

ft_status pickle_top(pickle_machine *m, pickle_value **value) {
    if (m->depth <= pickle_mark_depth(m)) return pickle_damaged(m, "reads an empty stack");
    *value = m->stack[m->depth - 1];
    return FT_OK;
}

ft_status pickle_pop_to_mark(pickle_machine *m, pickle_value ***items, size_t *count) {
    if (m->mark_count == 0) return pickle_damaged(m, "no mark on the stack");
    size_t start = m->marks[--m->mark_count];
    assert(start <= m->depth); /* pops never pass a mark */
    *items = m->stack + start;
    *count = m->depth - start;
    m->depth = start;
    return FT_OK;
}

ft_status pickle_memo_put(pickle_machine *m, uint64_t index) {
    pickle_value *value = NULL;
    FT_TRY(pickle_top(m, &value));
    /* Picklers number memos from 0, and each entry takes at least one byte. */
    if (index >= m->size) return pickle_damaged(m, "a memo index larger than the file");
    while (m->memo_capacity <= index) {
        size_t before = m->memo_capacity;
        if (!pickle_reserve((void **)&m->memo, before, &m->memo_capacity, sizeof(pickle_value *)))
            return FT_NOMEM(m->error);
        memset(m->memo + before, 0, (m->memo_capacity - before) * sizeof(pickle_value *));
    }
    m->memo[index] = value;
    if (m->memo_count <= index) m->memo_count = (size_t)index + 1;
    return FT_OK;
}

ft_status pickle_memo_get(pickle_machine *m, uint64_t index) {
    if (index >= m->memo_count || m->memo[index] == NULL) return pickle_damaged(m, "reads a memo that was never set");
    return pickle_push(m, m->memo[index]);
}
