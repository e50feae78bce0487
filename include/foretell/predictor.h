/* predictor.h - predictor files: opening one, and predicting its metrics for a model on a device.
 *
 *     ft_predictor *predictor;
 *     ft_result result;
 *     if (!ft_predictor_open("phone.ftm", &predictor, &error) &&
 *         !ft_predictor_predict(predictor, bound, &(ft_request){.device = "adreno-640"}, &result, &error))
 *         printf("%.0f us\n", result.metrics[0].value);
 *
 * A predictor is read-only once it is opened: any number of threads may share one. docs/formats/predictor.md has the
 * layout of the file. */
#ifndef FORETELL_PREDICTOR_H
#define FORETELL_PREDICTOR_H

#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/graph.h"
#include "foretell/parallel.h"
#include "foretell/serving.h"
#include "foretell/training.h"

FT_C_BEGIN

typedef struct ft_predictor ft_predictor;

/* Provenance: how a value is known.
 *   measured      taken from measurements of this model on this device
 *   learned       predicted for a device, setting and kinds of kernels that the training data covers
 *   extrapolated  predicted beyond the training data: a new device, setting, batch or kind of kernel
 *   assumed       computed from the data sheet or from constants that were never compared with measurements */
typedef enum ft_provenance { FT_MEASURED, FT_LEARNED, FT_EXTRAPOLATED, FT_ASSUMED } ft_provenance;
enum { FT_PROVENANCE_COUNT = 4 };

FT_API const char *ft_provenance_name(ft_provenance provenance); /* "measured", "learned", ... */

/* A request: what to predict for a model. */
typedef struct ft_request {
    const char *device;     /* any of its names */
    const ft_device *sheet; /* the data sheet of a device that is not bundled; NULL: `device` is looked up */
    int64_t batch;          /* 0: as exported; ignored where a bound graph is given, which has its batch */
    ft_mode mode;
    ft_dtype dtype;         /* FT_DTYPE_UNKNOWN: the type of the training; the result has the type that was used */
    ft_optimizer optimizer; /* of training */
    const char *setting;   /* "compile=yes;layout=nhwc", as in ft_record; missing keys have their defaults, unknown keys
                            are ignored */
    ft_parallel parallel;  /* devices that the model is divided between; zeros: one */
    ft_training training;  /* how it is trained; ignored for inference */
    ft_serving serving;    /* how a language model is served; ignored for training */
    double price_per_hour; /* of a device, in any currency; 0: that of its data sheet */
} ft_request;

/* The resource that limits the speed. */
typedef enum ft_bound { FT_BOUND_UNKNOWN, FT_BOUND_COMPUTE, FT_BOUND_MEMORY, FT_BOUND_LAUNCH } ft_bound;

FT_API const char *ft_bound_name(ft_bound bound); /* "unknown", "compute", "memory", "launch" */

/* One part of a metric: a kernel of the time, or "weights" of the memory. The parts add up to the value. */
typedef struct ft_part {
    const char *type;    /* of a kernel: as in ft_kernel */
    const uint32_t *ops; /* operators of the graph; none for a part that belongs to no kernel (start, correction) */
    uint32_t op_count;
    double value;
    ft_bound bound;  /* of a kernel, where the data sheet has peak rate and bandwidth */
    bool is_assumed; /* a constant that was never compared with measurements */
} ft_part;

/* One metric of a result. */
typedef struct ft_metric_result {
    const char *metric; /* "time_us" */
    double value;       /* NaN: not predicted, for the reason in `missing_reason` */
    /* The interval that holds the measured value in 9 of 10 cases. A device that was not measured has the relative
     * width of the measured one with the widest. NaN when no interval was checked for the device. */
    double lo, hi;
    ft_provenance provenance;           /* of the largest share of the value */
    double shares[FT_PROVENANCE_COUNT]; /* of the value, by provenance; they add up to 1 */
    const char *predictor;              /* path of the predictor, "roofline" or "timeline"; NULL: not predicted */
    const ft_part *parts;               /* may be none */
    uint32_t part_count;
    const char *missing_reason; /* NULL when there is a value */
} ft_metric_result;

/* The result of a request. */
typedef struct ft_result {
    ft_request request; /* as it was resolved: every field has a value; `device` is the canonical name */
    const ft_metric_result *metrics;
    uint32_t metric_count;
    double coverage_ratio;    /* share of the time that comes from kernels like those of the training data */
    ft_bound bound;           /* of the largest share of the time */
    double bound_ratio;       /* that share */
    const char *const *notes; /* data that is missing, and what was used in its place */
    uint32_t note_count;
    uint32_t time_note_count; /* the first of them, which are about the time */
    void *owner;              /* NULL for items of ft_results */
} ft_result;

