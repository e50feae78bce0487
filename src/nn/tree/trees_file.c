/* trees_file.c - reading and writing a forest as floats.
 *
 * Nodes in the block have the layout of memory (forest.h), so that a forest of a mapped file needs no copy of them.
 * They are in breadth-first order: the k-th split of a tree has the children 1 + 2k and 2 + 2k. This is checked for
 * every node when the forest is read; then a walk can neither leave its tree nor loop.
 *
 * Version 1 did not store the offsets of children, so its nodes are converted. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "nn/tree/forest.h"

/* The head: FOREST_VERSION, features, trees, nodes, base. */
enum { AT_VERSION, AT_FEATURES, AT_TREES, AT_NODES, AT_BASE };

size_t forest_save_count(const forest *f) {
    return FOREST_HEAD + f->tree_count + (size_t)2 * f->node_count;
}

static uint32_t tree_size(const forest *f, uint32_t tree) {
    uint32_t end = tree + 1 < f->tree_count ? f->trees[tree + 1].root : f->node_count;
    return end - f->trees[tree].root;
}

void forest_save(const forest *f, float *block) {
    block[AT_VERSION] = FOREST_VERSION;
    block[AT_FEATURES] = (float)f->features;
    block[AT_TREES] = (float)f->tree_count;
    block[AT_NODES] = (float)f->node_count;
    block[AT_BASE] = f->base;
    float *out = block + FOREST_HEAD;
    for (uint32_t tree = 0; tree < f->tree_count; tree++) *out++ = (float)tree_size(f, tree);
    if (f->node_count > 0) memcpy(out, f->nodes, f->node_count * sizeof *f->nodes);
}

/* --- Loading ------------------------------------------------------------------------------------------------- */

typedef struct cursor {
    const float *items;
    size_t count, at;
} cursor;

static ft_status read_float(cursor *c, const char *what, float *value, ft_error *error) {
    if (c->at == c->count) return ft_fail(error, FT_ERR_DAMAGED, "trees: the block ends before %s", what);
    if (!isfinite(c->items[c->at]))
        return ft_fail(error, FT_ERR_DAMAGED, "trees: %s (float %zu) is not a finite number", what, c->at);
    *value = c->items[c->at++];
    return FT_OK;
}

/* An integer, 0 .. limit; floats hold all of them exactly up to 2^24. */
static ft_status read_count(cursor *c, const char *what, uint32_t limit, uint32_t *value, ft_error *error) {
    float x = 0;
    FT_TRY(read_float(c, what, &x, error));
    if (x < 0 || x != truncf(x))
        return ft_fail(error, FT_ERR_DAMAGED, "trees: %s (float %zu) is %g, not a count", what, c->at - 1, (double)x);
    if (x > (float)limit)
        return ft_fail(error, FT_ERR_LIMIT, "trees: %s (float %zu) is %.0f; at most %u is supported", what, c->at - 1,
                       (double)x, limit);
    *value = (uint32_t)x;
    return FT_OK;
}

/* --- Version 1 ----------------------------------------------------------------------------------------------- */

/* A leaf has this in place of feature * 2 + is_missing_right. */
#define LEAF (-1.0F)

static ft_status read_node(cursor *c, const forest *f, uint32_t i, uint32_t *filled, walk_node *node, ft_error *error) {
    float code = 0, value = 0;
    FT_TRY(read_float(c, "a node", &code, error));
    FT_TRY(read_float(c, "the value of a node", &value, error));
    *node = (walk_node){.value = value};
    if (code == LEAF) return FT_OK;
    if (code < 0 || code != truncf(code) || code >= 2.0F * (float)f->features)
        return ft_fail(error, FT_ERR_DAMAGED, "tree %u, node %u: splits by a feature outside of 0 .. %u", f->tree_count,
                       i, f->features - 1);
    if (*filled - i > LINK_MAX_OFFSET)
        return ft_fail(error, FT_ERR_LIMIT, "tree %u: too large, a child is more than %d nodes after its parent",
                       f->tree_count, LINK_MAX_OFFSET);
    node->link = link_make((uint32_t)code / 2, *filled - i, (uint32_t)code % 2 == 1);
    *filled += 2;
    return FT_OK;
}

static ft_status read_tree(cursor *c, forest *f, ft_error *error) {
    uint32_t count, filled = 1;
    FT_TRY(read_count(c, "the size of a tree", FOREST_MAX_NODES, &count, error));
    if (count > (c->count - c->at) / 2)
        return ft_fail(error, FT_ERR_DAMAGED, "tree %u: truncated, the block ends before its %u nodes", f->tree_count,
                       count);
    walk_node *nodes;
    FT_TRY(forest_open_tree(f, count, &nodes, error));
    for (uint32_t i = 0; i < count; i++) {
        if (i == filled)
            return ft_fail(error, FT_ERR_DAMAGED, "tree %u ends at node %u of %u", f->tree_count, i, count);
        FT_TRY(read_node(c, f, i, &filled, &nodes[i], error));
    }
    if (filled != count)
        return ft_fail(error, FT_ERR_DAMAGED, "tree %u has %u nodes, but needs %u", f->tree_count, count, filled);
    return forest_close_tree(f, count, error);
}

