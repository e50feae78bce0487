/* shrink.h - the same schedule for a smaller problem, so that it can be run for real.
 *
 * Every length becomes 1, 2 or 3, and sizes follow: which lengths stay more than 1 is drawn by the seed, so that over
 * many records every kind of loop is seen running. Structure, order, threads and places stay as they are. */
#ifndef PROGRAM_SHRINK_H
#define PROGRAM_SHRINK_H

#include "program/stage.h"
#include "program/workload.h"
#include "read/ansor.h"

/* `p` has the stages of the workload with the steps applied. Changes the workload and the lengths of the record. */
ft_status shrink_record(const prog *p, workload *w, ansor_record *record, uint64_t seed);

#endif
