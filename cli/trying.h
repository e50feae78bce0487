/* trying.h - what is trained again and again: the options that `tune` and `ablate` share. */
#ifndef CLI_TRYING_H
#define CLI_TRYING_H

#include "foretell/tune.h"
#include "settings.h"

typedef struct trying {
    ft_trial_options trial;
    settings config;
    const char *data, *folder;
    ft_style style;
    bool is_quiet;
} trying;

/* --data, --metric, --split, --seed, --family, --config, --objective, --workers, --threads, --time, --resume, --keep,
 * --output, --format, --quiet. `input` is a trying. */
extern const option_set trying_set;

void trying_init(trying *t);
/* Reads the file of settings and opens the data set. */
ft_status trying_open(trying *t, ft_dataset **data);
void trying_free(trying *t);

/* Opens standard output for a document. */
typedef ft_status trying_writer(const void *user, const ft_style *style, FILE *stream, ft_error *error);
ft_status trying_show(trying *t, trying_writer *write, const void *user);

#endif
