/* device.h - what is known of a device: a small JSON file each (devices/, docs/devices.md).
 *
 * The ones in the box are compiled in; ft_device_open also takes the path of a file of the user's own. */
#ifndef FORETELL_DEVICE_H
#define FORETELL_DEVICE_H

#include <stdint.h>

#include "foretell/status.h"

FT_C_BEGIN

typedef struct ft_device ft_device;

/* `name`: a device in the box by its name or one of its other names ("adreno-640", "adreno640gpu_tflite21"), or as
 * drivers spell it ("NVIDIA GeForce RTX 4090"), or a path with a '/' or ".json". */
FT_API ft_status ft_device_open(const char *name, ft_device **device, ft_error *error);
FT_API void ft_device_free(ft_device *device);
FT_API const char *ft_device_name(const ft_device *device);
FT_API const char *ft_device_text(const ft_device *device);
FT_API const char *ft_device_kind(const ft_device *device); /* "cpu", "gpu", "npu" */
/* The fusion rules of the runtime that it is measured with, for ft_rules_open. */
FT_API const char *ft_device_runtime(const ft_device *device);
/* Numbers of the data sheet by name ("peak_float32_flops", "bandwidth_bytes_per_s", "launch_s", ...; docs/devices.md
 * has them all); NaN when unknown. */
FT_API double ft_device_number(const ft_device *device, const char *key);

/* The names of those numbers; NULL after the last. */
FT_API const char *ft_device_number_name(uint32_t index);

/* The devices in the box. */
FT_API uint32_t ft_device_count(void);
FT_API const char *ft_device_name_at(uint32_t index);
FT_API const char *ft_device_text_at(uint32_t index);
/* The name that a device in the box goes by, for any of its names; NULL when there is none. */
FT_API const char *ft_device_canonical(const char *name);
/* The same for a name as drivers and people spell it: "NVIDIA GeForce RTX 4090", "RTX 4090". A data set or a predictor
 * may have a device of its own by such a name; who asks about one looks for that first. */
FT_API const char *ft_device_match(const char *name);
/* The same for a file that is named after its device, as a tuning log is: "logs/v100.jsonl.gz" is of the V100. */
FT_API const char *ft_device_of_file(const char *path);

FT_C_END

#endif
