/* desk.h - what `eval`, `adapt` and `sample` work on: a predictor, a data set, and somewhere to write. */
#ifndef CLI_DESK_H
#define CLI_DESK_H

#include "cli.h"

typedef struct desk {
    ft_predictor *predictor;
    ft_dataset *data;
    output out;
} desk;

/* Opens all three, or says what is wrong. The desk is cleared in any case. */
ft_status desk_open(desk *d, const char *predictor, const char *data, output_options *options);
/* What was not committed is discarded. */
void desk_clear(desk *d);

#endif
