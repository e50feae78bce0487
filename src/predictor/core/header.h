/* header.h - what a predictor file says of itself: its family, features, devices, training, calibration, accuracy.
 *
 * Keys that a later foretell adds are ignored, as they may only tell more; what changes the meaning of a file changes
 * its version, its family or its schema. */
#ifndef PREDICTOR_HEADER_H
#define PREDICTOR_HEADER_H

#include "predictor/core/predictor.h"

enum { HEADER_MAX_DEVICES = 4096 };

enum { HEADER_MAX_METRICS = 16 };

/* What is told of one metric. */
typedef struct header_metric {
    const char *name;
    uint32_t modes; /* as in predictor_metric */
    double *q90;    /* per device; NaN: not known */
} header_metric;

typedef struct header {
    const family *family;
    header_metric *metrics; /* that the model tells, in its order */
    uint32_t metric_count;
    const char **devices;
    uint32_t device_count;
    uint32_t dtypes;           /* as in predictor_description */
    uint32_t known_count;      /* of the devices, the first: those that the model knows */
    const json_t *adjustments; /* a list, NULL: not adapted; of `root` */
    const json_t *params;
} header;

/* A new object. */
ft_status header_make(const predictor_description *description, const family *f, const json_t *params, json_t **root,
                      ft_error *error);
/* Texts and lists are from the arena; `params` is of `root`. */
ft_status header_parse(const json_t *root, arena *memory, header *h, ft_error *error);

#endif
