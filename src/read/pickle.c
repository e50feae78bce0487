/* pickle.c - the stack machine that pickles are programs for, protocols 0 to 5, without the calls.
 *
 * Each opcode is a small function on the machine, found in a table. There is no recursion: nesting lives on the
 * machine's stack, which cannot hold more than one value per byte of input. Memory comes from one arena with a limit.
 */
#include "read/pickle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "foretell/graph.h"

enum {
    MAX_PICKLE_BYTES = 256 * 1024 * 1024,
    BASE_BYTES = 1024 * 1024,
    BYTES_PER_BYTE = 256,
    NEWEST_PROTOCOL = 5,
};

typedef struct machine {
    pickle *out;
    const uint8_t *bytes;
    size_t size, at;
    pickle_value **stack;
    size_t depth, stack_capacity;
    size_t *marks; /* depths of the stack */
    size_t mark_count, mark_capacity;
    pickle_value **memo; /* NULL: never set */
    size_t memo_count, memo_capacity;
    bool is_done;
    ft_error *error;
} machine;

/* --- Reading bytes ------------------------------------------------------------------------------------------- */

static ft_status damaged(machine *m, const char *what) {
    return ft_fail(m->error, FT_ERR_DAMAGED, "pickle, byte %zu: %s", m->at, what);
}

static ft_status take(machine *m, size_t count, const uint8_t **bytes) {
    if (m->size - m->at < count) return damaged(m, "ends in the middle of a value; the file is truncated");
    *bytes = m->bytes + m->at;
    m->at += count;
    return FT_OK;
}

/* A little-endian number of up to eight bytes. */
static ft_status take_number(machine *m, size_t count, uint64_t *number) {
    const uint8_t *bytes = NULL;
    FT_TRY(take(m, count, &bytes));
    *number = 0;
    for (size_t i = 0; i < count; i++) *number |= (uint64_t)bytes[i] << 8 * i;
    return FT_OK;
}

static ft_status take_line(machine *m, const char **line, size_t *length) {
    const uint8_t *start = m->bytes + m->at, *end = memchr(start, '\n', m->size - m->at);
    if (end == NULL) return damaged(m, "a line has no end; the file is truncated");
    *line = (const char *)start;
    *length = (size_t)(end - start);
    m->at += *length + 1;
    return FT_OK;
}

/* --- Stack, marks, memo -------------------------------------------------------------------------------------- */

static bool make_room(void **items, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity) return true;
    size_t larger = *capacity == 0 ? 256 : *capacity * 2;
    void *moved = realloc(*items, larger * size);
    if (moved == NULL) return false;
    *items = moved;
    *capacity = larger;
    return true;
}

static ft_status push(machine *m, pickle_value *value) {
    if (value == NULL || !make_room((void **)&m->stack, m->depth, &m->stack_capacity, sizeof *m->stack))
        return FT_NOMEM(m->error);
    m->stack[m->depth++] = value;
    return FT_OK;
}

/* Values above the last mark; without a mark, all. */
static size_t floor_of(const machine *m) {
    return m->mark_count > 0 ? m->marks[m->mark_count - 1] : 0;
}

static ft_status pop(machine *m, pickle_value **value) {
    if (m->depth <= floor_of(m)) return damaged(m, "takes a value from an empty stack");
    *value = m->stack[--m->depth];
    return FT_OK;
}

static ft_status top(machine *m, pickle_value **value) {
    if (m->depth <= floor_of(m)) return damaged(m, "looks at an empty stack");
    *value = m->stack[m->depth - 1];
    return FT_OK;
}

static ft_status op_mark(machine *m, size_t unused) {
    (void)unused;
    if (!make_room((void **)&m->marks, m->mark_count, &m->mark_capacity, sizeof *m->marks)) return FT_NOMEM(m->error);
    m->marks[m->mark_count++] = m->depth;
    return FT_OK;
}

