/* device.h - parser of device files; the public side is foretell/device.h. */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include <stddef.h>

#include "foretell/device.h"

enum { DEVICE_VERSION = 1, DEVICE_MAX_BYTES = 1 << 16, DEVICE_NAME_BYTES = 64, DEVICE_TEXT_BYTES = 256 };

/* Parses the text of a device file; messages use `name` as the file name. */
ft_status device_parse(const char *bytes, size_t size, const char *name, ft_device **device, ft_error *error);

/* Float32 operations a second that a watt sustains, from large products measured on a T4, L4, V100, A100 and P100; they
 * follow the process of the chip. NAN: unknown, so not limited. */
double device_float32_per_watt(const ft_device *device);

#endif