/* A metric by its name, NULL when the result does not have it; and the two that a result of ft_predict always has. */
FT_API const ft_metric_result *ft_result_metric(const ft_result *result, const char *metric);
FT_API const ft_metric_result *ft_result_time(const ft_result *result);   /* "time_us" */
FT_API const ft_metric_result *ft_result_memory(const ft_result *result); /* "peak_bytes" */
FT_API void ft_result_free(ft_result *result);

/* Maps the file. FT_ERR_FORMAT when it is no predictor, FT_ERR_DAMAGED when its content is not what its checksum says,
 * FT_ERR_UNSUPPORTED when it was made by a newer foretell or for other features. */
FT_API ft_status ft_predictor_open(const char *path, ft_predictor **predictor, ft_error *error);
/* The same from memory, which may be given back afterwards; `name` stands for the file in messages. */
FT_API ft_status ft_predictor_open_memory(const void *bytes, size_t size, const char *name, ft_predictor **predictor,
                                          ft_error *error);
FT_API void ft_predictor_free(ft_predictor *predictor);

/* A file may hold several predictors, each of another metric; a model of several metrics counts as one for
 * each. The next one of the file, NULL after the last; and, from this one on, the one that predicts a metric, NULL when
 * none does. They are freed with the first. */
FT_API const ft_predictor *ft_predictor_next(const ft_predictor *predictor);
FT_API const ft_predictor *ft_predictor_find(const ft_predictor *predictor, const char *metric);

/* Writes the predictors of several files into one, which appears whole or not at all. Two of one metric are an error.
 */
FT_API ft_status ft_predictor_bundle(const char *const *paths, uint32_t count, const char *path, ft_error *error);

/* Predicts every metric of the file that was trained for the device and mode. `bound` carries the batch. Without a
 * device, a predictor of one device predicts for that. A device that is not among those of the training data (and whose
 * data sheet the predictor cannot use), or a mode that it was not trained on, is FT_ERR_UNSUPPORTED. The result lives
 * as long as the predictor and the graph; `notes` and bounds are left to ft_predict. */
FT_API ft_status ft_predictor_predict(const ft_predictor *predictor, const ft_graph *bound, const ft_request *request,
                                      ft_result *result, ft_error *error);
/* The same for several graphs, faster than one call each. errors[i].status is the status of bound[i]; returned is the
 * first that is not FT_OK. */
FT_API ft_status ft_predictor_predict_many(const ft_predictor *predictor, const ft_graph *const *bound, uint32_t count,
                                           const ft_request *request, ft_result *results, ft_error *errors);

FT_API const char *ft_predictor_metric(const ft_predictor *predictor); /* "time_us" */
FT_API const char *ft_predictor_family(const ft_predictor *predictor); /* "kernel-sum" */
FT_API const char *ft_predictor_header(const ft_predictor *predictor); /* the file's own description, JSON */
FT_API uint32_t ft_predictor_device_count(const ft_predictor *predictor);
FT_API const char *ft_predictor_device(const ft_predictor *predictor, uint32_t index);
/* Whether it was trained on a device, by any of its names, or can read its data sheet. */
FT_API bool ft_predictor_knows(const ft_predictor *predictor, const char *device);
/* Whether it predicts for any device from its data sheet (ft_request.sheet). */
FT_API bool ft_predictor_reads_sheets(const ft_predictor *predictor);

/* The families of predictors that can be trained. */
FT_API uint32_t ft_family_count(void);
FT_API const char *ft_family_name(uint32_t index);
FT_API const char *ft_family_text(uint32_t index);

/* A setting of a family: what `train --config` takes, what a search tries (tune.h), and what is left out to see what it
 * is good for. */
typedef enum ft_setting_kind { FT_SETTING_REAL, FT_SETTING_INT, FT_SETTING_WORD } ft_setting_kind;

typedef struct ft_setting {
    const char *name;
    const char *text; /* one line for people */
    ft_setting_kind kind;
    double usual;             /* the default; of words: its place in the list */
    double lo, hi;            /* bounds of numbers */
    const char *const *words; /* FT_SETTING_WORD: what can be chosen */
    uint32_t word_count;
    bool is_searched; /* numbers are searched from `from` to `to`, words all */
    bool is_log;      /* and in ratios: twice as much is as far from once as four times from twice */
    double from, to;
    bool is_effort;  /* training takes longer in proportion: a search starts with little of it */
    const char *off; /* the value that leaves it out, as JSON; NULL: it cannot be left out */
} ft_setting;

enum { FT_MAX_SETTINGS = 64 };
/* The settings of a family, as many as there is room for; returns how many it has: FT_MAX_SETTINGS at most. */
FT_API uint32_t ft_family_settings(uint32_t index, ft_setting *settings, uint32_t room);
FT_API const char *ft_setting_kind_name(ft_setting_kind kind); /* "real", "int", "word" */

FT_C_END

#endif
