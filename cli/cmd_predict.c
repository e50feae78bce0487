/* cmd_predict.c - `foretell predict`: time and memory of models on devices, as one document. */
#include <stdlib.h>

#include "commands.h"
#include "parallel_options.h"
#include "predict_options.h"

typedef struct arguments {
    predict_options predict;
    output_options output;
    ft_result_style style;
    const char *trace, *plot, *with;
    ft_graph *other; /* the model of --with */
    argument_list paths;
    uint32_t threads;
    bool is_quiet;
    bool has_goal; /* devices are ranked instead of listed */
    ft_goal goal;
} arguments;

enum { EXIT_NONE_FITS = 20 };

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_goal(void *input, const char *text, const option_row *row, struct argp_state *state) {
    arguments *args = input;
    if (!ft_goal_parse(text, &args->goal)) argp_error(state, "--%s %s: expected time, cost or energy", row->name, text);
    args->has_goal = true;
}

static const option_row rows[] = {
    {.help = "Output selection:", .group = 1},
    {"by-layer", NULL, "time of each kernel, with the operators it fuses", 0, FLAG(arguments, style.has_layers)},
    {"top", "N", "only the N longest kernels (with --by-layer)", 0, COUNT(arguments, style.top, FT_MAX_OPS)},
    {"samples", "N", "also the time of a run over N samples, as an epoch of training", 0,
     COUNT(arguments, style.samples, INT64_MAX / 2)},
    {"with", "MODEL", "also when the model shares each GPU with this one: speed and time of both, memory of both", 0,
     TEXT(arguments, with)},
    {"price", "PRICE",
     "price of an hour, as 2.5/h, or a100=2.5/h,rtx-4090=0.4/h (that of device files): also the cost of the run, or of "
     "a "
     "million samples",
     0, TEXT(arguments, predict.prices)},
    {"choose", "GOAL", "rank the devices that the model fits on by the time, cost or energy of the run", 0,
     PARSED_WHOLE_BY(parse_goal), .choices = "time cost energy"},
    {"trace", "FILE",
     "write a trace for ui.perfetto.dev or chrome://tracing: kernels and memory over time, of one device and batch", 0,
     TEXT(arguments, trace)},
    {"plot", "FILE", "plot time and memory by batch size and device, and time by kernel, to FILE.svg or FILE.png", 0,
     PARSED_BY(option_plot, arguments, plot)},
    THREADS_ROW(arguments, threads, 60),
    QUIET_ROW(arguments, is_quiet, 60),
    {0},
};

static const char doc[] =
    "Predict time and memory of models on phones, GPUs, CPUs and NPUs, for inference and training, with intervals and "
    "provenance.\v"
    "MODEL is a file in any format that 'foretell list formats' lists, a folder of such files, or the name of a "
    "bundled "
    "model ('foretell list models'). Without --device, all devices of the predictors are predicted. Intervals hold the "
    "measured value in 9 of 10 cases; the provenance of a "
    "number is measured, learned, extrapolated or assumed. docs/predict.md explains every number.\n"
    "\n"
    "Examples:\n"
    "  foretell predict resnet50.onnx\n"
    "  foretell predict resnet50 --device rtx-4090\n"
    "  foretell predict resnet50.onnx --device rtx-4090,rtx-3090 --batch 1..256\n"
    "  foretell predict resnet50.onnx --device rtx-3090 --mode train --by-layer\n"
    "  foretell predict resnet50.onnx --device a100 --mode train --batch 256 \\\n"
    "      --samples 1281167\n"
    "  foretell predict bert.onnx --shape sequence=128 --device i9-10940x\n"
    "  foretell predict net.tflite --device adreno-640 --trace net.json\n"
    "  foretell predict models/ --batch 32 --format csv --output times.csv\n"
    "  foretell predict net.onnx --device my-gpu.json\n"
    "  foretell predict resnet50 --device a100,rtx-4090 --mode train --batch 64 \\\n"
    "      --price a100=2.5/h,rtx-4090=0.5/h --samples 1281167 --choose cost\n"
    "  foretell predict Llama-3.1-70B/ --device h100-sxm --context 8192 \\\n"
    "      --batch 32 --tp 4\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, unknown device; 3 cannot open, read or write; 4 not a model in "
    "any "
    "known format, or not a predictor; 5 damaged or truncated; 6 valid, but not supported; 7 larger than a documented "
    "limit; 8 the graph is not valid; 9 a symbolic dimension has no value; 10 refused, the file asks to run code; 11 "
    "out "
    "of memory; 13 some of several models failed; 20 (--choose) no device can be chosen; 130 interrupted.";

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->paths.count == 0) argp_error(state, "no model: give a file or a folder");
    if (args->style.top > 0 && !args->style.has_layers) argp_error(state, "--top is for --by-layer");
    if (args->has_goal && (args->style.has_layers || args->plot != NULL || args->trace != NULL))
        argp_error(state, "--choose ranks devices: it goes without --by-layer, --plot and --trace");
    if (args->has_goal && args->paths.count > 1) argp_error(state, "--choose takes one model: give a single file");
    if ((args->plot != NULL || args->trace != NULL) && args->paths.count > 1)
        argp_error(state, "--%s shows one model: give a single file", args->plot != NULL ? "plot" : "trace");
    if (args->trace != NULL && args->predict.batch_count > 1)
        argp_error(state, "--trace shows one batch: give a single one with --batch");
}

