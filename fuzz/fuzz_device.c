/* fuzz_device.c - any bytes as a device data sheet; one that loads must have every figure. */
#include <stdlib.h>

#include "device/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ft_device *device = NULL;
    ft_error error;
    if (device_parse((const char *)data, size, "fuzz", &device, &error) != FT_OK) return 0;
    double peak = ft_device_number(device, "peak_float32_flops");
    if (peak <= 0 || ft_device_name(device)[0] == '\0' || ft_device_runtime(device)[0] == '\0') abort();
    ft_device_free(device);
    return 0;
}
