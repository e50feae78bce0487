/* trial_options.h - options shared by `tune` and `ablate`, which train many predictors. */
#ifndef CLI_TRIAL_OPTIONS_H
#define CLI_TRIAL_OPTIONS_H

#include "foretell/tune.h"
#include "options.h"

typedef struct trial_options {
    ft_trial_options trial;
    config_list config;
    const char *data, *folder;
    ft_style style;
    bool is_quiet;
} trial_options;

/* --data, --metric, --split, --seed, --family, --config, --objective, --workers, --threads, --time, --resume, --keep,
 * --output, --format, --quiet. `input` is a trial_options. */
extern const option_set trial_option_set;

void trial_options_init(trial_options *t);
/* Reads the file of settings and opens the data set. */
ft_status trial_options_open(trial_options *t, ft_dataset **data);
void trial_options_free(trial_options *t);

/* Opens standard output for a document. */
typedef ft_status trial_writer(const void *user, const ft_style *style, FILE *stream, ft_error *error);
ft_status trial_options_show(trial_options *t, trial_writer *write, const void *user);

#endif