const option_set cmd_predict_options = {.rows = rows,
                                        .check = check,
                                        .parts = {{&predict_option_set, offsetof(arguments, predict)},
                                                  {&parallel_option_set, offsetof(arguments, predict.parallel)},
                                                  {&training_option_set, offsetof(arguments, predict)},
                                                  {&serving_option_set, offsetof(arguments, predict)},
                                                  {&output_set, offsetof(arguments, output)}},
                                        .doc = doc,
                                        .args_doc = "MODEL...",
                                        .arguments = offsetof(arguments, paths)};

/* --- Models -------------------------------------------------------------------------------------------------- */

typedef struct run {
    arguments *args;
    output out;
    bool has_choice;          /* a device was chosen (--choose) */
    ft_result_report *report; /* begun with the first result: a failed run writes nothing */
} run;

static ft_status begin_run(model_walk *m, ft_error *error) {
    const run *r = m->user;
    const char *option = r->args->has_goal ? "choose" : r->args->plot != NULL ? "plot" : "trace";
    if (!m->has_several || (r->args->plot == NULL && r->args->trace == NULL && !r->args->has_goal)) return FT_OK;
    snprintf(error->message, sizeof error->message, "--%s takes one model: give a single file", option);
    return error->status = FT_ERR_USAGE;
}

/* The ranking of devices in place of the results. */
static ft_status write_choice(run *r, const ft_model_results *entry, ft_error *error) {
    const arguments *args = r->args;
    uint32_t best = FT_NONE;
    ft_status status =
        ft_report_choice(r->out.stream, &args->output.style, entry, args->goal, args->style.samples, &best, error);
    r->has_choice = best != FT_NONE;
    return status;
}

/* Pictures come first: when one fails, no text is written. */
static ft_status write_results(run *r, bool has_several, const ft_model_results *entry, ft_error *error) {
    const arguments *args = r->args;
    ft_status status = FT_OK;
    if (args->has_goal) return write_choice(r, entry, error);
    if (args->trace != NULL) status = ft_result_trace(args->trace, entry, 0, error);
    if (status == FT_OK && args->plot != NULL) status = ft_result_plot(args->plot, entry, error);
    if (status == FT_OK && r->report == NULL) {
        ft_result_style style = args->style;
        style.style = args->output.style;
        style.has_cost = ft_targets_have_price(args->predict.targets);
        style.is_list = has_several && !style.has_layers;
        status = ft_result_report_begin(r->out.stream, &style, &r->report, error);
    }
    return status == FT_OK ? ft_result_report_add(r->report, entry, error) : status;
}

/* Results of one model, with the shapes that they refer to. */
typedef struct prediction {
    ft_results results;
    ft_binding binding;
    ft_shape_binding shapes[];
} prediction;

