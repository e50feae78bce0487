/* cmd_list.c - `foretell list WHAT`: devices, predictors, models, formats, operators, runtimes and predictor families.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "commands.h"

typedef struct arguments {
    output_options output;
    name_list predictors;   /* devices: --predictor */
    ft_format model_format; /* ops: --model-format */
    bool has_template;      /* devices: --template */
    argument_list names;    /* devices, or predictor files */
} arguments;

typedef ft_status list_writer(FILE *stream, const arguments *args, const ft_predictor_set *set, ft_error *error);

static int write_list(arguments *args, const ft_predictor_set *set, list_writer *write) {
    output out;
    ft_error error;
    ft_status status = output_open(&args->output, &out);
    if (status != FT_OK) return (int)status;
    status = write(out.stream, args, set, &error);
    return (int)output_end(&out, status, &error);
}

/* A list that needs no predictors. */
static int run_list(const option_set *options, int argc, char **argv, list_writer *write) {
    arguments args = {.output = output_options_default()};
    options_parse(options, argc, argv, &args);
    return write_list(&args, NULL, write);
}

/* --- Devices ------------------------------------------------------------------------------------------------- */

static const option_row devices_rows[] = {
    {"predictor", "FILE", "a predictor of your own instead of the bundled ones; may be repeated", 0,
     NAMES(arguments, predictors)},
    {"template", NULL, "print a device file with every key, to be filled in", 0, FLAG(arguments, has_template)},
    {0},
};

const option_set cmd_devices_options = {
    .rows = devices_rows,
    .parts = {{&output_set, offsetof(arguments, output)}},
    .doc = "List the devices with a data sheet or a predictor, and the predictors trained on them.\v"
           "With names, prints the data sheets of those devices; docs/devices.md explains their numbers. A device of "
           "your own is a JSON file with such numbers: use its path in place of a name.\n"
           "\n"
           "Examples:\n"
           "  foretell list devices\n"
           "  foretell list devices rtx-4090 my-gpu.json\n"
           "  foretell list devices --template --output my-gpu.json\n"
           "  foretell list devices --format csv --output devices.csv",
    .args_doc = "[NAME...]",
    .first_argument = "@devices",
    .arguments = offsetof(arguments, names)};

static ft_status write_template(FILE *stream, const arguments *args, const ft_predictor_set *set, ft_error *error) {
    (void)args;
    (void)set;
    (void)error;
    fputs(ft_device_template(), stream); /* output_end checks the stream */
    return FT_OK;
}

static ft_status write_devices(FILE *stream, const arguments *args, const ft_predictor_set *set, ft_error *error) {
    return ft_report_devices(stream, &args->output.style, set, (const char **)args->names.items, args->names.count,
                             error);
}

/* Data sheets are listed without predictors too, with the exit code of what is wrong with these; files given with
 * --predictor must exist. */
int cmd_devices(int argc, char **argv) {
    arguments args = {.output = output_options_default()};
    ft_predictor_set *set = NULL;
    ft_error error;
    options_parse(&cmd_devices_options, argc, argv, &args);
    if (args.has_template) return write_list(&args, NULL, write_template);
    ft_status status = ft_predictor_set_open(args.predictors.items, args.predictors.count, &set, &error);
    if (status != FT_OK) cli_fail(status, "%s", error.message);
    if (status != FT_OK && (status != FT_ERR_IO || args.predictors.count > 0)) return (int)status;
    int code = write_list(&args, set, write_devices);
    ft_predictor_set_free(set);
    return code != FT_OK ? code : (int)status;
}

/* --- Predictors ---------------------------------------------------------------------------------------------- */

const option_set cmd_predictors_options = {
    .parts = {{&output_set, offsetof(arguments, output)}},
    .doc = "List the bundled predictors, or those in the given files: their metrics and devices, the size of their "
           "files, and their accuracy on data held out from training.\v"
           "Examples:\n"
           "  foretell list predictors\n"
           "  foretell list predictors run/predictor.ftm\n"
           "  foretell list predictors --format json",
    .args_doc = "[FILE...]",
    .arguments = offsetof(arguments, names)};

static ft_status write_predictors(FILE *stream, const arguments *args, const ft_predictor_set *set, ft_error *error) {
    return ft_report_predictors(stream, &args->output.style, set, error);
}

/* Whether there is a folder "programs" beside the predictors of models. */
static bool has_programs(const ft_predictor_set *models) {
    const char *path = ft_predictor_set_path(models, 0), *slash = path != NULL ? strrchr(path, '/') : NULL;
    char folder[4096];
    if (slash == NULL) return false;
    snprintf(folder, sizeof folder, "%.*s/programs", (int)(slash - path), path);
    return access(folder, F_OK) == 0;
}

/* All bundled predictors: those of models, then those of programs, which may be missing. */
static ft_status open_bundled(ft_predictor_set **set, ft_error *error) {
    const char *paths[2 * OPTION_MAX_NAMES];
    uint32_t count = 0;
    ft_predictor_set *models = NULL, *programs = NULL;
    ft_status status = ft_predictor_set_open(NULL, 0, &models, error);
    if (status == FT_OK && has_programs(models)) status = ft_predictor_set_open_programs(NULL, 0, &programs, error);
    for (uint32_t i = 0; models != NULL && i < ft_predictor_set_count(models) && count < OPTION_MAX_NAMES; i++)
        paths[count++] = ft_predictor_set_path(models, i);
    for (uint32_t i = 0; programs != NULL && i < ft_predictor_set_count(programs) && count < 2 * OPTION_MAX_NAMES; i++)
        paths[count++] = ft_predictor_set_path(programs, i);
    if (status == FT_OK) status = ft_predictor_set_open(paths, count, set, error);
    ft_predictor_set_free(models);
    ft_predictor_set_free(programs);
    return status;
}

