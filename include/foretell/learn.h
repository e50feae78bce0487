/* learn.h - training predictors on measured data, evaluating and comparing them. */
#ifndef FORETELL_LEARN_H
#define FORETELL_LEARN_H

#include <stdio.h>

#include "foretell/dataset.h"
#include "foretell/inspect.h"
#include "foretell/predictor.h"

FT_C_BEGIN

/* --- Training ------------------------------------------------------------------------------------------------ */

typedef struct ft_train_options {
    const char *family;          /* NULL: the default, the first of ft_family_name() */
    const char *metric;          /* NULL: "time_us"; "time_us,peak_bytes" trains one model that predicts both, for
                                  * families that support several metrics */
    const char *split;           /* NULL: "random" */
    const char *config;          /* settings of the family, a JSON object; NULL: its defaults */
    const char *const *settings; /* "key=value", override `config`; a value is JSON or plain text */
    uint32_t setting_count;
    ft_time_filter filter; /* rejected records are neither learned from nor tested on; records without a time stay */
    uint64_t seed;
    uint32_t threads; /* 0: one per core; the result does not depend on it */
    bool is_resumed;  /* resume an interrupted run from its last checkpoint */
    bool is_forced;   /* replace an existing run when the new one is complete */
    bool is_untested; /* do not evaluate the test part: for runs that settings are selected by */
    /* Complete runs of the same family on the same data, each with another part held out (split "fold:name:5:1" to
     * "fold:name:5:5"): accuracy and intervals are those of their test parts together, instead of the test part and the
     * validation part of this run. 0 or 2 to 64. */
    const char *const *folds;
    uint32_t fold_count;
    ft_progress *progress;
    void *user;
} ft_train_options;

/* The default family and its settings, "time_us", "random", seed 0, no filter, a new run on all cores. */
FT_API ft_train_options ft_train_options_default(void);

typedef struct ft_evaluation ft_evaluation; /* below */

/* Trains on a data set and writes a run folder: config.json, log.jsonl, metrics.json, predictor.ftm, and, while it
 * runs, checkpoint.bin. An interrupted and resumed run yields the same predictor, to the byte. `tested` (may be NULL)
 * gets the evaluation of the test part: no scores when the test part is empty, or when the resumed run was complete
 * already. It is freed with ft_evaluation_free. When the progress callback asks to stop, a checkpoint is on disk before
 * FT_ERR_CANCELLED is returned. docs/training.md */
FT_API ft_status ft_train(const ft_dataset *data, const char *run_folder, const ft_train_options *options,
                          ft_evaluation *tested, ft_error *error);

/* --- Evaluating ---------------------------------------------------------------------------------------------- */

/* The scores of one device over the cases of one model family; "all": over all cases; "mean": the mean of the scores of
 * the families, in which all families weigh the same. Errors, shares and widths are in percent; NaN where a score is
 * undefined. docs/evaluation.md has the formulas. */
typedef struct ft_score {
    const char *device, *family, *metric;
    uint32_t n;
    double mape, rmspe, acc5, acc10, acc20;
    double rmse; /* in the unit of the metric */
    double spearman, kendall;
    double coverage90, width90;
    double bias; /* median of predicted / measured - 1, in percent */
} ft_score;

/* Ranking quality within tasks: names with several graphs, such as the programs that a tuner chooses among. In percent,
 * means over the tasks of a device. */
typedef struct ft_task_score {
    const char *device;
    uint32_t tasks, n;           /* n: number of their records */
    double median;               /* of the relative errors of the records */
    double order;                /* share of pairs predicted in the measured order */
    double order_clear;          /* the same among pairs measured more than 5 % apart */
    double lost1, lost5, lost10; /* how much slower the best of the 1, 5, 10 programs predicted fastest is than
                                  * the fastest of the task */
    double apart5, apart10;      /* the same for 5 and 10 programs whose predictions are apart (ft_task_is_apart) */
} ft_task_score;

/* Whether a program predicted to take `time_us` is worth measuring after a faster one predicted to take `picked_us`.
 * Programs with nearly equal predictions are mostly nearly the same program, with the same error. */
FT_API bool ft_task_is_apart(double picked_us, double time_us);

/* A record and its prediction. */
typedef struct ft_case {
    uint32_t record;
    double measured, predicted, lo, hi;
    const char *name, *family, *device; /* of the record */
} ft_case;

