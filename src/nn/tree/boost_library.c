/* boost_library.c - libxgboost: loading it, and converting its trees. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/library.h"
#include "nn/tree/boost_internal.h"

/* It and libgomp end the process where they get no memory to start. */
static const size_t ROOM_BYTES = (size_t)128 << 20;

ft_status boost_library_open(const char *name, boost_library *library, ft_error *error) {
    const library_function functions[] = {
        {"XGBGetLastError", &library->last_error},
        {"XGBSetGlobalConfig", &library->configure},
        {"XGDMatrixCreateFromMat_omp", &library->matrix_new},
        {"XGDMatrixSetFloatInfo", &library->matrix_set},
        {"XGDMatrixFree", &library->matrix_free},
        {"XGBoosterCreate", &library->booster_new},
        {"XGBoosterFree", &library->booster_free},
        {"XGBoosterSetParam", &library->booster_set},
        {"XGBoosterBoostOneIter", &library->boost},
        {"XGBoosterPredict", &library->predict},
        {"XGBoosterSaveModelToBuffer", &library->save},
    };
    ft_error why;
    if (!library_has_room(ROOM_BYTES))
        return ft_fail(error, FT_ERR_NOMEM, "out of memory: libxgboost needs %zu MiB of address space",
                       ROOM_BYTES >> 20);
    ft_status status = library_load(name, functions, sizeof functions / sizeof functions[0], &why);
    if (status == FT_OK) return FT_OK;
    if (status != FT_ERR_UNSUPPORTED) return ft_fail(error, status, "libxgboost: %s", why.message);
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "training of boosted trees needs libxgboost 1.6 or newer: install the Debian package libxgboost0 "
                   "(or libxgboost-dev); prediction does not need it (%s)",
                   why.message);
}

ft_status boost_library_fail(const boost_library *library, const char *action, ft_error *error) {
    const char *text = library->last_error();
    size_t length = strcspn(text, "\n"); /* a stack trace follows */
    if (strstr(text, "bad_alloc") != NULL)
        return ft_fail(error, FT_ERR_NOMEM, "libxgboost: out of memory: %s failed", action);
    return ft_fail(error, FT_ERR_INTERNAL, "libxgboost: %s failed: %.*s", action, (int)length, text);
}

/* --- Trees --------------------------------------------------------------------------------------------------- */

/* A tree as arrays with a number per node. A leaf has left child -1, and its value in place of the threshold. */
typedef struct columns {
    const json_t *left, *right, *feature, *condition, *is_missing_left;
} columns;

static ft_status unknown_format(ft_error *error) {
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "libxgboost: its trees have an unknown format; versions 1.6 and 1.7 are supported (Debian package "
                   "libxgboost0)");
}

static bool find_columns(const json_t *tree, columns *c, size_t *count) {
    *c = (columns){.left = json_object_get(tree, "left_children"),
                   .right = json_object_get(tree, "right_children"),
                   .feature = json_object_get(tree, "split_indices"),
                   .condition = json_object_get(tree, "split_conditions"),
                   .is_missing_left = json_object_get(tree, "default_left")};
    *count = json_array_size(c->left);
    return *count > 0 && json_array_size(c->right) == *count && json_array_size(c->feature) == *count &&
           json_array_size(c->condition) == *count && json_array_size(c->is_missing_left) == *count;
}

static double number_at(const json_t *column, size_t i) {
    const json_t *value = json_array_get(column, i);
    return json_is_boolean(value) ? json_boolean_value(value) : json_number_value(value);
}

/* An invalid index becomes UINT32_MAX, which forest_add rejects. */
static uint32_t index_at(const json_t *column, size_t i) {
    double value = number_at(column, i);
    return value >= 0 && value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static ft_status add_tree(const json_t *tree, forest *f, ft_error *error) {
    columns c;
    size_t count;
    if (!find_columns(tree, &c, &count)) return unknown_format(error);
    tree_node *nodes = calloc(count, sizeof *nodes);
    if (nodes == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < count; i++) {
        nodes[i] = (tree_node){.is_leaf = number_at(c.left, i) < 0,
                               .is_missing_right = number_at(c.is_missing_left, i) == 0,
                               .feature = index_at(c.feature, i),
                               .left = index_at(c.left, i),
                               .right = index_at(c.right, i),
                               .value = (float)number_at(c.condition, i)};
    }
    ft_status status = forest_add(f, nodes, count, error);
    free(nodes);
    return status;
}

static const json_t *find_path(const json_t *value, const char *const *keys) {
    for (; *keys != NULL; keys++) value = json_object_get(value, *keys);
    return value;
}

ft_status boost_export_tree(const char *text, size_t size, forest *f, ft_error *error) {
    static const char *const path[] = {"learner", "gradient_booster", "model", "trees", NULL};
    json_t *root;
    ft_status status = json_parse(text, size, &root, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "the model of libxgboost");
    const json_t *trees = find_path(root, path);
    status = json_array_size(trees) == 1 ? add_tree(json_array_get(trees, 0), f, error) : unknown_format(error);
    json_decref(root);
    return status;
}
