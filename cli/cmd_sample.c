/* cmd_sample.c - `foretell sample`: which models to measure next. */
#include "cli.h"
#include "desk.h"

enum {
    OPTION_FROM = 256,
    OPTION_POOL,
    OPTION_METHOD,
    OPTION_SPLIT,
    OPTION_SEED,
    OPTION_DEVICE,
    OPTION_FAMILY,
    OPTION_THREADS
};

typedef struct arguments {
    const char *from, *pool;
    const char *devices[CLI_MOST_NAMES], *families[CLI_MOST_NAMES];
    ft_sample_options options;
    output_options output;
    bool is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"from", OPTION_FROM, "FILE", 0, "the predictor that is to be adapted", 1},
    {"pool", OPTION_POOL, "DIR", 0, "a data set whose models are to choose from; nothing needs to be measured", 1},
    {"count", 'k', "N", 0, "how many to choose", 1},
    {"method", OPTION_METHOD, "NAME", 0, "variance, kmeans, cmd, uncertainty or random (variance)", 2},
    {NULL, 0, NULL, 0, "Among which:", 10},
    {"device", OPTION_DEVICE, "NAME", 0,
     "look at what models take on this device; may be repeated (all that the predictor knows)", 0},
    {"family", OPTION_FAMILY, "NAME", 0, "only models of this family; may be repeated", 0},
    {"split", OPTION_SPLIT, "SPEC", 0,
     "only models that this split does not train on (the split that the predictor was trained with, when it was "
     "trained on this data set; else all)",
     0},
    {"seed", OPTION_SEED, "N", 0, "of kmeans and random (0)", 0},
    {"threads", OPTION_THREADS, "N", 0, "one per core without it; the result does not depend on it", 40},
    {"quiet", 'q', NULL, 0, "no progress line; errors are still told", 60},
    {0},
};

static const char doc[] =
    "Tell which models to measure on a new device, or of a new family, so that 'foretell adapt' learns most from "
    "them.\v"
    "Models are looked at as the predictor sees them: of which kernels their time is made. variance chooses one after "
    "the other what lowers the variance of all predictions most; kmeans takes a model from each of N clusters; cmd "
    "makes "
    "the sample like the pool in its moments; uncertainty takes the widest intervals. As CSV it is a list that a "
    "measuring script can follow, to which it may add columns (device, time_us, ...) for 'foretell import table', and "
    "which 'foretell adapt' reads.\n"
    "\n"
    "Examples:\n"
    "  foretell sample --from phone.ftm --pool zoo -k 50\n"
    "  foretell sample --from phone.ftm --pool zoo -k 50 --format csv --output list.csv\n"
    "  foretell sample --from phone.ftm --pool zoo -k 20 --family vggs --method kmeans --seed 1\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, or a pool with too few models; 3 cannot open, read or write; 4 "
    "not a predictor or data set; 5 damaged; 11 out of memory; 130 interrupted.";

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    ft_sample_options *o = &args->options;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case OPTION_FROM:
        args->from = text;
        return 0;
    case OPTION_POOL:
        args->pool = text;
        return 0;
    case 'k':
        o->count = (uint32_t)cli_parse_count(state, "count", text, 100000);
        return 0;
    case OPTION_METHOD:
        o->method = text;
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
        argp_error(state, "'%s': give the predictor with --from and the models with --pool", text);
        return 0;
    case ARGP_KEY_END:
        if (args->from == NULL) argp_error(state, "for which predictor? Give it with --from FILE");
        if (args->pool == NULL) argp_error(state, "among which models? Give a data set with --pool DIR");
        if (o->count == 0) argp_error(state, "how many? Say with -k N");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static ft_status sample(arguments *args, const ft_predictor *from, const ft_dataset *pool, output *out) {
    ft_sample made;
    ft_error error;
    args->options.devices = args->devices;
    args->options.families = args->families;
    args->options.progress = progress_step;
    progress_begin(0, args->is_quiet);
    ft_status status = ft_sample_make(from, pool, &args->options, &made, &error);
    progress_hide();
    if (status == FT_ERR_CANCELLED) return status;
    if (status != FT_OK) return cli_fail(status, "%s: %s", args->pool, error.message);
    status = ft_sample_write(&made, &args->output.style, out->stream, &error);
    ft_sample_free(&made);
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    return output_commit(out);
}

static ft_status run(arguments *args) {
    desk d;
    ft_status status = desk_open(&d, args->from, args->pool, &args->output);
    if (status == FT_OK) status = sample(args, d.predictor, d.data, &d.out);
    desk_clear(&d);
    return status;
}

int cmd_sample(int argc, char **argv) {
    const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};
    const struct argp parser = {.options = option_list, .parser = parse_option, .doc = doc, .children = children};
    arguments args = {.output = output_options_default()};
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    stop_install();
    ft_status status = run(&args);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}
