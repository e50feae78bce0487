/* units.c - rounding to three digits or a fixed number of decimals, with a unit. */
#include "report/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* Writes `scaled` (a value times 10^decimals) with its point in place. */
static void fixed(uint64_t scaled, int decimals, const char *unit, char *text) {
    assert(decimals >= 0 && decimals <= 2);
    unsigned long long power = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
    if (decimals == 0)
        snprintf(text, UNIT_TEXT_SIZE, "%llu%s", (unsigned long long)scaled, unit);
    else
        snprintf(text, UNIT_TEXT_SIZE, "%llu.%0*llu%s", scaled / power, decimals, scaled % power, unit);
}

/* Three digits of a value below 999.5. */
static void three_digits(double value, const char *unit, char *text) {
    assert(value >= 0 && value < 999.5);
    if (value < 9.995)
        fixed((uint64_t)llround(value * 100), 2, unit, text);
    else if (value < 99.95)
        fixed((uint64_t)llround(value * 10), 1, unit, text);
    else
        fixed((uint64_t)llround(value), 0, unit, text);
}

void unit_count(uint64_t value, char text[static UNIT_TEXT_SIZE]) {
    static const char *const units[] = {"", " K", " M", " G", " T", " P", " E"};
    if (value == UINT64_MAX) {
        snprintf(text, UNIT_TEXT_SIZE, "> 18.4 E");
        return;
    }
    if (value < 1000) {
        fixed(value, 0, "", text);
        return;
    }
    double scaled = (double)value;
    int unit = 0;
    while (scaled >= 999.5) { /* a value that rounds to 1000 gets the next unit */
        scaled /= 1000;
        unit++;
    }
    assert(unit < (int)(sizeof units / sizeof units[0]));
    three_digits(scaled, units[unit], text);
}

void unit_bytes(uint64_t value, char text[static UNIT_TEXT_SIZE]) {
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    if (value == UINT64_MAX) {
        snprintf(text, UNIT_TEXT_SIZE, "> 16.0 EiB");
        return;
    }
    if (value < 1024) {
        fixed(value, 0, units[0], text);
        return;
    }
    double scaled = (double)value;
    int unit = 0;
    while (scaled >= 1023.95) {
        scaled /= 1024;
        unit++;
    }
    assert(unit < (int)(sizeof units / sizeof units[0]));
    fixed((uint64_t)llround(scaled * 10), 1, units[unit], text);
}

void unit_ratio(double ratio, char text[static UNIT_TEXT_SIZE]) {
    if (ratio > 0 && ratio < 0.0005)
        snprintf(text, UNIT_TEXT_SIZE, "<0.1 %%");
    else if (ratio < 1 && ratio >= 0.9995)
        snprintf(text, UNIT_TEXT_SIZE, ">99.9 %%");
    else
        fixed((uint64_t)llround(ratio * 1000), 1, " %", text);
}

void unit_fixed(double value, int decimals, char text[static UNIT_TEXT_SIZE]) {
    uint64_t power = 1;
    assert(decimals >= 0 && decimals <= 6);
    for (int i = 0; i < decimals; i++) power *= 10;
    double scaled = round(fabs(value) * (double)power);
    if (!(scaled < 1e15)) {
        snprintf(text, UNIT_TEXT_SIZE, isnan(value) ? "-" : value < 0 ? "< -1e9" : "> 1e9");
        return;
    }
    uint64_t whole = (uint64_t)scaled / power, rest = (uint64_t)scaled % power;
    const char *sign = value < 0 && scaled > 0 ? "-" : "";
    if (decimals == 0)
        snprintf(text, UNIT_TEXT_SIZE, "%s%llu", sign, (unsigned long long)whole);
    else
        snprintf(text, UNIT_TEXT_SIZE, "%s%llu.%0*u", sign, (unsigned long long)whole, decimals, (unsigned)rest);
}

void unit_number(double value, char text[static UNIT_TEXT_SIZE]) {
    if (!(value > 0))
        snprintf(text, UNIT_TEXT_SIZE, "0");
    else if (value < 0.005)
        snprintf(text, UNIT_TEXT_SIZE, "<0.01");
    else if (value < 999.5)
        three_digits(value, "", text);
    else
        unit_count(value < 1e18 ? (uint64_t)llround(value) : UINT64_MAX, text);
}
