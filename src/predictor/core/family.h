/* family.h - the interface that every predictor family implements.
 *
 * A family fits a model to labelled records (fit), stores it as JSON and floats (save, load) and predicts one metric of
 * a bound graph on a device (predict). Predictor files, intervals, run folders and evaluation are the same for all
 * families and live elsewhere.
 *
 * To add a family: define a `const family` with name, text, schema, settings and the five mandatory functions, list it
 * in families.c, set the capabilities that hold for it, and fill in `optional` as far as it has more to offer. */
#ifndef PREDICTOR_FAMILY_H
#define PREDICTOR_FAMILY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/pool.h"
#include "foretell/dataset.h"
#include "foretell/device.h"
#include "foretell/predictor.h"
#include "predictor/core/file.h"
#include "predictor/core/model_view.h"

/* One labelled record. */
typedef struct fit_row {
    uint32_t record; /* of the data set */
    uint32_t graph;  /* of the data set */
    uint32_t device; /* of fit_set.devices */
    double label;    /* of the metric, positive; NaN where only others of the set were measured */
} fit_row;

typedef struct fit_rows {
    const fit_row *items;
    uint32_t count;
} fit_rows;

/* The labelled rows of a fit: for training, and for selection by validation. Both are in the order of the records. */
typedef struct fit_set {
    const ft_dataset *data;
    const char *metric;
    const char *const *others; /* metrics to learn together with it; none for families that learn one at a time */
    uint32_t other_count;
    const char *const *devices; /* canonical names, sorted */
    uint32_t device_count;
    fit_rows train, valid;
} fit_set;

/* The environment of a fit: configuration, threads, progress, log and checkpoints. */
typedef struct fit_context {
    const json_t *config; /* an object; unknown keys are an error */
    uint64_t seed;
    pool *threads;
    void *user;
    /* Reports progress; `what` names the stage. False: save a checkpoint and return FT_ERR_CANCELLED. */
    bool (*progress)(void *user, double done_ratio, const char *what);
    /* Writes one line of the log: an object, whose reference is taken over. */
    void (*log)(void *user, json_t *line);
    /* Stores a checkpoint to resume from; replaces the one before. */
    ft_status (*save)(void *user, const void *state, size_t size, ft_error *error);
    /* The last checkpoint, valid until the next save; NULL when there is none. */
    const void *(*load)(void *user, size_t *size);
} fit_context;

/* The device that a prediction is for. */
typedef struct target_device {
    uint32_t index;         /* among the devices passed to fit or load; FT_NONE: none of them */
    const ft_device *sheet; /* its data sheet; NULL when there is none or the family reads none */
    /* The fusion rules to use when they are not those of the device that `index` names: a device that is predicted from
     * a known one may have another runtime. NULL: those of the device. */
    const ft_rules *rules;
    uint32_t output; /* of models fitted to several metrics: 0 for fit_set.metric, then fit_set.others */
} target_device;

/* One prediction to compute. */
typedef struct predict_input {
    model_view *view;
    const target_device *target;
    arena *memory;  /* owns parts and explanations */
    bool has_parts; /* the parts of the value are computed too */
} predict_input;

/* A model's prediction, before intervals are calibrated. */
typedef struct model_output {
    double value;
    double spread;            /* relative uncertainty: the interval is value * exp(+-q * spread) */
    double coverage_ratio;    /* as in ft_result */
    ft_provenance provenance; /* FT_LEARNED: as far as the coverage goes; the rest is extrapolated */
    const char *reason;       /* names the data that is missing where the value is not learned; or NULL */
    bool explains_coverage;   /* the reason also names what the coverage leaves out */
    ft_part *parts;           /* from the arena, or NULL */
    uint32_t part_count;
} model_output;

/* The composition of a prediction, which corrections of adapted predictors are applied to (adjust.h). Pieces are parts
 * of the prediction; equal ones share a row. A row has the times of its terms, and features that a correction may
 * depend on. The value is the sum over pieces and terms. */
typedef struct explanation {
    uint32_t count;         /* in the order of the parts of the prediction */
    const uint32_t *row_of; /* per piece; NULL: piece i is row i */
    uint32_t row_count;
    uint32_t term_count;
    const double *times;                /* row_count x term_count */
    uint32_t size_count, feature_count; /* features are sizes, of any scale, followed by flags, about 0 to 1 */
    uint32_t setting_count;             /* the last flags are of the request, the same for all rows */
    const float *features;              /* row_count x feature_count */
} explanation;

/* Distance between the distributions of hidden features of two sets. */
typedef enum tune_distance { TUNE_NO_DISTANCE, TUNE_CMD, TUNE_MMD, TUNE_DISTANCES } tune_distance;

/* Options for training networks further. */
typedef struct tune_options {
    bool is_last;   /* only the last layers, which are specific to a device; else all of them */
    uint32_t steps; /* 0: the default of the family */
    tune_distance distance;
    fit_rows before; /* rows of the original training, against forgetting; may be empty */
    /* Per device of the set: the median of measured / predicted before tuning; NaN: not known. NULL: of no device. */
    const double *ratios;
} tune_options;

