/* adapt.h - adapting a predictor to a new device or model family with a few measurements, and choosing the models to
 * measure.
 *
 *     ft_sample_make(predictor, pool, &(ft_sample_options){.count = 50}, &sample, &error);
 *     ft_sample_write(&sample, &style, list, &error);
 *     ... measure the models of the list on the new device and import the measurements ...
 *     ft_adapt(predictor, data, &(ft_adapt_options){.models = "list.csv"}, "adapted.ftm", &adaptation, &error);
 *
 * docs/adapting.md describes the methods. */
#ifndef FORETELL_ADAPT_H
#define FORETELL_ADAPT_H

#include <stdio.h>

#include "foretell/dataset.h"
#include "foretell/inspect.h"
#include "foretell/learn.h"
#include "foretell/predictor.h"

FT_C_BEGIN

/* --- Adapting ------------------------------------------------------------------------------------------------ */

typedef struct ft_adapt_options {
    const char *metric;      /* NULL: the first of the predictor */
    const char *method;      /* "scale", "refit", "tune-last", "tune-all"; NULL or "auto": keep, scale or refit, by
                                cross-validation */
    const char *discrepancy; /* of tuning: "cmd" (NULL), "mmd" or "none": the penalty on the distance between old and
                                new devices */
    uint32_t steps;          /* of tuning; 0: the default of the family */
    const char *models; /* path of a list of models to learn from (ft_sample_write); NULL: `budget` random models */
    uint32_t budget;    /* number of models to learn from; with a list, its first ones, or all for 0 */
    const char *split;  /* NULL: the split of the predictor's training if that was on this data set; else none */
    const char *const *devices; /* to adapt to; none: those that are new to the predictor, or else all */
    uint32_t device_count;
    const char *const *families; /* of models; none: all */
    uint32_t family_count;
    uint64_t seed;
    uint32_t threads; /* 0: one per core; the result does not depend on it */
    ft_progress *progress;
    void *user;
} ft_adapt_options;

/* The adaptation of one device. Errors are in percent. */
typedef struct ft_adapted_device {
    const char *device;
    const char *base;    /* the known device that a new one is predicted from; NULL: itself, or its data sheet */
    const char *method;  /* "scale", "refit" (starting from the base), "reprice" (starting from refitted unit costs of
                          * the  terms), "keep" (a known device keeps its predictor), "tune-last", "tune-all"; or a
                          * baseline, which the work of models alone is fitted to: "flops", "operators", "flops+bytes",
                          * "flops+bytes+operators" */
    bool is_new;         /* to the predictor */
    uint32_t models;     /* learned from */
    uint32_t records;    /* of these models */
    double scale;        /* median of measured / predicted before adapting */
    double cv_keep;      /* mean absolute error of the unadapted predictor on the records; NaN: the device is new */
    double cv_scale, cv; /* mean absolute error in cross-validation: of scale, and of the chosen method */
    double cv_work;      /* the same of the best baseline; NaN: none was tried */
    double q90;          /* interval quantile from cross-validation errors; unchanged for a kept device */
} ft_adapted_device;

/* Names belong to the data set and the predictor, which have to outlive it. */
typedef struct ft_adaptation {
    const ft_adapted_device *devices;
    uint32_t device_count;
    uint32_t model_count;     /* models learned from, on any device */
    const char *const *notes; /* remarks for the user, one line each */
    uint32_t note_count;
    ft_evaluation before, after; /* on held-out models; before: no cases for devices that are new */
    void *owner;
} ft_adaptation;

/* Writes an ordinary predictor file, whose header describes the adaptation. Models that were learned from are never
 * part of the reported errors. With a split that leaves records unused (device:NAME), the models to learn from are
 * among these, and the whole test part is held out; with others they are taken from the test part. Too few
 * measurements, clashing device names and unknown runtimes are errors. */
FT_API ft_status ft_adapt(const ft_predictor *from, const ft_dataset *data, const ft_adapt_options *options,
                          const char *path, ft_adaptation *adaptation, ft_error *error);
FT_API void ft_adaptation_free(ft_adaptation *adaptation);
FT_API ft_status ft_adaptation_write(const ft_adaptation *adaptation, const char *title, const ft_style *style,
                                     FILE *stream, ft_error *error);

/* --- Choosing models to measure ------------------------------------------------------------------------------ */

typedef struct ft_sample_options {
    uint32_t count;             /* number of models to choose */
    const char *method;         /* NULL: "variance"; ft_sample_method_name() lists them */
    const char *split;          /* as in ft_adapt_options: models of its training and validation parts are not chosen */
    const char *const *devices; /* to predict for; none: all that the predictor supports */
    uint32_t device_count;
    const char *const *families; /* to choose from; none: all */
    uint32_t family_count;
    uint64_t seed;
    uint32_t threads;
    ft_progress *progress;
    void *user;
} ft_sample_options;

typedef struct ft_sampled {
    const char *name, *family;
    const char *graph; /* its id */
    uint32_t record;   /* its first record in the pool */
    double weight;     /* share of the pool that it represents; the weights add up to 1 */
    char reason[96];
} ft_sampled;

typedef struct ft_sample {
    const char *method;
    const ft_sampled *items; /* the most informative first */
    uint32_t count;
    uint32_t pool_count;       /* number of models in the pool */
    double discrepancy;        /* central moment discrepancy between sample and pool */
    double random_discrepancy; /* the same for random samples of that size, on average */
    void *owner;
} ft_sample;

/* Chooses models of a data set; they need not be measured. */
FT_API ft_status ft_sample_make(const ft_predictor *predictor, const ft_dataset *pool, const ft_sample_options *options,
                                ft_sample *sample, ft_error *error);
FT_API void ft_sample_free(ft_sample *sample);
/* Writes a list that `adapt` and `import table` read (CSV), JSON, or a table. */
FT_API ft_status ft_sample_write(const ft_sample *sample, const ft_style *style, FILE *stream, ft_error *error);
FT_API uint32_t ft_sample_method_count(void);
FT_API const char *ft_sample_method_name(uint32_t index);
FT_API const char *ft_sample_method_text(uint32_t index);

FT_C_END

#endif
