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
    const char *family;          /* NULL: the default, which is the first of ft_family_name() */
    const char *metric;          /* NULL: "time_us"; several are "time_us,peak_bytes": one model that tells them all, of
                                  * families that can learn so */
    const char *split;           /* NULL: "random" */
    const char *config;          /* settings of the family, a JSON object; NULL: its defaults */
    const char *const *settings; /* single ones, "key=value", which win over `config`; a value is JSON or plain text */
    uint32_t setting_count;
    ft_time_filter filter; /* neither learned from nor tested on; records without a time stay */
    uint64_t seed;
    uint32_t threads; /* 0: one per core; the result does not depend on it */
    bool is_resumed;  /* go on with a run that was stopped, from its last checkpoint */
    bool is_forced;   /* a run that is there already is replaced, when the new one is complete */
    bool is_untested; /* the test part is left alone: for runs that something is chosen by */
    ft_progress *progress;
    void *user;
} ft_train_options;

/* The default family and its settings, "time_us", "random", seed 0, nothing filtered, a new run on all cores. */
FT_API ft_train_options ft_train_options_default(void);

typedef struct ft_evaluation ft_evaluation; /* below */

/* Trains on a data set and fills a run folder: config.json, log.jsonl, metrics.json, predictor.ftm, and, while it runs,
 * checkpoint.bin. A run that was stopped and resumed ends in the same predictor, to the byte. `tested` (may be NULL)
 * gets the scores of the test part: none when the split tests nothing, or when the run that is resumed was complete
 * already. It is freed with ft_evaluation_free. When the progress call asks to stop, the state so far is on the disk
 * when FT_ERR_CANCELLED is returned. docs/training.md */
FT_API ft_status ft_train(const ft_dataset *data, const char *run_folder, const ft_train_options *options,
                          ft_evaluation *tested, ft_error *error);

/* --- Evaluating ---------------------------------------------------------------------------------------------- */

/* The errors of one device over the cases of one family; "all": over all cases; "mean": the mean of the scores of the
 * families, which does not let the largest of them decide. Errors, shares and widths are in percent; NaN where a score
 * has no meaning. docs/evaluation.md has the formulas. */
typedef struct ft_score {
    const char *device, *family, *metric;
    uint32_t n;
    double mape, rmspe, acc5, acc10, acc20;
    double rmse; /* in the unit of the metric */
    double spearman, kendall;
    double coverage90, width90;
    double bias; /* median of predicted / measured - 1, in percent */
} ft_score;

/* How well a predictor orders what stands under one name: the programs of a task that a tuner chooses among. In
 * percent, means over the tasks of a device with at least two records of different graphs. */
typedef struct ft_task_score {
    const char *device;
    uint32_t tasks, n;           /* n: their records */
    double median;               /* of the relative errors of these records */
    double order;                /* share of pairs that are predicted in the order in which they were measured */
    double order_clear;          /* the same of pairs that were measured more than 5 % apart */
    double lost1, lost5, lost10; /* how much slower than the best of the task the best of the 1, 5, 10 is that are
                                  * predicted to be fastest */
    double apart5, apart10;      /* the same for 5 and 10 of which none is told nearly the time of one before it */
} ft_task_score;

/* Whether a program told `time_us` is worth a run after a faster one told `picked_us`: those that are told nearly the
 * same time are mostly nearly the same program, and if one is slower than told, so is the other. */
bool ft_task_is_apart(double picked_us, double time_us);

/* One record with what was predicted for it. */
typedef struct ft_case {
    uint32_t record;
    double measured, predicted, lo, hi;
    const char *name, *family, *device; /* those of the record */
} ft_case;

/* Names are those of the data set, which has to outlive the evaluation. */
typedef struct ft_evaluation {
    const char *predictor_family; /* "kernel-sum" */
    const char *metric;
    const char *data_hash;
    const char *split, *split_hash; /* NULL: all records */
    uint64_t seed;
    ft_split_part part;
    const ft_score *scores; /* by device: "all", "mean", then each family by name */
    uint32_t score_count;
    const ft_task_score *tasks; /* by device; none when all names are of single graphs */
    uint32_t task_count;
    const ft_case *cases; /* in the order of the records */
    uint32_t case_count;
    uint32_t synthetic;  /* cases whose labels were computed, not measured */
    uint32_t left_out;   /* records that were asked for and not predicted: another device, or not measured */
    uint32_t refused;    /* of these: those that the predictor could not tell, as nothing like them was measured */
    const char *refusal; /* what it said of the first; NULL: none was refused */
    const struct ft_evaluation *next; /* of the next metric, freed with the first; NULL: there is none */
    void *owner;
} ft_evaluation;

