/* program_shelf.h - lowered programs, lent to whoever looks at one: each has tables of its own that are filled anew
 * again and again, so there are as many as threads look at the same time. */
#ifndef PREDICTOR_PROGRAM_SHELF_H
#define PREDICTOR_PROGRAM_SHELF_H

#include "foretell/program.h"

typedef struct program_shelf program_shelf;

ft_status program_shelf_new(program_shelf **shelf, ft_error *error);
void program_shelf_free(program_shelf *shelf);
ft_status program_shelf_take(program_shelf *shelf, ft_program **program, ft_error *error);
void program_shelf_return(program_shelf *shelf, ft_program *program);

#endif
