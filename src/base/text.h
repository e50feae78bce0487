/* text.h - numbers out of text, strictly: the whole field is the number, or there is none; words in lists.
 *
 * The C library's strtod follows the locale of the program that uses us; these do not. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An optional '-' or '+' and decimal digits, nothing else. False when it is no such text or does not fit. */
bool text_int(const char *text, size_t length, int64_t *value);
/* A decimal number with optional fraction and exponent. "inf" and "nan" are not numbers; neither is what overflows.
 * The result is the double next to it, so that what double_text wrote comes back. */
bool text_double(const char *text, size_t length, double *value);

/* Whether a word stands in a list whose words have one space between. No list has the empty word. */
bool text_has_word(const char *list, const char *word, size_t length);

#endif
