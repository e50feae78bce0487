/* feature_device.c - a device as eight numbers about 1, for predictors that learn from several devices at once.
 *
 * CDMPP cuts sizes to whole numbers before it takes logarithms, so that 1.5 MB of cache count as 1; here they count as
 * they are. What is not known is 0, where CDMPP has the logarithm of -1. */
#include <math.h>

#include "foretell/program.h"

static float logarithm(double value, double most) {
    return value > 0 ? (float)(log2(value) / log2(most)) : 0;
}

void ft_program_device_features(const ft_program_sheet *sheet, float out[FT_PROGRAM_DEVICE_FEATURES]) {
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