/* Takes everything above the last mark off the stack: it stays readable until the next push. */
static ft_status pop_to_mark(machine *m, pickle_value ***items, size_t *count) {
    if (m->mark_count == 0) return damaged(m, "there is no mark to go back to");
    size_t start = m->marks[--m->mark_count];
    *items = m->stack + start;
    *count = m->depth - start;
    m->depth = start;
    return FT_OK;
}

static ft_status memo_put(machine *m, uint64_t index) {
    pickle_value *value = NULL;
    FT_TRY(top(m, &value));
    /* Picklers number from 0 on, and each entry takes a byte at least. */
    if (index >= m->size) return damaged(m, "the number of a memo is larger than the file could fill");
    while (m->memo_capacity <= index) {
        size_t before = m->memo_capacity;
        if (!make_room((void **)&m->memo, before, &m->memo_capacity, sizeof(pickle_value *))) return FT_NOMEM(m->error);
        memset(m->memo + before, 0, (m->memo_capacity - before) * sizeof(pickle_value *));
    }
    m->memo[index] = value;
    if (m->memo_count <= index) m->memo_count = (size_t)index + 1;
    return FT_OK;
}

static ft_status memo_get(machine *m, uint64_t index) {
    if (index >= m->memo_count || m->memo[index] == NULL) return damaged(m, "asks for a memo that was never set");
    return push(m, m->memo[index]);
}

/* --- Scalars ------------------------------------------------------------------------------------------------- */

static ft_status push_int(machine *m, pickle_kind kind, int64_t i) {
    pickle_value *value = pickle_new(m->out, kind, m->error);
    if (value != NULL) value->i = i;
    return push(m, value);
}

static ft_status push_float(machine *m, double f) {
    pickle_value *value = pickle_new(m->out, PICKLE_FLOAT, m->error);
    if (value != NULL) value->f = f;
    return push(m, value);
}

static ft_status push_string(machine *m, const char *text, uint64_t length) {
    pickle_value *value = pickle_new(m->out, PICKLE_STRING, m->error);
    if (value == NULL) return FT_ERR_NOMEM;
    value->s = arena_string(&m->out->memory, text, (size_t)length);
    if (value->s == NULL) return FT_NOMEM(m->error);
    value->count = (uint32_t)length; /* no file is larger than MAX_PICKLE_BYTES */
    return push(m, value);
}

/* A string behind its length of `width` bytes. */
static ft_status op_counted_string(machine *m, size_t width) {
    uint64_t length = 0;
    const uint8_t *bytes = NULL;
    FT_TRY(take_number(m, width, &length));
    FT_TRY(take(m, length > SIZE_MAX ? SIZE_MAX : (size_t)length, &bytes));
    return push_string(m, (const char *)bytes, length);
}

/* Two's complement, little-endian, of any length. */
static ft_status op_long(machine *m, size_t width) {
    uint64_t length = 0;
    const uint8_t *bytes = NULL;
    FT_TRY(take_number(m, width, &length));
    FT_TRY(take(m, (size_t)length, &bytes));
    bool is_negative = length > 0 && bytes[length - 1] >> 7 != 0;
    if (length <= 8) {
        uint64_t bits = is_negative ? UINT64_MAX : 0;
        for (size_t i = 0; i < length; i++) bits = (bits & ~(UINT64_C(255) << 8 * i)) | (uint64_t)bytes[i] << 8 * i;
        return push_int(m, PICKLE_INT, (int64_t)bits);
    }
    double sum = 0;
    for (size_t i = (size_t)length; i > 0; i--) sum = sum * 256 + (is_negative ? (uint8_t)~bytes[i - 1] : bytes[i - 1]);
    return push_float(m, is_negative ? -(sum + 1) : sum);
}

