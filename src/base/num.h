/* num.h - checked arithmetic (false on overflow) and saturating arithmetic. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool num_mul_size(size_t a, size_t b, size_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool num_add_size(size_t a, size_t b, size_t *sum) {
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool num_mul_i64(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool num_add_i64(int64_t a, int64_t b, int64_t *sum) {
    return !__builtin_add_overflow(a, b, sum);
}

/* Saturating: the cost of an absurd shape becomes "at least this much" instead of a wrapped number. */
static inline uint64_t num_mul_sat(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t num_add_sat(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* value * up / down, rounded down, without overflow of the intermediate product. */
static inline uint64_t num_scale_sat(uint64_t value, uint64_t up, uint64_t down) {
    assert(down > 0);
    return num_add_sat(num_mul_sat(value / down, up), num_mul_sat(value % down, up) / down);
}

static inline uint64_t num_div_up(uint64_t a, uint64_t b) {
    assert(b > 0);
    return a / b + (a % b != 0);
}

#endif
