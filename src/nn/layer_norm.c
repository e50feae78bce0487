/* layer_norm.c - the norms with their parameters. */
#include "nn/layer.h"

static const float MOMENTUM = 0.1f; /* of running means, as PyTorch has it */

layer_norm layer_norm_add(params *p, const char *name, uint32_t width) {
    return (layer_norm){.gain = params_add(p, 1, width, PARAM_ONES, "%s.gain", name),
                        .offset = params_add(p, 1, width, PARAM_ZEROS, "%s.offset", name)};
}

tensor *layer_norm_apply(tape *t, const layer_norm *l, tensor *x) {
    return nn_layer_norm(t, x, tape_param(t, l->gain), tape_param(t, l->offset));
}

layer_batch_norm layer_batch_norm_add(params *p, const char *name, uint32_t width, bool is_affine) {
    layer_batch_norm l = {.is_affine = is_affine};
    if (is_affine) {
        l.gain = params_add(p, 1, width, PARAM_ONES, "%s.gain", name);
        l.offset = params_add(p, 1, width, PARAM_ZEROS, "%s.offset", name);
    }
    l.mean = params_add_state(p, 1, width, PARAM_ZEROS, "%s.mean", name);
    l.variance = params_add_state(p, 1, width, PARAM_ONES, "%s.variance", name);
    return l;
}

tensor *layer_batch_norm_apply(tape *t, const layer_batch_norm *l, tensor *x) {
    tensor *gain = l->is_affine ? tape_param(t, l->gain) : NULL;
    tensor *offset = l->is_affine ? tape_param(t, l->offset) : NULL;
    return nn_batch_norm(t, x, gain, offset, tape_param(t, l->mean), tape_param(t, l->variance), MOMENTUM);
}
