/* copy.c - copies of bound graphs, for transformations that add operators or change some. */
#include <stdio.h>
#include <stdlib.h>

#include "graph/opdef.h"
#include "training/training.h"

ft_status training_copy_tensors(const ft_graph *from, ft_graph **to, ft_error *error) {
    uint32_t index;
    FT_TRY(graph_new(from->format, from->layout, from->name, to, error));
    ft_status status = graph_reserve(*to, from->tensor_count * (size_t)2, from->op_count * (size_t)2, error);
    for (uint32_t i = 0; i < from->tensor_count && status == FT_OK; i++) {
        ft_tensor t = from->tensors[i];
        t.is_output = false;
        t.uses = NULL;
        t.use_count = 0;
        status = graph_add_tensor(*to, &t, &index, error);
        assert(status != FT_OK || index == i);
    }
    if (status == FT_OK) return FT_OK;
    ft_graph_free(*to);
    *to = NULL;
    return status;
}

static void mark_read(const ft_graph *graph, bool *is_read) {
    for (uint32_t k = 0; k < graph->op_count; k++)
        for (uint32_t i = 0; i < graph->ops[k].input_count; i++)
            if (graph->ops[k].inputs[i] != FT_NONE) is_read[graph->ops[k].inputs[i]] = true;
}

static ft_status copy_inputs(const ft_graph *from, ft_graph *to, ft_error *error) {
    bool *is_read = calloc((size_t)to->tensor_count + 1, sizeof *is_read);
    ft_status status = is_read != NULL ? FT_OK : FT_NOMEM(error);
    if (is_read != NULL) mark_read(to, is_read);
    for (uint32_t i = 0; i < from->inputs.count && status == FT_OK; i++) {
        uint32_t input = from->inputs.items[i];
        if (is_read[input])
            status = graph_add_input(to, input, error);
        else
            to->tensors[input].role = FT_ACTIVATION; /* nothing makes it and nothing reads it */
    }
    free(is_read);
    return status;
}

ft_status training_copy_end(const ft_graph *from, ft_graph *to, ft_error *error) {
    FT_TRY(copy_inputs(from, to, error));
    for (uint32_t i = 0; i < from->meta_count; i++)
        FT_TRY(graph_set_meta(to, from->meta[i].key, from->meta[i].value, error));
    FT_TRY(graph_finish(to, error));
    return graph_mark_bound(to, from->batch, from->exported_batch) ? FT_OK : FT_NOMEM(error);
}

ft_status training_like(ft_graph *graph, uint32_t tensor, const char *suffix, uint32_t *made, ft_error *error) {
    char name[256];
    ft_tensor t = graph->tensors[tensor];
    snprintf(name, sizeof name, "%.200s.%s", t.name, suffix);
    t.name = name;
    t.role = FT_ACTIVATION;
    t.is_output = false;
    t.value = NULL;
    return graph_add_tensor(graph, &t, made, error);
}

ft_status training_op(ft_graph *graph, const char *type, const char *name, const uint32_t *inputs, uint32_t count,
                      uint32_t output, ft_error *error) {
    const ft_op op = {.name = name,
                      .type = type,
                      .def = opdef_find(FT_FORMAT_ONNX, type),
                      .inputs = inputs,
                      .outputs = &output,
                      .input_count = count,
                      .output_count = 1,
                      .repeats = 1};
    return graph_add_op(graph, &op, error);
}
