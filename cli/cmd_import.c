/* cmd_import.c - `foretell import`: measured models in somebody's form become a data set. */
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
    {"output", "DIR", "the data set to make; it appears when it is complete, and must not be there yet", 0,
     TEXT(arguments, folder)},
    {"strict", NULL, "what would be skipped is an error", 0, FLAG(arguments, options.is_strict)},
    {"max-noise", "R", "leave out runs whose deviation is more than R of their mean: 0.01", 10,
     POSITIVE(arguments, options.filter.max_noise)},
    {"min-time", "US", "leave out what took less than so many microseconds", 10,
     POSITIVE(arguments, options.filter.min_time_us)},
    {"max-time", "US", "leave out what took more", 10, POSITIVE(arguments, options.filter.max_time_us)},
    {"networks", "CSV", "of ansor: which tasks belong to which networks: columns task, network", 10,
     TEXT(arguments, options.networks)},
    {"verbose", NULL, "name everything that is skipped, not only how much and why", 0,
     FLAG(arguments, skips.is_verbose)},
    QUIET_ROW(arguments, is_quiet, 0),
    {0},
};

static const char doc[] =
    "Make a data set of measured models: KIND says in which form SOURCE has them.\v"
    "Kinds:\n"
    "  ansor      tuning logs of TVM's auto-scheduler or of AutoTVM: DEVICE.jsonl or .json, each possibly .gz, or a "
    "folder of them\n"
    "  cg         CG tables (models.csv, nodes.csv, edges.csv, each possibly .gz), or a folder of such folders\n"
    "  npu        what Arm's Vela says of TFLite networks: summary.csv and tflite/\n"
    "  perfseer   a PerfSeer or GAPP folder of pickled graphs and labels\n"
    "  table      a CSV of your own: model path, device, batch, dtype, mode and what was measured (docs/data.md)\n"
    "  timm       a folder of timm's results: benchmark.csv, train_memory_a100.csv (each possibly .gz), graphs/\n"
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

static void take_argument(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (state->arg_num == 0) args->kind = text;
    if (state->arg_num == 1) args->source = text;
    if (state->arg_num > 1) argp_error(state, "'%s': one SOURCE at a time; 'foretell data merge' joins them", text);
}

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->source == NULL) argp_error(state, "what to import? Give KIND and SOURCE");
    if (args->folder == NULL) argp_error(state, "where to? Give the data set to make with --output DIR");
}

const option_set cmd_import_options = {.rows = rows,
                                       .check = check,
                                       .doc = doc,
                                       .args_doc = "KIND SOURCE",
                                       .first_argument = "ansor cg npu perfseer table timm",
                                       .argument = take_argument};

/* --- Running ----------------------------------------------------------------------------------------------- */

static void say_result(const arguments *args, const ft_import_result *result) {
    if (args->is_quiet) return;
    cli_note("%s: %llu models, %llu distinct graphs, %llu records", args->folder, (unsigned long long)result->models,
             (unsigned long long)result->graphs, (unsigned long long)result->records);
    if (result->is_pool)
        cli_note("the table has no metric, so nothing was measured: a pool for 'foretell sample', not to learn from");
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
    if (status == FT_ERR_FORMAT && !args.is_quiet) skip_summary(&args.skips, args.source); /* why nothing is left */
    if (status != FT_OK) return (int)cli_fail(status, "%s", error.message);
    say_result(&args, &result);
    return FT_OK;
}
