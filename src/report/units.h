/* units.h - rounded numbers with units: 25.6 M, 4.09 G, 102.2 MiB, 99.7 %. They do not depend on the locale. */
#ifndef REPORT_UNITS_H
#define REPORT_UNITS_H

#include <stdint.h>

enum { UNIT_TEXT_SIZE = 24 };

/* Exact below 1000, then three digits and K, M, G, T, P or E. Saturated counts show as "> 18.4 E". */
void unit_count(uint64_t value, char text[static UNIT_TEXT_SIZE]);
/* Exact below 1024 ("512 B"), then one decimal and KiB, MiB, ... */
void unit_bytes(uint64_t value, char text[static UNIT_TEXT_SIZE]);
/* One decimal; never "100.0 %" for less than all, nor "0.0 %" for more than nothing. */
void unit_ratio(double ratio, char text[static UNIT_TEXT_SIZE]);
/* A number of decimals, at most six, and a sign when it rounds to less than zero; "-" for NaN. */
void unit_fixed(double value, int decimals, char text[static UNIT_TEXT_SIZE]);
/* Three digits, for intensities. */
void unit_number(double value, char text[static UNIT_TEXT_SIZE]);

#endif
