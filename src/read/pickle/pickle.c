/* pickle.c - decoder of pickles, protocols 0 to 5: executes the opcodes without calling anything.
 *
 * Each opcode is a small function on the machine, found in a table. There is no recursion: nesting lives on the
 * machine's stack, which holds at most one value per byte of input. Memory comes from one arena with a limit. */
#include "read/pickle/pickle.h"

#include <stdlib.h>

#include "base/text.h"
#include "foretell/graph.h"
#include "read/pickle/pickle_machine.h"

enum {
    MAX_PICKLE_BYTES = 256 * 1024 * 1024,
    BASE_BYTES = 1024 * 1024,
    BYTES_PER_BYTE = 256,
    NEWEST_PROTOCOL = 5,
};

/* --- The machine ------------------------------------------------------------------------------------------------- */

static ft_status op_protocol(pickle_machine *m, size_t unused) {
    (void)unused;
    uint64_t version;
    FT_TRY(pickle_read_number(m, 1, &version));
    if (version <= NEWEST_PROTOCOL) return FT_OK;
    return ft_fail(m->error, FT_ERR_UNSUPPORTED, "pickle protocol %u; 0 to %d are supported", (unsigned)version,
                   NEWEST_PROTOCOL);
}

static ft_status op_frame(pickle_machine *m, size_t unused) {
    (void)unused;
    uint64_t length = 0;
    FT_TRY(pickle_read_number(m, 8, &length));
    return length <= m->size - m->at ? FT_OK : pickle_damaged(m, "truncated: a frame runs past the end of the file");
}

static ft_status op_mark(pickle_machine *m, size_t unused) {
    (void)unused;
    if (!pickle_reserve((void **)&m->marks, m->mark_count, &m->mark_capacity, sizeof *m->marks))
        return FT_NOMEM(m->error);
    m->marks[m->mark_count++] = m->depth;
    return FT_OK;
}

static ft_status op_pop(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value *value;
    if (m->depth > pickle_mark_depth(m)) return pickle_pop(m, &value);
    if (m->mark_count == 0) return pickle_damaged(m, "pops an empty stack");
    m->mark_count--; /* the mark itself is on top */
    return FT_OK;
}

static ft_status op_pop_mark(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL;
    size_t count = 0;
    return pickle_pop_to_mark(m, &items, &count);
}

static ft_status op_duplicate(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value *value = NULL;
    FT_TRY(pickle_top(m, &value));
    return pickle_push(m, value);
}

static ft_status read_memo_line(pickle_machine *m, uint64_t *index) {
    const char *line = NULL;
    size_t length = 0;
    int64_t value;
    FT_TRY(pickle_read_line(m, &line, &length));
    if (!text_int(line, length, &value) || value < 0) return pickle_damaged(m, "an invalid memo index");
    *index = (uint64_t)value;
    return FT_OK;
}

static ft_status op_text_put(pickle_machine *m, size_t unused) {
    (void)unused;
    uint64_t index = 0;
    FT_TRY(read_memo_line(m, &index));
    return pickle_memo_put(m, index);
}

static ft_status op_text_get(pickle_machine *m, size_t unused) {
    (void)unused;
    uint64_t index = 0;
    FT_TRY(read_memo_line(m, &index));
    return pickle_memo_get(m, index);
}

static ft_status op_binary_put(pickle_machine *m, size_t width) {
    uint64_t index = 0;
    FT_TRY(pickle_read_number(m, width, &index));
    return pickle_memo_put(m, index);
}

static ft_status op_binary_get(pickle_machine *m, size_t width) {
    uint64_t index = 0;
    FT_TRY(pickle_read_number(m, width, &index));
    return pickle_memo_get(m, index);
}

static ft_status op_memoize(pickle_machine *m, size_t unused) {
    (void)unused;
    return pickle_memo_put(m, m->memo_count);
}

static ft_status op_stop(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value *root = NULL;
    FT_TRY(pickle_pop(m, &root));
    m->out->root = root;
    m->is_done = true;
    return FT_OK;
}

static ft_status op_refuse_id(pickle_machine *m, size_t unused) {
    (void)unused;
    return ft_fail(
        m->error, FT_ERR_REFUSED,
        "pickle, byte %zu: refers to an external object by a persistent id, which is refused; nothing was run", m->at);
}

static ft_status op_refuse_extension(pickle_machine *m, size_t unused) {
    (void)unused;
    return ft_fail(
        m->error, FT_ERR_REFUSED,
        "pickle, byte %zu: refers to a function in Python's extension registry, which is refused; nothing was run",
        m->at);
}

static ft_status op_buffer(pickle_machine *m, size_t unused) {
    (void)unused;
    return ft_fail(m->error, FT_ERR_UNSUPPORTED, "pickle, byte %zu: its data is in buffers outside the file", m->at);
}

/* --- The opcodes ------------------------------------------------------------------------------------------------- */

typedef struct opcode {
    pickle_op *run;
    size_t arg;
} opcode;

