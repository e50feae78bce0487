/* program_pool.h - desks, lent to whoever looks at a program: each has large tables that are filled anew again and
 * again, so there are as many as threads look at the same time. */
#ifndef PREDICTOR_PROGRAM_POOL_H
#define PREDICTOR_PROGRAM_POOL_H

#include "predictor/program/program_features.h"

typedef struct program_scratch {
    ft_program *program;
    program_source view;
} program_scratch;

typedef struct program_pool program_pool;

ft_status program_pool_new(program_pool **pool, ft_error *error);
void program_pool_free(program_pool *pool);
ft_status program_pool_take(program_pool *pool, program_scratch **scratch, ft_error *error);
void program_pool_return(program_pool *pool, program_scratch *scratch);

#endif
