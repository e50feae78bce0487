/* cmd_train.c - `foretell train`: makes a predictor from a data set. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "settings.h"

enum { THREADS_MAX = 1024 };
enum { OPTION_DATA = 256, OPTION_SPLIT, OPTION_SEED, OPTION_METRIC, OPTION_THREADS, OPTION_RESUME, OPTION_FORCE };

typedef struct arguments {
    ft_train_options train;
    settings config;
    const char *data, *run;
    bool is_quiet;
} arguments;

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "What to learn from:", 1},
    {"data", OPTION_DATA, "DIR", 0, "the data set (needed); 'foretell import' makes one", 0},
    {"metric", OPTION_METRIC, "NAME[,NAME]", 0,
     "what to predict: a column of the data set (time_us), or, for families of graph networks, several in one model",
     0},
    {"split", OPTION_SPLIT, "SPEC", 0,
     "random[:80/10/10], name[:80/10/10], family:NAME, network:NAME, device:NAME, order, fewshot:NAME:K, fold:KEY:K:I "
     "or all "
     "(random)",
     0},
    {"seed", OPTION_SEED, "N", 0, "of the split and of everything random in the fit (0)", 0},
    {NULL, 0, NULL, 0, "What to make:", 10},
    {"output", 'o', "RUN", 0, "the folder that gets predictor, scores, log and settings (needed)", 0},
    {"family", 'f', "NAME", 0, "the kind of predictor; 'foretell families' lists them (the first of them)", 0},
    {"config", 'c', "FILE|KEY=VALUE", 0, "settings of the family: a JSON file, and single ones; may be repeated", 0},
    {NULL, 0, NULL, 0, "How to run:", 20},
    {"threads", OPTION_THREADS, "N", 0, "one per core without it; the result does not depend on it", 0},
    {"resume", OPTION_RESUME, NULL, 0, "go on with a run that was stopped; data and options must be the same", 0},
    {"force", OPTION_FORCE, NULL, 0, "replace a run that is there, when the new one is complete", 0},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 0},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static const char doc[] =
    "Train a predictor on a data set, calibrate its intervals, and measure it on models that it has not seen.\v"
    "RUN gets config.json (what went in), log.jsonl (what happened), metrics.json (scores on the validation and the "
    "test part) and predictor.ftm (the result). The same data, options and seed give the same bytes, also when the run "
    "was stopped by Ctrl-C, or killed, and resumed.\n"
    "\n"
    "Examples:\n"
    "  foretell import cg ../shared/data/cg -o cg.data\n"
    "  foretell train --data cg.data -o run\n"
    "  foretell train --data cg.data -o run --resume\n"
    "  foretell train --data cg.data -o left-out --split family:resnet --seed 1\n"
    "  foretell train --data cg.data -o flops --family flops\n"
    "  foretell train --data cg.data -o deep --config settings.json --config depth=8\n"
    "  foretell train --data seer.data -o multi --family seernet-multi --metric time_us,peak_bytes,util_ratio\n";

/* --- Options ------------------------------------------------------------------------------------------------- */

static error_t parse_run(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case OPTION_THREADS:
        args->train.threads = (uint32_t)cli_parse_count(state, "threads", text, THREADS_MAX);
        return 0;
    case OPTION_RESUME:
        args->train.is_resumed = true;
        return 0;
    case OPTION_FORCE:
        args->train.is_forced = true;
        return 0;
    case 'q':
        args->is_quiet = true;
        return 0;
    case 'h':
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': this command takes only options", text);
        return 0;
    case ARGP_KEY_END:
        if (args->data == NULL) argp_error(state, "--data DIR is needed");
        if (args->run == NULL) argp_error(state, "--output RUN is needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case OPTION_DATA:
        args->data = text;
        return 0;
    case OPTION_METRIC:
        args->train.metric = text;
        return 0;
    case OPTION_SPLIT:
        args->train.split = text;
        return 0;
    case OPTION_SEED:
        args->train.seed = cli_parse_number(state, "seed", text, 0, UINT32_MAX);
        return 0;
    case 'o':
        args->run = text;
        return 0;
    case 'f':
        args->train.family = text;
        return 0;
    case 'c':
        settings_parse(&args->config, &args->train.setting_count, text, state);
        return 0;
    default:
        return parse_run(key, text, state);
    }
}

/* --- Running ------------------------------------------------------------------------------------------------- */

static ft_status write_scores(const char *title, const ft_evaluation *tested) {
    output_options options = output_options_default();
    output out;
    ft_error error;
    ft_status status = output_open(&options, &out);
    if (status != FT_OK) return status;
    if (ft_evaluation_write(tested, title, 0, &options.style, out.stream, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    return output_commit(&out);
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
    /* Resuming a run that was complete tests nothing again. */
    bool was_tested = tested.score_count > 0 || args->train.is_resumed;
    if (!args->is_quiet && status == FT_OK)
        cli_note("%s/predictor.ftm is complete; its scores are in %s/metrics.json%s", args->run, args->run,
                 was_tested ? "" : ", of the validation part alone: nothing of the test part can be predicted");
    ft_evaluation_free(&tested);
    return status;
}

static ft_status run_train(arguments *args) {
    ft_dataset *data;
    ft_error error;
    ft_status status = settings_read(&args->config);
    if (status != FT_OK) return status;
    args->train.config = args->config.text;
    status = ft_dataset_open(args->data, &data, &error);
    if (status != FT_OK) {
        cli_fail(status, "%s", error.message);
    } else {
        status = train(args, data);
        ft_dataset_free(data);
    }
    settings_free(&args->config);
    return status;
}

int cmd_train(int argc, char **argv) {
    static const struct argp parser = {.options = option_list, .parser = parse_option, .doc = doc};
    arguments args = {.train = ft_train_options_default()};
    args.train.settings = args.config.items;
    args.train.progress = progress_step;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    stop_install();
    ft_status status = run_train(&args);
    stop_finish();
    return (int)status;
}
