/* Tests of forests: predictions, NaN on both sides, batches against single rows, and all errors in trees. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "nn/tree/trees.h"
#include "support/failing.h"

/* x0 < 1 ? (x1 < 2 ? 10 : 20) : 30, nodes not in breadth-first order; NaN of x0 goes right, of x1 left. */
static const tree_node example[] = {
    {.feature = 0, .value = 1, .left = 3, .right = 1, .is_missing_right = true},
    {.is_leaf = true, .value = 30},
    {.is_leaf = true, .value = 10},
    {.feature = 1, .value = 2, .left = 2, .right = 4},
    {.is_leaf = true, .value = 20},
};

static forest *make(uint32_t features, float base) {
    forest *f = NULL;
    assert_int_equal(forest_new(features, base, &f, NULL), FT_OK);
    return f;
}

static void add(forest *f, const tree_node *nodes, size_t count) {
    ft_error error = {.message = ""};
    if (forest_add(f, nodes, count, &error) != FT_OK) fail_msg("%s", error.message);
}

/* A tree of `splits` random splits over features of about 0 .. 1. */
static void add_random(forest *f, rng *r, uint32_t splits) {
    tree_node *nodes = calloc(2 * (size_t)splits + 1, sizeof *nodes);
    uint32_t count = 1;
    nodes[0].is_leaf = true;
    for (uint32_t i = 0; i < splits; i++) {
        uint32_t at = rng_below(r, count);
        while (!nodes[at].is_leaf) at = (at + 1) % count;
        nodes[at] = (tree_node){.feature = rng_below(r, forest_features(f)),
                                .value = (float)rng_uniform(r),
                                .left = count,
                                .right = count + 1,
                                .is_missing_right = rng_below(r, 2) == 1};
        nodes[count++] = (tree_node){.is_leaf = true, .value = (float)rng_normal(r)};
        nodes[count++] = (tree_node){.is_leaf = true, .value = (float)rng_normal(r)};
    }
    add(f, nodes, count);
    free(nodes);
}

static forest *make_random(uint32_t trees) {
    rng r;
    rng_init(&r, 7, 0);
    forest *f = make(5, 0.25F);
    for (uint32_t i = 0; i < trees; i++) add_random(f, &r, i % 40);
    return f;
}

/* The first half has missing features. */
static float *random_rows(size_t floats) {
    rng r;
    rng_init(&r, 8, 0);
    float *rows = malloc(floats * sizeof *rows);
    for (size_t i = 0; i < floats; i++)
        rows[i] = i < floats / 2 && rng_below(&r, 10) == 0 ? NAN : (float)rng_uniform(&r);
    return rows;
}

static void test_one_tree(void **state) {
    (void)state;
    forest *f = make(2, 0.5F);
    const float rows[][2] = {{0, 0}, {0, 2}, {1, 0}, {NAN, 0}, {0, NAN}, {-INFINITY, INFINITY}, {INFINITY, 0}};
    const float says[] = {10, 20, 30, 30, 10, 20, 30};
    assert_true(forest_predict_row(f, rows[0]) == 0.5F);
    add(f, example, 5);
    for (size_t i = 0; i < sizeof says / sizeof says[0]; i++)
        assert_true(forest_predict_row(f, rows[i]) == says[i] + 0.5F);
    assert_int_equal(forest_features(f), 2);
    assert_int_equal(forest_trees(f), 1);
    assert_int_equal(forest_nodes(f), 5);
    assert_true(forest_base(f) == 0.5F);
    forest_free(f);
    forest_free(NULL);
}

