/* weights.c - the terms that the size of compressed weights is a sum of. */
#include "npu/weights.h"

#include <math.h>
#include <string.h>

enum {
    /* Scales per channel. */
    OWN_LIVE,      /* weights of channels that are not all zero */
    OWN_LIVE_LIVE, /* of these, weights that also read such channels */
    OWN_NEAR,      /* weights of these channels times how narrow their range is */
    OWN_DEAD,      /* weights of channels that are all zero */
    /* One scale for all channels. */
    SHARED,
    SHARED_NEAR,   /* times how narrow the range is */
    SHARED_NEARER, /* times its square */
    DEPTHWISE,
    DEPTHWISE_PADDING,
    CONV_PADDING,
    VECTOR,
    VECTOR_PADDING,
    EACH,    /* 1 per pass */
    ROOT,    /* square root of the number of weights */
    UNIFORM, /* weights that are all equal */
    TERMS
};

_Static_assert((int)TERMS == (int)COMPRESSION_TERMS, "one term for each amount");

const npu_compression npu_default_compression = {
    {0.064, 0.833, 0.044, 0, 0.354, 0.97, 0, 0.134, 0, 0.008, 0.07, 0.075, 2.2, 4.7, 0.248}};

const npu_compression npu_no_compression = {{[OWN_LIVE] = 1, [OWN_DEAD] = 1, [SHARED] = 1, [UNIFORM] = 1}};

/* Number of weights including the zeros that pad them to the units of the engine. */
static double padded(const npu_pass *p) {
    int64_t kernel = (int64_t)p->kernel_w * p->kernel_h, in = p->ifm_shape.c, out = npu_round_up(p->ofm_shape.c, 8);
    if (p->block == BLOCK_DEPTHWISE) return (double)(npu_round_up(kernel, 4) * out);
    double part = (double)(in * kernel) / (double)(npu_round_up(in, 8) * npu_round_up(kernel, 4));
    bool is_part = p->block == BLOCK_CONV && (in <= 8 || part > (double)in / (double)npu_round_up(in, 32));
    return is_part ? (double)(npu_round_up(kernel, 4) * npu_round_up(in, 8) * out)
                   : (double)(kernel * npu_round_up(in, 32) * out);
}

void npu_compression_amounts(const npu_pass *p, double amounts[static COMPRESSION_TERMS]) {
    memset(amounts, 0, COMPRESSION_TERMS * sizeof *amounts);
    if (!p->has_weights) return;
    double weights = (double)p->weights;
    amounts[EACH] = 1;
    if (p->coding == CODING_UNIFORM) {
        amounts[UNIFORM] = weights;
        return;
    }
    double near = (8 - fmin(fmax(p->reach, -2), 8)) / 10, padding = fmax(padded(p) - weights, 0);
    amounts[ROOT] = sqrt(weights);
    if (p->is_per_channel) {
        amounts[OWN_LIVE] = weights * p->live;
        amounts[OWN_LIVE_LIVE] = weights * p->live * p->live;
        amounts[OWN_NEAR] = weights * p->live * near;
        amounts[OWN_DEAD] = weights * (1 - p->live);
    } else {
        amounts[SHARED] = weights;
        amounts[SHARED_NEAR] = weights * near;
        amounts[SHARED_NEARER] = weights * near * near;
    }
    switch (p->coding) {
    case CODING_DEPTHWISE:
        amounts[DEPTHWISE] = weights;
        amounts[DEPTHWISE_PADDING] = padding;
        break;
    case CODING_VECTOR:
        amounts[VECTOR] = weights;
        amounts[VECTOR_PADDING] = padding;
        break;
    default:
        amounts[CONV_PADDING] = padding;
        break;
    }
}

double npu_compressed_bytes(const npu_compression *compression, const npu_pass *p) {
    double amounts[COMPRESSION_TERMS], bytes = 0;
    npu_compression_amounts(p, amounts);
    for (int i = 0; i < COMPRESSION_TERMS; i++) bytes += amounts[i] * compression->unit_bytes[i];
    return bytes;
}
