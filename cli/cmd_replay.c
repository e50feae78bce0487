/* cmd_replay.c - `foretell replay`: simulates a step kernel by kernel on engines and workers. */
#include <stdlib.h>
#include <string.h>

#include "cmd_program.h"
#include "commands.h"
#include "replay_options.h"

typedef struct arguments {
    predict_options predict;
    replay_options replay;
    output_options output;
    argument_list paths;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const char doc[] =
    "Simulate a step of a model kernel by kernel on the engines of a device, or of several workers that exchange "
    "gradients: iteration time, critical path, use of the engines.\v"
    "GRAPH is a model in any format that 'foretell list formats' lists, the graph.json of TVM's graph executor, or a "
    "table "
    "of kernels with a column 'after' (CSV or JSON). Models get predicted times unless --times gives others. "
    "docs/replay.md states the rules and their limits.\n"
    "\n"
    "Examples:\n"
    "  foretell replay resnet50.onnx --device rtx-4090\n"
    "  foretell replay inception.onnx --device rtx-4090 --engines compute:2 \\\n"
    "      --plot timeline.svg\n"
    "  foretell replay net.tflite --device adreno-640 \\\n"
    "      --engines 'mme:conv,fc;tpc:*' --trace net.json\n"
    "  foretell replay resnet50.onnx --device rtx-3090 --mode train --batch 64 \\\n"
    "      --workers 1..8\n"
    "  foretell replay graph.json --times measured.csv\n"
    "  foretell replay graph.json --programs lowered.tir --predictor nests.ftm\n"
    "  foretell replay kernels.csv --engines 'a:conv;b:*' --by-kernel --format csv\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, no time for a kernel; 3 cannot open, read or write; 4 neither a "
    "model nor a flow; 5 damaged; 6 valid, but not supported; 7 larger than a documented limit; 8 the graph is not "
    "valid, or kernels wait for each other; 9 a symbolic dimension has no value; 11 out of memory; 13 some of several "
    "models failed.";

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->paths.count == 0) argp_error(state, "nothing to replay: give a model or a table of kernels");
    if ((args->replay.plot != NULL || args->replay.trace != NULL) && args->paths.count > 1)
        argp_error(state, "--%s shows one model: give a single file", args->replay.plot != NULL ? "plot" : "trace");
}

const option_set cmd_replay_options = {.check = check,
                                       .parts = {{&replay_option_set, offsetof(arguments, replay)},
                                                 {&predict_option_set, offsetof(arguments, predict)},
                                                 {&output_set, offsetof(arguments, output)}},
                                       .doc = doc,
                                       .args_doc = "GRAPH...",
                                       .arguments = offsetof(arguments, paths)};

/* --- Replaying ----------------------------------------------------------------------------------------------- */

typedef struct run {
    arguments *args;
    output out;
    ft_times *times; /* NULL: predicted */
    ft_rules *rules; /* for kernels of models whose times come from a table */
    ft_replay_report *report;
} run;

static ft_status write_replays(run *r, bool has_several, const ft_model_replays *entry, ft_error *error) {
    const arguments *args = r->args;
    ft_status status = FT_OK;
    if (args->replay.trace != NULL) status = ft_replay_trace(args->replay.trace, entry, entry->count - 1, error);
    if (status == FT_OK && args->replay.plot != NULL) status = ft_replay_plot(args->replay.plot, entry, error);
    if (status == FT_OK && r->report == NULL) {
        ft_replay_style style = args->replay.style;
        style.style = args->output.style;
        style.is_list = has_several && !style.has_kernels;
        status = ft_replay_report_begin(r->out.stream, &style, &r->report, error);
    }
    return status == FT_OK ? ft_replay_report_add(r->report, entry, error) : status;
}

/* For each number of workers. */
static ft_status replay_flow(run *r, bool has_several, const ft_model_replays *entry, ft_error *error) {
    const arguments *args = r->args;
    ft_replay replays[REPLAY_MAX_WORKER_COUNTS];
    ft_replay_options options = args->replay.options;
    uint32_t count = args->replay.worker_counts > 0 ? args->replay.worker_counts : 1;
    ft_status status = FT_OK;
    memset(replays, 0, sizeof replays);
    options.mode = args->predict.mode;
    for (uint32_t i = 0; i < count && status == FT_OK; i++) {
        options.workers = args->replay.worker_counts > 0 ? (uint32_t)args->replay.workers[i] : 1;
        status = ft_replay_run(entry->flow, &options, &replays[i], error);
    }
    ft_model_replays entry_with_replays = *entry;
    entry_with_replays.replays = replays;
    entry_with_replays.count = count;
    if (status == FT_OK) status = write_replays(r, has_several, &entry_with_replays, error);
    for (uint32_t i = 0; i < count; i++) ft_replay_free(&replays[i]);
    return status;
}

/* --- Models -------------------------------------------------------------------------------------------------- */

static ft_cost_options cost_options(const predict_options *a) {
    ft_cost_options options = ft_cost_options_default();
    options.mode = a->mode;
    options.optimizer = a->optimizer;
    options.dtype = a->dtype;
    return options;
}

