/* trees.c - building and evaluating forests. trees_file.c reads and writes them as floats.
 *
 * The nodes of all trees are in one array, each tree in breadth-first order with the two children of a split adjacent,
 * so a step goes to the left child, plus one if right. A leaf has offset 0: a walk that has arrived stays. All walks of
 * a tree can therefore take `depth` steps without a test, and several are interleaved, which hides their latency. */
#include "nn/tree/trees.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "nn/tree/forest.h"

enum { LANES = 8 }; /* walks that are interleaved */
#define INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif

ft_status forest_new(uint32_t features, float base, forest **f, ft_error *error) {
    if (features == 0 || features > FOREST_MAX_FEATURES)
        return ft_fail(error, FT_ERR_LIMIT, "forest: %u features; 1 to %d are supported", features,
                       FOREST_MAX_FEATURES);
    if (!isfinite(base)) return ft_fail(error, FT_ERR_DAMAGED, "forest: the base is not a finite number");
    forest *made = calloc(1, sizeof *made);
    if (made == NULL) return FT_NOMEM(error);
    made->features = features;
    made->base = base;
    *f = made;
    return FT_OK;
}

void forest_free(forest *f) {
    if (f == NULL) return;
    free(f->own);
    free(f->trees);
    free(f);
}

uint32_t forest_features(const forest *f) {
    return f->features;
}

uint32_t forest_trees(const forest *f) {
    return f->tree_count;
}

uint32_t forest_nodes(const forest *f) {
    return f->node_count;
}

float forest_base(const forest *f) {
    return f->base;
}

void forest_truncate(forest *f, uint32_t trees) {
    if (trees >= f->tree_count) return;
    f->node_count = f->trees[trees].root;
    f->tree_count = trees;
}

/* --- Building ------------------------------------------------------------------------------------------------ */

static void *grow(void *items, uint32_t used, uint32_t more, uint32_t *capacity, size_t item_size) {
    if (more <= *capacity - used) return items;
    uint32_t wanted = *capacity * 2 > used + more ? *capacity * 2 : used + more;
    void *moved = realloc(items, wanted * item_size);
    if (moved != NULL) *capacity = wanted;
    return moved;
}

ft_status forest_own_nodes(forest *f, ft_error *error) {
    if (f->own != NULL || f->node_count == 0) return FT_OK;
    f->own = malloc(f->node_count * sizeof *f->own);
    if (f->own == NULL) return FT_NOMEM(error);
    memcpy(f->own, f->nodes, f->node_count * sizeof *f->own);
    f->nodes = f->own;
    f->node_capacity = f->node_count;
    return FT_OK;
}

static ft_status make_room(forest *f, uint32_t more, ft_error *error) {
    FT_TRY(forest_own_nodes(f, error));
    walk_node *room = grow(f->own, f->node_count, more, &f->node_capacity, sizeof *room);
    if (room == NULL) return FT_NOMEM(error);
    f->nodes = f->own = room;
    return FT_OK;
}

ft_status forest_reserve_trees(forest *f, uint32_t trees, ft_error *error) {
    walk_tree *room = grow(f->trees, f->tree_count, trees, &f->tree_capacity, sizeof *room);
    if (room == NULL && trees > 0) return FT_NOMEM(error);
    f->trees = room;
    return FT_OK;
}

ft_status forest_open_tree(forest *f, size_t nodes, walk_node **first, ft_error *error) {
    if (f->tree_count == FOREST_MAX_TREES)
        return ft_fail(error, FT_ERR_LIMIT, "forest: more than %d trees", FOREST_MAX_TREES);
    if (nodes == 0) return ft_fail(error, FT_ERR_DAMAGED, "tree %u has no nodes", f->tree_count);
    if (nodes > FOREST_MAX_NODES - f->node_count)
        return ft_fail(error, FT_ERR_LIMIT, "forest: more than %d nodes", FOREST_MAX_NODES);
    FT_TRY(make_room(f, (uint32_t)nodes, error));
    FT_TRY(forest_reserve_trees(f, 1, error));
    *first = f->own + f->node_count;
    return FT_OK;
}

