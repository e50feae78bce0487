/* job.h - from a request to a result: the state that the files of this room share.
 *
 *   predictor_set.c  the predictor files that are open
 *   context.c        data that the requests about one model share
 *   job.c            one request: notes, and the choice of the predictor
 *   defaults.c       what the request left open: type and setting
 *   time.c, memory.c the metrics
 *   utilisation.c    how busy the step keeps a GPU
 *   training.c       the memory of language models and divided models in training
 *   serving.c        the memory of language models that are served
 *   limit.c          the shortest time that the data sheet allows
 *   curve.c          the metrics as functions of the batch, non-decreasing
 *   work.c           FLOPs and bytes of the parts of a time, and what bounds them */
#ifndef FORECAST_JOB_H
#define FORECAST_JOB_H

#include "base/arena.h"
#include "cost/limit.h"
#include "foretell/forecast.h"
#include "predictor/core/model_view.h"
#include "predictor/core/predictor.h"

/* --- Predictor set ------------------------------------------------------------------------------------------- */

enum { SET_MAX_FILES = 64 };

typedef struct set_entry {
    char *path;
    ft_predictor *predictor; /* the first of its file */
} set_entry;

struct ft_predictor_set {
    set_entry entries[SET_MAX_FILES];
    uint32_t count;
    const char **devices;
    ft_device **sheets; /* of the devices; NULL for one without a bundled data sheet */
    uint32_t device_count;
};

/* --- Context ------------------------------------------------------------------------------------------------- */

typedef struct context_graph context_graph;
typedef struct context_view context_view;
typedef struct context_sheet context_sheet;
typedef struct context_rules context_rules;
typedef struct context_curve context_curve;
typedef struct context_ranks context_ranks;

/* Data that the requests about one model share: bound graphs, costs, kernels, data sheets. It owns everything that the
 * results point into. Not for several threads at a time. */
typedef struct forecast_context {
    const ft_predictor_set *set;
    const ft_graph *model;
    const ft_binding *shapes;
    arena memory;
    /* newest first: the next request is most likely about the same */
    context_graph *graphs;
    context_view *views;
    model_view *first; /* at the model's own batch */
    context_sheet *sheets;
    context_rules *rules;
    context_curve *curves;
    context_ranks *ranks;
    bool has_cache; /* a language model that generates */
} forecast_context;

void context_init(forecast_context *c, const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes);
void context_free(forecast_context *c);

/* The data sheet of a bundled device; *sheet is NULL for a device that only a predictor has. */
ft_status context_find_sheet(forecast_context *c, const char *device, const ft_device **sheet, ft_error *error);
/* The model as a request views it: bound at its batch, with its type, mode and setting. */
ft_status context_find_view(forecast_context *c, const ft_request *request, model_view **found, ft_error *error);
/* The fusion rules of a runtime; those of eager PyTorch for one that has none. */
ft_status context_find_rules(forecast_context *c, const char *runtime, const ft_rules **found, ft_error *error);

/* --- Job ----------------------------------------------------------------------------------------------------- */

enum { JOB_MAX_NOTES = 8, JOB_MAX_METRICS = 64 };

/* The metrics that every result begins with. */
enum { METRIC_TIME, METRIC_MEMORY, METRIC_UTIL, METRIC_OTHERS };

/* One request on its way to a result. */
typedef struct forecast_job {
    forecast_context *context;
    const ft_device *sheet; /* NULL: only a predictor has the device */
    bool is_point;          /* of a curve: only the values matter, not parts and bounds */
    model_view *view;
    const ft_cost *cost;
    ft_result *out;
    ft_metric_result *metrics; /* out->metrics: JOB_MAX_METRICS of them, from the arena of the context */
    const char *given_setting; /* before what it left open was decided */
    const char *notes[JOB_MAX_NOTES];
    const char *refusal; /* message of the last predictor that could not predict; NULL: none was tried */
    bool is_refused;     /* by the predictor of an NPU, which models its compiler: the model does not run there */
} forecast_job;

/* Resolves the device, type and setting of a request, not its batch. */
ft_status job_resolve(forecast_job *job, const ft_request *given, ft_error *error);
/* Predicts every metric of a request as the predictors have it, at its batch alone. */
ft_status job_predict(forecast_job *job, const ft_request *given, ft_error *error);

/* Adds a sentence to the notes of the result. */
ft_status job_note(forecast_job *job, ft_error *error, const char *format, ...) FT_PRINTF(3, 4);

/* Whether a device is a GPU that runs PyTorch. */
bool job_is_torch_gpu(const ft_device *sheet);
/* The type that a device is usually run with, and measured in: float16 by autocast on GPUs, int8 on NPUs. */
ft_dtype job_usual_dtype(const ft_device *sheet);
/* Decides what the request left open: the type, and the choices of the setting that the predictor distinguishes. */
ft_status job_set_defaults(forecast_job *job, ft_error *error);

/* The options of cost arithmetic that a request implies. */
ft_cost_options job_cost_options(const forecast_job *job);

