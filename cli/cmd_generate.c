/* cmd_generate.c - `foretell generate`: data in the layout of a published set, with labels that are worked out. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { OPTION_SEED = 256, OPTION_NOISE, OPTION_THREADS, OPTION_STATS, MOST_NETWORKS = 1000000 };

typedef struct arguments {
    output_options output;
    const char *kind, *folder;
    uint64_t networks;
    ft_generate_options options;
    bool has_stats, is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"networks", 'n', "N", 0, "how many networks; each comes at batches 1, 2, 4, ... 256, as far as they fit", 0},
    {"output", 'o', "DIR", 0, "the folder to make; it appears when it is complete, and must not be there yet", 0},
    {"seed", OPTION_SEED, "N", 0, "other networks (0)", 0},
    {"noise", OPTION_NOISE, "RATIO", 0, "disturb times and utilisation by about so much, up to 0.3 (0)", 0},
    {"threads", OPTION_THREADS, "N", 0, "how many work at it (one for each core); the result is the same", 0},
    {"stats", OPTION_STATS, NULL, 0, "tell how the data is distributed, beside the published data; -o may be left out",
     0},
    {"format", 'f', "FORMAT", 0, "of --stats: table, json or csv (table)", 0},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 0},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static const char doc[] =
    "Make a data set that nobody measured, in the layout of a published one: random networks, and labels from a "
    "roofline and a memory timeline. It shows that reading, training and evaluating work; what is learned from it says "
    "nothing about a real device, and everything made from it is marked as synthetic.\v"
    "Kinds:\n"
    "  perfseer   networks of four stages in five styles, as pickled graphs and labels of an RTX 3090\n"
    "\n"
    "Examples:\n"
    "  foretell generate perfseer -n 7202 -o seer\n"
    "  foretell generate perfseer -n 7202 --stats\n"
    "  foretell import perfseer seer -o seer.data\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot write; 11 out of memory; 130 interrupted.";

static double parse_noise(struct argp_state *state, const char *text) {
    char *end;
    double ratio = strtod(text, &end);
    if (end == text || *end != '\0' || !(ratio >= 0 && ratio <= 0.3))
        argp_error(state, "--noise: '%s' is not a ratio from 0 to 0.3", text);
    return ratio;
}

static void check(const arguments *args, struct argp_state *state) {
    if (args->kind == NULL)
        argp_error(state, "what to generate? Give KIND");
    else if (strcmp(args->kind, "perfseer") != 0)
        argp_error(state, "'%s': the only kind is 'perfseer'", args->kind);
    if (args->networks == 0) argp_error(state, "how many? Give the number of networks with -n N");
    if (args->folder == NULL && !args->has_stats)
        argp_error(state, "where to? Give the folder to make with --output DIR, or ask for --stats");
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case 'n':
        args->networks = cli_parse_count(state, "--networks", text, MOST_NETWORKS);
        return 0;
    case 'o':
        args->folder = text;
        return 0;
    case OPTION_SEED:
        args->options.seed = cli_parse_number(state, "--seed", text, 0, UINT64_MAX);
        return 0;
    case OPTION_NOISE:
        args->options.noise_ratio = parse_noise(state, text);
        return 0;
    case OPTION_THREADS:
        args->options.threads = (uint32_t)cli_parse_count(state, "--threads", text, 1024);
        return 0;
    case OPTION_STATS:
        args->has_stats = true;
        return 0;
    case 'f':
        if (!ft_output_parse(text, &args->output.style.output))
            argp_error(state, "--format: '%s' is not table, json or csv", text);
        return 0;
    case 'q':
        args->is_quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "'%s': one KIND at a time", text);
        args->kind = text;
        return 0;
    case ARGP_KEY_END:
        check(args, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- Running ------------------------------------------------------------------------------------------------- */

static int write_stats(arguments *args, const ft_generate_result *result) {
    output out;
    ft_error error;
    ft_status status = output_open(&args->output, &out);
    if (status != FT_OK) return (int)status;
    status = ft_generate_write(result, &args->output.style, out.stream, &error);
    if (status != FT_OK)
        cli_fail(status, "%s", error.message);
    else
        status = output_commit(&out);
    output_discard(&out);
    return (int)status;
}

int cmd_generate(int argc, char **argv) {
    const struct argp parser = {.options = option_list, .parser = parse_option, .args_doc = "KIND", .doc = doc};
    arguments args = {.output = output_options_default(), .options = {.progress = progress_step}};
    ft_generate_result result;
    ft_error error;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    stop_install();
    progress_begin(0, args.is_quiet);
    ft_status status = ft_generate_perfseer(args.folder, (uint32_t)args.networks, &args.options, &result, &error);
    progress_hide();
    if (status == FT_ERR_CANCELLED) stop_finish();
    if (status != FT_OK) return (int)cli_fail(status, "%s", error.message);
    if (!args.is_quiet)
        cli_note("%s: %llu networks, %llu graphs with computed labels; %llu did not fit into 24 GB",
                 args.folder != NULL ? args.folder : "nothing written", (unsigned long long)result.networks,
                 (unsigned long long)result.graphs, (unsigned long long)result.skipped);
    return args.has_stats ? write_stats(&args, &result) : FT_OK;
}
