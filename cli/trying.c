/* trying.c - see trying.h. */
#include "trying.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* --- Options ------------------------------------------------------------------------------------------------- */

static void take_time(void *field, const char *text, const option_row *row, struct argp_state *state) {
    char *end;
    double value = strtod(text, &end);
    double unit = strcmp(end, "h") == 0 ? 3600 : strcmp(end, "m") == 0 ? 60 : 1;
    bool has_unit = *end == '\0' || ((*end == 's' || *end == 'm' || *end == 'h') && end[1] == '\0');
    if (*text < '0' || *text > '9' || !has_unit || !(value > 0) || value * unit > 1e9)
        argp_error(state, "--%s %s: want a time, as 90s, 30m or 2h", row->name, text);
    *(double *)field = value * unit;
}

static const option_row rows[] = {
    {.help = "What to learn from:", .group = 1},
    {"data", "DIR", "the data set (needed)", 0, TEXT(trying, data)},
    {"metric", "NAME", "what to predict: a column of the data set (time_us)", 0, TEXT(trying, trial.metric)},
    {"split", "SPEC",
     "random[:80/10/10], name[:80/10/10], family:NAME, network:NAME, device:NAME, order, fewshot:NAME:K, "
     "fold:KEY:K:I, deal:KEY:K:I (random)",
     0, TEXT(trying, trial.split), .choices = "random name family: network: device: order fewshot: fold: deal: all"},
    SEED_ROW(trying, trial.seed, "of the split, of the training and of what is chosen at random (0)", 0),
    {.help = "What to train:", .group = 2},
    {"family", "NAME", "the kind of predictor; 'foretell list families' lists them (the first of them)", 0,
     TEXT(trying, trial.family), .choices = "@families"},
    {"config", "FILE|KEY=VALUE", "settings that all trials have: a JSON file, and single ones; may be repeated", 0,
     TAKEN_BY(settings_add, trying, config)},
    {"objective", "SCORE", "mape, rmspe, acc5, acc10, acc20, rmse, spearman or kendall (mape)", 0,
     TEXT(trying, trial.objective), .choices = "mape rmspe acc5 acc10 acc20 rmse spearman kendall"},
    {"output", "DIR", "the folder that gets journal and results (needed)", 0, TEXT(trying, folder)},
    {.help = "How to run:", .group = 20},
    {"workers", "N", "trials at a time; one per core without it; the result does not depend on it", 0,
     COUNT(trying, trial.workers, 1024)},
    {"threads", "N", "of all workers together; one per core without it", 0, COUNT(trying, trial.threads, 1024)},
    {"time", "T", "begin no trial after so long: 90s, 30m, 2h", 0, TAKEN_BY(take_time, trying, trial.time_s)},
    {"resume", NULL, "go on with the journal in DIR; data and options must be the same", 0,
     FLAG(trying, trial.is_resumed)},
    {"keep", NULL, "keep the run folders of the trials, in DIR/trials", 0, FLAG(trying, trial.keeps_runs)},
    {"format", "FORMAT", "of what is printed: table, json or csv (table)", 0,
     TAKEN_BY(option_format, trying, style.output), .choices = "table json csv"},
    QUIET_ROW(trying, is_quiet, 0),
    {0},
};

static void check(void *input, struct argp_state *state) {
    const trying *t = input;
    if (t->data == NULL) argp_error(state, "--data DIR is needed");
    if (t->folder == NULL) argp_error(state, "--output DIR is needed");
}

const option_set trying_set = {.rows = rows, .check = check};

/* --- Files --------------------------------------------------------------------------------------------------- */

void trying_init(trying *t) {
    *t = (trying){.style = ft_style_default()};
    t->trial.progress = progress_step;
}

ft_status trying_open(trying *t, ft_dataset **data) {
    ft_error error;
    ft_status status = settings_read(&t->config);
    if (status != FT_OK) return status;
    t->trial.config = t->config.text;
    t->trial.settings = t->config.items;
    t->trial.setting_count = t->config.count;
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
    status = write(user, &options.style, out.stream, &error);
    return output_end(&out, status, &error);
}
