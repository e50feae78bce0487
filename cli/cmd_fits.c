/* cmd_fits.c - `foretell fits` and `foretell max-batch`: whether a step fits into memory, and the largest batch that
 * does. */
#include <math.h>
#include <stdlib.h>

#include "commands.h"
#include "parallel_options.h"
#include "predict_options.h"

enum { EXIT_FITS_NOT = 20, EXIT_UNCERTAIN = 21, MAX_BATCH = 65536 };

typedef struct arguments {
    predict_options predict;
    output_options output;
    const char *path;
    double free_bytes; /* NaN: all that the device has */
    int64_t max_batch; /* the largest to try */
    bool is_max_batch;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row max_batch_rows[] = {
    {"max-batch-size", "N", "the largest batch to try (65536)", 1, COUNT(arguments, max_batch, FT_MAX_DIM)},
    {"free", "BYTES", "memory that is free, as 9.5GiB or 24GB (all that the device has by its data sheet)", 1,
     BYTES(arguments, free_bytes)},
    {0},
};

#define STATUSES                                                                                                       \
    "2 wrong arguments, unknown device; 3 cannot open, read or write; 4 not a model; 5 damaged; 6 valid, but not "     \
    "supported; 7 larger than a documented limit; 8 the graph is not valid; 9 a symbolic dimension has no value; 10 "  \
    "refused, the file asks to run code; 11 out of memory."

static const char fits_doc[] =
    "Check whether a step of a model fits into the memory of devices: yes, no, or uncertain, with the margin.\v"
    "One batch is checked at a time; several devices give a row each. The result is yes when the upper end of the 90 % "
    "interval fits, no when the lower end does not, and uncertain in between, or when the memory of the device is "
    "unknown.\n"
    "\n"
    "Examples:\n"
    "  foretell fits resnet50.onnx --device rtx-3090 --mode train --batch 64\n"
    "  foretell fits resnet50.onnx --device rtx-3090,a100 --batch 256\n"
    "  foretell fits bert.onnx --device a100 --free 9.5GiB --shape sequence=512\n"
    "  foretell fits net.onnx --device rtx-4090 --batch 32 && python train.py\n"
    "\n"
    "Exit status: 0 it fits on all devices; 20 on some it does not; 21 on some it is uncertain; " STATUSES;

static const char max_batch_doc[] =
    "Find the largest batch of a model that fits into the memory of a device.\v"
    "One device is checked at a time. The batch that surely fits is the largest "
    "for which the upper end of the 90 % interval does; the one that may fit is the largest for which the lower end "
    "does.\n"
    "\n"
    "Examples:\n"
    "  foretell max-batch resnet50.onnx --device rtx-3090 --mode train\n"
    "  foretell max-batch bert.onnx --device a100 --free 20GiB --shape sequence=128\n"
    "\n"
    "Exit status: 0 a batch fits; 20 none does; 21 none surely does; " STATUSES;

static void parse_model(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (args->path != NULL) argp_error(state, "'%s': one model at a time", text);
    args->path = text;
}

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->path == NULL) argp_error(state, "no model: give a file");
    if (args->predict.device_names == NULL) argp_error(state, "no device: give it with --device NAME");
    if (args->is_max_batch && args->predict.batch_count > 0)
        argp_error(state, "--batch is the result of max-batch; 'foretell fits' checks a given batch");
    if (args->predict.batch_count > 1) argp_error(state, "--batch: fits takes one batch; use max-batch to search");
}

/* clang-format off */
#define OPTION_PARTS                                                                                                   \
    {{&predict_option_set, offsetof(arguments, predict)},                                                              \
     {&parallel_option_set, offsetof(arguments, predict.parallel)},                                                    \
     {&training_option_set, offsetof(arguments, predict)},                                                             \
     {&serving_option_set, offsetof(arguments, predict)},                                                              \
     {&output_set, offsetof(arguments, output)}}
/* clang-format on */

const option_set cmd_fits_options = {.rows = max_batch_rows + 1,
                                     .check = check,
                                     .parts = OPTION_PARTS,
                                     .doc = fits_doc,
                                     .args_doc = "MODEL",
                                     .argument = parse_model};

const option_set cmd_max_batch_options = {.rows = max_batch_rows,
                                          .check = check,
                                          .parts = OPTION_PARTS,
                                          .hidden = "batch",
                                          .doc = max_batch_doc,
                                          .args_doc = "MODEL",
                                          .argument = parse_model};

/* --- Checking ------------------------------------------------------------------------------------------------ */

static int exit_of(ft_fit fit) {
    return fit == FT_FITS ? FT_OK : fit == FT_FITS_NOT ? EXIT_FITS_NOT : EXIT_UNCERTAIN;
}

/* A model to check. */
typedef struct fit_check {
    arguments *args;
    const ft_graph *model;
    ft_binding shapes;
    double free_bytes[FT_MAX_TARGETS]; /* of each device; NaN: unknown */
    bool is_whole;                     /* by data sheets */
} fit_check;