/* Names belong to the data set, which has to outlive the evaluation. */
typedef struct ft_evaluation {
    const char *predictor_family; /* "kernel-sum" */
    const char *metric;
    const char *data_hash;
    const char *split, *split_hash; /* NULL: all records */
    uint64_t seed;
    ft_split_part part;
    const ft_score *scores; /* by device: "all", "mean", then each family by name */
    uint32_t score_count;
    const ft_task_score *tasks; /* by device; none when no name has several graphs */
    uint32_t task_count;
    const ft_case *cases; /* in the order of the records */
    uint32_t case_count;
    uint32_t synthetic;  /* cases with computed, not measured labels */
    uint32_t left_out;   /* requested records without a prediction: device or mode not supported, or not measured */
    uint32_t refused;    /* of these: supported device and mode, but rejected by the predictor */
    const char *refusal; /* the reason of the first rejection; NULL: none */
    uint32_t adapted;    /* requested records of models that the predictor was adapted with: not evaluated */
    const struct ft_evaluation *next; /* of the next metric, freed with the first; NULL: none */
    void *owner;
} ft_evaluation;

typedef struct ft_evaluate_options {
    const char *metric;    /* NULL: all metrics of the predictor's file that the data set has */
    const ft_split *split; /* NULL: all records */
    ft_split_part part;    /* with a split: the part to evaluate */
    const char *const *devices;
    uint32_t device_count; /* 0: all that the predictor supports */
    const char *const *families;
    uint32_t family_count; /* 0: all */
    const char *setting;   /* "key=value;key=value": only records with all of these settings; NULL: any */
    bool has_mode;         /* only records of this mode */
    ft_mode mode;
    ft_time_filter filter;
    uint32_t threads; /* 0: one per core; the result does not depend on it */
    ft_progress *progress;
    void *user;
    bool with_adapted; /* also records of models that the predictor was adapted with; they are left out otherwise */
} ft_evaluate_options;

/* Predicts every record that has the metric and a supported device. It is an error when there is none. Several metrics
 * form a chain of evaluations (`next`); writing an evaluation writes its whole chain. */
FT_API ft_status ft_evaluate(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                             ft_evaluation *evaluation, ft_error *error);
/* The split that the predictor was trained with, if it was trained on this very data set; else *is_found is false. */
FT_API ft_status ft_predictor_split(const ft_predictor *predictor, const ft_dataset *data, ft_split *split,
                                    bool *is_found, ft_error *error);
FT_API void ft_evaluation_free(ft_evaluation *evaluation);

/* Writes the scores, and the `worst` cases of each device (CSV: only scores). `title` names the predictor. */
FT_API ft_status ft_evaluation_write(const ft_evaluation *evaluation, const char *title, uint32_t worst,
                                     const ft_style *style, FILE *stream, ft_error *error);

/* Plots predicted against measured values, a histogram of errors, and error against size, by device. The extension of
 * `path` selects the format: .svg or .png. */
FT_API ft_status ft_evaluation_plot(const ft_evaluation *evaluation, const char *title, const char *path,
                                    ft_error *error);

/* The training models that evaluated models are compared with. */
typedef struct ft_extrapolation_options {
    const ft_dataset *trained;     /* NULL: not available, only the evaluated models are plotted */
    const ft_split *trained_split; /* of `trained`; its training part was used. NULL: all records were */
    uint32_t threads;              /* 0: one per core; the result does not depend on it */
    ft_progress *progress;
    void *user;
} ft_extrapolation_options;

/* Plots how errors grow where models differ from the training models. Writes to a folder, which is created if needed:
 * error against the number of operators (operators.svg, .png) and against the measured value (measured.svg, .png), each
 * with histograms of both; box plots of model and operator features in training and evaluation (features.svg, .png);
 * and the underlying numbers (cases.csv, features.csv). `data` is the evaluated data set. docs/evaluation.md */
FT_API ft_status ft_extrapolation_plot(const ft_predictor *predictor, const ft_dataset *data,
                                       const ft_evaluation *evaluation, const ft_extrapolation_options *options,
                                       const char *title, const char *folder, ft_error *error);

/* --- Comparing ----------------------------------------------------------------------------------------------- */

/* One of the compared predictors, all evaluated on the same data set. */
typedef struct ft_compared_predictor {
    const char *name; /* in documents */
    const ft_evaluation *evaluation;
} ft_compared_predictor;

/* Writes a comparison: by device, and with `has_families` by model family, the scores of each predictor on the records
 * that all predictors supporting the device predicted, the best marked, and the difference of MAPE to the first with a
 * 95 % interval (paired bootstrap, seeded). */
FT_API ft_status ft_compare_write(const ft_compared_predictor *predictors, uint32_t count, bool has_families,
                                  uint64_t seed, const ft_style *style, FILE *stream, ft_error *error);

/* The same from the metrics.json of run folders: nothing is evaluated again, so there are no intervals, and it is not
 * checked whether the runs were tested on the same records. */
FT_API ft_status ft_compare_runs(const char *const *folders, uint32_t count, bool has_families, const ft_style *style,
                                 FILE *stream, ft_error *error);

FT_C_END

#endif
