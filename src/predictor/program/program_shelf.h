/* program_shelf.h - desks, lent to whoever looks at a program: each has large tables that are filled anew again and
 * again, so there are as many as threads look at the same time. */
#ifndef PREDICTOR_PROGRAM_SHELF_H
#define PREDICTOR_PROGRAM_SHELF_H

#include "predictor/program/program_look.h"

typedef struct program_desk {
    ft_program *program;
    program_view view;
} program_desk;

typedef struct program_shelf program_shelf;

ft_status program_shelf_new(program_shelf **shelf, ft_error *error);
void program_shelf_free(program_shelf *shelf);
ft_status program_shelf_take(program_shelf *shelf, program_desk **desk, ft_error *error);
void program_shelf_return(program_shelf *shelf, program_desk *desk);

#endif
