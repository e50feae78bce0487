/* example_results.c - results written by hand, for the tests of reports. */
#include "support/example_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const uint32_t conv_ops[] = {0, 1}, odd_ops[] = {2}, gemm_ops[] = {3, 4};
static const ft_part kernels[EXAMPLE_KERNELS] = {{"conv-relu", conv_ops, 2, 10, FT_BOUND_MEMORY, false},
                                                 {"mystery", odd_ops, 1, 60, FT_BOUND_COMPUTE, false},
                                                 {"gemm", gemm_ops, 2, 30, FT_BOUND_LAUNCH, false},
                                                 {"correction", NULL, 0, -4, FT_BOUND_UNKNOWN, false}};
static const ft_part parts[] = {
    {.type = "weights", .value = 6000}, {.type = "activations", .value = 2000}, {.type = "weights", .value = 500}};
static const char *const notes[] = {"a note, with \"quotes\"", "another"};

static ft_metric_result metric(const char *name, double value, double lo, double hi, ft_provenance provenance) {
    ft_metric_result m = {.metric = name, .value = value, .lo = lo, .hi = hi, .provenance = provenance};
    m.shares[provenance] = 1;
    return m;
}

static void make_first(ft_result *f, ft_metric_result *metrics) {
    ft_metric_result *time = &metrics[EXAMPLE_TIME], *memory = &metrics[EXAMPLE_MEMORY];
    *time = metric("time_us", 96, 80, 120, FT_LEARNED);
    time->shares[FT_LEARNED] = 0.75;
    time->shares[FT_EXTRAPOLATED] = 0.25;
    time->predictor = "set/torch.ftm";
    time->parts = kernels;
    time->part_count = EXAMPLE_KERNELS;
    *memory = metric("peak_bytes", 8500, 8000, 9000, FT_LEARNED);
    memory->predictor = "set/memory.ftm";
    memory->parts = parts;
    memory->part_count = 3;
    metrics[EXAMPLE_UTIL] = metric("util_ratio", NAN, NAN, NAN, FT_ASSUMED);
    metrics[EXAMPLE_UTIL].missing_reason = "it was not measured";
    metrics[EXAMPLE_UTIL + 1] = metric("cycles", 1234, 1000, 1500, FT_LEARNED);
    metrics[EXAMPLE_UTIL + 2] = metric("sram_bytes", 4096, NAN, NAN, FT_EXTRAPOLATED);
    *f = (ft_result){
        .request = {.device = "rtx-4090", .batch = 8, .dtype = FT_FLOAT16, .setting = "compile=no;layout=nchw"},
        .metrics = metrics,
        .metric_count = EXAMPLE_METRICS,
        .coverage_ratio = 0.75,
        .bound = FT_BOUND_COMPUTE,
        .bound_ratio = 0.6,
        .notes = notes,
        .note_count = 2,
    };
}

static void make_second(ft_result *f, ft_metric_result *metrics) {
    metrics[EXAMPLE_TIME] = metric("time_us", NAN, NAN, NAN, FT_ASSUMED);
    metrics[EXAMPLE_TIME].missing_reason = "its data sheet lacks the bandwidth";
    metrics[EXAMPLE_MEMORY] = metric("peak_bytes", 25e9, NAN, NAN, FT_EXTRAPOLATED);
    metrics[EXAMPLE_MEMORY].predictor = "timeline";
    metrics[EXAMPLE_UTIL] = metric("util_ratio", NAN, NAN, NAN, FT_ASSUMED);
    metrics[EXAMPLE_UTIL].missing_reason = "it was not measured";
    *f = (ft_result){.request = {.device = "odd, \"one\"", .batch = 8, .dtype = FT_FLOAT32, .setting = ""},
                     .metrics = metrics,
                     .metric_count = EXAMPLE_UTIL + 1};
}

void example_results_init(example_results *example) {
    example->model = model_new();
    make_first(&example->items[0], example->metrics[0]);
    make_second(&example->items[1], example->metrics[1]);
    make_first(&example->items[2], example->metrics[2]);
    example->items[2].request.batch = 32;
    example->items[2].request.mode = FT_TRAIN;
    example->items[2].request.optimizer = FT_ADAM;
    example->items[2].note_count = 1;
    example->results = (ft_results){.items = example->items, .count = EXAMPLE_RESULTS};
    example->entry =
        (ft_model_results){.file = "models/it's \"x\".onnx", .model = example->model, .results = &example->results};
}

void example_results_free(example_results *example) {
    ft_graph_free(example->model);
}

static void must(ft_status status, const ft_error *error) {
    if (status == FT_OK) return;
    fprintf(stderr, "example results: %s\n", error->message);
    abort();
}

char *example_report(const example_results *example, const ft_result_style *style, int count) {
    char *text = NULL;
    size_t size = 0;
    ft_error error;
    ft_result_report *report = NULL;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL) abort();
    must(ft_result_report_begin(stream, style, &report, &error), &error);
    for (int i = 0; i < count; i++) must(ft_result_report_add(report, &example->entry, &error), &error);
    must(ft_result_report_end(report, &error), &error);
    fclose(stream);
    return text;
}
