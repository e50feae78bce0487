/* cmd_eval.c - `foretell eval`: how good a predictor is on measured models. */
#include <string.h>

#include "choice.h"
#include "cli.h"
#include "desk.h"

enum { OPTION_WORST = 256, OPTION_PLOT, OPTION_EXTRAPOLATION, OPTION_TRAINED_ON, WORST_MAX = 100000 };

typedef struct arguments {
    const char *predictor;
    choice choice;
    output_options output;
    uint32_t worst;
    const char *plot;
    const char *extrapolation; /* folder of pictures */
    const char *trained_on;    /* data set; NULL: the one that is evaluated, if it is that */
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {"predictor", 'p', "FILE", 0, "the predictor", 1},
    {"worst", OPTION_WORST, "N", 0, "list the N records of each device that are furthest off (5; 0: none)", 20},
    {"plot", OPTION_PLOT, "FILE", 0,
     "draw predicted against measured, a histogram of errors and error against size, by device, to FILE.svg or "
     "FILE.png",
     20},
    {"plot-extrapolation", OPTION_EXTRAPOLATION, "DIR", 0,
     "fill DIR with pictures and tables of how errors grow where models leave what the predictor was trained on", 20},
    {"trained-on", OPTION_TRAINED_ON, "DIR", 0,
     "for --plot-extrapolation: the data set that the predictor was trained on (--data, when it was that)", 20},
    {0},
};

static const char doc[] =
    "Tell how good a predictor is: it predicts every record of a data set that it can be asked about, and what it says "
    "is compared with what was measured.\v"
    "By device, and by family of models: mean error (MAPE), share within 5 and 10 %, order (Spearman, Kendall), how "
    "often the 90 % interval holds the measured value (Cover), and more. Without --split, it is the test part of the "
    "split that the predictor was trained with, when it was trained on this very data set, and all records otherwise; "
    "the first lines say which.\n"
    "\n"
    "Examples:\n"
    "  foretell eval --predictor phone.ftm --data cg\n"
    "  foretell eval -p phone.ftm -d cg --split family:resnets --plot resnets.svg\n"
    "  foretell eval -p phone.ftm -d mine --device adreno-640 --worst 20\n"
    "  foretell eval -p phone.ftm -d mine --plot-extrapolation beyond --trained-on cg\n"
    "  foretell eval -p phone.ftm -d mine --format json --output scores.json\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a predictor or data set; 5 "
    "damaged; 6 predictor and data set do not fit each other; 11 out of memory; 130 interrupted.";

static bool is_plot(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot != NULL && dot != path && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0);
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->choice;
        state->child_inputs[1] = &args->output;
        return 0;
    case 'p':
        args->predictor = text;
        return 0;
    case OPTION_WORST:
        args->worst = (uint32_t)cli_parse_number(state, "worst", text, 0, WORST_MAX);
        return 0;
    case OPTION_PLOT:
        args->plot = text;
        if (!is_plot(text)) argp_error(state, "--plot %s: want a file that ends in .svg or .png", text);
        return 0;
    case OPTION_EXTRAPOLATION:
        args->extrapolation = text;
        return 0;
    case OPTION_TRAINED_ON:
        args->trained_on = text;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "'%s': give the predictor with --predictor and the data set with --data", text);
        return 0;
    case ARGP_KEY_END:
        if (args->predictor == NULL) argp_error(state, "which predictor? Give it with --predictor FILE");
        if (args->choice.has_seed && args->choice.split == NULL)
            argp_error(state, "--seed is that of a split: say which with --split");
        if (args->choice.data == NULL) argp_error(state, "on which data set? Give it with --data DIR");
        if (args->trained_on != NULL && args->extrapolation == NULL)
            argp_error(state, "--trained-on is for --plot-extrapolation DIR");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- Extrapolation ------------------------------------------------------------------------------------------- */

