/* format.h - formatted text as printf writes it, but faster: printf is slow by itself, and slower once a library has
 * registered conversions of its own, as the quadmath library that OpenBLAS brings along does. */
#ifndef BASE_FORMAT_H
#define BASE_FORMAT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORMAT_INT_SIZE = 20, FORMAT_DOUBLE_SIZE = 32 };

/* As snprintf: the length of the whole text is returned, and `text` has its beginning, terminated when size > 0.
 * Strings, characters and integers without flags and width are written here, all else by vsnprintf. SIZE_MAX: the
 * text is too long for it. */
size_t format_text(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t format_list(char *text, size_t size, const char *format, va_list args) __attribute__((format(printf, 3, 0)));

/* Decimal digits, without a terminator; their number is returned. */
size_t format_uint(uint64_t number, char digits[static FORMAT_INT_SIZE]);

/* The first of "%.15g", "%.16g" and "%.17g" that is read back as the same value, with a point whatever the locale.
 * False, and nothing written, for values that need printf: very large, very small or not finite ones. */
bool format_double(double value, char text[static FORMAT_DOUBLE_SIZE]);

#endif
