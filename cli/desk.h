/* desk.h - what `eval`, `adapt` and `sample` work on: a predictor, a data set, and somewhere to write. */
#ifndef CLI_DESK_H
#define CLI_DESK_H

#include "cli.h"

typedef struct desk {
    ft_predictor *predictor;
    ft_dataset *data;
    output out;
} desk;

/* Does the work of a command, tells people what goes wrong, and commits the output when nothing does. */
typedef ft_status desk_worker(void *user, desk *d);

/* Opens all three, or says what is wrong; works, and closes them. What was not committed is discarded. What the process
 * exits with. */
int desk_work(const char *predictor, const char *data, output_options *options, desk_worker *work, void *user);

#endif
