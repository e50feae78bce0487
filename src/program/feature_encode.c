/* feature_encode.c - names of the features, the encoding of a leaf's position in the tree, and the features of a device
 * (eight numbers around 1) for predictors that learn from several devices at once. */
#include <math.h>
#include <stdio.h>

#include "foretell/program.h"
#include "program/feature.h"
#include "program/feature_gpu.h"

/* --- Positions ----------------------------------------------------------------------------------------------- */

/* The exponent is 2i / 164 with i the index itself and not that of the pair, as in CDMPP. */
float feature_position_value(uint32_t position, uint32_t i) {
    double angle = position / pow(10000, 2.0 * i / FEATURE_COUNT);
    return (float)(i % 2 == 0 ? sin(angle) : cos(angle));
}

void feature_position(uint32_t position, float out[static FEATURE_COUNT]) {
    for (uint32_t i = 0; i < FEATURE_COUNT; i++) out[i] = feature_position_value(position, i);
}

/* --- Names --------------------------------------------------------------------------------------------------- */

const char *feature_name(uint32_t index, char text[static 32]) {
    static const char *const ops[] = {"mad", "addsub", "mul", "divmod", "cmp", "mathfunc", "otherfunc"};
    static const char *const kinds[] = {"vec", "unroll", "parallel"};
    static const char *const kind_parts[] = {"num",
                                             "prod",
                                             "len",
                                             "type.none",
                                             "type.inner_spatial",
                                             "type.middle_spatial",
                                             "type.outer_spatial",
                                             "type.inner_reduce",
                                             "type.middle_reduce",
                                             "type.outer_reduce",
                                             "type.mixed"};
    static const char *const threads[] = {"is_gpu",          "blockIdx.x_len",  "blockIdx.y_len",  "blockIdx.z_len",
                                          "threadIdx.x_len", "threadIdx.y_len", "threadIdx.z_len", "vthread_len"};
    static const char *const buffer[] = {"acc_type.read",
                                         "acc_type.write",
                                         "acc_type.readwrite",
                                         "bytes",
                                         "unique_bytes",
                                         "lines",
                                         "unique_lines",
                                         "reuse.loop",
                                         "reuse.serial",
                                         "reuse.none",
                                         "reuse_dis_iter",
                                         "reuse_dis_bytes",
                                         "reuse_ct",
                                         "bytes_d_reuse_ct",
                                         "unique_bytes_d_reuse_ct",
                                         "lines_d_reuse_ct",
                                         "unique_lines_d_reuse_ct",
                                         "stride"};
    static const char *const last[] = {"alloc_size", "alloc_prod", "alloc_outer_prod",    "alloc_inner_prod",
                                       "outer_prod", "num_loops",  "auto_unroll_max_step"};
    if (index < 14)
        snprintf(text, 32, "%s_%s", index < 7 ? "float" : "int", ops[index % 7]);
    else if (index < 16)
        snprintf(text, 32, "%s", index == 14 ? "bool_op" : "select_op");
    else if (index < 49)
        snprintf(text, 32, "%s_%s", kinds[(index - 16) / 11], kind_parts[(index - 16) % 11]);
    else if (index < 57)
        snprintf(text, 32, "%s", threads[index - 49]);
    else if (index < 147)
        snprintf(text, 32, "B%u.%s", (index - 57) / 18, buffer[(index - 57) % 18]);
    else if (index < 157)
        snprintf(text, 32, "arith_intensity_curve_%u", index - 147);
    else if (index < FEATURE_COUNT)
        snprintf(text, 32, "%s", last[index - 157]);
    else
        snprintf(text, 32, "%s", feature_gpu_name(index - FEATURE_COUNT));
    return text;
}

/* --- Devices ------------------------------------------------------------------------------------------------- */

/* CDMPP truncates sizes to integers before it takes logarithms, so that 1.5 MB of cache count as 1; here they are not
 * truncated. Unknown values are 0, where CDMPP has the logarithm of -1. */
static float logarithm(double value, double max) {
    return value > 0 ? (float)(log2(value) / log2(max)) : 0;
}

void ft_program_device_features(const ft_program_sheet *sheet, float out[FT_PROGRAM_DEVICE_FEATURES]) {
    if (sheet == NULL || out == NULL) return;
    const double kilo = 1024, mega = kilo * 1024, giga = mega * 1024;
    out[0] = 1;
    out[1] = (float)(sheet->clock_hz / 2e9);
    out[2] = logarithm(sheet->memory_bytes / giga, 64);
    out[3] = logarithm(sheet->shared_bytes / kilo, 256);
    out[4] = logarithm(sheet->l2_bytes / mega, 64);
    out[5] = logarithm(sheet->l1_bytes / kilo, 256);
    out[6] = logarithm(sheet->bandwidth_bytes_per_s * 1e-9, 2048);
    out[7] = (float)(sheet->peak_float32_flops / 12e12);
}
