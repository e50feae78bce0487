/* tir_text.h - programs that TVM printed: reading loops, attributes, buffers and stores into a nest.
 *
 *     GlobalVar(fused_add): PrimFunc([a, b, T_add]) attrs={...} {
 *       // attr [iter_var(blockIdx.x, , blockIdx.x)] thread_extent = 64
 *       for (i, 0, 16) {
 *         T_add[((blockIdx.x*16) + i)] = (a[((blockIdx.x*16) + i)] + b[i])
 *
 * Vectors (ramp and broadcasts) become a vectorised loop around their store. Printed programs do not have the shapes of
 * their tensors; "// buffer NAME: float32[2, 3]" before the function declares one, else a tensor has one dimension.
 */
#ifndef PROGRAM_TIR_TEXT_H
#define PROGRAM_TIR_TEXT_H

#include "program/nest.h"

/* Reads the next function into an empty program and its nest. *used is where it ends; 0 when there is none. The program
 * can be printed and has features, but no workload. Messages name the line, counted from `first_line`. */
ft_status tir_read(prog *p, nest_node *nodes, const char *text, size_t size, uint64_t first_line, nest *n,
                   size_t *used);

/* --- For tir_line.c and tir_expr.c --------------------------------------------------------------------------- */

enum { TIR_MAX_DEPTH = 64, TIR_MAX_NAMES = 256, TIR_MAX_PARAMS = 64, TIR_MAX_SHARED = 16, TIR_NAME = 160 };

typedef struct tir_name {
    char name[TIR_NAME];
    lin value;
} tir_name;

/* A load of a name that several parameters share. */
typedef struct tir_load tir_load;
struct tir_load {
    prog_value *load;
    uint32_t store, target; /* number of the store it is in, and the buffer that is stored to */
    uint32_t lane;          /* the atom of its vector, plus 1; 0: none */
    uint32_t group;         /* the parameter that it reads */
    tir_load *next;
};

typedef struct tir_param {
    const char *name; /* in the text */
    size_t length;
    uint32_t count, load_count;       /* parameters of this name; loads, when there are several */
    tir_load *first, *last, *current; /* current: first of the store that is read */
} tir_param;

typedef struct tir_parser {
    prog *p;
    nest *n;
    const char *start, *at, *end;
    uint64_t first_line;           /* number of the line at `start` */
    tir_name names[TIR_MAX_NAMES]; /* variables in scope */
    uint32_t name_count;
    bool has_shape[PROG_MAX_STAGES];
    uint32_t depth;
    int64_t lanes; /* of the vectors in the current store; 1: none */
    uint32_t lane_atom;
    bool has_lane, is_name_too_long;
    tir_param params[TIR_MAX_PARAMS];
    uint32_t param_count;
    uint32_t store_number, store_target;
    /* The GPU kernel that is open: its attributes are lines of the block at this depth; 0: none. */
    uint32_t kernel_depth, kernel_names;
    uint16_t kernel_parent;
    bool kernel_has_work; /* stores */
} tir_parser;

typedef struct tir_expr {
    bool is_sum;  /* an integer: `sum`; else `value` */
    bool is_test; /* comparisons: in bounds[0 .. count) of the value */
    lin sum;
    prog_value *value;
} tir_expr;

ft_status tir_fail(tir_parser *r, ft_status status, const char *what);
void tir_space(tir_parser *r);
bool tir_accept(tir_parser *r, const char *word);                /* if it comes next */
bool tir_accept_word(tir_parser *r, char name[static TIR_NAME]); /* a name, with dots; false when none comes next */
ft_status tir_parse(tir_parser *r, tir_expr *e);
/* After "[": reads the indices up to "]" into `index`. */
ft_status tir_index(tir_parser *r, uint32_t id, lin *index);
ft_status tir_buffer(tir_parser *r, const char *name, uint32_t *id);
/* The rest of the line, without spaces at either end. */
const char *tir_rest_of_line(tir_parser *r, size_t *length);
bool tir_has(const char *line, size_t length, const char *word);
ft_status tir_add_node(tir_parser *r, uint16_t parent, nest_node node, uint16_t *id);
/* Adds a variable, in scope until name_count is reset. */
ft_status tir_add_name(tir_parser *r, const char *name, lin value);
typedef struct tir_loop {
    nest_kind kind; /* NEST_LOOP or NEST_THREAD */
    prog_annotation annotation;
    const char *name;
    int64_t low, extent; /* the variable runs from low to low + extent - 1 */
} tir_loop;
/* Adds a loop node and its variable. */
ft_status tir_add_loop(tir_parser *r, uint16_t parent, const tir_loop *loop, uint16_t *id);
/* Reads an attribute or an allocation: *into becomes the node that following statements go to. */
ft_status tir_attribute(tir_parser *r, uint16_t *into, const char *line, size_t length);
ft_status tir_allocate(tir_parser *r, uint16_t *into, const char *line, size_t length);
/* --- Parameters of the same name (tir_params.c) --- */

/* Reads the names of the parameters from the line of a function. */
ft_status tir_read_params(tir_parser *r, const char *line, size_t length);
bool tir_is_param(tir_parser *r, const char *name);
ft_status tir_note_load(tir_parser *r, const char *name, prog_value *load);
ft_status tir_note_store(tir_parser *r, const char *name);
void tir_end_store(tir_parser *r);
/* After the function: makes a buffer of each. */
ft_status tir_separate_params(tir_parser *r);

/* After "// buffer": "data: float32[128, 64]". */
ft_status tir_declare(tir_parser *r);

#endif