/* 0 when all fit; 20 when one does not; 21 when one is uncertain. */
static int exit_of_all(const ft_results *results, const double *free_bytes) {
    int code = FT_OK;
    for (uint32_t i = 0; i < results->count; i++) {
        int one = exit_of(ft_result_fit(&results->items[i], free_bytes[i]));
        if (one == EXIT_FITS_NOT || code == FT_OK) code = one;
    }
    return code;
}

static ft_status report_fit(const fit_check *q, FILE *stream, int *code, ft_error *error) {
    predict_options *a = &q->args->predict;
    uint32_t count;
    ft_results results = {0};
    ft_request *requests = predict_requests(a, q->model, &count);
    if (requests == NULL) return cli_fail(FT_ERR_NOMEM, "out of memory");
    ft_status status = ft_predict(a->set, q->model, &q->shapes, requests, count, &results, error);
    free(requests);
    if (status != FT_OK) return status;
    *code = exit_of_all(&results, q->free_bytes);
    status = ft_report_fit(stream, &q->args->output.style,
                           &(ft_model_results){q->args->path, q->model, &q->shapes, &results}, q->free_bytes,
                           q->is_whole, error);
    ft_results_free(&results);
    return status;
}

static ft_status report_max_batch(const fit_check *q, FILE *stream, int *code, ft_error *error) {
    predict_options *a = &q->args->predict;
    ft_request request = predict_request(a, q->model, 0, 1);
    ft_max_batch_result largest;
    ft_results results = {0};
    const ft_batch_search search = {.free_bytes = q->free_bytes[0], .max_batch = q->args->max_batch};
    ft_status status = ft_max_batch(a->set, q->model, &q->shapes, &request, &search, &largest, error);
    if (status != FT_OK) return status;
    *code = exit_of(largest.certain > 0 ? FT_FITS : largest.possible > 0 ? FT_FIT_UNCERTAIN : FT_FITS_NOT);
    request.batch = largest.certain > 0 ? largest.certain : 1;
    status = ft_predict(a->set, q->model, &q->shapes, &request, 1, &results, error);
    if (status == FT_OK)
        status = ft_report_max_batch(stream, &q->args->output.style,
                                     &(ft_model_results){q->args->path, q->model, &q->shapes, &results}, &largest,
                                     q->is_whole, error);
    ft_results_free(&results);
    return status;
}

/* Returns the exit code. */
static int write_report(fit_check *q) {
    output out;
    ft_error error;
    int code = 0;
    ft_status status = output_open(&q->args->output, &out);
    if (status != FT_OK) return (int)status;
    status = q->args->is_max_batch ? report_max_batch(q, out.stream, &code, &error)
                                   : report_fit(q, out.stream, &code, &error);
    if (status != FT_OK)
        output_fail(&out, status, q->args->path, &error);
    else
        status = output_commit(&out);
    output_discard(&out);
    return status != FT_OK ? (int)status : code;
}

/* The memory of each device: --free, or that of its data sheet. The search for a batch needs one. */
static ft_status find_memory(fit_check *q) {
    const predict_options *a = &q->args->predict;
    for (uint32_t i = 0; i < a->device_count; i++)
        q->free_bytes[i] = q->is_whole ? ft_targets_memory(a->targets, i) : q->args->free_bytes;
    if (!q->args->is_max_batch || !isnan(q->free_bytes[0])) return FT_OK;
    return cli_fail(FT_ERR_USAGE, "the data sheet of %s has no memory size: give it with --free BYTES",
                    ft_targets_name(a->targets, 0));
}

static int check_model(arguments *args) {
    ft_error error;
    ft_graph *model = NULL;
    fit_check q = {.args = args, .is_whole = isnan(args->free_bytes)};
    if (args->is_max_batch && args->predict.device_count > 1)
        return (int)cli_fail(FT_ERR_USAGE, "--device: max-batch takes one device at a time");
    ft_status status = find_memory(&q);
    if (status != FT_OK) return (int)status;
    if (ft_graph_read(args->path, &model, &error) != FT_OK) return (int)cli_fail(error.status, "%s", error.message);
    q.model = model;
    q.shapes = shapes_for(&args->predict.shapes, NULL, model, false, 0);
    int code = write_report(&q);
    ft_graph_free(model);
    return code;
}

static int run(int argc, char **argv, bool is_max_batch) {
    arguments *args = calloc(1, sizeof *args);
    if (args == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    predict_options_init(&args->predict);
    args->output = output_options_default();
    args->free_bytes = NAN;
    args->max_batch = MAX_BATCH;
    args->is_max_batch = is_max_batch;
    options_parse(is_max_batch ? &cmd_max_batch_options : &cmd_fits_options, argc, argv, args);
    int code = (int)predict_options_open(&args->predict);
    if (code == FT_OK) code = check_model(args);
    predict_options_close(&args->predict);
    free(args);
    return code;
}

int cmd_fits(int argc, char **argv) {
    return run(argc, argv, false);
}

int cmd_max_batch(int argc, char **argv) {
    return run(argc, argv, true);
}