int cmd_predictors(int argc, char **argv) {
    arguments args = {.output = output_options_default()};
    ft_predictor_set *set = NULL;
    ft_error error;
    options_parse(&cmd_predictors_options, argc, argv, &args);
    if ((args.names.count > 0 ? ft_predictor_set_open((const char **)args.names.items, args.names.count, &set, &error)
                              : open_bundled(&set, &error)) != FT_OK)
        return (int)cli_fail(error.status, "%s", error.message);
    int code = write_list(&args, set, write_predictors);
    ft_predictor_set_free(set);
    return code;
}

/* --- Models -------------------------------------------------------------------------------------------------- */

const option_set cmd_models_options = {
    .parts = {{&output_set, offsetof(arguments, output)}},
    .doc = "List the bundled models: well-known architectures without weights, whose names can be given instead of "
           "files.\v"
           "A file of that name wins. Case and separators do not matter. Models that need the length of a sequence "
           "get it with --shape sequence=N.\n"
           "\n"
           "Examples:\n"
           "  foretell list models\n"
           "  foretell predict resnet50 --device rtx-4090\n"
           "  foretell predict llama-3-8b --device h100 --shape sequence=512\n"
           "  foretell inspect ViT-Base --nodes"};

static ft_status write_models(FILE *stream, const arguments *args, const ft_predictor_set *set, ft_error *error) {
    (void)set;
    return ft_report_models(stream, &args->output.style, error);
}

int cmd_models(int argc, char **argv) {
    return run_list(&cmd_models_options, argc, argv, write_models);
}

/* --- Formats ------------------------------------------------------------------------------------------------- */

const option_set cmd_formats_options = {
    .parts = {{&output_set, offsetof(arguments, output)}},
    .doc = "List the file formats of models that foretell reads.\v"
           "A format is recognised by content, never by the name of the file. Any file may be packed with gzip."};

static ft_status write_formats(FILE *stream, const arguments *args, const ft_predictor_set *set, ft_error *error) {
    (void)set;
    return ft_report_formats(stream, &args->output.style, error);
}

int cmd_formats(int argc, char **argv) {
    return run_list(&cmd_formats_options, argc, argv, write_formats);
}

/* --- Operators ----------------------------------------------------------------------------------------------- */

static void parse_model_format(void *field, const char *text, const option_row *row, struct argp_state *state) {
    for (ft_format format = FT_FORMAT_ONNX; format < FT_FORMAT_COUNT; format++) {
        if (strcmp(text, ft_format_name(format)) != 0) continue;
        *(ft_format *)field = format;
        return;
    }
    argp_error(state, "--%s %s: unknown format; 'foretell list formats' lists them", row->name, text);
}

static const option_row ops_rows[] = {
    {"model-format", "NAME", "only the operators of this model format: onnx, tflite, tensorflow, ... (all)", 0,
     PARSED_BY(parse_model_format, arguments, model_format), .choices = "@formats"},
    {0},
};

const option_set cmd_ops_options = {
    .rows = ops_rows,
    .parts = {{&output_set, offsetof(arguments, output)}},
    .doc = "List the operators that have a shape rule and a cost rule, with their class and their names in each "
           "format.\v"
           "A model may contain other operators: inspect names them, estimates their cost from their bytes, and "
           "reports the share of the work that is covered by rules.\n"
           "\n"
           "Examples:\n"
           "  foretell list ops\n"
           "  foretell list ops --model-format onnx --format csv"};

static ft_status write_ops(FILE *stream, const arguments *args, const ft_predictor_set *set, ft_error *error) {
    (void)set;
    return ft_report_ops(stream, &args->output.style, args->model_format, error);
}

int cmd_ops(int argc, char **argv) {
    return run_list(&cmd_ops_options, argc, argv, write_ops);
}

/* --- Runtimes ------------------------------------------------------------------------------------------------ */

const option_set cmd_runtimes_options = {
    .parts = {{&output_set, offsetof(arguments, output)}},
    .doc = "List the runtimes with fusion rules (inspect --kernels RUNTIME).\v"
           "A runtime is a set of fusion rules. The path of a JSON file with rules of your own can be used in place "
           "of a name."};

static ft_status write_runtimes(FILE *stream, const arguments *args, const ft_predictor_set *set, ft_error *error) {
    (void)set;
    return ft_report_runtimes(stream, &args->output.style, error);
}

int cmd_runtimes(int argc, char **argv) {
    return run_list(&cmd_runtimes_options, argc, argv, write_runtimes);
}

/* --- Families ------------------------------------------------------------------------------------------------ */

const option_set cmd_families_options = {
    .parts = {{&output_set, offsetof(arguments, output)}},
    .doc = "List the families of predictors that can be trained (train --family NAME).\v"
           "The first one is the default."};

static ft_status write_families(FILE *stream, const arguments *args, const ft_predictor_set *set, ft_error *error) {
    (void)set;
    return ft_report_families(stream, &args->output.style, error);
}

int cmd_families(int argc, char **argv) {
    return run_list(&cmd_families_options, argc, argv, write_families);
}
