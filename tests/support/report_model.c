/* report_model.c - a small model with awkward names, and reports on it. */
#include "support/report_model.h"

#include <stdio.h>
#include <stdlib.h>

#include "graph/graph.h"

static void must(ft_status status, const ft_error *error) {
    if (status == FT_OK) return;
    fprintf(stderr, "report model: %s\n", error->message);
    abort();
}

static uint32_t tensor(ft_graph *graph, const char *name, ft_role role, int32_t rank, const int64_t *dims) {
    ft_tensor spec = {.name = name, .dtype = FT_FLOAT32, .role = role, .rank = rank};
    ft_error error;
    uint32_t index = FT_NONE;
    for (int32_t i = 0; i < rank; i++) spec.dims[i] = dims[i];
    must(graph_add_tensor(graph, &spec, &index, &error), &error);
    return index;
}

static void op(ft_graph *graph, const char *name, const char *type, uint32_t x, uint32_t w, uint32_t y) {
    uint32_t inputs[] = {x, w};
    ft_op spec = {.name = name, .type = type, .inputs = inputs, .outputs = &y, .output_count = 1};
    ft_attr *trans_b = ARENA_NEW(&graph->memory, ft_attr); /* attributes live with the graph */
    ft_error error;
    spec.input_count = w == FT_NONE ? 1 : 2;
    must(graph_attr_int(graph, trans_b, "transB", 1, &error), &error);
    spec.attrs = trans_b;
    spec.attr_count = type[0] == 'G' ? 1 : 0;
    must(graph_add_op(graph, &spec, &error), &error);
}

ft_graph *model_new(void) {
    ft_graph *g = NULL;
    ft_error error;
    int64_t batch;
    must(graph_new(FT_FORMAT_ONNX, FT_NCHW, "a \"model\", small", &g, &error), &error);
    must(graph_symbol(g, "N", &batch, &error), &error);
    uint32_t x = tensor(g, "in,put", FT_INPUT, 4, (int64_t[]){batch, 3, 8, 8});
    uint32_t w = tensor(g, "w", FT_CONSTANT, 4, (int64_t[]){4, 3, 3, 3});
    uint32_t v = tensor(g, "v", FT_CONSTANT, 2, (int64_t[]){10, 144});
    uint32_t a = tensor(g, "a", FT_ACTIVATION, -1, NULL);
    uint32_t b = tensor(g, "b", FT_ACTIVATION, -1, NULL);
    uint32_t c = tensor(g, "c", FT_ACTIVATION, 4, (int64_t[]){batch, 4, 6, 6});
    uint32_t d = tensor(g, "d", FT_ACTIVATION, -1, NULL);
    uint32_t y = tensor(g, "y", FT_ACTIVATION, -1, NULL);
    must(graph_add_input(g, x, &error), &error);
    op(g, "conv \xff\n1", "Conv", x, w, a);
    op(g, "", "Relu", a, FT_NONE, b); /* without a name: reports use the name of its output */
    op(g, "odd;one", "Mystery", b, FT_NONE, c);
    op(g, "flat", "Flatten", c, FT_NONE, d);
    op(g, "gr\xc3\xb6\xc3\x9f\x65", "Gemm", d, v, y);
    must(graph_add_output(g, y, &error), &error);
    must(graph_set_meta(g, "producer", "a\ttest", &error), &error);
    must(graph_finish(g, &error), &error);
    return g;
}

char *model_report(const ft_inspect_options *options, int count) {
    char *text = NULL;
    size_t size = 0;
    ft_error error;
    ft_report *report = NULL;
    ft_graph *graph = model_new();
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL) abort();
    must(ft_report_begin(stream, options, &report, &error), &error);
    for (int i = 0; i < count; i++) must(ft_report_model(report, "models/it's \"x\".onnx", graph, &error), &error);
    must(ft_report_end(report, &error), &error);
    fclose(stream);
    ft_graph_free(graph);
    return text;
}
