/* cmd_adapt.c - `foretell adapt`: adapts a predictor to a new device or family with a few measurements. */
#include "cli.h"
#include "commands.h"
#include "eval_session.h"

typedef struct arguments {
    const char *from, *data, *path;
    name_list devices, families;
    ft_adapt_options options;
    output_options output;
    bool is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row rows[] = {
    {"from", "FILE", "the predictor to start from", 1, TEXT(arguments, from)},
    {"data", "DIR", "the data set with the measurements", 1, TEXT(arguments, data)},
    {"to", "FILE", "write the adapted predictor to this file", 1, TEXT(arguments, path)},
    {"budget", "K", "learn from K measured models and test on the others; with --models, from its first K", 2,
     COUNT(arguments, options.budget, 100000)},
    {"models", "LIST", "learn from the models of this list, as 'foretell sample' writes it (K models by --seed)", 2,
     TEXT(arguments, options.models)},
    {"method", "NAME",
     "scale, refit, tune-last, tune-all, or auto: the better of scale and refit in cross-validation over the K models, "
     "or no change for a known device where neither is better (auto)",
     2, TEXT(arguments, options.method), .choices = "auto scale refit tune-last tune-all"},
    {"discrepancy", "NAME",
     "of tune-last and tune-all: distance between old and new devices that is kept small: cmd, mmd or none (cmd)", 2,
     TEXT(arguments, options.discrepancy), .choices = "cmd mmd none"},
    {"steps", "N", "training steps of tune-last and tune-all (the default of the family)", 2,
     COUNT(arguments, options.steps, 10000000)},
    {.help = "Records:", .group = 10},
    {"device", "NAME", "adapt to this device; may be repeated (devices new to the predictor, else all)", 0,
     NAMES(arguments, devices), .choices = "@devices"},
    {"family", "NAME", "only models of this family; may be repeated", 0, NAMES(arguments, families)},
    {"split", "SPEC",
     "use only the records that this split does not train on (the split that the predictor was trained with, when it "
     "was trained on this data set; else all records)",
     0, TEXT(arguments, options.split)},
    {"metric", "NAME", "metric to adapt, of predictors of several metrics (the first)", 0,
     TEXT(arguments, options.metric)},
    SEED_ROW(arguments, options.seed, "of the choice of models and folds (0)", 0),
    THREADS_ROW(arguments, options.threads, 40),
    QUIET_ROW(arguments, is_quiet, 60),
    {0},
};

static const char doc[] =
    "Adapt a predictor to a device or a family of models that it was not trained on, from a few dozen measurements.\v"
    "The new predictor covers the devices of the old one and the new ones. Errors before and after are those on "
    "held-out models. Intervals are calibrated by cross-validation over the models learned from; they are wide when "
    "those are few.\n"
    "\n"
    "Examples:\n"
    "  foretell adapt --from phone.ftm --data mine --models list.csv \\\n"
    "      --to mine.ftm\n"
    "  foretell adapt --from phone.ftm --data mine --budget 20 \\\n"
    "      --to mine.ftm --method refit\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, or too few measurements; 3 cannot open, read or write; 4 not a "
    "predictor or data set; 5 damaged; 6 predictor and data set do not fit each other; 11 out of memory; 130 "
    "interrupted.";

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->from == NULL) argp_error(state, "from which predictor? Give it with --from FILE");
    if (args->data == NULL) argp_error(state, "to which measurements? Give the data set with --data DIR");
    if (args->path == NULL) argp_error(state, "where to write the adapted predictor? Give --to FILE");
    if (args->options.budget == 0 && args->options.models == NULL)
        argp_error(state, "how many models to learn from? Give --budget K, or a list with --models LIST");
}

const option_set cmd_adapt_options = {.rows = rows,
                                      .check = check,
                                      .parts = {{&output_set, offsetof(arguments, output)}},
                                      .doc = doc,
                                      .refusal = "give the predictor with --from and the data set with --data"};

/* --- The whole ----------------------------------------------------------------------------------------------- */

static ft_status adapt(void *user, eval_session *s) {
    arguments *args = user;
    ft_adaptation adaptation;
    ft_error error;
    args->options.devices = args->devices.items;
    args->options.device_count = args->devices.count;
    args->options.families = args->families.items;
    args->options.family_count = args->families.count;
    args->options.progress = progress_step;
    progress_begin(0, args->is_quiet);
    ft_status status = ft_adapt(s->predictor, s->data, &args->options, args->path, &adaptation, &error);
    progress_hide();
    if (status == FT_ERR_CANCELLED) return status;
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    status = ft_adaptation_write(&adaptation, args->path, &args->output.style, s->out.stream, &error);
    ft_adaptation_free(&adaptation);
    return output_end(&s->out, status, &error);
}

int cmd_adapt(int argc, char **argv) {
    arguments args = {.output = output_options_default()};
    options_parse(&cmd_adapt_options, argc, argv, &args);
    return eval_session_run(args.from, args.data, &args.output, adapt, &args);
}