static void test_batches_equal_single_rows(void **state) {
    (void)state;
    enum { ROWS = 555, STRIDE = 7 };
    forest *f = make_random(77);
    float *rows = random_rows((size_t)ROWS * STRIDE), out[ROWS], margins[ROWS];
    for (size_t count = 0; count <= ROWS; count = count < 20 ? count + 1 : count + 107) {
        forest_predict(f, rows, STRIDE, count, out);
        for (size_t i = 0; i < count; i++)
            assert_memory_equal(&out[i], &(float){forest_predict_row(f, rows + i * STRIDE)}, sizeof(float));
    }
    /* Tree by tree, which is how boosting does it. */
    forest *growing = make_random(77);
    for (size_t i = 0; i < ROWS; i++) margins[i] = forest_base(f);
    for (uint32_t tree = 0; tree < 77; tree++) {
        forest *part = make_random(77);
        forest_truncate(part, tree + 1);
        forest_add_margins(part, tree, rows, STRIDE, ROWS, margins);
        forest_free(part);
    }
    forest_predict(growing, rows, STRIDE, ROWS, out);
    assert_memory_equal(margins, out, sizeof out);
    forest_free(growing);
    /* Trees added later give the same as all at once. */
    forest_predict(f, rows, STRIDE, ROWS, out);
    forest *half = make_random(77);
    forest_truncate(half, 100);
    forest_truncate(half, 30);
    assert_int_equal(forest_trees(half), 30);
    forest_predict(half, rows, STRIDE, ROWS, margins);
    assert_memory_not_equal(margins, out, sizeof out);
    forest_add_margins(f, 77, rows, STRIDE, ROWS, margins); /* none */
    forest_add_margins(f, 30, rows, STRIDE, ROWS, margins);
    assert_memory_equal(margins, out, sizeof out);
    forest_free(half);
    forest_free(f);
    free(rows);
}

/* --- Saving and loading ----------------------------------------------------------------------------------------- */

static float *saved(const forest *f, size_t *count) {
    *count = forest_save_count(f);
    float *block = malloc(*count * sizeof *block);
    forest_save(f, block);
    return block;
}

static void test_saved_and_loaded(void **state) {
    (void)state;
    for (uint32_t trees = 0; trees < 60; trees += 19) {
        forest *f = make_random(trees), *again = NULL;
        size_t count, used = 0, second;
        float *block = saved(f, &count), *rows = random_rows(500), out[100], other[100];
        block = realloc(block, (count + 3) * sizeof *block); /* something else behind it */
        memset(block + count, 0xff, 3 * sizeof *block);
        assert_int_equal(forest_load(block, count + 3, &again, &used, NULL), FT_OK);
        assert_int_equal(used, count);
        forest_predict(f, rows, 5, 100, out);
        forest_predict(again, rows, 5, 100, other);
        assert_memory_equal(out, other, sizeof out);
        float *twice = saved(again, &second);
        assert_int_equal(second, count);
        assert_memory_equal(twice, block, count * sizeof *block);
        free(twice);
        free(block);
        free(rows);
        forest_free(f);
        forest_free(again);
    }
}

/* The example as floats: head, size of the tree, nodes. Files of version 1 have it so. */
static const float old[] = {1, 2, 1, 5, 0.5F, 5, 1, 1, 2, 2, -1, 30, -1, 10, -1, 20};
enum { GOOD = sizeof old / sizeof old[0], FIRST_NODE = 6 };