typedef struct ft_evaluate_options {
    const char *metric;    /* NULL: all that the predictor and those after it in its file tell and the data set has */
    const ft_split *split; /* NULL: all records */
    ft_split_part part;    /* with a split: the part to look at */
    const char *const *devices;
    uint32_t device_count; /* 0: all that the predictor knows */
    const char *const *families;
    uint32_t family_count; /* 0: all */
    const char *setting;   /* "key=value;key=value": only records whose settings have all of these; NULL: any */
    bool has_mode;         /* only records of this mode */
    ft_mode mode;
    ft_time_filter filter;
    uint32_t threads; /* 0: one per core; the result does not depend on it */
    ft_progress *progress;
    void *user;
} ft_evaluate_options;

/* Predicts every record whose device the predictor knows and that has the metric. None at all is an error. Several
 * metrics are a chain of evaluations; whoever writes an evaluation writes all of its chain. */
FT_API ft_status ft_evaluate(const ft_predictor *predictor, const ft_dataset *data, const ft_evaluate_options *options,
                             ft_evaluation *evaluation, ft_error *error);
/* The split that the predictor was trained with, when it was trained on this very data set; else *is_found is false. */
FT_API ft_status ft_predictor_split(const ft_predictor *predictor, const ft_dataset *data, ft_split *split,
                                    bool *is_found, ft_error *error);
FT_API void ft_evaluation_free(ft_evaluation *evaluation);

/* The evaluation as a document: scores, and the `worst` cases of each device (CSV: scores alone). `title` names the
 * predictor. */
FT_API ft_status ft_evaluation_write(const ft_evaluation *evaluation, const char *title, uint32_t worst,
                                     const ft_style *style, FILE *stream, ft_error *error);

/* Predicted against measured, histogram of errors, error against size, by device. The end of the name says the format:
 * .svg or .png. */
FT_API ft_status ft_evaluation_plot(const ft_evaluation *evaluation, const char *title, const char *path,
                                    ft_error *error);

/* What an extrapolation is seen against: the models that the predictor was trained on. */
typedef struct ft_extrapolation_options {
    const ft_dataset *trained;     /* NULL: not at hand, then only what was evaluated is drawn */
    const ft_split *trained_split; /* of it; its training part is what the predictor knows. NULL: all records */
    uint32_t threads;              /* 0: one per core; the result does not depend on it */
    ft_progress *progress;
    void *user;
} ft_extrapolation_options;

/* How errors grow where models leave what the predictor was trained on. Fills a folder, which is made when it is not
 * there: error against the number of operators (operators.svg, .png) and against the measured value (measured.svg,
 * .png), each with histograms of both; boxes of what models and operators are like, those of training beside those that
 * were evaluated (features.svg, .png); and the numbers behind them (cases.csv, features.csv). `data` is what was
 * evaluated. docs/evaluation.md */
FT_API ft_status ft_extrapolation_plot(const ft_predictor *predictor, const ft_dataset *data,
                                       const ft_evaluation *evaluation, const ft_extrapolation_options *options,
                                       const char *title, const char *folder, ft_error *error);

/* --- Comparing ----------------------------------------------------------------------------------------------- */

/* One of several predictors, evaluated on the same data set. */
typedef struct ft_compared_predictor {
    const char *name; /* what documents call it */
    const ft_evaluation *evaluation;
} ft_compared_predictor;

/* Predictors side by side: by device, and by family when asked for, the scores of each on the records that all of them
 * that know the device predicted, the best marked, and the difference of MAPE to the first with a 95 % interval (paired
 * bootstrap, seeded). */
FT_API ft_status ft_compare_write(const ft_compared_predictor *predictors, uint32_t count, bool has_families, uint64_t seed,
                                  const ft_style *style, FILE *stream, ft_error *error);

/* The same from what run folders say of themselves (metrics.json): nothing is evaluated again, so there are no
 * intervals, and whoever reads it has to know whether the runs were tested on the same records. */
FT_API ft_status ft_compare_runs(const char *const *folders, uint32_t count, bool has_families, const ft_style *style,
                                 FILE *stream, ft_error *error);

FT_C_END

#endif