static void free_prediction(void *work) {
    prediction *p = work;
    ft_results_free(&p->results);
    free(p);
}

/* The model of --with in the same requests, and what sharing does to both. */
static ft_status add_shared(const arguments *args, const ft_request *requests, uint32_t count, ft_results *results,
                            ft_error *error) {
    ft_results others;
    if (args->other == NULL) return FT_OK;
    ft_status status = ft_predict(args->predict.set, args->other, NULL, requests, count, &others, error);
    if (status != FT_OK) return status;
    status = ft_share(results, &others, error);
    ft_results_free(&others);
    return status;
}

static ft_status predict_graph(const model_walk *m, const char *path, const ft_graph *graph, void **work,
                               ft_error *error) {
    (void)path;
    const run *r = m->user;
    predict_options *a = &r->args->predict;
    prediction *p = calloc(1, sizeof *p + a->shapes.count * sizeof p->shapes[0]);
    if (p == NULL) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return error->status = FT_ERR_NOMEM;
    }
    p->binding = shapes_for(&a->shapes, p->shapes, graph, m->has_several, 0);
    *work = p;
    uint32_t count;
    ft_request *requests = predict_requests(a, graph, &count);
    if (requests == NULL) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return error->status = FT_ERR_NOMEM;
    }
    ft_status status = ft_predict(a->set, graph, &p->binding, requests, count, &p->results, error);
    if (status == FT_OK) status = add_shared(r->args, requests, count, &p->results, error);
    free(requests);
    return status;
}

static ft_status report_prediction(model_walk *m, const char *path, const ft_graph *graph, void *work,
                                   ft_error *error) {
    const prediction *p = work;
    return write_results(m->user, m->has_several, &(ft_model_results){path, graph, &p->binding, &p->results}, error);
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static void predict_all(run *r, model_walk *m) {
    ft_error error;
    model_walk_run(m);
    if (ft_result_report_end(r->report, &error) == FT_OK || m->fatal != FT_OK) return;
    m->fatal = output_fail(&r->out, error.status, NULL, &error);
}

static ft_status run_models(run *r) {
    arguments *args = r->args;
    model_walk m = {.paths = args->paths,
                    .out = &r->out,
                    .is_quiet = args->is_quiet,
                    .threads = args->threads,
                    .begin = begin_run,
                    .prepare = predict_graph,
                    .release = free_prediction,
                    .visit = report_prediction,
                    .user = r};
    ft_status status = output_open(&args->output, &r->out);
    if (status != FT_OK) return status;
    predict_all(r, &m);
    if (!stop_requested()) {
        model_walk_note_skipped(&m);
        if (m.fatal == FT_OK) m.fatal = shapes_check_used(&args->predict.shapes, &m);
        status = model_walk_status(&m);
    }
    if (m.model_count > 0 && m.fatal == FT_OK && !stop_requested()) {
        ft_status written = output_commit(&r->out);
        if (written != FT_OK) status = written;
    }
    output_discard(&r->out);
    if (status == FT_OK && r->args->has_goal && !r->has_choice) return (ft_status)EXIT_NONE_FITS;
    return status;
}

static ft_status run_predict(arguments *args) {
    run r = {.args = args};
    ft_status status = predict_options_open(&args->predict);
    if (status == FT_OK && args->trace != NULL && args->predict.device_count > 1)
        status = cli_fail(FT_ERR_USAGE, "--trace shows one device: give a single one with --device");
    if (status == FT_OK && args->with != NULL) {
        ft_error error;
        status = ft_graph_read(args->with, &args->other, &error);
        if (status != FT_OK) status = cli_fail(status, "--with: %s", error.message);
    }
    if (status == FT_OK) status = run_models(&r);
    ft_graph_free(args->other);
    predict_options_close(&args->predict);
    return status;
}

int cmd_predict(int argc, char **argv) {
    arguments *args = calloc(1, sizeof *args);
    if (args == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    predict_options_init(&args->predict);
    args->output = output_options_default();
    options_parse(&cmd_predict_options, argc, argv, args);
    stop_install();
    ft_status status = run_predict(args);
    free(args);
    stop_finish();
    return (int)status;
}
