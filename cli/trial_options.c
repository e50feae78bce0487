/* trial_options.c - see trial_options.h. */
#include "trial_options.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_time(void *field, const char *text, const option_row *row, struct argp_state *state) {
    char *end;
    double value = strtod(text, &end);
    double unit = strcmp(end, "h") == 0 ? 3600 : strcmp(end, "m") == 0 ? 60 : 1;
    bool has_unit = *end == '\0' || ((*end == 's' || *end == 'm' || *end == 'h') && end[1] == '\0');
    if (*text < '0' || *text > '9' || !has_unit || !(value > 0) || value * unit > 1e9)
        argp_error(state, "--%s %s: expected a time, as 90s, 30m or 2h", row->name, text);
    *(double *)field = value * unit;
}

static const option_row rows[] = {
    {.help = "Data:", .group = 1},
    {"data", "DIR", "the data set (needed)", 0, TEXT(trial_options, data)},
    {"metric", "NAME", "column of the data set to predict (time_us)", 0, TEXT(trial_options, trial.metric)},
    {"split", "SPEC",
     "random[:80/10/10], name[:80/10/10], family:NAME, network:NAME, device:NAME, order, fewshot:NAME:K, "
     "fold:KEY:K:I, deal:KEY:K:I (random)",
     0, TEXT(trial_options, trial.split),
     .choices = "random name family: network: device: order fewshot: fold: deal: all"},
    SEED_ROW(trial_options, trial.seed, "of the split, the training and the search (0)", 0),
    {.help = "Predictor:", .group = 2},
    {"family", "NAME", "family of predictors; 'foretell list families' lists them (the first one)", 0,
     TEXT(trial_options, trial.family), .choices = "@families"},
    {"config", "FILE|KEY=VALUE",
     "settings of all trials: a JSON or YAML file, or a JSON object, and single ones; may be repeated", 0,
     PARSED_BY(config_list_add, trial_options, config)},
    {"objective", "SCORE", "mape, rmspe, acc5, acc10, acc20, rmse, spearman or kendall (mape)", 0,
     TEXT(trial_options, trial.objective), .choices = "mape rmspe acc5 acc10 acc20 rmse spearman kendall"},
    {"output", "DIR", "the folder that gets journal and results (needed)", 0, TEXT(trial_options, folder)},
    {.help = "Run:", .group = 20},
    {"workers", "N", "number of parallel trials (one per core); the result does not depend on it", 0,
     COUNT(trial_options, trial.workers, 1024)},
    {"threads", "N", "threads of all workers together (one per core)", 0, COUNT(trial_options, trial.threads, 1024)},
    {"time", "T", "start no trial after this time: 90s, 30m, 2h", 0,
     PARSED_BY(parse_time, trial_options, trial.time_s)},
    {"resume", NULL, "resume from the journal in DIR; data and options must be the same", 0,
     FLAG(trial_options, trial.is_resumed)},
    {"keep", NULL, "keep the run folders of the trials, in DIR/trials", 0, FLAG(trial_options, trial.keeps_runs)},
    {"format", "FORMAT", "output format: table, json or csv (table)", 0,
     PARSED_BY(option_format, trial_options, style.output), .choices = "table json csv"},
    QUIET_ROW(trial_options, is_quiet, 0),
    {0},
};

static void check(void *input, struct argp_state *state) {
    const trial_options *t = input;
    if (t->data == NULL) argp_error(state, "--data DIR is needed");
    if (t->folder == NULL) argp_error(state, "--output DIR is needed");
}

const option_set trial_option_set = {.rows = rows, .check = check};

/* --- Files --------------------------------------------------------------------------------------------------- */

void trial_options_init(trial_options *t) {
    *t = (trial_options){.style = ft_style_default()};
    t->trial.progress = progress_step;
}

ft_status trial_options_open(trial_options *t, ft_dataset **data) {
    ft_error error;
    ft_status status = config_list_read(&t->config);
    if (status != FT_OK) return status;
    t->trial.config = t->config.text;
    t->trial.settings = t->config.items;
    t->trial.setting_count = t->config.count;
    status = ft_dataset_open(t->data, data, &error);
    return status == FT_OK ? FT_OK : cli_fail(status, "%s", error.message);
}

void trial_options_free(trial_options *t) {
    config_list_free(&t->config);
}

ft_status trial_options_show(trial_options *t, trial_writer *write, const void *user) {
    output_options options = output_options_default();
    output out;
    ft_error error;
    options.style.output = t->style.output;
    ft_status status = output_open(&options, &out);
    if (status != FT_OK) return status;
    status = write(user, &options.style, out.stream, &error);
    return output_end(&out, status, &error);
}
