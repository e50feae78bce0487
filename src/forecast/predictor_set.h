/* predictor_set.h - the predictors that are open, and the devices they were trained on. */
#ifndef FORECAST_PREDICTOR_SET_H
#define FORECAST_PREDICTOR_SET_H

#include "foretell/forecast.h"

enum { SET_MAX_FILES = 64 };

typedef struct set_entry {
    char *path;
    ft_predictor *predictor; /* the first of its file */
} set_entry;

struct ft_predictor_set {
    set_entry entries[SET_MAX_FILES];
    uint32_t count;
    const char **devices;
    ft_device **sheets; /* of the devices; NULL for one without a bundled data sheet */
    uint32_t device_count;
};

#endif
