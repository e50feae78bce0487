/* metric.h - rounded values of metrics; the unit follows from the metric's name. */
#ifndef REPORT_METRIC_H
#define REPORT_METRIC_H

#include "report/units.h"

/* "148 ms" for a "time_us" of 148164, "12.5 MiB" for bytes, "97.0 %" for a ratio; three digits for other units. Nothing
 * for NaN. */
void metric_words(const char *metric, double value, char text[static UNIT_TEXT_SIZE]);

enum { INTERVAL_TEXT_SIZE = 2 * UNIT_TEXT_SIZE + 4 };
/* "1.10 - 1.40 ms"; nothing when an end is NaN. */
void metric_interval(const char *metric, double lo, double hi, char text[static INTERVAL_TEXT_SIZE]);

#endif
