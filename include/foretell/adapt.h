/* adapt.h - from a predictor and a few measurements to one for a new device or a new family of models, and which models
 * to measure for it.
 *
 *     ft_sample_make(predictor, pool, &(ft_sample_options){.count = 50}, &sample, &error);
 *     ft_sample_write(&sample, &style, list, &error);
 *     ... measure the models of the list on the new device, import what was measured ...
 *     ft_adapt(predictor, data, &(ft_adapt_options){.models = "list.csv"}, "adapted.ftm", &adaptation, &error);
 *
 * docs/adapting.md tells how it works and what it is worth. */
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
    const char *metric; /* NULL: the first that the predictor tells */
    const char *method; /* "scale", "refit", "tune-last", "tune-all"; NULL or "auto": keep, scale or refit, by
                           cross-validation */
    const char
        *discrepancy;   /* of tuning: "cmd" (NULL), "mmd" or "none": what holds old devices and new ones together */
    uint32_t steps;     /* of tuning; 0: as many as the family usually takes */
    const char *models; /* a list of the models to learn from (ft_sample_write); NULL: `budget` models by the seed */
    uint32_t budget;    /* models to learn from; with a list, its first; 0 with a list: all of it */
    const char *split;  /* NULL: the one that the predictor was trained with on this data set, if it was; else none */
    const char *const *devices; /* to adapt to; none: those that the predictor does not know, else all */
    uint32_t device_count;
    const char *const *families; /* of models; none: all */
    uint32_t family_count;
    uint64_t seed;
    uint32_t threads; /* 0: one per core; the result does not depend on it */
    ft_progress *progress;
    void *user;
} ft_adapt_options;

/* What was done for one device. Errors are in percent. */
typedef struct ft_adapted_device {
    const char *device;
    const char *base;   /* the known device that a new one is predicted from; NULL: itself, or its data sheet */
    const char *method; /* "scale", "refit" (from what the base says), "reprice" (from new prices of terms), "keep" (the
                         * device is known, and stays as it was), "tune-last", "tune-all" */
    bool is_new;        /* to the predictor */
    uint32_t models;    /* that were learned from */
    uint32_t records;   /* of theirs */
    double scale;       /* the median of measured / predicted before */
    double cv_keep;     /* mean absolute error over them of the predictor as it was; NaN: the device was not known */
    double cv_scale, cv; /* the same in cross-validation: of scale alone, and of what was chosen */
    double q90; /* of the intervals, from the errors of cross-validation; of a device that is kept, as it was */
} ft_adapted_device;

/* Names are those of the data set and of the predictor, which have to outlive it. */
typedef struct ft_adaptation {
    const ft_adapted_device *devices;
    uint32_t device_count;
    uint32_t model_count;     /* learned from, on any device */
    const char *const *notes; /* what a user should know: texts of one line */
    uint32_t note_count;
    ft_evaluation before, after; /* on the models that were held out; before: no cases for what is unknown to it */
    void *owner;
} ft_adaptation;

/* Writes an ordinary predictor file, whose header tells what it was adapted from and to. Records of models that were
 * learned from are never in the errors that are told. With a split that leaves records unused (device:NAME), models to
 * learn from are among those, and its whole test part is held out; with others they are taken out of the test part. Too
 * few measurements, names that clash and runtimes that are not there are errors. */
FT_API ft_status ft_adapt(const ft_predictor *from, const ft_dataset *data, const ft_adapt_options *options,
                          const char *path, ft_adaptation *adaptation, ft_error *error);
FT_API void ft_adaptation_free(ft_adaptation *adaptation);
FT_API ft_status ft_adaptation_write(const ft_adaptation *adaptation, const char *title, const ft_style *style,
                                     FILE *stream, ft_error *error);

/* --- Choosing what to measure -------------------------------------------------------------------------------- */

typedef struct ft_sample_options {
    uint32_t count;     /* models to choose */
    const char *method; /* NULL: "variance"; ft_sample_method_name() lists them */
    const char *split;  /* as in ft_adapt_options: models that it leaves to training and validation are not chosen */
    const char *const *devices; /* to look at; none: all that the predictor knows */
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
    uint32_t record;   /* its first in the pool */
    double weight;     /* share of the pool that it stands for; the weights add up to 1 */
    char reason[96];
} ft_sampled;

typedef struct ft_sample {
    const char *method;
    const ft_sampled *items; /* the most telling first */
    uint32_t count;
    uint32_t pool_count;       /* models to choose from */
    double discrepancy;        /* central moment discrepancy of what was chosen to the pool */
    double random_discrepancy; /* the same of as many at random, on average */
    void *owner;
} ft_sample;

/* Chooses among the models of a data set; nothing of them needs to be measured. */
FT_API ft_status ft_sample_make(const ft_predictor *predictor, const ft_dataset *pool, const ft_sample_options *options,
                                ft_sample *sample, ft_error *error);
FT_API void ft_sample_free(ft_sample *sample);
/* As a list that `adapt` and `import table` read (CSV), as JSON, or as a table. */
FT_API ft_status ft_sample_write(const ft_sample *sample, const ft_style *style, FILE *stream, ft_error *error);
FT_API uint32_t ft_sample_method_count(void);
FT_API const char *ft_sample_method_name(uint32_t index);
FT_API const char *ft_sample_method_text(uint32_t index);

FT_C_END

#endif
