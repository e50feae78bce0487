/* cmd_sample.c - `foretell sample`: chooses the models to measure next. */
#include "cli.h"
#include "commands.h"
#include "eval_session.h"

typedef struct arguments {
    const char *from, *pool;
    name_list devices, families;
    ft_sample_options options;
    output_options output;
    bool is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row rows[] = {
    {"from", "FILE", "the predictor that is to be adapted", 1, TEXT(arguments, from)},
    {"pool", "DIR", "a data set of models to choose from; measurements are not needed", 1, TEXT(arguments, pool)},
    {"count", "N", "number of models to choose", 1, COUNT(arguments, options.count, 100000)},
    {"method", "NAME", "variance, kmeans, cmd, uncertainty or random (variance)", 2, TEXT(arguments, options.method),
     .choices = "variance kmeans cmd uncertainty random"},
    {.help = "Candidates:", .group = 10},
    {"device", "NAME", "use predictions for this device; may be repeated (all devices of the predictor)", 0,
     NAMES(arguments, devices), .choices = "@devices"},
    {"family", "NAME", "only models of this family; may be repeated", 0, NAMES(arguments, families)},
    {"split", "SPEC",
     "only models that this split does not train on (the split that the predictor was trained with, when it was "
     "trained on this data set; else all)",
     0, TEXT(arguments, options.split)},
    SEED_ROW(arguments, options.seed, "of kmeans and random (0)", 0),
    THREADS_ROW(arguments, options.threads, 40),
    QUIET_ROW(arguments, is_quiet, 60),
    {0},
};

static const char doc[] =
    "Choose the models to measure on a new device, or of a new family, from which 'foretell adapt' learns most.\v"
    "Models are described by the predicted time of their kernels. variance adds one model after the other, each "
    "lowering "
    "the variance of all predictions most; kmeans takes a model from each of N clusters; cmd matches the moments of "
    "the "
    "pool; uncertainty takes the widest intervals. The CSV output is a list for a measuring script, which may add "
    "columns "
    "(device, time_us, ...) for 'foretell import table'; 'foretell adapt' reads it too.\n"
    "\n"
    "Examples:\n"
    "  foretell sample --from phone.ftm --pool zoo -n 50\n"
    "  foretell sample --from phone.ftm --pool zoo -n 50 --format csv \\\n"
    "      --output list.csv\n"
    "  foretell sample --from phone.ftm --pool zoo -n 20 --family vggs \\\n"
    "      --method kmeans --seed 1\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, or a pool with too few models; 3 cannot open, read or write; 4 "
    "not a predictor or data set; 5 damaged; 11 out of memory; 130 interrupted.";

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->from == NULL) argp_error(state, "no predictor: give it with --from FILE");
    if (args->pool == NULL) argp_error(state, "no models: give a data set with --pool DIR");
    if (args->options.count == 0) argp_error(state, "how many models? Give --count N");
}

const option_set cmd_sample_options = {.rows = rows,
                                       .check = check,
                                       .parts = {{&output_set, offsetof(arguments, output)}},
                                       .doc = doc,
                                       .refusal = "give the predictor with --from and the models with --pool"};

/* --- The whole ----------------------------------------------------------------------------------------------- */

static ft_status sample(void *user, eval_session *s) {
    arguments *args = user;
    ft_sample made;
    ft_error error;
    args->options.devices = args->devices.items;
    args->options.device_count = args->devices.count;
    args->options.families = args->families.items;
    args->options.family_count = args->families.count;
    args->options.progress = progress_step;
    progress_begin(0, args->is_quiet);
    ft_status status = ft_sample_make(s->predictor, s->data, &args->options, &made, &error);
    progress_hide();
    if (status == FT_ERR_CANCELLED) return status;
    if (status != FT_OK) return cli_fail(status, "%s: %s", args->pool, error.message);
    status = ft_sample_write(&made, &args->output.style, s->out.stream, &error);
    ft_sample_free(&made);
    return output_end(&s->out, status, &error);
}

int cmd_sample(int argc, char **argv) {
    arguments args = {.output = output_options_default()};
    options_parse(&cmd_sample_options, argc, argv, &args);
    return eval_session_run(args.from, args.pool, &args.output, sample, &args);
}
