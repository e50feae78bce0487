/* eval_session.h - a predictor, a data set and an output, opened for `eval`, `adapt` and `sample`. */
#ifndef CLI_EVAL_SESSION_H
#define CLI_EVAL_SESSION_H

#include "cli.h"

typedef struct eval_session {
    ft_predictor *predictor;
    ft_dataset *data;
    output out;
} eval_session;

/* The work of a command: prints its own messages, and commits the output when it succeeds. */
typedef ft_status eval_session_work(void *user, eval_session *s);

/* Opens all three, works, and closes them; output that was not committed is discarded. Returns the exit status. */
int eval_session_run(const char *predictor, const char *data, output_options *options, eval_session_work *work,
                     void *user);

#endif
