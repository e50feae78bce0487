/* train_output.h - the output files of a run, made from a fitted model: predictor.ftm and metrics.json.
 *
 * Calibrates intervals and computes scores. Both use the predictor as opened from its own bytes, so that the reported
 * scores are those of the file that users open. */
#ifndef LEARN_TRAIN_OUTPUT_H
#define LEARN_TRAIN_OUTPUT_H

#include "base/buf.h"
#include "foretell/learn.h"
#include "learn/train/fit_session.h"
#include "learn/train/fitset.h"
#include "learn/train/fold_scores.h"

typedef struct train_output_inputs {
    const family *family;
    const void *model;
    const fitset *rows;
    const ft_split *split;
    uint64_t seed;
    uint32_t threads;
    bool is_untested;         /* the test part is not evaluated */
    const fold_scores *folds; /* accuracy and intervals; NULL: those of the split */
    fit_session *session;     /* for progress */
} train_output_inputs;

typedef struct train_output {
    buf predictor;        /* the bytes of predictor.ftm */
    buf metrics;          /* the text of metrics.json */
    ft_evaluation tested; /* of the test part; no scores when it is empty or not evaluated */
} train_output;

ft_status train_output_make(const train_output_inputs *inputs, train_output *out, ft_error *error);
void train_output_free(train_output *out);

#endif
