/* cmd_ablate.c - `foretell ablate`: what a predictor loses when one thing after the other is left out. */
#include <string.h>

#include "cli.h"
#include "trying.h"

enum { OPTION_OFF = 256, OPTION_SEEDS, OPTION_PART, FACTORS_MAX = 64, SEEDS_MAX = 1000 };

typedef struct arguments {
    trying trying;
    ft_ablate_options ablate;
    const char *factors[FACTORS_MAX];
} arguments;

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "What to leave out:", 10},
    {"off", OPTION_OFF, "KEY=VALUE", 0,
     "a setting with the value that leaves something out, as rounds=0; may be repeated (what the family names)", 0},
    {"seeds", OPTION_SEEDS, "N", 0, "train each so often, with the seeds from --seed on, which move the split too (3)",
     0},
    {"part", OPTION_PART, "PART", 0, "that is scored: valid, or test for a report that nothing is chosen by (valid)",
     0},
    {0},
};

static const char doc[] =
    "Train a predictor with everything, then with one factor left out at a time, and tell the difference.\v"
    "DIR gets ablation.csv and journal.jsonl, from which it goes on after it was stopped. Differences are between runs "
    "of the same seed; their spread over seeds says how much of them is luck.\n"
    "\n"
    "Examples:\n"
    "  foretell ablate --data cg.data -o ablation\n"
    "  foretell ablate --data cg.data -o ablation --config steps=500 --off rounds=0 --off members=1 --seeds 5\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments, or a journal of another search; 3 cannot open, read or write; 5 "
    "damaged; 11 out of memory; 130 interrupted.";

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->trying;
        return 0;
    case OPTION_OFF:
        if (strchr(text, '=') == NULL) argp_error(state, "--off %s: want KEY=VALUE", text);
        if (args->ablate.factor_count == FACTORS_MAX) argp_error(state, "--off: at most %d of them", FACTORS_MAX);
        args->factors[args->ablate.factor_count++] = text;
        return 0;
    case OPTION_SEEDS:
        args->ablate.seeds = (uint32_t)cli_parse_count(state, "seeds", text, SEEDS_MAX);
        return 0;
    case OPTION_PART:
        if (!ft_part_parse(text, &args->ablate.part) ||
            (args->ablate.part != FT_PART_VALID && args->ablate.part != FT_PART_TEST))
            argp_error(state, "--part %s: want valid or test", text);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static ft_status write_ablation(const void *user, const ft_style *style, FILE *stream, ft_error *error) {
    return ft_ablation_write(user, style, stream, error);
}

static ft_status ablate(arguments *args, const ft_dataset *data) {
    ft_ablation ablation;
    ft_error error;
    progress_begin(0, args->trying.is_quiet);
    ft_status status = ft_ablate(data, args->trying.folder, &args->ablate, &ablation, &error);
    progress_hide();
    if (status != FT_OK) return cli_fail(status, "%s", error.message);
    status = trying_show(&args->trying, write_ablation, &ablation);
    ft_ablation_free(&ablation);
    return status;
}

int cmd_ablate(int argc, char **argv) {
    static const struct argp_child children[] = {{&trying_argp, 0, NULL, 0}, {0}};
    static const struct argp parser = {
        .options = option_list, .parser = parse_option, .doc = doc, .children = children};
    arguments args = {.ablate = ft_ablate_options_default()};
    ft_dataset *data;
    trying_init(&args.trying);
    args.ablate.factors = args.factors;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    stop_install();
    ft_status status = trying_open(&args.trying, &data);
    if (status == FT_OK) {
        args.ablate.trial = args.trying.trial;
        status = ablate(&args, data);
        ft_dataset_free(data);
    }
    trying_free(&args.trying);
    stop_finish();
    return (int)status;
}