/* Facts about a family, combined in family.capabilities. */
enum {
    /* One model learns several metrics (fit_set.others). */
    FAMILY_MULTI_METRIC = 1 << 0,
    /* It reads data sheets, so it also predicts for devices that it was not trained on. */
    FAMILY_ANY_DEVICE = 1 << 1,
    /* It also predicts for modes that it was not trained on, and marks these results by their source. */
    FAMILY_ANY_MODE = 1 << 2,
    /* It learns from single operators too (records of the part "support"); others are fitted to whole models only. */
    FAMILY_OPERATORS = 1 << 3,
    /* Data types enter it only through sizes in bytes, so its intervals do not widen for a type that was not in
     * training. */
    FAMILY_TYPES_AS_SIZES = 1 << 4,
    /* Its spread already is half of the 90 % interval: calibration leaves it as it is. */
    FAMILY_OWN_INTERVALS = 1 << 5,
    /* It has so few parameters that its errors on training rows are as large as on new ones, so both calibrate it. */
    FAMILY_FEW_PARAMETERS = 1 << 6,
    /* It was trained on single kernels of GPUs: its devices do not count as measured with models, and it is preferred
     * for models whose kernels are products and attention in the first place. */
    FAMILY_KERNELS = 1 << 7,
};

/* A metric that follows from the model without ever having been measured. */
typedef struct derived_metric {
    const char *metric;
    double value;
} derived_metric;

enum { FAMILY_MAX_DERIVED = 8 };

/* Operations that a family may leave out: each may be NULL. A model is the `void *` that fit, load or tune made. */
typedef struct family_optional {
    /* Of families whose settings are composed at run time: as settings_of (settings.h). NULL: they are in
     * family.settings. */
    uint32_t (*describe)(ft_setting *settings, uint32_t room);
    /* Whether this model reads data sheets, where that depends on its settings; FAMILY_ANY_DEVICE: always. */
    bool (*reads_sheets)(const void *model);
    /* The fusion rules of a known device. NULL: kernels of a runtime play no part in this family. */
    const ft_rules *(*rules)(const void *model, uint32_t device);
    /* Computes for several views at once what predict needs of each on known devices, and stores it in the views. A
     * view for which that fails is left to predict, which reports the reason. */
    ft_status (*precompute)(const void *model, model_view *const *views, uint32_t count, ft_error *error);
    /* The same prediction with its explanation. NULL: a prediction is explained by one piece, itself. */
    ft_status (*explain)(const void *model, const predict_input *in, model_output *out, explanation *made_of,
                         ft_error *error);
    /* Metrics that the model also computes, though nothing was learned of them: assumed. At most FAMILY_MAX_DERIVED. */
    ft_status (*derive)(const void *model, const predict_input *in, derived_metric *items, uint32_t *count,
                        ft_error *error);
    /* A copy of a model, its networks trained further on a few rows, all in set->train. The devices of the set are
     * those of the model, followed by new ones where the model reads data sheets. */
    ft_status (*tune)(const void *model, const fit_set *set, const tune_options *options, const fit_context *context,
                      void **out, ft_error *error);
} family_optional;

typedef struct family {
    const char *name;
    const char *text;           /* one line for people */
    const char *schema;         /* names its input features; a file made for another schema is refused */
    const char *metric;         /* the only one that it learns; NULL: any */
    const ft_setting *settings; /* settings.h */
    uint32_t setting_count;
    uint32_t capabilities; /* FAMILY_* */
    /* The keys of a record's setting that its features depend on, separated by spaces. NULL: it distinguishes settings
     * as a whole. */
    const char *setting_keys;
    ft_status (*fit)(const fit_set *set, const fit_context *context, void **out, ft_error *error);
    /* *params: a new object. */
    ft_status (*save)(const void *model, json_t **params, float_block *block, ft_error *error);
    /* Nothing in the file is trusted: counts, indices and numbers are checked. `block` outlives the model. */
    ft_status (*load)(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, void **out, ft_error *error);
    /* The target has an index or, where the model reads data sheets, a sheet; there known devices have one too, if they
     * are bundled. Parts are computed only on in->has_parts. */
    ft_status (*predict)(const void *model, const predict_input *in, model_output *out, ft_error *error);
    void (*free)(void *model);
    family_optional optional;
} family;

/* Whether a family has all of these FAMILY_* bits. */
static inline bool family_can(const family *f, uint32_t capabilities) {
    return (f->capabilities & capabilities) == capabilities;
}

/* The list of families (families.c); the first is the default. A test may put a list of its own in its place, before it
 * calls anything else. */
extern const family *const *families;
extern uint32_t family_total;
const family *family_find(const char *name); /* NULL when there is none */

#endif
