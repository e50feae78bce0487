/* cmd_import.c - `foretell import`: measured models in somebody's form become a data set. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { OPTION_STRICT = 256, OPTION_NOISE, OPTION_LEAST, OPTION_MOST, OPTION_NETWORKS };

typedef struct arguments {
    const char *kind, *source, *folder;
    bool is_strict, is_quiet;
    double max_noise, min_time_us, max_time_us;
    const char *networks;
    skip_list skips;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"output", 'o', "DIR", 0, "the data set to make; it appears when it is complete, and must not be there yet", 0},
    {"strict", OPTION_STRICT, NULL, 0, "what would be skipped is an error", 0},
    {"max-noise", OPTION_NOISE, "R", 0, "leave out runs whose deviation is more than R of their mean: 0.01", 10},
    {"min-time", OPTION_LEAST, "US", 0, "leave out what took less than so many microseconds", 10},
    {"max-time", OPTION_MOST, "US", 0, "leave out what took more", 10},
    {"networks", OPTION_NETWORKS, "CSV", 0, "of ansor: which tasks belong to which networks: columns task, network",
     10},
    {"verbose", 'v', NULL, 0, "name everything that is skipped, not only how much and why", 0},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 0},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
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
    "  foretell import ansor logs -o programs --max-noise 0.01 --max-time 1e6 --networks tasks.csv\n"
    "  foretell data info mine\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 nothing in SOURCE can be "
    "imported; 5 damaged, or something was skipped with --strict; 11 out of memory; 130 interrupted.";

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case 'o':
        args->folder = text;
        return 0;
    case OPTION_STRICT:
        args->is_strict = true;
        return 0;
    case OPTION_NOISE:
        args->max_noise = cli_parse_positive(state, "max-noise", text);
        return 0;
    case OPTION_LEAST:
        args->min_time_us = cli_parse_positive(state, "min-time", text);
        return 0;
    case OPTION_MOST:
        args->max_time_us = cli_parse_positive(state, "max-time", text);
        return 0;
    case OPTION_NETWORKS:
        args->networks = text;
        return 0;
    case 'v':
        args->skips.is_verbose = true;
        return 0;
    case 'q':
        args->is_quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num == 0) args->kind = text;
        if (state->arg_num == 1) args->source = text;
        if (state->arg_num > 1) argp_error(state, "'%s': one SOURCE at a time; 'foretell data merge' joins them", text);
        return 0;
    case ARGP_KEY_END:
        if (args->source == NULL) argp_error(state, "what to import? Give KIND and SOURCE");
        if (args->folder == NULL) argp_error(state, "where to? Give the data set to make with --output DIR");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- Running ----------------------------------------------------------------------------------------------- */

static void say_result(const arguments *args, const ft_import_result *result) {
    if (args->is_quiet) return;
    cli_note("%s: %llu models, %llu distinct graphs, %llu records", args->folder, (unsigned long long)result->models,
             (unsigned long long)result->graphs, (unsigned long long)result->records);
    if (result->filtered > 0) cli_note("%llu measurements were filtered out", (unsigned long long)result->filtered);
    skip_summary(&args->skips, args->source);
}

int cmd_import(int argc, char **argv) {
    const struct argp parser = {.options = option_list, .parser = parse_option, .args_doc = "KIND SOURCE", .doc = doc};
    arguments args = {0};
    ft_import_result result;
    ft_error error;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    ft_import_options options = {.is_strict = args.is_strict,
                                 .max_noise = args.max_noise,
                                 .min_time_us = args.min_time_us,
                                 .max_time_us = args.max_time_us,
                                 .networks = args.networks,
                                 .progress = progress_step,
                                 .skip = skip_note,
                                 .user = &args.skips};
    stop_install();
    progress_begin(0, args.is_quiet);
    ft_status status = ft_import(args.kind, args.source, args.folder, &options, &result, &error);
    progress_hide();
    if (status == FT_ERR_CANCELLED) stop_finish();
    if (status != FT_OK) return (int)cli_fail(status, "%s", error.message);
    say_result(&args, &result);
    return FT_OK;
}
