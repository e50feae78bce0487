/* predictor.h - what a model will take on a device, from a predictor file.
 *
 *     ft_predictor *predictor;
 *     ft_prediction answer;
 *     if (!ft_predictor_open("phone.ftm", &predictor, &error) &&
 *         !ft_predictor_predict(predictor, bound, &(ft_request){.device = "adreno-640"}, &answer, &error))
 *         printf("%.0f us\n", answer.metrics[0].value);
 *
 * A predictor is read-only once it is opened: any number of threads may share one. docs/formats/predictor.md has the
 * layout of the file. */
#ifndef FORETELL_PREDICTOR_H
#define FORETELL_PREDICTOR_H

#include "foretell/cost.h"
#include "foretell/device.h"
#include "foretell/graph.h"

FT_C_BEGIN

typedef struct ft_predictor ft_predictor;

/* Where a number comes from. */
typedef enum ft_provenance { FT_MEASURED, FT_LEARNED, FT_ANALYTIC, FT_ASSUMED } ft_provenance;

FT_API const char *ft_provenance_name(ft_provenance kind); /* "measured", "learned", "analytic", "assumed" */

/* A request: what to predict for a model. */
typedef struct ft_request {
    const char *device;     /* any of its names */
    const ft_device *sheet; /* the data sheet of a device that is not bundled; NULL: `device` is looked up */
    int64_t batch;          /* 0: as exported; ignored where a bound graph is given, which has its batch */
    ft_mode mode;
    ft_dtype dtype;         /* FT_DTYPE_UNKNOWN: the usual type of the device; the result has the type that was used */
    ft_optimizer optimizer; /* of training */
    const char *setting; /* "compile=yes;layout=nhwc", as in ft_record; missing keys have their defaults, unknown keys
                          are ignored */
} ft_request;

typedef struct ft_metric_result {
    const char *metric; /* "time_us" */
    double value;
    double lo, hi; /* holds the measured value in 9 of 10 cases; NaN when that was never measured for the device */
    ft_provenance source;
} ft_metric_result;

/* The share of one kernel in the first metric. They add up to its value. */
typedef struct ft_part {
    const char *type;    /* as in ft_kernel */
    const uint32_t *ops; /* operators of the graph; none for what belongs to no kernel (start, correction) */
    uint32_t op_count;
    double value;
} ft_part;

typedef struct ft_prediction {
    const ft_metric_result *metrics; /* one for each metric of the file */
    uint32_t metric_count;
    const ft_part *parts; /* NULL when the predictor sees only the whole */
    uint32_t part_count;
    double coverage_ratio; /* share of the value that comes from kernels like those it was trained on */
    void *owner;
} ft_prediction;

/* Maps the file. FT_ERR_FORMAT when it is no predictor, FT_ERR_DAMAGED when its content is not what its checksum says,
 * FT_ERR_UNSUPPORTED when it was made by a newer foretell or for other features. */
FT_API ft_status ft_predictor_open(const char *path, ft_predictor **predictor, ft_error *error);
/* The same from memory, which may be given back afterwards; `name` stands for the file in messages. */
FT_API ft_status ft_predictor_open_memory(const void *bytes, size_t size, const char *name, ft_predictor **predictor,
                                          ft_error *error);
FT_API void ft_predictor_free(ft_predictor *predictor);

/* A file may hold several predictors, each of another metric; a model that tells several metrics counts as one for
 * each. The next one of the file, NULL after the last; and, from this one on, the one that tells a metric, NULL when
 * none does. They are freed with the first. */
FT_API const ft_predictor *ft_predictor_next(const ft_predictor *predictor);
FT_API const ft_predictor *ft_predictor_find(const ft_predictor *predictor, const char *metric);

/* Writes the predictors of several files into one, which appears whole or not at all. Two of one metric are an error.
 */
FT_API ft_status ft_predictor_bundle(const char *const *paths, uint32_t count, const char *path, ft_error *error);

/* What it says, and what those after it in its file can say. `bound` carries the batch. Any name of a device will do;
 * without one, a predictor of one device answers for that. A device that the predictor does not know (and whose data
 * sheet does not help it), or a mode that it was not trained on, is FT_ERR_UNSUPPORTED. The answer lives as long as the
 * predictor and the graph. */
FT_API ft_status ft_predictor_predict(const ft_predictor *predictor, const ft_graph *bound, const ft_request *query,
                                      ft_prediction *answer, ft_error *error);
/* The same answers about several graphs, in less time than one after the other takes. errors[i].status tells whether
 * there is one for bound[i], and its message why not; returned is the first that is not FT_OK. */
FT_API ft_status ft_predictor_predict_many(const ft_predictor *predictor, const ft_graph *const *bound, uint32_t count,
                                           const ft_request *query, ft_prediction *answers, ft_error *errors);
FT_API void ft_prediction_free(ft_prediction *answer);

FT_API const char *ft_predictor_metric(const ft_predictor *predictor); /* "time_us" */
FT_API const char *ft_predictor_family(const ft_predictor *predictor); /* "kernel-sum" */
FT_API const char *ft_predictor_header(const ft_predictor *predictor); /* the file's own description, JSON */
FT_API uint32_t ft_predictor_device_count(const ft_predictor *predictor);
FT_API const char *ft_predictor_device(const ft_predictor *predictor, uint32_t index);
/* Whether it was trained on a device, by any of its names, or can read its data sheet. */
FT_API bool ft_predictor_knows(const ft_predictor *predictor, const char *device);

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
    bool is_effort;  /* training takes longer in proportion: a search looks at little of it first */
    const char *off; /* the value that leaves it out, as JSON; NULL: it cannot be left out */
} ft_setting;

enum { FT_MAX_SETTINGS = 64 };
/* The settings of a family, as many as there is room for; returns how many it has: FT_MAX_SETTINGS at most. */
FT_API uint32_t ft_family_settings(uint32_t index, ft_setting *settings, uint32_t room);
FT_API const char *ft_setting_kind_name(ft_setting_kind kind); /* "real", "int", "word" */

FT_C_END

#endif
