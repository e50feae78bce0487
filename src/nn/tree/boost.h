/* boost.h - training of gradient-boosted trees through libxgboost.
 *
 * The library is loaded when training begins (libxgboost.so.0, Debian's libxgboost0): neither the command nor
 * prediction needs it. The result is a forest (trees.h).
 *
 * Each round computes gradients of all training rows at their current margins and grows one tree, in a booster of its
 * own; rounds share nothing but margins. So training that resumes from a forest gives the same bytes as uninterrupted
 * training. Gradients are rounded to a grid on which sums of doubles are exact: the trees do not depend on the order in
 * which threads add, hence not on their number. */
#ifndef NN_BOOST_H
#define NN_BOOST_H

#include "nn/tree/trees.h"

/* Rows of features. NaN is missing, infinity is an error. */
typedef struct boost_rows {
    const float *items; /* (count, features) */
    size_t count;
    uint32_t features;
    const float *labels;  /* (count): for squared error; ignored with an objective of the caller */
    const float *weights; /* (count): for squared error; NULL: all 1 */
    const float *offsets; /* (count): added to the margins, but not part of the forest; NULL: all 0 */
} boost_rows;

typedef struct boost_options {
    uint32_t rounds, depth, max_bin;
    uint32_t max_leaves; /* 0: limited by the depth alone; else trees grow best split first */
    double eta, min_child_weight, lambda, gamma;
    double subsample;       /* share of the rows used for a tree */
    double colsample;       /* share of the features used for a tree */
    const int8_t *monotone; /* (features): the margin never falls (1) or never rises (-1) with it; NULL: free */
    uint64_t seed;
    uint32_t threads; /* 0: one per processor; the result does not depend on it */
    /* Initial margin. NaN: the weighted mean of the labels, or 0 with an objective of the caller. */
    float base;
    /* Stop after this many rounds without a better validation score, and keep the best; 0: never. */
    uint32_t patience;
} boost_options;

boost_options boost_options_default(void);

/* Callbacks; each may be NULL. Margins are those of all trees so far, one per row. */
typedef struct boost_hooks {
    void *user;
    /* Objective: first and second derivative of the loss by the margin of each training row. Hessians must not be
     * negative. NULL: squared error on the labels. */
    ft_status (*gradient)(void *user, const float *margins, float *gradients, float *hessians, ft_error *error);
    /* Loss on the validation rows, for `patience`. NULL: root of the mean squared error. */
    double (*score)(void *user, const float *valid_margins);
    /* After each round; `score` is NaN without validation rows. The forest may be saved: boost_train can resume from
     * it. False cancels: FT_ERR_CANCELLED. */
    bool (*progress)(void *user, uint32_t round, double score, const forest *so_far);
} boost_hooks;

/* Trains `rounds` trees (fewer with patience). `valid` may be NULL. `start` is NULL, or the forest of an earlier
 * training with the same data and options, whose trees count as rounds. FT_ERR_UNSUPPORTED when libxgboost is not
 * installed. */
ft_status boost_train(const boost_rows *train, const boost_rows *valid, const boost_options *options,
                      const boost_hooks *hooks, const forest *start, forest **out, ft_error *error);

#endif
