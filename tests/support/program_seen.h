/* program_seen.h - what a predictor sees of a program, by name. */
#ifndef TESTS_PROGRAM_SEEN_H
#define TESTS_PROGRAM_SEEN_H

#include "foretell/program.h"

typedef struct seen {
    ft_program_log *log;
    ft_program *program;
    ft_program_features f;
} seen;

/* A record of a log, counted from 1; ended with forget. */
seen see_record(const char *log, uint32_t number);
void forget(const seen *s);

/* The feature of a leaf; a name that there is not fails the test. */
float feature(const ft_program_features *f, uint32_t leaf, const char *name);
/* It is the logarithm of a count. */
void expect_log(float found, double value);

#endif
