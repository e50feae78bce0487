/* predictor.h - inside a predictor, and writing predictor files; the public side is foretell/predictor.h.
 *
 * Who trains writes twice: first without calibration and accuracy, into memory; opens that, so that what is measured
 * is what users will have; finds the quantiles and scores; and writes the file with them. */
#ifndef PREDICTOR_PREDICTOR_H
#define PREDICTOR_PREDICTOR_H

#include "base/buf.h"
#include "predictor/core/adjust.h"
#include "predictor/core/family.h"

/* What is told of a metric. */
typedef struct predictor_metric {
    const char *name; /* "time_us" */
    uint32_t modes;   /* bits 1 << ft_mode: those that it was trained on; 0: any may be asked */
    /* {"adreno-640": {"q90": 1.7, "n": 2423}, ...}; NULL or a device that is not in it: its intervals are not known. */
    const json_t *calibration;
} predictor_metric;

/* What the header of a predictor file tells besides what the family keeps in it. Borrowed, and only read. */
typedef struct predictor_description {
    predictor_metric metric;        /* the first that the model was fitted to */
    const predictor_metric *others; /* that the same model tells, in its order */
    uint32_t other_count;
    const char *const *devices; /* as they were given to fit */
    uint32_t device_count;
    uint32_t dtypes; /* bits 1 << ft_dtype: those that it was trained on; 0: it is not known */
    /* What it was trained on; texts may be NULL. */
    const char *dataset_hash, *split_spec, *split_hash;
    uint64_t seed, records;
    /* A list of objects, one per score: device, part, split, n, mape, ...; may be NULL. */
    const json_t *accuracy;
    /* Of an adapted predictor: what is told of that (an object, to which adjustments are added), how many of the
     * devices the model knows by itself, and metric by metric per device its adjustment or NULL. `adapted` NULL: none
     * of it. */
    const json_t *adapted;
    uint32_t known_count;
    const adjustment *const *adjustments;
} predictor_description;

/* The bytes of a predictor file. */
ft_status predictor_encode(const predictor_description *description, const family *f, const void *m, buf *bytes,
                           ft_error *error);
/* The file appears whole or not at all. */
ft_status predictor_write(const char *path, const predictor_description *description, const family *f, const void *m,
                          ft_error *error);

/* --- One that is open ---------------------------------------------------------------------------------------- */

const void *predictor_model(const ft_predictor *predictor);
/* Which of the metrics that its model was fitted to it tells: 0 the first. */
uint32_t predictor_output(const ft_predictor *predictor);
const family *predictor_family(const ft_predictor *predictor);
/* For any name of the device; FT_NONE when the predictor does not know it. */
uint32_t predictor_device_index(const ft_predictor *predictor, const char *device);
/* Devices that the model knows by itself; those after them are predicted from these. */
uint32_t predictor_known_count(const ft_predictor *predictor);
/* What was learned of a device in adapting; NULL: nothing. */
const adjustment *predictor_adjustment(const ft_predictor *predictor, uint32_t device);
/* Whether it was trained on this device, or can read its data sheet. */
/* Whether it reads data sheets. */
bool predictor_takes_any_device(const ft_predictor *predictor);
bool predictor_knows_device(const ft_predictor *predictor, const char *device);
/* Whether it was trained on records of this mode. */
bool predictor_knows_mode(const ft_predictor *predictor, ft_mode mode);
/* The same for a type that the model is worked on in; a file that does not say was trained on `usual`. Families that
 * tell types apart by themselves know all that they answer for. */
bool predictor_knows_dtype(const ft_predictor *predictor, ft_dtype dtype, ft_dtype usual);
/* The 0.9 quantile of |log(measured / value)| / spread; NaN when it is not known. FT_NONE: the widest of all. */
double predictor_q90(const ft_predictor *predictor, uint32_t device);
/* A device by its index. */
target_device predictor_place(const ft_predictor *predictor, uint32_t device);
/* What the model says, before an interval is made of it. */
ft_status predictor_predict(const ft_predictor *predictor, const predict_input *in, model_output *out, ft_error *error);
/* Divides the value by provenance: a learned one is learned as far as the coverage goes, and extrapolated beyond. */
void metric_result_set_provenance(ft_metric_result *m, ft_provenance provenance, double coverage_ratio);
/* The same as a metric result with its interval and provenance. */
ft_metric_result predictor_estimate(const ft_predictor *predictor, uint32_t device, const model_output *p);

#endif
