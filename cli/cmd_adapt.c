/* cmd_adapt.c - `foretell adapt`: from a predictor and a few measurements to one for a new device or family. */
#include "cli.h"
#include "desk.h"

enum {
    OPTION_FROM = 256,
    OPTION_BUDGET,
    OPTION_METHOD,
    OPTION_DISCREPANCY,
    OPTION_STEPS,
    OPTION_MODELS,
    OPTION_SPLIT,
    OPTION_SEED,
    OPTION_DEVICE,
    OPTION_FAMILY,
    OPTION_THREADS,
    OPTION_METRIC
};

typedef struct arguments {
    const char *from, *data, *path;
    const char *devices[CLI_MOST_NAMES], *families[CLI_MOST_NAMES];
    ft_adapt_options options;
    output_options output;
    bool is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"from", OPTION_FROM, "FILE", 0, "the predictor to start from", 1},
    {"data", 'd', "DIR", 0, "the data set with the measurements", 1},
    {"predictor", 'p', "FILE", 0, "where the adapted predictor goes", 1},
    {"budget", OPTION_BUDGET, "K", 0,
     "learn from K measured models and test on the others; with --models, from its first K", 2},
    {"models", OPTION_MODELS, "LIST", 0,
     "learn from the models of this list, as 'foretell sample' writes it (K models by --seed)", 2},
    {"method", OPTION_METHOD, "NAME", 0,
     "scale, refit, tune-last, tune-all, or auto: scale or refit, what is best in cross-validation over the K (auto)",
     2},
    {"discrepancy", OPTION_DISCREPANCY, "NAME", 0,
     "of tune-last and tune-all: what holds old devices and new ones together: cmd, mmd or none (cmd)", 2},
    {"steps", OPTION_STEPS, "N", 0, "of tune-last and tune-all (as many as the family usually takes)", 2},
    {NULL, 0, NULL, 0, "On which records:", 10},
    {"device", OPTION_DEVICE, "NAME", 0,
     "adapt to this device; may be repeated (those that the predictor does not know, else all)", 0},
    {"family", OPTION_FAMILY, "NAME", 0, "only models of this family; may be repeated", 0},
    {"split", OPTION_SPLIT, "SPEC", 0,
     "learn from and test on what this split does not train on (the split that the predictor was trained with, when it "
     "was trained on this data set; else all records)",
     0},
    {"metric", OPTION_METRIC, "NAME", 0, "for predictors that tell several metrics (the first)", 0},
    {"seed", OPTION_SEED, "N", 0, "of everything random: which models, folds (0)", 0},
    {"threads", OPTION_THREADS, "N", 0, "one per core without it; the result does not depend on it", 40},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 60},
    {0},
};

static const char doc[] =
    "Adapt a predictor to a device or a family of models that it was not trained on, from a few dozen measurements.\v"
    "The new predictor is an ordinary one: it knows all devices that the old one knew, and the new ones. Errors before "
    "and after are those on models that were held out. Intervals are calibrated by cross-validation over the models "
    "that were learned from; they are wide when those are few.\n"
    "\n"
    "Examples:\n"
    "  foretell adapt --from phone.ftm --data mine --models list.csv --predictor mine.ftm\n"
    "  foretell adapt --from phone.ftm --data mine --budget 20 --predictor mine.ftm --method refit\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, or too few measurements; 3 cannot open, read or write; 4 not a "
    "predictor or data set; 5 damaged; 6 predictor and data set do not fit each other; 11 out of memory; 130 "
    "interrupted.";

static void check(const arguments *args, struct argp_state *state) {
    if (args->from == NULL) argp_error(state, "from which predictor? Give it with --from FILE");
    if (args->data == NULL) argp_error(state, "to which measurements? Give the data set with --data DIR");
    if (args->path == NULL) argp_error(state, "where to? Say with --predictor FILE");
    if (args->options.budget == 0 && args->options.models == NULL)
        argp_error(state, "how many models to learn from? Give --budget K, or a list with --models LIST");
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    ft_adapt_options *o = &args->options;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case OPTION_FROM:
        args->from = text;
        return 0;
    case 'd':
        args->data = text;
        return 0;
    case 'p':
        args->path = text;
        return 0;
    case OPTION_BUDGET:
        o->budget = (uint32_t)cli_parse_count(state, "budget", text, 100000);
        return 0;
    case OPTION_MODELS:
        o->models = text;
        return 0;
    case OPTION_METHOD:
        o->method = text;
        return 0;
    case OPTION_DISCREPANCY:
        o->discrepancy = text;
        return 0;
    case OPTION_STEPS:
        o->steps = (uint32_t)cli_parse_count(state, "steps", text, 10000000);
        return 0;
    case OPTION_DEVICE:
        cli_add_name(state, "device", text, args->devices, &o->device_count);
        return 0;
    case OPTION_FAMILY:
        cli_add_name(state, "family", text, args->families, &o->family_count);
        return 0;
    case OPTION_SPLIT:
        o->split = text;
        return 0;
    case OPTION_METRIC:
        o->metric = text;
        return 0;
    case OPTION_SEED:
        o->seed = cli_parse_number(state, "seed", text, 0, UINT32_MAX);
        return 0;
    case OPTION_THREADS:
        o->threads = (uint32_t)cli_parse_count(state, "threads", text, 1024);
        return 0;
    case 'q':
        args->is_quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': give the predictor with --from and the data set with --data", text);
        return 0;
    case ARGP_KEY_END:
        check(args, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static ft_status adapt(arguments *args, const ft_predictor *from, const ft_dataset *data, output *out) {
    ft_adaptation adaptation;
    ft_error error;
    args->options.devices = args->devices;
    args->options.families = args->families;
    args->options.progress = progress_step;
    progress_begin(0, args->is_quiet);
    ft_status status = ft_adapt(from, data, &args->options, args->path, &adaptation, &error);
    progress_hide();
    if (status == FT_ERR_CANCELLED) return status;
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    status = ft_adaptation_write(&adaptation, args->path, &args->output.style, out->stream, &error);
    ft_adaptation_free(&adaptation);
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    return output_commit(out);
}

static ft_status run(arguments *args) {
    desk d;
    ft_status status = desk_open(&d, args->from, args->data, &args->output);
    if (status == FT_OK) status = adapt(args, d.predictor, d.data, &d.out);
    desk_clear(&d);
    return status;
}

int cmd_adapt(int argc, char **argv) {
    const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};
    const struct argp parser = {.options = option_list, .parser = parse_option, .doc = doc, .children = children};
    arguments args = {.output = output_options_default()};
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    stop_install();
    ft_status status = run(&args);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}
