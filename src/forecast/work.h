/* work.h - what the parts of a time do, and what bounds them: arithmetic, traffic, or being launched at all. */
#ifndef FORECAST_WORK_H
#define FORECAST_WORK_H

#include "base/arena.h"
#include "foretell/cost.h"
#include "foretell/forecast.h"

/* The limits of a device for numbers of a type; NaN: not known. */
typedef struct limits {
    double flops_per_s, bytes_per_s, launch_s;
} limits;

limits limits_of(const ft_device *sheet, ft_dtype dtype);
bool limits_are_known(const limits *l);

/* What a part does: FLOPs, and the bytes that cross its border. */
typedef struct part_work {
    double flops, bytes;
} part_work;

/* The work of parts that share no operator. False when out of memory. */
bool work_of_parts(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options, const ft_part *parts,
                   uint32_t count, arena *memory, part_work **work);

/* What bounds it, and, in `least_s`, how long it takes at least. */
ft_bound work_bound(const part_work *work, const limits *l, double *least_s);
/* Whether parts of a predicted time may wait on a device for the processor to launch them, whatever bounds them once
 * they run; and whether one does. */
bool work_can_wait(const ft_device *sheet);
bool work_waits(const ft_part *part, double least_s);

#endif
