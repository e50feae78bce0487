/* shape_options.c - --shape: parses shapes and chooses those that apply to a model. */
#include <stdlib.h>
#include <string.h>

#include "model_walk.h"

void shapes_add(void *field, const char *text, const option_row *row, struct argp_state *state) {
    shape_list *list = field;
    ft_error error;
    size_t size = strlen(text) + 1;
    char *name = malloc(size);
    if (list->count == SHAPES_MAX) argp_error(state, "--%s: at most %d of them", row->name, SHAPES_MAX);
    if (name == NULL || ft_shape_binding_parse(text, name, size, &list->items[list->count], &error) != FT_OK) {
        free(name);
        argp_error(state, "--%s %s", row->name, name == NULL ? "is too long" : error.message);
    }
    list->count++;
}

static bool has_dim_named(const ft_graph *graph, const ft_tensor *tensor, const char *name) {
    for (int32_t d = 0; d < tensor->rank; d++) {
        const char *symbol = ft_dim_symbol(graph, tensor->dims[d]);
        if (symbol != NULL && strcmp(symbol, name) == 0) return true;
    }
    return false;
}

static bool has_input_or_symbol(const ft_graph *graph, const char *name) {
    const ft_tensor *tensors = ft_graph_tensors(graph);
    for (uint32_t i = 0; i < ft_graph_input_count(graph); i++)
        if (strcmp(tensors[ft_graph_inputs(graph)[i]].name, name) == 0) return true;
    for (uint32_t i = 0; i < ft_graph_tensor_count(graph); i++)
        if (has_dim_named(graph, &tensors[i], name)) return true;
    return false;
}

ft_binding shapes_for(shape_list *list, ft_shape_binding *chosen, const ft_graph *graph, bool has_several,
                      int64_t batch) {
    ft_binding binding = {.batch = batch, .shapes = list->items, .shape_count = list->count};
    if (!has_several || list->count == 0) return binding;
    binding.shapes = chosen;
    binding.shape_count = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (!has_input_or_symbol(graph, list->items[i].name)) continue;
        list->is_used[i] = true;
        chosen[binding.shape_count++] = list->items[i];
    }
    return binding;
}

ft_status shapes_check_used(const shape_list *list, const model_walk *m) {
    if (!m->has_several || m->model_count == 0) return FT_OK;
    for (uint32_t i = 0; i < list->count; i++)
        if (!list->is_used[i])
            return cli_fail(FT_ERR_USAGE, "--shape %s: none of the models has an input or symbol of that name",
                            list->items[i].name);
    return FT_OK;
}

void shapes_free(shape_list *list) {
    for (uint32_t i = 0; i < list->count; i++) free((char *)list->items[i].name);
    list->count = 0;
}
