/* cmd_tune.c - `foretell tune`: searches for the best settings of a predictor family. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "trial_options.h"

enum { RANGES_MAX = 64, TRIALS_MAX = 100000 };

typedef struct arguments {
    trial_options trial;
    ft_tune_options tune;
    const char *ranges[RANGES_MAX];
    const char *space_path, *plot;
    uint32_t top;
} arguments;

static const char doc[] =
    "Search for the settings of a predictor family with the best score on the validation part of a split. The test "
    "part is not used.\v"
    "DIR gets best.json (the best settings, for train --config), trials.csv and trials.svg (all trials), and "
    "journal.jsonl, from which a stopped or killed search resumes. The first trial has the "
    "defaults. The same data, options and seed give the same trials, whatever the number of workers.\n"
    "\n"
    "Examples:\n"
    "  foretell tune --data cg.data --family totals-gbt -o search --trials 27\n"
    "  foretell tune --data cg.data -o search --time 30m\n"
    "  foretell tune --data cg.data -o search --time 30m --resume\n"
    "  foretell tune --data cg.data -o search --space rate=log-real:1e-3..0.05 \\\n"
    "      --config members=1\n"
    "  foretell train --data cg.data -o run --family totals-gbt \\\n"
    "      --config search/best.json\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, or a journal of another search; 3 cannot open, read or write; 5 "
    "damaged; 11 out of memory; 130 interrupted.";

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_space(void *input, const char *text, const option_row *row, struct argp_state *state) {
    arguments *args = input;
    if (strchr(text, '=') == NULL) {
        if (args->space_path != NULL) argp_error(state, "--%s %s: only one file is possible", row->name, text);
        args->space_path = text;
        return;
    }
    if (args->tune.range_count == RANGES_MAX) argp_error(state, "--%s: at most %d settings", row->name, RANGES_MAX);
    args->ranges[args->tune.range_count++] = text;
}

static const option_row rows[] = {
    {.help = "Search:", .group = 10},
    {"space", "FILE|KEY=RANGE",
     "search space: a JSON or YAML file instead of that of the family, and single settings, as "
     "rate=log-real:1e-4..0.1, hidden=int:16..128 or loss=mape,log; may be repeated",
     0, PARSED_WHOLE_BY(parse_space)},
    {"trials", "N", "number of configurations, the defaults among them (36)", 0,
     COUNT(arguments, tune.trials, TRIALS_MAX)},
    {"generation", "N", "configurations chosen at a time (9)", 0, COUNT(arguments, tune.generation, 4096)},
    {"rungs", "N", "rungs of successive halving; 1: all trials get the full effort (3)", 0,
     COUNT(arguments, tune.rungs, 8)},
    {"factor", "N", "one of N trials continues on the next rung, with N times the effort (3)", 0,
     NUMBER(arguments, tune.factor, 2, 64)},
    {"effort", "KEY", "the setting that rungs change (the one that the family names, as steps)", 0,
     TEXT(arguments, tune.effort)},
    {.help = "Output selection:", .group = 15},
    {"top", "N", "number of best trials to print (10)", 0, COUNT(arguments, top, TRIALS_MAX)},
    {"plot", "FILE", "also plot the trials to FILE (.svg or .png), as DIR/trials.svg does", 0, TEXT(arguments, plot)},
    {0},
};

const option_set cmd_tune_options = {
    .rows = rows, .parts = {{&trial_option_set, offsetof(arguments, trial)}}, .doc = doc};

/* --- Running ------------------------------------------------------------------------------------------------- */

typedef struct shown {
    const ft_tuning *tuning;
    uint32_t top;
} shown;

static ft_status write_tuning(const void *user, const ft_style *style, FILE *stream, ft_error *error) {
    const shown *s = user;
    return ft_tuning_write(s->tuning, s->top, style, stream, error);
}

static ft_status show(arguments *args, const ft_tuning *tuning) {
    ft_error error;
    const shown what = {.tuning = tuning, .top = args->top};
    ft_status status = trial_options_show(&args->trial, write_tuning, &what);
    if (status == FT_OK && args->plot != NULL) {
        status = ft_tuning_plot(tuning, args->plot, &error);
        if (status != FT_OK) return cli_fail(status, "%s", error.message);
    }
    if (status == FT_OK && !args->trial.is_quiet && tuning->best != FT_NONE)
        cli_note("%s/best.json has the best settings, for 'foretell train --family %s --config'; %s/trials.csv has all "
                 "trials",
                 args->trial.folder, tuning->family, args->trial.folder);
    return status;
}

static ft_status tune(arguments *args, const ft_dataset *data) {
    ft_tuning tuning;
    ft_error error;
    progress_begin(0, args->trial.is_quiet);
    ft_status status = ft_tune(data, args->trial.folder, &args->tune, &tuning, &error);
    progress_hide();
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    status = show(args, &tuning);
    ft_tuning_free(&tuning);
    return status;
}

static ft_status run_tune(arguments *args) {
    ft_dataset *data;
    char *space = NULL;
    if (args->space_path != NULL) {
        space = cli_read_file(args->space_path);
        if (space == NULL) return FT_ERR_IO;
    }
    ft_status status = trial_options_open(&args->trial, &data);
    if (status == FT_OK) {
        args->tune.trial = args->trial.trial;
        args->tune.space = space;
        status = tune(args, data);
        ft_dataset_free(data);
    }
    trial_options_free(&args->trial);
    free(space);
    return status;
}

int cmd_tune(int argc, char **argv) {
    arguments args = {.tune = ft_tune_options_default(), .top = 10};
    trial_options_init(&args.trial);
    args.tune.ranges = args.ranges;
    options_parse(&cmd_tune_options, argc, argv, &args);
    stop_install();
    ft_status status = run_tune(&args);
    stop_finish();
    return (int)status;
}