/* "12", "12L", and 00 and 01 for the booleans of protocol 1. */
static ft_status op_text_int(machine *m, size_t unused) {
    (void)unused;
    const char *line = NULL;
    size_t length = 0;
    int64_t value;
    double large;
    FT_TRY(take_line(m, &line, &length));
    if (length == 2 && line[0] == '0' && (line[1] == '0' || line[1] == '1'))
        return push_int(m, PICKLE_BOOL, line[1] == '1');
    if (length > 1 && line[length - 1] == 'L') length--;
    if (text_int(line, length, &value)) return push_int(m, PICKLE_INT, value);
    if (text_double(line, length, &large)) return push_float(m, large);
    return damaged(m, "a text that should be an integer is none");
}

static ft_status op_text_float(machine *m, size_t unused) {
    (void)unused;
    const char *line = NULL;
    size_t length = 0;
    double value;
    FT_TRY(take_line(m, &line, &length));
    if (text_double(line, length, &value)) return push_float(m, value);
    if (length == 3 && memcmp(line, "nan", 3) == 0) return push_float(m, NAN);
    if (length == 3 && memcmp(line, "inf", 3) == 0) return push_float(m, INFINITY);
    if (length == 4 && memcmp(line, "-inf", 4) == 0) return push_float(m, -INFINITY);
    return damaged(m, "a text that should be a number is none");
}

static ft_status op_binary_float(machine *m, size_t unused) {
    (void)unused;
    const uint8_t *bytes = NULL;
    FT_TRY(take(m, 8, &bytes));
    uint64_t bits = 0;
    double value;
    for (int i = 0; i < 8; i++) bits = bits << 8 | bytes[i];
    memcpy(&value, &bits, sizeof value);
    return push_float(m, value);
}

/* --- Text with escapes, protocol 0 --------------------------------------------------------------------------- */

static ft_status push_unescaped(machine *m, const char *text, size_t length, bool is_unicode) {
    char *out = arena_alloc(&m->out->memory, 2 * length + 1);
    pickle_value *value = pickle_new(m->out, PICKLE_STRING, m->error);
    if (out == NULL || value == NULL) return FT_NOMEM(m->error);
    value->s = out;
    value->count = (uint32_t)pickle_unescape(text, length, is_unicode, out);
    return push(m, value);
}

static ft_status op_text_unicode(machine *m, size_t unused) {
    (void)unused;
    const char *line = NULL;
    size_t length = 0;
    FT_TRY(take_line(m, &line, &length));
    return push_unescaped(m, line, length, true);
}

static ft_status op_text_string(machine *m, size_t unused) {
    (void)unused;
    const char *line = NULL;
    size_t length = 0;
    FT_TRY(take_line(m, &line, &length));
    if (length > 0 && line[length - 1] == '\r') length--;
    bool is_quoted = length >= 2 && (line[0] == '\'' || line[0] == '"') && line[length - 1] == line[0];
    if (!is_quoted) return damaged(m, "a string has no quotes around it");
    return push_unescaped(m, line + 1, length - 2, false);
}

/* --- Containers ---------------------------------------------------------------------------------------------- */

static ft_status push_empty(machine *m, size_t kind) {
    return push(m, pickle_new(m->out, (pickle_kind)kind, m->error));
}

static ft_status push_list(machine *m, pickle_value **items, size_t count) {
    pickle_value *list = pickle_new(m->out, PICKLE_LIST, m->error);
    if (list == NULL) return FT_ERR_NOMEM;
    list->items = arena_copy(&m->out->memory, items, count * sizeof *items);
    if (list->items == NULL) return FT_NOMEM(m->error);
    list->count = list->capacity = (uint32_t)count;
    return push(m, list);
}

static ft_status op_marked_list(machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL;
    size_t count = 0;
    FT_TRY(pop_to_mark(m, &items, &count));
    return push_list(m, items, count);
}

static ft_status op_short_tuple(machine *m, size_t count) {
    if (m->depth - floor_of(m) < count) return damaged(m, "makes a tuple of more values than there are");
    m->depth -= count;
    return push_list(m, m->stack + m->depth, count);
}

