/* text.c - strict numbers, independent of the locale. */
#include "base/text.h"

#include <float.h>
#include <math.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool text_int(const char *text, size_t length, int64_t *value) {
    size_t i = 0;
    bool is_negative = length > 0 && text[0] == '-';
    if (length > 0 && (text[0] == '-' || text[0] == '+')) i++;
    if (i == length) return false;
    uint64_t sum = 0;
    /* 18 digits cannot overflow; what is longer takes the careful road. */
    for (bool is_short = length - i <= 18; i < length; i++) {
        if (!is_digit(text[i])) return false;
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (!is_short && (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, digit, &sum)))
            return false;
        if (is_short) sum = sum * 10 + digit;
    }
    if (sum > (uint64_t)INT64_MAX + is_negative) return false;
    *value = is_negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

/* Reads digits into *mantissa as long as they fit exactly; counts in *dropped how many came after that. */
static size_t read_digits(const char *text, size_t i, size_t length, uint64_t *mantissa, int64_t *kept,
                          int64_t *dropped) {
    for (; i < length && is_digit(text[i]); i++) {
        if (*dropped == 0 && *mantissa <= (UINT64_MAX - 9) / 10) {
            *mantissa = *mantissa * 10 + (uint64_t)(text[i] - '0');
            ++*kept;
        } else {
            ++*dropped;
        }
    }
    return i;
}

bool text_double(const char *text, size_t length, double *value) {
    size_t i = 0;
    bool is_negative = length > 0 && text[0] == '-';
    if (length > 0 && (text[0] == '-' || text[0] == '+')) i++;
    uint64_t mantissa = 0;
    int64_t whole = 0, fraction = 0, dropped = 0;
    size_t start = i;
    i = read_digits(text, i, length, &mantissa, &whole, &dropped);
    int64_t exponent = dropped;
    size_t digits = i - start;
    if (i < length && text[i] == '.') {
        start = ++i;
        i = read_digits(text, i, length, &mantissa, &fraction, &dropped);
        exponent -= fraction;
        digits += i - start;
    }
    if (digits == 0) return false;
    if (i < length && (text[i] == 'e' || text[i] == 'E')) {
        int64_t given;
        if (!text_int(text + i + 1, length - i - 1, &given)) return false;
        if (given > 100000 || given < -100000) given = given > 0 ? 100000 : -100000;
        exponent += given;
        i = length;
    }
    if (i != length) return false;
    /* A product with 10^-n is less exact than a quotient by 10^n, which is exact up to 10^27. */
    long double scaled = exponent >= 0 ? (long double)mantissa * powl(10, (long double)exponent)
                                       : (long double)mantissa / powl(10, (long double)-exponent);
    if (mantissa == 0) scaled = 0;
    if (scaled > DBL_MAX) return false;
    *value = is_negative ? -(double)scaled : (double)scaled;
    return true;
}
