/* tuning.h - what the files that make, write and draw searches share. */
#ifndef LEARN_TUNING_H
#define LEARN_TUNING_H

#include "base/buf.h"
#include "foretell/tune.h"

/* All trials, a row for each rung. */
void tuning_csv(const ft_tuning *tuning, buf *out);

#endif
