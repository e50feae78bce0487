/* parallel_options.h - --tp, --pp, --ep, --cp and --dp: how many devices a model is divided between, for every command
 * that predicts one; how it is trained, and how a language model is served. */
#ifndef CLI_PARALLEL_OPTIONS_H
#define CLI_PARALLEL_OPTIONS_H

#include "cli.h"

/* The options; `input` is an ft_parallel. */
extern const option_set parallel_option_set;

/* Options of training; `input` is a predict_options. */
extern const option_set training_option_set;

/* Options of serving; `input` is a predict_options. */
extern const option_set serving_option_set;

#endif
