/* strip.h - pre-pass that copies a protobuf file without its weights, for the generated decoders.
 *
 * A table lists for each field of each message whether it is kept, descended into, counted and omitted, or dropped.
 * Payloads are skipped, so the time does not depend on the size of the weights and their pages are never read. The
 * pass also protects the generated decoder, which recurses as deep as the file nests and merges repeated singular
 * messages: here the depth is limited, repetition is rejected and every field must have its wire type. */
#ifndef READ_STRIP_H
#define READ_STRIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/filecopy.h"
#include "foretell/status.h"

typedef enum strip_action {
    STRIP_DROP, /* also every field that is not in the table */
    STRIP_INT,
    STRIP_DATA_TYPE, /* an INT that determines how much of the payload is kept */
    STRIP_FLOAT,
    STRIP_BYTES,
    STRIP_SHORT_BYTES, /* dropped when long */
    STRIP_INTS,
    STRIP_FLOATS,
    STRIP_CHILD, /* at most once */
    STRIP_CHILDREN,
    STRIP_RENUMBER, /* a message that the reader decodes itself: bytes with the number `type_field` */
    STRIP_RAW_PAYLOAD,
    STRIP_INT_PAYLOAD,
    STRIP_FLOAT_PAYLOAD,
    STRIP_DOUBLE_PAYLOAD,
    STRIP_TEXT_PAYLOAD, /* strings are never used: only counted */
    STRIP_ACTION_COUNT,
} strip_action;

typedef struct strip_rule {
    uint8_t action, child; /* a strip_action; the message of CHILD and CHILDREN */
} strip_rule;

enum { STRIP_FIELDS = 27 };

/* The largest constants whose elements are kept: of types used for shapes and indices, and of all others. */
enum { STRIP_MAX_INDEX_ELEMS = 4096, STRIP_MAX_OTHER_ELEMS = 64 };

/* A payload that was not kept; one that is in a field of raw bytes. */
enum { STRIP_OMITTED = 1, STRIP_RAW = 2 };

/* The messages of a format. */
typedef struct strip_format {
    const strip_rule (*rules)[STRIP_FIELDS]; /* per message and field */
    const char *const *names;                /* of the messages, for errors */
    uint32_t root;                           /* message that the file is */
    uint64_t index_types;                    /* bit i: type i is used for shapes and indices */
    uint32_t type_field;                     /* number that STRIP_RENUMBER writes */
    uint8_t segment_field;                   /* number (below 16) of the description of a payload, see below */
} strip_format;

/* Writes the copy into *stripped, which the caller frees. It holds only fields that the reader uses, nests at most
 * FT_MAX_DEPTH deep, and repeats no singular message. Each message with a payload gets a field `segment_field`, a
 * message itself: its field 1 is the size of the payload in the file, its field 2 a sum of the flags above. Bytes of
 * `file`, which may be NULL, are loaded where they are read. */
ft_status strip_file(const strip_format *format, const uint8_t *bytes, size_t size, filecopy *file, uint8_t **stripped,
                     size_t *stripped_size, ft_error *error);

#endif
