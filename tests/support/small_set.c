/* small_set.c - small data sets for tests. */
#include "support/small_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "data/builder.h"
#include "support/toy.h"

static void stop(const char *what) {
    fprintf(stderr, "small_set: %s\n", what);
    abort();
}

void write_text(const char *path, const char *text) {
    FILE *stream = fopen(path, "w");
    if (stream == NULL || fputs(text, stream) < 0 || fclose(stream) != 0) stop(path);
}

char *read_text(const char *path) {
    FILE *stream = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (stream == NULL || text == NULL) stop(path);
    size_t size = fread(text, 1, (1 << 20) - 1, stream);
    text[size] = '\0';
    fclose(stream);
    return text;
}

static FILE *open_table(const char *folder, const char *table) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.csv", folder, table);
    FILE *stream = fopen(path, "w");
    if (stream == NULL) stop(path);
    return stream;
}

void write_cg(const char *folder, const char *family, int count) {
    mkdir(folder, 0777);
    FILE *models = open_table(folder, "models"), *nodes = open_table(folder, "nodes"),
         *edges = open_table(folder, "edges");
    fputs("family,index,name,num_nodes,num_edges,graph_id,dgrl_split,cortexA76cpu_tflite21_ms,"
          "adreno640gpu_tflite21_ms,cortexA76cpu_tflite21_std_ms\n",
          models);
    fputs("op,in0,in1,in2,in3,in4,k_h,k_w,k_cin,k_cout,s_h,s_w,out0,out1,out2,out3,out4\n", nodes);
    fputs("src,dst\n", edges);
    for (int i = 0; i < count; i++) {
        int channels = 4 + i;
        fprintf(models, "%s,%d,%s_%d,3,2,%d,%s,%d,%d,0.5\n", family, i, family, i, i, i % 2 == 0 ? "train" : "test",
                10 + i, 5 + i);
        fprintf(nodes, "Placeholder,0,0,0,0,0,0,0,0,0,0,0,1,8,8,3,0\n");
        fprintf(nodes, "Conv2D,1,8,8,3,0,3,3,3,%d,1,1,1,8,8,%d,0\n", channels, channels);
        fprintf(nodes, "Relu,1,8,8,%d,0,0,0,0,0,0,0,1,8,8,%d,0\n", channels, channels);
        fputs("0,1\n1,2\n", edges);
    }
    fclose(models);
    fclose(nodes);
    fclose(edges);
}

ft_graph *small_graph(int width) {
    ft_graph *g = toy_graph(FT_FORMAT_ONNX, FT_NCHW);
    uint32_t x = toy_input(g, 1, 8), w = toy_weight(g, 8, width), h = toy_value(g, 1, width);
    uint32_t y = toy_value(g, 1, width);
    toy_op(g, "MatMul", x, w, FT_NONE, h);
    toy_op(g, "Relu", h, FT_NONE, FT_NONE, y);
    toy_finish(g, y, 1, 1);
    g->is_bound = false;
    return g;
}

void make_small_set(const char *folder) {
    static const char *const metrics[] = {"time_us", "peak_bytes"};
    static const char *const families[] = {"narrow", "narrow", "wide"};
    static const char *const devices[] = {"cortex-a76", "adreno-640"};
    builder *b = NULL;
    ft_error error = {0};
    if (builder_new(folder, metrics, 2, &b, &error) != FT_OK) stop(error.message);
    for (int i = 0; i < 3; i++) {
        ft_graph *graph = small_graph(4 << i);
        uint32_t index;
        char name[16];
        snprintf(name, sizeof name, "net_%d", i);
        if (builder_add_graph(b, graph, &index, &error) != FT_OK) stop(error.message);
        ft_graph_free(graph);
        for (int k = 0; k < 2; k++) {
            double values[2] = {100.5 * (i + 1) + k, k == 0 ? 4096 << i : NAN};
            builder_outcome outcome;
            ft_record r = {.graph = index,
                           .name = name,
                           .family = families[i],
                           .device = devices[k],
                           .setting = "",
                           .part = i < 2 ? "train" : "test",
                           .batch = 1,
                           .dtype = FT_FLOAT32,
                           .metrics = values};
            if (builder_add_record(b, &r, &outcome, &error) != FT_OK) stop(error.message);
        }
    }
    if (builder_finish(b, &error) != FT_OK) stop(error.message);
    builder_free(b);
}

ft_dataset *open_set(const char *folder) {
    ft_dataset *data = NULL;
    ft_error error = {0};
    if (ft_dataset_open(folder, &data, &error) != FT_OK) stop(error.message);
    return data;
}
