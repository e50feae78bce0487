/* digraph_pair.c - the stable form of an encoding: what two nodes have in common in the eigenvectors of each size.
 *
 * The sum over eigenpairs of f(value) vector(u) conj(vector(v)) is the same for every choice of eigenvectors, so a
 * network does not depend on what a solver happens to pick. */
#include "predictor/peers/digraph.h"

enum { INNER = 16 }; /* columns inside f */

digraph_pair digraph_pair_add(params *p, uint32_t vectors) {
    return (digraph_pair){.first = layer_linear_add(p, "place.first", 1, INNER, true),
                          .second = layer_linear_add(p, "place.second", INNER, DIGRAPH_PAIR, true),
                          .vectors = vectors};
}

tensor *digraph_pair_weights(tape *t, const digraph_pair *d, const gnn_batch *batch) {
    tensor *values = tape_input(t, batch->samples * d->vectors, 1, batch->global_marks);
    return layer_linear_apply(t, &d->second, layer_linear_apply(t, &d->first, values, ACT_SILU), ACT_NONE);
}

/* vector(u) conj(vector(v)) of every eigenpair. */
static void multiply(const float *u, const float *v, uint32_t vectors, float *re, float *im) {
    for (uint32_t k = 0; k < vectors; k++) {
        float a = u[k], b = u[k + vectors], c = v[k], d = v[k + vectors];
        re[k] = a * c + b * d;
        im[k] = b * c - a * d;
    }
}

tensor *digraph_pair_rows(tape *t, const digraph_pair *d, tensor *weights, const gnn_batch *batch, const uint32_t *from,
                          const uint32_t *to, segments by_sample) {
    uint32_t count = by_sample.start[by_sample.count], width = 2 * d->vectors;
    float *re = tape_alloc(t, (size_t)count * d->vectors, sizeof *re);
    float *im = tape_alloc(t, (size_t)count * d->vectors, sizeof *im);
    if (t->has_failed) return NULL;
    for (size_t i = 0; i < count; i++)
        multiply(batch->node_marks + (size_t)from[i] * width, batch->node_marks + (size_t)to[i] * width, d->vectors,
                 re + i * d->vectors, im + i * d->vectors);
    tensor *parts[] = {nn_segment_matmul(t, tape_input(t, count, d->vectors, re), weights, by_sample),
                       nn_segment_matmul(t, tape_input(t, count, d->vectors, im), weights, by_sample)};
    return nn_concat_columns(t, 2, parts);
}
