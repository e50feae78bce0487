/* predictor.h - an open predictor, its metadata, and writing predictor files; foretell/predictor.h is the public side.
 *
 * Training writes a predictor twice: first without calibration and accuracy, into memory, and opens that, so that what
 * is calibrated and scored is what users will open; then the file, with quantiles and scores. */
#ifndef PREDICTOR_CORE_PREDICTOR_H
#define PREDICTOR_CORE_PREDICTOR_H

#include "base/buf.h"
#include "base/input.h"
#include "predictor/core/adjust.h"
#include "predictor/core/family.h"

/* --- Writing (predictor.c, metadata.c) ----------------------------------------------------------------------- */

/* One metric of a predictor, to be written. */
typedef struct predictor_metric {
    const char *name; /* "time_us" */
    uint32_t modes;   /* bits 1 << ft_mode: those in training; 0: all are supported */
    /* {"adreno-640": {"q90": 1.7, "n": 2423}, ...}; a device without an entry has no calibrated intervals. May be
     * NULL. */
    const json_t *calibration;
} predictor_metric;

/* The metadata of a predictor file, besides the parameters of its family. Borrowed, and only read. */
typedef struct predictor_description {
    predictor_metric metric;        /* fit_set.metric */
    const predictor_metric *others; /* fit_set.others, in their order */
    uint32_t other_count;
    const char *const *devices; /* as passed to fit */
    uint32_t device_count;
    uint32_t dtypes; /* bits 1 << ft_dtype: those in training; 0: not known */
    /* Per device the type of most of its training records; FT_DTYPE_UNKNOWN: not known. NULL: of no device. */
    const ft_dtype *usual_dtypes;
    /* The training data; texts may be NULL. */
    const char *dataset_hash, *split_spec, *split_hash;
    uint64_t seed, records;
    /* A list of objects, one per score: device, part, split, n, mape, ...; may be NULL. */
    const json_t *accuracy;
    /* Of an adapted predictor: a report of that (an object, to which the corrections are added), how many of the
     * devices the model was trained on, and metric by metric per device its correction or NULL. `adapted` NULL: none of
     * it. */
    const json_t *adapted;
    uint32_t known_count;
    const adjustment *const *adjustments;
} predictor_description;

/* The bytes of a predictor file. */
ft_status predictor_encode(const predictor_description *description, const family *f, const void *model, buf *bytes,
                           ft_error *error);
/* The file appears complete or not at all. */
ft_status predictor_write(const char *path, const predictor_description *description, const family *f,
                          const void *model, ft_error *error);

/* --- Metadata (metadata.c) ----------------------------------------------------------------------------------- */

/* The JSON header of a predictor file: family, schema, devices, training, calibration, accuracy. Unknown keys are
 * ignored, so a later version may only add information by new ones; what changes the meaning of a file changes its
 * version, its family or its schema. */
enum { METADATA_MAX_DEVICES = 4096, METADATA_MAX_METRICS = 16 };

typedef struct metadata_metric {
    const char *name;
    uint32_t modes; /* as in predictor_metric */
    double *q90;    /* per device; NaN: not calibrated */
} metadata_metric;

typedef struct metadata {
    const family *family;
    metadata_metric *metrics; /* of the model, in its order */
    uint32_t metric_count;
    const char **devices;
    uint32_t device_count;
    uint32_t dtypes;           /* as in predictor_description */
    ft_dtype *usual_dtypes;    /* per device, as there */
    uint32_t known_count;      /* of the devices, the first: those that the model was trained on */
    const json_t *adjustments; /* a list inside `root`; NULL: not adapted */
    const json_t *params;      /* inside `root` */
} metadata;

/* *root: a new object. */
ft_status metadata_make(const predictor_description *description, const family *f, const json_t *params, json_t **root,
                        ft_error *error);
