/* fold.h - how fold rules read values and write what they compute; fold.c, fold_math.c and fold_tflite.c hold the
 * rules. */
#ifndef GRAPH_FOLD_H
#define GRAPH_FOLD_H

#include <assert.h>

#include "graph/shape.h"

/* The value of an output being computed. */
typedef struct fold_result {
    int64_t count;
    int64_t *ints; /* one of the two */
    double *floats;
} fold_result;

/* Room for the value of output `i`. False when nobody asks for it or its size is not known or too large. */
bool fold_begin(infer *in, uint32_t i, bool is_float, fold_result *r);

/* The same for an output that must have `count` elements. */
bool fold_begin_count(infer *in, uint32_t i, bool is_float, int64_t count, fold_result *r);

/* Output `i` becomes the elements of a box inside a row-major tensor: begin, stride and count per dimension. */
void fold_box(infer *in, uint32_t i, const ft_tensor *x, const int64_t *begin, const int64_t *stride,
              const int64_t *count);

/* Takes the value of output `i` back: it cannot be computed after all. */
void fold_forget(infer *in, uint32_t i);

/* An element as a number; a number as an integer, which stops at the ends of its range. */
double fold_number(const ft_value *v, int64_t i);
int64_t fold_int(double number);

/* The element of `t` that stands at place `flat` of a tensor shaped `dims`: dimensions are aligned at the end and
 * repeat, which is what broadcasting and tiling do. */
int64_t fold_repeated(const ft_tensor *t, const int64_t *dims, int32_t rank, int64_t flat);

/* Copies an element of a value of the same kind. */
static inline void fold_element(fold_result *r, int64_t to, const ft_value *from, int64_t i) {
    if (r->ints != NULL) {
        assert(from->ints != NULL);
        r->ints[to] = from->ints[i];
    } else {
        assert(from->floats != NULL);
        r->floats[to] = from->floats[i];
    }
}

#endif
