/* num.h - arithmetic that tells when it does not fit, and arithmetic that stops at the end of the range. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

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

/* Saturating: costs of absurd shapes become "at least this much" instead of nonsense. */
static inline uint64_t num_mul_sat(uint64_t a, uint64_t b) {
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t num_add_sat(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* value * up / down, rounded down, without losing what an intermediate product would. */
static inline uint64_t num_scale_sat(uint64_t value, uint64_t up, uint64_t down) {
    return num_add_sat(num_mul_sat(value / down, up), num_mul_sat(value % down, up) / down);
}

static inline uint64_t num_div_up(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

#endif
