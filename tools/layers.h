/* layers.h - layers that several networks of makemodel have, with the operators that PyTorch's exporter writes. */
#ifndef TOOLS_LAYERS_H
#define TOOLS_LAYERS_H

#include "builder.h"

enum { FLOAT = 1, INT64 = 7 }; /* element types of onnx.proto */

typedef struct conv_shape {
    int cin, cout, kernel, stride, groups;
} conv_shape;

/* A convolution with square kernel and "same" padding for odd kernels, without and with bias. */
const char *conv(builder *b, const char *x, const char *name, conv_shape c);
const char *conv_bias(builder *b, const char *x, const char *name, conv_shape c);
/* Any padding; weights of a layer that is used several times. `bias`: "" for none. */
const char *convolve(builder *b, const char *x, const char *w, const char *bias, conv_shape c, int pad);
const char *batch_norm(builder *b, const char *x, const char *name, int channels);
const char *conv_bn(builder *b, const char *x, const char *name, conv_shape c);

const char *relu(builder *b, const char *x);
const char *relu6(builder *b, const char *x);
const char *silu(builder *b, const char *x);
const char *gelu(builder *b, const char *x);

/* Fully connected: of a matrix (Gemm), and of the last of any number of dimensions (MatMul, then Add unless it has no
 * bias). */
const char *gemm(builder *b, const char *x, const char *name, int in, int out);
const char *dense(builder *b, const char *x, const char *name, int in, int out);
const char *dense_plain(builder *b, const char *x, const char *name, int in, int out);
const char *layer_norm(builder *b, const char *x, const char *name, int width);

const char *max_pool(builder *b, const char *x, int kernel, int stride, int pad);
const char *concat(builder *b, int axis, const char *x, const char *y);
const char *transpose(builder *b, const char *x, int rank, ...); /* a permutation of int */
/* Global average pooling, and what follows it: a flat matrix. */
const char *pool_flat(builder *b, const char *x);
/* Pooling, a fully connected layer to 1000 classes, the output. */
void classify(builder *b, const char *x, int channels);
/* The input: images of 3 x size x size. */
const char *image(builder *b, int size);

#endif
