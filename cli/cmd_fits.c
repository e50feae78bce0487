/* cmd_fits.c - `foretell fits` and `foretell max-batch`: whether a step fits into the memory of a device, and how large
 * a batch may be. */
#include <math.h>
#include <stdlib.h>

#include "asking.h"
#include "commands.h"

enum { EXIT_FITS_NOT = 20, EXIT_UNCERTAIN = 21, MOST_BATCH = 65536 };

typedef struct arguments {
    asking asking;
    output_options output;
    const char *path;
    double free_bytes; /* NaN: all that the device has */
    int64_t most;
    bool is_max_batch;
} arguments;

/* --- Options ------------------------------------------------------------------------------------------------- */

static const option_row max_batch_rows[] = {
    {"most", "N", "the largest batch to look at (65536)", 1, COUNT(arguments, most, FT_MAX_DIM)},
    {"free", "BYTES", "memory that is free, as 9.5GiB or 24GB (all that the device has by its data sheet)", 1,
     BYTES(arguments, free_bytes)},
    {0},
};

#define STATUSES                                                                                                       \
    "2 wrong arguments, unknown device; 3 cannot open, read or write; 4 not a model; 5 damaged; 6 valid, but not "     \
    "supported; 7 larger than a documented limit; 8 the graph is not valid; 9 a symbolic dimension has no value; 10 "  \
    "refused, the file asks to run code; 11 out of memory."

static const char fits_doc[] =
    "Tell whether a step of a model fits into the memory of a device: yes, no, or uncertain, with the margin.\v"
    "One device and one batch are asked about at a time. It is yes when the upper end of the 90 % interval fits, no "
    "when the lower end does not.\n"
    "\n"
    "Examples:\n"
    "  foretell fits resnet50.onnx --device rtx-3090 --mode train --batch 64\n"
    "  foretell fits bert.onnx --device a100 --free 9.5GiB --shape sequence=512\n"
    "  foretell fits net.onnx --device rtx-4090 --batch 32 && python train.py\n"
    "\n"
    "Exit status: 0 it fits; 20 it does not; 21 uncertain; " STATUSES;

static const char max_batch_doc[] =
    "Tell the largest batch of a model that fits into the memory of a device.\v"
    "One device is asked about at a time, and --batch is what is looked for. The batch that surely fits is the largest "
    "for which the upper end of the 90 % interval does; the one that may fit is the largest for which the lower end "
    "does.\n"
    "\n"
    "Examples:\n"
    "  foretell max-batch resnet50.onnx --device rtx-3090 --mode train\n"
    "  foretell max-batch bert.onnx --device a100 --free 20GiB --shape sequence=128\n"
    "\n"
    "Exit status: 0 a batch fits; 20 none does; 21 none surely does; " STATUSES;

static void take_model(void *input, char *text, struct argp_state *state) {
    arguments *args = input;
    if (args->path != NULL) argp_error(state, "'%s': one model at a time", text);
    args->path = text;
}

static void check(void *input, struct argp_state *state) {
    const arguments *args = input;
    if (args->path == NULL) argp_error(state, "which model? Give a file");
    if (args->asking.device_names == NULL) argp_error(state, "on which device? Give it with --device NAME");
    if (args->is_max_batch && args->asking.batch_count > 0)
        argp_error(state, "--batch is what max-batch looks for; 'foretell fits' tells of a given one");
    if (args->asking.batch_count > 1) argp_error(state, "--batch: one at a time");
}

#define OPTION_PARTS                                                                                                   \
    {                                                                                                                  \
        {&asking_set, offsetof(arguments, asking)}, {                                                                  \
            &output_set, offsetof(arguments, output)                                                                   \
        }                                                                                                              \
    }

const option_set cmd_fits_options = {.rows = max_batch_rows + 1,
                                     .check = check,
                                     .parts = OPTION_PARTS,
                                     .doc = fits_doc,
                                     .args_doc = "MODEL",
                                     .argument = take_model};

const option_set cmd_max_batch_options = {.rows = max_batch_rows,
                                          .check = check,
                                          .parts = OPTION_PARTS,
                                          .doc = max_batch_doc,
                                          .args_doc = "MODEL",
                                          .argument = take_model};

/* --- Answering ----------------------------------------------------------------------------------------------- */

static int exit_of(ft_fit fit) {
    return fit == FT_FITS ? FT_OK : fit == FT_FITS_NOT ? EXIT_FITS_NOT : EXIT_UNCERTAIN;
}

