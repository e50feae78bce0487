/* vmath.h - exp, tanh, sigmoid and erf without branches and calls, so that the compiler can vectorise loops over them.
 *
 * Accurate to about two units in the last place of a float, and bit-identical with every libm. */
#ifndef NN_VMATH_H
#define NN_VMATH_H

#include <stdint.h>
#include <string.h>

/* exp(x); 0 below -87.3, infinity above 88.8; NaN for NaN. Cephes' polynomial. */
static inline float vmath_exp(float x) {
    const float round = 12582912.0f; /* 1.5 * 2^23: adding it leaves the nearest integer in the last bits */
    float limited = x < 88.8f ? x : 88.8f;
    limited = limited > -87.3f ? limited : -87.3f;
    float shifted = limited * 1.44269504088896341f + round, n = shifted - round;
    float r = limited - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 126) << 23; /* 2^(n-1): 2^128 is not a float */
    float power;
    memcpy(&power, &bits, sizeof power);
    float result = p * power * 2.0f;
    result = x < -87.3f ? 0.0f : result;
    return x == x ? result : x;
}

static inline float vmath_abs(float x) {
    return x < 0 ? -x : x;
}

static inline float vmath_sigmoid(float x) {
    return 1.0f / (1.0f + vmath_exp(-x));
}

static inline float vmath_tanh(float x) {
    float size = vmath_abs(x), e = vmath_exp(-2.0f * size), square = x * x;
    float large = (1.0f - e) / (1.0f + e);
    float small = x * (1.0f + square * (-1.0f / 3 + square * (2.0f / 15 - square * (17.0f / 315))));
    return size < 0.1f ? small : x < 0 ? -large : large;
}

/* The error function, by Abramowitz and Stegun 7.1.26: within 2e-7. */
static inline float vmath_erf(float x) {
    float size = vmath_abs(x), s = 1.0f / (1.0f + 0.3275911f * size);
    float p = 1.061405429f;
    p = p * s - 1.453152027f;
    p = p * s + 1.421413741f;
    p = p * s - 0.284496736f;
    p = p * s + 0.254829592f;
    float y = 1.0f - p * s * vmath_exp(-size * size);
    return x < 0 ? -y : y;
}

#endif
