/* cmd_ablate.c - `foretell ablate`: the loss of accuracy when one factor at a time is left out. */
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "trial_options.h"

typedef struct arguments {
    trial_options trial;
    ft_ablate_options ablate;
    name_list factors;
} arguments;

static const char doc[] =
    "Train a predictor with everything, then with one factor left out at a time, and print the difference.\v"
    "DIR gets ablation.csv and journal.jsonl, from which a stopped run resumes. Differences are between runs of the "
    "same seed; their spread over seeds is the noise.\n"
    "\n"
    "Examples:\n"
    "  foretell ablate --data cg.data -o ablation\n"
    "  foretell ablate --data cg.data -o ablation --config steps=500 \\\n"
    "      --off rounds=0 --off members=1 --seeds 5\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, or a journal of another search; 3 cannot open, read or write; 5 "
    "damaged; 11 out of memory; 130 interrupted.";

static void parse_off(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (strchr(text, '=') == NULL) argp_error(state, "--%s %s: expected KEY=VALUE", row->name, text);
    option_name(field, text, row, state);
}

static void parse_part(void *field, const char *text, const option_row *row, struct argp_state *state) {
    ft_split_part *part = field;
    if (!ft_split_part_parse(text, part) || (*part != FT_PART_VALID && *part != FT_PART_TEST))
        argp_error(state, "--%s %s: expected valid or test", row->name, text);
}

static const option_row rows[] = {
    {.help = "Factors:", .group = 10},
    {"off", "KEY=VALUE",
     "a setting and the value that leaves a part out, as rounds=0; may be repeated (the factors of the family)", 0,
     PARSED_BY(parse_off, arguments, factors)},
    {"seeds", "N", "number of seeds, counted from --seed; each changes the split too (3)", 0,
     COUNT(arguments, ablate.seeds, 1000)},
    {"part", "PART", "part of the split to score: valid, or test for a final report (valid)", 0,
     PARSED_BY(parse_part, arguments, ablate.part), .choices = "valid test"},
    {0},
};

const option_set cmd_ablate_options = {
    .rows = rows, .parts = {{&trial_option_set, offsetof(arguments, trial)}}, .doc = doc};

static ft_status write_ablation(const void *user, const ft_style *style, FILE *stream, ft_error *error) {
    return ft_ablation_write(user, style, stream, error);
}

static ft_status ablate(arguments *args, const ft_dataset *data) {
    ft_ablation ablation;
    ft_error error;
    progress_begin(0, args->trial.is_quiet);
    ft_status status = ft_ablate(data, args->trial.folder, &args->ablate, &ablation, &error);
    progress_hide();
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    status = trial_options_show(&args->trial, write_ablation, &ablation);
    ft_ablation_free(&ablation);
    return status;
}

int cmd_ablate(int argc, char **argv) {
    arguments args = {.ablate = ft_ablate_options_default()};
    ft_dataset *data;
    trial_options_init(&args.trial);
    options_parse(&cmd_ablate_options, argc, argv, &args);
    stop_install();
    ft_status status = trial_options_open(&args.trial, &data);
    if (status == FT_OK) {
        args.ablate.trial = args.trial.trial;
        args.ablate.factors = args.factors.items;
        args.ablate.factor_count = args.factors.count;
        status = ablate(&args, data);
        ft_dataset_free(data);
    }
    trial_options_free(&args.trial);
    stop_finish();
    return (int)status;
}
