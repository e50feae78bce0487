/* pickle_machine.h - the stack machine of the pickle decoder: bytes, stack, marks and memo, and the opcodes that
 * create values. pickle.c has the table of opcodes and runs it. */
#ifndef READ_PICKLE_MACHINE_H
#define READ_PICKLE_MACHINE_H

#include "read/pickle/pickle.h"

typedef struct pickle_machine {
    pickle *out;
    const uint8_t *bytes;
    size_t size, at;
    pickle_value **stack;
    size_t depth, stack_capacity;
    size_t *marks; /* stack depths */
    size_t mark_count, mark_capacity;
    pickle_value **memo; /* NULL: not set */
    size_t memo_count, memo_capacity;
    bool is_done;
    ft_error *error;
} pickle_machine;

/* --- Values (pickle_value.c, pickle_global.c) -------------------------------------------------------------------- */

pickle_value *pickle_new(pickle *p, pickle_kind kind, ft_error *error); /* NULL when out of memory */
ft_status pickle_append(pickle *p, pickle_value *list, pickle_value *item, ft_error *error);
ft_status pickle_set(pickle *p, pickle_value *dict, pickle_value *key, pickle_value *value, ft_error *error);

/* Decodes escapes: those of a Python string, or those of Unicode text, which is Latin-1 with \u escapes and becomes
 * UTF-8. `out` has room for twice `length`. Returns the number of bytes written. */
size_t pickle_unescape(const char *text, size_t length, bool is_unicode, char *out);

/* The class of this name; FT_ERR_REFUSED when it is not allowed. */
ft_status pickle_find_class(pickle *p, const char *module, const char *name, pickle_value **made, ft_error *error);
/* The value that calling `type` with `args` would create. */
ft_status pickle_instantiate(pickle *p, const pickle_value *type, const pickle_value *args, pickle_value **made,
                             ft_error *error);
/* Applies BUILD: sets the state of an object. */
ft_status pickle_build(pickle_value *object, const pickle_value *state, ft_error *error);

/* --- Bytes, stack, marks, memo (pickle_machine.c) ---------------------------------------------------------------- */

ft_status pickle_damaged(pickle_machine *m, const char *what);

ft_status pickle_read_bytes(pickle_machine *m, size_t count, const uint8_t **bytes);
/* A little-endian number of up to eight bytes. */
ft_status pickle_read_number(pickle_machine *m, size_t count, uint64_t *number);
ft_status pickle_read_line(pickle_machine *m, const char **line, size_t *length);

/* Reserves space for one more than `count` items. */
bool pickle_reserve(void **items, size_t count, size_t *capacity, size_t size);
/* NULL means that the value could not be allocated. */
ft_status pickle_push(pickle_machine *m, pickle_value *value);
/* The stack depth of the last mark; 0 without a mark. */
size_t pickle_mark_depth(const pickle_machine *m);
ft_status pickle_pop(pickle_machine *m, pickle_value **value);
ft_status pickle_top(pickle_machine *m, pickle_value **value);
/* Pops everything above the last mark; the values stay readable until the next push. */
ft_status pickle_pop_to_mark(pickle_machine *m, pickle_value ***items, size_t *count);
ft_status pickle_memo_put(pickle_machine *m, uint64_t index);
ft_status pickle_memo_get(pickle_machine *m, uint64_t index);

/* --- Opcodes ----------------------------------------------------------------------------------------------------- */

/* `arg` depends on the opcode (see the table): the width of a number, a kind, a count of values. */
typedef ft_status pickle_op(pickle_machine *m, size_t arg);

/* pickle_scalar.c */
pickle_op pickle_op_counted_string, pickle_op_long, pickle_op_text_int, pickle_op_text_float, pickle_op_binary_float,
    pickle_op_text_unicode, pickle_op_text_string, pickle_op_small_int, pickle_op_bool;

/* pickle_object.c */
pickle_op pickle_op_empty, pickle_op_marked_list, pickle_op_short_tuple, pickle_op_marked_dict, pickle_op_append,
    pickle_op_appends, pickle_op_set_item, pickle_op_set_items, pickle_op_class, pickle_op_stack_class,
    pickle_op_reduce, pickle_op_named_instance, pickle_op_instance, pickle_op_build;

#endif
