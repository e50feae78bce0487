/* roofline.h - a kernel takes as long as its arithmetic or its traffic, whichever is longer, and a while to launch.
 *
 * Four constants per device: what a FLOP, a byte and a launch cost, and what a run costs before its first kernel. */
#ifndef PREDICTOR_ROOFLINE_H
#define PREDICTOR_ROOFLINE_H

#include "predictor/core/family_common.h"
#include "predictor/core/runtimes.h"
#include "predictor/core/families.h"

enum { ROOF_FLOP, ROOF_BYTE, ROOF_LAUNCH, ROOF_START, ROOF_CONSTANTS };

typedef struct roofline_model {
    runtimes runtimes;
    uint32_t device_count;
    float *constants; /* ROOF_CONSTANTS per device */
} roofline_model;

roofline_model *roofline_new(uint32_t device_count); /* NULL when out of memory */
void roofline_free(void *model);
extern const ft_setting roofline_setting;
ft_status roofline_fit(const fit_set *set, const fit_context *context, void **out, ft_error *error);

/* One of the two is what a kernel takes besides its launch. */
static inline double roofline_kernel(const double *constants, double flops, double bytes) {
    double compute = constants[ROOF_FLOP] * flops, traffic = constants[ROOF_BYTE] * bytes;
    return (compute > traffic ? compute : traffic) + constants[ROOF_LAUNCH];
}

#endif
