/* gpu_rows.c - anchors and features of launches, from data sheets. */
#include "predictor/gpu/gpu_rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"

/* --- Data sheets --------------------------------------------------------------------------------------------- */

/* 16-bit operations a second that a watt sustains: 0.8e12 from Volta to Ada, 2e12 on a B200. Hopper is between them. */
static double float16_per_watt(const char *architecture) {
    if (strncmp(architecture, "Blackwell", 9) == 0) return 2e12;
    return strncmp(architecture, "Hopper", 6) == 0 ? 1.2e12 : 0.8e12;
}

static double number_or(const ft_device *device, const char *key, double otherwise) {
    double value = ft_device_number(device, key);
    return value > 0 && isfinite(value) ? value : otherwise;
}

/* Products are limited by power, too. */
static double limited(double rate, double limit) {
    return rate > limit ? limit : rate;
}

static double vendor_of(const ft_device *device) {
    static const char *const amd[] = {"CDNA", "GCN", "RDNA", "Vega"};
    if (ft_device_number(device, "compute_capability") > 0) return 0;
    for (size_t i = 0; i < sizeof amd / sizeof amd[0]; i++)
        if (strncmp(ft_device_architecture(device), amd[i], strlen(amd[i])) == 0) return 1;
    return 2;
}

ft_status gpu_sheet_read(const ft_device *device, gpu_sheet *sheet, ft_error *error) {
    static const char *const keys[] = {
        [GPU_PEAK_VECTOR] = "peak_float32_flops",     [GPU_PEAK_FLOAT32] = "peak_float32_matrix_flops",
        [GPU_PEAK_TF32] = "peak_tensorfloat32_flops", [GPU_PEAK_FLOAT16] = "peak_float16_flops",
        [GPU_PEAK_BFLOAT16] = "peak_bfloat16_flops",  [GPU_PEAK_FLOAT8] = "peak_float8_flops",
        [GPU_PEAK_FLOAT4] = "peak_float4_flops"};
    bool is_gpu = strcmp(ft_device_kind(device), "gpu") == 0 && strncmp(ft_device_runtime(device), "torch", 5) == 0;
    if (!is_gpu) return ft_fail(error, FT_ERR_UNSUPPORTED, "'%s' is no GPU that runs PyTorch", ft_device_name(device));
    double r[GPU_RATES], watts = number_or(device, "power_w", 0);
    r[GPU_PEAK_VECTOR] = number_or(device, "peak_float32_flops", 0);
    r[GPU_BANDWIDTH] = number_or(device, "bandwidth_bytes_per_s", 0);
    if (r[GPU_PEAK_VECTOR] < 1 || r[GPU_BANDWIDTH] < 1)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "the file of '%s' lacks peak_float32_flops or bandwidth_bytes_per_s",
                       ft_device_name(device));
    for (int i = GPU_PEAK_FLOAT32; i <= GPU_PEAK_FLOAT4; i++) r[i] = number_or(device, keys[i], r[i - 1]);
    r[GPU_PEAK_BFLOAT16] = number_or(device, keys[GPU_PEAK_BFLOAT16], r[GPU_PEAK_TF32]);
    r[GPU_PEAK_FLOAT8] = number_or(device, keys[GPU_PEAK_FLOAT8], r[GPU_PEAK_FLOAT16]);
    r[GPU_PEAK_FLOAT4] = number_or(device, keys[GPU_PEAK_FLOAT4], r[GPU_PEAK_FLOAT8]);
    r[GPU_PEAK_INT8] = number_or(device, "peak_int8_ops", r[GPU_PEAK_FLOAT16]);
    if (watts > 0) {
        r[GPU_PEAK_FLOAT32] = limited(r[GPU_PEAK_FLOAT32], device_float32_per_watt(device) * watts);
        double limit = float16_per_watt(ft_device_architecture(device)) * watts;
        double wide = limited(r[GPU_PEAK_FLOAT16], limit) / r[GPU_PEAK_FLOAT16];
        for (int i = GPU_PEAK_TF32; i <= GPU_PEAK_INT8; i++) r[i] *= wide;
    }
    r[GPU_UNITS] = number_or(device, "units", 16);
    r[GPU_CACHE_BYTES] = number_or(device, "l2_bytes", number_or(device, "cache_bytes", 1 << 20));
    r[GPU_WATTS] = watts;
    r[GPU_VENDOR] = vendor_of(device);
    for (int i = 0; i < GPU_RATES; i++) sheet->rates[i] = (float)r[i];
    return FT_OK;
}

