/* learn.h - making predictors from measured data, and finding out how good they are. */
#ifndef FORETELL_LEARN_H
#define FORETELL_LEARN_H

#include <stdio.h>

#include "foretell/dataset.h"
#include "foretell/inspect.h"
#include "foretell/predictor.h"

FT_C_BEGIN

/* --- Training ------------------------------------------------------------------------------------------------ */

typedef struct ft_train_options {
    const char *family; /* NULL: the default, "kernel-sum" */
    const char *metric; /* NULL: "time_us" */
    const char *split;  /* NULL: "random" */
    const char *config; /* JSON text, or NULL: the defaults of the family */
    uint64_t seed;
    uint32_t threads; /* 0: one per core; the result does not depend on it */
    bool is_resumed;  /* go on with a run that was stopped, from its last checkpoint */
    ft_progress *progress;
    void *user;
} ft_train_options;

FT_API ft_train_options ft_train_options_default(void);

/* Trains on a data set and fills a run folder: config.json, log.jsonl, metrics.json, predictor.ftm, and, while it runs,
 * checkpoint.bin. A run that was stopped and resumed ends in the same predictor, to the byte. docs/training.md */
FT_API ft_status ft_train(const ft_dataset *data, const char *run_folder, const ft_train_options *options,
                          ft_error *error);

/* --- Evaluating ---------------------------------------------------------------------------------------------- */

/* Errors of one device and family ("" = all of them). Ratios are in percent. */
typedef struct ft_score {
    const char *device, *family, *metric;
    uint32_t n;
    double mape, rmspe, acc5, acc10, rmse, spearman, kendall, coverage90, width90;
    double bias; /* median of predicted / measured - 1, in percent */
} ft_score;

/* One record with what was predicted for it. */
typedef struct ft_case {
    uint32_t record;
    double measured, predicted, lo, hi;
} ft_case;

typedef struct ft_evaluation {
    const ft_score *scores; /* by device: all families first, then each; NaN where a score has no meaning */
    uint32_t score_count;
    const ft_case *cases; /* in the order of the records */
    uint32_t case_count;
    void *owner;
} ft_evaluation;

typedef struct ft_evaluate_options {
    const char *metric;    /* NULL: the predictor's */
    const ft_split *split; /* NULL: all records */
    ft_part part;          /* with a split: the part to look at */
    uint32_t threads;
    ft_progress *progress;
    void *user;
} ft_evaluate_options;

/* Predicts every record whose device the predictor knows and that has the metric. None at all is an error. */
FT_API ft_status ft_evaluate(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                             ft_evaluation *evaluation, ft_error *error);
FT_API void ft_evaluation_free(ft_evaluation *evaluation);

/* The evaluation as a document: scores, and the `worst` cases of each device. */
FT_API ft_status ft_evaluation_write(const ft_evaluation *evaluation, const ft_dataset *data, const char *title,
                                     uint32_t worst, const ft_style *style, FILE *stream, ft_error *error);

/* Predicted against measured, histogram of errors, error against size, by device. The end of the name says the format:
 * .svg or .png. */
FT_API ft_status ft_evaluation_plot(const ft_evaluation *evaluation, const ft_dataset *data, const char *title,
                                    const char *path, ft_error *error);

FT_C_END

#endif
