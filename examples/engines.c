/* engines.c - a step of a model replayed on several sets of engines, to compare their iteration times.
 *
 *     engines model.onnx adreno-640        (device; rtx-4090 when left out)
 *
 * Times of kernels are predicted by the bundled predictors. */
#include <foretell/foretell.h>
#include <stdio.h>

static ft_status print_replay(const ft_flow *flow, const char *engines, ft_error *error) {
    ft_replay_options options = ft_replay_options_default();
    ft_replay replay;
    options.engines = engines;
    ft_status status = ft_replay_run(flow, &options, &replay, error);
    if (status) return status;
    printf("%-20s %10.0f us, critical path %10.0f us, first engine busy %3.0f %%\n", engines, replay.iteration_us,
           replay.critical_us, 100 * replay.engines[0].use_ratio);
    ft_replay_free(&replay);
    return FT_OK;
}

static ft_status print_replays(const ft_predictor_set *set, const ft_graph *model, const char *device,
                               ft_error *error) {
    static const char *const engines[] = {"compute:1", "compute:2", "compute:1,copy:1", "mme:conv,fc;tpc:*"};
    const ft_request request = {.device = device, .batch = 8};
    ft_results results = {0};
    ft_flow *flow = NULL;
    ft_status status = ft_predict(set, model, NULL, &request, 1, &results, error);
    if (!status) status = ft_flow_from_result(&(ft_model_results){"model", model, NULL, &results}, 0, &flow, error);
    for (size_t i = 0; !status && i < sizeof engines / sizeof engines[0]; i++)
        status = print_replay(flow, engines[i], error);
    ft_flow_free(flow);
    ft_results_free(&results);
    return status;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("usage: engines MODEL [DEVICE]\n", stderr);
        return FT_ERR_USAGE;
    }
    ft_error error;
    ft_predictor_set *set = NULL;
    ft_graph *model = NULL;
    ft_status status = ft_predictor_set_open(NULL, 0, &set, &error);
    if (!status) status = ft_graph_read(argv[1], &model, &error);
    if (!status) status = print_replays(set, model, argc > 2 ? argv[2] : "rtx-4090", &error);
    if (status) fprintf(stderr, "engines: %s\n", error.message);
    ft_graph_free(model);
    ft_predictor_set_free(set);
    return (int)status;
}