double gpu_peak(const gpu_sheet *sheet, const gpu_work *work, ft_dtype dtype, const gpu_runtime *runtime) {
    bool is_product = work->kind <= GPU_EXPERTS;
    bool has_tf32 = (work->kind == GPU_CONV ? runtime->tf32_conv : runtime->tf32_matmul) > 0;
    int at = GPU_PEAK_FLOAT32;
    if (!is_product)
        at = GPU_PEAK_VECTOR;
    else if (dtype == FT_FLOAT16)
        at = GPU_PEAK_FLOAT16;
    else if (dtype == FT_BFLOAT16)
        at = GPU_PEAK_BFLOAT16;
    else if (dtype == FT_FLOAT8)
        at = GPU_PEAK_FLOAT8;
    else if (dtype == FT_FLOAT4)
        at = GPU_PEAK_FLOAT4;
    else if (dtype == FT_INT8 || dtype == FT_UINT8)
        at = GPU_PEAK_INT8;
    else if (has_tf32)
        at = GPU_PEAK_TF32;
    return fmax((double)sheet->rates[at], 1);
}

/* --- Tiles --------------------------------------------------------------------------------------------------- */

typedef struct tiling {
    double time_s;
    double tiles, waves;
} tiling;

/* The time of a product in tiles of one size, its depth divided among `split` blocks: whole waves of tiles, each at the
 * share of the peak that its reuse of operands allows. */
static tiling time_of_tiles(const gpu_work *w, double rows, double columns, double split, double unit_rate,
                            const gpu_sheet *sheet) {
    static const double REUSE = 10; /* reuse at which a tile reaches half of the peak */
    double tiles = ceil(w->m / rows) * ceil(w->n / columns) * w->batch * split;
    double units = (double)sheet->rates[GPU_UNITS];
    double reuse = rows * columns / (rows + columns);
    tiling t = {.tiles = tiles, .waves = ceil(tiles / units)};
    t.time_s = t.waves * 2 * rows * columns * ceil(w->k / split) / (unit_rate * reuse / (reuse + REUSE));
    /* The parts of a divided depth are added. */
    if (split > 1) t.time_s += 8 * w->m * w->n * w->batch * split / (double)sheet->rates[GPU_BANDWIDTH];
    return t;
}

static tiling best_tiling(const gpu_work *w, double peak, const gpu_sheet *sheet) {
    static const double sizes[][2] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64},
                                      {32, 64},   {64, 32},   {32, 32},   {16, 128}, {16, 64},  {8, 64}};
    static const double splits[] = {1, 2, 4, 8, 16};
    tiling best = {.time_s = INFINITY};
    double unit_rate = peak / (double)sheet->rates[GPU_UNITS];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t j = 0; j < sizeof splits / sizeof splits[0]; j++) {
            if (j > 0 && w->k / splits[j] < 64) break;
            tiling t = time_of_tiles(w, sizes[i][0], sizes[i][1], splits[j], unit_rate, sheet);
            if (t.time_s < best.time_s) best = t;
        }
    }
    return best;
}

/* --- Rows ---------------------------------------------------------------------------------------------------- */

/* Launch overhead that times of a source contain, in microseconds: PyTorch with synchronisation, CUDA graphs, and loops
 * of launches. */
static double launch_us(const gpu_runtime *r) {
    static const double us[GPU_SOURCES] = {
        [GPU_EAGER] = 25, [GPU_VLLM] = 2, [GPU_SGLANG] = 2, [GPU_TRTLLM] = 2, [GPU_LIBRARY] = 6};
    return us[r->source];
}

static float log_of(double value) {
    return value > 0 ? (float)log2(value) : 0.0F;
}

/* The largest power of two up to 64 that divides a size, as its logarithm. */
static float alignment(double size) {
    static const int MAX_POWER = 6;
    int power = 0;
    while (power < MAX_POWER && fmod(size, (double)(2 << power)) == 0) power++;
    return (float)power;
}