static ft_status add_items(machine *m, pickle_value **items, size_t count) {
    pickle_value *list;
    FT_TRY(top(m, &list));
    if (list->kind != PICKLE_LIST) return damaged(m, "appends to something that is no list");
    for (size_t i = 0; i < count; i++) FT_TRY(pickle_append(m->out, list, items[i], m->error));
    return FT_OK;
}

static ft_status add_pairs(machine *m, pickle_value *dict, pickle_value **items, size_t count) {
    if (dict->kind != PICKLE_DICT) return damaged(m, "sets a key of something that is no dict");
    if (count % 2 != 0) return damaged(m, "a key has no value");
    for (size_t i = 0; i < count; i += 2) FT_TRY(pickle_set(m->out, dict, items[i], items[i + 1], m->error));
    return FT_OK;
}

static ft_status op_marked_dict(machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL, *dict = pickle_new(m->out, PICKLE_DICT, m->error);
    size_t count = 0;
    if (dict == NULL) return FT_ERR_NOMEM;
    FT_TRY(pop_to_mark(m, &items, &count));
    FT_TRY(add_pairs(m, dict, items, count));
    return push(m, dict);
}

static ft_status op_append(machine *m, size_t unused) {
    (void)unused;
    pickle_value *item;
    FT_TRY(pop(m, &item));
    return add_items(m, &item, 1);
}

static ft_status op_appends(machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL;
    size_t count = 0;
    FT_TRY(pop_to_mark(m, &items, &count));
    return add_items(m, items, count);
}

static ft_status op_set_item(machine *m, size_t unused) {
    (void)unused;
    pickle_value *pair[2], *dict;
    FT_TRY(pop(m, &pair[1]));
    FT_TRY(pop(m, &pair[0]));
    FT_TRY(top(m, &dict));
    return add_pairs(m, dict, pair, 2);
}

static ft_status op_set_items(machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL, *dict = NULL;
    size_t count = 0;
    FT_TRY(pop_to_mark(m, &items, &count));
    FT_TRY(top(m, &dict));
    return add_pairs(m, dict, items, count);
}

/* --- Classes and objects ------------------------------------------------------------------------------------- */

static ft_status push_class(machine *m, const char *module, const char *name) {
    pickle_value *class;
    FT_TRY(pickle_find_class(m->out, module, name, &class, m->error));
    return push(m, class);
}

static ft_status op_class(machine *m, size_t unused) {
    (void)unused;
    const char *text[2];
    char *lines[2];
    for (int i = 0; i < 2; i++) {
        size_t length;
        FT_TRY(take_line(m, &text[i], &length));
        lines[i] = arena_string(&m->out->memory, text[i], length);
        if (lines[i] == NULL) return FT_NOMEM(m->error);
    }
    return push_class(m, lines[0], lines[1]);
}

static ft_status op_stack_class(machine *m, size_t unused) {
    (void)unused;
    pickle_value *module = NULL, *name = NULL;
    FT_TRY(pop(m, &name));
    FT_TRY(pop(m, &module));
    if (module->kind != PICKLE_STRING || name->kind != PICKLE_STRING) return damaged(m, "a class has no name");
    return push_class(m, module->s, name->s);
}

static ft_status make(machine *m, const pickle_value *class, const pickle_value *args) {
    pickle_value *made;
    FT_TRY(pickle_make(m->out, class, args, &made, m->error));
    return push(m, made);
}

/* REDUCE, NEWOBJ and NEWOBJ_EX: class, arguments and, for the last, keyword arguments. */
static ft_status op_make(machine *m, size_t has_keywords) {
    pickle_value *keywords, *args, *class;
    if (has_keywords) FT_TRY(pop(m, &keywords));
    FT_TRY(pop(m, &args));
    FT_TRY(pop(m, &class));
    return make(m, class, args);
}

/* Makes an object of a class and the `count` values at `items`, which were just taken off the stack. */
static ft_status make_instance(machine *m, const pickle_value *class, pickle_value **items, size_t count) {
    pickle_value *args;
    FT_TRY(push_list(m, items, count));
    FT_TRY(pop(m, &args));
    return make(m, class, args);
}

