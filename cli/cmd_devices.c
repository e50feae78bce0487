/* cmd_devices.c - `foretell devices` and `foretell predictors`: what can be told of, and who tells it. */
#include "asking.h"

typedef struct arguments {
    output_options output;
    name_list predictors;
    argument_list names;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row devices_rows[] = {
    {"predictor", 'p', "FILE", "a predictor of your own instead of those in the box; may be repeated", 0,
     NAMES(arguments, predictors)},
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

static const option_set devices_set = {.rows = devices_rows,
                                       .parts = {{&output_set, offsetof(arguments, output)}},
                                       .doc = devices_doc,
                                       .args_doc = "[NAME...]",
                                       .arguments = offsetof(arguments, names)};

static const option_set predictors_set = {.parts = {{&output_set, offsetof(arguments, output)}},
                                          .doc = predictors_doc,
                                          .args_doc = "[FILE...]",
                                          .arguments = offsetof(arguments, names)};

/* --- Documents ----------------------------------------------------------------------------------------------- */

typedef ft_status document_writer(FILE *stream, const arguments *args, const ft_predictor_set *box, ft_error *error);

static int write_document(arguments *args, const ft_predictor_set *box, document_writer *write) {
    output out;
    ft_error error;
    ft_status status = output_open(&args->output, &out);
    if (status != FT_OK) return (int)status;
    status = write(out.stream, args, box, &error);
    return (int)output_end(&out, status, &error);
}

static ft_status write_devices(FILE *stream, const arguments *args, const ft_predictor_set *box, ft_error *error) {
    return ft_report_devices(stream, &args->output.style, box, (const char **)args->names.items, args->names.count,
                             error);
}

static ft_status write_predictors(FILE *stream, const arguments *args, const ft_predictor_set *box, ft_error *error) {
    return ft_report_predictors(stream, &args->output.style, box, error);
}

/* Data sheets can be told without predictors; files that were asked for have to be there. */
int cmd_devices(int argc, char **argv) {
    arguments args = {.output = output_options_default()};
    ft_predictor_set *box = NULL;
    ft_error error;
    options_parse(&devices_set, argc, argv, &args);
    ft_status status = ft_predictor_set_open(args.predictors.items, args.predictors.count, &box, &error);
    if (status != FT_OK) cli_fail(status, "%s", error.message);
    if (status != FT_OK && (status != FT_ERR_IO || args.predictors.count > 0)) return (int)status;
    int code = write_document(&args, box, write_devices);
    ft_predictor_set_free(box);
    return code;
}

/* All that ship: those of models, and behind them those of programs, which may be missing. */
static ft_status open_shipped(ft_predictor_set **box, ft_error *error) {
    const char *paths[2 * OPTION_MOST_NAMES];
    uint32_t count = 0;
    ft_predictor_set *models = NULL, *programs = NULL;
    ft_status status = ft_predictor_set_open(NULL, 0, &models, error);
    if (status == FT_OK && ft_predictor_set_open_programs(NULL, 0, &programs, error) != FT_OK) programs = NULL;
    for (uint32_t i = 0; models != NULL && i < ft_predictor_set_count(models) && count < OPTION_MOST_NAMES; i++)
        paths[count++] = ft_predictor_set_path(models, i);
    for (uint32_t i = 0; programs != NULL && i < ft_predictor_set_count(programs) && count < 2 * OPTION_MOST_NAMES; i++)
        paths[count++] = ft_predictor_set_path(programs, i);
    if (status == FT_OK) status = ft_predictor_set_open(paths, count, box, error);
    ft_predictor_set_free(models);
    ft_predictor_set_free(programs);
    return status;
}

int cmd_predictors(int argc, char **argv) {
    arguments args = {.output = output_options_default()};
    ft_predictor_set *box = NULL;
    ft_error error;
    options_parse(&predictors_set, argc, argv, &args);
    if ((args.names.count > 0 ? ft_predictor_set_open((const char **)args.names.items, args.names.count, &box, &error)
                              : open_shipped(&box, &error)) != FT_OK)
        return (int)cli_fail(error.status, "%s", error.message);
    int code = write_document(&args, box, write_predictors);
    ft_predictor_set_free(box);
    return code;
}
