/* weights.h - bytes of weights as the accelerator stores them.
 *
 * Weights are stored compressed. The ratio depends on their values, which a graph does not have; it has statistics of
 * them: sizes, padding, whether scales are per channel, their range relative to the fan-in, the share of channels that
 * are all zero. The bytes are a sum of these amounts times learned bytes per unit. */
#ifndef NPU_WEIGHTS_H
#define NPU_WEIGHTS_H

#include "npu/net.h"

enum { COMPRESSION_TERMS = 15 };

typedef struct npu_compression {
    double unit_bytes[COMPRESSION_TERMS];
} npu_compression;

/* Values that fit most networks, used before training. */
extern const npu_compression npu_default_compression;
/* One byte per weight. */
extern const npu_compression npu_no_compression;

/* Amounts that unit_bytes are multiplied with; all zero for a pass without weights. */
void npu_compression_amounts(const npu_pass *p, double amounts[static COMPRESSION_TERMS]);
/* Bytes of all weights of a pass, without scales and alignment. */
double npu_compressed_bytes(const npu_compression *compression, const npu_pass *p);

#endif
