/* device.h - devices and their data sheets: a small JSON file each (devices/, docs/devices.md).
 *
 * The bundled devices are compiled in; ft_device_open also accepts the path of a device file. */
#ifndef FORETELL_DEVICE_H
#define FORETELL_DEVICE_H

#include <stdint.h>

#include "foretell/status.h"

FT_C_BEGIN

typedef struct ft_device ft_device;

/* `name`: a bundled device by its name or one of its other names ("adreno-640", "adreno640gpu_tflite21"), or as drivers
 * spell it ("NVIDIA GeForce RTX 4090"), or a path with a '/' or ".json". */
FT_API ft_status ft_device_open(const char *name, ft_device **device, ft_error *error);
FT_API void ft_device_free(ft_device *device);
FT_API const char *ft_device_name(const ft_device *device);
FT_API const char *ft_device_text(const ft_device *device);
FT_API const char *ft_device_kind(const ft_device *device); /* "cpu", "gpu", "npu" */
/* The runtime that the device is measured with: the name of its fusion rules, for ft_rules_open. */
FT_API const char *ft_device_runtime(const ft_device *device);
/* The architecture that the vendor names ("Ampere", "CDNA 3"); "" when unknown. */
FT_API const char *ft_device_architecture(const ft_device *device);
/* A number of the data sheet by name ("peak_float32_flops", "bandwidth_bytes_per_s", "launch_s", ...; docs/devices.md
 * lists them); NaN when unknown. */
FT_API double ft_device_number(const ft_device *device, const char *key);

/* The names of those numbers; NULL after the last. */
FT_API const char *ft_device_number_name(uint32_t index);
/* A device file with every key, to be filled in; it can be opened as it is. */
FT_API const char *ft_device_template(void);

/* The bundled devices. */
FT_API uint32_t ft_device_count(void);
FT_API const char *ft_device_name_at(uint32_t index);
FT_API const char *ft_device_text_at(uint32_t index);
/* The name of a bundled device, for any of its names; NULL when there is none. */
FT_API const char *ft_device_canonical(const char *name);
/* The same for a name as drivers and people spell it: "NVIDIA GeForce RTX 4090", "RTX 4090". Data sets and predictors
 * may have a device of exactly this name, which takes precedence. */
FT_API const char *ft_device_match(const char *name);
/* The same for a file named after its device, such as a tuning log: "logs/v100.jsonl.gz" is of the V100. */
FT_API const char *ft_device_of_file(const char *path);

FT_C_END

#endif
