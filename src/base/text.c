/* text.c - strict parsing of numbers, independent of the locale. */
#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool text_int(const char *text, size_t length, int64_t *value) {
    size_t i = 0;
    bool is_negative = length > 0 && text[0] == '-';
    if (length > 0 && (text[0] == '-' || text[0] == '+')) i++;
    if (i == length) return false;
    uint64_t sum = 0;
    /* 18 digits cannot overflow; longer numbers are checked at each digit. */
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

/* Reads digits into *mantissa as long as they fit exactly; *kept and *dropped count the digits that fit and those
 * after. */
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

/* For numbers with more digits than a double holds exactly: strtod rounds correctly, here in the "C" locale. */
static bool parse_slowly(const char *text, size_t length, double *value) {
    char small[64], *copy = length < sizeof small ? small : malloc(length + 1);
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* predefined by glibc: nothing is allocated */
    bool has_all = copy != NULL && plain != (locale_t)0;
    if (has_all) {
        memcpy(copy, text, length);
        copy[length] = '\0';
        *value = strtod_l(copy, NULL, plain);
    }
    if (plain != (locale_t)0) freelocale(plain);
    if (copy != small) free(copy);
    return has_all && isfinite(*value);
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
    if (mantissa == 0) {
        *value = is_negative ? -0.0 : 0.0;
        return true;
    }
    /* Both numbers are exact, so their product or quotient is rounded once, correctly. */
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { MAX_POWER = sizeof powers / sizeof powers[0] - 1 };
    if (mantissa > UINT64_C(1) << 53 || exponent > MAX_POWER || exponent < -MAX_POWER) {
        double result;
        if (!parse_slowly(text, length, &result)) return false;
        *value = result;
        return true;
    }
    double exact = (double)mantissa;
    exact = exponent >= 0 ? exact * powers[exponent] : exact / powers[-exponent];
    *value = is_negative ? -exact : exact;
    return true;
}

bool text_has_word(const char *list, const char *word, size_t length) {
    while (length > 0 && *list != '\0') {
        if (*list == *word && strncmp(list, word, length) == 0 && (list[length] == ' ' || list[length] == '\0'))
            return true;
        while (*list != ' ' && *list != '\0') list++;
        list += *list == ' ';
    }
    return false;
}

const char *text_setting(const char *list, const char *key, size_t *length) {
    size_t size = strlen(key);
    for (const char *at = list != NULL ? list : ""; *at != '\0'; at += *at == ';') {
        size_t whole = strcspn(at, ";");
        if (whole > size && strncmp(at, key, size) == 0 && at[size] == '=') {
            *length = whole - size - 1;
            return at + size + 1;
        }
        at += whole;
    }
    return NULL;
}
