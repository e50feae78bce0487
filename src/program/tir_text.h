/* tir_text.h - programs that TVM printed: loops, attributes, buffers and stores, for what a predictor sees of them.
 *
 *     GlobalVar(fused_add): PrimFunc([a, b, T_add]) attrs={...} {
 *       // attr [iter_var(blockIdx.x, , blockIdx.x)] thread_extent = 64
 *       for (i, 0, 16) {
 *         T_add[((blockIdx.x*16) + i)] = (a[((blockIdx.x*16) + i)] + b[i])
 *
 * Vectors (ramp and broadcasts) become a vectorised loop around their store. Printed programs have lost the shapes of
 * their tensors; "// buffer NAME: float32[2, 3]" before the function gives them back, else tensors have one dimension.
 */
#ifndef PROGRAM_TIR_TEXT_H
#define PROGRAM_TIR_TEXT_H

#include "program/nest.h"

/* Reads the next function. *used is where it ends; 0 when there is none. The program is empty and its nest becomes that
 * of the text; it can be shown and has features, but has no workload. Messages name the line, counted from
 * `first_line` on. */
ft_status tir_read(prog *p, nest_node *nodes, const char *text, size_t size, uint64_t first_line, nest *n,
                   size_t *used);

/* --- For tir_line.c and tir_expr.c
 * ------------------------------------------------------------------------------------------ */

enum { TIR_MAX_DEPTH = 64, TIR_MAX_NAMES = 256, TIR_NAME = 48 };

typedef struct tir_name {
    char name[TIR_NAME];
    lin value;
} tir_name;

typedef struct tir_reading {
    prog *p;
    nest *n;
    const char *start, *at, *end;
    uint64_t first_line;           /* what the line at `start` is called */
    tir_name names[TIR_MAX_NAMES]; /* variables in scope */
    uint32_t name_count;
    bool has_shape[PROG_MAX_STAGES];
    uint32_t depth;
    int64_t lanes; /* of the vectors in the store at hand; 1: none */
    uint32_t lane_atom;
    bool has_lane;
} tir_reading;

typedef struct tir_expr {
    bool is_sum;  /* a whole number: `sum`; else `value` */
    bool is_test; /* comparisons: in bounds[0 .. count) of the value */
    lin sum;
    prog_value *value;
} tir_expr;

ft_status tir_fail(tir_reading *r, ft_status status, const char *what);
void tir_space(tir_reading *r);
bool tir_take(tir_reading *r, const char *word);           /* when it stands there */
bool tir_word(tir_reading *r, char name[static TIR_NAME]); /* a name with dots; false when there is none */
ft_status tir_parse(tir_reading *r, tir_expr *e);
/* Behind "[": the indices up to "]", into `index`. */
ft_status tir_index(tir_reading *r, uint32_t id, lin *index);
ft_status tir_buffer(tir_reading *r, const char *name, uint32_t *id);
/* Up to the end of the line, without spaces at either end. */
const char *tir_rest_of_line(tir_reading *r, size_t *length);
bool tir_has(const char *line, size_t length, const char *word);
ft_status tir_add_node(tir_reading *r, uint16_t parent, nest_node node, uint16_t *id);
/* A variable that is in scope until name_count is set back. */
ft_status tir_add_name(tir_reading *r, const char *name, lin value);
/* A loop node with its variable: value from `low` on. */
ft_status tir_add_loop(tir_reading *r, uint16_t parent, nest_kind kind, prog_note note, const char *name, int64_t low,
                       int64_t extent, uint16_t *id);
/* What an attribute or an allocation holds for: *into is where statements go from here on, when it has no block of its
 * own. */
ft_status tir_attribute(tir_reading *r, uint16_t *into, const char *line, size_t length);
ft_status tir_allocate(tir_reading *r, uint16_t *into, const char *line, size_t length);
/* Behind "// buffer": "data: float32[128, 64]". */
ft_status tir_declare(tir_reading *r);

#endif
