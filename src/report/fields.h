/* fields.h - the names under which facts are written in JSON and CSV: one list for both. */
#ifndef REPORT_FIELDS_H
#define REPORT_FIELDS_H

#include "base/csv.h"
#include "base/json_writer.h"
#include "report/facts.h"

typedef enum field_kind {
    FIELD_COUNT,    /* uint64_t */
    FIELD_RATIO,    /* double, NaN = absent */
    FIELD_WHOLE,    /* double that is written without its fraction, NaN = absent */
    FIELD_FLAG,     /* bool */
    FIELD_TEXT,     /* const char *, NULL = absent */
    FIELD_INDEX,    /* uint32_t, FT_NONE = absent */
    FIELD_SHAPE,    /* const ft_tensor *, NULL or an unknown rank = absent */
    FIELD_OPS,      /* const ft_kernel *: indices of its operators */
    FIELD_OP_TYPES, /* const ft_kernel *: types of its operators */
} field_kind;

typedef struct field {
    const char *key; /* NULL ends a list */
    field_kind kind;
    size_t offset; /* in the row */
} field;

extern const field summary_fields[];  /* of summary_facts */
extern const field language_fields[]; /* of language_facts */
extern const field type_fields[];     /* of type_facts */
extern const field node_fields[];     /* of node_facts */
extern const field kernel_fields[];   /* of kernel_facts */

/* Writes the value that `f` finds in `row`: as JSON (absent: null), or as the text of a CSV cell (absent: nothing). */
void field_json(const field *f, const void *row, const ft_graph *graph, json_writer *w);
void field_csv(const field *f, const void *row, const ft_graph *graph, buf *out);

enum { SYMBOL_MAX = 24, SHAPE_WORDS_SIZE = FT_MAX_RANK * (SYMBOL_MAX + 1) + 8 };
/* "1x3x224x224", "scalar"; nothing for an unknown rank. A dimension without a value is the symbol that the graph has
 * for it, or "?". `graph` may be NULL. Returns `text`. */
const char *shape_words(const ft_tensor *tensor, const ft_graph *graph, char text[static SHAPE_WORDS_SIZE]);

#endif
