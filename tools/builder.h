/* builder.h - writer of ONNX files from short descriptions of networks.
 *
 * A network is described by calls in the order of its operators. Tensors are identified by name: `op` adds an
 * operator and returns the name of its first output, and the attribute calls apply to the operator added last:
 *
 *     const char *y = op(b, "Conv", x, weight(b, "w", 4, 64, 3, 7, 7), NULL);
 *     set_ints(b, "strides", 2, 2, 2);
 *
 * C does not define the order of evaluation of arguments, so two operators are never arguments of one call: the
 * order in the file would depend on the compiler.
 *
 * Only inputs and outputs have shapes, so readers must infer the others. This is a tool for demos, tests and
 * benchmarks: it does not use the library, and exits when memory or disk is full. */
#ifndef TOOLS_BUILDER_H
#define TOOLS_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct builder builder;

/* Symbolic dimensions of inputs and outputs. */
enum { DIM_BATCH = -1, DIM_SEQUENCE = -2, DIM_DETECTIONS = -3, DIM_PAST = -4, DIM_TOTAL = -5 };

typedef struct build_options {
    bool has_weights; /* fill weights with pseudo-random numbers; else only their shapes are written */
    int64_t batch;    /* 0: a symbol */
    double width;     /* factor on the channels of networks that have one */
    int ops;          /* operators of networks of any length, about */
} build_options;

builder *builder_new(const char *name, build_options options);
/* Writes the file and frees the builder. Returns false, with errno set, when the file cannot be written. */
bool builder_write(builder *b, const char *path);
const build_options *builder_options(const builder *b);

/* Inputs and outputs of the network: element type as in onnx.proto, rank, then the dimensions as int. */
const char *input(builder *b, const char *name, int type, int rank, ...);
void output(builder *b, const char *name, int type, int rank, ...);

/* Stored tensors: float weights of a rank and dimensions (int); lists and single numbers as operands. */
const char *weight(builder *b, const char *name, int rank, ...);
const char *typed_weight(builder *b, const char *name, int type, int rank, ...); /* uint8, float16 or float */
const char *list(builder *b, int count, ...);                                    /* int64, rank 1, given as int */
const char *integer(builder *b, int64_t value);
const char *number(builder *b, double value);
const char *numbers(builder *b, int count, ...); /* float, rank 1, given as double */

/* Adds an operator; its inputs are names, "" for an omitted one, NULL ends them. */
const char *op(builder *b, const char *type, ...);
void more_input(builder *b, const char *name); /* one more input of the operator added last */
const char *more_output(builder *b);           /* one more output of the operator added last */
void no_output(builder *b);                    /* leaves out an optional output of it */
void set_domain(builder *b, const char *name); /* of the operator added last, when it is not ONNX's own */
void set_ints(builder *b, const char *name, int count, ...);
void set_int(builder *b, const char *name, int64_t value);
void set_float(builder *b, const char *name, double value);
void set_string(builder *b, const char *name, const char *value);

/* A formatted name; it lives as long as the builder. */
const char *format(builder *b, const char *pattern, ...) __attribute__((format(printf, 2, 3)));

#endif
