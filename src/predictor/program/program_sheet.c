/* program_sheet.c - converts data sheets to features of devices and back. */
#include "predictor/program/program_sheet.h"

#include <assert.h>
#include <math.h>

#include "base/error.h"

static const double REFERENCE_PEAK = 10e12, REFERENCE_BANDWIDTH = 600e9, REFERENCE_CLOCK = 1.4e9, REFERENCE_UNITS = 60,
                    REFERENCE_CACHE = 4 << 20, REFERENCE_MEMORY = 16.0 * (1 << 30), REFERENCE_THREADS = 2048,
                    REFERENCE_SHARED = 96 << 10, REFERENCE_REGISTERS = 65536, REFERENCE_WARP = 32,
                    REFERENCE_THREAD_REGISTERS = 255;

/* A factor of two is 0.5, so that devices differ by about 1. */
static float log_ratio(double value, double reference) {
    return value > 0 ? (float)(log2(value / reference) / 2) : 0;
}

ft_status program_sheet(const ft_device *device, float *values, ft_error *error) {
    double peak = ft_device_number(device, "peak_float32_flops"),
           bandwidth = ft_device_number(device, "bandwidth_bytes_per_s"), clock = ft_device_number(device, "clock_hz"),
           units = ft_device_number(device, "units");
    if (!(peak > 0 && bandwidth > 0))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "'%s' has no peak_float32_flops or no bandwidth_bytes_per_s",
                       ft_device_name(device));
    values[0] = log_ratio(peak, REFERENCE_PEAK);
    values[1] = log_ratio(bandwidth, REFERENCE_BANDWIDTH);
    values[2] = log_ratio(clock, REFERENCE_CLOCK);
    values[3] = log_ratio(units, REFERENCE_UNITS);
    values[4] = log_ratio(ft_device_number(device, "cache_bytes"), REFERENCE_CACHE);
    values[5] = log_ratio(ft_device_number(device, "memory_bytes"), REFERENCE_MEMORY);
    values[6] = log_ratio(peak / bandwidth, REFERENCE_PEAK / REFERENCE_BANDWIDTH);
    values[7] = log_ratio(peak / (units * clock), REFERENCE_PEAK / (REFERENCE_UNITS * REFERENCE_CLOCK));
    return FT_OK;
}

ft_status program_sheet_limits(const ft_device *device, float *values, ft_error *error) {
    float *limits = values + PROGRAM_SHEET_VALUES;
    FT_TRY(program_sheet(device, values, error));
    limits[0] = log_ratio(ft_device_number(device, "unit_threads"), REFERENCE_THREADS);
    limits[1] = log_ratio(ft_device_number(device, "unit_shared_bytes"), REFERENCE_SHARED);
    limits[2] = log_ratio(ft_device_number(device, "unit_registers"), REFERENCE_REGISTERS);
    limits[3] = log_ratio(ft_device_number(device, "warp_threads"), REFERENCE_WARP);
    limits[4] = log_ratio(ft_device_number(device, "thread_registers"), REFERENCE_THREAD_REGISTERS);
    return FT_OK;
}

static double number(float value, double reference) {
    return reference * exp2(2 * (double)value);
}

/* A whole number: logarithms are inexact. */
static double count(float value, double reference) {
    return fmax(1, round(number(value, reference)));
}

program_limits program_limits_of(const float *values) {
    const float *limits = values + PROGRAM_SHEET_VALUES;
    program_limits l = {.units = count(values[3], REFERENCE_UNITS),
                        .clock_hz = number(values[2], REFERENCE_CLOCK),
                        .bandwidth_bytes_per_s = number(values[1], REFERENCE_BANDWIDTH),
                        .unit_threads = count(limits[0], REFERENCE_THREADS),
                        .unit_shared_bytes = count(limits[1], REFERENCE_SHARED),
                        .unit_registers = count(limits[2], REFERENCE_REGISTERS),
                        .warp_threads = count(limits[3], REFERENCE_WARP),
                        .thread_registers = count(limits[4], REFERENCE_THREAD_REGISTERS)};
    assert(l.clock_hz > 0 && l.bandwidth_bytes_per_s > 0);
    l.unit_lanes = number(values[0], REFERENCE_PEAK) / (2 * l.units * l.clock_hz);
    return l;
}
