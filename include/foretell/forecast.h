/* forecast.h - time, memory and other metrics of a model on any device, in any setting: the main job.
 *
 *     ft_predictor_set *set;
 *     ft_results results;
 *     ft_request request = {.device = "rtx-4090", .batch = 32, .mode = FT_TRAIN};
 *     ft_status status = ft_predictor_set_open(NULL, 0, &set, &error);   // once; any number of threads may share it
 *     if (!status) status = ft_graph_read("model.onnx", &model, &error);
 *     if (!status) status = ft_predict(set, model, NULL, &request, 1, &results, &error);
 *     if (!status) printf("%.0f us\n", ft_result_time(&results.items[0])->value);
 *     ft_results_free(&results);
 *
 * The time comes from the predictor that was trained on the device, memory from the one trained on memory; where there
 * is none, from the data sheet and from the memory timeline of the graph. Each metric has its provenance. */
#ifndef FORETELL_FORECAST_H
#define FORETELL_FORECAST_H

#include "foretell/device.h"
#include "foretell/predictor.h"

FT_C_BEGIN

/* --- Predictor sets ------------------------------------------------------------------------------------------ */

typedef struct ft_predictor_set ft_predictor_set;

/* Opens predictor files; with none given, those that ship with foretell: all *.ftm in the folder of the environment's
 * FORETELL_PREDICTORS, else in predictors/ or share/foretell/predictors beside the folder of the program (or one
 * above), else in share/foretell/predictors beside the folder of the library, else where foretell was installed. A set
 * is read-only: any number of threads may share one. */
FT_API ft_status ft_predictor_set_open(const char *const *files, uint32_t count, ft_predictor_set **set,
                                       ft_error *error);
/* The same for predictors of tensor programs; the bundled ones are in the sub-folder programs/. */
FT_API ft_status ft_predictor_set_open_programs(const char *const *files, uint32_t count, ft_predictor_set **set,
                                                ft_error *error);
FT_API void ft_predictor_set_free(ft_predictor_set *set);
FT_API uint32_t ft_predictor_set_count(const ft_predictor_set *set); /* files */
FT_API const ft_predictor *ft_predictor_set_at(const ft_predictor_set *set, uint32_t index);
FT_API const char *ft_predictor_set_path(const ft_predictor_set *set, uint32_t index);
/* The devices whose times the predictors were trained on, in the order of the files: "all" of the command. */
FT_API uint32_t ft_predictor_set_device_count(const ft_predictor_set *set);
FT_API const char *ft_predictor_set_device(const ft_predictor_set *set, uint32_t index);

/* --- Predicting ---------------------------------------------------------------------------------------------- */

typedef struct ft_results {
    const ft_result *items; /* one per request, in their order */
    uint32_t count;
    void *owner;
} ft_results;

/* Predicts for any number of requests about a model (as read, not bound); requests of one batch share their work.
 * `shapes` (may be NULL) binds inputs and symbols; its batch is ignored. The first metrics of each result are
 * "time_us", "peak_bytes" and "util_ratio", with NaN and a reason where one cannot be predicted. An unknown device, or
 * a batch that the model cannot have, is an error that names the request. The results live as long as the set and the
 * model. */
FT_API ft_status ft_predict(const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes,
                            const ft_request *requests, uint32_t count, ft_results *results, ft_error *error);
FT_API void ft_results_free(ft_results *results);

/* Adds to each result what becomes of it when the model shares its GPU with that of the other result of the same index:
 * "shared_peak_bytes", the memory of both; where both have a utilisation, "shared_speed_ratio", the share of its speed
 * alone that each keeps, "shared_time_us" and "other_shared_time_us". docs/utilisation.md */
FT_API ft_status ft_share(ft_results *results, const ft_results *others, ft_error *error);

/* --- Does it fit? -------------------------------------------------------------------------------------------- */

typedef enum ft_fit { FT_FITS, FT_FITS_NOT, FT_FIT_UNCERTAIN } ft_fit;

FT_API const char *ft_fit_name(ft_fit fit); /* "yes", "no", "uncertain" */

/* Whether the memory of a result fits into so many free bytes: yes when the upper end of its interval does, no when the
 * lower end does not. Memory without an interval is assumed to be off by a fifth at most. */
FT_API ft_fit ft_result_fit(const ft_result *result, double free_bytes);

/* A search for the largest batch that fits. */
typedef struct ft_batch_search {
    double free_bytes; /* memory that is free on the device */
    int64_t max_batch; /* no larger batch is tried */
} ft_batch_search;

typedef struct ft_max_batch_result {
    int64_t certain;   /* the largest batch that fits; 0: not even 1 does */
    int64_t possible;  /* the largest batch that may fit: larger ones do not */
    double free_bytes; /* of the search */
    int64_t max_batch; /* of the search */
} ft_max_batch_result;

/* What fits of a language model that is served: sequences of the context of a request, and the context of as many
 * sequences as the request has. 0: not even one. */
typedef struct ft_capacity {
    int64_t certain_sequences, possible_sequences;
    int64_t certain_context, possible_context; /* tokens */
    int64_t max_context;                       /* the longest that the model has; 0: unknown */
} ft_capacity;

/* *is_served: false for a request that is not about serving a language model; *capacity is then zero. It is that of the
 * same memory that ft_predict predicts. */
FT_API ft_status ft_serving_capacity(const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes,
                                     const ft_request *request, double free_bytes, ft_capacity *capacity,
                                     bool *is_served, ft_error *error);

/* Searches for the largest batch. `request->batch` is ignored. */
FT_API ft_status ft_max_batch(const ft_predictor_set *set, const ft_graph *model, const ft_binding *shapes,
                              const ft_request *request, const ft_batch_search *search, ft_max_batch_result *result,
                              ft_error *error);

FT_C_END

#endif