static ft_status predicted_flow(run *r, const char *path, const ft_graph *graph, const ft_binding *shapes,
                                ft_results *results, ft_flow **flow, ft_error *error) {
    predict_options *a = &r->args->predict;
    ft_request request = predict_request(a, NULL, 0, a->batch_count > 0 ? a->batches[0] : 0);
    if (r->args->replay.is_derived) request.mode = FT_INFER;
    ft_status status = ft_predict(a->set, graph, shapes, &request, 1, results, error);
    if (status != FT_OK) return status;
    ft_model_results entry = {path, graph, shapes, results};
    status = ft_flow_from_result(&entry, 0, flow, error);
    if (status != FT_OK || !r->args->replay.is_derived) return status;
    ft_binding binding = *shapes;
    binding.batch = results->items[0].request.batch;
    ft_cost_options options = cost_options(a);
    return ft_flow_derive_training(*flow, &binding, &options, error);
}

static ft_status tabled_flow(run *r, const ft_graph *graph, const ft_binding *shapes, ft_flow **flow, ft_error *error) {
    predict_options *a = &r->args->predict;
    ft_binding binding = *shapes;
    ft_cost_options options = cost_options(a);
    binding.batch = a->batch_count > 0 ? a->batches[0] : 0;
    if (ft_times_have_operators(r->times)) return ft_flow_from_table(graph, &binding, r->times, &options, flow, error);
    ft_status status = ft_flow_from_model(graph, &binding, r->rules, &options, flow, error);
    return status == FT_OK ? ft_flow_set_times(*flow, r->times, r->args->replay.is_strict, error) : status;
}

static ft_status replay_graph(model_walk *m, const char *path, const ft_graph *graph, void *work, ft_error *error) {
    (void)work;
    run *r = m->user;
    predict_options *a = &r->args->predict;
    ft_shape_binding chosen[SHAPES_MAX];
    ft_binding shapes = shapes_for(&a->shapes, chosen, graph, m->has_several, 0);
    ft_results results = {0};
    ft_flow *flow = NULL;
    ft_status status = r->times != NULL ? tabled_flow(r, graph, &shapes, &flow, error)
                                        : predicted_flow(r, path, graph, &shapes, &results, &flow, error);
    ft_model_replays entry = {.file = path, .flow = flow, .times_from = r->args->replay.times};
    entry.batch = a->batch_count > 0 ? a->batches[0] : 0;
    if (status == FT_OK && r->times == NULL) {
        entry.device = results.items[0].request.device;
        entry.batch = results.items[0].request.batch;
        entry.times_from = ft_result_time(&results.items[0])->predictor;
    }
    if (status == FT_OK) status = replay_flow(r, m->has_several, &entry, error);
    ft_flow_free(flow);
    ft_results_free(&results);
    return status;
}

static ft_status begin_run(model_walk *m, ft_error *error) {
    const run *r = m->user;
    if (!m->has_several || (r->args->replay.plot == NULL && r->args->replay.trace == NULL)) return FT_OK;
    snprintf(error->message, sizeof error->message, "--%s shows one model: give a single file",
             r->args->replay.plot != NULL ? "plot" : "trace");
    return error->status = FT_ERR_USAGE;
}

static ft_status run_models(run *r) {
    arguments *args = r->args;
    model_walk m = {.paths = args->paths,
                    .out = &r->out,
                    .is_quiet = args->replay.is_quiet,
                    .begin = begin_run,
                    .visit = replay_graph,
                    .user = r};
    model_walk_run(&m);
    if (stop_requested()) return FT_ERR_CANCELLED;
    model_walk_note_skipped(&m);
    if (m.fatal == FT_OK) m.fatal = shapes_check_used(&args->predict.shapes, &m);
    return model_walk_status(&m);
}

/* --- Flows --------------------------------------------------------------------------------------------------- */

/* Whether a file is not a model: then it is a flow, or `status` and `error` are set. A graph.json is both: with times
 * of its functions it is a flow. */
static bool is_flow(const run *r, const char *path, ft_flow **flow, ft_status *status, ft_error *error) {
    ft_source *source;
    ft_error other;
    *status = ft_source_open(path, &source, error);
    bool is_graph = *status == FT_OK && ft_source_format(source) == FT_FORMAT_EXECUTOR;
    if (*status == FT_OK) ft_source_close(source);
    if (*status != FT_ERR_FORMAT && !(is_graph && r->times != NULL)) return false;
    *status = ft_flow_read(path, flow, &other);
    if (*status != FT_ERR_FORMAT) *error = other;
    return true;
}

