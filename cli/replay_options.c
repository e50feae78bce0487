/* replay_options.c - the options of `foretell replay` alone: engines, workers and the network between them. */
#include "replay_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Options ------------------------------------------------------------------------------------------------- */

static void check(void *input, struct argp_state *state) {
    const replay_options *args = input;
    const predict_options *a = args->predict;
    if (a->mode != FT_TRAIN && args->worker_counts > 0 && (args->worker_counts > 1 || args->workers[0] > 1))
        argp_error(state, "--workers exchange gradients: add --mode train");
    if (args->is_derived && a->mode != FT_TRAIN) argp_error(state, "--backward is for --mode train");
    if (a->batch_count > 1) argp_error(state, "--batch: one at a time");
    if (args->times != NULL && a->predictors.count > 0) argp_error(state, "--times and --predictor: use one of them");
    if (args->times != NULL && args->programs != NULL) argp_error(state, "--times and --programs: use one of them");
    if (args->programs != NULL && a->predictors.count > 1) argp_error(state, "--predictor: one for --programs");
}

static void parse_us(void *field, const char *text, const option_row *row, struct argp_state *state) {
    char *end;
    errno = 0;
    double value = strtod(text, &end); /* LC_NUMERIC is that of the C locale */
    if (errno != 0 || end == text || *end != '\0' || !(value >= 0 && value <= 1e9))
        argp_error(state, "--%s %s: expected microseconds", row->name, text);
    *(double *)field = value;
}

static void parse_workers(void *input, const char *text, const option_row *row, struct argp_state *state) {
    replay_options *args = input;
    args->worker_counts = cli_parse_sizes(state, row->name, text, args->workers, REPLAY_MAX_WORKER_COUNTS);
    for (uint32_t i = 0; i < args->worker_counts; i++)
        if (args->workers[i] > FT_REPLAY_MAX_WORKERS)
            argp_error(state, "--%s %s: at most %d", row->name, text, FT_REPLAY_MAX_WORKERS);
}

static void parse_bandwidth(void *field, const char *text, const option_row *row, struct argp_state *state) {
    option_bytes(field, text, row, state);
    if (!(*(double *)field > 0)) argp_error(state, "--%s %s: expected a positive size", row->name, text);
}

static void parse_predictor(void *input, const char *text, const option_row *row, struct argp_state *state) {
    replay_options *args = input;
    option_name(&args->predict->predictors, text, row, state);
}

static void parse_backward(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (strcmp(text, "work") != 0 && strcmp(text, "predictor") != 0)
        argp_error(state, "--%s %s: expected predictor or work", row->name, text);
    *(bool *)field = strcmp(text, "work") == 0;
}

static void parse_order(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (!ft_order_parse(text, field))
        argp_error(state, "--%s %s: expected program, critical or ready", row->name, text);
}

static const option_row rows[] = {
    {.help = "Times of kernels:", .group = 1},
    {"times", "FILE", "a table of times, CSV or JSON: name and time_us, or the kernels that predict writes (predicted)",
     0, TEXT(replay_options, times)},
    {"programs", "FILE", "of graph.json: its functions as TVM printed them, whose times are predicted", 0,
     TEXT(replay_options, programs)},
    {"predict", "FILE", "predicted by this file; the same as --predictor", 0, PARSED_WHOLE_BY(parse_predictor)},
    {"backward", "HOW",
     "backward pass: predictor (the whole step is predicted), or work (inference is predicted, and the backward pass "
     "scaled by its work) (predictor)",
     0, PARSED_BY(parse_backward, replay_options, is_derived), .choices = "predictor work"},
    {"strict", NULL, "kernels without a time are an error; else they get the median", 0,
     FLAG(replay_options, is_strict)},
    {.help = "Engines:", .group = 2},
    {"engines", "SPEC", "engines of a device: compute:2,copy:1 or mme:conv*,matmul,fc;tpc:* (compute:1)", 0,
     TEXT(replay_options, options.engines), .choices = "compute:1 compute:2 compute:1,copy:1"},
    {"gap", "US", "idle time after each kernel, or by engine as mme=1,tpc=2.5 (0)", 0,
     TEXT(replay_options, options.gaps)},
    {"order", "HOW", "order of kernels that are ready: program, critical or ready (program)", 0,
     PARSED_BY(parse_order, replay_options, options.order), .choices = "program critical ready"},
    {.help = "Workers (training):", .group = 3},
    {"workers", "N,...", "number of workers that exchange gradients: 8, or 1,2,4, or 1..8, which doubles (1)", 0,
     PARSED_WHOLE_BY(parse_workers)},
    {"bandwidth", "BYTES", "network bandwidth per second each way, as 12.5GB (12.5GB)", 0,
     PARSED_BY(parse_bandwidth, replay_options, options.bytes_per_s)},
    {"latency", "US", "latency of a message between neighbours (10)", 0,
     PARSED_BY(parse_us, replay_options, options.latency_us)},
    {"bucket", "BYTES", "size of the pieces in which gradients are exchanged (25MiB)", 0,
     BYTES(replay_options, options.bucket_bytes)},
    {"no-overlap", NULL, "exchange gradients only after the backward pass", 0,
     FLAG(replay_options, options.is_exchange_last)},
    {.help = "Output selection:", .group = 4},
    {"by-kernel", NULL, "start and end of each kernel", 0, FLAG(replay_options, style.has_kernels)},
    {"top", "N", "only the N longest kernels", 0, COUNT(replay_options, style.top, FT_MAX_OPS)},
    {"trace", "FILE", "write a trace of the last number of workers, for ui.perfetto.dev or chrome://tracing", 0,
     TEXT(replay_options, trace)},
    {"plot", "FILE", "draw the timeline, and scaling over workers, to FILE.svg or FILE.png", 0,
     PARSED_BY(option_plot, replay_options, plot)},
    QUIET_ROW(replay_options, is_quiet, 60),
    {0},
};

const option_set replay_option_set = {.rows = rows, .check = check};

void replay_options_init(replay_options *r, predict_options *a) {
    memset(r, 0, sizeof *r);
    r->predict = a;
    r->options = ft_replay_options_default();
}
