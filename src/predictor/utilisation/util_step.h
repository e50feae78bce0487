/* util_step.h - the kernels of a step on a GPU, and what they do on one: time, multiprocessors filled, warps resident,
 * bytes moved.
 *
 * A step is the kernels that PyTorch launches: forward pass, backward pass, optimiser. Their blocks determine how many
 * multiprocessors work while they run. All of it comes from shapes and the data sheet, so what is learned on one kind
 * of model (util_anchor.h) carries over to others. */
#ifndef PREDICTOR_UTILISATION_UTIL_STEP_H
#define PREDICTOR_UTILISATION_UTIL_STEP_H

#include "foretell/device.h"
#include "predictor/core/model_view.h"

/* Kinds of kernels whose times are corrected alike. */
typedef enum util_kind {
    UTIL_PRODUCT,         /* convolutions and matrix products, forward */
    UTIL_WEIGHT_GRADIENT, /* their products in the backward pass */
    UTIL_DATA_GRADIENT,
    UTIL_BIAS_GRADIENT, /* sums over the batch */
    UTIL_DROPOUT,
    UTIL_NORM,
    UTIL_LOOP, /* everything element by element */
    UTIL_OPTIMIZER,
    UTIL_KINDS
} util_kind;

typedef enum util_phase { UTIL_FORWARD, UTIL_BACKWARD, UTIL_UPDATE, UTIL_PHASES } util_phase;

typedef struct util_kernel {
    util_kind kind;
    util_phase phase;
    double launches;
    double rows, columns, depth, groups; /* of a product; rows 0: none */
    bool is_conv;                        /* a product that may run as TensorFloat-32 */
    uint32_t bits;                       /* of its numbers */
    double bytes;                        /* read and written */
    double threads;                      /* that can run at once, of what is not a product */
} util_kernel;

typedef struct util_step {
    util_kernel *kernels;
    uint32_t count;
    double launches;     /* of the host, without the optimiser's */
    double host_us;      /* start and launches of the host that the request names, or a typical one */
    bool is_host_given;  /* the request names one */
    double tensors;      /* parameters that the optimiser updates */
    double samples;      /* the batch */
    double input_elems;  /* elements of the inputs, of the whole batch */
    bool has_loader;     /* the training process makes the batches between the steps ("loader=inline") */
    bool is_loader_open; /* and the request did not say so */
} util_step;

/* Lists the kernels of a view by the rules of eager PyTorch; from its arena. The setting may have "loader=inline|none"
 * and "optimizer=NAME". */
ft_status util_step_make(model_view *s, const ft_rules *rules, util_step *step, ft_error *error);

/* How much longer a step takes on that host than one whose kernels take `kernels_us`: at least 1. */
double util_step_stretch(const util_step *step, double kernels_us, double step_us);

/* Rates of a GPU. */
typedef struct util_device {
    double units, unit_threads;  /* multiprocessors */
    double peak4, peak8, peak16; /* operations per second by bits, */
    double peak19, peak32;       /* of TensorFloat-32 and float32 */
    double bandwidth;            /* bytes per second */
    double power_w;              /* limit */
} util_device;

/* FT_ERR_UNSUPPORTED for what is not a GPU under PyTorch, or lacks peak, bandwidth or the number of multiprocessors. */
ft_status util_device_read(const ft_device *sheet, util_device *device, ft_error *error);

/* The devices of a data set, by its names. */
ft_status util_devices_open(const char *const *names, uint32_t count, util_device *devices, ft_error *error);

/* The rate of the units that a product runs on. */
double util_peak(const util_device *device, const util_kernel *kernel);

/* Sums over kernels. Each is a pair: of what grows with the work (seconds at the rates of the data sheet), and of
 * launches, which take a time of their own. */
typedef struct util_sums {
    double time, launches;
    double filled_time, filled_launches;     /* times the share of the multiprocessors that have a block */
    double resident_time, resident_launches; /* times the share of the warps that are resident */
} util_sums;

typedef struct util_totals {
    util_sums sums[UTIL_PHASES][UTIL_KINDS];
    double phase_bytes[UTIL_PHASES], bytes, flops; /* of the step */
    double compute_s;                              /* the time of products at the peak */
    double bandwidth;                              /* of the device */
    double launches, tensors, samples, input_elems;
    double has_loader;
} util_totals;

void util_totals_of(const util_step *step, const util_device *device, util_totals *totals);

#endif
