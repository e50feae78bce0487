/* metric.c - values and intervals of metrics as text; time is scaled from microseconds to hours. */
#include "report/metric.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), size = strlen(ending);
    return length > size && strcmp(text + length - size, ending) == 0;
}

static void time_text(double us, char text[static UNIT_TEXT_SIZE]) {
    static const struct {
        double factor;
        const char *unit;
    } units[] = {{1, "us"}, {1e-3, "ms"}, {1e-6, "s"}, {1e-6 / 60, "min"}, {1e-6 / 3600, "h"}};
    int i = us < 1000 ? 0 : us < 1e6 ? 1 : us < 120e6 ? 2 : us < 7200e6 ? 3 : 4;
    char number[UNIT_TEXT_SIZE];
    unit_number(us * units[i].factor, number);
    snprintf(text, UNIT_TEXT_SIZE, "%.18s %s", number, units[i].unit);
}

void metric_words(const char *metric, double value, char text[static UNIT_TEXT_SIZE]) {
    text[0] = '\0';
    if (isnan(value)) return;
    if (ends_in(metric, "_us"))
        time_text(value, text);
    else if (ends_in(metric, "_bytes") && value < 1e19)
        unit_bytes((uint64_t)value, text);
    else if (ends_in(metric, "_ratio"))
        unit_ratio(value, text);
    else
        unit_number(value, text);
}

void metric_interval(const char *metric, double lo, double hi, char text[static INTERVAL_TEXT_SIZE]) {
    char from[UNIT_TEXT_SIZE], to[UNIT_TEXT_SIZE];
    text[0] = '\0';
    if (isnan(lo) || isnan(hi)) return;
    metric_words(metric, lo, from);
    metric_words(metric, hi, to);
    char *from_unit = strrchr(from, ' ');
    const char *to_unit = strrchr(to, ' ');
    if (from_unit != NULL && to_unit != NULL && strcmp(from_unit, to_unit) == 0) *from_unit = '\0';
    snprintf(text, INTERVAL_TEXT_SIZE, "%s - %s", from, to);
}