/* Texts and lists are from the arena. */
ft_status metadata_parse(const json_t *root, arena *memory, metadata *m, ft_error *error);
/* FT_NONE when there is none of the name. */
uint32_t metadata_find_device(const metadata *m, const char *name);
uint32_t metadata_find_metric(const metadata *m, const char *name);

/* --- Open predictors (predictor_open.c, predictor.c) --------------------------------------------------------- */

/* FT_ERR_USAGE when a request has a mode, type, optimiser or batch that there is not (predict.c). */
ft_status request_check(const ft_request *request, ft_error *error);

/* The predictors of a file are a chain; the first owns its bytes. A model of several metrics has a link for each of
 * them, of which the first owns the model. */
struct ft_predictor {
    input bytes; /* mapped, or a copy; empty but in the first */
    ft_predictor *next;
    arena memory;
    predictor_file file; /* text and block; its JSON is freed once it is parsed */
    metadata about;
    uint32_t output; /* index of the metric in `about`; when it is not the first, all pointers are borrowed */
    void *model;
    ft_device **sheets;       /* per device, where the family reads them; NULL: not bundled */
    adjustment **adjustments; /* per device, or NULL; NULL: it was not adapted */
    /* Of the file, whose devices are those of all metrics together. */
    ft_device **file_sheets;
    adjustment **file_adjustments; /* metric by metric, per device */
    uint32_t file_devices;
};

static inline const metadata_metric *predictor_metric_of(const ft_predictor *p) {
    return &p->about.metrics[p->output];
}

const void *predictor_model(const ft_predictor *predictor);
/* Its index among the metrics that the model was fitted to: 0 the first. */
uint32_t predictor_output(const ft_predictor *predictor);
const family *predictor_family(const ft_predictor *predictor);
/* For any name of the device; FT_NONE when the predictor has no such device. */
uint32_t predictor_device_index(const ft_predictor *predictor, const char *device);
/* Devices that the model was trained on; those after them are predicted from these. */
uint32_t predictor_known_count(const ft_predictor *predictor);
/* The correction that adapting fitted for a device; NULL: none. */
const adjustment *predictor_adjustment(const ft_predictor *predictor, uint32_t device);
/* Whether it reads data sheets, and so predicts for devices that it was not trained on. */
bool predictor_reads_sheets(const ft_predictor *predictor);
/* Whether it has this device, or can read its data sheet. */
bool predictor_supports_device(const ft_predictor *predictor, const char *device);
/* Whether it was trained on records of this mode, or does not need to be. */
bool predictor_supports_mode(const ft_predictor *predictor, ft_mode mode);
/* Whether intervals hold for a data type: it was in training, or the family itself widens them for new types. A file
 * without types was trained on `usual`. */
bool predictor_trained_on_dtype(const ft_predictor *predictor, ft_dtype dtype, ft_dtype usual);
/* The type that it was trained on for a device, mostly; FT_DTYPE_UNKNOWN: on several, or its file does not say.
 * FT_NONE: any device. */
ft_dtype predictor_usual_dtype(const ft_predictor *predictor, uint32_t device);
/* The 0.9 quantile of |log(measured / value)| / spread; NaN: not calibrated. FT_NONE, a device that was not measured:
 * the largest of the calibrated devices; NaN when there is none. */
double predictor_q90(const ft_predictor *predictor, uint32_t device);
/* A device by its index. */
target_device predictor_target(const ft_predictor *predictor, uint32_t device);
/* The output of the model, corrected where the predictor was adapted, without an interval. */
ft_status predictor_predict(const ft_predictor *predictor, const predict_input *in, model_output *out, ft_error *error);
/* Divides the value by provenance: a learned one is learned as far as the coverage goes, and extrapolated beyond. */
void metric_result_set_provenance(ft_metric_result *m, ft_provenance provenance, double coverage_ratio);
/* The same as a metric result with its interval and provenance. */
ft_metric_result predictor_metric_result(const ft_predictor *predictor, uint32_t device, const model_output *p);

#endif
