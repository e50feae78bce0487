/* cmd_compare.c - `foretell compare`: scores of predictors or training runs side by side. */
#include <stdlib.h>

#include "cli.h"
#include "commands.h"
#include "record_options.h"

enum { RIVALS_MAX = 64 };

typedef struct arguments {
    record_options records;
    output_options output;
    bool has_families;
    argument_list predictors;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row rows[] = {
    {"by-family", NULL, "also scores of each family of models", 20, FLAG(arguments, has_families)},
    {0},
};

static const char doc[] =
    "Compare predictors: their scores on the same records, the best marked, and the difference of their mean error "
    "from "
    "that of the first, with its 95 % confidence interval.\v"
    "With --data, the arguments are predictor files, and they are evaluated now; without --split, on the test part of "
    "the split that the first was trained with. Without --data, the arguments are folders of training runs, and "
    "their own scores are compared.\n"
    "\n"
    "Examples:\n"
    "  foretell compare new.ftm old.ftm --data cg\n"
    "  foretell compare new.ftm old.ftm --data cg --split family:resnets \\\n"
    "      --by-family\n"
    "  foretell compare runs/kernel-sum runs/flops runs/roofline\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a predictor or data set; 5 "
    "damaged; 6 predictors and data set do not fit each other; 11 out of memory; 130 interrupted.";

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    const record_options *c = &args->records;
    if (args->predictors.count == 0)
        argp_error(state, "nothing to compare: give predictor files and --data, or folders of runs");
    if (args->predictors.count > RIVALS_MAX) argp_error(state, "at most %d at a time", RIVALS_MAX);
    if (c->data == NULL && (c->split != NULL || c->has_part || c->devices.count > 0 || c->families.count > 0))
        argp_error(state, "no data set: give it with --data DIR");
}

const option_set cmd_compare_options = {
    .rows = rows,
    .check = check,
    .parts = {{&record_option_set, offsetof(arguments, records)}, {&output_set, offsetof(arguments, output)}},
    .doc = doc,
    .args_doc = "PREDICTOR... --data DIR\nRUN...",
    .arguments = offsetof(arguments, predictors)};

/* --- Predictors ---------------------------------------------------------------------------------------------- */

typedef struct compare_job {
    arguments *args;
    ft_dataset *data;
    ft_split split;
    bool has_split; /* known once the first predictor is open */
    ft_evaluation evaluations[RIVALS_MAX];
    ft_compared_predictor predictors[RIVALS_MAX];
} compare_job;

static ft_status evaluate_rival(compare_job *c, uint32_t index) {
    const char *path = c->args->predictors.items[index];
    ft_predictor *predictor = NULL;
    ft_error error;
    if (ft_predictor_open(path, &predictor, &error) != FT_OK) return cli_fail(error.status, "%s", error.message);
    ft_status status = FT_OK;
    record_options one = c->args->records;
    if (one.metric == NULL) one.metric = ft_predictor_metric(predictor);
    if (index == 0) status = record_options_split(&one, predictor, c->data, &c->split, &c->has_split);
    if (status == FT_OK)
        status = record_options_evaluate(&one, path, predictor, c->data, c->has_split ? &c->split : NULL,
                                         &c->evaluations[index]);
    c->predictors[index] = (ft_compared_predictor){.name = path, .evaluation = &c->evaluations[index]};
    ft_predictor_free(predictor);
    return status;
}

static ft_status compare_predictors(arguments *args, output *out) {
    ft_error error;
    compare_job *c = calloc(1, sizeof *c);
    if (c == NULL) return cli_fail(FT_ERR_NOMEM, "out of memory");
    c->args = args;
    ft_status status = ft_dataset_open(args->records.data, &c->data, &error);
    if (status != FT_OK) cli_fail(status, "%s", error.message);
    for (uint32_t i = 0; i < args->predictors.count && status == FT_OK; i++) status = evaluate_rival(c, i);
    if (status == FT_OK) {
        status = ft_compare_write(c->predictors, args->predictors.count, args->has_families, args->records.seed,
                                  &args->output.style, out->stream, &error);
        if (status != FT_OK) output_fail(out, status, NULL, &error);
    }
    for (uint32_t i = 0; i < args->predictors.count; i++) ft_evaluation_free(&c->evaluations[i]);
    ft_split_free(&c->split);
    ft_dataset_free(c->data);
    free(c);
    return status;
}

/* --- The whole ----------------------------------------------------------------------------------------------- */

static ft_status compare_runs(const arguments *args, const output *out) {
    ft_error error;
    for (uint32_t i = 0; i < args->predictors.count; i++)
        if (path_kind_of(args->predictors.items[i], true) == PATH_FILE)
            return cli_fail(FT_ERR_USAGE, "%s is a file: to compare predictors, give a data set with --data DIR",
                            args->predictors.items[i]);
    ft_status status = ft_compare_runs((const char *const *)args->predictors.items, args->predictors.count,
                                       args->has_families, &args->output.style, out->stream, &error);
    return status != FT_OK ? output_fail(out, status, NULL, &error) : FT_OK;
}

int cmd_compare(int argc, char **argv) {
    arguments args = {.records = record_options_default(), .output = output_options_default()};
    output out;
    options_parse(&cmd_compare_options, argc, argv, &args);
    stop_install();
    ft_status status = output_open(&args.output, &out);
    if (status != FT_OK) return (int)status;
    status = args.records.data != NULL ? compare_predictors(&args, &out) : compare_runs(&args, &out);
    if (status == FT_OK) status = output_commit(&out);
    output_discard(&out);
    if (status == FT_ERR_CANCELLED) stop_finish();
    return (int)status;
}
