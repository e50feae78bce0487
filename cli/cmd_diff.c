/* cmd_diff.c - `foretell diff`: what became slower or larger between two models, by kernel; for CI, an exit code. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "parallel_options.h"
#include "predict_options.h"

enum { EXIT_SLOWER = 23, EXIT_LARGER = 24, USUAL_TOP = 20 };

typedef struct arguments {
    predict_options predict;
    output_options output;
    const char *paths[2];
    uint32_t path_count, top;
    double max_slowdown, max_growth; /* ratios; NaN: not limited */
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

/* "5%" or "5": 0.05. */
static void parse_percent(void *field, const char *text, const option_row *row, struct argp_state *state) {
    char *end;
    double percent = strtod(text, &end);
    if (end == text || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) || !(percent >= 0 && percent <= 1e6))
        argp_error(state, "--%s %s: expected percents, as 5%%", row->name, text);
    *(double *)field = percent / 100;
}

static const option_row rows[] = {
    {.help = "Limits:", .group = 1},
    {"max-slowdown", "PERCENT", "exit with 23 when the time grew by more, as 5%", 0,
     PARSED_BY(parse_percent, arguments, max_slowdown)},
    {"max-growth", "PERCENT", "exit with 24 when the peak memory grew by more, as 5%", 0,
     PARSED_BY(parse_percent, arguments, max_growth)},
    {"top", "N", "list the N kernels that changed most for the worse (20; 0: all)", 0,
     NUMBER(arguments, top, 0, FT_MAX_OPS)},
    {0},
};

static const char doc[] =
    "Compare two models: what became slower or larger on a device, by kernel.\v"
    "OLD and NEW are models as for predict. Kernels are paired by their kind, the types of their operators, their "
    "order "
    "and "
    "their names; what has no counterpart was added or removed. Differences smaller than the error of predictions "
    "count "
    "too: both models are predicted by the same predictors, so errors they share cancel out.\n"
    "\n"
    "Examples:\n"
    "  foretell diff old.onnx new.onnx --device rtx-4090\n"
    "  foretell diff main.onnx branch.onnx --device a100 --mode train --batch 64 \\\n"
    "      --max-slowdown 5% --max-growth 10%\n"
    "  foretell diff resnet50 resnext50 --device adreno-640 --format csv\n"
    "\n"
    "Exit status: 0 all went well, and no limit is passed; 23 slower than --max-slowdown allows; 24 more memory than "
    "--max-growth allows; 2 wrong arguments, unknown device; 3 cannot open, read or write; 4 not a model; 5 damaged; 6 "
    "valid, but not supported, or no time to compare; 7 larger than a documented limit; 8 the graph is not valid; 9 a "
    "symbolic dimension has no value; 11 out of memory.";

static void parse_model(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (args->path_count == 2) argp_error(state, "'%s': two models are compared, not more", text);
    args->paths[args->path_count++] = text;
}

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->path_count < 2) argp_error(state, "two models are compared: give OLD and NEW");
    if (args->predict.device_names == NULL) argp_error(state, "no device: give it with --device NAME");
}

const option_set cmd_diff_options = {.rows = rows,
                                     .check = check,
                                     .parts = {{&predict_option_set, offsetof(arguments, predict)},
                                               {&parallel_option_set, offsetof(arguments, predict.parallel)},
                                               {&training_option_set, offsetof(arguments, predict)},
                                               {&output_set, offsetof(arguments, output)}},
                                     .doc = doc,
                                     .args_doc = "OLD NEW",
                                     .argument = parse_model};

/* --- Comparing ------------------------------------------------------------------------------------------------- */

/* One of the models, with its results. */
typedef struct side {
    ft_graph *model;
    ft_binding shapes;
    ft_results results;
    ft_shape_binding chosen[SHAPES_MAX];
} side;

static ft_status open_side(arguments *args, uint32_t index, side *s, ft_error *error) {
    predict_options *a = &args->predict;
    uint32_t count;
    ft_status status = ft_graph_read(args->paths[index], &s->model, error);
    if (status != FT_OK) return status;
    s->shapes = shapes_for(&a->shapes, s->chosen, s->model, true, 0);
    ft_request *requests = predict_requests(a, s->model, &count);
    if (requests == NULL) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return error->status = FT_ERR_NOMEM;
    }
    status = ft_predict(a->set, s->model, &s->shapes, requests, count, &s->results, error);
    free(requests);
    return status;
}

static void close_side(side *s) {
    ft_results_free(&s->results);
    ft_graph_free(s->model);
}

static bool grew(double before, double after, double limit) {
    return !isnan(limit) && after > before * (1 + limit);
}

/* The worst of all devices and batches: slower, then larger. */
static int verdict(const arguments *args, const ft_results *before, const ft_results *after) {
    int code = FT_OK;
    for (uint32_t i = 0; i < before->count; i++) {
        const ft_result *x = &before->items[i], *y = &after->items[i];
        if (!isnan(args->max_slowdown) && (isnan(ft_result_time(x)->value) || isnan(ft_result_time(y)->value)))
            return (int)cli_fail(FT_ERR_UNSUPPORTED, "--max-slowdown: there is no time on %s to compare",
                                 y->request.device);
        if (grew(ft_result_time(x)->value, ft_result_time(y)->value, args->max_slowdown)) code = EXIT_SLOWER;
        if (code == FT_OK && grew(ft_result_memory(x)->value, ft_result_memory(y)->value, args->max_growth))
            code = EXIT_LARGER;
    }
    return code;
}

/* Returns the exit code. */
static int write_diff(arguments *args, const side *before, const side *after) {
    output out;
    ft_error error;
    const ft_model_results x = {args->paths[0], before->model, &before->shapes, &before->results};
    const ft_model_results y = {args->paths[1], after->model, &after->shapes, &after->results};
    ft_status status = output_open(&args->output, &out);
    if (status != FT_OK) return (int)status;
    status = ft_report_diff(out.stream, &args->output.style, &x, &y, args->top, &error);
    status = output_end(&out, status, &error);
    return status != FT_OK ? (int)status : verdict(args, &before->results, &after->results);
}

static int compare(arguments *args) {
    side *sides = calloc(2, sizeof *sides);
    ft_error error;
    int code = FT_OK;
    if (sides == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < 2 && code == FT_OK; i++)
        if (open_side(args, i, &sides[i], &error) != FT_OK) code = (int)cli_fail(error.status, "%s", error.message);
    if (code == FT_OK) code = write_diff(args, &sides[0], &sides[1]);
    close_side(&sides[0]);
    close_side(&sides[1]);
    free(sides);
    return code;
}

int cmd_diff(int argc, char **argv) {
    arguments *args = calloc(1, sizeof *args);
    if (args == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    predict_options_init(&args->predict);
    args->output = output_options_default();
    args->max_slowdown = args->max_growth = NAN;
    args->top = USUAL_TOP;
    options_parse(&cmd_diff_options, argc, argv, args);
    int code = (int)predict_options_open(&args->predict);
    if (code == FT_OK) code = compare(args);
    predict_options_close(&args->predict);
    free(args);
    return code;
}
