/* eval_session.c - opens a predictor, a data set and the output for a command, and closes them. */
#include "eval_session.h"

static ft_status open_session(eval_session *s, const char *predictor, const char *data, output_options *options) {
    ft_error error;
    ft_status status = ft_predictor_open(predictor, &s->predictor, &error);
    if (status == FT_OK) status = ft_dataset_open(data, &s->data, &error);
    return status != FT_OK ? cli_fail(status, "%s", error.message) : output_open(options, &s->out);
}

int eval_session_run(const char *predictor, const char *data, output_options *options, eval_session_work *work,
                     void *user) {
    eval_session s = {0};
    stop_install();
    ft_status status = open_session(&s, predictor, data, options);
    if (status == FT_OK) status = work(user, &s);
    output_discard(&s.out);
    ft_dataset_free(s.data);
    ft_predictor_free(s.predictor);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}
