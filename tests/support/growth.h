/* growth.h - how the time of a computation grows with its size, as a ratio of two runs of one process: no limit of
 * time, which a busy machine misses, and no machine is too fast for. */
#ifndef TESTS_GROWTH_H
#define TESTS_GROWTH_H

#include <stdint.h>

/* Does the work of a size and returns the seconds that count, as a difference of growth_clock(). */
typedef double growth_work(void *user, uint32_t size);

/* Processor time of this thread, in seconds. */
double growth_clock(void);
/* Time at `size` * 4 over that at `size`: the smallest ratio of several tries, at most `enough` when one was. Work in
 * proportion to the size gives 4, in proportion to its square 16. */
double growth_ratio(growth_work *work, void *user, uint32_t size, double enough);

#endif
