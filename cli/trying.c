/* trying.c - see trying.h. */
#include "trying.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum {
    OPTION_DATA = 1024,
    OPTION_METRIC,
    OPTION_SPLIT,
    OPTION_SEED,
    OPTION_OBJECTIVE,
    OPTION_WORKERS,
    OPTION_THREADS,
    OPTION_TIME,
    OPTION_RESUME,
    OPTION_KEEP,
    OPTION_FORMAT,
    THREADS_MAX = 1024
};

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "What to learn from:", 1},
    {"data", OPTION_DATA, "DIR", 0, "the data set (needed)", 0},
    {"metric", OPTION_METRIC, "NAME", 0, "what to predict: a column of the data set (time_us)", 0},
    {"split", OPTION_SPLIT, "SPEC", 0,
     "random[:80/10/10], name[:80/10/10], family:NAME, network:NAME, device:NAME, order, fewshot:NAME:K, fold:KEY:K:I "
     "(random)",
     0},
    {"seed", OPTION_SEED, "N", 0, "of the split, of the training and of what is chosen at random (0)", 0},
    {NULL, 0, NULL, 0, "What to train:", 2},
    {"family", 'f', "NAME", 0, "the kind of predictor; 'foretell families' lists them (the first of them)", 0},
    {"config", 'c', "FILE|KEY=VALUE", 0, "settings that all trials have: a JSON file, and single ones; may be repeated",
     0},
    {"objective", OPTION_OBJECTIVE, "SCORE", 0, "mape, rmspe, acc5, acc10, acc20, rmse, spearman or kendall (mape)", 0},
    {"output", 'o', "DIR", 0, "the folder that gets journal and results (needed)", 0},
    {NULL, 0, NULL, 0, "How to run:", 20},
    {"workers", OPTION_WORKERS, "N", 0, "trials at a time; one per core without it; the result does not depend on it",
     0},
    {"threads", OPTION_THREADS, "N", 0, "of all workers together; one per core without it", 0},
    {"time", OPTION_TIME, "T", 0, "begin no trial after so long: 90s, 30m, 2h", 0},
    {"resume", OPTION_RESUME, NULL, 0, "go on with the journal in DIR; data and options must be the same", 0},
    {"keep", OPTION_KEEP, NULL, 0, "keep the run folders of the trials, in DIR/trials", 0},
    {"format", OPTION_FORMAT, "FORMAT", 0, "of what is printed: table, json or csv (table)", 0},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 0},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

/* --- Options ------------------------------------------------------------------------------------------------- */

static double parse_time(const char *text, struct argp_state *state) {
    char *end;
    double value = strtod(text, &end);
    double unit = strcmp(end, "h") == 0 ? 3600 : strcmp(end, "m") == 0 ? 60 : 1;
    bool has_unit = *end == '\0' || ((*end == 's' || *end == 'm' || *end == 'h') && end[1] == '\0');
    if (*text < '0' || *text > '9' || !has_unit || !(value > 0) || value * unit > 1e9)
        argp_error(state, "--time %s: want a time, as 90s, 30m or 2h", text);
    return value * unit;
}

static error_t parse_run(int key, char *text, struct argp_state *state) {
    trying *t = state->input;
    switch (key) {
    case OPTION_WORKERS:
        t->trial.workers = (uint32_t)cli_parse_count(state, "workers", text, THREADS_MAX);
        return 0;
    case OPTION_THREADS:
        t->trial.threads = (uint32_t)cli_parse_count(state, "threads", text, THREADS_MAX);
        return 0;
    case OPTION_TIME:
        t->trial.time_s = parse_time(text, state);
        return 0;
    case OPTION_RESUME:
        t->trial.is_resumed = true;
        return 0;
    case OPTION_KEEP:
        t->trial.keeps_runs = true;
        return 0;
    case OPTION_FORMAT:
        if (!ft_output_parse(text, &t->style.output)) argp_error(state, "--format %s: want table, json or csv", text);
        return 0;
    case 'q':
        t->is_quiet = true;
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': this command takes only options", text);
        return 0;
    case ARGP_KEY_END:
        if (t->data == NULL) argp_error(state, "--data DIR is needed");
        if (t->folder == NULL) argp_error(state, "--output DIR is needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    trying *t = state->input;
    switch (key) {
    case OPTION_DATA:
        t->data = text;
        return 0;
    case OPTION_METRIC:
        t->trial.metric = text;
        return 0;
    case OPTION_SPLIT:
        t->trial.split = text;
        return 0;
    case OPTION_SEED:
        t->trial.seed = cli_parse_number(state, "seed", text, 0, UINT32_MAX);
        return 0;
    case OPTION_OBJECTIVE:
        t->trial.objective = text;
        return 0;
    case 'f':
        t->trial.family = text;
        return 0;
    case 'c':
        settings_parse(&t->config, &t->trial.setting_count, text, state);
        return 0;
    case 'o':
        t->folder = text;
        return 0;
    default:
        return parse_run(key, text, state);
    }
}

const struct argp trying_argp = {.options = option_list, .parser = parse_option};

/* --- Files --------------------------------------------------------------------------------------------------- */

void trying_init(trying *t) {
    *t = (trying){.style = ft_style_default()};
    t->trial.settings = t->config.items;
    t->trial.progress = progress_step;
}

ft_status trying_open(trying *t, ft_dataset **data) {
    ft_error error;
    ft_status status = settings_read(&t->config);
    if (status != FT_OK) return status;
    t->trial.config = t->config.text;
    status = ft_dataset_open(t->data, data, &error);
    return status == FT_OK ? FT_OK : cli_fail(status, "%s", error.message);
}

void trying_free(trying *t) {
    settings_free(&t->config);
}

ft_status trying_show(trying *t, trying_writer *write, const void *user) {
    output_options options = output_options_default();
    output out;
    ft_error error;
    options.style.output = t->style.output;
    ft_status status = output_open(&options, &out);
    if (status != FT_OK) return status;
    if (write(user, &options.style, out.stream, &error) != FT_OK) return cli_fail(error.status, "%s", error.message);
    return output_commit(&out);
}
