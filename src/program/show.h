/* show.h - a loop nest as text: as TVM prints it, as JSON, and as C that can be run. */
#ifndef PROGRAM_SHOW_H
#define PROGRAM_SHOW_H

#include "program/nest.h"
#include "program/workload.h"

#include "base/buf.h"

/* TVM's printed form (docs/programs.md), with the shape of each tensor as a comment before it. What it says is what
 * tir_text.h reads. */
ft_status show_tir(const nest *n, buf *out);
ft_status show_json(const nest *n, buf *out);

/* C that proves the nest: for each program a function in which threads are loops, one with the same workload as plain
 * loops, written down anew and not from the stages, and a main() that runs both on the same numbers, compares the
 * results, and counts how often each stage computes. Buffers begin as NaN, so that what is read before it was computed
 * shows. */
typedef struct show_c_file {
    buf *out;
    buf calls; /* of main */
    uint32_t count;
} show_c_file;

void show_c_begin(show_c_file *file, buf *out);
/* `label` is printed when the results differ. */
ft_status show_c_program(show_c_file *file, const nest *n, const workload *w, const char *label);
/* Writes main and frees what the file holds. */
ft_status show_c_end(show_c_file *file, ft_error *error);

/* show_naive.c: the body of a function with `float **t`. */
void show_naive(const workload *w, buf *out);

#endif
