#include "choice.h"

#include <string.h>

#include "cli.h"

enum {
    OPTION_SPLIT = 512,
    OPTION_SEED,
    OPTION_PART,
    OPTION_DEVICE,
    OPTION_FAMILY,
    OPTION_THREADS,
    OPTION_METRIC,
    OPTION_SETTING,
    OPTION_MODE,
    OPTION_NOISE,
    OPTION_LEAST,
    OPTION_MOST,
    THREADS_MAX = 1024
};

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "On which records:", 10},
    {"data", 'd', "DIR", 0, "the data set", 0},
    {"metric", OPTION_METRIC, "NAME", 0,
     "what is looked at, of predictors that tell several metrics (eval: each of them; compare: the first)", 0},
    {"split", OPTION_SPLIT, "SPEC", 0,
     "random, random:80/10/10, family:NAME, device:NAME, order, ... (the split that the predictor was trained with, "
     "when it was trained on this data set; else all records)",
     0},
    {"seed", OPTION_SEED, "N", 0, "of everything random: the split, the draws of compare (0)", 0},
    {"part", OPTION_PART, "PART", 0, "of the split: train, valid or test (test)", 0},
    {"device", OPTION_DEVICE, "NAME", 0, "only records of this device; may be repeated", 0},
    {"family", OPTION_FAMILY, "NAME", 0, "only records of this family; may be repeated", 0},
    {"setting", OPTION_SETTING, "KEY=VALUE", 0,
     "only records whose setting has this, or all of several: KEY=VALUE;KEY=VALUE", 0},
    {"mode", OPTION_MODE, "MODE", 0, "only records of this mode: infer or train", 0},
    {"max-noise", OPTION_NOISE, "R", 0,
     "leave out records whose runs deviate by more than R of their mean, where the data set tells: 0.01", 0},
    {"min-time", OPTION_LEAST, "US", 0, "leave out records that took less than so many microseconds", 0},
    {"max-time", OPTION_MOST, "US", 0, "leave out records that took more", 0},
    {"threads", OPTION_THREADS, "N", 0, "one per core without it; the result does not depend on it", 40},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 60},
    {0},
};

static error_t parse_option(int key, char *text, struct argp_state *state) {
    choice *c = state->input;
    switch (key) {
    case 'd':
        c->data = text;
        return 0;
    case OPTION_METRIC:
        c->metric = text;
        return 0;
    case OPTION_SPLIT:
        c->split = text;
        return 0;
    case OPTION_SEED:
        c->seed = cli_parse_number(state, "seed", text, 0, UINT32_MAX);
        c->has_seed = true;
        return 0;
    case OPTION_PART:
        c->has_part = true;
        if (!ft_part_parse(text, &c->part) || c->part == FT_PART_UNUSED)
            argp_error(state, "--part %s: want train, valid or test", text);
        return 0;
    case OPTION_DEVICE:
        cli_add_name(state, "device", text, c->devices, &c->device_count);
        return 0;
    case OPTION_FAMILY:
        cli_add_name(state, "family", text, c->families, &c->family_count);
        return 0;
    case OPTION_SETTING:
        c->setting = text;
        return 0;
    case OPTION_MODE:
        c->has_mode = true;
        c->mode = strcmp(text, "train") == 0 ? FT_TRAIN : FT_INFER;
        if (c->mode == FT_INFER && strcmp(text, "infer") != 0)
            argp_error(state, "--mode %s: want infer or train", text);
        return 0;
    case OPTION_NOISE:
        c->filter.max_noise = cli_parse_positive(state, "max-noise", text);
        return 0;
    case OPTION_LEAST:
        c->filter.min_time_us = cli_parse_positive(state, "min-time", text);
        return 0;
    case OPTION_MOST:
        c->filter.max_time_us = cli_parse_positive(state, "max-time", text);
        return 0;
    case OPTION_THREADS:
        c->threads = (uint32_t)cli_parse_count(state, "threads", text, THREADS_MAX);
        return 0;
    case 'q':
        c->is_quiet = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp choice_argp = {.options = option_list, .parser = parse_option};

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
                 ft_part_name(c->part));
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
                        ft_part_name(c->part));
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
                                         .devices = c->devices,
                                         .device_count = c->device_count,
                                         .families = c->families,
                                         .family_count = c->family_count,
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
