/* element.c - see element.h. */
#include "read/element.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "read/strip.h"

uint64_t element_load(const uint8_t *bytes, unsigned width) {
    assert(width <= 8);
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

/* The low `bits` of `value` as a two's complement number. */
static int64_t sign_extend(uint64_t value, unsigned bits) {
    assert(bits >= 1 && bits <= 64);
    uint64_t sign = UINT64_C(1) << (bits - 1);
    value &= bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    return (int64_t)((value ^ sign) - sign);
}

static double half_to_double(uint32_t bits) {
    uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    double sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == 0x1f) return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0) return sign * ldexp(fraction, -24);
    return sign * ldexp(fraction + 1024, (int)exponent - 25);
}

static double single_to_double(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

bool element_is_unsigned(ft_dtype dtype) {
    return dtype == FT_UINT2 || dtype == FT_UINT4 || dtype == FT_UINT8 || dtype == FT_UINT16 || dtype == FT_UINT32 ||
           dtype == FT_UINT64 || dtype == FT_BOOL;
}

int64_t element_int(uint64_t bits, ft_dtype dtype) {
    if (!element_is_unsigned(dtype)) return sign_extend(bits, ft_dtype_bits(dtype));
    return bits > INT64_MAX ? INT64_MAX : (int64_t)bits;
}

double element_float(uint64_t bits, ft_dtype dtype) {
    if (dtype == FT_FLOAT16) return half_to_double((uint32_t)bits);
    if (dtype == FT_BFLOAT16) return single_to_double((uint32_t)bits << 16);
    if (dtype == FT_FLOAT32) return single_to_double((uint32_t)bits);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool element_is_kept(ft_dtype dtype) {
    switch (dtype) {
    case FT_DTYPE_UNKNOWN:
    case FT_STRING:
    case FT_COMPLEX64:
    case FT_COMPLEX128:
    case FT_FLOAT8:
    case FT_FLOAT4:
        return false;
    default:
        return true;
    }
}

int64_t element_max_count(ft_dtype dtype) {
    bool is_index = dtype == FT_INT32 || dtype == FT_INT64 || dtype == FT_UINT32 || dtype == FT_UINT64;
    return is_index ? STRIP_MAX_INDEX_ELEMS : STRIP_MAX_OTHER_ELEMS;
}