ft_status forest_close_tree(forest *f, uint32_t nodes, ft_error *error) {
    assert(f->tree_count < f->tree_capacity);
    const walk_node *node = f->nodes + f->node_count;
    uint32_t depth = 0, level_end = 1, next_end = 1;
    for (uint32_t i = 0; i < nodes; i++) {
        if (i == level_end) {
            depth++;
            level_end = next_end;
        }
        if (link_offset(node[i].link) > 0) next_end = i + link_offset(node[i].link) + 2;
    }
    if (depth > FOREST_MAX_DEPTH)
        return ft_fail(error, FT_ERR_LIMIT, "tree %u: depth %u; at most %d is supported", f->tree_count, depth,
                       FOREST_MAX_DEPTH);
    f->trees[f->tree_count++] = (walk_tree){.root = f->node_count, .depth = depth};
    f->node_count += nodes;
    return FT_OK;
}

static ft_status check_node(const forest *f, const tree_node *node, size_t at, size_t count, ft_error *error) {
    if (!isfinite(node->value))
        return ft_fail(error, FT_ERR_DAMAGED, "tree %u, node %zu: not a finite number", f->tree_count, at);
    if (node->is_leaf) return FT_OK;
    if (node->feature >= f->features)
        return ft_fail(error, FT_ERR_DAMAGED, "tree %u, node %zu: splits by feature %u of %u", f->tree_count, at,
                       node->feature, f->features);
    if (node->left >= count || node->right >= count)
        return ft_fail(error, FT_ERR_DAMAGED, "tree %u, node %zu: a child is outside of the tree", f->tree_count, at);
    return FT_OK;
}

/* Sorts the nodes (count) into breadth-first order: order[i] is the i-th of them, made[i] its node. A node with two
 * parents makes the order longer than the tree, one without a parent makes it shorter. */
static ft_status put_in_order(const forest *f, const tree_node *nodes, size_t count, uint32_t *order, walk_node *made,
                              ft_error *error) {
    size_t filled = 1;
    order[0] = 0;
    for (size_t i = 0; i < filled; i++) {
        const tree_node *node = &nodes[order[i]];
        FT_TRY(check_node(f, node, order[i], count, error));
        made[i] = (walk_node){.value = node->value};
        if (node->is_leaf) continue;
        if (filled + 2 > count) return ft_fail(error, FT_ERR_DAMAGED, "tree %u: a node has two parents", f->tree_count);
        if (filled - i > LINK_MAX_OFFSET)
            return ft_fail(error, FT_ERR_LIMIT, "tree %u: too large, a child is more than %d nodes after its parent",
                           f->tree_count, LINK_MAX_OFFSET);
        made[i].link = link_make(node->feature, (uint32_t)(filled - i), node->is_missing_right);
        order[filled++] = node->left;
        order[filled++] = node->right;
    }
    if (filled != count)
        return ft_fail(error, FT_ERR_DAMAGED, "tree %u: %zu of %zu nodes are not reached from its root", f->tree_count,
                       count - filled, count);
    return FT_OK;
}

ft_status forest_add(forest *f, const tree_node *nodes, size_t count, ft_error *error) {
    walk_node *made;
    FT_TRY(forest_open_tree(f, count, &made, error));
    uint32_t *order = malloc(count * sizeof *order);
    if (order == NULL) return FT_NOMEM(error);
    ft_status status = put_in_order(f, nodes, count, order, made, error);
    free(order);
    return status == FT_OK ? forest_close_tree(f, (uint32_t)count, error) : status;
}

ft_status forest_copy_tree(forest *f, const forest *from, uint32_t tree, ft_error *error) {
    assert(tree < from->tree_count && f->features == from->features);
    uint32_t root = from->trees[tree].root;
    uint32_t end = tree + 1 < from->tree_count ? from->trees[tree + 1].root : from->node_count;
    walk_node *made;
    FT_TRY(forest_open_tree(f, end - root, &made, error));
    memcpy(made, from->nodes + root, (end - root) * sizeof *made);
    return forest_close_tree(f, end - root, error);
}

/* --- Walking ------------------------------------------------------------------------------------------------- */

/* Most rows have no missing features (gaps), whose handling is a third of a step: it is compiled out where `has_gaps`
 * is a constant false. */
static INLINE uint32_t step(const walk_node *nodes, uint32_t at, const float *row, bool has_gaps) {
    const walk_node *node = &nodes[at];
    uint32_t link = node->link, offset = link_offset(link);
    float x = row[link_feature(link)];
    uint32_t is_right = x >= node->value;
    if (has_gaps) is_right |= link_missing_right(link) & (x != x);
    return at + offset + (is_right & (offset != 0));
}