/* INST names the class in the text; OBJ has it as the first value above the mark. */
static ft_status op_named_instance(machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL, *class = NULL;
    size_t count = 0;
    FT_TRY(op_class(m, 0));
    FT_TRY(pop(m, &class));
    FT_TRY(pop_to_mark(m, &items, &count));
    return make_instance(m, class, items, count);
}

static ft_status op_instance(machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL;
    size_t count = 0;
    FT_TRY(pop_to_mark(m, &items, &count));
    if (count == 0) return damaged(m, "an object has no class");
    return make_instance(m, items[0], items + 1, count - 1);
}

static ft_status op_build(machine *m, size_t unused) {
    (void)unused;
    pickle_value *state = NULL, *object = NULL;
    FT_TRY(pop(m, &state));
    FT_TRY(top(m, &object));
    return pickle_build(object, state, m->error);
}

/* --- The machine --------------------------------------------------------------------------------------------- */

static ft_status op_protocol(machine *m, size_t unused) {
    (void)unused;
    uint64_t version;
    FT_TRY(take_number(m, 1, &version));
    if (version <= NEWEST_PROTOCOL) return FT_OK;
    return ft_fail(m->error, FT_ERR_UNSUPPORTED, "pickle protocol %u; 0 to %d are supported", (unsigned)version,
                   NEWEST_PROTOCOL);
}

static ft_status op_frame(machine *m, size_t unused) {
    (void)unused;
    uint64_t length = 0;
    FT_TRY(take_number(m, 8, &length));
    return length <= m->size - m->at ? FT_OK : damaged(m, "a frame is longer than the file, which is truncated");
}

static ft_status op_pop(machine *m, size_t unused) {
    (void)unused;
    pickle_value *value;
    if (m->depth > floor_of(m)) return pop(m, &value);
    if (m->mark_count == 0) return damaged(m, "takes a value from an empty stack");
    m->mark_count--; /* the mark itself is on top */
    return FT_OK;
}

static ft_status op_pop_mark(machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL;
    size_t count = 0;
    return pop_to_mark(m, &items, &count);
}

static ft_status op_duplicate(machine *m, size_t unused) {
    (void)unused;
    pickle_value *value = NULL;
    FT_TRY(top(m, &value));
    return push(m, value);
}

static ft_status op_small_int(machine *m, size_t width) {
    uint64_t number;
    FT_TRY(take_number(m, width, &number));
    return push_int(m, PICKLE_INT, width == 4 ? (int32_t)(uint32_t)number : (int64_t)number);
}

static ft_status op_bool(machine *m, size_t is_true) {
    return push_int(m, PICKLE_BOOL, is_true != 0);
}

static ft_status take_memo_line(machine *m, uint64_t *index) {
    const char *line = NULL;
    size_t length = 0;
    int64_t value;
    FT_TRY(take_line(m, &line, &length));
    if (!text_int(line, length, &value) || value < 0) return damaged(m, "the number of a memo is none");
    *index = (uint64_t)value;
    return FT_OK;
}

static ft_status op_text_put(machine *m, size_t unused) {
    (void)unused;
    uint64_t index = 0;
    FT_TRY(take_memo_line(m, &index));
    return memo_put(m, index);
}

static ft_status op_text_get(machine *m, size_t unused) {
    (void)unused;
    uint64_t index = 0;
    FT_TRY(take_memo_line(m, &index));
    return memo_get(m, index);
}

static ft_status op_binary_put(machine *m, size_t width) {
    uint64_t index = 0;
    FT_TRY(take_number(m, width, &index));
    return memo_put(m, index);
}

static ft_status op_binary_get(machine *m, size_t width) {
    uint64_t index = 0;
    FT_TRY(take_number(m, width, &index));
    return memo_get(m, index);
}

static ft_status op_memoize(machine *m, size_t unused) {
    (void)unused;
    return memo_put(m, m->memo_count);
}

