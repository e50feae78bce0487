/* tuning.h - what the files that make, write and draw searches share. */
#ifndef LEARN_TUNING_H
#define LEARN_TUNING_H

#include "base/buf.h"
#include "foretell/tune.h"

/* The value of a key as it is written in JSON; "" when it has none. Numbers with at most `digits` digits; 0: all. */
enum { TUNING_VALUE_TEXT = 160 };
void tuning_value_text(const ft_tune_key *key, double value, int digits, char text[static TUNING_VALUE_TEXT]);

/* All trials, a row for each rung. */
void tuning_csv(const ft_tuning *tuning, buf *out);

/* Indices of the trials, from the best to the worst; those that climbed higher are better. The caller frees them; NULL
 * when out of memory. */
uint32_t *tuning_ranked(const ft_tuning *tuning);

#endif
