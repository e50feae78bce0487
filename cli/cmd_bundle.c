/* cmd_bundle.c - `foretell bundle`: several predictors in one file. */
#include "cli.h"

typedef struct arguments {
    char **files;
    uint32_t count;
    const char *output;
} arguments;

static const struct argp_option option_list[] = {
    {"output", 'o', "FILE", 0, "the new predictor file", 0},
    {0},
};

static const char doc[] =
    "Put predictors of different metrics into one file, which then tells all of them.\v"
    "Each predictor of a file tells another metric; the first is the one that is told first, and that gives the time "
    "per layer.\n"
    "\n"
    "Examples:\n"
    "  foretell bundle time/predictor.ftm sram/predictor.ftm -o ethos-u.ftm\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a predictor; 5 damaged, or "
    "two "
    "of one metric; 6 made for another version of foretell; 11 out of memory.";

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case 'o':
        args->output = text;
        return 0;
    case ARGP_KEY_ARGS:
        args->files = state->argv + state->next;
        args->count = (uint32_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_END:
        if (args->count == 0) argp_error(state, "which predictors? Give their files");
        if (args->output == NULL) argp_error(state, "where to? Give the new file with --output FILE");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cmd_bundle(int argc, char **argv) {
    const struct argp parser = {.options = option_list, .parser = parse_option, .args_doc = "FILE...", .doc = doc};
    arguments args = {0};
    ft_error error;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    ft_status status = ft_predictor_bundle((const char *const *)args.files, args.count, args.output, &error);
    if (status != FT_OK) cli_fail(status, "%s", error.message);
    return (int)status;
}
