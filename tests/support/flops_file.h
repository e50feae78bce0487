/* flops_file.h - predictor files of the simplest family (a line over FLOPs). Failures fail the test. */
#ifndef TESTS_FLOPS_FILE_H
#define TESTS_FLOPS_FILE_H

/* Writes a predictor of a metric for "adreno-640" and "mine": `start` + `slope` times FLOPs on both. Its interval is a
 * factor of 2 either way on the first; on the second it has none. */
void flops_file_write(const char *path, const char *metric, float start, float slope);

#endif