static ft_status run_flow(run *r, const char *path, ft_flow *flow, ft_error *error) {
    const replay_options *o = &r->args->replay;
    ft_model_replays entry = {.file = path, .flow = flow, .times_from = o->programs != NULL ? o->programs : o->times};
    ft_status status = FT_OK;
    if (r->times != NULL) status = ft_flow_set_times(flow, r->times, r->args->replay.is_strict, error);
    return status == FT_OK ? replay_flow(r, false, &entry, error) : status;
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

/* Times of a table go to the kernels of a runtime: that of --runtime, of the device, or PyTorch. */
static ft_status open_rules(run *r) {
    const predict_options *a = &r->args->predict;
    const char *name = a->runtime;
    ft_device *device = NULL;
    ft_error error;
    ft_status status = FT_OK;
    for (uint32_t i = 0; name == NULL && i < a->setting_count; i++)
        if (strcmp(a->setting_list[i], "compile=yes") == 0) name = "torch-compile";
    if (name == NULL && a->device_names != NULL) {
        status = ft_device_open(a->device_names, &device, &error);
        if (status == FT_OK) name = ft_device_runtime(device);
    }
    if (status == FT_OK) status = ft_rules_open(name != NULL ? name : "torch-eager", &r->rules, &error);
    ft_device_free(device);
    return status == FT_OK ? FT_OK : cli_fail(status, "%s", error.message);
}

/* Times of the functions of a graph, by a predictor of programs, as `foretell program predict` prints them. */
static ft_status predict_programs(run *r) {
    const replay_options *o = &r->args->replay;
    predict_options *a = &r->args->predict;
    ft_style style = {.output = FT_CSV};
    char *text = NULL, *log = (char *)o->programs;
    size_t size = 0;
    output out = {.stream = open_memstream(&text, &size)};
    if (out.stream == NULL) return cli_fail(FT_ERR_NOMEM, "out of memory");
    const program_predict_options options = {.predictor = a->predictors.count > 0 ? a->predictors.items[0] : NULL,
                                             .device = a->device_names,
                                             .logs = &log,
                                             .log_count = 1,
                                             .every = 1,
                                             .is_strict = o->is_strict,
                                             .is_quiet = o->is_quiet,
                                             .style = &style};
    ft_status status = program_predict(&options, &out);
    if (fclose(out.stream) != 0 && status == FT_OK) status = cli_fail(FT_ERR_NOMEM, "out of memory");
    ft_error error;
    if (status == FT_ERR_PARTIAL) status = FT_OK; /* functions without a time are noted */
    if (status == FT_OK) {
        status = ft_times_read_memory(text, size, o->programs, o->is_strict, &r->times, &error);
        if (status != FT_OK) cli_fail(status, "%s", error.message);
    }
    free(text);
    return status;
}

static ft_status open_times(run *r) {
    ft_error error;
    if (r->args->replay.programs != NULL) return predict_programs(r);
    if (r->args->replay.times == NULL) return FT_OK;
    if (ft_times_read(r->args->replay.times, r->args->replay.is_strict, &r->times, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    return open_rules(r);
}

static ft_status open_predictors(predict_options *a) {
    ft_status status = predict_options_open(a);
    if (status == FT_OK && a->device_count > 1)
        status = cli_fail(FT_ERR_USAGE, a->device_names == NULL ? "no device: give one with --device NAME"
                                                                : "--device: replay takes one device at a time");
    return status;
}

/* Ends the document and commits it, unless nothing was written. */
static ft_status finish(run *r, ft_status status) {
    ft_error error;
    bool has_report = r->report != NULL;
    ft_status ended = ft_replay_report_end(r->report, &error);
    if (ended != FT_OK && status == FT_OK) status = output_fail(&r->out, ended, NULL, &error);
    if (has_report && ended == FT_OK && (status == FT_OK || status == FT_ERR_PARTIAL)) {
        ft_status written = output_commit(&r->out);
        if (written != FT_OK) status = written;
    }
    return status;
}

static ft_status run_all(run *r) {
    arguments *args = r->args;
    ft_flow *flow = NULL;
    ft_error error;
    ft_status status = open_times(r);
    if (status != FT_OK) return status;
    if (args->paths.count == 1 && path_kind_of(args->paths.items[0], true) == PATH_FILE &&
        is_flow(r, args->paths.items[0], &flow, &status, &error)) {
        if (status == FT_OK) status = run_flow(r, args->paths.items[0], flow, &error);
        if (status != FT_OK) output_fail(&r->out, status, NULL, &error);
        ft_flow_free(flow);
        return status;
    }
    if (args->replay.programs != NULL)
        return cli_fail(FT_ERR_USAGE, "--programs is for one graph.json of TVM's graph executor");
    status = r->times == NULL ? open_predictors(&args->predict) : FT_OK;
    return status == FT_OK ? run_models(r) : status;
}

static ft_status run_replay(arguments *args) {
    run r = {.args = args};
    ft_status status = output_open(&args->output, &r.out);
    if (status != FT_OK) return status;
    status = finish(&r, run_all(&r));
    output_discard(&r.out);
    ft_times_free(r.times);
    ft_rules_free(r.rules);
    predict_options_close(&args->predict);
    return status;
}

int cmd_replay(int argc, char **argv) {
    arguments *args = calloc(1, sizeof *args);
    if (args == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    predict_options_init(&args->predict);
    replay_options_init(&args->replay, &args->predict);
    args->output = output_options_default();
    options_parse(&cmd_replay_options, argc, argv, args);
    stop_install();
    ft_status status = run_replay(args);
    free(args);
    stop_finish();
    return (int)status;
}
