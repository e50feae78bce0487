/* format.c - strings and integers piece by piece; doubles in exact integer arithmetic, so that every digit is that of
 * printf. */
#include "base/format.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Strings and integers ------------------------------------------------------------------------------------- */

typedef struct format_output {
    char *text;
    size_t size, length; /* `length`: of all that was written, whether it fits or not */
} format_output;

static inline void put(format_output *out, const char *bytes, size_t count) {
    if (out->length < out->size) {
        size_t room = out->size - out->length;
        memcpy(out->text + out->length, bytes, count < room ? count : room);
    }
    out->length += count;
}

size_t format_uint(uint64_t number, char digits[static FORMAT_INT_SIZE]) {
    char reversed[FORMAT_INT_SIZE];
    size_t count = 0;
    do {
        reversed[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < count; i++) digits[i] = reversed[count - 1 - i];
    return count;
}

static void put_int(format_output *out, int64_t number) {
    char digits[FORMAT_INT_SIZE + 1] = "-";
    bool is_negative = number < 0;
    size_t count = format_uint(is_negative ? 0 - (uint64_t)number : (uint64_t)number, digits + 1);
    put(out, digits + !is_negative, count + is_negative);
}

static void put_uint(format_output *out, uint64_t number) {
    char digits[FORMAT_INT_SIZE];
    put(out, digits, format_uint(number, digits));
}

/* The conversions that are written here. */
typedef enum conversion {
    OTHER,
    PERCENT,
    CHAR,
    STRING,
    STRING_MAX,
    INT,
    UINT,
    LONG_LONG,
    UNSIGNED_LONG_LONG
} conversion;

/* Reads the conversion after a '%'; `length` is that of its letters. */
static conversion conversion_of(const char *at, size_t *length) {
    *length = 1;
    switch (at[0]) {
    case '%':
        return PERCENT;
    case 'c':
        return CHAR;
    case 's':
        return STRING;
    case 'd':
        return INT;
    case 'u':
        return UINT;
    default:
        *length = 3;
        if (strncmp(at, ".*s", 3) == 0) return STRING_MAX;
        if (strncmp(at, "lld", 3) == 0) return LONG_LONG;
        return strncmp(at, "llu", 3) == 0 ? UNSIGNED_LONG_LONG : OTHER;
    }
}

static void put_string(format_output *out, const char *text, int max) {
    if (text == NULL) text = max >= 0 && max < 6 ? "" : "(null)"; /* as glibc */
    put(out, text, max < 0 ? strlen(text) : strnlen(text, (size_t)max));
}

/* What vsnprintf writes for the rest of the format. */
static void put_rest(format_output *out, const char *format, va_list args) {
    bool has_room = out->length < out->size;
    char *rest = has_room ? out->text + out->length : NULL;
    int count = vsnprintf(rest, has_room ? out->size - out->length : 0, format, args);
    if (!has_room && out->size > 0) out->text[out->size - 1] = '\0';
    out->length = count < 0 ? SIZE_MAX : out->length + (size_t)count;
}

size_t format_list(char *text, size_t size, const char *format, va_list args) {
    format_output out = {text, size, 0};
    size_t length;
    int max;
    for (const char *at = format; *at != '\0'; at += length) {
        const char *percent = strchrnul(at, '%');
        put(&out, at, (size_t)(percent - at));
        if (*percent == '\0') break;
        at = percent + 1;
        switch (conversion_of(at, &length)) {
        case PERCENT:
            put(&out, "%", 1);
            break;
        case CHAR:
            put(&out, (char[]){(char)va_arg(args, int)}, 1);
            break;
        case STRING:
            put_string(&out, va_arg(args, const char *), -1);
            break;
        case STRING_MAX:
            max = va_arg(args, int);
            put_string(&out, va_arg(args, const char *), max);
            break;
        case INT:
            put_int(&out, va_arg(args, int));
            break;
        case UINT:
            put_uint(&out, va_arg(args, unsigned));
            break;
        case LONG_LONG:
            put_int(&out, va_arg(args, long long));
            break;
        case UNSIGNED_LONG_LONG:
            put_uint(&out, va_arg(args, unsigned long long));
            break;
        case OTHER:
            put_rest(&out, percent, args);
            return out.length;
        }
    }
    if (size > 0) text[out.length < size ? out.length : size - 1] = '\0';
    return out.length;
}

size_t format_text(char *text, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    size_t length = format_list(text, size, format, args);
    va_end(args);
    return length;
}

/* --- Doubles -------------------------------------------------------------------------------------------------- */

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;

enum { MAX_POWER = 27 }; /* 5^27 has 63 bits: with the 53 of a double and 2 more, less than 128 */

typedef struct decimal {
    uint64_t number; /* `digits` digits; number * 10^(exponent + 1 - digits) */
    int digits, exponent;
} decimal;

static uint64_t power_of(uint64_t base, int exponent) {
    uint64_t power = 1;
    for (; exponent > 0; exponent--) power *= base;
    return power;
}

/* `mantissa` * 2^`power` as a decimal of so many digits, correctly rounded, ties to even; `exponent` of the decimal may
 * be one too low at first. */
static bool round_to(uint64_t mantissa, int power, decimal *d) {
    int tens = d->digits - 1 - d->exponent, shift = -(power + tens); /* mantissa * 5^tens / 2^shift */
    if (tens < 0 || tens > MAX_POWER || shift <= 0 || shift > 120) return false;
    wide scaled = (wide)mantissa * power_of(5, tens), half = (wide)1 << (shift - 1), number = scaled >> shift;
    wide rest = scaled - (number << shift);
    if (rest > half || (rest == half && (number & 1) == 1)) number++;
    if (number < power_of(10, d->digits)) {
        d->number = (uint64_t)number;
        return true;
    }
    d->exponent++;
    return round_to(mantissa, power, d);
}

/* Whether the decimal is nearest to this double: between the midpoints to its neighbours, in quarters of its last bit.
 * A midpoint belongs to the even one. */
static bool is_read_back(uint64_t mantissa, int power, const decimal *d) {
    int tens = d->digits - 1 - d->exponent, shift = -(power + tens);
    uint64_t fives = power_of(5, tens);
    bool is_even = (mantissa & 1) == 0, is_lowest = mantissa == UINT64_C(1) << 52;
    wide low = (wide)(4 * mantissa - (is_lowest ? 1 : 2)) * fives, high = (wide)(4 * mantissa + 2) * fives;
    wide found = (wide)d->number << (shift + 2);
    return is_even ? found >= low && found <= high : found > low && found < high;
}

/* The digits as %g writes them: without zeros at the end, with an exponent where it is below -4 or at least the number
 * of digits. */
static void write_decimal(decimal d, bool is_negative, char *text) {
    char digits[FORMAT_INT_SIZE];
    int precision = d.digits, count = (int)format_uint(d.number, digits);
    assert(count == precision);
    while (count > 1 && digits[count - 1] == '0') count--;
    if (is_negative) *text++ = '-';
    bool has_exponent = d.exponent < -4 || d.exponent >= precision;
    int before = has_exponent ? 1 : d.exponent + 1; /* digits before the point */
    if (before <= 0) {
        *text++ = '0';
        *text++ = '.';
        for (int i = before; i < 0; i++) *text++ = '0';
    }
    for (int i = 0; i < count || i < before; i++) {
        if (i == before && i > 0) *text++ = '.';
        *text++ = i < count ? digits[i] : '0';
    }
    if (has_exponent) {
        int size = d.exponent < 0 ? -d.exponent : d.exponent;
        *text++ = 'e';
        *text++ = d.exponent < 0 ? '-' : '+';
        *text++ = (char)('0' + size / 10); /* below 100: MAX_POWER */
        *text++ = (char)('0' + size % 10);
    }
    *text = '\0';
}

bool format_double(double value, char text[static FORMAT_DOUBLE_SIZE]) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7ff);
    bool is_negative = bits >> 63 != 0;
    if (biased == 0 && fraction == 0) {
        memcpy(text, is_negative ? "-0" : "0", is_negative ? 3 : 2);
        return true;
    }
    if (biased == 0 || biased == 0x7ff) return false;
    uint64_t mantissa = fraction | UINT64_C(1) << 52;
    int power = biased - 1023 - 52;
    int exponent = (int)floor((power + 52) * 0.30102999566 - 1e-6); /* log10(2); never too high, at most one too low */
    for (int digits = 15; digits <= 17; digits++) {
        decimal d = {.digits = digits, .exponent = exponent};
        if (!round_to(mantissa, power, &d)) return false;
        if (!is_read_back(mantissa, power, &d)) continue;
        write_decimal(d, is_negative, text);
        return true;
    }
    return false;
}
#else
bool format_double(double value, char text[static FORMAT_DOUBLE_SIZE]) {
    (void)value;
    (void)text;
    return false;
}
#endif
