#include "support/made_forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const uint32_t conv_ops[] = {0, 1}, odd_ops[] = {2}, gemm_ops[] = {3, 4};
static const ft_part kernels[MADE_KERNELS] = {{"conv-relu", conv_ops, 2, 10, FT_BOUND_MEMORY},
                                              {"mystery", odd_ops, 1, 60, FT_BOUND_COMPUTE},
                                              {"gemm", gemm_ops, 2, 30, FT_BOUND_LAUNCH},
                                              {"correction", NULL, 0, -4, FT_BOUND_UNKNOWN}};
static const ft_part parts[] = {
    {.type = "weights", .value = 6000}, {.type = "activations", .value = 2000}, {.type = "weights", .value = 500}};
static const char *const notes[] = {"a note, with \"quotes\"", "another"};

static ft_metric_result metric(const char *name, double value, double lo, double hi, ft_provenance provenance) {
    ft_metric_result m = {.metric = name, .value = value, .lo = lo, .hi = hi, .provenance = provenance};
    m.shares[provenance] = 1;
    return m;
}

static void make_first(ft_result *f, ft_metric_result *metrics) {
    ft_metric_result *time = &metrics[MADE_TIME], *memory = &metrics[MADE_MEMORY];
    *time = metric("time_us", 96, 80, 120, FT_LEARNED);
    time->shares[FT_LEARNED] = 0.75;
    time->shares[FT_EXTRAPOLATED] = 0.25;
    time->predictor = "set/torch.ftm";
    time->parts = kernels;
    time->part_count = MADE_KERNELS;
    *memory = metric("peak_bytes", 8500, 8000, 9000, FT_LEARNED);
    memory->predictor = "set/memory.ftm";
    memory->parts = parts;
    memory->part_count = 3;
    metrics[MADE_UTIL] = metric("util_ratio", NAN, NAN, NAN, FT_ASSUMED);
    metrics[MADE_UTIL].missing_reason = "it was not measured";
    metrics[MADE_UTIL + 1] = metric("cycles", 1234, 1000, 1500, FT_LEARNED);
    metrics[MADE_UTIL + 2] = metric("sram_bytes", 4096, NAN, NAN, FT_EXTRAPOLATED);
    *f = (ft_result){
        .request = {.device = "rtx-4090", .batch = 8, .dtype = FT_FLOAT16, .setting = "compile=no;layout=nchw"},
        .metrics = metrics,
        .metric_count = MADE_METRICS,
        .coverage_ratio = 0.75,
        .bound = FT_BOUND_COMPUTE,
        .bound_ratio = 0.6,
        .notes = notes,
        .note_count = 2,
    };
}

static void make_second(ft_result *f, ft_metric_result *metrics) {
    metrics[MADE_TIME] = metric("time_us", NAN, NAN, NAN, FT_ASSUMED);
    metrics[MADE_TIME].missing_reason = "its data sheet lacks the bandwidth";
    metrics[MADE_MEMORY] = metric("peak_bytes", 25e9, NAN, NAN, FT_EXTRAPOLATED);
    metrics[MADE_MEMORY].predictor = "timeline";
    metrics[MADE_UTIL] = metric("util_ratio", NAN, NAN, NAN, FT_ASSUMED);
    metrics[MADE_UTIL].missing_reason = "it was not measured";
    *f = (ft_result){.request = {.device = "odd, \"one\"", .batch = 8, .dtype = FT_FLOAT32, .setting = ""},
                     .metrics = metrics,
                     .metric_count = MADE_UTIL + 1};
}

void made_forecast_init(made_forecast *made) {
    made->model = model_new();
    make_first(&made->items[0], made->metrics[0]);
    make_second(&made->items[1], made->metrics[1]);
    make_first(&made->items[2], made->metrics[2]);
    made->items[2].request.batch = 32;
    made->items[2].request.mode = FT_TRAIN;
    made->items[2].request.optimizer = FT_ADAM;
    made->items[2].note_count = 1;
    made->results = (ft_results){.items = made->items, .count = MADE_FORECASTS};
    made->view = (ft_model_results){.file = "models/it's \"x\".onnx", .model = made->model, .results = &made->results};
}

void made_forecast_free(made_forecast *made) {
    ft_graph_free(made->model);
}

static void must(ft_status status, const ft_error *error) {
    if (status == FT_OK) return;
    fprintf(stderr, "made forecast: %s\n", error->message);
    abort();
}

char *made_report(const made_forecast *made, const ft_result_style *style, int count) {
    char *text = NULL;
    size_t size = 0;
    ft_error error;
    ft_result_report *report = NULL;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL) abort();
    must(ft_result_report_begin(stream, style, &report, &error), &error);
    for (int i = 0; i < count; i++) must(ft_result_report_add(report, &made->view, &error), &error);
    must(ft_result_report_end(report, &error), &error);
    fclose(stream);
    return text;
}
