/* command_options.h - options of a command, as parsed from a JSON object. */
#ifndef COMMAND_OPTIONS_H
#define COMMAND_OPTIONS_H

#include "base/buf.h"
#include "base/json.h"
#include "foretell/command.h"
#include "foretell/forecast_report.h"

enum { COMMAND_MAX_BATCHES = 64, COMMAND_MAX_SETTINGS = 32, COMMAND_MAX_SHAPES = 64 };

/* Flags, so that a key can say which commands have it. */
typedef enum command_kind {
    KIND_PREDICT = 1,
    KIND_FITS = 2,
    KIND_MAX_BATCH = 4,
    KIND_INSPECT = 8,
    KIND_OBSERVE = 16
} command_kind;

typedef struct command_options {
    command_kind kind;
    char *model, *name; /* NULL: absent */
    char *devices;      /* separated by commas */
    char *prices;       /* NULL: absent */
    bool has_goal;
    ft_goal goal;
    char *runtime; /* the rules that devices must run; NULL: any */
    char *kernels; /* inspect: runtime whose kernels are listed */
    char *settings[COMMAND_MAX_SETTINGS];
    uint32_t setting_count;
    int64_t batches[COMMAND_MAX_BATCHES];
    uint32_t batch_count;
    char *shape_names[COMMAND_MAX_SHAPES]; /* memory of the names in `shapes` */
    ft_shape_binding shapes[COMMAND_MAX_SHAPES];
    uint32_t shape_count;
    ft_mode mode;
    ft_dtype dtype;
    ft_optimizer optimizer;
    bool has_optimizer;
    ft_parallel parallel;
    ft_training training;
    char *lora_targets; /* memory of training.lora_targets */
    bool has_training;  /* a key of training was given */
    ft_serving serving;
    char *serving_runtime, *weights, *kv_format; /* memory of names in `serving` */
    ft_output output;
    bool has_layers, has_nodes, is_mixed, has_no_inplace;
    uint32_t top;
    int64_t samples;
    int64_t max_batch;
    double free_bytes; /* NaN: all that the device has */
    double workspace_bytes;
    ft_sort sort;
    /* What was measured, of observations; NaN: not measured. */
    char *family;
    double time_us, peak_bytes, util_ratio;
} command_options;

/* A key: its name, the commands that have it, and what reads its value. */
typedef struct key_row {
    const char *name;
    unsigned commands;
    ft_status (*parse)(command_options *q, const json_t *value, ft_error *error);
} key_row;

/* How a model is trained, and on how many devices (command_training.c). */
extern const key_row training_keys[]; /* ends with a row of zeros */
ft_status command_check_training(const command_options *q, ft_error *error);
/* How a language model is served (command_serving.c). */
extern const key_row serving_keys[]; /* ends with a row of zeros */
bool command_is_serving_runtime(const char *name);
ft_status command_check_serving(const command_options *q, ft_error *error);
void command_serving_free(command_options *q);
/* "sequence=128", as a shape. */
ft_status command_add_shape(command_options *q, const char *text, ft_error *error);

/* Parses an object. The options can be freed after a failure too. */
ft_status command_options_parse(command_kind kind, const json_t *object, command_options *q, ft_error *error);
void command_options_free(command_options *q);

/* Adds the row of an observation (observation.c): what was measured, and the prediction for it. */
void observation_put(const command_options *q, const char *model, const ft_result *result, buf *line);

#endif
