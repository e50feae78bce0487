/* made_log.h - logs of tensor programs, made up: products of matrices in several tilings. */
#ifndef TESTS_MADE_LOG_H
#define TESTS_MADE_LOG_H

#include <stdint.h>

/* Program `number` as a line of a log, which took so many seconds. The text is valid until the next call. */
const char *made_line(uint32_t number, double seconds);
/* What program `number` takes: a product costs by its size and by its tiling. Device 0, or 1, which is slower than any
 * data sheet tells. */
double made_seconds(uint32_t number, int device);
/* Writes FOLDER/v100.jsonl and FOLDER/k80.jsonl with the first `programs` programs each. */
void made_logs(const char *folder, uint32_t programs);

#endif
