#include "replaying.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_TIMES = 256,
    OPTION_PREDICT,
    OPTION_ENGINES,
    OPTION_GAP,
    OPTION_ORDER,
    OPTION_WORKERS,
    OPTION_LATENCY,
    OPTION_BANDWIDTH,
    OPTION_BUCKET,
    OPTION_NO_OVERLAP,
    OPTION_BACKWARD,
    OPTION_STRICT,
    OPTION_BY_KERNEL,
    OPTION_TRACE,
    OPTION_PLOT
};

/* --- Options ------------------------------------------------------------------------------------------------- */

static const struct argp_option option_list[] = {
    {NULL, 0, NULL, 0, "Times of kernels:", 1},
    {"times", OPTION_TIMES, "FILE", 0,
     "a table of them, CSV or JSON: name and time_us, or what predict writes by layer (predicted)", 0},
    {"predict", OPTION_PREDICT, "FILE", 0, "predicted by this file; the same as --predictor", 0},
    {"backward", OPTION_BACKWARD, "HOW", 0,
     "training: predictor (it tells the whole step), or work (inference is predicted, the way back follows by its "
     "work) (predictor)",
     0},
    {"strict", OPTION_STRICT, NULL, 0, "kernels without a time are an error, not a median", 0},
    {NULL, 0, NULL, 0, "Engines:", 2},
    {"engines", OPTION_ENGINES, "SPEC", 0, "of a device: compute:2,copy:1 or mme:conv*,matmul,fc;tpc:* (compute:1)", 0},
    {"gap", OPTION_GAP, "US", 0, "idle time after each kernel, or by engine as mme=1,tpc=2.5 (0)", 0},
    {"order", OPTION_ORDER, "HOW", 0, "of kernels that are ready: program, critical or ready (program)", 0},
    {NULL, 0, NULL, 0, "Workers (training):", 3},
    {"workers", OPTION_WORKERS, "N,...", 0, "that exchange gradients: 8, or 1,2,4, or 1..8, which doubles (1)", 0},
    {"bandwidth", OPTION_BANDWIDTH, "BYTES", 0, "a second, of the network each way, as 12.5GB (12.5GB)", 0},
    {"latency", OPTION_LATENCY, "US", 0, "of a message between neighbours (10)", 0},
    {"bucket", OPTION_BUCKET, "BYTES", 0, "gradients are exchanged in pieces of this size (25MiB)", 0},
    {"no-overlap", OPTION_NO_OVERLAP, NULL, 0, "exchange only when the way back is over", 0},
    {NULL, 0, NULL, 0, "What to tell:", 4},
    {"by-kernel", OPTION_BY_KERNEL, NULL, 0, "when each kernel runs", 0},
    {"top", 't', "N", 0, "only the N longest kernels", 0},
    {"trace", OPTION_TRACE, "FILE", 0, "write a trace for ui.perfetto.dev or chrome://tracing", 0},
    {"plot", OPTION_PLOT, "FILE", 0, "draw the timeline, and scaling over workers, to FILE.svg or FILE.png", 0},
    {"quiet", 'q', NULL, 0, "no progress line and no notes; errors are still told", 60},
    {0},
};

static bool ends_in(const char *path, const char *end) {
    size_t length = strlen(path), size = strlen(end);
    return length > size && strcmp(path + length - size, end) == 0;
}

static void check_arguments(replaying *args, struct argp_state *state) {
    asking *a = args->asking;
    if (args->worker_counts > 1 && args->trace != NULL) argp_error(state, "--trace shows one number of --workers");
    if (a->mode != FT_TRAIN && args->worker_counts > 0 && (args->worker_counts > 1 || args->workers[0] > 1))
        argp_error(state, "--workers exchange gradients: add --mode train");
    if (args->is_derived && a->mode != FT_TRAIN) argp_error(state, "--backward is for --mode train");
    if (args->plot != NULL && !ends_in(args->plot, ".svg") && !ends_in(args->plot, ".png"))
        argp_error(state, "--plot %s: want a file that ends in .svg or .png", args->plot);
    if (a->batch_count > 1) argp_error(state, "--batch: one at a time");
    if (args->times != NULL && a->predictor_count > 0)
        argp_error(state, "--times and --predictor: times come from one of them");
}

