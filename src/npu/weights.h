/* weights.h - how many bytes weights take as the accelerator stores them.
 *
 * Weights are compressed, and how far depends on their values, which a graph does not have. What it has are traces of
 * them: sizes, what is padded, whether channels have scales of their own, how far the weights reach for their fan-in,
 * how many channels are dead. The bytes are a sum of these, at prices that are learned. */
#ifndef NPU_WEIGHTS_H
#define NPU_WEIGHTS_H

#include "npu/net.h"

enum { CODE_PRICES = 15 };

typedef struct npu_codes {
    double prices[CODE_PRICES];
} npu_codes;

/* Prices that fit most networks, for when nothing was learned. */
extern const npu_codes npu_default_codes;
/* A byte for each weight. */
extern const npu_codes npu_plain_codes;

/* What the prices are for. Zero for a pass without weights. */
void npu_code_amounts(const npu_pass *p, double amounts[static CODE_PRICES]);
/* Of all weights of a pass, without scales and without padding. */
double npu_code_bytes(const npu_codes *codes, const npu_pass *p);

#endif
