/* failing.h - memory that runs out when a test wants it to.
 *
 * Test programs are linked so that malloc, calloc, realloc and aligned_alloc of the library go through failing.c
 * (-Wl,--wrap). The usual loop lets each allocation of an operation fail in turn:
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

/* Lets the n-th allocation from now on fail, once. Not for threads. */
void failing_start(long n);
/* Ends it; true when an allocation did fail. */
bool failing_stop(void);

#endif
