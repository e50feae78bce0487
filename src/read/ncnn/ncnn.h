/* ncnn.h - shared declarations of the reader of ncnn's .param files (docs/formats/ncnn.md states the rules).
 *
 *   ncnn.c         the text: layers, blobs, parameters
 *   ncnn_layer.c   layers as operators
 *   ncnn_weight.c  layers with weights, whose shapes follow from their parameters
 *
 * Blobs have no batch dimension; tensors have it as their first. Functions here fill model->error when they fail. */
#ifndef READ_NCNN_H
#define READ_NCNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "graph/graph.h"
#include "graph/opdef.h"

/* Parameters have the numbers 0 to 31. */
enum { NCNN_PARAMS = 32, NCNN_MAX_ATTRS = 16, NCNN_MAX_INPUTS = 8, NCNN_DEFAULT = -233 };

/* "id=3", "id=1.5", or "-23300-id=2,16,16". */
typedef struct ncnn_param {
    bool is_set;
    double number;
    const int64_t *list; /* of an array, else NULL */
    uint32_t count;
} ncnn_param;

typedef struct ncnn_model {
    ft_graph *graph;
    arena scratch;
    map blobs;     /* name -> tensor */
    bool *is_read; /* per tensor of a blob */
    uint32_t read_capacity;
    ft_error *error;
} ncnn_model;

typedef struct ncnn_layer {
    const char *type, *name;
    uint32_t *inputs, *outputs; /* tensors; inputs has room for NCNN_MAX_INPUTS weights more */
    uint32_t input_count, output_count;
    ncnn_param params[NCNN_PARAMS];
    bool has_text; /* a parameter is an expression over shapes */
    ft_attr attrs[NCNN_MAX_ATTRS];
    uint32_t attr_count;
    const ft_opdef *def;
} ncnn_layer;

int64_t ncnn_int(const ncnn_layer *l, unsigned id, int64_t fallback);
double ncnn_float(const ncnn_layer *l, unsigned id, double fallback);
ft_status ncnn_damaged(ncnn_model *m, const ncnn_layer *l, const char *what);

/* Attributes of the operator. */
ft_status ncnn_add_int(ncnn_model *m, ncnn_layer *l, const char *name, int64_t value);
ft_status ncnn_add_ints(ncnn_model *m, ncnn_layer *l, const char *name, const int64_t *values, size_t count);
ft_status ncnn_add_text(ncnn_model *m, ncnn_layer *l, const char *name, const char *text);

/* An operator of the layer; `suffix` is appended to its name. */
ft_status ncnn_add_op(ncnn_model *m, const ncnn_layer *l, const char *suffix);

/* ncnn_layer.c: adds a layer that is neither Input nor one that returns its input. */
ft_status ncnn_add_layer(ncnn_model *m, ncnn_layer *l);

/* ncnn_weight.c: a weight as the next input of the layer. */
ft_status ncnn_add_weight(ncnn_model *m, ncnn_layer *l, const char *suffix, const int64_t *dims, int32_t rank);
ft_status ncnn_add_vector(ncnn_model *m, ncnn_layer *l, const char *suffix, int64_t elems);
/* Sets attributes and weights of layers that have weights. */
ft_status ncnn_convolution(ncnn_model *m, ncnn_layer *l);
ft_status ncnn_inner_product(ncnn_model *m, ncnn_layer *l);
ft_status ncnn_norm(ncnn_model *m, ncnn_layer *l);
ft_status ncnn_scale(ncnn_model *m, ncnn_layer *l);
ft_status ncnn_recurrent(ncnn_model *m, ncnn_layer *l);
ft_status ncnn_gemm(ncnn_model *m, ncnn_layer *l);
ft_status ncnn_embed(ncnn_model *m, ncnn_layer *l);
/* A layer of five operators. */
ft_status ncnn_attention(ncnn_model *m, ncnn_layer *l);

#endif
