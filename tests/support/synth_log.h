/* synth_log.h - synthetic tuning logs of tensor programs: matrix products in several tilings. */
#ifndef TESTS_SYNTH_LOG_H
#define TESTS_SYNTH_LOG_H

#include <stdint.h>

/* Program `number` as a line of a log with this measured time. The text is valid until the next call. */
const char *synth_line(uint32_t number, double seconds);
/* The time of program `number`, by size and tiling, on device 0, or on device 1, which is slower than its data sheet
 * suggests. */
double synth_seconds(uint32_t number, int device);
/* Writes FOLDER/v100.jsonl and FOLDER/k80.jsonl with the first `programs` programs each. */
void synth_logs(const char *folder, uint32_t programs);

#endif
