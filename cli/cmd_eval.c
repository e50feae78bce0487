/* cmd_eval.c - `foretell eval`: errors of a predictor on measured models. */
#include "cli.h"
#include "commands.h"
#include "eval_session.h"
#include "record_options.h"

typedef struct arguments {
    const char *predictor;
    record_options records;
    output_options output;
    uint32_t worst;
    const char *plot;
    const char *extrapolation; /* folder of pictures */
    const char *trained_on;    /* data set; NULL: the one that is evaluated, if it is that */
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row rows[] = {
    {"predictor", "FILE", "the predictor", 1, TEXT(arguments, predictor)},
    {"worst", "N", "list the N records of each device with the largest errors (5; 0: none)", 20,
     NUMBER(arguments, worst, 0, 100000)},
    {"plot", "FILE",
     "draw predicted against measured, a histogram of errors and error against size, by device, to FILE.svg or "
     "FILE.png",
     20, PARSED_BY(option_plot, arguments, plot)},
    {"plot-extrapolation", "DIR",
     "write pictures and tables to DIR of how errors grow for models unlike the training data", 20,
     TEXT(arguments, extrapolation)},
    {"trained-on", "DIR",
     "for --plot-extrapolation: the data set that the predictor was trained on (--data, when it was that)", 20,
     TEXT(arguments, trained_on)},
    {0},
};

static const char doc[] =
    "Evaluate a predictor: predict every record of a data set that it covers, and compare with the measured values.\v"
    "By device, and by family of models: mean error (MAPE), share within 5 and 10 %, order (Spearman, Kendall), how "
    "often the 90 % interval holds the measured value (Cover), and more. Without --split, it is the test part of the "
    "split that the predictor was trained with, when it was trained on this very data set, and all records otherwise; "
    "the first lines say which.\n"
    "\n"
    "Examples:\n"
    "  foretell eval --predictor phone.ftm --data cg\n"
    "  foretell eval -p phone.ftm -d cg --split family:resnets --plot resnets.svg\n"
    "  foretell eval -p phone.ftm -d mine --device adreno-640 --worst 20\n"
    "  foretell eval -p phone.ftm -d mine --plot-extrapolation beyond \\\n"
    "      --trained-on cg\n"
    "  foretell eval -p phone.ftm -d mine --format json --output scores.json\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a predictor or data set; 5 "
    "damaged; 6 predictor and data set do not fit each other; 11 out of memory; 130 interrupted.";

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->predictor == NULL) argp_error(state, "no predictor: give it with --predictor FILE");
    if (args->records.has_seed && args->records.split == NULL)
        argp_error(state, "--seed belongs to a split: add --split SPEC");
    if (args->records.data == NULL) argp_error(state, "no data set: give it with --data DIR");
    if (args->trained_on != NULL && args->extrapolation == NULL)
        argp_error(state, "--trained-on is for --plot-extrapolation DIR");
}

const option_set cmd_eval_options = {
    .rows = rows,
    .check = check,
    .parts = {{&record_option_set, offsetof(arguments, records)}, {&output_set, offsetof(arguments, output)}},
    .doc = doc,
    .refusal = "give the predictor with --predictor and the data set with --data"};

/* --- Extrapolation ------------------------------------------------------------------------------------------- */

/* Draws beside the models that the predictor learned from: the training part of its split when it was trained on
 * `trained`, all of that otherwise. */
static ft_status draw_extrapolation(const arguments *args, const ft_predictor *predictor, const ft_dataset *data,
                                    const ft_evaluation *evaluation, const ft_dataset *trained) {
    ft_split split = {0};
    ft_error error;
    bool has_split = false;
    const ft_predictor *chosen = ft_predictor_find(predictor, evaluation->metric);
    ft_status status = ft_predictor_split(chosen, trained, &split, &has_split, &error);
    bool is_known = has_split || args->trained_on != NULL;
    if (status == FT_OK && !is_known && !args->records.is_quiet)
        cli_note("the predictor was not trained on %s: --trained-on DIR adds its training data to the plots",
                 args->records.data);
    if (status == FT_OK && args->trained_on != NULL && !has_split && !args->records.is_quiet)
        cli_note("the predictor was not trained on %s in its present state: all its records count as training data",
                 args->trained_on);
    const ft_extrapolation_options options = {.trained = is_known ? trained : NULL,
                                              .trained_split = has_split ? &split : NULL,
                                              .threads = args->records.threads,
                                              .progress = progress_step};
    progress_begin(0, args->records.is_quiet);
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
    if (status != FT_OK) return output_fail(out, status, NULL, &error);
    if (args->plot != NULL && ft_evaluation_plot(evaluation, args->predictor, args->plot, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    return output_commit(out);
}

static ft_status evaluate(void *user, eval_session *s) {
    arguments *args = user;
    ft_split split = {0};
    ft_evaluation evaluation = {0};
    bool has_split;
    ft_status status = record_options_split(&args->records, s->predictor, s->data, &split, &has_split);
    if (status == FT_OK)
        status = record_options_evaluate(&args->records, args->predictor, s->predictor, s->data,
                                         has_split ? &split : NULL, &evaluation);
    if (status == FT_OK && args->extrapolation != NULL)
        status = plot_extrapolation(args, s->predictor, s->data, &evaluation);
    if (status == FT_OK) status = write_evaluation(args, &evaluation, &s->out);
    ft_evaluation_free(&evaluation);
    ft_split_free(&split);
    return status;
}

int cmd_eval(int argc, char **argv) {
    arguments args = {.records = record_options_default(), .output = output_options_default(), .worst = 5};
    options_parse(&cmd_eval_options, argc, argv, &args);
    return eval_session_run(args.predictor, args.records.data, &args.output, evaluate, &args);
}
