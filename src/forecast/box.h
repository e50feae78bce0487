/* box.h - inside the box. */
#ifndef FORECAST_BOX_H
#define FORECAST_BOX_H

#include "foretell/forecast.h"

enum { BOX_MOST_FILES = 64 };

typedef struct box_entry {
    char *path;
    ft_predictor *predictor; /* the first of its file */
} box_entry;

struct ft_predictor_set {
    box_entry entries[BOX_MOST_FILES];
    uint32_t count;
    const char **devices;
    ft_device **sheets; /* of the devices; NULL for one that is in no box */
    uint32_t device_count;
};

#endif
