/* program_sheet.c - see program_sheet.h. */
#include "predictor/program/program_sheet.h"

#include <math.h>

#include "base/error.h"

static const double USUAL_PEAK = 10e12, USUAL_BANDWIDTH = 600e9, USUAL_CLOCK = 1.4e9, USUAL_UNITS = 60,
                    USUAL_CACHE = 4 << 20, USUAL_MEMORY = 16.0 * (1 << 30), USUAL_THREADS = 2048,
                    USUAL_SHARED = 96 << 10, USUAL_REGISTERS = 65536, USUAL_WARP = 32, USUAL_THREAD_REGISTERS = 255;

/* A factor of two is a step of a half: devices differ by 1 or so. */
static float over(double value, double usual) {
    return value > 0 ? (float)(log2(value / usual) / 2) : 0;
}

ft_status program_sheet(const ft_device *device, float *values, ft_error *error) {
    double peak = ft_device_number(device, "peak_float32_flops"),
           bandwidth = ft_device_number(device, "bandwidth_bytes_per_s"), clock = ft_device_number(device, "clock_hz"),
           units = ft_device_number(device, "units");
    if (!(peak > 0 && bandwidth > 0))
        return ft_fail(error, FT_ERR_UNSUPPORTED, "'%s' has no peak_float32_flops or no bandwidth_bytes_per_s",
                       ft_device_name(device));
    values[0] = over(peak, USUAL_PEAK);
    values[1] = over(bandwidth, USUAL_BANDWIDTH);
    values[2] = over(clock, USUAL_CLOCK);
    values[3] = over(units, USUAL_UNITS);
    values[4] = over(ft_device_number(device, "cache_bytes"), USUAL_CACHE);
    values[5] = over(ft_device_number(device, "memory_bytes"), USUAL_MEMORY);
    values[6] = over(peak / bandwidth, USUAL_PEAK / USUAL_BANDWIDTH);
    values[7] = over(peak / (units * clock), USUAL_PEAK / (USUAL_UNITS * USUAL_CLOCK));
    return FT_OK;
}

ft_status program_sheet_limits(const ft_device *device, float *values, ft_error *error) {
    float *limits = values + PROGRAM_SHEET_VALUES;
    FT_TRY(program_sheet(device, values, error));
    limits[0] = over(ft_device_number(device, "unit_threads"), USUAL_THREADS);
    limits[1] = over(ft_device_number(device, "unit_shared_bytes"), USUAL_SHARED);
    limits[2] = over(ft_device_number(device, "unit_registers"), USUAL_REGISTERS);
    limits[3] = over(ft_device_number(device, "warp_threads"), USUAL_WARP);
    limits[4] = over(ft_device_number(device, "thread_registers"), USUAL_THREAD_REGISTERS);
    return FT_OK;
}

static double number(float value, double usual) {
    return usual * exp2(2 * (double)value);
}

/* Of what is counted: logarithms are rounded. */
static double count(float value, double usual) {
    return fmax(1, round(number(value, usual)));
}

program_limits program_limits_of(const float *values) {
    const float *limits = values + PROGRAM_SHEET_VALUES;
    program_limits l = {.units = count(values[3], USUAL_UNITS),
                        .clock_hz = number(values[2], USUAL_CLOCK),
                        .bandwidth_bytes_per_s = number(values[1], USUAL_BANDWIDTH),
                        .unit_threads = count(limits[0], USUAL_THREADS),
                        .unit_shared_bytes = count(limits[1], USUAL_SHARED),
                        .unit_registers = count(limits[2], USUAL_REGISTERS),
                        .warp_threads = count(limits[3], USUAL_WARP),
                        .thread_registers = count(limits[4], USUAL_THREAD_REGISTERS)};
    l.unit_lanes = number(values[0], USUAL_PEAK) / (2 * l.units * l.clock_hz);
    return l;
}