static ft_status op_stop(machine *m, size_t unused) {
    (void)unused;
    pickle_value *root = NULL;
    FT_TRY(pop(m, &root));
    m->out->root = root;
    m->is_done = true;
    return FT_OK;
}

static ft_status op_refuse_id(machine *m, size_t unused) {
    (void)unused;
    return ft_fail(m->error, FT_ERR_REFUSED,
                   "pickle, byte %zu: asks its reader to fetch an object by a persistent id; nothing was run", m->at);
}

static ft_status op_refuse_extension(machine *m, size_t unused) {
    (void)unused;
    return ft_fail(m->error, FT_ERR_REFUSED,
                   "pickle, byte %zu: names a function by its number in Python's extension registry; nothing was run",
                   m->at);
}

static ft_status op_buffer(machine *m, size_t unused) {
    (void)unused;
    return ft_fail(m->error, FT_ERR_UNSUPPORTED, "pickle, byte %zu: keeps its data in buffers outside the file", m->at);
}

/* --- The opcodes --------------------------------------------------------------------------------------------- */

typedef struct opcode {
    ft_status (*run)(machine *m, size_t arg);
    size_t arg;
} opcode;

/* The names are those of Python's pickletools. */
static const opcode opcodes[256] = {
    ['N'] = {push_empty, PICKLE_NONE},  /* NONE */
    [0x88] = {op_bool, 1},              /* NEWTRUE */
    [0x89] = {op_bool, 0},              /* NEWFALSE */
    ['I'] = {op_text_int, 0},           /* INT */
    ['L'] = {op_text_int, 0},           /* LONG */
    ['F'] = {op_text_float, 0},         /* FLOAT */
    ['G'] = {op_binary_float, 0},       /* BINFLOAT */
    ['K'] = {op_small_int, 1},          /* BININT1 */
    ['M'] = {op_small_int, 2},          /* BININT2 */
    ['J'] = {op_small_int, 4},          /* BININT */
    [0x8a] = {op_long, 1},              /* LONG1 */
    [0x8b] = {op_long, 4},              /* LONG4 */
    ['S'] = {op_text_string, 0},        /* STRING */
    ['V'] = {op_text_unicode, 0},       /* UNICODE */
    ['U'] = {op_counted_string, 1},     /* SHORT_BINSTRING */
    ['C'] = {op_counted_string, 1},     /* SHORT_BINBYTES */
    [0x8c] = {op_counted_string, 1},    /* SHORT_BINUNICODE */
    ['T'] = {op_counted_string, 4},     /* BINSTRING */
    ['X'] = {op_counted_string, 4},     /* BINUNICODE */
    ['B'] = {op_counted_string, 4},     /* BINBYTES */
    [0x8d] = {op_counted_string, 8},    /* BINUNICODE8 */
    [0x8e] = {op_counted_string, 8},    /* BINBYTES8 */
    [0x96] = {op_counted_string, 8},    /* BYTEARRAY8 */
    [']'] = {push_empty, PICKLE_LIST},  /* EMPTY_LIST */
    [')'] = {push_empty, PICKLE_LIST},  /* EMPTY_TUPLE */
    [0x8f] = {push_empty, PICKLE_LIST}, /* EMPTY_SET */
    ['}'] = {push_empty, PICKLE_DICT},  /* EMPTY_DICT */
    ['l'] = {op_marked_list, 0},        /* LIST */
    ['t'] = {op_marked_list, 0},        /* TUPLE */
    [0x91] = {op_marked_list, 0},       /* FROZENSET */
    ['d'] = {op_marked_dict, 0},        /* DICT */
    [0x85] = {op_short_tuple, 1},       /* TUPLE1 */
    [0x86] = {op_short_tuple, 2},       /* TUPLE2 */
    [0x87] = {op_short_tuple, 3},       /* TUPLE3 */
    ['a'] = {op_append, 0},             /* APPEND */
    ['e'] = {op_appends, 0},            /* APPENDS */
    [0x90] = {op_appends, 0},           /* ADDITEMS */
    ['s'] = {op_set_item, 0},           /* SETITEM */
    ['u'] = {op_set_items, 0},          /* SETITEMS */
    [0x80] = {op_protocol, 0},          /* PROTO */
    [0x95] = {op_frame, 0},             /* FRAME */
    ['.'] = {op_stop, 0},               /* STOP */
    ['('] = {op_mark, 0},               /* MARK */
    ['0'] = {op_pop, 0},                /* POP */
    ['1'] = {op_pop_mark, 0},           /* POP_MARK */
    ['2'] = {op_duplicate, 0},          /* DUP */
    ['p'] = {op_text_put, 0},           /* PUT */
    ['q'] = {op_binary_put, 1},         /* BINPUT */
    ['r'] = {op_binary_put, 4},         /* LONG_BINPUT */
    [0x94] = {op_memoize, 0},           /* MEMOIZE */
    ['g'] = {op_text_get, 0},           /* GET */
    ['h'] = {op_binary_get, 1},         /* BINGET */
    ['j'] = {op_binary_get, 4},         /* LONG_BINGET */
    ['c'] = {op_class, 0},              /* GLOBAL */
    [0x93] = {op_stack_class, 0},       /* STACK_GLOBAL */
    ['R'] = {op_make, 0},               /* REDUCE */
    [0x81] = {op_make, 0},              /* NEWOBJ */
    [0x92] = {op_make, 1},              /* NEWOBJ_EX */
    ['i'] = {op_named_instance, 0},     /* INST */
    ['o'] = {op_instance, 0},           /* OBJ */
    ['b'] = {op_build, 0},              /* BUILD */
    ['P'] = {op_refuse_id, 0},          /* PERSID */
    ['Q'] = {op_refuse_id, 0},          /* BINPERSID */
    [0x82] = {op_refuse_extension, 0},  /* EXT1 */
    [0x83] = {op_refuse_extension, 0},  /* EXT2 */
    [0x84] = {op_refuse_extension, 0},  /* EXT4 */
    [0x97] = {op_buffer, 0},            /* NEXT_BUFFER */
    [0x98] = {op_buffer, 0},            /* READONLY_BUFFER */
};

