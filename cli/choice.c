#include "choice.h"

#include <string.h>

#include "cli.h"

/* --- Options ------------------------------------------------------------------------------------------------- */

static void take_seed(void *input, const char *text, const option_row *row, struct argp_state *state) {
    choice *c = input;
    c->seed = cli_parse_number(state, row->name, text, 0, UINT32_MAX);
    c->has_seed = true;
}

static void take_part(void *input, const char *text, const option_row *row, struct argp_state *state) {
    choice *c = input;
    c->has_part = true;
    if (!ft_split_part_parse(text, &c->part) || c->part == FT_PART_UNUSED)
        argp_error(state, "--%s %s: want train, valid or test", row->name, text);
}

static void take_mode(void *input, const char *text, const option_row *row, struct argp_state *state) {
    choice *c = input;
    c->has_mode = true;
    option_mode(&c->mode, text, row, state);
}

static const option_row rows[] = {
    {.help = "On which records:", .group = 10},
    {"data", "DIR", "the data set", 0, TEXT(choice, data)},
    {"metric", "NAME",
     "what is looked at, of predictors that tell several metrics (eval: each of them; compare: the first)", 0,
     TEXT(choice, metric)},
    {"split", "SPEC",
     "random, random:80/10/10, family:NAME, device:NAME, order, ... (the split that the predictor was trained with, "
     "when it was trained on this data set; else all records)",
     0, TEXT(choice, split), .choices = "random name family: network: device: order fewshot: fold: deal: all"},
    {"seed", "N", "of everything random: the split, the draws of compare (0)", 0, TAKEN_WHOLE_BY(take_seed)},
    {"part", "PART", "of the split: train, valid or test (test)", 0, TAKEN_WHOLE_BY(take_part),
     .choices = "train valid test"},
    {"device", "NAME", "only records of this device; may be repeated", 0, NAMES(choice, devices),
     .choices = "@devices"},
    {"family", "NAME", "only records of this family; may be repeated", 0, NAMES(choice, families)},
    {"setting", "KEY=VALUE", "only records whose setting has this, or all of several: KEY=VALUE;KEY=VALUE", 0,
     TEXT(choice, setting)},
    {"mode", "MODE", "only records of this mode: infer or train", 0, TAKEN_WHOLE_BY(take_mode),
     .choices = "infer train"},
    TIME_FILTER_ROWS(choice, filter),
    THREADS_ROW(choice, threads, 40),
    QUIET_ROW(choice, is_quiet, 60),
    {0},
};

const option_set choice_set = {.rows = rows};

choice choice_default(void) {
    return (choice){.part = FT_PART_TEST};
}

/* --- Splits -------------------------------------------------------------------------------------------------- */

/* The predictor of a file that will be asked; a metric that there is not is told later. */
static const ft_predictor *chosen(const choice *c, const ft_predictor *predictor) {
    const ft_predictor *found = c->metric != NULL ? ft_predictor_find(predictor, c->metric) : predictor;
    return found != NULL ? found : predictor;
}

/* A predictor that is shipped was trained on all there is. */
static void leave_split(const choice *c, ft_split *split, bool *is_found) {
    if (!c->is_quiet)
        cli_note("the predictor learned from this data set and kept no %s part: all records are evaluated, and new "
                 "models may be predicted less well",
                 ft_split_part_name(c->part));
    ft_split_free(split);
    *is_found = false;
}

ft_status choice_split(const choice *c, const ft_predictor *predictor, const ft_dataset *data, ft_split *split,
                       bool *is_found) {
    ft_error error;
    *is_found = true;
    ft_status status = c->split != NULL ? ft_split_make(data, c->split, c->seed, split, &error)
                                        : ft_predictor_split(chosen(c, predictor), data, split, is_found, &error);
    if (status != FT_OK) return cli_fail(status, "%s: %s", c->data, error.message);
    if (c->split == NULL && *is_found && !c->has_part && split->counts[c->part] == 0) leave_split(c, split, is_found);
    if (c->has_part && !*is_found)
        return cli_fail(FT_ERR_USAGE, "--part %s: the predictor was not trained on this data set; say of which --split",
                        ft_split_part_name(c->part));
    return FT_OK;
}

/* What is tested may be what the predictor has learned from. */
static void warn_of_other_split(const choice *c, const char *name, const ft_predictor *predictor,
                                const ft_dataset *data, const ft_split *split) {
    ft_split own = {0};
    ft_error error;
    bool is_found = false;
    if (c->is_quiet || split == NULL ||
        ft_predictor_split(chosen(c, predictor), data, &own, &is_found, &error) != FT_OK)
        return;
    if (is_found && strcmp(own.hash, split->hash) != 0)
        cli_note("%s was trained on this data set with another split (%s, seed %llu): it may have learned from what it "
                 "is tested on here",
                 name, own.spec, (unsigned long long)own.seed);
    if (is_found) ft_split_free(&own);
}

/* --- Evaluating ---------------------------------------------------------------------------------------------- */

ft_status choice_evaluate(const choice *c, const char *name, const ft_predictor *predictor, const ft_dataset *data,
                          const ft_split *split, ft_evaluation *evaluation) {
    ft_error error;
    const ft_evaluate_options options = {.metric = c->metric,
                                         .split = split,
                                         .part = c->part,
                                         .devices = c->devices.items,
                                         .device_count = c->devices.count,
                                         .families = c->families.items,
                                         .family_count = c->families.count,
                                         .setting = c->setting,
                                         .has_mode = c->has_mode,
                                         .mode = c->mode,
                                         .filter = c->filter,
                                         .threads = c->threads,
                                         .progress = progress_step};
    warn_of_other_split(c, name, predictor, data, split);
    progress_begin(0, c->is_quiet);
    ft_status status = ft_evaluate(predictor, data, &options, evaluation, &error);
    progress_hide();
    if (status == FT_OK || status == FT_ERR_CANCELLED) return status;
    return cli_fail(status, "%s: %s", name, error.message);
}
