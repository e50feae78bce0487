/* cmd_import.c - `foretell import`: converts published or own measurements to a data set. */
#include "cli.h"
#include "commands.h"

typedef struct arguments {
    const char *kind, *source, *folder;
    bool is_quiet;
    ft_import_options options;
    skip_list skips;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row rows[] = {
    {"output", "DIR", "new folder for the data set; it must not exist, and appears when it is complete", 0,
     TEXT(arguments, folder)},
    {"strict", NULL, "a record that would be skipped is an error", 0, FLAG(arguments, options.is_strict)},
    {"max-noise", "R", "skip measurements whose relative standard deviation is above R, as 0.01", 10,
     POSITIVE(arguments, options.filter.max_noise)},
    {"min-time", "US", "skip measurements below US microseconds", 10, POSITIVE(arguments, options.filter.min_time_us)},
    {"max-time", "US", "skip measurements above US microseconds", 10, POSITIVE(arguments, options.filter.max_time_us)},
    {"networks", "CSV", "of ansor: the network of each task: columns task, network", 10,
     TEXT(arguments, options.networks)},
    {"verbose", NULL, "name every skipped record, not only counts and reasons", 0, FLAG(arguments, skips.is_verbose)},
    THREADS_ROW(arguments, options.threads, 0),
    QUIET_ROW(arguments, is_quiet, 0),
    {0},
};

static const char doc[] =
    "Convert measurements to a data set. KIND is the layout of SOURCE.\v"
    "Kinds:\n"
    "  ansor      tuning logs of TVM's auto-scheduler or of AutoTVM:\n"
    "             DEVICE.jsonl or .json, each possibly .gz, or a folder of them\n"
    "  cg         CG tables (models.csv, nodes.csv, edges.csv, each possibly .gz),\n"
    "             or a folder of such folders\n"
    "  kernels    measured kernels and operators: a CSV of your own\n"
    "             (docs/formats/kernels.md), or files of NeuSight,\n"
    "             DeepBench, aiconfigurator, vidur or PipeWeave\n"
    "  mlp        trainings of multi-layer perceptrons with the utilisation of\n"
    "             the GPU (docs/formats/mlp.md)\n"
    "  npu        estimates of Arm's Vela for TFLite networks:\n"
    "             summary.csv and tflite/\n"
    "  perfseer   a PerfSeer or GAPP folder of pickled graphs and labels\n"
    "  table      a CSV of your own: model path, device, batch, dtype, mode and\n"
    "             measured values (docs/data.md)\n"
    "  timm       a folder of timm's results: benchmark.csv,\n"
    "             train_memory_a100.csv (each possibly .gz), graphs/\n"
    "  trace      traces of PyTorch's profiler, .json or .json.gz: a file or a\n"
    "             folder (docs/traces.md)\n"
    "\n"
    "Examples:\n"
    "  foretell import cg ../shared/data/cg -o cg\n"
    "  foretell import table measurements.csv -o mine --strict\n"
    "  foretell import ansor logs -o programs --max-noise 0.01 --max-time 1e6 \\\n"
    "      --networks tasks.csv\n"
    "  foretell data info mine\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 nothing in SOURCE can be "
    "imported; 5 damaged, or something was skipped with --strict; 11 out of memory; 130 interrupted.";

static void parse_argument(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (state->arg_num == 0) args->kind = text;
    if (state->arg_num == 1) args->source = text;
    if (state->arg_num > 1) argp_error(state, "'%s': one SOURCE at a time; 'foretell data merge' joins them", text);
}

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->source == NULL) argp_error(state, "nothing to import: give KIND and SOURCE");
    if (args->folder == NULL) argp_error(state, "where to write the data set? Give --output DIR");
}

const option_set cmd_import_options = {.rows = rows,
                                       .check = check,
                                       .doc = doc,
                                       .args_doc = "KIND SOURCE",
                                       .first_argument = "ansor cg kernels mlp npu perfseer table timm trace",
                                       .argument = parse_argument};

/* --- Running ----------------------------------------------------------------------------------------------- */

static void note_result(const arguments *args, const ft_import_result *result) {
    if (args->is_quiet) return;
    cli_note("%s: %llu models, %llu distinct graphs, %llu records", args->folder, (unsigned long long)result->models,
             (unsigned long long)result->graphs, (unsigned long long)result->records);
    if (result->is_pool)
        cli_note("the table has no metric: the data set is a pool for 'foretell sample', not for training");
    if (result->filtered > 0) cli_note("%llu measurements were filtered out", (unsigned long long)result->filtered);
    skip_summary(&args->skips, args->source);
}

int cmd_import(int argc, char **argv) {
    arguments args = {.options = {.progress = progress_step, .skip = skip_note}};
    ft_import_result result;
    ft_error error;
    options_parse(&cmd_import_options, argc, argv, &args);
    args.options.user = &args.skips;
    stop_install();
    progress_begin(0, args.is_quiet);
    ft_status status = ft_import(args.kind, args.source, args.folder, &args.options, &result, &error);
    progress_hide();
    if (status == FT_ERR_CANCELLED) stop_finish();
    if (status == FT_ERR_FORMAT && !args.is_quiet)
        skip_summary(&args.skips, args.source); /* the reasons why nothing is left */
    if (status != FT_OK) return (int)cli_fail(status, "%s", error.message);
    note_result(&args, &result);
    return FT_OK;
}
