/* result.h - from a fitted model to the files of a run: intervals, scores, predictor.ftm and metrics.json.
 *
 * Everything is measured on the predictor as it is opened from its own bytes, so that what is reported is what users
 * will have. */
#ifndef LEARN_RESULT_H
#define LEARN_RESULT_H

#include "base/buf.h"
#include "foretell/learn.h"
#include "learn/train/fitset.h"
#include "learn/train/keeper.h"

typedef struct result_facts {
    const family *family;
    const void *model;
    const fitset *rows;
    const ft_split *split;
    uint64_t seed;
    uint32_t threads;
    bool is_untested; /* the test part is not looked at */
    keeper *keeper;   /* for progress */
} result_facts;

typedef struct result {
    buf predictor;        /* the bytes of predictor.ftm */
    buf metrics;          /* the text of metrics.json */
    ft_evaluation tested; /* no scores when nothing is to be tested */
} result;

ft_status result_make(const result_facts *facts, result *out, ft_error *error);
void result_free(result *r);

#endif
