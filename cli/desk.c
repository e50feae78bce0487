#include "desk.h"

static ft_status open_desk(desk *d, const char *predictor, const char *data, output_options *options) {
    ft_error error;
    ft_status status = ft_predictor_open(predictor, &d->predictor, &error);
    if (status == FT_OK) status = ft_dataset_open(data, &d->data, &error);
    return status != FT_OK ? cli_fail(status, "%s", error.message) : output_open(options, &d->out);
}

int desk_work(const char *predictor, const char *data, output_options *options, desk_worker *work, void *user) {
    desk d = {0};
    stop_install();
    ft_status status = open_desk(&d, predictor, data, options);
    if (status == FT_OK) status = work(user, &d);
    output_discard(&d.out);
    ft_dataset_free(d.data);
    ft_predictor_free(d.predictor);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}