/* The names are those of Python's pickletools. */
static const opcode opcodes[256] = {
    ['N'] = {pickle_op_empty, PICKLE_NONE},  /* NONE */
    [0x88] = {pickle_op_bool, 1},            /* NEWTRUE */
    [0x89] = {pickle_op_bool, 0},            /* NEWFALSE */
    ['I'] = {pickle_op_text_int, 0},         /* INT */
    ['L'] = {pickle_op_text_int, 0},         /* LONG */
    ['F'] = {pickle_op_text_float, 0},       /* FLOAT */
    ['G'] = {pickle_op_binary_float, 0},     /* BINFLOAT */
    ['K'] = {pickle_op_small_int, 1},        /* BININT1 */
    ['M'] = {pickle_op_small_int, 2},        /* BININT2 */
    ['J'] = {pickle_op_small_int, 4},        /* BININT */
    [0x8a] = {pickle_op_long, 1},            /* LONG1 */
    [0x8b] = {pickle_op_long, 4},            /* LONG4 */
    ['S'] = {pickle_op_text_string, 0},      /* STRING */
    ['V'] = {pickle_op_text_unicode, 0},     /* UNICODE */
    ['U'] = {pickle_op_counted_string, 1},   /* SHORT_BINSTRING */
    ['C'] = {pickle_op_counted_string, 1},   /* SHORT_BINBYTES */
    [0x8c] = {pickle_op_counted_string, 1},  /* SHORT_BINUNICODE */
    ['T'] = {pickle_op_counted_string, 4},   /* BINSTRING */
    ['X'] = {pickle_op_counted_string, 4},   /* BINUNICODE */
    ['B'] = {pickle_op_counted_string, 4},   /* BINBYTES */
    [0x8d] = {pickle_op_counted_string, 8},  /* BINUNICODE8 */
    [0x8e] = {pickle_op_counted_string, 8},  /* BINBYTES8 */
    [0x96] = {pickle_op_counted_string, 8},  /* BYTEARRAY8 */
    [']'] = {pickle_op_empty, PICKLE_LIST},  /* EMPTY_LIST */
    [')'] = {pickle_op_empty, PICKLE_LIST},  /* EMPTY_TUPLE */
    [0x8f] = {pickle_op_empty, PICKLE_LIST}, /* EMPTY_SET */
    ['}'] = {pickle_op_empty, PICKLE_DICT},  /* EMPTY_DICT */
    ['l'] = {pickle_op_marked_list, 0},      /* LIST */
    ['t'] = {pickle_op_marked_list, 0},      /* TUPLE */
    [0x91] = {pickle_op_marked_list, 0},     /* FROZENSET */
    ['d'] = {pickle_op_marked_dict, 0},      /* DICT */
    [0x85] = {pickle_op_short_tuple, 1},     /* TUPLE1 */
    [0x86] = {pickle_op_short_tuple, 2},     /* TUPLE2 */
    [0x87] = {pickle_op_short_tuple, 3},     /* TUPLE3 */
    ['a'] = {pickle_op_append, 0},           /* APPEND */
    ['e'] = {pickle_op_appends, 0},          /* APPENDS */
    [0x90] = {pickle_op_appends, 0},         /* ADDITEMS */
    ['s'] = {pickle_op_set_item, 0},         /* SETITEM */
    ['u'] = {pickle_op_set_items, 0},        /* SETITEMS */
    [0x80] = {op_protocol, 0},               /* PROTO */
    [0x95] = {op_frame, 0},                  /* FRAME */
    ['.'] = {op_stop, 0},                    /* STOP */
    ['('] = {op_mark, 0},                    /* MARK */
    ['0'] = {op_pop, 0},                     /* POP */
    ['1'] = {op_pop_mark, 0},                /* POP_MARK */
    ['2'] = {op_duplicate, 0},               /* DUP */
    ['p'] = {op_text_put, 0},                /* PUT */
    ['q'] = {op_binary_put, 1},              /* BINPUT */
    ['r'] = {op_binary_put, 4},              /* LONG_BINPUT */
    [0x94] = {op_memoize, 0},                /* MEMOIZE */
    ['g'] = {op_text_get, 0},                /* GET */
    ['h'] = {op_binary_get, 1},              /* BINGET */
    ['j'] = {op_binary_get, 4},              /* LONG_BINGET */
    ['c'] = {pickle_op_class, 0},            /* GLOBAL */
    [0x93] = {pickle_op_stack_class, 0},     /* STACK_GLOBAL */
    ['R'] = {pickle_op_reduce, 0},           /* REDUCE */
    [0x81] = {pickle_op_reduce, 0},          /* NEWOBJ */
    [0x92] = {pickle_op_reduce, 1},          /* NEWOBJ_EX */
    ['i'] = {pickle_op_named_instance, 0},   /* INST */
    ['o'] = {pickle_op_instance, 0},         /* OBJ */
    ['b'] = {pickle_op_build, 0},            /* BUILD */
    ['P'] = {op_refuse_id, 0},               /* PERSID */
    ['Q'] = {op_refuse_id, 0},               /* BINPERSID */
    [0x82] = {op_refuse_extension, 0},       /* EXT1 */
    [0x83] = {op_refuse_extension, 0},       /* EXT2 */
    [0x84] = {op_refuse_extension, 0},       /* EXT4 */
    [0x97] = {op_buffer, 0},                 /* NEXT_BUFFER */
    [0x98] = {op_buffer, 0},                 /* READONLY_BUFFER */
};

static ft_status run(pickle_machine *m) {
    while (!m->is_done) {
        if (m->at == m->size) return pickle_damaged(m, "truncated: the file ends without a STOP");
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
    /* Valid pickles need little more than their size; one that copies the same dict again and again needs much more. */
    uint64_t limit = BASE_BYTES + (uint64_t)size * BYTES_PER_BYTE;
    arena_init(&made->memory, limit < FT_MAX_GRAPH_BYTES ? limit : FT_MAX_GRAPH_BYTES);
    pickle_machine m = {.out = made, .bytes = bytes, .size = size, .error = error};
    bool has_stack = pickle_reserve((void **)&m.stack, 0, &m.stack_capacity, sizeof *m.stack);
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
