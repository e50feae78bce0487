/* predict_options.h - options shared by predict, fits, max-batch and replay: the predictors and devices they open, and
 * the requests made from them. */
#ifndef CLI_PREDICT_OPTIONS_H
#define CLI_PREDICT_OPTIONS_H

#include "model_walk.h"

enum { PREDICT_MAX_BATCHES = 64, PREDICT_MAX_SETTINGS = 16 };

typedef struct predict_options {
    ft_parallel parallel;
    ft_training training;
    ft_serving serving;
    bool has_training; /* an option of training was given */
    shape_list shapes;
    name_list predictors;
    const char *prices;       /* as given; NULL: those of data sheets */
    const char *device_names; /* as given, separated by commas; NULL: all */
    int64_t batches[PREDICT_MAX_BATCHES];
    uint32_t batch_count; /* 0: as exported */
    ft_mode mode;
    ft_dtype dtype;
    ft_optimizer optimizer;
    bool has_optimizer;
    const char *runtime;                               /* of --runtime, for all devices; NULL: the usual one of each */
    const char *setting_list[PREDICT_MAX_SETTINGS];    /* "key=value" */
    const char *setting_options[PREDICT_MAX_SETTINGS]; /* the option that set each, until they are sorted */
    char *texts[2 * PREDICT_MAX_SETTINGS + 2];         /* owned: two for each setting, one setting beyond the limit */
    uint32_t text_count;
    uint32_t setting_count;

    /* Once open: */
    ft_predictor_set *set;
    ft_targets *targets;
    uint32_t device_count;
} predict_options;

/* The options; `input` is a predict_options. */
extern const option_set predict_option_set;
void predict_options_init(predict_options *a);
/* Opens predictors and devices. Prints a message when it fails. */
ft_status predict_options_open(predict_options *a);
/* Of `model`, which may be NULL. */
ft_request predict_request(const predict_options *a, const ft_graph *model, uint32_t device, int64_t batch);
/* All requests, device by device; the caller frees them. NULL when out of memory. */
ft_request *predict_requests(const predict_options *a, const ft_graph *model, uint32_t *count);
void predict_options_close(predict_options *a);

#endif
