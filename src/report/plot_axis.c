/* plot_axis.c - units, tick positions and tick labels of axes. */
#include "report/plot_axis.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/units.h"

/* --- Units --------------------------------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end, size_t *stem) {
    size_t length = strlen(text), end_length = strlen(end);
    if (length < end_length || strcmp(text + length - end_length, end) != 0) return false;
    *stem = length - end_length;
    return true;
}

axis_unit axis_unit_of(const char *metric, char label[static AXIS_LABEL]) {
    static const struct {
        const char *end;
        axis_unit unit;
    } known[] = {{"_us", {"s", 1e-6}},   {"_ms", {"s", 1e-3}}, {"_s", {"s", 1}},    {"_bytes", {"B", 1}},
                 {"_ratio", {"%", 100}}, {"_mj", {"J", 1e-3}}, {"_watts", {"W", 1}}};
    axis_unit unit = {"", 1};
    size_t stem = strlen(metric);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!ends_in(metric, known[i].end, &stem)) continue;
        unit = known[i].unit;
        break;
    }
    snprintf(label, AXIS_LABEL, "%.*s", (int)(stem < AXIS_LABEL ? stem : AXIS_LABEL - 1), metric);
    for (char *c = label; *c != '\0'; c++)
        if (*c == '_') *c = ' ';
    return unit;
}

/* --- Text ---------------------------------------------------------------------------------------------------- */

/* `decimals` digits after the point, none of them a zero at the end, and a minus as wide as a digit. */
static void number_text(double value, int decimals, char text[static AXIS_TICK_TEXT]) {
    char number[UNIT_TEXT_SIZE];
    unit_fixed(value, decimals, number);
    assert(number[0] != '\0');
    if (strchr(number, '.') != NULL) {
        size_t length = strlen(number);
        while (number[length - 1] == '0') number[--length] = '\0';
        if (number[length - 1] == '.') number[length - 1] = '\0';
    }
    bool is_negative = number[0] == '-';
    snprintf(text, AXIS_TICK_TEXT, "%s%.18s", is_negative ? "\xe2\x88\x92" : "", number + is_negative);
}

/* Decimals that leave three digits. */
static int decimals_of(double value) {
    double size = fabs(value);
    if (size >= 100) return 0;
    if (size >= 10) return 1;
    if (size >= 1) return 2;
    return size >= 0.1 ? 3 : 5;
}

static bool has_prefixes(axis_unit unit) {
    return unit.symbol[0] != '\0' && strcmp(unit.symbol, "%") != 0;
}

/* Bytes go in steps of 1024 (KiB, MiB, GiB), as they do in tables. */
static bool is_binary(axis_unit unit) {
    return strcmp(unit.symbol, "B") == 0;
}

static double prefix_step(axis_unit unit) {
    return is_binary(unit) ? 1024 : 1000;
}

void axis_text(double value, axis_unit unit, char text[static AXIS_TICK_TEXT]) {
    static const char *const decimal[] = {"p", "n", "\xc2\xb5", "m", "", "k", "M", "G", "T", "P"};
    static const char *const binary[] = {"p", "n", "\xc2\xb5", "m", "", "Ki", "Mi", "Gi", "Ti", "Pi"};
    enum { PLAIN = 4, LAST = sizeof decimal / sizeof decimal[0] - 1 };
    const char *const *prefixes = is_binary(unit) ? binary : decimal;
    double scaled = value * unit.scale, step = prefix_step(unit);
    int prefix = PLAIN;
    if (has_prefixes(unit) || fabs(scaled) >= 9999.5) {
        for (; fabs(scaled) >= step - 0.5 && prefix < LAST; prefix++) scaled /= step;
        for (; has_prefixes(unit) && scaled != 0 && fabs(scaled) < 0.9995 && prefix > 0; prefix--) scaled *= 1000;
    }
    char number[AXIS_TICK_TEXT];
    number_text(scaled, decimals_of(scaled), number);
    bool has_space = has_prefixes(unit) || strcmp(unit.symbol, "%") == 0;
    if (snprintf(text, AXIS_TICK_TEXT, "%s%s%s%s", number, has_space ? " " : "", prefixes[prefix], unit.symbol) >=
        AXIS_TICK_TEXT)
        text[0] = '\0';
}

/* --- Ticks --------------------------------------------------------------------------------------------------- */

static void add_tick(plot_axis *axis, double at) {
    if (axis->tick_count == AXIS_MAX_TICKS) return;
    axis_tick *tick = &axis->ticks[axis->tick_count++];
    tick->at = at;
    axis_text(at, axis->unit, tick->text);
}

/* The step of 1, 2 or 5 times a power of ten that comes nearest to `about` steps in the range. */
static double nice_step(double range, uint32_t about) {
    double rough = range / (about > 0 ? about : 1), power = pow(10, floor(log10(rough)));
    double ratio = rough / power;
    return power * (ratio < 1.42 ? 1 : ratio < 3.17 ? 2 : ratio < 7.08 ? 5 : 10);
}

/* The value of the prefix that a tick label of this size gets: for bytes a power of 1024, else 1. */
static double counted_in(axis_unit unit, double size) {
    return is_binary(unit) && size >= 1024 ? pow(1024, floor(log2(size) / 10)) : 1;
}

