/* forest.h - what trees.c and trees_file.c share: the inside of a forest. */
#ifndef NN_FOREST_H
#define NN_FOREST_H

#include "nn/trees.h"

/* A leaf: threshold NaN, child itself, feature and is_missing_right 0, so that a step stays. */
typedef struct walk_node {
    float threshold;
    float value;    /* 0 in a split */
    uint32_t child; /* the left one, among all nodes of the forest; the right one is next to it */
    uint32_t feature : 31;
    uint32_t is_missing_right : 1;
} walk_node;

typedef struct walk_tree {
    uint32_t root;
    uint32_t depth; /* steps from the root to the deepest leaf */
} walk_tree;

struct forest {
    uint32_t features;
    float base;
    walk_node *nodes;
    uint32_t node_count, node_capacity;
    walk_tree *trees;
    uint32_t tree_count, tree_capacity;
};

/* Makes room for a tree, whose nodes the caller fills, in breadth-first order, before it closes the tree. A tree that
 * is not closed is as if it had never been. */
ft_status forest_open_tree(forest *f, size_t nodes, walk_node **first, ft_error *error);
ft_status forest_close_tree(forest *f, uint32_t nodes, ft_error *error);
/* Adds one tree of a forest over the same features. */
ft_status forest_copy_tree(forest *f, const forest *from, uint32_t tree, ft_error *error);

#endif