static double parse_us(struct argp_state *state, const char *option, const char *text) {
    char *end;
    errno = 0;
    double value = strtod(text, &end); /* LC_NUMERIC is that of the C locale */
    if (errno != 0 || end == text || *end != '\0' || !(value >= 0 && value <= 1e9))
        argp_error(state, "--%s %s: want microseconds", option, text);
    return value;
}

static error_t parse_worker(replaying *args, int key, char *text, struct argp_state *state) {
    ft_replay_options *o = &args->options;
    switch (key) {
    case OPTION_WORKERS:
        args->worker_counts = cli_parse_sizes(state, "workers", text, args->workers, REPLAYING_MOST_COUNTS);
        for (uint32_t i = 0; i < args->worker_counts; i++)
            if (args->workers[i] > FT_REPLAY_MOST_WORKERS)
                argp_error(state, "--workers %s: at most %d", text, FT_REPLAY_MOST_WORKERS);
        return 0;
    case OPTION_LATENCY:
        o->latency_us = parse_us(state, "latency", text);
        return 0;
    case OPTION_BANDWIDTH:
        o->bytes_per_s = cli_parse_bytes(state, "bandwidth", text);
        if (!(o->bytes_per_s > 0)) argp_error(state, "--bandwidth %s: want more than nothing", text);
        return 0;
    case OPTION_BUCKET:
        o->bucket_bytes = (uint64_t)cli_parse_bytes(state, "bucket", text);
        return 0;
    case OPTION_NO_OVERLAP:
        o->has_no_overlap = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_way(replaying *args, int key, char *text, struct argp_state *state) {
    switch (key) {
    case OPTION_TIMES:
        args->times = text;
        return 0;
    case OPTION_PREDICT:
        if (args->asking->predictor_count == ASKING_MOST_FILES) argp_error(state, "--predict: too many files");
        args->asking->predictors[args->asking->predictor_count++] = text;
        return 0;
    case OPTION_BACKWARD:
        if (strcmp(text, "work") != 0 && strcmp(text, "predictor") != 0)
            argp_error(state, "--backward %s: want predictor or work", text);
        args->is_derived = strcmp(text, "work") == 0;
        return 0;
    case OPTION_STRICT:
        args->is_strict = true;
        return 0;
    case OPTION_ENGINES:
        args->options.engines = text;
        return 0;
    case OPTION_GAP:
        args->options.gaps = text;
        return 0;
    case OPTION_ORDER:
        if (!ft_order_parse(text, &args->options.order))
            argp_error(state, "--order %s: want program, critical or ready", text);
        return 0;
    default:
        return parse_worker(args, key, text, state);
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    replaying *args = state->input;
    switch (key) {
    case OPTION_BY_KERNEL:
        args->style.has_kernels = true;
        return 0;
    case 't':
        args->style.top = (uint32_t)cli_parse_count(state, "top", text, FT_MAX_OPS);
        return 0;
    case OPTION_TRACE:
        args->trace = text;
        return 0;
    case OPTION_PLOT:
        args->plot = text;
        return 0;
    case 'q':
        args->is_quiet = true;
        return 0;
    case ARGP_KEY_END:
        check_arguments(args, state);
        return 0;
    default:
        return parse_way(args, key, text, state);
    }
}

const struct argp replaying_argp = {.options = option_list, .parser = parse_option};

void replaying_init(replaying *r, asking *a) {
    memset(r, 0, sizeof *r);
    r->asking = a;
    r->options = ft_replay_options_default();
}
