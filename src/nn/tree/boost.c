/* boost.c - the rounds of boosting (see boost.h). */
#include "nn/tree/boost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "nn/tree/boost_internal.h"
#include "nn/tree/forest.h"

enum { CHECKED_ROWS = 64 }; /* on which each new tree is compared with libxgboost's prediction */

typedef struct training {
    boost_library library;
    const boost_rows *train, *valid;
    const boost_options *options;
    const boost_hooks *hooks;
    DMatrixHandle matrix;
    buf monotone;   /* "(1,0,-1)" */
    float *margins; /* (training rows), as the next two */
    float *gradients;
    float *hessians;
    float *valid_margins; /* (validation rows) */
    forest *trees;
    double best_score;
    uint32_t best_trees; /* number of trees with the best score */
} training;

boost_options boost_options_default(void) {
    return (boost_options){.rounds = 300,
                           .depth = 6,
                           .max_bin = 256,
                           .eta = 0.1,
                           .min_child_weight = 1,
                           .lambda = 1,
                           .subsample = 1,
                           .colsample = 1,
                           .base = NAN};
}

/* --- Preparation --------------------------------------------------------------------------------------------- */

static float first_base(const training *t) {
    if (!isnan(t->options->base)) return t->options->base;
    return t->hooks->gradient == NULL ? (float)boost_mean_label(t->train) : 0.0F;
}

static ft_status prepare_margins(const boost_rows *rows, float base, float **margins, ft_error *error) {
    *margins = malloc(rows->count * sizeof **margins);
    if (*margins == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < rows->count; i++) (*margins)[i] = rows->offsets != NULL ? base + rows->offsets[i] : base;
    return FT_OK;
}

static ft_status prepare_monotone(training *t, ft_error *error) {
    const int8_t *signs = t->options->monotone;
    if (signs == NULL) return FT_OK;
    for (uint32_t i = 0; i < t->train->features; i++) buf_format(&t->monotone, "%c%d", i == 0 ? '(' : ',', signs[i]);
    buf_char(&t->monotone, ')');
    return t->monotone.failed ? FT_NOMEM(error) : FT_OK;
}

static ft_status prepare_matrix(training *t, ft_error *error) {
    FT_TRY(boost_library_open(BOOST_LIBRARY_NAME, &t->library, error));
    t->library.configure("{\"verbosity\": 0}");
    if (t->library.matrix_new(t->train->items, t->train->count, t->train->features, NAN, &t->matrix,
                              (int)t->options->threads) != 0)
        return boost_library_fail(&t->library, "copying the rows", error);
    return FT_OK;
}

static ft_status prepare(training *t, float base, ft_error *error) {
    FT_TRY(prepare_monotone(t, error));
    FT_TRY(forest_new(t->train->features, base, &t->trees, error));
    FT_TRY(prepare_margins(t->train, base, &t->margins, error));
    if (t->valid != NULL) FT_TRY(prepare_margins(t->valid, base, &t->valid_margins, error));
    t->gradients = malloc(t->train->count * sizeof *t->gradients);
    t->hessians = malloc(t->train->count * sizeof *t->hessians);
    if (t->gradients == NULL || t->hessians == NULL) return FT_NOMEM(error);
    return prepare_matrix(t, error);
}

/* --- A round ------------------------------------------------------------------------------------------------- */

static ft_status set_word(const training *t, BoosterHandle booster, const char *name, const char *value,
                          ft_error *error) {
    if (t->library.booster_set(booster, name, value) == 0) return FT_OK;
    return boost_library_fail(&t->library, name, error);
}

static ft_status set_number(const training *t, BoosterHandle booster, const char *name, double value, ft_error *error) {
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    return set_word(t, booster, name, text, error);
}

/* A different choice of features in each round; libxgboost uses 31 bits. */
static double seed_of_round(const training *t) {
    uint64_t mixed = (t->options->seed + forest_trees(t->trees)) * UINT64_C(0x9e3779b97f4a7c15);
    return (double)(mixed >> 33);
}

static ft_status set_parameters(const training *t, BoosterHandle booster, ft_error *error) {
    const boost_options *o = t->options;
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"nthread", o->threads},       {"max_depth", o->depth}, {"max_bin", o->max_bin},
                   {"max_leaves", o->max_leaves}, {"eta", o->eta},         {"min_child_weight", o->min_child_weight},
                   {"lambda", o->lambda},         {"gamma", o->gamma},     {"colsample_bytree", o->colsample},
                   {"seed", seed_of_round(t)},    {"base_score", 0},       {"verbosity", 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        FT_TRY(set_number(t, booster, numbers[i].name, numbers[i].value, error));
    FT_TRY(set_word(t, booster, "tree_method", "hist", error));
    FT_TRY(set_word(t, booster, "grow_policy", o->max_leaves > 0 ? "lossguide" : "depthwise", error));
    if (o->monotone == NULL) return FT_OK;
    return set_word(t, booster, "monotone_constraints", t->monotone.data, error);
}

static ft_status find_gradients(training *t, ft_error *error) {
    size_t count = t->train->count;
    const boost_options *o = t->options;
    if (t->hooks->gradient != NULL)
        FT_TRY(t->hooks->gradient(t->hooks->user, t->margins, t->gradients, t->hessians, error));
    else
        boost_squared_error(t->train, t->margins, t->gradients, t->hessians);
    FT_TRY(boost_check_gradients(t->gradients, t->hessians, count, error));
    boost_sample(o->subsample, o->seed, forest_trees(t->trees), t->gradients, t->hessians, count);
    boost_round_to_grid(t->gradients, count);
    boost_round_to_grid(t->hessians, count);
    return FT_OK;
}

