/* replay_options.h - the options of `foretell replay` alone. */
#ifndef CLI_REPLAY_OPTIONS_H
#define CLI_REPLAY_OPTIONS_H

#include "predict_options.h"

enum { REPLAY_MAX_WORKER_COUNTS = 32 };

typedef struct replay_options {
    predict_options *predict; /* the other options; set before parsing */
    ft_replay_style style;
    ft_replay_options options;
    int64_t workers[REPLAY_MAX_WORKER_COUNTS];
    uint32_t worker_counts;
    const char *times, *programs, *trace, *plot;
    bool is_strict, is_derived, is_quiet;
} replay_options;

/* The options; `input` is a replay_options. */
extern const option_set replay_option_set;
void replay_options_init(replay_options *r, predict_options *a);

#endif
