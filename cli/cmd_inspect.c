/* cmd_inspect.c - `foretell inspect`: one report on the operators and costs of models. */
#include <stdlib.h>

#include "commands.h"
#include "model_walk.h"

typedef struct arguments {
    ft_inspect_options inspect;
    output_options output;
    shape_list shapes;
    const char *runtime;
    argument_list paths;
    bool is_full, has_no_inplace, is_quiet;
    uint32_t threads;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_sort(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (!ft_sort_parse(text, field))
        argp_error(state, "--%s %s: expected graph, macs, flops, params, bytes or count", row->name, text);
}

static void parse_dtype(void *field, const char *text, const option_row *row, struct argp_state *state) {
    ft_dtype *dtype = field;
    if (!ft_dtype_parse(text, dtype) || !ft_dtype_is_float(*dtype))
        argp_error(state, "--%s %s: expected a floating-point type: float32, float16, bfloat16, float64, float8",
                   row->name, text);
}

static const option_row rows[] = {
    {.help = "Output selection:", .group = 1},
    {"nodes", NULL, "list the operators", 0, FLAG(arguments, inspect.has_nodes)},
    {"kernels", "RUNTIME",
     "list the kernels that RUNTIME fuses the operators into: a name that 'foretell list runtimes' lists, or the path "
     "of a "
     "JSON file with rules",
     0, TEXT(arguments, runtime), .choices = "@runtimes"},
    {"top", "N", "only the first N rows of each list", 0, COUNT(arguments, inspect.top, FT_MAX_OPS)},
    {"sort", "KEY",
     "order of lists: graph, macs, flops, params, bytes or count (types by flops; operators and kernels as they run, "
     "or by flops with --top)",
     0, PARSED_BY(parse_sort, arguments, inspect.sort), .choices = "graph macs flops params bytes count"},
    {"full", NULL, "the full report of each model, also for several models", 0, FLAG(arguments, is_full)},
    {.help = "Setting:", .group = 10},
    {"batch", "N", "batch size (as exported; 1 where the file leaves it open)", 0,
     COUNT(arguments, inspect.binding.batch, FT_MAX_DIM)},
    SHAPE_ROW(arguments, shapes),
    {"dtype", "TYPE", "hold floating-point tensors in TYPE: float32, float16, bfloat16, ... (as in the file)", 0,
     PARSED_BY(parse_dtype, arguments, inspect.cost.dtype), .choices = "float32 float16 bfloat16 float64 float8"},
    {"optimizer", "NAME", "optimizer of training: sgd, momentum, adam or adamw (momentum)", 0,
     PARSED_BY(option_optimizer, arguments, inspect.cost.optimizer), .choices = "sgd momentum adam adamw"},
    {"mixed", NULL, "training with float32 master weights beside --dtype (float16)", 0,
     FLAG(arguments, inspect.cost.is_mixed)},
    {"no-inplace", NULL, "no operator overwrites its input", 0, FLAG(arguments, has_no_inplace)},
    {"workspace", "BYTES", "limit of scratch memory per operator, as 64M or 1G (none)", 0,
     BYTES(arguments, inspect.cost.workspace_bytes)},
    THREADS_ROW(arguments, threads, 60),
    QUIET_ROW(arguments, is_quiet, 60),
    {0},
};

static const char doc[] =
    "Print operators, parameters, MACs, FLOPs, activations, and memory of inference and training of models.\v"
    "MODEL is a file in any format that 'foretell list formats' lists, recognised by content; .gz is unpacked. The "
    "models of a folder are read; other files are counted and skipped. Several models give a line each, unless --full, "
    "--nodes or --kernels is set. Costs that depend on dimensions without a value are marked with ?; the report lists "
    "the options that set them.\n"
    "\n"
    "Examples:\n"
    "  foretell inspect resnet50.onnx\n"
    "  foretell inspect resnet50.onnx --batch 32 --dtype float16\n"
    "  foretell inspect bert.onnx --shape sequence=128 --nodes --top 10\n"
    "  foretell inspect net.tflite --kernels tflite-cpu --sort flops\n"
    "  foretell inspect models/ --format csv --output models.csv\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a model in any known format; "
    "5 damaged or truncated; 6 valid, but not supported; 7 larger than a documented limit; 8 the graph is not valid; "
    "10 refused, the file asks to run code; 11 out of memory; 13 some of several models failed; 130 interrupted.";

static void check(void *input, struct argp_state *state) {
    arguments *args = input;
    if (args->paths.count == 0) argp_error(state, "no model: give a file or a folder");
    if (args->output.style.output == FT_CSV && args->inspect.has_nodes && args->runtime != NULL)
        argp_error(state, "a CSV holds one kind of row: use --nodes or --kernels");
    if (args->inspect.cost.is_mixed && args->inspect.cost.dtype == FT_DTYPE_UNKNOWN)
        args->inspect.cost.dtype = FT_FLOAT16;
    if (args->has_no_inplace) args->inspect.cost.has_inplace = false;
}

const option_set cmd_inspect_options = {.rows = rows,
                                        .check = check,
                                        .parts = {{&output_set, offsetof(arguments, output)}},
                                        .doc = doc,
                                        .args_doc = "MODEL...",
                                        .arguments = offsetof(arguments, paths)};

/* --- Models -------------------------------------------------------------------------------------------------- */

/* One run over all arguments. */
typedef struct run {
    arguments *args;
    output out;
    ft_report *report; /* begun with the first source, which decides whether there are several models */
} run;

static ft_status begin_report(model_walk *m, ft_error *error) {
    run *r = m->user;
    ft_inspect_options *options = &r->args->inspect;
    options->style = r->args->output.style;
    options->is_list = m->has_several && !r->args->is_full && !options->has_nodes && options->rules == NULL;
    return ft_report_begin(r->out.stream, options, &r->report, error);
}

static ft_status inspect_graph(const model_walk *m, const char *path, const ft_graph *graph, void **work,
                               ft_error *error) {
    const run *r = m->user;
    ft_inspect_options options = r->args->inspect;
    ft_shape_binding chosen[SHAPES_MAX];
    options.binding = shapes_for(&r->args->shapes, chosen, graph, m->has_several, options.binding.batch);
    ft_inspection *made = NULL;
    ft_status status = ft_inspect(&options, path, graph, &made, error);
    *work = made;
    return status;
}

static void free_inspection(void *work) {
    ft_inspection_free(work);
}

static ft_status report_graph(model_walk *m, const char *path, const ft_graph *graph, void *work, ft_error *error) {
    (void)path;
    (void)graph;
    run *r = m->user;
    return ft_report_add(r->report, work, error);
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static void inspect_all(run *r, model_walk *m) {
    ft_error error;
    model_walk_run(m);
    if (m->fatal == FT_OK && r->report == NULL) m->fatal = begin_report(m, &error);
    ft_status status = ft_report_end(r->report, &error);
    if (m->fatal != FT_OK || status == FT_OK) return;
    m->fatal = output_fail(&r->out, status, NULL, &error);
}

static ft_status run_inspect(arguments *args) {
    run r = {.args = args};
    ft_rules *rules = NULL;
    ft_error error;
    if (args->runtime != NULL && ft_rules_open(args->runtime, &rules, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    args->inspect.rules = rules;
    model_walk m = {.paths = args->paths,
                    .out = &r.out,
                    .is_quiet = args->is_quiet,
                    .threads = args->threads,
                    .begin = begin_report,
                    .prepare = inspect_graph,
                    .release = free_inspection,
                    .visit = report_graph,
                    .user = &r};
    ft_status status = output_open(&args->output, &r.out);
    if (status == FT_OK) {
        inspect_all(&r, &m);
        if (!stop_requested()) {
            model_walk_note_skipped(&m);
            if (m.fatal == FT_OK) m.fatal = shapes_check_used(&args->shapes, &m);
            status = model_walk_status(&m);
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
    arguments *args = calloc(1, sizeof *args);
    if (args == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    args->inspect = ft_inspect_options_default();
    args->output = output_options_default();
    options_parse(&cmd_inspect_options, argc, argv, args);
    stop_install();
    ft_status status = run_inspect(args);
    shapes_free(&args->shapes);
    free(args);
    stop_finish();
    return (int)status;
}
