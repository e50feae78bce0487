/* label.h - what a network would take on an RTX 3090, worked out: the labels of generated data.
 *
 * Nothing here was measured. Each operator takes as long as its arithmetic or its traffic by the data sheet of the
 * device, at a share of the peak that kernels of its kind reach; the host starts operators one after the other, and
 * whichever is slower, host or device, sets the pace. Memory is the highest point of the timeline and what the process
 * holds anyway; utilisation is the share of the time in which the device has something to do. */
#ifndef GENERATE_LABEL_H
#define GENERATE_LABEL_H

#include "base/buf.h"
#include "base/rng.h"
#include "foretell/cost.h"
#include "foretell/device.h"

typedef struct label_mode {
    double time_ms; /* of an iteration */
    double sm_util_percent;
    double memory_util_percent;
    double memory_mib;
} label_mode;

typedef struct label {
    label_mode modes[2]; /* by ft_mode */
    bool fits;           /* into the memory of the device, while it is trained */
} label;

ft_status label_compute(const ft_graph *bound, const ft_device *device, label *made, ft_error *error);

/* Times and utilisation change by about `ratio`, memory by a tenth of it. */
void label_add_noise(label *l, double ratio, rng *random);

/* Appends the text of a label file. */
void label_text(const label *l, int64_t batch, buf *out);

#endif