static void add_linear_ticks(plot_axis *axis, uint32_t about) {
    double of = counted_in(axis->unit, fmax(fabs(axis->lo), fabs(axis->hi)));
    double step = nice_step((axis->hi - axis->lo) / of, about) * of;
    double slack = (axis->hi - axis->lo) * 1e-9;
    double first = ceil((axis->lo - slack) / step), last = floor((axis->hi + slack) / step);
    for (uint32_t i = 0; i < AXIS_MAX_TICKS && first + i <= last; i++) add_tick(axis, (first + i) * step);
}

static void repair_range(double *lo, double *hi) {
    if (!isfinite(*lo) || !isfinite(*hi)) {
        *lo = 0;
        *hi = 1;
    }
    if (*hi - *lo > 0) return;
    double room = *lo != 0 ? fabs(*lo) * 0.1 : 1;
    *hi = *lo + room;
    *lo -= room;
}

/* The k-th of the ticks that are powers of ten, each with the prefix that it will have: 100 B, 1 KiB, 10 KiB. */
static double power_at(axis_unit unit, int k) {
    if (!is_binary(unit)) return pow(10, k);
    double thousands = floor(k / 3.0);
    return pow(1024, thousands) * pow(10, k - 3 * thousands);
}

/* Zero, or the first power of ten. */
static void set_anchor(plot_axis *axis) {
    for (uint32_t i = 0; i < axis->tick_count; i++) {
        double at = axis->ticks[i].at, of = counted_in(axis->unit, at), power = at > 0 ? log10(at / of) : 0.5;
        bool is_anchor = axis->is_log ? fabs(power - round(power)) < 1e-9 : at == 0;
        if (!is_anchor) continue;
        axis->anchor = i;
        return;
    }
}

void axis_linear(plot_axis *axis, double lo, double hi, uint32_t about, axis_unit unit) {
    repair_range(&lo, &hi);
    *axis = (plot_axis){.lo = lo, .hi = hi, .unit = unit};
    add_linear_ticks(axis, about);
    set_anchor(axis);
}

void axis_counts(plot_axis *axis, double hi, uint32_t about) {
    if (!(hi >= 1)) hi = 1;
    double step = nice_step(hi, about);
    if (step < 1) step = 1;
    *axis = (plot_axis){.lo = 0, .hi = step * ceil(hi / step), .unit = {"", 1}};
    for (uint32_t i = 0; i < AXIS_MAX_TICKS && i * step <= axis->hi; i++) add_tick(axis, i * step);
}

/* Ticks at 10^k times each of `factors`, for every `stride`-th k. Returns their number; they are added unless only
 * counted. */
static uint32_t log_ticks(plot_axis *axis, const double *factors, uint32_t factor_count, int stride, bool is_dry) {
    uint32_t count = 0;
    assert(axis->lo > 0 && axis->hi > axis->lo && stride > 0);
    int first = (int)floor(log10(axis->lo)) - 1, last = (int)ceil(log10(axis->hi));
    for (int k = first; k <= last; k++) {
        if (((k % stride) + stride) % stride != 0) continue;
        for (uint32_t f = 0; f < factor_count; f++) {
            double at = power_at(axis->unit, k) * factors[f];
            if (at < axis->lo * (1 - 1e-9) || at > axis->hi * (1 + 1e-9)) continue;
            count++;
            if (!is_dry) add_tick(axis, at);
        }
    }
    return count;
}

/* The finest ticks that fit: 1-2-5, 1-3, all powers of ten, or every n-th of them. */
static void add_log_ticks(plot_axis *axis, uint32_t about) {
    static const double fine[] = {1, 2, 5}, coarse[] = {1, 3};
    uint32_t max = about + 1 < AXIS_MAX_TICKS ? about + 1 : AXIS_MAX_TICKS;
    uint32_t fine_count = log_ticks(axis, fine, 3, 1, true), decades = log_ticks(axis, fine, 1, 1, true);
    if (fine_count < 3)
        add_linear_ticks(axis, about);
    else if (fine_count <= max)
        log_ticks(axis, fine, 3, 1, false);
    else if (log_ticks(axis, coarse, 2, 1, true) <= max)
        log_ticks(axis, coarse, 2, 1, false);
    else
        log_ticks(axis, fine, 1, (int)((decades + max - 1) / max), false);
}

void axis_log(plot_axis *axis, double lo, double hi, uint32_t about, axis_unit unit) {
    if (!(lo > 0) || !isfinite(hi) || !(hi >= lo)) {
        lo = 1;
        hi = 10;
    }
    static const double MIN_END = 1e-100, MAX_END = 1e100; /* beyond them ratios overflow */
    lo = fmin(fmax(lo, MIN_END), MAX_END);
    hi = fmin(fmax(hi, MIN_END), MAX_END);
    double room = fmax(pow(hi / lo, 0.03), 1.02);
    *axis = (plot_axis){.is_log = true, .lo = lo / room, .hi = hi * room, .unit = unit};
    add_log_ticks(axis, about);
    set_anchor(axis);
}

double axis_place(const plot_axis *axis, double value) {
    assert(!axis->is_log || (axis->lo > 0 && axis->hi > axis->lo));
    if (!axis->is_log) return (value - axis->lo) / (axis->hi - axis->lo);
    return log(value / axis->lo) / log(axis->hi / axis->lo);
}
