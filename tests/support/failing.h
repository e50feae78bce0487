/* failing.h - makes chosen allocations fail, to test the handling of exhausted memory.
 *
 * Test programs are linked so that malloc, calloc, realloc and aligned_alloc of the library go through failing.c
 * (-Wl,--wrap). The usual loop makes each allocation of an operation fail in turn:
 *
 *     for (long n = 0;; n++) {
 *         failing_start(n);
 *         ft_status status = operation();
 *         if (!failing_stop()) break;     // there is no n-th allocation: every one has failed once
 *         assert_int_equal(status, FT_ERR_NOMEM);
 *     }
 */
#ifndef TESTS_FAILING_H
#define TESTS_FAILING_H

#include <stdbool.h>
#include <stddef.h>

/* Makes the n-th allocation from now on fail, once. Not for threads. */
void failing_start(long n);
/* Stops; returns whether an allocation failed. */
bool failing_stop(void);

#endif
