/* names.h - names of loop variables, for people: made only when a program is shown. */
#ifndef PROGRAM_NAMES_H
#define PROGRAM_NAMES_H

#include "base/buf.h"
#include "program/nest.h"

enum { NAME_SIZE = 64 };

typedef struct nest_names {
    char (*loops)[NAME_SIZE]; /* by number of the loop */
    char (*nodes)[NAME_SIZE]; /* by node, also those with one turn */
} nest_names;

/* Distinct along every path through the nest: "rc.0", "threadIdx.x", "threadIdx.x_1". Memory is the program's arena. */
ft_status names_make(const nest *n, nest_names *names);

/* Writes a sum: "((rc.0 * 4) + rc.1)". `div` and `mod` are what TVM writes ("/" and "%" of numbers that are not
 * negative). Names that a C compiler takes when `is_c`: v12. */
void names_lin(buf *out, const lin_space *space, const nest_names *names, lin a, bool is_c);

/* "conv2d_nchw.local" as a C name: "conv2d_nchw_local_5". */
void names_buffer(buf *out, const prog *p, uint32_t stage, bool is_c);
/* Braces and spaces of one level. */
void names_indent(buf *out, uint32_t depth);

#endif
