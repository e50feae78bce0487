/* cases.h - the cases of an evaluation by device and family. */
#ifndef LEARN_CASES_H
#define LEARN_CASES_H

#include "foretell/learn.h"

/* A copy sorted by device, then family, then record; the caller frees it. NULL when out of memory. */
ft_case *cases_sorted(const ft_case *cases, uint32_t count);

/* How many of sorted cases, from the first on, share its device (and its family). */
uint32_t cases_of_device(const ft_case *sorted, uint32_t count);
uint32_t cases_of_family(const ft_case *sorted, uint32_t count);

#endif
