/* toy_data.c - makes the data set. Graph i is a chain of i % 9 + 1 operators; its time grows with their number, and a
 * little noise that depends on i alone stands for measurement noise. */
#include "support/toy_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/builder.h"
#include "support/toy.h"

static void must(ft_status status, const ft_error *error) {
    if (status == FT_OK) return;
    fprintf(stderr, "toy data: %s\n", error->message);
    abort();
}

static ft_graph *make_graph(uint32_t index) {
    int size = (int)index + 8;
    ft_error error;
    ft_graph *graph = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t last = toy_input(graph, 1, size);
    for (uint32_t i = 0; i < index % 9 + 1; i++)
        last = toy_op(graph, i % 2 == 0 ? "Relu" : "Sigmoid", last, FT_NONE, FT_NONE, toy_value(graph, 1, size));
    must(graph_add_output(graph, last, &error), &error);
    must(graph_finish(graph, &error), &error);
    return graph;
}

static void add_records(builder *b, uint32_t graph, const toy_data *options) {
    static const char *const devices[] = {"cortex-a76", "adreno-640"};
    for (uint32_t d = 0; d < 2; d++) {
        char name[32];
        ft_error error;
        builder_outcome outcome;
        double noise = 0.1 * sin(12.9 * graph + 78.2 * d);
        double label =
            (d == 0 ? 100.0 : 20.0) * (graph % 9 + 1) * exp(noise) * (options->factor > 0 ? options->factor : 1);
        if (graph * 2 + d + 1 == options->bad_record) label = options->bad_label;
        if (options->has_no_labels) label = (double)NAN;
        const double metrics[] = {label, options->has_memory ? 1e6 * (graph % 9 + 3) : (double)NAN};
        snprintf(name, sizeof name, "toy-%u", graph);
        const ft_record record = {.graph = graph,
                                  .name = name,
                                  .family = graph % 3 == 0 ? "three" : "other",
                                  .device = devices[d],
                                  .setting = options->odd_every > 0 && graph % options->odd_every == 0 ? "odd=1" : "",
                                  .part = graph < options->operators ? "support" : "",
                                  .batch = 1,
                                  .dtype = FT_FLOAT32,
                                  .mode = FT_INFER,
                                  .metrics = metrics};
        must(builder_add_record(b, &record, &outcome, &error), &error);
    }
}

void toy_data_make(const char *folder, const toy_data *options) {
    static const char *const metrics[] = {"time_us", "peak_bytes"};
    const toy_data plain = {0};
    if (options == NULL) options = &plain;
    builder *b = NULL;
    ft_error error;
    must(builder_new(folder, metrics, 2, &b, &error), &error);
    for (uint32_t i = 0; i < (options->graph_count > 0 ? options->graph_count : 60); i++) {
        ft_graph *graph = make_graph(i);
        uint32_t index;
        must(builder_add_graph(b, graph, &index, &error), &error);
        ft_graph_free(graph);
        add_records(b, index, options);
    }
    must(builder_finish(b, &error), &error);
    builder_free(b);
}

ft_dataset *toy_data_open(const char *folder, const toy_data *options) {
    ft_dataset *data = NULL;
    ft_error error;
    toy_data_make(folder, options);
    must(ft_dataset_open(folder, &data, &error), &error);
    return data;
}
