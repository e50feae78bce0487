/* element.h - elements of small constants, as bits and as numbers. */
#ifndef READ_ELEMENT_H
#define READ_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "foretell/graph.h"

/* Little-endian bits of `width` bytes, at most 8. */
uint64_t element_load(const uint8_t *bytes, unsigned width);
/* The bits of an element of an integer type (uint64 beyond 2^63-1 is clamped), or of a float of 16, 32 or 64 bits. */
int64_t element_int(uint64_t bits, ft_dtype dtype);
double element_float(uint64_t bits, ft_dtype dtype);
bool element_is_unsigned(ft_dtype dtype);
/* Types whose elements a graph can hold: not strings, complex numbers and floats of 8 and 4 bits. */
bool element_is_kept(ft_dtype dtype);
/* The largest constant of a type whose elements are kept (strip.h). */
int64_t element_max_count(ft_dtype dtype);

#endif
