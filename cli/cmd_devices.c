/* cmd_devices.c - `foretell devices` and `foretell predictors`: what can be told of, and who tells it. */
#include <stdlib.h>

#include "asking.h"

typedef struct arguments {
    output_options output;
    const char *predictors[ASKING_MOST_FILES];
    uint32_t predictor_count;
    const char **names;
    uint32_t name_count;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option devices_options[] = {
    {"predictor", 'p', "FILE", 0, "a predictor of your own instead of those in the box; may be repeated", 0},
    {0},
};

static const char devices_doc[] =
    "List the devices that foretell knows, with what they are and the predictors that were trained on them.\v"
    "With names, all that is known of those devices: the numbers of their data sheets, which docs/devices.md explains. "
    "A "
    "device of your own is a JSON file with such numbers: give its path wherever a name is wanted.\n"
    "\n"
    "Examples:\n"
    "  foretell devices\n"
    "  foretell devices rtx-4090 my-gpu.json\n"
    "  foretell devices --format csv --output devices.csv";

static const char predictors_doc[] =
    "List the predictors in the box, or those given: what they tell of which devices, the size of their files, and how "
    "accurate they were on data that was kept back when they were trained.\v"
    "Examples:\n"
    "  foretell predictors\n"
    "  foretell predictors run/predictor.ftm\n"
    "  foretell predictors --format json";

static error_t parse_option(int key, char *text, struct argp_state *state) {
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case 'p':
        if (args->predictor_count == ASKING_MOST_FILES)
            argp_error(state, "--predictor: at most %d of them", ASKING_MOST_FILES);
        args->predictors[args->predictor_count++] = text;
        return 0;
    case ARGP_KEY_ARGS:
        args->names = (const char **)state->argv + state->next;
        args->name_count = (uint32_t)(state->argc - state->next);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};

/* --- Documents ----------------------------------------------------------------------------------------------- */

typedef ft_status document_writer(FILE *stream, const arguments *args, const ft_box *box, ft_error *error);

static int write_document(arguments *args, const ft_box *box, document_writer *write) {
    output out;
    ft_error error;
    ft_status status = output_open(&args->output, &out);
    if (status != FT_OK) return (int)status;
    status = write(out.stream, args, box, &error);
    if (status != FT_OK)
        cli_fail(status, "%s", error.message);
    else
        status = output_commit(&out);
    output_discard(&out);
    return (int)status;
}

static ft_status write_devices(FILE *stream, const arguments *args, const ft_box *box, ft_error *error) {
    return ft_report_devices(stream, &args->output.style, box, args->names, args->name_count, error);
}

static ft_status write_predictors(FILE *stream, const arguments *args, const ft_box *box, ft_error *error) {
    return ft_report_predictors(stream, &args->output.style, box, error);
}

/* Data sheets can be told without predictors; files that were asked for have to be there. */
int cmd_devices(int argc, char **argv) {
    const struct argp parser = {.options = devices_options,
                                .parser = parse_option,
                                .args_doc = "[NAME...]",
                                .doc = devices_doc,
                                .children = children};
    arguments args = {.output = output_options_default()};
    ft_box *box = NULL;
    ft_error error;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    ft_status status = ft_box_open(args.predictors, args.predictor_count, &box, &error);
    if (status != FT_OK) cli_fail(status, "%s", error.message);
    if (status != FT_OK && (status != FT_ERR_IO || args.predictor_count > 0)) return (int)status;
    int code = write_document(&args, box, write_devices);
    ft_box_free(box);
    return code;
}

/* All that ship: those of models, and behind them those of programs, which may be missing. */
static ft_status open_shipped(ft_box **box, ft_error *error) {
    const char *paths[2 * ASKING_MOST_FILES];
    uint32_t count = 0;
    ft_box *models = NULL, *programs = NULL;
    ft_status status = ft_box_open(NULL, 0, &models, error);
    if (status == FT_OK && ft_box_open_programs(NULL, 0, &programs, error) != FT_OK) programs = NULL;
    for (uint32_t i = 0; models != NULL && i < ft_box_count(models) && count < ASKING_MOST_FILES; i++)
        paths[count++] = ft_box_path(models, i);
    for (uint32_t i = 0; programs != NULL && i < ft_box_count(programs) && count < 2 * ASKING_MOST_FILES; i++)
        paths[count++] = ft_box_path(programs, i);
    if (status == FT_OK) status = ft_box_open(paths, count, box, error);
    ft_box_free(models);
    ft_box_free(programs);
    return status;
}

int cmd_predictors(int argc, char **argv) {
    const struct argp parser = {
        .parser = parse_option, .args_doc = "[FILE...]", .doc = predictors_doc, .children = children};
    arguments args = {.output = output_options_default()};
    ft_box *box = NULL;
    ft_error error;
    argp_parse(&parser, argc, argv, 0, NULL, &args);
    if ((args.name_count > 0 ? ft_box_open(args.names, args.name_count, &box, &error) : open_shipped(&box, &error)) !=
        FT_OK)
        return (int)cli_fail(error.status, "%s", error.message);
    int code = write_document(&args, box, write_predictors);
    ft_box_free(box);
    return code;
}
