#include "npu/weights.h"

#include <math.h>
#include <string.h>

enum {
    OWN_LIVE,      /* channels with scales of their own: weights of live channels, */
    OWN_LIVE_LIVE, /* those that also read live ones, */
    OWN_NEAR,      /* the more the less far they reach, */
    OWN_DEAD,      /* and weights of dead ones */
    SHARED,        /* one scale for all: */
    SHARED_NEAR,   /* the more the less far they reach */
    SHARED_NEARER,
    DEPTHWISE,
    DEPTHWISE_PADDING,
    CONV_PADDING,
    VECTOR,
    VECTOR_PADDING,
    EACH,    /* per pass, */
    ROOT,    /* and per root of its weights */
    UNIFORM, /* weights that are all the same */
};

const npu_codes npu_default_codes = {
    {0.064, 0.833, 0.044, 0, 0.354, 0.97, 0, 0.134, 0, 0.008, 0.07, 0.075, 2.2, 4.7, 0.248}};

const npu_codes npu_plain_codes = {{[OWN_LIVE] = 1, [OWN_DEAD] = 1, [SHARED] = 1, [UNIFORM] = 1}};

/* Weights with the zeros that fill up the units of the engine. */
static double padded(const npu_pass *p) {
    int64_t kernel = (int64_t)p->kernel_w * p->kernel_h, in = p->ifm_shape.c, out = npu_round_up(p->ofm_shape.c, 8);
    if (p->block == BLOCK_DEPTHWISE) return (double)(npu_round_up(kernel, 4) * out);
    double part = (double)(in * kernel) / (double)(npu_round_up(in, 8) * npu_round_up(kernel, 4));
    bool is_part = p->block == BLOCK_CONV && (in <= 8 || part > (double)in / (double)npu_round_up(in, 32));
    return is_part ? (double)(npu_round_up(kernel, 4) * npu_round_up(in, 8) * out)
                   : (double)(kernel * npu_round_up(in, 32) * out);
}

void npu_code_amounts(const npu_pass *p, double amounts[static CODE_PRICES]) {
    memset(amounts, 0, CODE_PRICES * sizeof *amounts);
    if (!p->has_weights) return;
    double weights = (double)p->weights;
    amounts[EACH] = 1;
    if (p->coding == CODING_UNIFORM) {
        amounts[UNIFORM] = weights;
        return;
    }
    double near = (8 - fmin(fmax(p->reach, -2), 8)) / 10, padding = fmax(padded(p) - weights, 0);
    amounts[ROOT] = sqrt(weights);
    if (p->has_own_scales) {
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

double npu_code_bytes(const npu_codes *codes, const npu_pass *p) {
    double amounts[CODE_PRICES], bytes = 0;
    npu_code_amounts(p, amounts);
    for (int i = 0; i < CODE_PRICES; i++) bytes += amounts[i] * codes->prices[i];
    return bytes;
}
