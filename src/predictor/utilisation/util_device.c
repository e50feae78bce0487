/* util_device.c - times of kernels on a GPU at the rates of its data sheet, and how they fill it. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "predictor/utilisation/util_step.h"

ft_status util_device_read(const ft_device *sheet, util_device *device, ft_error *error) {
    if (sheet == NULL || strcmp(ft_device_kind(sheet), "gpu") != 0 ||
        strncmp(ft_device_runtime(sheet), "torch", 5) != 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "utilisation is predicted for GPUs under PyTorch%s%s",
                       sheet != NULL ? ", and this is not one: " : "", sheet != NULL ? ft_device_name(sheet) : "");
    util_device d = {
        .units = ft_device_number(sheet, "units"),
        .unit_threads = ft_device_number(sheet, "unit_threads"),
        .peak32 = ft_device_number(sheet, "peak_float32_flops"),
        .peak19 = ft_device_number(sheet, "peak_tensorfloat32_flops"),
        .peak4 = ft_device_number(sheet, "peak_float4_flops"),
        .peak8 = fmax(ft_device_number(sheet, "peak_float8_flops"), ft_device_number(sheet, "peak_int8_ops")),
        .peak16 = fmax(ft_device_number(sheet, "peak_float16_flops"), ft_device_number(sheet, "peak_bfloat16_flops")),
        .bandwidth = ft_device_number(sheet, "bandwidth_bytes_per_s"),
        .power_w = ft_device_number(sheet, "power_w")};
    if (!(d.units >= 1) || !(d.peak32 > 0) || !(d.bandwidth > 0))
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "utilisation needs units, peak_float32_flops and bandwidth_bytes_per_s in the data sheet of %s",
                       ft_device_name(sheet));
    if (!(d.unit_threads >= 32)) d.unit_threads = 2048;
    if (!(d.peak19 > d.peak32)) d.peak19 = d.peak32;
    if (!(d.peak16 > d.peak32)) d.peak16 = d.peak32;
    if (!(d.peak8 > d.peak16)) d.peak8 = d.peak16;
    if (!(d.peak4 > d.peak8)) d.peak4 = d.peak8;
    *device = d;
    return FT_OK;
}

ft_status util_devices_open(const char *const *names, uint32_t count, util_device *devices, ft_error *error) {
    for (uint32_t i = 0; i < count; i++) {
        ft_device *sheet;
        FT_TRY(ft_device_open(names[i], &sheet, error));
        ft_status status = util_device_read(sheet, &devices[i], error);
        ft_device_free(sheet);
        FT_TRY(status);
    }
    return FT_OK;
}

/* What a launch of a kernel does. */
typedef struct util_run {
    double seconds;
    double filled;   /* mean share of the multiprocessors with a block */
    double resident; /* mean share of the warps that a multiprocessor can hold */
} util_run;

/* Tiles of products that libraries choose from: the larger, the nearer to the peak. */
typedef struct tile {
    double rows, columns;
    double efficiency;
    double warps, blocks; /* warps of a block; blocks that a multiprocessor holds */
} tile;

static const tile tiles[] = {
    {128, 128, 0.85, 8, 2}, {128, 64, 0.72, 4, 4}, {64, 64, 0.6, 4, 4}, {64, 32, 0.45, 2, 8}, {32, 32, 0.33, 2, 8}};

/* The depth may be divided between blocks, whose partial results are added in another pass. */
static util_run run_of_tile(const util_kernel *k, const util_device *d, const tile *t, double parts, double peak) {
    static const double JOIN_S = 1e-6, SLAB = 16, SLAB_S = 1.5e-6;
    double blocks = ceil(k->rows / t->rows) * ceil(k->columns / t->columns) * parts * k->groups;
    double waves = ceil(blocks / d->units), warps = d->unit_threads / 32;
    double block_s = 2 * t->rows * t->columns * (k->depth / parts) / (peak / d->units * t->efficiency);
    double extra = parts > 1 ? 4 * parts * k->rows * k->columns * k->groups : 0;
    double latency = ceil(blocks / (d->units * t->blocks)) * (k->depth / parts / SLAB) * SLAB_S;
    double compute = fmax(waves * block_s, latency) + (parts > 1 ? JOIN_S : 0),
           memory = (k->bytes / k->launches + extra) / d->bandwidth;
    return (util_run){.seconds = fmax(compute, memory),
                      .filled = fmin(1, blocks / (waves * d->units)),
                      .resident = fmin(t->blocks, blocks / d->units) * t->warps / warps};
}

double util_peak(const util_device *d, const util_kernel *k) {
    if (k->bits >= 32) return k->is_conv ? d->peak19 : d->peak32;
    return k->bits >= 16 ? d->peak16 : k->bits >= 8 ? d->peak8 : d->peak4;
}

static util_run run_of_product(const util_kernel *k, const util_device *d) {
    enum { MAX_PARTS = 16 };
    static const double MIN_DEPTH = 64;
    double peak = util_peak(d, k);
    util_run best = {.seconds = INFINITY};
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        double blocks = ceil(k->rows / tiles[i].rows) * ceil(k->columns / tiles[i].columns) * k->groups;
        for (int parts = 1; parts <= MAX_PARTS; parts *= 2) {
            if (parts > 1 && (blocks * parts > 2 * d->units || k->depth / parts < MIN_DEPTH)) break;
            util_run run = run_of_tile(k, d, &tiles[i], parts, peak);
            if (run.seconds < best.seconds) best = run;
        }
    }
    return best;
}

/* A loop over elements has blocks of 128 threads, and too few of them cannot use the bandwidth. */
static util_run run_of_loop(const util_kernel *k, const util_device *d) {
    static const double BLOCK = 128, MIN_SHARE = 0.1;
    double blocks = ceil(k->threads / k->launches / BLOCK), seconds = k->bytes / k->launches / d->bandwidth;
    double filled = fmin(1, blocks / d->units);
    if (k->kind == UTIL_NORM) filled = fmin(1, ceil(k->threads / k->launches / 512) / d->units);
    if (k->kind == UTIL_NORM) seconds /= fmax(filled, MIN_SHARE);
    return (util_run){.seconds = seconds,
                      .filled = filled,
                      .resident = fmin(1, k->threads / k->launches / (d->units * d->unit_threads))};
}

static void add_run(util_sums *sums, const util_run *run, double launches) {
    assert(run->seconds >= 0 && isfinite(run->seconds));
    sums->time += launches * run->seconds;
    sums->launches += launches;
    sums->filled_time += launches * run->seconds * pow(run->filled, 1.5);
    sums->filled_launches += launches * pow(run->filled, 1.5);
    sums->resident_time += launches * run->seconds * run->resident;
    sums->resident_launches += launches * run->resident;
}

void util_totals_of(const util_step *step, const util_device *device, util_totals *totals) {
    *totals = (util_totals){.bandwidth = device->bandwidth,
                            .launches = step->launches,
                            .tensors = step->tensors,
                            .samples = step->samples,
                            .input_elems = step->input_elems,
                            .has_loader = step->has_loader};
    for (uint32_t i = 0; i < step->count; i++) {
        const util_kernel *k = &step->kernels[i];
        util_run run = k->rows > 0 ? run_of_product(k, device) : run_of_loop(k, device);
        add_run(&totals->sums[k->phase][k->kind], &run, k->launches);
        totals->bytes += k->bytes;
        totals->phase_bytes[k->phase] += k->bytes;
        if (k->rows <= 0) continue;
        double flops = 2 * k->rows * k->columns * k->depth * k->groups * k->launches;
        totals->flops += flops;
        totals->compute_s += flops / util_peak(device, k);
    }
}
