/* top_layers.c - the operators that do most of the work, with their share of it.
 *
 *     top_layers model.onnx */
#include <foretell/foretell.h>
#include <inttypes.h>
#include <stdio.h>

enum { TOP = 5 };

/* Indices of the operators with the most MACs, most first; returns how many there are. */
static uint32_t find_top(const ft_cost *cost, uint32_t top[TOP]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < cost->op_count; i++) {
        uint64_t macs = cost->ops[i].forward.macs;
        uint32_t place = count < TOP ? count++ : TOP;
        while (place > 0 && macs > cost->ops[top[place - 1]].forward.macs) {
            if (place < TOP) top[place] = top[place - 1];
            place--;
        }
        if (place < TOP) top[place] = i;
    }
    return count;
}

static void print_top(const ft_graph *bound, const ft_cost *cost) {
    uint32_t top[TOP], count = find_top(cost, top);
    for (uint32_t i = 0; i < count; i++) {
        const ft_op *op = &ft_graph_ops(bound)[top[i]];
        double share = (double)cost->ops[top[i]].forward.macs / (double)cost->total.forward.macs;
        printf("%5.1f %%  %12" PRIu64 " MACs  %s %s\n", 100 * share, cost->ops[top[i]].forward.macs, op->type,
               op->name);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fputs("usage: top_layers MODEL\n", stderr);
        return FT_ERR_USAGE;
    }
    ft_error error;
    ft_graph *model = NULL, *bound = NULL;
    ft_cost cost = {0};
    ft_cost_options options = ft_cost_options_default();
    ft_status status = ft_graph_read(argv[1], &model, &error);
    if (!status) status = ft_graph_bind(model, NULL, &bound, &error);
    if (!status) status = ft_cost_compute(bound, &options, &cost, &error);
    if (status)
        fprintf(stderr, "top_layers: %s\n", error.message);
    else
        print_top(bound, &cost);
    ft_cost_free(&cost);
    ft_graph_free(bound);
    ft_graph_free(model);
    return (int)status;
}
