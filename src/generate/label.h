/* label.h - computed labels of generated data: time, memory and utilisation of a network on an RTX 3090.
 *
 * Nothing here was measured. The time of an operator is that of its arithmetic or its traffic by the device's data
 * sheet, at the fraction of the peak that kernels of its kind reach; the host launches operators one after the
 * other, and the slower of host and device determines the total. Memory is the peak of the timeline plus the process
 * overhead; utilisation is the fraction of the time in which the device is busy. */
#ifndef GENERATE_LABEL_H
#define GENERATE_LABEL_H

#include "base/buf.h"
#include "base/rng.h"
#include "foretell/cost.h"
#include "foretell/device.h"

typedef struct label_mode {
    double time_ms;                                       /* of an iteration */
    double sm_util_percent, sm_util_peak_percent;         /* peak: while nothing is copied from the host */
    double memory_util_percent, memory_util_peak_percent; /* peak: while a kernel runs */
    double memory_mib, memory_average_mib;                /* peak and average of the timeline */
} label_mode;

typedef struct label {
    label_mode modes[2]; /* by ft_mode */
    bool fits;           /* in the memory of the device, in training */
} label;

ft_status label_compute(const ft_graph *bound, const ft_device *device, label *made, ft_error *error);

/* Varies times and utilisation by about `ratio`, memory by a tenth of it. */
void label_add_noise(label *l, double ratio, rng *random);

/* Appends the text of a label file. */
void label_text(const label *l, int64_t batch, buf *out);

#endif