static float filled(double size, double tile) {
    return (float)(size / (ceil(size / tile) * tile));
}

static void set_times(const gpu_work *w, const gpu_sheet *sheet, double peak, const gpu_runtime *runtime, tiling *t,
                      gpu_row *row) {
    double bytes = w->read + w->write, memory = bytes / (double)sheet->rates[GPU_BANDWIDTH];
    bool is_tiled = w->kind == GPU_PRODUCT || w->kind == GPU_BATCHED || w->kind == GPU_CONV;
    double arithmetic = w->flops / peak;
    *t = (tiling){.time_s = arithmetic, .tiles = fmax(w->m / 1024, 1)};
    if (w->kind == GPU_PREFILL || w->kind == GPU_DECODE) t->tiles = ceil(w->m / 128) * w->batch * w->width;
    t->waves = ceil(t->tiles / (double)sheet->rates[GPU_UNITS]);
    if (is_tiled) *t = best_tiling(w, peak, sheet);
    double larger = fmax(t->time_s, memory), lesser = fmin(t->time_s, memory);
    row->physical_us = 1e6 * (larger + 0.2 * lesser);
    row->anchor_us = hypot(row->physical_us, launch_us(runtime)) + 1e-3;
}

void gpu_row_of(const gpu_work *w, const gpu_sheet *sheet, ft_dtype dtype, const gpu_runtime *runtime, gpu_row *row) {
    double peak = gpu_peak(sheet, w, dtype, runtime), units = (double)sheet->rates[GPU_UNITS];
    double bytes = w->read + w->write, memory = bytes / (double)sheet->rates[GPU_BANDWIDTH];
    tiling t;
    set_times(w, sheet, peak, runtime, &t, row);
    float *f = row->features;
    uint32_t i = 0;
    f[i++] = log_of(1e6 * t.time_s);
    f[i++] = log_of(1e6 * memory);
    f[i++] = log_of(t.time_s) - log_of(memory);
    f[i++] = log_of(w->flops / peak / t.time_s);
    f[i++] = log_of(row->physical_us / launch_us(runtime));
    f[i++] = log_of(t.tiles / units);
    f[i++] = (float)(t.tiles / units / fmax(t.waves, 1));
    f[i++] = log_of(ceil(w->m / 128) * ceil(w->n / 128) * w->batch / units);
    f[i++] = log_of(w->m);
    f[i++] = log_of(w->n);
    f[i++] = log_of(w->k);
    f[i++] = log_of(w->batch);
    f[i++] = alignment(w->m);
    f[i++] = alignment(w->n);
    f[i++] = alignment(w->k);
    f[i++] = filled(w->m, 128);
    f[i++] = filled(w->n, 128);
    f[i++] = filled(w->m, 64);
    f[i++] = filled(w->n, 64);
    f[i++] = log_of(bytes / (double)sheet->rates[GPU_CACHE_BYTES]);
    f[i++] = log_of(w->read / fmax(w->write, 1));
    f[i++] = sheet->rates[GPU_WATTS] > 0 ? log_of((double)sheet->rates[GPU_WATTS] * 1e12 / peak) : NAN;
    f[i++] = log_of(peak / (double)sheet->rates[GPU_PEAK_VECTOR]);
    f[i++] = sheet->rates[GPU_VENDOR];
    f[i++] = (float)dtype;
    f[i++] = (float)runtime->source;
    assert(i == GPU_KERNEL_FEATURE);
    f[i++] = (float)runtime->kernel;
    f[i++] = (float)runtime->type;
    f[i++] = (float)w->pass;
    f[i++] = log_of(w->window);
    f[i++] = log_of(w->stride);
    f[i++] = log_of(w->width);
    f[i++] = log_of(w->channels);
    f[i++] = (float)w->operation;
    f[i++] = log_of(w->width / fmax(w->channels, 1));
    f[i++] = log_of(w->m * w->batch);
    assert(i == GPU_FEATURES);
    for (i = 0; i < GPU_FEATURES; i++)
        if (isinf(f[i])) f[i] = NAN;
}

double gpu_queued_us(const gpu_row *row, double time_us) {
    static const double QUEUED_US = 2;
    return time_us * hypot(row->physical_us, QUEUED_US) / row->anchor_us;
}