/* Margins with the new tree, from libxgboost, which still has the leaf of each training row. */
static ft_status update_margins(training *t, BoosterHandle booster, ft_error *error) {
    uint32_t last = forest_trees(t->trees) - 1;
    size_t count = t->train->count, checked = count < CHECKED_ROWS ? count : CHECKED_ROWS;
    float expected[CHECKED_ROWS];
    memcpy(expected, t->margins, checked * sizeof expected[0]);
    forest_add_margins(t->trees, last, t->train->items, t->train->features, checked, expected);
    bst_ulong length;
    const float *margins;
    if (t->library.predict(booster, t->matrix, 1, 0, 0, &length, &margins) != 0 || length != count)
        return boost_library_fail(&t->library, "predicting", error);
    if (memcmp(expected, margins, checked * sizeof expected[0]) != 0)
        return ft_fail(error, FT_ERR_INTERNAL, "boosting: tree %u predicts other values than libxgboost", last);
    memcpy(t->margins, margins, count * sizeof *margins);
    return FT_OK;
}

static ft_status grow_tree(training *t, BoosterHandle booster, ft_error *error) {
    const boost_library *l = &t->library;
    bst_ulong length, size;
    const float *margins;
    const char *json;
    FT_TRY(set_parameters(t, booster, error));
    /* Makes libxgboost keep predictions, which growing a tree then updates. */
    if (l->predict(booster, t->matrix, 1, 0, 0, &length, &margins) != 0)
        return boost_library_fail(l, "beginning", error);
    if (l->boost(booster, t->matrix, t->gradients, t->hessians, t->train->count) != 0)
        return boost_library_fail(l, "growing a tree", error);
    if (l->save(booster, "{\"format\": \"json\"}", &size, &json) != 0)
        return boost_library_fail(l, "exporting a tree", error);
    FT_TRY(boost_export_tree(json, size, t->trees, error));
    return update_margins(t, booster, error);
}

static ft_status run_round(training *t, ft_error *error) {
    const boost_library *l = &t->library;
    BoosterHandle booster;
    FT_TRY(find_gradients(t, error));
    if (l->matrix_set(t->matrix, "base_margin", t->margins, t->train->count) != 0)
        return boost_library_fail(l, "setting margins", error);
    if (l->booster_new(&t->matrix, 1, &booster) != 0) return boost_library_fail(l, "creating a booster", error);
    ft_status status = grow_tree(t, booster, error);
    l->booster_free(booster);
    return status;
}

/* Adds the last tree to the validation margins; returns the score and tracks the best. */
static double validate(training *t) {
    if (t->valid == NULL) return NAN;
    uint32_t trees = forest_trees(t->trees);
    forest_add_margins(t->trees, trees - 1, t->valid->items, t->valid->features, t->valid->count, t->valid_margins);
    if (!boost_has_score(t->valid, t->hooks)) return NAN;
    double score = t->hooks->score != NULL ? t->hooks->score(t->hooks->user, t->valid_margins)
                                           : boost_rmse(t->valid, t->valid_margins);
    if (t->best_trees == 0 || score < t->best_score || isnan(t->best_score)) {
        t->best_score = score;
        t->best_trees = trees;
    }
    return score;
}

static bool is_done(const training *t) {
    uint32_t trees = forest_trees(t->trees);
    return trees >= t->options->rounds || (t->options->patience > 0 && trees - t->best_trees >= t->options->patience);
}

static ft_status run(training *t, ft_error *error) {
    while (!is_done(t)) {
        FT_TRY(run_round(t, error));
        double score = validate(t);
        if (t->hooks->progress != NULL &&
            !t->hooks->progress(t->hooks->user, forest_trees(t->trees) - 1, score, t->trees))
            return ft_fail(error, FT_ERR_CANCELLED, "boosting was cancelled after %u trees", forest_trees(t->trees));
    }
    if (t->options->patience > 0) forest_truncate(t->trees, t->best_trees);
    return FT_OK;
}

/* Adds the trees of an earlier training as if they had just been grown. */
static ft_status replay(training *t, const forest *start, ft_error *error) {
    for (uint32_t i = 0; i < forest_trees(start) && i < t->options->rounds; i++) {
        FT_TRY(forest_copy_tree(t->trees, start, i, error));
        validate(t);
    }
    forest_add_margins(t->trees, 0, t->train->items, t->train->features, t->train->count, t->margins);
    return FT_OK;
}

static ft_status train_trees(training *t, const forest *start, ft_error *error) {
    FT_TRY(prepare(t, start != NULL ? forest_base(start) : first_base(t), error));
    if (start != NULL) FT_TRY(replay(t, start, error));
    return run(t, error);
}

static void end(training *t) {
    if (t->matrix != NULL) t->library.matrix_free(t->matrix);
    buf_free(&t->monotone);
    free(t->margins);
    free(t->gradients);
    free(t->hessians);
    free(t->valid_margins);
}

ft_status boost_train(const boost_rows *train, const boost_rows *valid, const boost_options *options,
                      const boost_hooks *hooks, const forest *start, forest **out, ft_error *error) {
    static const boost_hooks none = {.user = NULL};
    training t = {.train = train, .valid = valid, .options = options, .hooks = hooks != NULL ? hooks : &none};
    FT_TRY(boost_check(train, valid, options, t.hooks, start, error));
    ft_status status = train_trees(&t, start, error);
    end(&t);
    if (status == FT_OK)
        *out = t.trees;
    else
        forest_free(t.trees);
    return status;
}
