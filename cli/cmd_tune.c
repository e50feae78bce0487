/* cmd_tune.c - `foretell tune`: searches for the settings with which a family of predictors does best. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "trying.h"

enum {
    OPTION_SPACE = 256,
    OPTION_TRIALS,
    OPTION_GENERATION,
    OPTION_RUNGS,
    OPTION_FACTOR,
    OPTION_EFFORT,
    OPTION_TOP,
    OPTION_PLOT,
    RANGES_MAX = 64,
    TRIALS_MAX = 100000
};

typedef struct arguments {
    trying trying;
    ft_tune_options tune;
    const char *ranges[RANGES_MAX];
    const char *space_path, *plot;
    uint32_t top;
} arguments;

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "What to search:", 10},
    {"space", OPTION_SPACE, "FILE|KEY=RANGE", 0,
     "what is searched: a JSON file instead of what the family searches, and single settings, as "
     "rate=log-real:1e-4..0.1, "
     "hidden=int:16..128 or loss=mape,log; may be repeated",
     0},
    {"trials", OPTION_TRIALS, "N", 0, "configurations, the defaults among them (36)", 0},
    {"generation", OPTION_GENERATION, "N", 0, "so many are chosen at a time (9)", 0},
    {"rungs", OPTION_RUNGS, "N", 0, "of successive halving; 1: all trials get the full effort (3)", 0},
    {"factor", OPTION_FACTOR, "N", 0, "one of so many goes on to the next rung, with as many times the effort (3)", 0},
    {"effort", OPTION_EFFORT, "KEY", 0, "the setting that rungs change (the one that the family names, as steps)", 0},
    {NULL, 0, NULL, 0, "What to show:", 15},
    {"top", OPTION_TOP, "N", 0, "so many of the best trials are printed (10)", 0},
    {"plot", OPTION_PLOT, "FILE", 0, "also draw the trials to FILE (.svg or .png); DIR/trials.svg has them anyway", 0},
    {0},
};

static const char doc[] =
    "Search for the settings with which a family of predictors does best on the validation part of a split. The test "
    "part is never looked at.\v"
    "DIR gets best.json (the best settings, for train --config), trials.csv and trials.svg (all trials), and "
    "journal.jsonl, from which the search goes on after it was stopped by Ctrl-C, or killed. The first trial has the "
    "defaults. The same data, options and seed give the same trials, whatever the number of workers.\n"
    "\n"
    "Examples:\n"
    "  foretell tune --data cg.data --family totals-gbt -o search --trials 27\n"
    "  foretell tune --data cg.data -o search --time 30m\n"
    "  foretell tune --data cg.data -o search --time 30m --resume\n"
    "  foretell tune --data cg.data -o search --space rate=log-real:1e-3..0.05 --config members=1\n"
    "  foretell train --data cg.data --family totals-gbt --config search/best.json -o run\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, or a journal of another search; 3 cannot open, read or write; 5 "
    "damaged; 11 out of memory; 130 interrupted.";

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_space(arguments *args, const char *text, struct argp_state *state) {
    if (strchr(text, '=') == NULL) {
        if (args->space_path != NULL) argp_error(state, "--space %s: only one file is possible", text);
        args->space_path = text;
        return;
    }
    if (args->tune.range_count == RANGES_MAX) argp_error(state, "--space: at most %d settings", RANGES_MAX);
    args->ranges[args->tune.range_count++] = text;
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->trying;
        return 0;
    case OPTION_SPACE:
        parse_space(args, text, state);
        return 0;
    case OPTION_TRIALS:
        args->tune.trials = (uint32_t)cli_parse_count(state, "trials", text, TRIALS_MAX);
        return 0;
    case OPTION_GENERATION:
        args->tune.generation = (uint32_t)cli_parse_count(state, "generation", text, 4096);
        return 0;
    case OPTION_RUNGS:
        args->tune.rungs = (uint32_t)cli_parse_count(state, "rungs", text, 8);
        return 0;
    case OPTION_FACTOR:
        args->tune.factor = (uint32_t)cli_parse_number(state, "factor", text, 2, 64);
        return 0;
    case OPTION_EFFORT:
        args->tune.effort = text;
        return 0;
    case OPTION_TOP:
        args->top = (uint32_t)cli_parse_count(state, "top", text, TRIALS_MAX);
        return 0;
    case OPTION_PLOT:
        args->plot = text;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

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
    ft_status status = trying_show(&args->trying, write_tuning, &what);
    if (status == FT_OK && args->plot != NULL) {
        status = ft_tuning_plot(tuning, args->plot, &error);
        if (status != FT_OK) return cli_fail(status, "%s", error.message);
    }
    if (status == FT_OK && !args->trying.is_quiet && tuning->best != FT_NONE)
        cli_note("%s/best.json has the best settings, for 'foretell train --family %s --config'; %s/trials.csv has all "
                 "trials",
                 args->trying.folder, tuning->family, args->trying.folder);
    return status;
}

static ft_status tune(arguments *args, const ft_dataset *data) {
    ft_tuning tuning;
    ft_error error;
    progress_begin(0, args->trying.is_quiet);
    ft_status status = ft_tune(data, args->trying.folder, &args->tune, &tuning, &error);
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
    ft_status status = trying_open(&args->trying, &data);
    if (status == FT_OK) {
        args->tune.trial = args->trying.trial;
        args->tune.space = space;
        status = tune(args, data);
        ft_dataset_free(data);
    }
    trying_free(&args->trying);
    free(space);
    return status;
}

int cmd_tune(int argc, char **argv) {
    static const struct argp_child children[] = {{&trying_argp, 0, NULL, 0}, {0}};
    static const struct argp parser = {
        .options = option_list, .parser = parse_option, .doc = doc, .children = children};
    arguments args = {.tune = ft_tune_options_default(), .top = 10};
    trying_init(&args.trying);
    args.tune.ranges = args.ranges;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    stop_install();
    ft_status status = run_tune(&args);
    stop_finish();
    return (int)status;
}