static ft_status run(machine *m) {
    while (!m->is_done) {
        if (m->at == m->size) return damaged(m, "ends without a STOP; the file is truncated");
        uint8_t code = m->bytes[m->at++];
        const opcode *op = &opcodes[code];
        if (op->run == NULL)
            return ft_fail(m->error, FT_ERR_DAMAGED, "pickle, byte %zu: unknown opcode 0x%02x", m->at - 1, code);
        FT_TRY(op->run(m, op->arg));
    }
    return FT_OK;
}

ft_status pickle_decode(const uint8_t *bytes, size_t size, pickle *made, ft_error *error) {
    if (size > MAX_PICKLE_BYTES)
        return ft_fail(error, FT_ERR_LIMIT, "the pickle has more than %d bytes", MAX_PICKLE_BYTES);
    *made = (pickle){0};
    /* An honest pickle never takes so much more than its size; one that copies the same dict again and again does. */
    uint64_t limit = BASE_BYTES + (uint64_t)size * BYTES_PER_BYTE;
    arena_init(&made->memory, limit < FT_MAX_GRAPH_BYTES ? limit : FT_MAX_GRAPH_BYTES);
    machine m = {.out = made, .bytes = bytes, .size = size, .error = error};
    bool has_stack = make_room((void **)&m.stack, 0, &m.stack_capacity, sizeof *m.stack);
    ft_status status = has_stack ? run(&m) : FT_NOMEM(error);
    free(m.stack);
    free(m.marks);
    free(m.memo);
    if (status != FT_OK) pickle_free(made);
    return status;
}

void pickle_free(pickle *p) {
    arena_free(&p->memory);
    p->root = NULL;
}
