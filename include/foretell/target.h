/* target.h - devices and settings as people name them, resolved for requests.
 *
 *     ft_targets *targets;
 *     ft_target_options options = {.devices = "rtx-4090,my-gpu.json"};
 *     if (!ft_targets_open(set, &options, &targets, &error))
 *         for (uint32_t i = 0; i < ft_targets_count(targets); i++) requests[i] = ft_targets_request(targets, i);
 *
 * Every device is listed once, whatever names it was given by. */
#ifndef FORETELL_TARGET_H
#define FORETELL_TARGET_H

#include "foretell/forecast.h"

FT_C_BEGIN

enum { FT_MAX_TARGETS = 256 };

typedef struct ft_target_options {
    /* Names separated by commas: those that ft_report_devices lists, by any of their names, the paths of data sheets,
     * or "all": the devices that the predictors were trained on. NULL: all. */
    const char *devices;
    const char *const *settings; /* "key=value" */
    uint32_t setting_count;
    const char *prices;  /* per hour: "2.5/h" of all devices, "a100=2.5/h,rtx-4090=0.4/h" of some; NULL: data sheets */
    const char *runtime; /* that all devices must run, as in ft_rules_open; NULL: the usual one of each */
    bool has_no_files;   /* paths of data sheets are refused: for names from a network */
} ft_target_options;

typedef struct ft_targets ft_targets;

/* Unknown names, two devices of one name, settings that contradict each other, and those of PyTorch for devices of
 * which none runs it are FT_ERR_USAGE. `set` and the result are independent of each other. */
FT_API ft_status ft_targets_open(const ft_predictor_set *set, const ft_target_options *options, ft_targets **targets,
                                 ft_error *error);
FT_API void ft_targets_free(ft_targets *targets);
FT_API uint32_t ft_targets_count(const ft_targets *targets);
FT_API const char *ft_targets_name(const ft_targets *targets, uint32_t index);
/* A request with the device, its data sheet and setting; the other fields are zero. It lives as long as `targets`. */
FT_API ft_request ft_targets_request(const ft_targets *targets, uint32_t index);
/* Whether any device has a price, given or in its data sheet. */
FT_API bool ft_targets_have_price(const ft_targets *targets);
/* Bytes of memory by the data sheet; NaN: unknown. */
FT_API double ft_targets_memory(const ft_targets *targets, uint32_t index);

/* Whether a name is the path of a data sheet: it has a '/', or ends in .json, .yaml or .yml. */
FT_API bool ft_device_is_file(const char *name);
/* Opens a data sheet of the user's own. FT_ERR_USAGE when it has the name of a bundled device and other numbers:
 * measurements of one must not be used for the other. */
FT_API ft_status ft_device_open_file(const char *path, ft_device **device, ft_error *error);

FT_C_END

#endif
