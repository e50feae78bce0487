/* largest_batch.c - the largest batch with which a model trains in a given memory.
 *
 *     largest_batch model.onnx 24        (gigabytes; 24 when left out)
 *
 * The plan counts weights, gradients, optimiser state and activations. What a framework takes for itself (a context, a
 * caching allocator) comes on top. */
#include <foretell/foretell.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static ft_status train_peak(const ft_graph *model, int64_t batch, uint64_t *peak_bytes, ft_error *error) {
    ft_graph *bound = NULL;
    ft_memory memory = {0};
    ft_cost_options options = ft_cost_options_default();
    options.mode = FT_TRAIN;
    options.optimizer = FT_ADAMW;
    ft_status status = ft_graph_bind(model, &(ft_binding){.batch = batch}, &bound, error);
    if (!status) status = ft_memory_plan(bound, &options, &memory, NULL, NULL, error);
    *peak_bytes = memory.peak_bytes;
    ft_graph_free(bound);
    return status;
}

/* Bisects: the peak never falls as the batch grows. 0 when not even a batch of 1 fits. */
static ft_status largest_batch(const ft_graph *model, uint64_t limit_bytes, int64_t *largest, ft_error *error) {
    int64_t fits = 0, too_large = 1 << 20;
    while (too_large - fits > 1) {
        int64_t middle = fits + (too_large - fits) / 2;
        uint64_t peak_bytes = 0;
        ft_status status = train_peak(model, middle, &peak_bytes, error);
        if (status) return status;
        if (peak_bytes <= limit_bytes)
            fits = middle;
        else
            too_large = middle;
    }
    *largest = fits;
    return FT_OK;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("usage: largest_batch MODEL [GIGABYTES]\n", stderr);
        return FT_ERR_USAGE;
    }
    double gigabytes = argc > 2 ? strtod(argv[2], NULL) : 24;
    ft_error error;
    ft_graph *model = NULL;
    int64_t largest = 0;
    ft_status status = ft_graph_read(argv[1], &model, &error);
    if (!status) status = largest_batch(model, (uint64_t)(gigabytes * 1e9), &largest, &error);
    if (status)
        fprintf(stderr, "largest_batch: %s\n", error.message);
    else
        printf("%s trains with AdamW in %g GB up to batch %" PRId64 "\n", argv[1], gigabytes, largest);
    ft_graph_free(model);
    return (int)status;
}
