/* text.h - strict parsing of numbers, where the whole field must be the number; words in lists.
 *
 * Unlike strtod, these do not depend on the locale of the calling program. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An optional '-' or '+' and decimal digits, nothing else. False for any other text and on overflow. */
bool text_int(const char *text, size_t length, int64_t *value);
/* A decimal number with optional fraction and exponent; false for "inf", "nan" and on overflow. The result is correctly
 * rounded, so that the output of double_text is read back exactly. */
bool text_double(const char *text, size_t length, double *value);

/* True when the word is in a list of words separated by single spaces. The empty word is in no list. */
bool text_has_word(const char *list, const char *word, size_t length);

/* The value of a key in "key=value;key=value", and its length; NULL: the key is absent. The list may be NULL. */
const char *text_setting(const char *list, const char *key, size_t *length);

#endif