static ft_status read_version1(cursor *c, forest *f, uint32_t trees, uint32_t nodes, ft_error *error) {
    for (uint32_t i = 0; i < trees; i++) FT_TRY(read_tree(c, f, error));
    if (nodes != f->node_count)
        return ft_fail(error, FT_ERR_DAMAGED, "trees: %u nodes, but the header has %u", f->node_count, nodes);
    return FT_OK;
}

/* --- Version 2 ----------------------------------------------------------------------------------------------- */

/* All errors of a node are ORed into one number, so that whole trees are checked without a branch. */
static ft_status check_tree(const forest *f, const walk_node *nodes, uint32_t count, ft_error *error) {
    uint32_t filled = 1, bad = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t link = nodes[i].link, offset = link_offset(link), is_split = offset != 0, bits;
        memcpy(&bits, &nodes[i].value, sizeof bits);
        bad |= (bits & 0x7f800000) == 0x7f800000;                      /* not a finite number */
        bad |= is_split & (i + offset != filled);                      /* its children are not the next in order */
        bad |= (link_feature(link) >= f->features) | (link >> 30 & 1); /* no feature */
        bad |= (is_split ^ 1) & (link != 0);
        bad |= i >= filled; /* no parent */
        filled += 2 * is_split;
    }
    if (bad != 0 || filled != count)
        return ft_fail(error, FT_ERR_DAMAGED, "tree %u: its %u nodes do not form a tree", f->tree_count, count);
    return FT_OK;
}

static ft_status read_version2(cursor *c, forest *f, uint32_t trees, uint32_t nodes, ft_error *error) {
    if (c->count - c->at < trees || (c->count - c->at - trees) / 2 < nodes)
        return ft_fail(error, FT_ERR_DAMAGED, "trees: the block ends before %u trees of %u nodes", trees, nodes);
    const void *first = c->items + c->at + trees; /* void: these are not floats */
    FT_TRY(forest_reserve_trees(f, trees, error));
    f->nodes = first;
    for (uint32_t i = 0; i < trees; i++) {
        uint32_t size;
        FT_TRY(read_count(c, "the size of a tree", FOREST_MAX_NODES, &size, error));
        if (size == 0 || size > nodes - f->node_count)
            return ft_fail(error, FT_ERR_DAMAGED, "tree %u: %u nodes, but %u are left", i, size, nodes - f->node_count);
        FT_TRY(check_tree(f, f->nodes + f->node_count, size, error));
        FT_TRY(forest_close_tree(f, size, error));
    }
    c->at += 2 * (size_t)nodes;
    if (f->node_count != nodes)
        return ft_fail(error, FT_ERR_DAMAGED, "trees: %u nodes, but the header has %u", f->node_count, nodes);
    return FT_OK;
}

/* --- Both versions ------------------------------------------------------------------------------------------- */

static ft_status read_forest(cursor *c, forest **f, ft_error *error) {
    uint32_t version, features, trees, nodes;
    float base = 0;
    FT_TRY(read_count(c, "the version", FOREST_MAX_NODES, &version, error));
    if (version < 1 || version > FOREST_VERSION)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "trees: version %u; this program reads versions 1 to %d", version,
                       FOREST_VERSION);
    FT_TRY(read_count(c, "the number of features", FOREST_MAX_FEATURES, &features, error));
    FT_TRY(read_count(c, "the number of trees", FOREST_MAX_TREES, &trees, error));
    FT_TRY(read_count(c, "the number of nodes", FOREST_MAX_NODES, &nodes, error));
    FT_TRY(read_float(c, "the base", &base, error));
    FT_TRY(forest_new(features, base, f, error));
    return version == 1 ? read_version1(c, *f, trees, nodes, error) : read_version2(c, *f, trees, nodes, error);
}

ft_status forest_map(const float *block, size_t count, forest **f, size_t *used, ft_error *error) {
    cursor c = {.items = block, .count = count};
    forest *made = NULL;
    ft_status status = read_forest(&c, &made, error);
    if (status != FT_OK) {
        forest_free(made);
        return status;
    }
    *f = made;
    *used = c.at;
    return FT_OK;
}

ft_status forest_load(const float *block, size_t count, forest **f, size_t *used, ft_error *error) {
    size_t floats;
    forest *made = NULL;
    FT_TRY(forest_map(block, count, &made, &floats, error));
    ft_status status = forest_own_nodes(made, error);
    if (status != FT_OK) {
        forest_free(made);
        return status;
    }
    *f = made;
    *used = floats;
    return FT_OK;
}
