/* program_features.h - features of a program by name, for tests. */
#ifndef TESTS_PROGRAM_FEATURES_H
#define TESTS_PROGRAM_FEATURES_H

#include "foretell/program.h"

typedef struct lowered {
    ft_program_log *log; /* NULL: the program was parsed */
    ft_program *program;
    ft_program_features f;
} lowered;

/* A record of a log, counted from 1; close_program frees it. */
lowered lower_record(const char *log, uint32_t number);
/* A program in TVM's printed form: the statements of a function, after the declarations of its buffers. */
lowered lower_text(const char *buffers, const char *statements);
void close_program(const lowered *s);

/* The feature of a leaf; an unknown name fails the test. */
float feature(const ft_program_features *f, uint32_t leaf, const char *name);
/* The feature is log2(value + 1). */
void expect_log(float found, double value);
/* The feature of a leaf is `value`, or log2(value + 1); a failure names the feature. */
void expect_feature(const lowered *s, uint32_t leaf, const char *name, double value);
void expect_log_feature(const lowered *s, uint32_t leaf, const char *name, double value);

#endif
