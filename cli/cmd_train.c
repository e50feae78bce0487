/* cmd_train.c - `foretell train`: trains a predictor on a data set. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commands.h"

typedef struct arguments {
    ft_train_options train;
    config_list config;
    name_list folds;
    const char *data, *run;
    bool is_quiet;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row rows[] = {
    {.help = "Data:", .group = 1},
    {"data", "DIR", "the data set (needed); 'foretell import' makes one", 0, TEXT(arguments, data)},
    {"metric", "NAME[,NAME]",
     "column of the data set to predict (time_us); families of graph networks learn several at once", 0,
     TEXT(arguments, train.metric)},
    {"split", "SPEC",
     "random[:80/10/10], name[:80/10/10], family:NAME, network:NAME, device:NAME, order, fewshot:NAME:K, "
     "fold:KEY:K:I, deal:KEY:K:I, or all (random)",
     0, TEXT(arguments, train.split), .choices = "random name family: network: device: order fewshot: fold: deal: all"},
    {"fold", "RUN",
     "a complete run of the same family that held out another part of the data; repeated for each: accuracy and "
     "intervals "
     "are measured on the parts that these runs held out",
     0, NAMES(arguments, folds)},
    TIME_FILTER_ROWS(arguments, train.filter),
    SEED_ROW(arguments, train.seed, "of the split and of everything random in the fit (0)", 0),
    {.help = "Predictor:", .group = 10},
    {"output", "RUN", "the folder that gets predictor, scores, log and settings (needed)", 0, TEXT(arguments, run)},
    {"family", "NAME", "family of predictors; 'foretell list families' lists them (the first one)", 0,
     TEXT(arguments, train.family), .choices = "@families"},
    {"config", "FILE|KEY=VALUE",
     "settings of the family: a JSON or YAML file, or a JSON object, and single ones; may be repeated", 0,
     PARSED_BY(config_list_add, arguments, config)},
    {.help = "Run:", .group = 20},
    THREADS_ROW(arguments, train.threads, 0),
    {"resume", NULL, "continue a stopped run; data and options must be the same", 0, FLAG(arguments, train.is_resumed)},
    {"force", NULL, "replace an existing run when the new one is complete", 0, FLAG(arguments, train.is_forced)},
    QUIET_ROW(arguments, is_quiet, 0),
    {0},
};

static const char doc[] =
    "Train a predictor on a data set, calibrate its intervals, and evaluate it on held-out models.\v"
    "RUN gets config.json (settings), log.jsonl (progress), metrics.json (scores on the validation and the "
    "test part) and predictor.ftm (the result). The same data, options and seed give the same bytes, also when the run "
    "was stopped by Ctrl-C, or killed, and resumed.\n"
    "\n"
    "Examples:\n"
    "  foretell import cg ../shared/data/cg -o cg.data\n"
    "  foretell train --data cg.data -o run\n"
    "  foretell train --data cg.data -o run --resume\n"
    "  foretell train --data cg.data -o left-out --split family:resnet --seed 1\n"
    "  foretell train --data cg.data -o flops --family flops\n"
    "  foretell train --data cg.data -o deep --config settings.json \\\n"
    "      --config depth=8\n"
    "  foretell train --data logs.data -o fold-1 --split fold:name:5:1\n"
    "  foretell train --data logs.data -o final --split name:90/10/0 \\\n"
    "      --fold fold-1 --fold fold-2 --fold fold-3 --fold fold-4 --fold fold-5\n"
    "  foretell train --data seer.data -o multi --family seernet-multi \\\n"
    "      --metric time_us,peak_bytes,util_ratio\n";

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->data == NULL) argp_error(state, "--data DIR is needed");
    if (args->run == NULL) argp_error(state, "--output RUN is needed");
}

const option_set cmd_train_options = {.rows = rows, .check = check, .doc = doc};

/* --- Running ------------------------------------------------------------------------------------------------- */

static ft_status write_scores(const char *title, const ft_evaluation *tested) {
    output_options options = output_options_default();
    output out;
    ft_error error;
    ft_status status = output_open(&options, &out);
    if (status != FT_OK) return status;
    status = ft_evaluation_write(tested, title, 0, &options.style, out.stream, &error);
    return output_end(&out, status, &error);
}

/* A line for each device; metrics.json and 'foretell eval' have the families. */
static ft_status show_metric(const arguments *args, const ft_evaluation *tested) {
    if (tested->score_count == 0) return FT_OK;
    ft_score *scores = calloc(tested->score_count, sizeof *scores);
    if (scores == NULL) return cli_fail(FT_ERR_NOMEM, "out of memory");
    ft_evaluation shown = *tested;
    shown.next = NULL;
    shown.scores = scores;
    shown.score_count = 0;
    for (uint32_t i = 0; i < tested->score_count; i++)
        if (strcmp(tested->scores[i].family, "all") == 0) scores[shown.score_count++] = tested->scores[i];
    ft_status status = write_scores(args->run, &shown);
    free(scores);
    return status;
}

static ft_status show_scores(const arguments *args, const ft_evaluation *tested) {
    ft_status status = FT_OK;
    for (; tested != NULL && status == FT_OK; tested = tested->next) status = show_metric(args, tested);
    return status;
}

static ft_status train(const arguments *args, const ft_dataset *data) {
    ft_evaluation tested;
    ft_error error;
    progress_begin(0, args->is_quiet);
    ft_status status = ft_train(data, args->run, &args->train, &tested, &error);
    progress_hide();
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    status = show_scores(args, &tested);
    /* Resuming a complete run does not test it again. */
    bool was_tested = tested.score_count > 0 || args->train.is_resumed || args->folds.count > 0;
    if (!args->is_quiet && status == FT_OK)
        cli_note("%s/predictor.ftm is complete; its scores are in %s/metrics.json%s", args->run, args->run,
                 was_tested ? "" : ", of the validation part alone: the predictor covers no record of the test part");
    ft_evaluation_free(&tested);
    return status;
}

/* Scores and intervals of a few models say little. */
static void note_few(const arguments *args, const ft_dataset *data) {
    enum { FEW_MODELS = 30 };
    uint32_t models = ft_dataset_graph_count(data);
    if (args->is_quiet || models >= FEW_MODELS) return;
    cli_note("%s has %u different models, which is few: intervals are wide, and scores of a few records vary by "
             "chance; 'foretell adapt' learns more from as many",
             args->data, models);
}

static ft_status run_train(arguments *args) {
    ft_dataset *data;
    ft_error error;
    ft_status status = config_list_read(&args->config);
    if (status != FT_OK) return status;
    args->train.config = args->config.text;
    args->train.settings = args->config.items;
    args->train.setting_count = args->config.count;
    args->train.folds = args->folds.items;
    args->train.fold_count = args->folds.count;
    status = ft_dataset_open(args->data, &data, &error);
    if (status != FT_OK) {
        cli_fail(status, "%s", error.message);
    } else {
        note_few(args, data);
        status = train(args, data);
        ft_dataset_free(data);
    }
    config_list_free(&args->config);
    return status;
}

int cmd_train(int argc, char **argv) {
    arguments args = {.train = ft_train_options_default()};
    args.train.progress = progress_step;
    options_parse(&cmd_train_options, argc, argv, &args);
    stop_install();
    ft_status status = run_train(&args);
    stop_finish();
    return (int)status;
}
