/* synth_data.c - data sets of synthetic networks. */
#include "support/synth_data.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/toy.h"

static void must(ft_status status, const ft_error *error) {
    if (status == FT_OK) return;
    fprintf(stderr, "synthetic data: %s\n", error->message);
    abort();
}

ft_op_cost synth_cost(const ft_graph *bound) {
    ft_cost_options options = ft_cost_options_default();
    ft_cost cost = {0};
    ft_error error;
    must(ft_cost_compute(bound, &options, &cost, &error), &error);
    ft_op_cost total = cost.total;
    ft_cost_free(&cost);
    return total;
}

static uint32_t add_conv(ft_graph *g, uint32_t x, int cin, int cout, int kernel, int size) {
    uint32_t weight = toy_weight(g, cout, cin, kernel, kernel);
    uint32_t y = toy_op(g, "Conv", x, weight, FT_NONE, toy_value(g, 1, cout, size, size));
    ft_attr attrs[2] = {toy_ints(g, "kernel_shape", kernel, kernel)};
    int64_t pads[4] = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
    ft_error error;
    must(graph_attr_ints(g, &attrs[1], "pads", pads, 4, &error), &error);
    toy_attrs(g, attrs, 2);
    return y;
}

static uint32_t add_pool(ft_graph *g, uint32_t x, int channels, int size) {
    uint32_t y = toy_op(g, "MaxPool", x, FT_NONE, FT_NONE, toy_value(g, 1, channels, size, size));
    ft_attr attrs[2] = {toy_ints(g, "kernel_shape", 2, 2), toy_ints(g, "strides", 2, 2)};
    toy_attrs(g, attrs, 2);
    return y;
}

ft_graph *synth_network(uint32_t number) {
    static const int kernels[] = {1, 3, 5};
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    int channels = 3, size = 16;
    uint32_t x = toy_input(g, 1, channels, size, size), layers = 1 + number % 4;
    for (uint32_t i = 0; i < layers; i++) {
        int wider = 4 + (int)(number * 7 + i * 5) % 23;
        x = add_conv(g, x, channels, wider, kernels[(number / 3 + i) % 3], size);
        channels = wider;
        if (i % 2 == 0) x = toy_op(g, "Relu", x, FT_NONE, FT_NONE, toy_value(g, 1, channels, size, size));
        if (number % 5 == i) x = add_pool(g, x, channels, size /= 2);
    }
    x = toy_op(g, "GlobalAveragePool", x, FT_NONE, FT_NONE, toy_value(g, 1, channels, 1, 1));
    x = toy_op(g, "Flatten", x, FT_NONE, FT_NONE, toy_value(g, 1, channels));
    int classes = 10 + (int)number;
    x = toy_op(g, "Gemm", x, toy_weight(g, channels, classes), FT_NONE, toy_value(g, 1, classes));
    ft_error error;
    must(graph_add_output(g, x, &error), &error);
    must(graph_finish(g, &error), &error);
    return g;
}

builder *synth_begin(const char *folder) {
    static const char *const metrics[] = {"time_us"};
    return synth_begin_of(folder, metrics, 1);
}

builder *synth_begin_of(const char *folder, const char *const *metrics, uint32_t count) {
    builder *b = NULL;
    ft_error error;
    must(builder_new(folder, metrics, count, &b, &error), &error);
    return b;
}

void synth_add(builder *b, const synth_record *given) {
    ft_graph *graph = synth_network(given->network);
    ft_error error;
    uint32_t index;
    char name[32];
    must(builder_add_graph(b, graph, &index, &error), &error);
    ft_graph_free(graph);
    snprintf(name, sizeof name, "net-%u", given->network);
    ft_record record = {
        .graph = index,
        .name = given->name != NULL ? given->name : name,
        .family = given->family,
        .device = given->device,
        .setting = given->setting != NULL ? given->setting : "",
        .part = given->part != NULL ? given->part : "",
        .batch = 1,
        .dtype = FT_FLOAT32,
        .mode = FT_INFER,
        .metrics = given->metrics != NULL ? given->metrics : &given->time_us,
    };
    builder_outcome outcome;
    must(builder_add_record(b, &record, &outcome, &error), &error);
    if (outcome != RECORD_ADDED) abort();
}

ft_dataset *synth_end(builder *b, const char *folder) {
    ft_dataset *data = NULL;
    ft_error error;
    must(builder_finish(b, &error), &error);
    builder_free(b);
    must(ft_dataset_open(folder, &data, &error), &error);
    return data;
}

ft_dataset *synth_data(const char *folder, uint32_t networks, const char *const *devices, uint32_t device_count,
                       synth_rule *rule) {
    static const char *const families[] = {"one", "two", "three"};
    builder *b = synth_begin(folder);
    for (uint32_t i = 0; i < networks; i++) {
        ft_graph *graph = synth_network(i), *bound = NULL;
        ft_error error;
        must(ft_graph_bind(graph, &(ft_binding){.batch = 1}, &bound, &error), &error);
        for (uint32_t d = 0; d < device_count; d++) {
            synth_record record = {.network = i, .family = families[i % 3], .device = devices[d]};
            record.time_us = rule(bound, devices[d]);
            synth_add(b, &record);
        }
        ft_graph_free(bound);
        ft_graph_free(graph);
    }
    return synth_end(b, folder);
}
