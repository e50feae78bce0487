/* growth.c - see growth.h. */
#include "support/growth.h"

#include <math.h>
#include <time.h>

enum { TRIES = 6, FACTOR = 4 };

double growth_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Both times are the least so far: a disturbance makes them longer, never shorter. */
double growth_ratio(growth_work *work, void *user, uint32_t size, double enough) {
    double least = INFINITY, least_of_more = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        for (int k = 0; k < FACTOR; k++) least = fmin(least, work(user, size));
        least_of_more = fmin(least_of_more, work(user, size * FACTOR));
        if (least_of_more / least <= enough) break;
    }
    return least_of_more / least;
}
