/* pickle.h - Python pickles as plain values: decoded, never run.
 *
 * A pickle is a program for a stack machine that may call any Python function. This decoder keeps the stack and drops
 * the calls: what a pickle names must be on a short list of classes that hold data (pickle_global.c), and "calling"
 * one of them only notes class and arguments. Anything else is refused by name (FT_ERR_REFUSED). Protocols 0 to 5.
 *
 * Values may be shared and may contain themselves: whoever walks them must bound the walk. */
#ifndef READ_PICKLE_H
#define READ_PICKLE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,   /* i */
    PICKLE_INT,    /* i; what does not fit 64 bits is a PICKLE_FLOAT */
    PICKLE_FLOAT,  /* f */
    PICKLE_STRING, /* text or bytes: s, count bytes and a NUL */
    PICKLE_LIST,   /* list, tuple, set: items[0 .. count-1] */
    PICKLE_DICT,   /* items[2k] is a key, items[2k+1] its value, for k < count */
    PICKLE_CLASS,  /* a name from the list: s, i = its pickle_class */
    PICKLE_OBJECT, /* an instance of one: see `object` */
} pickle_kind;

typedef struct pickle_value pickle_value;

typedef struct pickle_object {
    const pickle_value *type;  /* PICKLE_CLASS */
    const pickle_value *args;  /* what it was made with, a PICKLE_LIST */
    const pickle_value *state; /* what BUILD gave it, or NULL */
} pickle_object;

struct pickle_value {
    pickle_kind kind;
    uint32_t count, capacity;
    union {
        int64_t i;
        double f;
        const char *s;
        pickle_value **items;
        pickle_object *object;
    };
    int64_t class_id; /* pickle_class of a PICKLE_CLASS */
};

typedef struct pickle {
    arena memory;
    const pickle_value *root;
} pickle;

/* Whether the bytes look like a pickle of any protocol. */
bool pickle_matches(const uint8_t *bytes, size_t size);

/* Messages give the byte offset. On failure there is nothing to free. */
ft_status pickle_decode(const uint8_t *bytes, size_t size, pickle *made, ft_error *error);
void pickle_free(pickle *p);

/* The value of a string key of a PICKLE_DICT, or NULL; NULL too for what is no dict. Looks at the last 64 entries
 * at most: dicts that are asked for names are small, and a large one must not be walked for every node. */
const pickle_value *pickle_get(const pickle_value *dict, const char *key);
/* The number a value stands for: ints, floats, bools and strings that are numbers. False for all else. */
bool pickle_number(const pickle_value *value, double *number);
bool pickle_is_string(const pickle_value *value, const char *text);
/* Whether an object is a networkx graph. */
bool pickle_is_graph(const pickle_value *object);

#endif
