/* cmd_generate.c - `foretell generate`: synthetic data in the layout of a published set, with computed labels. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commands.h"

typedef struct arguments {
    output_options output;
    const char *kind, *folder;
    uint32_t networks;
    ft_generate_options options;
    bool has_stats, is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_noise(void *field, const char *text, const option_row *row, struct argp_state *state) {
    char *end;
    double ratio = strtod(text, &end);
    if (end == text || *end != '\0' || !(ratio >= 0 && ratio <= 0.3))
        argp_error(state, "--%s: '%s' is not a ratio from 0 to 0.3", row->name, text);
    *(double *)field = ratio;
}

static const option_row rows[] = {
    {"count", "N", "number of networks; each comes at batches 1, 2, 4, ... 256, as far as they fit", 0,
     COUNT(arguments, networks, 1000000)},
    {"output", "DIR", "new folder for the data; it must not exist, and appears when it is complete", 0,
     TEXT(arguments, folder)},
    {"seed", "N", "of the random networks (0)", 0, NUMBER(arguments, options.seed, 0, UINT64_MAX)},
    {"noise", "RATIO", "relative noise of times and utilisation, up to 0.3 (0)", 0,
     PARSED_BY(parse_noise, arguments, options.noise_ratio)},
    {"threads", "N", "number of threads (one per core); the result does not depend on it", 0,
     COUNT(arguments, options.threads, 1024)},
    {"stats", NULL, "print the distribution of the data beside that of the published set; -o is then optional", 0,
     FLAG(arguments, has_stats)},
    {"format", "FORMAT", "of --stats: table, json or csv (table)", 0,
     PARSED_BY(option_format, arguments, output.style.output), .choices = "table json csv"},
    QUIET_ROW(arguments, is_quiet, 0),
    {0},
};

static const char doc[] =
    "Generate a synthetic data set in the layout of a published one: random networks, and labels computed by a "
    "roofline "
    "and a memory timeline. It serves to test reading, training and evaluating; a predictor trained on it does not "
    "predict a real device, and everything made from it is marked as synthetic.\v"
    "Kinds:\n"
    "  perfseer   networks of four stages in five styles, as pickled graphs and\n"
    "             labels of an RTX 3090\n"
    "\n"
    "Examples:\n"
    "  foretell generate perfseer -n 7202 -o seer\n"
    "  foretell generate perfseer -n 7202 --stats\n"
    "  foretell import perfseer seer -o seer.data\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot write; 11 out of memory; 130 interrupted.";

static void parse_kind(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (state->arg_num > 0) argp_error(state, "'%s': one KIND at a time", text);
    args->kind = text;
}

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->kind == NULL)
        argp_error(state, "no KIND: give perfseer");
    else if (strcmp(args->kind, "perfseer") != 0)
        argp_error(state, "unknown KIND '%s': the only one is perfseer", args->kind);
    if (args->networks == 0) argp_error(state, "how many networks? Give --count N");
    if (args->folder == NULL && !args->has_stats)
        argp_error(state, "where to write the data? Give --output DIR, or --stats");
}

const option_set cmd_generate_options = {
    .rows = rows, .check = check, .doc = doc, .args_doc = "KIND", .first_argument = "perfseer", .argument = parse_kind};

/* --- Running ------------------------------------------------------------------------------------------------- */

static int write_stats(arguments *args, const ft_generate_result *result) {
    output out;
    ft_error error;
    ft_status status = output_open(&args->output, &out);
    if (status != FT_OK) return (int)status;
    status = ft_generate_write(result, &args->output.style, out.stream, &error);
    return (int)output_end(&out, status, &error);
}

int cmd_generate(int argc, char **argv) {
    arguments args = {.output = output_options_default(), .options = {.progress = progress_step}};
    ft_generate_result result;
    ft_error error;
    options_parse(&cmd_generate_options, argc, argv, &args);
    stop_install();
    progress_begin(0, args.is_quiet);
    ft_status status = ft_generate_perfseer(args.folder, args.networks, &args.options, &result, &error);
    progress_hide();
    if (status == FT_ERR_CANCELLED) stop_finish();
    if (status != FT_OK) return (int)cli_fail(status, "%s", error.message);
    if (!args.is_quiet)
        cli_note("%s: %llu networks, %llu graphs with computed labels; %llu did not fit into 24 GB",
                 args.folder != NULL ? args.folder : "nothing written", (unsigned long long)result.networks,
                 (unsigned long long)result.graphs, (unsigned long long)result.skipped);
    return args.has_stats ? write_stats(&args, &result) : FT_OK;
}
