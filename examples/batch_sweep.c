/* batch_sweep.c - work and memory of a model over batch sizes, from one read of the file.
 *
 *     batch_sweep model.onnx */
#include <foretell/foretell.h>
#include <inttypes.h>
#include <stdio.h>

static ft_status print_batch(const ft_graph *model, int64_t batch, ft_error *error) {
    ft_graph *bound = NULL;
    ft_cost cost = {0};
    ft_memory infer = {0}, train = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_status status = ft_graph_bind(model, &(ft_binding){.batch = batch}, &bound, error);
    if (!status) status = ft_cost_compute(bound, &options, &cost, error);
    if (!status) status = ft_memory_plan(bound, &options, &infer, NULL, NULL, error);
    options.mode = FT_TRAIN;
    if (!status) status = ft_memory_plan(bound, &options, &train, NULL, NULL, error);
    if (!status) {
        printf("%6" PRId64 " %12.3f %14.1f %14.1f\n", batch, (double)cost.total.forward.macs / 1e9,
               (double)infer.peak_bytes / 1e6, (double)train.peak_bytes / 1e6);
    }
    ft_cost_free(&cost);
    ft_graph_free(bound);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: batch_sweep MODEL\n", stderr);
        return FT_ERR_USAGE;
    }
    ft_error error;
    ft_graph *model = NULL;
    ft_status status = ft_graph_read(argv[1], &model, &error);
    if (!status) printf("%6s %12s %14s %14s\n", "batch", "GMACs", "infer peak MB", "train peak MB");
    for (int64_t batch = 1; !status && batch <= 256; batch *= 4) status = print_batch(model, batch, &error);
    if (status) fprintf(stderr, "batch_sweep: %s\n", error.message);
    ft_graph_free(model);
    return (int)status;
}
