/* predict.c - how long a model takes on every device of the box, fastest first.
 *
 *     predict model.onnx 8        (batch; 1 when left out)
 *
 * The predictors that ship with foretell are opened once; all devices are asked about in one call. */
#include <foretell/foretell.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_DEVICES = 64 };

static int by_time(const void *a, const void *b) {
    double x = ft_result_time(((const ft_result *)a))->value, y = ft_result_time(((const ft_result *)b))->value;
    return (x > y) - (x < y);
}

static void print_sorted(const ft_results *results) {
    ft_result sorted[MOST_DEVICES] = {0};
    for (uint32_t i = 0; i < results->count; i++) sorted[i] = results->items[i];
    qsort(sorted, results->count, sizeof *sorted, by_time);
    for (uint32_t i = 0; i < results->count; i++)
        printf("%-20s %12.0f us %10.0f MB\n", sorted[i].request.device, ft_result_time(&sorted[i])->value,
               ft_result_memory(&sorted[i])->value / 1e6);
}

static ft_status predict(const ft_predictor_set *box, const ft_graph *model, int64_t batch, ft_error *error) {
    ft_request requests[MOST_DEVICES];
    uint32_t count =
        ft_predictor_set_device_count(box) < MOST_DEVICES ? ft_predictor_set_device_count(box) : MOST_DEVICES;
    for (uint32_t i = 0; i < count; i++)
        requests[i] = (ft_request){.device = ft_predictor_set_device(box, i), .batch = batch};
    ft_results results = {0};
    ft_status status = ft_predict(box, model, NULL, requests, count, &results, error);
    if (!status) print_sorted(&results);
    ft_results_free(&results);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("usage: predict MODEL [BATCH]\n", stderr);
        return FT_ERR_USAGE;
    }
    ft_error error;
    ft_predictor_set *box = NULL;
    ft_graph *model = NULL;
    ft_status status = ft_predictor_set_open(NULL, 0, &box, &error);
    if (!status) status = ft_graph_read(argv[1], &model, &error);
    if (!status) status = predict(box, model, argc > 2 ? strtoll(argv[2], NULL, 10) : 1, &error);
    if (status) fprintf(stderr, "%s\n", error.message);
    ft_graph_free(model);
    ft_predictor_set_free(box);
    return (int)status;
}
