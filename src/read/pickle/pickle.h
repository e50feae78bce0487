/* pickle.h - Python pickles decoded to plain values, without running any code.
 *
 * A pickle is a program for a stack machine that may call any Python function. This decoder keeps the stack and
 * drops the calls: names in a pickle must be on a short list of data classes (pickle_global.c), and "calling" one
 * only records class and arguments. Any other name is refused (FT_ERR_REFUSED). Protocols 0 to 5.
 *
 * Values may be shared and may contain themselves: code that walks them must bound the walk. */
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
    PICKLE_INT,    /* i; larger integers are a PICKLE_FLOAT */
    PICKLE_FLOAT,  /* f */
    PICKLE_STRING, /* text or bytes: s, count bytes and a NUL */
    PICKLE_LIST,   /* list, tuple, set: items[0 .. count-1] */
    PICKLE_DICT,   /* items[2k] is a key, items[2k+1] its value, for k < count */
    PICKLE_CLASS,  /* an allowed class: s, i = its pickle_class */
    PICKLE_OBJECT, /* an instance of a class: see `object` */
} pickle_kind;

typedef struct pickle_value pickle_value;

typedef struct pickle_object {
    const pickle_value *type;  /* PICKLE_CLASS */
    const pickle_value *args;  /* constructor arguments, a PICKLE_LIST */
    const pickle_value *state; /* state set by BUILD, or NULL */
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

/* Errors name the byte offset. On failure there is nothing to free. */
ft_status pickle_decode(const uint8_t *bytes, size_t size, pickle *made, ft_error *error);
void pickle_free(pickle *p);

/* The value of a string key of a PICKLE_DICT; NULL when it is absent or `dict` is not a dict. Searches at most the
 * last 64 entries: dicts with string keys are small, and a large one must not be searched for every node. */
const pickle_value *pickle_get(const pickle_value *dict, const char *key);
/* The numeric value of ints, floats, bools and numeric strings. False for all else. */
bool pickle_number(const pickle_value *value, double *number);
bool pickle_is_string(const pickle_value *value, const char *text);
/* Whether an object is a networkx graph. */
bool pickle_is_graph(const pickle_value *object);

#endif
