/* cmd_inspect.c - `foretell inspect`: the options, and one model after the other into one report. */
#include <stdlib.h>

#include "models.h"

enum { OPTION_BATCH = 256, OPTION_SHAPE, OPTION_DTYPE, OPTION_OPTIMIZER, OPTION_MIXED };
enum { OPTION_NO_INPLACE = OPTION_MIXED + 1, OPTION_WORKSPACE, OPTION_FULL };

typedef struct arguments {
    ft_inspect_options inspect;
    output_options output;
    shape_list shapes;
    const char *runtime;
    char **paths;
    size_t path_count;
    bool is_full;
    bool is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "What to tell:", 1},
    {"nodes", 'n', NULL, 0, "list the operators", 0},
    {"kernels", 'k', "RUNTIME", 0,
     "list the kernels that RUNTIME fuses the operators into: a name that 'foretell runtimes' lists, or the path of a "
     "JSON file with rules",
     0},
    {"top", 't', "N", 0, "only the first N of each list", 0},
    {"sort", 's', "KEY", 0,
     "order of lists: graph, macs, flops, params, bytes or count (types by flops; operators and kernels as they run, "
     "or by flops with --top)",
     0},
    {"full", OPTION_FULL, NULL, 0, "the whole report of each model, also when there are several", 0},
    {NULL, 0, NULL, 0, "For which setting:", 10},
    {"batch", 'b', "N", 0, "batch size (as exported; 1 where the file leaves it open)", 0},
    {"shape", OPTION_SHAPE, "NAME=DIMS", 0,
     "shape of an input (image=1x3x224x224) or value of a symbol (sequence=128); may be repeated", 0},
    {"dtype", 'd', "TYPE", 0, "hold floating-point tensors in TYPE: float32, float16, bfloat16, ... (as in the file)",
     0},
    {"optimizer", OPTION_OPTIMIZER, "NAME", 0, "of training: sgd, momentum, adam or adamw (momentum)", 0},
    {"mixed", OPTION_MIXED, NULL, 0, "training with float32 master weights beside --dtype (float16)", 0},
    {"no-inplace", OPTION_NO_INPLACE, NULL, 0, "no operator writes over its input", 0},
    {"workspace", OPTION_WORKSPACE, "BYTES", 0, "the most scratch memory an operator may take, as 64M or 1G (none)", 0},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 60},
    {0},
};

static const char doc[] =
    "Tell what models are made of and what they cost: operators, parameters, MACs, FLOPs, activations, memory of "
    "inference and training.\v"
    "MODEL is a file in any format that 'foretell formats' lists, found by content; .gz is unpacked on the way. A "
    "folder is walked: files in it that are no models are counted and passed over. Several models give a line each; "
    "--full, --nodes or --kernels give all of it.\n"
    "\n"
    "Examples:\n"
    "  foretell inspect resnet50.onnx\n"
    "  foretell inspect resnet50.onnx --batch 32 --dtype float16\n"
    "  foretell inspect bert.onnx --shape sequence=128 --nodes --top 10\n"
    "  foretell inspect net.tflite --kernels tflite-cpu --sort flops\n"
    "  foretell inspect models/ --format csv --output models.csv\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a model in any known format; "
    "5 damaged or truncated; 6 valid, but not supported; 7 larger than a documented limit; 8 the graph is not valid; 9 "
    "a symbolic dimension has no value; 10 refused, the file asks to run code; 11 out of memory; 13 some of several "
    "models failed; 130 interrupted.";

