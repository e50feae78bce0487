/* A stand-in for NVML: two GPUs that do not exist. The first reports everything; the second has no sensor of power.
 * STANDIN_MODE=broken: the driver does not answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9, GPUS = 2 };

struct utilization {
    unsigned gpu, memory;
};

struct memory {
    unsigned long long total, free, used;
};

static int numbers[GPUS];
static unsigned calls;

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int code);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetName(void *device, char *name, unsigned size);
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *megahertz);

int nvmlInit_v2(void) {
    const char *mode = getenv("STANDIN_MODE");
    calls = 0;
    return mode != NULL && strcmp(mode, "broken") == 0 ? DRIVER_NOT_LOADED : OK;
}

int nvmlShutdown(void) {
    return OK;
}

const char *nvmlErrorString(int code) {
    return code == DRIVER_NOT_LOADED ? "Driver Not Loaded (stand-in)" : "an error (stand-in)";
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = GPUS;
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = &numbers[index];
    return OK;
}

int nvmlDeviceGetName(void *device, char *name, unsigned size) {
    snprintf(name, size, "Stand-in GPU %d", (int)((int *)device - numbers));
    return OK;
}

/* 10, 20, 30 ... percent. */
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *rates) {
    if (device == &numbers[0]) calls++;
    rates->gpu = 10 * calls;
    rates->memory = 5 * calls;
    return OK;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
    (void)device;
    memory->total = 8ULL << 30;
    memory->used = (unsigned long long)calls << 30;
    memory->free = memory->total - memory->used;
    return OK;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) {
    if (device != &numbers[0]) return NOT_SUPPORTED;
    *milliwatts = 150500;
    return OK;
}

int nvmlDeviceGetClockInfo(void *device, int kind, unsigned *megahertz) {
    (void)device;
    *megahertz = kind == 1 ? 1500 : 0;
    return OK;
}
