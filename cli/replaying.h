/* replaying.h - how `foretell replay` is to play: the options that are its own. */
#ifndef CLI_REPLAYING_H
#define CLI_REPLAYING_H

#include "asking.h"

enum { REPLAYING_MOST_COUNTS = 32 };

typedef struct replaying {
    asking *asking; /* what else was asked for: set before parsing */
    ft_replay_style style;
    ft_replay_options options;
    int64_t workers[REPLAYING_MOST_COUNTS];
    uint32_t worker_counts;
    const char *times, *trace, *plot;
    bool is_strict, is_derived, is_quiet;
} replaying;

/* The options; `input` is a replaying. What does not go together is found when parsing ends. */
extern const option_set replaying_set;
void replaying_init(replaying *r, asking *a);

#endif