static error_t parse_setting(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    ft_cost_options *cost = &args->inspect.cost;
    switch (key) {
    case 'b':
        args->inspect.binding.batch = (int64_t)cli_parse_count(state, "batch", text, (uint64_t)FT_MAX_DIM);
        return 0;
    case OPTION_SHAPE:
        shapes_parse(&args->shapes, text, state);
        return 0;
    case 'd':
        if (!ft_dtype_parse(text, &cost->dtype) || !ft_dtype_is_float(cost->dtype))
            argp_error(state, "--dtype %s: want a floating-point type: float32, float16, bfloat16, float64, float8",
                       text);
        return 0;
    case OPTION_OPTIMIZER:
        if (!ft_optimizer_parse(text, &cost->optimizer))
            argp_error(state, "--optimizer %s: want sgd, momentum, adam or adamw", text);
        return 0;
    case OPTION_MIXED:
        cost->is_mixed = true;
        return 0;
    case OPTION_NO_INPLACE:
        cost->has_inplace = false;
        return 0;
    case OPTION_WORKSPACE:
        cost->workspace_bytes = (uint64_t)cli_parse_bytes(state, "workspace", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_arguments(arguments *args, struct argp_state *state) {
    if (args->path_count == 0) argp_error(state, "which model? Give a file or a folder");
    if (args->output.style.output == FT_CSV && args->inspect.has_nodes && args->runtime != NULL)
        argp_error(state, "a CSV holds one kind of row: ask for --nodes or for --kernels");
    if (args->inspect.cost.is_mixed && args->inspect.cost.dtype == FT_DTYPE_UNKNOWN)
        args->inspect.cost.dtype = FT_FLOAT16;
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case 'n':
        args->inspect.has_nodes = true;
        return 0;
    case 'k':
        args->runtime = text;
        return 0;
    case 't':
        args->inspect.top = (uint32_t)cli_parse_count(state, "top", text, FT_MAX_OPS);
        return 0;
    case 's':
        if (!ft_sort_parse(text, &args->inspect.sort))
            argp_error(state, "--sort %s: want graph, macs, flops, params, bytes or count", text);
        return 0;
    case OPTION_FULL:
        args->is_full = true;
        return 0;
    case 'q':
        args->is_quiet = true;
        return 0;
    case ARGP_KEY_ARGS:
        args->paths = state->argv + state->next;
        args->path_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        check_arguments(args, state);
        return 0;
    default:
        return parse_setting(key, text, state);
    }
}

/* --- Models -------------------------------------------------------------------------------------------------- */

/* One run over all arguments. */
typedef struct run {
    arguments *args;
    output out;
    ft_report *report; /* begun when the first source is open: only then we know whether there are several models */
} run;

static ft_status begin_report(models *m, ft_error *error) {
    run *r = m->user;
    ft_inspect_options *options = &r->args->inspect;
    options->style = r->args->output.style;
    options->is_list = m->has_several && !r->args->is_full && !options->has_nodes && options->rules == NULL;
    return ft_report_begin(r->out.stream, options, &r->report, error);
}

static ft_status report_graph(models *m, const char *path, const ft_graph *graph, ft_error *error) {
    run *r = m->user;
    ft_binding binding = shapes_for(&r->args->shapes, graph, m->has_several, r->args->inspect.binding.batch);
    ft_report_bind(r->report, &binding);
    return ft_report_model(r->report, path, graph, error);
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static void inspect_all(run *r, models *m) {
    ft_error error;
    models_run(m);
    if (m->fatal == FT_OK && r->report == NULL) m->fatal = begin_report(m, &error);
    ft_status status = ft_report_end(r->report, &error);
    if (m->fatal != FT_OK || status == FT_OK) return;
    m->fatal = status;
    cli_fail(status, "%s", error.message);
}

static ft_status run_inspect(arguments *args) {
    run r = {.args = args};
    ft_rules *rules = NULL;
    ft_error error;
    if (args->runtime != NULL && ft_rules_open(args->runtime, &rules, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    args->inspect.rules = rules;
    models m = {.paths = args->paths,
                .path_count = args->path_count,
                .is_quiet = args->is_quiet,
                .begin = begin_report,
                .take = report_graph,
                .user = &r};
    ft_status status = output_open(&args->output, &r.out);
    if (status == FT_OK) {
        inspect_all(&r, &m);
        if (!stop_requested()) {
            models_say_what_was_left_out(&m);
            if (m.fatal == FT_OK) m.fatal = shapes_check_used(&args->shapes, &m);
            status = models_result(&m);
        }
        if (m.model_count > 0 && m.fatal == FT_OK && !stop_requested()) {
            ft_status written = output_commit(&r.out);
            if (written != FT_OK) status = written;
        }
        output_discard(&r.out);
    }
    ft_rules_free(rules);
    return status;
}

int cmd_inspect(int argc, char **argv) {
    static const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};
    static const struct argp parser = {
        .options = option_list, .parser = parse_option, .args_doc = "MODEL...", .doc = doc, .children = children};
    arguments *args = calloc(1, sizeof *args);
    if (args == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    args->inspect = ft_inspect_options_default();
    args->output = output_options_default();
    argp_parse(&parser, argc, argv, 0, NULL, args);
    stop_install();
    ft_status status = run_inspect(args);
    shapes_free(&args->shapes);
    free(args);
    stop_finish();
    return (int)status;
}
