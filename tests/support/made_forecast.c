#include "support/made_forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const uint32_t conv_ops[] = {0, 1}, odd_ops[] = {2}, gemm_ops[] = {3, 4};
static const ft_part kernels[MADE_KERNELS] = {{"conv-relu", conv_ops, 2, 10},
                                              {"mystery", odd_ops, 1, 60},
                                              {"gemm", gemm_ops, 2, 30},
                                              {"correction", NULL, 0, -4}};
static const ft_bound bounds[MADE_KERNELS] = {FT_BOUND_MEMORY, FT_BOUND_COMPUTE, FT_BOUND_LAUNCH, FT_BOUND_UNKNOWN};
static const ft_part parts[] = {{"weights", NULL, 0, 6000}, {"activations", NULL, 0, 2000}, {"weights", NULL, 0, 500}};
static const ft_metric_result others[] = {{"cycles", 1234, 1000, 1500, FT_LEARNED},
                                          {"sram_bytes", 4096, NAN, NAN, FT_ANALYTIC}};
static const char *const notes[] = {"a note, with \"quotes\"", "another"};

static void make_first(ft_result *f) {
    *f = (ft_result){
        .request = {.device = "rtx-4090", .batch = 8, .dtype = FT_FLOAT16, .setting = "compile=no;layout=nchw"},
        .time = {"time_us", 96, 80, 120, FT_LEARNED},
        .coverage_ratio = 0.75,
        .time_by = "box/torch.ftm",
        .kernels = kernels,
        .kernel_count = MADE_KERNELS,
        .kernel_bounds = bounds,
        .bound = FT_BOUND_COMPUTE,
        .bound_ratio = 0.6,
        .memory = {"peak_bytes", 8500, 8000, 9000, FT_LEARNED},
        .memory_by = "box/memory.ftm",
        .memory_parts = parts,
        .memory_part_count = 3,
        .others = others,
        .other_count = 2,
        .no_util = "nobody measured it",
        .notes = notes,
        .note_count = 2,
    };
}

static void make_second(ft_result *f) {
    *f = (ft_result){
        .request = {.device = "odd, \"one\"", .batch = 8, .dtype = FT_FLOAT32, .setting = ""},
        .time = {"time_us", NAN, NAN, NAN, FT_ASSUMED},
        .memory = {"peak_bytes", 25e9, NAN, NAN, FT_ANALYTIC},
        .memory_by = "timeline",
        .no_time = "its data sheet says too little",
        .no_util = "nobody measured it",
    };
}

void made_forecast_init(made_forecast *made) {
    made->model = model_new();
    make_first(&made->items[0]);
    make_second(&made->items[1]);
    make_first(&made->items[2]);
    made->items[2].request.batch = 32;
    made->items[2].request.mode = FT_TRAIN;
    made->items[2].request.optimizer = FT_ADAM;
    made->items[2].note_count = 1;
    made->answers = (ft_results){.items = made->items, .count = MADE_FORECASTS};
    made->view = (ft_model_results){.file = "models/it's \"x\".onnx", .model = made->model, .answers = &made->answers};
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
