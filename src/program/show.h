/* show.h - a loop nest as text: as TVM prints it, as JSON, and as C that checks itself. */
#ifndef PROGRAM_SHOW_H
#define PROGRAM_SHOW_H

#include "base/buf.h"
#include "program/nest.h"
#include "program/workload.h"

/* TVM's printed form (docs/programs.md), with the shape of each tensor as a comment before it; tir_text.h reads it. */
ft_status show_tir(const nest *n, buf *out);
ft_status show_json(const nest *n, buf *out);

/* --- C that checks nests (show_c.c) --------------------------------------------------------------------------
 *
 * For each program a function in which threads are loops, one with the same workload as plain loops, written from the
 * definition and not from the stages, and a main() that runs both on the same numbers, compares the results, and counts
 * how often each stage computes. Buffers begin as NaN, so that reading an element before it is computed shows. */

typedef struct show_c_file {
    buf *out;
    buf calls; /* of main */
    uint32_t count;
} show_c_file;

void show_c_begin(show_c_file *file, buf *out);
/* `label` is printed when the results differ. */
ft_status show_c_program(show_c_file *file, const nest *n, const workload *w, const char *label);
/* Writes main and frees the memory of the file. */
ft_status show_c_end(show_c_file *file, ft_error *error);

/* show_naive.c: the body of a function with `float **t`. */
void show_naive(const workload *w, buf *out);

/* --- Names of loops (show_names.c) --------------------------------------------------------------------------- */

enum { NAME_SIZE = 64 };

typedef struct nest_names {
    char (*loops)[NAME_SIZE]; /* by number of the loop */
    char (*nodes)[NAME_SIZE]; /* by node, also those with one trip */
} nest_names;

/* Distinct along every path through the nest: "rc.0", "threadIdx.x", "threadIdx.x_1". Memory is the program's arena. */
ft_status names_make(const nest *n, nest_names *names);

/* Writes a sum: "((rc.0 * 4) + rc.1)", with "/" and "%" as TVM writes them (operands are not negative). With `is_c`,
 * variables are valid C names: v12. */
void names_lin(buf *out, const lin_space *space, const nest_names *names, lin a, bool is_c);

/* "conv2d_nchw.local"; with `is_c` as a C name: "conv2d_nchw_local_5". */
void names_buffer(buf *out, const prog *p, uint32_t stage, bool is_c);
/* Spaces for a nesting depth. */
void names_indent(buf *out, uint32_t depth);

#endif
