/* pickle_object.c - opcodes that create lists, dicts, classes and objects from the stack. */
#include <assert.h>

#include "read/pickle/pickle_machine.h"

/* --- Containers -------------------------------------------------------------------------------------------------- */

ft_status pickle_op_empty(pickle_machine *m, size_t kind) {
    return pickle_push(m, pickle_new(m->out, (pickle_kind)kind, m->error));
}

static ft_status push_list(pickle_machine *m, pickle_value **items, size_t count) {
    pickle_value *list = pickle_new(m->out, PICKLE_LIST, m->error);
    if (list == NULL) return FT_ERR_NOMEM;
    list->items = arena_copy(&m->out->memory, items, count * sizeof *items);
    if (list->items == NULL) return FT_NOMEM(m->error);
    list->count = list->capacity = (uint32_t)count;
    return pickle_push(m, list);
}

ft_status pickle_op_marked_list(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL;
    size_t count = 0;
    FT_TRY(pickle_pop_to_mark(m, &items, &count));
    return push_list(m, items, count);
}

ft_status pickle_op_short_tuple(pickle_machine *m, size_t count) {
    assert(count >= 1 && count <= 3);
    if (m->depth - pickle_mark_depth(m) < count)
        return pickle_damaged(m, "a tuple of more values than the stack holds");
    m->depth -= count;
    return push_list(m, m->stack + m->depth, count);
}

static ft_status add_items(pickle_machine *m, pickle_value **items, size_t count) {
    pickle_value *list;
    FT_TRY(pickle_top(m, &list));
    if (list->kind != PICKLE_LIST) return pickle_damaged(m, "appends to a value that is not a list");
    for (size_t i = 0; i < count; i++) FT_TRY(pickle_append(m->out, list, items[i], m->error));
    return FT_OK;
}

static ft_status add_pairs(pickle_machine *m, pickle_value *dict, pickle_value **items, size_t count) {
    if (dict->kind != PICKLE_DICT) return pickle_damaged(m, "sets a key of a value that is not a dict");
    if (count % 2 != 0) return pickle_damaged(m, "a key has no value");
    for (size_t i = 0; i < count; i += 2) FT_TRY(pickle_set(m->out, dict, items[i], items[i + 1], m->error));
    return FT_OK;
}

ft_status pickle_op_marked_dict(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL, *dict = pickle_new(m->out, PICKLE_DICT, m->error);
    size_t count = 0;
    if (dict == NULL) return FT_ERR_NOMEM;
    FT_TRY(pickle_pop_to_mark(m, &items, &count));
    FT_TRY(add_pairs(m, dict, items, count));
    return pickle_push(m, dict);
}

ft_status pickle_op_append(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value *item;
    FT_TRY(pickle_pop(m, &item));
    return add_items(m, &item, 1);
}

ft_status pickle_op_appends(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL;
    size_t count = 0;
    FT_TRY(pickle_pop_to_mark(m, &items, &count));
    return add_items(m, items, count);
}

ft_status pickle_op_set_item(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value *pair[2], *dict;
    FT_TRY(pickle_pop(m, &pair[1]));
    FT_TRY(pickle_pop(m, &pair[0]));
    FT_TRY(pickle_top(m, &dict));
    return add_pairs(m, dict, pair, 2);
}

ft_status pickle_op_set_items(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL, *dict = NULL;
    size_t count = 0;
    FT_TRY(pickle_pop_to_mark(m, &items, &count));
    FT_TRY(pickle_top(m, &dict));
    return add_pairs(m, dict, items, count);
}

/* --- Classes and objects ----------------------------------------------------------------------------------------- */

static ft_status push_class(pickle_machine *m, const char *module, const char *name) {
    pickle_value *class;
    FT_TRY(pickle_find_class(m->out, module, name, &class, m->error));
    return pickle_push(m, class);
}

ft_status pickle_op_class(pickle_machine *m, size_t unused) {
    (void)unused;
    const char *text[2];
    char *lines[2];
    for (int i = 0; i < 2; i++) {
        size_t length;
        FT_TRY(pickle_read_line(m, &text[i], &length));
        lines[i] = arena_string(&m->out->memory, text[i], length);
        if (lines[i] == NULL) return FT_NOMEM(m->error);
    }
    return push_class(m, lines[0], lines[1]);
}

ft_status pickle_op_stack_class(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value *module = NULL, *name = NULL;
    FT_TRY(pickle_pop(m, &name));
    FT_TRY(pickle_pop(m, &module));
    if (module->kind != PICKLE_STRING || name->kind != PICKLE_STRING) return pickle_damaged(m, "a class has no name");
    return push_class(m, module->s, name->s);
}

static ft_status push_instance(pickle_machine *m, const pickle_value *class, const pickle_value *args) {
    pickle_value *made;
    FT_TRY(pickle_instantiate(m->out, class, args, &made, m->error));
    return pickle_push(m, made);
}

/* REDUCE, NEWOBJ and NEWOBJ_EX: class, arguments and, for the last, keyword arguments. */
ft_status pickle_op_reduce(pickle_machine *m, size_t has_keywords) {
    pickle_value *keywords, *args, *class;
    if (has_keywords) FT_TRY(pickle_pop(m, &keywords));
    FT_TRY(pickle_pop(m, &args));
    FT_TRY(pickle_pop(m, &class));
    return push_instance(m, class, args);
}

/* Creates an object of a class from the `count` values at `items`, which were just popped. */
static ft_status make_instance(pickle_machine *m, const pickle_value *class, pickle_value **items, size_t count) {
    assert(class != NULL);
    pickle_value *args;
    FT_TRY(push_list(m, items, count));
    FT_TRY(pickle_pop(m, &args));
    return push_instance(m, class, args);
}

/* INST names the class as text; OBJ has it as the first value above the mark. */
ft_status pickle_op_named_instance(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL, *class = NULL;
    size_t count = 0;
    FT_TRY(pickle_op_class(m, 0));
    FT_TRY(pickle_pop(m, &class));
    FT_TRY(pickle_pop_to_mark(m, &items, &count));
    return make_instance(m, class, items, count);
}

ft_status pickle_op_instance(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value **items = NULL;
    size_t count = 0;
    FT_TRY(pickle_pop_to_mark(m, &items, &count));
    if (count == 0) return pickle_damaged(m, "an object has no class");
    return make_instance(m, items[0], items + 1, count - 1);
}

ft_status pickle_op_build(pickle_machine *m, size_t unused) {
    (void)unused;
    pickle_value *state = NULL, *object = NULL;
    FT_TRY(pickle_pop(m, &state));
    FT_TRY(pickle_top(m, &object));
    return pickle_build(object, state, m->error);
}