/* Draws beside the models that the predictor learned from: the training part of its split when it was trained on
 * `trained`, all of that otherwise. */
static ft_status draw_extrapolation(const arguments *args, const ft_predictor *predictor, const ft_dataset *data,
                                    const ft_evaluation *evaluation, const ft_dataset *trained) {
    ft_split split = {0};
    ft_error error;
    bool has_split = false;
    const ft_predictor *asked = ft_predictor_find(predictor, evaluation->metric);
    ft_status status = ft_predictor_split(asked, trained, &split, &has_split, &error);
    bool is_known = has_split || args->trained_on != NULL;
    if (status == FT_OK && !is_known && !args->choice.is_quiet)
        cli_note("what the predictor was trained on is not %s: give it with --trained-on DIR to see it beside",
                 args->choice.data);
    if (status == FT_OK && args->trained_on != NULL && !has_split && !args->choice.is_quiet)
        cli_note("the predictor was not trained on %s as it is now: all its records stand for what it knows",
                 args->trained_on);
    const ft_extrapolation_options options = {.trained = is_known ? trained : NULL,
                                              .trained_split = has_split ? &split : NULL,
                                              .threads = args->choice.threads,
                                              .progress = progress_step};
    progress_begin(0, args->choice.is_quiet);
    if (status == FT_OK)
        status =
            ft_extrapolation_plot(predictor, data, evaluation, &options, args->predictor, args->extrapolation, &error);
    progress_hide();
    ft_split_free(&split);
    if (status == FT_OK || status == FT_ERR_CANCELLED) return status;
    return cli_fail(status, "%s", error.message);
}

static ft_status plot_extrapolation(const arguments *args, const ft_predictor *predictor, const ft_dataset *data,
                                    const ft_evaluation *evaluation) {
    if (args->trained_on == NULL) return draw_extrapolation(args, predictor, data, evaluation, data);
    ft_dataset *trained = NULL;
    ft_error error;
    ft_status status = ft_dataset_open(args->trained_on, &trained, &error);
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    status = draw_extrapolation(args, predictor, data, evaluation, trained);
    ft_dataset_free(trained);
    return status;
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static ft_status write_evaluation(arguments *args, const ft_evaluation *evaluation, output *out) {
    ft_error error;
    ft_status status =
        ft_evaluation_write(evaluation, args->predictor, args->worst, &args->output.style, out->stream, &error);
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    if (args->plot != NULL && ft_evaluation_plot(evaluation, args->predictor, args->plot, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    return output_commit(out);
}

static ft_status evaluate(arguments *args, const ft_predictor *predictor, const ft_dataset *data, output *out) {
    ft_split split = {0};
    ft_evaluation evaluation = {0};
    bool has_split;
    ft_status status = choice_split(&args->choice, predictor, data, &split, &has_split);
    if (status == FT_OK)
        status =
            choice_evaluate(&args->choice, args->predictor, predictor, data, has_split ? &split : NULL, &evaluation);
    if (status == FT_OK && args->extrapolation != NULL) status = plot_extrapolation(args, predictor, data, &evaluation);
    if (status == FT_OK) status = write_evaluation(args, &evaluation, out);
    ft_evaluation_free(&evaluation);
    ft_split_free(&split);
    return status;
}

static ft_status run(arguments *args) {
    desk d;
    ft_status status = desk_open(&d, args->predictor, args->choice.data, &args->output);
    if (status == FT_OK) status = evaluate(args, d.predictor, d.data, &d.out);
    desk_clear(&d);
    return status;
}

int cmd_eval(int argc, char **argv) {
    const struct argp_child children[] = {{&choice_argp, 0, NULL, 0}, {&output_argp, 0, NULL, 0}, {0}};
    const struct argp parser = {.options = option_list, .parser = parse_option, .doc = doc, .children = children};
    arguments args = {.choice = choice_default(), .output = output_options_default(), .worst = 5};
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    stop_install();
    ft_status status = run(&args);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}
