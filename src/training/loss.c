/* loss.c - cross-entropy behind the logits of a language model.
 *
 * Frameworks convert logits to float32, take the logarithm of their softmax, which backward keeps, and choose the words
 * that follow. Ranks that divide the words each have their part of the logits. */
#include <stdio.h>

#include "graph/opdef.h"
#include "training/training.h"

/* Logits: an output that a product with a stored matrix makes, behind which nothing follows. */
static bool is_logits(const ft_graph *graph, uint32_t tensor) {
    const ft_tensor *t = &graph->tensors[tensor];
    const ft_op *op = t->producer == FT_NONE ? NULL : &graph->ops[t->producer];
    if (op == NULL || op->def->cost != COST_MATMUL || t->rank < 2 || t->use_count > 0) return false;
    return dtype_info_of(t->dtype).is_float && op->outputs[0] == tensor;
}

static ft_status add_float(ft_graph *graph, uint32_t like, const char *suffix, uint64_t bytes, uint32_t *made,
                           ft_error *error) {
    FT_TRY(training_like(graph, like, suffix, made, error));
    graph->tensors[*made].dtype = FT_FLOAT32;
    graph->tensors[*made].held_bytes = bytes;
    return FT_OK;
}

/* Logits in float32, which costs nothing where they are. */
static ft_status add_cast(ft_graph *graph, uint32_t logits, ft_dtype dtype, uint64_t bytes, uint32_t *wide,
                          ft_error *error) {
    *wide = logits;
    if (dtype == FT_FLOAT32) return FT_OK;
    FT_TRY(add_float(graph, logits, "float32", bytes, wide, error));
    return training_op(graph, "Cast", "/loss/Cast", &logits, 1, *wide, error);
}

static ft_status add_loss(const ft_graph *from, ft_graph *graph, uint32_t logits, ft_dtype dtype, ft_error *error) {
    const ft_tensor *t = &from->tensors[logits];
    uint64_t bytes = dtype_bytes(FT_FLOAT32, tensor_elems(from, t));
    ft_tensor words = {.name = "labels", .dtype = FT_INT64, .role = FT_INPUT, .rank = t->rank - 1, .is_batched = true};
    ft_tensor loss = {.name = "loss", .dtype = FT_FLOAT32, .role = FT_ACTIVATION, .rank = 0};
    for (int32_t i = 0; i < words.rank; i++) words.dims[i] = t->dims[i];
    uint32_t wide, logs, labels, result;
    FT_TRY(add_cast(graph, logits, dtype != FT_DTYPE_UNKNOWN ? dtype : t->dtype, bytes, &wide, error));
    FT_TRY(add_float(graph, logits, "log_softmax", bytes, &logs, error));
    FT_TRY(graph_add_tensor(graph, &words, &labels, error));
    FT_TRY(graph_add_tensor(graph, &loss, &result, error));
    FT_TRY(graph_add_input(graph, labels, error));
    FT_TRY(training_op(graph, "LogSoftmax", "/loss/LogSoftmax", &wide, 1, logs, error));
    const uint32_t inputs[2] = {logs, labels};
    FT_TRY(
        training_op(graph, "NegativeLogLikelihoodLoss", "/loss/NegativeLogLikelihoodLoss", inputs, 2, result, error));
    return graph_add_output(graph, result, error);
}

static ft_status fill(const ft_graph *rank, ft_dtype dtype, ft_graph *graph, ft_error *error) {
    for (uint32_t k = 0; k < rank->op_count; k++) FT_TRY(graph_add_op(graph, &rank->ops[k], error));
    for (uint32_t i = 0; i < rank->outputs.count; i++) {
        uint32_t output = rank->outputs.items[i];
        if (is_logits(rank, output))
            FT_TRY(add_loss(rank, graph, output, dtype, error));
        else
            FT_TRY(graph_add_output(graph, output, error));
    }
    return training_copy_end(rank, graph, error);
}

ft_status training_loss_add(const ft_graph *rank, ft_dtype dtype, ft_graph **graph, ft_error *error) {
    FT_TRY(training_copy_tensors(rank, graph, error));
    ft_status status = fill(rank, dtype, *graph, error);
    if (status == FT_OK) return FT_OK;
    ft_graph_free(*graph);
    *graph = NULL;
    return status;
}
