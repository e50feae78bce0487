/* halving.c - who goes on, and with how much. */
#include "learn/search/halving.h"

#include <math.h>

double halving_share(uint32_t rung, uint32_t rungs, uint32_t factor) {
    double share = 1;
    for (uint32_t i = rung + 1; i < rungs; i++) share /= factor;
    return share;
}

/* How many are better than one: smaller, or equal and earlier. */
static uint32_t rank_of(const double *losses, uint32_t count, uint32_t one) {
    uint32_t better = 0;
    for (uint32_t i = 0; i < count; i++) better += losses[i] < losses[one] || (i < one && losses[i] == losses[one]);
    return better;
}

uint32_t halving_promote(const double *losses, uint32_t count, uint32_t factor, bool *goes_on) {
    uint32_t places = count / factor > 0 ? count / factor : 1, promoted = 0;
    for (uint32_t i = 0; i < count; i++) {
        goes_on[i] = !isnan(losses[i]) && rank_of(losses, count, i) < places;
        promoted += goes_on[i];
    }
    return promoted;
}