/* The predictor chosen for a metric, and its output. */
typedef struct predictor_choice {
    const set_entry *entry; /* NULL: there is none */
    const ft_predictor *predictor;
    target_device target;
    model_output output;
} predictor_choice;

/* The predictor of a metric that is tried as the number-th, of JOB_RANKS times as many as the set has files; false: it
 * is not one for this request. */
enum { JOB_RANKS = 4 };
bool job_candidate(const forecast_job *job, const char *metric, uint32_t number, predictor_choice *choice);
/* Tries the predictors of a metric: those that were trained on the device first, then those that read data sheets. */
ft_status job_choose(forecast_job *job, const char *metric, predictor_choice *choice, ft_error *error);

/* Predict the time with what bounds it and the other metrics of the same predictor; and the memory. */
ft_status job_predict_time(forecast_job *job, ft_error *error);
ft_status job_predict_memory(forecast_job *job, ft_error *error);

/* --- Training of transformed graphs (training.c) ------------------------------------------------------------- */

/* Whether the model is a language model by its metadata. */
bool context_is_language(const forecast_context *c);
/* Whether it is one whose graph has a symbol. */
bool context_has_symbol(const forecast_context *c, const char *name);
/* Whether a request divides its model between devices. */
bool request_is_divided(const ft_request *request);
/* Whether the memory of a job is that of a transformed graph; and its prediction, once the job is bound. */
bool job_is_training(const forecast_job *job);
ft_status job_predict_training(forecast_job *job, ft_error *error);

/* --- Serving (serving.c) ------------------------------------------------------------------------------------- */

/* Whether a request is about serving a language model. */
bool request_is_served(const forecast_context *c, const ft_request *request);
/* What fits into so many bytes; the request is one about serving. */
ft_status context_capacity(forecast_context *c, const ft_request *request, double free_bytes, ft_capacity *capacity,
                           ft_error *error);
/* Tokens of the longest sequence of a model; 0: unknown. */
int64_t serving_longest_context(const ft_graph *model);
/* Whether a request has any option of serving. */
bool asks_for_serving(const ft_serving *serving);
/* Decides what a request leaves open, and refuses what cannot be. */
ft_status job_resolve_serving(forecast_job *job, ft_error *error);
ft_status job_predict_serving(forecast_job *job, ft_error *error);
/* The memory at the batch and context of a request that is resolved. */
ft_status serving_memory_at(forecast_job *job, ft_metric_result *memory, ft_error *error);

/* Whether a metric is a ratio, which does not grow with the work. */
bool job_is_ratio(const char *metric);
/* A ratio is at most 1, whatever a network predicts. */
ft_metric_result job_clamp_ratio(ft_metric_result m);

/* How busy the step keeps a GPU, once its time is predicted (utilisation.c). */
ft_status job_predict_utilisation(forecast_job *job, ft_error *error);
/* And its energy, once the time is settled on its curve. */
void job_predict_energy(forecast_job *job);

/* Changes the parts of a metric so that they add up to a new value. */
ft_status job_scale_parts(forecast_job *job, ft_metric_result *m, double value, ft_error *error);
/* The rates that no kernel on a device exceeds. */
limit_rates limit_rates_of(const ft_device *sheet);
/* Raises a predicted time, and the ends of its interval, to what peak rate and bandwidth of the device allow. */
ft_status job_limit_time(forecast_job *job, ft_error *error);

/* --- Curves -------------------------------------------------------------------------------------------------- */

/* Replaces the metrics of a job that is predicted by those of its curve at the batch. */
ft_status curve_settle(forecast_job *job, ft_error *error);
/* The memory at a batch, the same as in the result of a request; `value` is NaN when it cannot be predicted.
 * *resolved: the request as it was resolved. */
ft_status curve_memory(forecast_context *c, const ft_request *given, int64_t batch, ft_metric_result *memory,
                       ft_request *resolved, ft_error *error);

/* --- Work ---------------------------------------------------------------------------------------------------- */

/* The limits of a device for numbers of a type; NaN: missing in its data sheet. */
typedef struct device_limits {
    double flops_per_s, bytes_per_s, launch_s;
} device_limits;

device_limits limits_of(const ft_device *sheet, ft_dtype dtype);
bool limits_are_known(const device_limits *l);

/* FLOPs of a part, and the bytes of tensors that it reads from or leaves for other parts. */
typedef struct part_work {
    double flops, bytes;
} part_work;

/* The work of parts that share no operator. False when out of memory. */
bool work_of_parts(const ft_graph *bound, const ft_cost *cost, const ft_cost_options *options, const ft_part *parts,
                   uint32_t count, arena *memory, part_work **work);

/* The bound of the work: arithmetic, memory traffic or the launch. `min_s`: the shortest time that the limits allow. */
ft_bound work_bound(const part_work *work, const device_limits *l, double *min_s);
/* Whether kernels of a predicted time may wait on a device for the host to launch them, whatever bounds them once they
 * run; and whether one does. */
bool work_can_wait(const ft_device *sheet);
bool work_waits(const ft_part *part, double min_s);

#endif
