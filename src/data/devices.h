/* devices.h - which devices a data set may speak of: those in the box, and those it carries itself. */
#ifndef DATA_DEVICES_H
#define DATA_DEVICES_H

#include <stdbool.h>

#include "base/arena.h"
#include "foretell/device.h"

#define DEVICES_FOLDER "devices"

/* The name that a device goes by. One that is not in the box is looked for as FOLDER/devices/NAME.json; `folder` may be
 * NULL. A name that is new lives in `memory`. */
ft_status device_resolve(const char *folder, const char *name, arena *memory, const char **canonical, ft_error *error);

/* What is known of a device, in the box or in the folder of a data set. */
ft_status device_open(const char *folder, const char *name, ft_device **device, ft_error *error);

/* The path of the file in which a folder describes a device; NULL when out of memory or when the name cannot be one. */
char *device_path(const char *folder, const char *name, arena *memory);

#endif
