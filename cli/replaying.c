#include "replaying.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Options ------------------------------------------------------------------------------------------------- */

static void check(void *input, struct argp_state *state) {
    const replaying *args = input;
    const asking *a = args->asking;
    if (args->worker_counts > 1 && args->trace != NULL) argp_error(state, "--trace shows one number of --workers");
    if (a->mode != FT_TRAIN && args->worker_counts > 0 && (args->worker_counts > 1 || args->workers[0] > 1))
        argp_error(state, "--workers exchange gradients: add --mode train");
    if (args->is_derived && a->mode != FT_TRAIN) argp_error(state, "--backward is for --mode train");
    if (a->batch_count > 1) argp_error(state, "--batch: one at a time");
    if (args->times != NULL && a->predictors.count > 0)
        argp_error(state, "--times and --predictor: times come from one of them");
}

static void take_us(void *field, const char *text, const option_row *row, struct argp_state *state) {
    char *end;
    errno = 0;
    double value = strtod(text, &end); /* LC_NUMERIC is that of the C locale */
    if (errno != 0 || end == text || *end != '\0' || !(value >= 0 && value <= 1e9))
        argp_error(state, "--%s %s: want microseconds", row->name, text);
    *(double *)field = value;
}

static void take_workers(void *input, const char *text, const option_row *row, struct argp_state *state) {
    replaying *args = input;
    args->worker_counts = cli_parse_sizes(state, row->name, text, args->workers, REPLAYING_MOST_COUNTS);
    for (uint32_t i = 0; i < args->worker_counts; i++)
        if (args->workers[i] > FT_REPLAY_MAX_WORKERS)
            argp_error(state, "--%s %s: at most %d", row->name, text, FT_REPLAY_MAX_WORKERS);
}

static void take_bandwidth(void *field, const char *text, const option_row *row, struct argp_state *state) {
    option_bytes(field, text, row, state);
    if (!(*(double *)field > 0)) argp_error(state, "--%s %s: want more than nothing", row->name, text);
}

static void take_predictor(void *input, const char *text, const option_row *row, struct argp_state *state) {
    replaying *args = input;
    option_name(&args->asking->predictors, text, row, state);
}

static void take_backward(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (strcmp(text, "work") != 0 && strcmp(text, "predictor") != 0)
        argp_error(state, "--%s %s: want predictor or work", row->name, text);
    *(bool *)field = strcmp(text, "work") == 0;
}

static void take_order(void *field, const char *text, const option_row *row, struct argp_state *state) {
    if (!ft_order_parse(text, field)) argp_error(state, "--%s %s: want program, critical or ready", row->name, text);
}

static const option_row rows[] = {
    {.help = "Times of kernels:", .group = 1},
    {"times", "FILE", "a table of them, CSV or JSON: name and time_us, or what predict writes by layer (predicted)", 0,
     TEXT(replaying, times)},
    {"predict", "FILE", "predicted by this file; the same as --predictor", 0, TAKEN_WHOLE_BY(take_predictor)},
    {"backward", "HOW",
     "training: predictor (it tells the whole step), or work (inference is predicted, the way back follows by its "
     "work) (predictor)",
     0, TAKEN_BY(take_backward, replaying, is_derived), .choices = "predictor work"},
    {"strict", NULL, "kernels without a time are an error, not a median", 0, FLAG(replaying, is_strict)},
    {.help = "Engines:", .group = 2},
    {"engines", "SPEC", "of a device: compute:2,copy:1 or mme:conv*,matmul,fc;tpc:* (compute:1)", 0,
     TEXT(replaying, options.engines), .choices = "compute:1 compute:2 compute:1,copy:1"},
    {"gap", "US", "idle time after each kernel, or by engine as mme=1,tpc=2.5 (0)", 0, TEXT(replaying, options.gaps)},
    {"order", "HOW", "of kernels that are ready: program, critical or ready (program)", 0,
     TAKEN_BY(take_order, replaying, options.order), .choices = "program critical ready"},
    {.help = "Workers (training):", .group = 3},
    {"workers", "N,...", "that exchange gradients: 8, or 1,2,4, or 1..8, which doubles (1)", 0,
     TAKEN_WHOLE_BY(take_workers)},
    {"bandwidth", "BYTES", "a second, of the network each way, as 12.5GB (12.5GB)", 0,
     TAKEN_BY(take_bandwidth, replaying, options.bytes_per_s)},
    {"latency", "US", "of a message between neighbours (10)", 0, TAKEN_BY(take_us, replaying, options.latency_us)},
    {"bucket", "BYTES", "gradients are exchanged in pieces of this size (25MiB)", 0,
     BYTES(replaying, options.bucket_bytes)},
    {"no-overlap", NULL, "exchange only when the way back is over", 0, FLAG(replaying, options.is_exchange_last)},
    {.help = "What to tell:", .group = 4},
    {"by-kernel", NULL, "when each kernel runs", 0, FLAG(replaying, style.has_kernels)},
    {"top", "N", "only the N longest kernels", 0, COUNT(replaying, style.top, FT_MAX_OPS)},
    {"trace", "FILE", "write a trace for ui.perfetto.dev or chrome://tracing", 0, TEXT(replaying, trace)},
    {"plot", "FILE", "draw the timeline, and scaling over workers, to FILE.svg or FILE.png", 0,
     TAKEN_BY(option_plot, replaying, plot)},
    QUIET_ROW(replaying, is_quiet, 60),
    {0},
};

const option_set replaying_set = {.rows = rows, .check = check};

void replaying_init(replaying *r, asking *a) {
    memset(r, 0, sizeof *r);
    r->asking = a;
    r->options = ft_replay_options_default();
}
