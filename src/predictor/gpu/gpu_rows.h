/* gpu_rows.h - the analytic time of a launch on a GPU, and the features that decide how far a measured time is from it.
 *
 * The anchor is launch overhead and the larger of arithmetic and traffic, where products are divided into tiles that
 * run in waves. Features have no units of a device: they are ratios of work to what the device does in a time, so that
 * what is learned on one device holds for others (features such as peak rates do not transfer). */
#ifndef PREDICTOR_GPU_ROWS_H
#define PREDICTOR_GPU_ROWS_H

#include "foretell/device.h"
#include "predictor/gpu/gpu_work.h"

/* Changes whenever a feature changes its meaning: files made for other ones are refused. */
#define GPU_ROWS_SCHEMA "gpu-kernels/1"

/* Rates of a data sheet, as floats, since predictor files store them. */
enum {
    GPU_PEAK_VECTOR,  /* operations per second: float32 outside of products */
    GPU_PEAK_FLOAT32, /* products, as all below */
    GPU_PEAK_TF32,
    GPU_PEAK_FLOAT16,
    GPU_PEAK_BFLOAT16,
    GPU_PEAK_FLOAT8,
    GPU_PEAK_FLOAT4,
    GPU_PEAK_INT8,
    GPU_BANDWIDTH, /* bytes per second */
    GPU_UNITS,
    GPU_CACHE_BYTES,
    GPU_WATTS,  /* 0: unknown */
    GPU_VENDOR, /* 0: NVIDIA, 1: AMD, 2: others, whose libraries differ */
    GPU_RATES
};

typedef struct gpu_sheet {
    float rates[GPU_RATES];
} gpu_sheet;

/* FT_ERR_UNSUPPORTED when peak or bandwidth are missing, or it is no GPU or CPU. Missing rates are those of the next
 * wider type. */
ft_status gpu_sheet_read(const ft_device *device, gpu_sheet *sheet, ft_error *error);

enum { GPU_FEATURES = 36, GPU_KERNEL_FEATURE = 26 /* the name of a kernel, which says nothing on other devices */ };

typedef struct gpu_row {
    float features[GPU_FEATURES];
    double anchor_us;   /* launch overhead included */
    double physical_us; /* without it */
} gpu_row;

/* Operations per second of the products of a work. */
double gpu_peak(const gpu_sheet *sheet, const gpu_work *work, ft_dtype dtype, const gpu_runtime *runtime);
void gpu_row_of(const gpu_work *work, const gpu_sheet *sheet, ft_dtype dtype, const gpu_runtime *runtime, gpu_row *row);
/* The part of a measured time that remains where launches queue up: the launch overhead of the measurement is replaced
 * by that of a full queue. */
double gpu_queued_us(const gpu_row *row, double time_us);

#endif
