/* program_limits.c - how often a feature of a program contradicts its measured time: a demand on one resource of the
 * device (program_demand.h) would alone take longer than the whole program did.
 *
 *     build/bench/program_limits DEVICE LOG [DEVICE LOG]...
 *
 * Prints "device,part,median,over,far_over": the median of the part over the measured time, and the percentage of
 * programs for which the part is longer, and longer by more than 30 %. A part that is often over is miscounted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "foretell/device.h"
#include "foretell/program.h"
#include "predictor/program/program_demand.h"

enum { MAX_PROGRAMS = 200000 };
static const char *const part_names[RES_PARTS] = {"operations", "commands", "shared",  "sectors", "bytes",
                                                  "thread",     "waves",    "spilled", "moves"};
static float ratios[RES_PARTS][MAX_PROGRAMS];

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double part_us(float time) {
    return fmax(0, exp2(11 + 3 * (double)time) - 1); /* program_device_times */
}

static ft_status gather(const char *path, const float *sheet, uint32_t *count, ft_error *error) {
    ft_program_log *log = NULL;
    ft_program *program = NULL;
    ft_program_record record = {.line = 1};
    ft_program_features seen;
    ft_status status = ft_program_log_open(path, &log, error);
    if (status == FT_OK) status = ft_program_new(&program, error);
    while (status == FT_OK && *count < MAX_PROGRAMS) {
        status = ft_program_log_next(log, &record, error);
        if (status != FT_OK || record.line == 0) break;
        if (isnan(record.seconds)) continue;
        status = ft_program_lower(program, log, error);
        if (status == FT_OK) status = ft_program_extract_features(program, &seen, error);
        if (status != FT_OK) break;
        float demand[PROGRAM_DEMANDS], times[PROGRAM_DEVICE_TIMES];
        program_demand(&seen, demand);
        program_device_times(demand, sheet, times);
        for (int i = 0; i < RES_PARTS; i++)
            ratios[i][*count] = (float)(part_us(times[RES_TIMES + i]) / (1e6 * record.seconds));
        *count += 1;
    }
    ft_program_free(program);
    ft_program_log_close(log);
    return status;
}

static void print_shares(const char *device, uint32_t count) {
    for (int i = 0; i < RES_PARTS; i++) {
        uint32_t over = 0, far_over = 0;
        for (uint32_t k = 0; k < count; k++) {
            over += ratios[i][k] > 1;
            far_over += ratios[i][k] > 1.3F;
        }
        qsort(ratios[i], count, sizeof ratios[i][0], by_size);
        printf("%s,%s,%.2f,%.2f,%.2f\n", device, part_names[i], (double)ratios[i][count / 2], 100.0 * over / count,
               100.0 * far_over / count);
    }
}

static ft_status run(int argc, char **argv, ft_error *error) {
    puts("device,part,median,over,far_over");
    for (int i = 1; i + 1 < argc; i += 2) {
        float sheet[PROGRAM_SHEET_VALUES + PROGRAM_LIMIT_VALUES];
        ft_device *device = NULL;
        uint32_t count = 0;
        FT_TRY(ft_device_open(argv[i], &device, error));
        ft_status status = program_sheet_limits(device, sheet, error);
        if (status == FT_OK) status = gather(argv[i + 1], sheet, &count, error);
        if (status == FT_OK && count > 0) print_shares(ft_device_name(device), count);
        ft_device_free(device);
        FT_TRY(status);
    }
    return FT_OK;
}

int main(int argc, char **argv) {
    ft_error error = {.message = "out of memory"};
    ft_status status = run(argc, argv, &error);
    if (status != FT_OK) fprintf(stderr, "%s\n", error.message);
    return status != FT_OK;
}
