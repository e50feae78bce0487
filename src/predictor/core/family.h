/* family.h - what every family of predictors does, and nothing of which families there are.
 *
 * A family turns labelled records into a model (fit), a model into JSON and floats (save) and back (load), and a
 * subject into a prediction. What goes around it is the same for all: the file, intervals, run folders, evaluation. */
#ifndef PREDICTOR_FAMILY_H
#define PREDICTOR_FAMILY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/pool.h"
#include "foretell/dataset.h"
#include "foretell/device.h"
#include "foretell/predictor.h"
#include "predictor/core/block.h"
#include "predictor/core/model_view.h"

/* A model of any family; each defines its own struct. */
typedef struct model model;

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

/* What a model is fitted to: rows to learn from, and rows to choose by. Both are in the order of the records. */
typedef struct fit_set {
    const ft_dataset *data;
    const char *metric;
    const char *const *others; /* metrics to learn together with it; none for families that learn one at a time */
    uint32_t other_count;
    const char *const *devices; /* canonical names, sorted */
    uint32_t device_count;
    fit_rows train, valid;
} fit_set;

/* What surrounds a fit. */
typedef struct fit_context {
    const json_t *config; /* an object; a family refuses keys that it does not know */
    uint64_t seed;
    pool *threads;
    void *user;
    /* Says how far it is; `what` names the stage. False asks to stop: save a checkpoint, return FT_ERR_CANCELLED. */
    bool (*progress)(void *user, double done_ratio, const char *what);
    /* One line of the log: an object, whose reference is taken over. */
    void (*log)(void *user, json_t *line);
    /* Keeps the state from which the fit can go on; replaces the one before. */
    ft_status (*save)(void *user, const void *state, size_t size, ft_error *error);
    /* The state kept last, valid until the next save; NULL when there is none. */
    const void *(*load)(void *user, size_t *size);
} fit_context;

/* Where a prediction is for. */
typedef struct target_device {
    uint32_t index;         /* of the devices given to fit or load; FT_NONE: none of them */
    const ft_device *sheet; /* what is known of the device; NULL when that is nothing, or when nobody asks for it */
    /* Of a device that is predicted from a known one and has another runtime: its rules. NULL: those of the device. */
    const ft_rules *rules;
    uint32_t output; /* of models that tell several metrics: 0 the first that it was fitted to, then the others */
} target_device;

/* What a model says of a subject on a device. */
typedef struct model_output {
    double value;
    double spread;         /* how unsure it is, relative: the interval is value * exp(+-q * spread) */
    double coverage_ratio; /* as in ft_prediction */
    ft_provenance source;  /* of the value */
    ft_part *parts;        /* from the arena, or NULL */
    uint32_t part_count;
} model_output;

/* What a prediction is made of, as adapting sees it (adjust.h): rows, each with the times of its terms, which add up to
 * the value when every row is taken as often as there are pieces of it, and with features that may decide by what the
 * times are off elsewhere. */
typedef struct explanation {
    uint32_t count;         /* in the order of the parts of the prediction */
    const uint32_t *row_of; /* per piece; NULL: piece i is row i */
    uint32_t row_count;
    uint32_t term_count;
    const double *times;                /* row_count x term_count */
    uint32_t size_count, feature_count; /* features are sizes, of any scale, and after them flags, about 0 to 1 */
    uint32_t setting_count;             /* the last of the flags are of the whole question, the same for all rows */
    const float *features;              /* row_count x feature_count */
} explanation;

/* How far what hidden layers say of two sets is told. */
typedef enum tune_distance { TUNE_NO_DISTANCE, TUNE_CMD, TUNE_MMD, TUNE_DISTANCES } tune_distance;

/* How networks are trained further. */
typedef struct tune_options {
    bool is_last;   /* the last layers alone, which are a device's own; else all of them */
    uint32_t steps; /* 0: as many as the family usually takes */
    tune_distance distance;
    fit_rows before; /* some of what it was trained on at first, so as not to forget it; may be empty */
    /* By device of the set: measured over predicted, in the middle, before it is trained further; NaN: not known. NULL:
     * of none. */
    const double *ratios;
} tune_options;

typedef struct family {
    const char *name;
    const char *text;           /* one line for people */
    const char *schema;         /* names the features that it is fed with; a file made for another schema is refused */
    const char *metric;         /* the one that it learns; NULL: any */
    bool learns_together;       /* several metrics in one model (fit_set.others) */
    const ft_setting *settings; /* settings.h */
    uint32_t setting_count;
    /* For families that put their settings together: as settings_of. NULL: they are in `settings`. */
    uint32_t (*describe)(ft_setting *settings, uint32_t room);
    bool takes_any_device; /* reads data sheets: it also answers for devices that it was not trained on */
    /* The same, where it depends on how a model was set. May be NULL. */
    bool (*reads_sheets)(const model *m);
    /* It knows what to make of single operators (records of part "support"); others are fed whole models alone. */
    bool learns_from_operators;
    bool takes_any_mode; /* also answers for a mode that it was not trained on, and says so by the source */
    /* Of a type that it was not trained on it tells what the bytes suggest, as sure as ever. */
    bool sees_types_as_sizes;
    /* The keys of a record's setting that it looks at, with a space between. NULL: it goes by settings as a whole. */
    const char *setting_keys;
    bool has_own_intervals;  /* its spread is half the 90 % interval already: calibration leaves it alone */
    bool learns_few_numbers; /* so few that rows it learned from are off by as much as new ones: they calibrate too */
    ft_status (*fit)(const fit_set *set, const fit_context *context, model **out, ft_error *error);
    /* *params: a new object. */
    ft_status (*save)(const model *m, json_t **params, float_block *block, ft_error *error);
    /* Nothing in the file is trusted: counts, indices and numbers are checked. `block` outlives the model. */
    ft_status (*load)(const json_t *params, const float *block, size_t count, const char *const *devices,
                      uint32_t device_count, model **out, ft_error *error);
    /* A place has an index, or, where the family takes any device, a data sheet; there it has that for known devices
     * too, when they are in the box. Parts only when `has_parts`. */
    ft_status (*predict)(const model *m, model_view *s, const target_device *where, bool has_parts, arena *memory,
                         model_output *out, ft_error *error);
    /* Works out for several subjects at once what predict needs of each on known devices, and keeps it with them. What
     * cannot be worked out is left to predict, which tells why. May be NULL: predict does it all. */
    ft_status (*precompute)(const model *m, model_view *const *subjects, uint32_t count, ft_error *error);
    /* The same prediction, and what it is made of. May be NULL: then a prediction is one piece. */
    ft_status (*explain)(const model *m, model_view *s, const target_device *where, bool has_parts, arena *memory,
                         model_output *out, explanation *made_of, ft_error *error);
    /* A model whose networks were trained further on a few rows, all for learning; devices of the set are those of the
     * model, and, where it reads data sheets, new ones behind them. May be NULL. */
    ft_status (*tune)(const model *from, const fit_set *set, const tune_options *options, const fit_context *context,
                      model **out, ft_error *error);
    /* The rules of a known device; NULL where kernels of a runtime play no part. */
    const ft_rules *(*rules)(const model *m, uint32_t device);
    void (*free)(model *m);
} family;

/* The list of families (families.c); the first is the default. A test may put a list of its own in its place, before it
 * calls anything else. */
extern const family *const *families;
extern uint32_t family_total;
const family *family_find(const char *name); /* NULL when there is none */

#endif
