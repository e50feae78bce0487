/* roofline.h - the baseline "roofline": a kernel takes the larger of its arithmetic and its traffic, plus a launch.
 *
 * Four constants per device: the time of a FLOP, of a byte, of a launch, and of a run before its first kernel. */
#ifndef PREDICTOR_BASELINE_ROOFLINE_H
#define PREDICTOR_BASELINE_ROOFLINE_H

#include "predictor/core/families.h"
#include "predictor/core/family_common.h"
#include "predictor/core/runtimes.h"

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

/* The time of a kernel. */
static inline double roofline_kernel(const double *constants, double flops, double bytes) {
    double compute = constants[ROOF_FLOP] * flops, traffic = constants[ROOF_BYTE] * bytes;
    return (compute > traffic ? compute : traffic) + constants[ROOF_LAUNCH];
}

#endif