/* One question about one model. */
typedef struct question {
    arguments *args;
    const ft_graph *model;
    ft_binding shapes;
    double free_bytes;
    bool is_whole;
} question;

static ft_status answer_fit(const question *q, FILE *stream, int *code, ft_error *error) {
    asking *a = &q->args->asking;
    ft_request request = asking_request(a, 0, a->batch_count > 0 ? a->batches[0] : 0);
    ft_results answers = {0};
    ft_status status = ft_predict(a->box, q->model, &q->shapes, &request, 1, &answers, error);
    if (status != FT_OK) return status;
    *code = exit_of(ft_result_fit(&answers.items[0], q->free_bytes));
    status = ft_report_fit(stream, &q->args->output.style,
                           &(ft_model_results){q->args->path, q->model, &q->shapes, &answers}, q->free_bytes,
                           q->is_whole, error);
    ft_results_free(&answers);
    return status;
}

static ft_status answer_max_batch(const question *q, FILE *stream, int *code, ft_error *error) {
    asking *a = &q->args->asking;
    ft_request request = asking_request(a, 0, 1);
    ft_max_batch_result largest;
    ft_results answers = {0};
    ft_status status =
        ft_max_batch(a->box, q->model, &q->shapes, &request, q->free_bytes, q->args->most, &largest, error);
    if (status != FT_OK) return status;
    *code = exit_of(largest.sure > 0 ? FT_FITS : largest.possible > 0 ? FT_FIT_UNCERTAIN : FT_FITS_NOT);
    request.batch = largest.sure > 0 ? largest.sure : 1;
    status = ft_predict(a->box, q->model, &q->shapes, &request, 1, &answers, error);
    if (status == FT_OK)
        status = ft_report_max_batch(stream, &q->args->output.style,
                                     &(ft_model_results){q->args->path, q->model, &q->shapes, &answers}, &largest,
                                     q->free_bytes, q->is_whole, q->args->most, error);
    ft_results_free(&answers);
    return status;
}

/* The exit code when all went well, the status of what went wrong otherwise. */
static int answer(question *q) {
    output out;
    ft_error error;
    int code = 0;
    ft_status status = output_open(&q->args->output, &out);
    if (status != FT_OK) return (int)status;
    status = q->args->is_max_batch ? answer_max_batch(q, out.stream, &code, &error)
                                   : answer_fit(q, out.stream, &code, &error);
    if (status != FT_OK)
        output_fail(&out, status, q->args->path, &error);
    else
        status = output_commit(&out);
    output_discard(&out);
    return status != FT_OK ? (int)status : code;
}

static int ask(arguments *args) {
    ft_error error;
    ft_graph *model = NULL;
    question q = {.args = args, .free_bytes = args->free_bytes, .is_whole = isnan(args->free_bytes)};
    if (args->asking.device_count > 1) return (int)cli_fail(FT_ERR_USAGE, "--device: one at a time");
    if (q.is_whole) q.free_bytes = asking_device_memory(&args->asking, 0);
    if (isnan(q.free_bytes))
        return (int)cli_fail(FT_ERR_USAGE,
                             "the data sheet of %s does not say how much memory it has: give it with --free BYTES",
                             args->asking.devices[0].name);
    if (ft_graph_read(args->path, &model, &error) != FT_OK) return (int)cli_fail(error.status, "%s", error.message);
    q.model = model;
    q.shapes = shapes_for(&args->asking.shapes, model, false, 0);
    int code = answer(&q);
    ft_graph_free(model);
    return code;
}

static int run(int argc, char **argv, bool is_max_batch) {
    arguments *args = calloc(1, sizeof *args);
    if (args == NULL) return (int)cli_fail(FT_ERR_NOMEM, "out of memory");
    asking_init(&args->asking);
    args->output = output_options_default();
    args->free_bytes = NAN;
    args->most = MOST_BATCH;
    args->is_max_batch = is_max_batch;
    options_parse(is_max_batch ? &cmd_max_batch_options : &cmd_fits_options, argc, argv, args);
    int code = (int)asking_open(&args->asking);
    if (code == FT_OK) code = ask(args);
    asking_close(&args->asking);
    free(args);
    return code;
}

int cmd_fits(int argc, char **argv) {
    return run(argc, argv, false);
}

int cmd_max_batch(int argc, char **argv) {
    return run(argc, argv, true);
}
