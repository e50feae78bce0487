/* predict.c - time and memory of a model on every device that the bundled predictors were trained on, fastest first.
 *
 *     predict model.onnx 8        (batch; 1 when left out)
 *
 * The bundled predictors are opened once; one call predicts for all devices. */
#include <foretell/foretell.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64 };

static int by_time(const void *a, const void *b) {
    double x = ft_result_time(((const ft_result *)a))->value, y = ft_result_time(((const ft_result *)b))->value;
    return (x > y) - (x < y);
}

static void print_sorted(const ft_results *results) {
    ft_result sorted[MAX_DEVICES] = {0};
    for (uint32_t i = 0; i < results->count; i++) sorted[i] = results->items[i];
    qsort(sorted, results->count, sizeof *sorted, by_time);
    for (uint32_t i = 0; i < results->count; i++)
        printf("%-20s %12.0f us %10.0f MB\n", sorted[i].request.device, ft_result_time(&sorted[i])->value,
               ft_result_memory(&sorted[i])->value / 1e6);
}

static ft_status predict(const ft_predictor_set *set, const ft_graph *model, int64_t batch, ft_error *error) {
    ft_request requests[MAX_DEVICES];
    uint32_t count =
        ft_predictor_set_device_count(set) < MAX_DEVICES ? ft_predictor_set_device_count(set) : MAX_DEVICES;
    for (uint32_t i = 0; i < count; i++)
        requests[i] = (ft_request){.device = ft_predictor_set_device(set, i), .batch = batch};
    ft_results results = {0};
    ft_status status = ft_predict(set, model, NULL, requests, count, &results, error);
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
    ft_predictor_set *set = NULL;
    ft_graph *model = NULL;
    ft_status status = ft_predictor_set_open(NULL, 0, &set, &error);
    if (!status) status = ft_graph_read(argv[1], &model, &error);
    if (!status) status = predict(set, model, argc > 2 ? strtoll(argv[2], NULL, 10) : 1, &error);
    if (status) fprintf(stderr, "%s\n", error.message);
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return (int)status;
}
