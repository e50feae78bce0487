/* forecast.h - what a model will take on any device, in any setting: the main job.
 *
 *     ft_predictor_set *box;
 *     ft_results answers;
 *     ft_request request = {.device = "rtx-4090", .batch = 32, .mode = FT_TRAIN};
 *     ft_status status = ft_predictor_set_open(NULL, 0, &box, &error);   // once; then ask as often as wanted, from any
 * thread if (!status) status = ft_graph_read("model.onnx", &model, &error); if (!status) status = ft_predict(box,
 * model, NULL, &request, 1, &answers, &error); if (!status) printf("%.0f us, %.0f bytes\n",
 * answers.items[0].time.value, answers.items[0].memory.value); ft_results_free(&answers);
 *
 * Times come from the predictor that knows the device, memory from the one that knows memory; where none does, from the
 * data sheet and the timeline of the graph alone. Each number says which. */
#ifndef FORETELL_FORECAST_H
#define FORETELL_FORECAST_H

#include "foretell/device.h"
#include "foretell/predictor.h"

FT_C_BEGIN

/* --- The box: predictors that are open ----------------------------------------------------------------------- */

typedef struct ft_predictor_set ft_predictor_set;

/* Opens predictor files; with none given, those that ship with foretell: all *.ftm in the folder of the environment's
 * FORETELL_PREDICTORS, else in predictors/ or share/foretell/predictors beside the folder of the program (or one
 * above), else in share/foretell/predictors beside the folder of the library, else where foretell was installed. A box
 * is read-only: any number of threads may share one. */
FT_API ft_status ft_predictor_set_open(const char *const *files, uint32_t count, ft_predictor_set **box,
                                       ft_error *error);
/* The same for predictors of tensor programs; those that ship are in the folder programs/ of the others'. */
FT_API ft_status ft_predictor_set_open_programs(const char *const *files, uint32_t count, ft_predictor_set **box,
                                                ft_error *error);
FT_API void ft_predictor_set_free(ft_predictor_set *box);
FT_API uint32_t ft_predictor_set_count(const ft_predictor_set *box); /* files */
FT_API const ft_predictor *ft_predictor_set_at(const ft_predictor_set *box, uint32_t index);
FT_API const char *ft_predictor_set_path(const ft_predictor_set *box, uint32_t index);
/* The devices that the predictors of times were trained on, in the order of the files; "all" devices. */
FT_API uint32_t ft_predictor_set_device_count(const ft_predictor_set *box);
FT_API const char *ft_predictor_set_device(const ft_predictor_set *box, uint32_t index);

/* --- Asking -------------------------------------------------------------------------------------------------- */

/* What most of the time goes to. */
typedef enum ft_bound { FT_BOUND_UNKNOWN, FT_BOUND_COMPUTE, FT_BOUND_MEMORY, FT_BOUND_LAUNCH } ft_bound;

FT_API const char *ft_bound_name(ft_bound bound); /* "compute", "memory", "launch", "unknown" */

typedef struct ft_result {
    ft_request request;     /* as it was understood: nothing in it is left open; device: its canonical name */
    ft_metric_result time;  /* "time_us", of one step of `batch` samples; NaN: nobody can tell, see `no_time` */
    double coverage_ratio;  /* of the time: share from kernels like those that the predictor was trained on */
    const char *time_by;    /* path of the predictor, or "roofline" */
    const ft_part *kernels; /* they add up to the time; may be none */
    uint32_t kernel_count;
    const ft_bound *kernel_bounds; /* of each */
    ft_bound bound;
    double bound_ratio;          /* share of the time that is bound so */
    ft_metric_result memory;     /* "peak_bytes", of one step */
    const char *memory_by;       /* path of the predictor, or "timeline" */
    const ft_part *memory_parts; /* they add up to the memory */
    uint32_t memory_part_count;
    const ft_metric_result *others; /* what else is told of the device: "cycles", "sram_bytes", ... */
    uint32_t other_count;
    const char *no_time;      /* why there is no time; NULL when there is one */
    const char *no_util;      /* why there is no utilisation: nobody in the box measured it */
    const char *const *notes; /* what one should know: what was assumed, what is far from what was measured */
    uint32_t note_count;
    uint32_t time_note_count; /* the first of them, which are of the time */
} ft_result;

typedef struct ft_results {
    const ft_result *items; /* one per request, in their order */
    uint32_t count;
    void *owner;
} ft_results;

/* Answers any number of requests about a model (as read, not bound); those that share a batch share its work. `shapes`
 * (may be NULL) binds inputs and symbols; its batch is ignored. Unknown devices, and batches that the
 * model cannot have, are errors that name the request. The answers live as long as the box and the model. */
FT_API ft_status ft_predict(const ft_predictor_set *box, const ft_graph *model, const ft_binding *shapes,
                            const ft_request *requests, uint32_t count, ft_results *answers, ft_error *error);
FT_API void ft_results_free(ft_results *answers);

/* --- Does it fit? -------------------------------------------------------------------------------------------- */

typedef enum ft_fit { FT_FITS, FT_FITS_NOT, FT_FIT_UNCERTAIN } ft_fit;

FT_API const char *ft_fit_name(ft_fit fit); /* "yes", "no", "uncertain" */

/* Whether a forecast fits into so many free bytes: yes when the upper end of its interval does, no when the lower end
 * does not. A memory without interval is taken to be off by a fifth at most. */
FT_API ft_fit ft_result_fit(const ft_result *forecast, double free_bytes);

typedef struct ft_max_batch_result {
    int64_t sure;     /* the largest batch that fits; 0: not even 1 does */
    int64_t possible; /* the largest that may fit: from the next on it surely does not */
} ft_max_batch_result;

/* Looks for the largest batch up to `most`. `request->batch` is ignored. */
FT_API ft_status ft_max_batch(const ft_predictor_set *box, const ft_graph *model, const ft_binding *shapes,
                              const ft_request *request, double free_bytes, int64_t most, ft_max_batch_result *largest,
                              ft_error *error);

FT_C_END

#endif