static bool has_gap(const float *row, uint32_t features) {
    bool result = false;
    for (uint32_t i = 0; i < features; i++) result |= row[i] != row[i];
    return result;
}

static float walk(const forest *f, uint32_t tree, const float *row) {
    uint32_t at = f->trees[tree].root;
    for (uint32_t d = f->trees[tree].depth; d > 0; d--) at = step(f->nodes, at, row, true);
    return f->nodes[at].value;
}

/* Evaluates one tree for LANES rows, `stride` floats apart; margins: (LANES) */
static INLINE void walk_rows(const forest *f, uint32_t tree, const float *rows, size_t stride, bool has_gaps,
                             float *margins) {
    uint32_t at[LANES];
    for (int i = 0; i < LANES; i++) at[i] = f->trees[tree].root;
    for (uint32_t d = f->trees[tree].depth; d > 0; d--) {
        UNROLLED
        for (int i = 0; i < LANES; i++) at[i] = step(f->nodes, at[i], rows + (size_t)i * stride, has_gaps);
    }
    for (int i = 0; i < LANES; i++) margins[i] += f->nodes[at[i]].value;
}

/* Evaluates LANES trees for one row; returns sum + their values. */
static INLINE float walk_trees(const forest *f, uint32_t first, const float *row, bool has_gaps, float sum) {
    uint32_t at[LANES], depth = 0;
    for (uint32_t i = 0; i < LANES; i++) {
        const walk_tree *tree = &f->trees[first + i];
        at[i] = tree->root;
        if (tree->depth > depth) depth = tree->depth;
    }
    for (; depth > 0; depth--) {
        UNROLLED
        for (int i = 0; i < LANES; i++) at[i] = step(f->nodes, at[i], row, has_gaps);
    }
    for (int i = 0; i < LANES; i++) sum += f->nodes[at[i]].value;
    return sum;
}

float forest_predict_row(const forest *f, const float *row) {
    float sum = f->base;
    uint32_t tree = 0;
    if (has_gap(row, f->features))
        for (; tree + LANES <= f->tree_count; tree += LANES) sum = walk_trees(f, tree, row, true, sum);
    else
        for (; tree + LANES <= f->tree_count; tree += LANES) sum = walk_trees(f, tree, row, false, sum);
    for (; tree < f->tree_count; tree++) sum += walk(f, tree, row);
    return sum;
}

/* A block of rows stays in the cache while all trees are evaluated. */
enum { BLOCK_ROWS = 256, FEW_TREES = 8 };

static void add_block(const forest *f, uint32_t first, const float *rows, size_t stride, size_t count, float *margins) {
    bool has_gaps[BLOCK_ROWS / LANES] = {false};
    size_t whole = count - count % LANES;
    /* For a few trees the check does not pay off. */
    bool is_unknown = f->tree_count - first < FEW_TREES;
    for (size_t i = 0; i < whole; i++) has_gaps[i / LANES] |= is_unknown || has_gap(rows + i * stride, f->features);
    for (uint32_t tree = first; tree < f->tree_count; tree++) {
        for (size_t i = 0; i < whole; i += LANES) {
            if (has_gaps[i / LANES])
                walk_rows(f, tree, rows + i * stride, stride, true, margins + i);
            else
                walk_rows(f, tree, rows + i * stride, stride, false, margins + i);
        }
        for (size_t i = whole; i < count; i++) margins[i] += walk(f, tree, rows + i * stride);
    }
}

void forest_add_margins(const forest *f, uint32_t first, const float *rows, size_t stride, size_t count,
                        float *margins) {
    if (first >= f->tree_count) return;
    for (size_t i = 0; i < count; i += BLOCK_ROWS) {
        size_t some = count - i < BLOCK_ROWS ? count - i : BLOCK_ROWS;
        add_block(f, first, rows + i * stride, stride, some, margins + i);
    }
}

void forest_predict(const forest *f, const float *rows, size_t stride, size_t count, float *predictions) {
    assert(stride >= f->features);
    for (size_t i = 0; i < count; i++) predictions[i] = f->base;
    forest_add_margins(f, 0, rows, stride, count, predictions);
}
