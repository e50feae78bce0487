/* record_options.c - see record_options.h. */
#include "record_options.h"

#include <string.h>

#include "cli.h"

/* --- Options ------------------------------------------------------------------------------------------------- */

static void parse_seed(void *input, const char *text, const option_row *row, struct argp_state *state) {
    record_options *c = input;
    c->seed = cli_parse_number(state, row->name, text, 0, UINT32_MAX);
    c->has_seed = true;
}

static void parse_part(void *input, const char *text, const option_row *row, struct argp_state *state) {
    record_options *c = input;
    c->has_part = true;
    if (!ft_split_part_parse(text, &c->part) || c->part == FT_PART_UNUSED)
        argp_error(state, "--%s %s: expected train, valid or test", row->name, text);
}

static void parse_mode(void *input, const char *text, const option_row *row, struct argp_state *state) {
    record_options *c = input;
    c->has_mode = true;
    option_mode(&c->mode, text, row, state);
}

static const option_row rows[] = {
    {.help = "Records:", .group = 10},
    {"data", "DIR", "the data set", 0, TEXT(record_options, data)},
    {"metric", "NAME", "metric to evaluate, of predictors of several metrics (eval: all; compare: the first)", 0,
     TEXT(record_options, metric)},
    {"split", "SPEC",
     "random, random:80/10/10, family:NAME, device:NAME, order, ... (the split that the predictor was trained with, "
     "when it was trained on this data set; else all records)",
     0, TEXT(record_options, split), .choices = "random name family: network: device: order fewshot: fold: deal: all"},
    {"seed", "N", "of the split, and of the resampling of compare (0)", 0, PARSED_WHOLE_BY(parse_seed)},
    {"part", "PART", "part of the split: train, valid or test (test)", 0, PARSED_WHOLE_BY(parse_part),
     .choices = "train valid test"},
    {"device", "NAME", "only records of this device; may be repeated", 0, NAMES(record_options, devices),
     .choices = "@devices"},
    {"family", "NAME", "only records of this family; may be repeated", 0, NAMES(record_options, families)},
    {"setting", "KEY=VALUE", "only records with this setting, or with all of several: KEY=VALUE;KEY=VALUE", 0,
     TEXT(record_options, setting)},
    {"mode", "MODE", "only records of this mode: infer or train", 0, PARSED_WHOLE_BY(parse_mode),
     .choices = "infer train"},
    TIME_FILTER_ROWS(record_options, filter),
    THREADS_ROW(record_options, threads, 40),
    QUIET_ROW(record_options, is_quiet, 60),
    {0},
};

const option_set record_option_set = {.rows = rows};

record_options record_options_default(void) {
    return (record_options){.part = FT_PART_TEST};
}

/* --- Splits -------------------------------------------------------------------------------------------------- */

/* The predictor of the metric in a file; an unknown metric is reported later. */
static const ft_predictor *chosen(const record_options *c, const ft_predictor *predictor) {
    const ft_predictor *found = c->metric != NULL ? ft_predictor_find(predictor, c->metric) : predictor;
    return found != NULL ? found : predictor;
}

/* Bundled predictors are trained on all records. */
static void leave_split(const record_options *c, ft_split *split, bool *is_found) {
    if (!c->is_quiet)
        cli_note("the predictor was trained on this data set without a %s part: all records are evaluated, and errors "
                 "on new models may be larger",
                 ft_split_part_name(c->part));
    ft_split_free(split);
    *is_found = false;
}

static bool is_all(const record_options *c) {
    return c->split != NULL && strcmp(c->split, "all") == 0 && !c->has_part;
}

/* `--split all` evaluates every record, also those that the predictor learned from. */
static ft_status split_all(const record_options *c, const ft_predictor *predictor, const ft_dataset *data) {
    ft_split own = {0};
    ft_error error;
    bool is_found = false;
    ft_status status = ft_predictor_split(chosen(c, predictor), data, &own, &is_found, &error);
    if (status != FT_OK && status != FT_ERR_UNSUPPORTED) return cli_fail(status, "%s: %s", c->data, error.message);
    if (is_found && !c->is_quiet)
        cli_note("the predictor was trained on this data set: errors on new models may be larger than on all records");
    ft_split_free(&own);
    return FT_OK;
}

ft_status record_options_split(const record_options *c, const ft_predictor *predictor, const ft_dataset *data,
                               ft_split *split, bool *is_found) {
    ft_error error;
    *is_found = !is_all(c);
    if (is_all(c)) return split_all(c, predictor, data);
    ft_status status = c->split != NULL ? ft_split_make(data, c->split, c->seed, split, &error)
                                        : ft_predictor_split(chosen(c, predictor), data, split, is_found, &error);
    if (status != FT_OK) return cli_fail(status, "%s: %s", c->data, error.message);
    if (c->split == NULL && *is_found && !c->has_part && split->counts[c->part] == 0) leave_split(c, split, is_found);
    if (c->has_part && !*is_found)
        return cli_fail(FT_ERR_USAGE, "--part %s: the predictor was not trained on this data set; add --split SPEC",
                        ft_split_part_name(c->part));
    return FT_OK;
}

/* The tested records may be training data of the predictor. */
static void warn_of_other_split(const record_options *c, const char *name, const ft_predictor *predictor,
                                const ft_dataset *data, const ft_split *split) {
    ft_split own = {0};
    ft_error error;
    bool is_found = false;
    if (c->is_quiet || split == NULL ||
        ft_predictor_split(chosen(c, predictor), data, &own, &is_found, &error) != FT_OK)
        return;
    if (is_found && strcmp(own.hash, split->hash) != 0)
        cli_note("%s was trained on this data set with another split (%s, seed %llu): tested records may be among "
                 "its training data",
                 name, own.spec, (unsigned long long)own.seed);
    if (is_found) ft_split_free(&own);
}

/* --- Evaluating ---------------------------------------------------------------------------------------------- */

ft_status record_options_evaluate(const record_options *c, const char *name, const ft_predictor *predictor,
                                  const ft_dataset *data, const ft_split *split, ft_evaluation *evaluation) {
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
                                         .progress = progress_step,
                                         .with_adapted = is_all(c)};
    warn_of_other_split(c, name, predictor, data, split);
    progress_begin(0, c->is_quiet);
    ft_status status = ft_evaluate(predictor, data, &options, evaluation, &error);
    progress_hide();
    if (status == FT_OK || status == FT_ERR_CANCELLED) return status;
    return cli_fail(status, "%s: %s", name, error.message);
}
