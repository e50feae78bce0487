/* trees.h - forests: sums of regression trees, stored in flat arrays.
 *
 * In each tree a row goes left where feature < threshold, else right; a missing feature (NaN) goes to the default side
 * of the split. The prediction is base + the leaf values of all trees, added as floats in the order of the trees;
 * boosting (boost.h) adds them in the same way, so both give the same bits. */
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

/* A node of a tree to add: nodes in any order, the root first. */
typedef struct tree_node {
    bool is_leaf;
    bool is_missing_right; /* NaN goes right */
    uint32_t feature;
    uint32_t left, right;
    float value; /* threshold of a split, value of a leaf */
} tree_node;

typedef struct forest forest;

/* An empty forest over rows of `features` floats, which predicts `base`. */
ft_status forest_new(uint32_t features, float base, forest **f, ft_error *error);
void forest_free(forest *f);

/* Adds a tree after the others. nodes: (count); each must be reached from the root by exactly one path. */
ft_status forest_add(forest *f, const tree_node *nodes, size_t count, ft_error *error);
/* Keeps the first `trees` trees. */
void forest_truncate(forest *f, uint32_t trees);

uint32_t forest_features(const forest *f);
uint32_t forest_trees(const forest *f);
uint32_t forest_nodes(const forest *f); /* of all trees */
float forest_base(const forest *f);

/* row: (features) */
float forest_predict_row(const forest *f, const float *row);
/* rows: `count` rows that are `stride` >= features floats apart; predictions: (count). The same as row by row. */
void forest_predict(const forest *f, const float *rows, size_t stride, size_t count, float *predictions);
/* margins (count) += predictions of the trees from `first` on, without the base. */
void forest_add_margins(const forest *f, uint32_t first, const float *rows, size_t stride, size_t count,
                        float *margins);

/* A forest as floats, for predictor files: FOREST_HEAD floats, the node count of each tree, then two floats per node.
 * docs/nn.md describes the layout. Version 1, of older files, is read as well. */
enum { FOREST_VERSION = 2, FOREST_HEAD = 5 };
size_t forest_save_count(const forest *f);
void forest_save(const forest *f, float *block); /* writes forest_save_count() floats */
/* Reads a forest from the front of a block (count); *used: the floats of it. The block is fully checked. */
ft_status forest_load(const float *block, size_t count, forest **f, size_t *used, ft_error *error);
/* The same without copying the nodes: the block must outlive the forest. */
ft_status forest_map(const float *block, size_t count, forest **f, size_t *used, ft_error *error);

#endif
