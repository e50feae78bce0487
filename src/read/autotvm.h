/* autotvm.h - records of AutoTVM: template and arguments, chosen knobs, measured times.
 *
 * One JSON text a line, in version 0.1 ({"i": [...], "r": [...]}) or 0.2 ({"input": [...], "config": {...},
 * "result": [...]}). The log has no loops: program/template.h derives them from the template. */
#ifndef READ_AUTOTVM_H
#define READ_AUTOTVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

enum { AUTOTVM_MAX_KNOBS = 64, AUTOTVM_MAX_NUMBERS = 1024, AUTOTVM_MAX_TEXT = 16384, AUTOTVM_MAX_COSTS = 64 };

typedef enum autotvm_knob_kind {
    AUTOTVM_SPLIT,    /* "sp": sizes, the first often -1 for "the rest" */
    AUTOTVM_REORDER,  /* "re": a permutation */
    AUTOTVM_ANNOTATE, /* "an": annotations, as text */
    AUTOTVM_OTHER     /* "ot": a number or a text */
} autotvm_knob_kind;

typedef struct autotvm_knob {
    const char *name;
    autotvm_knob_kind kind;
    const int64_t *numbers; /* split, reorder; one for a number */
    uint32_t count;
    const char *text; /* JSON text of a value that is neither an integer nor a list of integers; "" */
} autotvm_knob;

typedef struct autotvm_record {
    const char *target;
    const char *workload;  /* the template: "conv2d_nchw.cuda" */
    const char *arguments; /* as JSON: [["TENSOR", [1, 3, 224, 224], "float32"], ...] */
    int64_t index;         /* of the configuration; -1: not recorded */
    autotvm_knob knobs[AUTOTVM_MAX_KNOBS];
    uint32_t knob_count;
    double costs[AUTOTVM_MAX_COSTS]; /* seconds */
    uint32_t cost_count;
    int64_t error_no;
    double version; /* 0.1 or 0.2 */
    int64_t numbers[AUTOTVM_MAX_NUMBERS];
    uint32_t number_count;
    char text[AUTOTVM_MAX_TEXT];
    size_t text_length;
} autotvm_record;

/* Parses one line, like ansor_read: comments and empty lines are not records. */
ft_status autotvm_read(const char *line, size_t length, autotvm_record *record, bool *is_record, ft_error *error);

#endif
