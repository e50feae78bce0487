/* trees.h - forests: sums of regression trees, in flat arrays that a small loop walks.
 *
 * A row of features goes down each tree: left where feature < threshold, else right, and where the feature is NaN
 * (missing) the way that the split says. The prediction is base + the leaf values of all trees, added as floats in the
 * order of the trees; that is also how boosting adds them (boost.h), so both come to the same bits. */
#ifndef NN_TREES_H
#define NN_TREES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foretell/status.h"

enum {
    FOREST_MAX_FEATURES = 1 << 13,
    FOREST_MAX_TREES = 1 << 20,
    FOREST_MAX_NODES = 1 << 24, /* of all trees together */
    FOREST_MAX_DEPTH = 256
};

/* A tree as others number it: nodes in any order, the root first. */
typedef struct tree_node {
    bool is_leaf;
    bool is_missing_right; /* where NaN goes */
    uint32_t feature;
    uint32_t left, right;
    float value; /* threshold of a split, value of a leaf */
} tree_node;

typedef struct forest forest;

/* An empty forest over rows of `features` floats, which predicts `base`. */
ft_status forest_new(uint32_t features, float base, forest **f, ft_error *error);
void forest_free(forest *f);

/* Adds a tree after the others. Every node must be reached from the root by exactly one way. */
ft_status forest_add(forest *f, const tree_node *nodes, size_t count, ft_error *error);
/* Keeps the first `trees` trees. */
void forest_truncate(forest *f, uint32_t trees);

uint32_t forest_features(const forest *f);
uint32_t forest_trees(const forest *f);
uint32_t forest_nodes(const forest *f); /* of all trees */
float forest_base(const forest *f);

/* One row. */
float forest_predict_row(const forest *f, const float *row);
/* `count` rows that lie `stride` floats apart, stride >= features; the result is the same as row by row. */
void forest_predict(const forest *f, const float *rows, size_t stride, size_t count, float *predictions);
/* Adds to each margin what the trees from `first` on say; the base is not added. */
void forest_add_margins(const forest *f, uint32_t first, const float *rows, size_t stride, size_t count,
                        float *margins);

/* A forest as floats, for predictor files: FOREST_HEAD floats, the node count of each tree, then two floats a node.
 * docs/nn.md has the layout. Forests of version 1, which foretell wrote before, are read too. */
enum { FOREST_VERSION = 2, FOREST_HEAD = 5 };
size_t forest_save_count(const forest *f);
void forest_save(const forest *f, float *block); /* writes forest_save_count() floats */
/* Takes a forest from the front of a block and tells how many floats it was. Nothing in the block is trusted. */
ft_status forest_load(const float *block, size_t count, forest **f, size_t *used, ft_error *error);
/* The same without a copy of the nodes: the block has to outlive the forest. */
ft_status forest_map(const float *block, size_t count, forest **f, size_t *used, ft_error *error);

#endif
