/* cmd_bundle.c - `foretell bundle`: several predictors in one file. */
#include "cli.h"
#include "commands.h"

typedef struct arguments {
    const char *output;
    argument_list files;
} arguments;

static const option_row rows[] = {
    {"output", "FILE", "the new predictor file", 0, TEXT(arguments, output)},
    {0},
};

static const char doc[] =
    "Join predictors of different metrics in one file.\v"
    "Each predictor of a file has a different metric; the first one is the main metric, and predicts the time per "
    "layer.\n"
    "\n"
    "Examples:\n"
    "  foretell bundle time/predictor.ftm sram/predictor.ftm -o ethos-u.ftm\n"
    "\n"
    "Exit status: 0 all went well; 2 wrong arguments; 3 cannot open, read or write; 4 not a predictor; 5 damaged, or "
    "two "
    "of one metric; 6 made for another version of foretell; 11 out of memory.";

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->files.count == 0) argp_error(state, "which predictors? Give their files");
    if (args->output == NULL) argp_error(state, "where to write the file? Give --output FILE");
}

const option_set cmd_bundle_options = {
    .rows = rows, .check = check, .doc = doc, .args_doc = "FILE...", .arguments = offsetof(arguments, files)};

int cmd_bundle(int argc, char **argv) {
    arguments args = {0};
    ft_error error;
    options_parse(&cmd_bundle_options, argc, argv, &args);
    ft_status status =
        ft_predictor_bundle((const char *const *)args.files.items, args.files.count, args.output, &error);
    if (status != FT_OK) cli_fail(status, "%s", error.message);
    return (int)status;
}
