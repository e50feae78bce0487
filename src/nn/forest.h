/* forest.h - what trees.c and trees_file.c share: the inside of a forest. */
#ifndef NN_FOREST_H
#define NN_FOREST_H

#include "nn/trees.h"

/* As it stands in a predictor file, where it is walked on: eight bytes. Children of a split lie side by side behind
 * it. The other bits of the way are 0, so that as a float it is a finite number, which is all that files hold. */
typedef struct walk_node {
    float value;  /* of a leaf; the threshold of a split */
    uint32_t way; /* bits 0..12: feature; 13..29: nodes from here to the left child, 0 in a leaf; 31: NaN goes right */
} walk_node;

enum { WAY_FEATURE_BITS = 13, WAY_FAR_BITS = 17, WAY_MOST_FAR = (1 << WAY_FAR_BITS) - 1 };

static inline uint32_t way_make(uint32_t feature, uint32_t far, bool is_missing_right) {
    return feature | far << WAY_FEATURE_BITS | (uint32_t)is_missing_right << 31;
}

static inline uint32_t way_feature(uint32_t way) {
    return way & (FOREST_MAX_FEATURES - 1);
}

static inline uint32_t way_far(uint32_t way) {
    return way >> WAY_FEATURE_BITS & WAY_MOST_FAR;
}

static inline uint32_t way_missing(uint32_t way) {
    return way >> 31;
}

typedef struct walk_tree {
    uint32_t root;
    uint32_t depth; /* steps from the root to the deepest leaf */
} walk_tree;

struct forest {
    uint32_t features;
    float base;
    const walk_node *nodes; /* its own, or in a block of floats that outlives it */
    walk_node *own;         /* the nodes, or NULL */
    uint32_t node_count, node_capacity;
    walk_tree *trees;
    uint32_t tree_count, tree_capacity;
};

/* Makes room for a tree, whose nodes the caller fills, in breadth-first order, before it closes the tree. A tree that
 * is not closed is as if it had never been. */
ft_status forest_open_tree(forest *f, size_t nodes, walk_node **first, ft_error *error);
ft_status forest_close_tree(forest *f, uint32_t nodes, ft_error *error);
/* Makes room for so many more. */
ft_status forest_reserve_trees(forest *f, uint32_t trees, ft_error *error);
/* Copies nodes that stand in a block. */
ft_status forest_own_nodes(forest *f, ft_error *error);
/* Adds one tree of a forest over the same features. */
ft_status forest_copy_tree(forest *f, const forest *from, uint32_t tree, ft_error *error);

#endif
