/* devices.h - devices that a data set may refer to: the bundled ones, and those it describes itself. */
#ifndef DATA_DEVICES_H
#define DATA_DEVICES_H

#include <stdbool.h>

#include "base/arena.h"
#include "foretell/device.h"

#define DEVICES_FOLDER "devices"

/* The canonical name of a device. One that is not bundled is read from FOLDER/devices/NAME.json; `folder` may be
 * NULL. A new name is allocated in `memory`. */
ft_status device_resolve(const char *folder, const char *name, arena *memory, const char **canonical, ft_error *error);

/* Opens the data sheet of a device, bundled or in the folder of a data set. */
ft_status device_open(const char *folder, const char *name, ft_device **device, ft_error *error);

/* The path of the data sheet of a device in a folder; NULL when out of memory or when the name is not a file name. */
char *device_path(const char *folder, const char *name, arena *memory);

#endif
