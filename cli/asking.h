/* asking.h - what predict, fits and max-batch ask a forecast for: the options they share, the predictors and devices
 * that are then open, and the requests made of them. */
#ifndef CLI_ASKING_H
#define CLI_ASKING_H

#include "models.h"

enum { ASKING_MOST_DEVICES = 256, ASKING_MOST_BATCHES = 64, ASKING_MOST_SETTINGS = 16 };

typedef struct asking {
    shape_list shapes;
    name_list predictors;
    const char *device_names; /* as given, separated by commas; NULL: all */
    int64_t batches[ASKING_MOST_BATCHES];
    uint32_t batch_count; /* 0: as exported */
    ft_mode mode;
    ft_dtype dtype;
    ft_optimizer optimizer;
    bool has_optimizer;
    const char *runtime;                            /* rules that all devices have to run with; NULL: theirs */
    const char *setting_list[ASKING_MOST_SETTINGS]; /* "key=value", some of them ours to free */
    uint32_t setting_count;

    /* Once open: */
    ft_predictor_set *box;
    char *names; /* what the names of the devices point into */
    struct {
        const char *name;
        ft_device *sheet; /* of a file of the user's own */
        bool is_without_torch;
    } devices[ASKING_MOST_DEVICES];
    uint32_t device_count;
    char *setting;       /* all of them, */
    char *other_setting; /* and without those of PyTorch, for devices that do not run it */
} asking;

/* The options; `input` is an asking. */
extern const option_set asking_set;
void asking_init(asking *a);
/* Opens predictors and devices, and puts the settings in order. Says what is wrong. */
ft_status asking_open(asking *a);
ft_request asking_request(const asking *a, uint32_t device, int64_t batch);
/* All requests, device by device; the caller frees them. NULL when out of memory. */
ft_request *asking_requests(const asking *a, uint32_t *count);
void asking_close(asking *a);

/* Opens a device: in the box, or a file of the user's own (*sheet). Says what is wrong. */
bool asking_is_file(const char *device);
/* The bytes of memory of a device by its data sheet; NaN when they are not known. */
double asking_device_memory(const asking *a, uint32_t device);

#endif
