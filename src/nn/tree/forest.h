/* forest.h - the representation of a forest, shared by trees.c, trees_file.c and boost.c. */
#ifndef NN_FOREST_H
#define NN_FOREST_H

#include "nn/tree/trees.h"

/* A node as in a predictor file, eight bytes; files are mapped and used in place. The children of a split are adjacent
 * and follow it. Unused bits of the link are 0, so that it is finite when read as a float, as all values of a file. */
typedef struct walk_node {
    float value;   /* of a leaf; the threshold of a split */
    uint32_t link; /* bits 0..12: feature; 13..29: offset of the left child, 0 in a leaf; 31: NaN goes right */
} walk_node;

enum { LINK_FEATURE_BITS = 13, LINK_OFFSET_BITS = 17, LINK_MAX_OFFSET = (1 << LINK_OFFSET_BITS) - 1 };

static inline uint32_t link_make(uint32_t feature, uint32_t offset, bool is_missing_right) {
    return feature | offset << LINK_FEATURE_BITS | (uint32_t)is_missing_right << 31;
}

static inline uint32_t link_feature(uint32_t link) {
    return link & (FOREST_MAX_FEATURES - 1);
}

static inline uint32_t link_offset(uint32_t link) {
    return link >> LINK_FEATURE_BITS & LINK_MAX_OFFSET;
}

static inline uint32_t link_missing_right(uint32_t link) {
    return link >> 31;
}

typedef struct walk_tree {
    uint32_t root;
    uint32_t depth; /* steps from the root to the deepest leaf */
} walk_tree;

struct forest {
    uint32_t features;
    float base;
    const walk_node *nodes; /* (node_count): own, or in a block of floats that outlives the forest */
    walk_node *own;         /* allocated nodes, or NULL */
    uint32_t node_count, node_capacity;
    walk_tree *trees;
    uint32_t tree_count, tree_capacity;
};

/* Reserves memory for a tree: the caller fills its nodes, in breadth-first order, then closes the tree. A tree that is
 * not closed is discarded. */
ft_status forest_open_tree(forest *f, size_t nodes, walk_node **first, ft_error *error);
ft_status forest_close_tree(forest *f, uint32_t nodes, ft_error *error);
/* Reserves memory for `trees` more trees. */
ft_status forest_reserve_trees(forest *f, uint32_t trees, ft_error *error);
/* Copies the nodes of a mapped block into own memory. */
ft_status forest_own_nodes(forest *f, ft_error *error);
/* Adds a copy of one tree of another forest over the same features. */
ft_status forest_copy_tree(forest *f, const forest *from, uint32_t tree, ft_error *error);

#endif
