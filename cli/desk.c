#include "desk.h"

ft_status desk_open(desk *d, const char *predictor, const char *data, output_options *options) {
    ft_error error;
    *d = (desk){0};
    ft_status status = ft_predictor_open(predictor, &d->predictor, &error);
    if (status == FT_OK) status = ft_dataset_open(data, &d->data, &error);
    return status != FT_OK ? cli_fail(status, "%s", error.message) : output_open(options, &d->out);
}

void desk_clear(desk *d) {
    output_discard(&d->out);
    ft_dataset_free(d->data);
    ft_predictor_free(d->predictor);
    *d = (desk){0};
}