/* Bits 0..12: feature; 13..29: offset of the left child; 31: NaN goes right. */
static float link_float(uint32_t feature, uint32_t far, uint32_t missing) {
    uint32_t bits = feature | far << 13 | missing << 31;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void make_good(float block[static GOOD]) {
    const float head[FIRST_NODE] = {2, 2, 1, 5, 0.5F, 5};
    const float nodes[] = {1, link_float(0, 1, 1), 2, link_float(1, 2, 0), 30, 0, 10, 0, 20, 0};
    memcpy(block, head, sizeof head);
    memcpy(block + FIRST_NODE, nodes, sizeof nodes);
}

static void test_layout(void **state) {
    (void)state;
    forest *f = make(2, 0.5F);
    add(f, example, 5);
    size_t count;
    float *block = saved(f, &count), good[GOOD];
    make_good(good);
    assert_int_equal(count, GOOD);
    assert_memory_equal(block, good, sizeof good);
    free(block);
    forest_free(f);
}

static void test_layout_of_version_1(void **state) {
    (void)state;
    forest *f = NULL;
    size_t used = 0, count;
    float good[GOOD];
    make_good(good);
    assert_int_equal(forest_map(old, GOOD, &f, &used, NULL), FT_OK);
    assert_int_equal(used, GOOD);
    float *block = saved(f, &count);
    assert_int_equal(count, GOOD);
    assert_memory_equal(block, good, sizeof good);
    free(block);
    forest_free(f);
}

/* Nodes stay in the block until something is added. */
static void test_mapped(void **state) {
    (void)state;
    float block[GOOD];
    forest *f = NULL, *copy = NULL;
    size_t used = 0;
    make_good(block);
    assert_int_equal(forest_map(block, GOOD, &f, &used, NULL), FT_OK);
    assert_int_equal(forest_load(block, GOOD, &copy, &used, NULL), FT_OK);
    assert_true(forest_predict_row(f, (float[]){2, 0}) == 30.5F);
    block[FIRST_NODE + 4] = 40; /* the leaf with value 30 */
    assert_true(forest_predict_row(f, (float[]){2, 0}) == 40.5F);
    assert_true(forest_predict_row(copy, (float[]){2, 0}) == 30.5F);
    add(f, example, 5);
    assert_true(forest_predict_row(f, (float[]){2, 0}) == 70.5F);
    block[FIRST_NODE + 4] = 50;
    assert_true(forest_predict_row(f, (float[]){2, 0}) == 70.5F);
    assert_int_equal(forest_nodes(f), 10);
    forest_free(f);
    forest_free(copy);
}

static void refuses(const float *block, size_t count, ft_status expected, const char *part) {
    forest *f = NULL;
    size_t used = 99;
    ft_error error = {.message = ""};
    float *exact = malloc(count * sizeof *exact + 1); /* a sanitizer reports reads past the end */
    memcpy(exact, block, count * sizeof *exact);
    ft_status status = forest_load(exact, count, &f, &used, &error);
    free(exact);
    if (status != expected || strstr(error.message, part) == NULL)
        fail_msg("status %d, \"%s\", but %d, \"%s\" is expected", status, error.message, expected, part);
    assert_null(f);
    assert_int_equal(used, 99);
}

static void test_damaged(void **state) {
    (void)state;
    float good[GOOD];
    make_good(good);
    for (size_t count = 0; count < GOOD; count++) refuses(good, count, FT_ERR_DAMAGED, "the block ends before");
    for (size_t at = 0; at < FIRST_NODE; at++) {
        float block[GOOD];
        memcpy(block, good, sizeof good);
        block[at] = NAN;
        refuses(block, GOOD, FT_ERR_DAMAGED, "not a finite number");
    }
    const struct {
        size_t at;
        float value;
        ft_status status;
        const char *part;
    } cases[] = {
        {0, 3, FT_ERR_UNSUPPORTED, "version 3"},
        {0, 0, FT_ERR_UNSUPPORTED, "version 0"},
        {1, 1, FT_ERR_DAMAGED, "do not form a tree"},
        {1, 70000, FT_ERR_LIMIT, "at most 8192 is supported"},
        {2, 0, FT_ERR_DAMAGED, "the header has 5"},
        {2, 2, FT_ERR_DAMAGED, "ends before 2 trees"},
        {3, 4, FT_ERR_DAMAGED, "5 nodes, but 4 are left"},
        {3, 6, FT_ERR_DAMAGED, "ends before 1 trees of 6"},
        {5, 0, FT_ERR_DAMAGED, "tree 0: 0 nodes"},
        {5, 3, FT_ERR_DAMAGED, "do not form a tree"},
        {5, 1e9F, FT_ERR_LIMIT, "is supported"},
        {FIRST_NODE, INFINITY, FT_ERR_DAMAGED, "do not form a tree"},                /* a threshold */
        {FIRST_NODE + 8, NAN, FT_ERR_DAMAGED, "do not form a tree"},                 /* a leaf */
        {FIRST_NODE + 1, link_float(2, 1, 1), FT_ERR_DAMAGED, "do not form a tree"}, /* no such feature */
        {FIRST_NODE + 1, link_float(0, 2, 1), FT_ERR_DAMAGED, "do not form a tree"}, /* the child of another node */
        {FIRST_NODE + 1, link_float(0, 0, 0), FT_ERR_DAMAGED,
         "do not form a tree"}, /* the other nodes have no parent */
        {FIRST_NODE + 3, link_float(1, 9, 0), FT_ERR_DAMAGED, "do not form a tree"}, /* out of the tree */
        {FIRST_NODE + 5, link_float(1, 3, 0), FT_ERR_DAMAGED, "do not form a tree"}, /* a leaf with children */
        {FIRST_NODE + 5, link_float(1, 0, 0), FT_ERR_DAMAGED, "do not form a tree"}, /* a leaf with a feature */
        {FIRST_NODE + 5, 2, FT_ERR_DAMAGED, "do not form a tree"},                   /* bit 30 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float block[GOOD];
        memcpy(block, good, sizeof good);
        block[cases[i].at] = cases[i].value;
        refuses(block, GOOD, cases[i].status, cases[i].part);
    }
}

static void test_damaged_version_1(void **state) {
    (void)state;
    for (size_t count = 0; count < GOOD; count++) refuses(old, count, FT_ERR_DAMAGED, "the block ends before");
    for (size_t at = 0; at < GOOD; at++) {
        float block[GOOD];
        memcpy(block, old, sizeof old);
        block[at] = NAN;
        refuses(block, GOOD, FT_ERR_DAMAGED, "not a finite number");
        block[at] = -INFINITY;
        refuses(block, GOOD, FT_ERR_DAMAGED, "not a finite number");
    }
    static const struct {
        size_t at;
        float value;
        ft_status status;
        const char *part;
    } cases[] = {
        {0, 9, FT_ERR_UNSUPPORTED, "version 9"},
        {0, -1, FT_ERR_DAMAGED, "the version"},
        {1, 0, FT_ERR_LIMIT, "0 features"},
        {1, 1, FT_ERR_DAMAGED, "splits by a feature outside of 0 .. 0"},
        {1, 1.5F, FT_ERR_DAMAGED, "not a count"},
        {1, 70000, FT_ERR_LIMIT, "at most 8192 is supported"},
        {2, 0, FT_ERR_DAMAGED, "the header has 5"},
        {2, 2, FT_ERR_DAMAGED, "ends before the size of a tree"},
        {2, 1e9F, FT_ERR_LIMIT, "number of trees"},
        {3, 4, FT_ERR_DAMAGED, "the header has 4"},
        {3, 1e30F, FT_ERR_LIMIT, "number of nodes"},
        {5, 0, FT_ERR_DAMAGED, "has no nodes"},
        {5, 3, FT_ERR_DAMAGED, "has 3 nodes, but needs 5"},
        {5, 6, FT_ERR_DAMAGED, "the block ends before its 6 nodes"},
        {5, -5, FT_ERR_DAMAGED, "not a count"},
        {6, -1, FT_ERR_DAMAGED, "ends at node 1"},
        {6, 4, FT_ERR_DAMAGED, "splits by a feature outside of 0 .. 1"},
        {6, 0.5F, FT_ERR_DAMAGED, "splits by a feature outside"},
        {6, -2, FT_ERR_DAMAGED, "splits by a feature outside"},
        {10, 0, FT_ERR_DAMAGED, "has 5 nodes, but needs 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float block[GOOD];
        memcpy(block, old, sizeof old);
        block[cases[i].at] = cases[i].value;
        refuses(block, GOOD, cases[i].status, cases[i].part);
    }
}

/* --- Invalid trees ------------------------------------------------------------------------------------- */

static void refuses_tree(const tree_node *nodes, size_t count, ft_status expected, const char *part) {
    forest *f = make(2, 0);
    ft_error error = {.message = ""};
    add(f, example, 5);
    ft_status status = forest_add(f, nodes, count, &error);
    if (status != expected || strstr(error.message, part) == NULL) fail_msg("status %d, \"%s\"", status, error.message);
    /* The forest is unchanged and can grow. */
    assert_int_equal(forest_trees(f), 1);
    assert_int_equal(forest_nodes(f), 5);
    add(f, example, 5);
    assert_true(forest_predict_row(f, (float[]){0, 0}) == 20);
    forest_free(f);
}

static void test_invalid_trees(void **state) {
    (void)state;
    tree_node nodes[5];
    refuses_tree(example, 0, FT_ERR_DAMAGED, "no nodes");
    refuses_tree(example, 4, FT_ERR_DAMAGED, "outside of the tree");
    memcpy(nodes, example, sizeof nodes);
    nodes[0].left = 1; /* 2, 3, 4 are not reached */
    refuses_tree(nodes, 5, FT_ERR_DAMAGED, "2 of 5 nodes are not reached");
    nodes[0].left = 0; /* a cycle */
    refuses_tree(nodes, 5, FT_ERR_DAMAGED, "two parents");
    nodes[0].left = 5;
    refuses_tree(nodes, 5, FT_ERR_DAMAGED, "outside of the tree");
    nodes[0].left = 3;
    nodes[3].feature = 2;
    refuses_tree(nodes, 5, FT_ERR_DAMAGED, "feature 2 of 2");
    nodes[3].feature = 1;
    nodes[4].value = NAN;
    refuses_tree(nodes, 5, FT_ERR_DAMAGED, "not a finite number");
    forest *f = NULL;
    assert_int_equal(forest_new(0, 0, &f, NULL), FT_ERR_LIMIT);
    assert_int_equal(forest_new(FOREST_MAX_FEATURES + 1, 0, &f, NULL), FT_ERR_LIMIT);
    assert_int_equal(forest_new(1, NAN, &f, NULL), FT_ERR_DAMAGED);
    assert_null(f);
}

/* A chain: each split has a leaf on the left. */
static void test_too_deep(void **state) {
    (void)state;
    enum { SPLITS = FOREST_MAX_DEPTH + 1 };
    tree_node *nodes = calloc(2 * SPLITS + 1, sizeof *nodes);
    for (uint32_t i = 0; i < SPLITS; i++) {
        nodes[2 * i] = (tree_node){.value = (float)i, .left = 2 * i + 1, .right = 2 * i + 2};
        nodes[2 * i + 1] = (tree_node){.is_leaf = true, .value = (float)i};
    }
    nodes[2 * SPLITS] = (tree_node){.is_leaf = true, .value = SPLITS};
    refuses_tree(nodes, 2 * SPLITS + 1, FT_ERR_LIMIT, "depth 257");
    nodes[2 * SPLITS - 2] = (tree_node){.is_leaf = true, .value = SPLITS - 1};
    forest *f = make(1, 0);
    add(f, nodes, 2 * SPLITS - 1);
    for (int i = 0; i < SPLITS; i++) assert_true(forest_predict_row(f, &(float){(float)i - 0.5F}) == (float)i);
    forest_free(f);
    free(nodes);
}

static void test_no_memory(void **state) {
    (void)state;
    forest *f = make_random(20);
    size_t count, used;
    float *block = saved(f, &count);
    long n = 0;
    for (;; n++) {
        forest *again = NULL;
        failing_start(n);
        ft_status status = forest_load(block, count, &again, &used, NULL);
        if (status == FT_OK) status = forest_add(again, &example[1], 1, NULL);
        bool has_failed = failing_stop();
        forest_free(again);
        if (!has_failed) break;
        assert_int_equal(status, FT_ERR_NOMEM);
    }
    assert_true(n > 5);
    free(block);
    forest_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_tree),
        cmocka_unit_test(test_batches_equal_single_rows),
        cmocka_unit_test(test_saved_and_loaded),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_layout_of_version_1),
        cmocka_unit_test(test_mapped),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_damaged_version_1),
        cmocka_unit_test(test_invalid_trees),
        cmocka_unit_test(test_too_deep),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
