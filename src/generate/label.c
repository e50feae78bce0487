/* label.c - computed labels: a roofline with launch overhead for time, and the memory timeline plus fixed overhead. */
#include "generate/label.h"

#include <assert.h>
#include <math.h>

#include "base/error.h"
#include "base/json_writer.h"

/* Constants that are in no data sheet, fitted so that times, memory and utilisation are close to the published ones
 * (docs/generate.md compares them). */
static const double DENSE_FRACTION = 0.7; /* fraction of the peak that dense convolutions and matrix products reach */
static const double BANDWIDTH_FRACTION = 0.65; /* fraction of the bandwidth that all kernels reach */
static const double FULL_GROUP = 32; /* channels per group from which grouped convolutions are as fast as dense ones */
static const double KERNEL_SECONDS = 4e-6; /* minimum time of a kernel on the device */
static const double START_SECONDS = 32e-6; /* launch overhead of an operator on the host */
static const double TRAIN_START_SECONDS =
    105e-6; /* the same with its backward pass and its part of the optimizer step */
static const double COPY_BYTES_PER_SECOND = 2.5e9; /* copy of a batch of images from the host, in training */
static const double CONTEXT_MIB = 1400;            /* memory of a process before it loads a model */
static const double TRAIN_MIB = 90;                /* additional memory in training */
static const double RESERVE_MIB = 300;             /* memory reserved by the device */
static const double MAX_UTIL = 0.99;

static const double MIB = 1024.0 * 1024.0;

typedef struct roofline {
    double flops_per_s, bytes_per_s;
} roofline;

static double work_seconds(const roofline *r, const ft_work *work, double share) {
    if (work->flops == 0 && work->read_bytes + work->write_bytes == 0) return 0;
    double arithmetic = (double)work->flops / (r->flops_per_s * share);
    double traffic = (double)(work->read_bytes + work->write_bytes) / (r->bytes_per_s * BANDWIDTH_FRACTION);
    return fmax(arithmetic, traffic) + KERNEL_SECONDS;
}

/* The fraction of the peak that an operator reaches: convolutions with narrow groups leave most of a tile empty. */
static double peak_fraction(const ft_graph *bound, const ft_op *op) {
    const ft_attr *group = ft_op_attr(op, "group");
    if (group == NULL || group->i <= 1 || op->input_count < 2) return DENSE_FRACTION;
    const ft_tensor *weight = &ft_graph_tensors(bound)[op->inputs[1]];
    double channels = weight->rank >= 2 ? (double)weight->dims[1] : FULL_GROUP;
    return DENSE_FRACTION * fmin(1, sqrt(channels / FULL_GROUP));
}

typedef struct span {
    double device_s, host_s, bytes;
} span;

static double moved_bytes(const ft_work *work) {
    return (double)work->read_bytes + (double)work->write_bytes;
}

static span sum_operators(const ft_graph *bound, const roofline *r, const ft_cost *cost, bool is_train) {
    span s = {0};
    const ft_op *ops = ft_graph_ops(bound);
    for (uint32_t i = 0; i < cost->op_count; i++) {
        const ft_op_cost *c = &cost->ops[i];
        double share = peak_fraction(bound, &ops[i]);
        s.device_s += work_seconds(r, &c->forward, share) + work_seconds(r, &c->backward_data, share) +
                      work_seconds(r, &c->backward_weights, share);
        s.bytes += moved_bytes(&c->forward) + moved_bytes(&c->backward_data) + moved_bytes(&c->backward_weights);
        s.host_s += is_train ? TRAIN_START_SECONDS : START_SECONDS;
    }
    s.device_s += work_seconds(r, &cost->optimizer, DENSE_FRACTION);
    s.bytes += moved_bytes(&cost->optimizer);
    return s;
}

static double input_bytes(const ft_graph *bound) {
    double sum = 0;
    for (uint32_t i = 0; i < ft_graph_input_count(bound); i++)
        sum += (double)ft_tensor_bytes(bound, &ft_graph_tensors(bound)[ft_graph_inputs(bound)[i]]);
    return sum;
}

typedef struct live {
    double sum_bytes;
    uint64_t count;
} live;

static void observe(void *user, ft_phase phase, uint32_t op, uint64_t live_bytes) {
    live *l = user;
    (void)phase;
    (void)op;
    l->sum_bytes += (double)live_bytes;
    l->count++;
}

static double percent(double ratio) {
    return 100 * fmin(MAX_UTIL, ratio);
}

static ft_status compute_mode(const ft_graph *bound, const roofline *r, ft_mode mode, label *l, ft_error *error) {
    ft_cost_options options = ft_cost_options_default();
    options.mode = mode;
    options.has_inplace = false; /* as in the implementations that are compared */
    ft_cost cost;
    ft_memory memory;
    FT_TRY(ft_cost_compute(bound, &options, &cost, error));
    span s = sum_operators(bound, r, &cost, mode == FT_TRAIN);
    ft_cost_free(&cost);
    live mean = {0};
    FT_TRY(ft_memory_plan(bound, &options, &memory, observe, &mean, error));
    double copy_s = mode == FT_TRAIN ? input_bytes(bound) / COPY_BYTES_PER_SECOND : 0;
    double run_s = fmax(s.device_s, s.host_s), time_s = run_s + copy_s;
    double average_bytes = mean.count > 0 ? mean.sum_bytes / (double)mean.count : (double)memory.peak_bytes;
    double floor_mib = CONTEXT_MIB + (mode == FT_TRAIN ? TRAIN_MIB : 0);
    l->modes[mode] = (label_mode){.time_ms = time_s * 1e3,
                                  .sm_util_percent = percent(s.device_s / time_s),
                                  .sm_util_peak_percent = percent(s.device_s / run_s),
                                  .memory_util_percent = percent(s.bytes / (r->bytes_per_s * time_s)),
                                  .memory_util_peak_percent = percent(s.bytes / (r->bytes_per_s * s.device_s)),
                                  .memory_mib = floor_mib + (double)memory.peak_bytes / MIB,
                                  .memory_average_mib = floor_mib + average_bytes / MIB};
    return FT_OK;
}

ft_status label_compute(const ft_graph *bound, const ft_device *device, label *made, ft_error *error) {
    roofline r = {.flops_per_s = ft_device_number(device, "peak_float32_flops"),
                  .bytes_per_s = ft_device_number(device, "bandwidth_bytes_per_s")};
    label l = {0};
    FT_TRY(compute_mode(bound, &r, FT_INFER, &l, error));
    FT_TRY(compute_mode(bound, &r, FT_TRAIN, &l, error));
    double max_mib = ft_device_number(device, "memory_bytes") / MIB - RESERVE_MIB;
    l.fits = l.modes[FT_TRAIN].memory_mib <= max_mib;
    *made = l;
    return FT_OK;
}

/* Draws are truncated at three standard deviations, so that no label is absurd. */
static double draw_factor(double ratio, rng *random) {
    assert(ratio >= 0);
    return 1 + ratio * fmax(-3, fmin(3, rng_normal(random)));
}

void label_add_noise(label *l, double ratio, rng *random) {
    for (int mode = FT_INFER; mode <= FT_TRAIN; mode++) {
        label_mode *m = &l->modes[mode];
        m->time_ms *= draw_factor(ratio, random);
        /* Peaks vary with their averages. */
        double sm = draw_factor(ratio, random), bus = draw_factor(ratio, random),
               memory = draw_factor(ratio / 10, random);
        m->sm_util_percent = fmin(100 * MAX_UTIL, m->sm_util_percent * sm);
        m->sm_util_peak_percent = fmin(100 * MAX_UTIL, m->sm_util_peak_percent * sm);
        m->memory_util_percent = fmin(100 * MAX_UTIL, m->memory_util_percent * bus);
        m->memory_util_peak_percent = fmin(100 * MAX_UTIL, m->memory_util_peak_percent * bus);
        m->memory_mib *= memory;
        m->memory_average_mib *= memory;
    }
}

/* Prints `digits` decimals, in any locale. */
static void put_number(double value, double digits, char before, buf *out) {
    char text[DOUBLE_TEXT_SIZE];
    double scale = pow(10, digits);
    double_text(round(value * scale) / scale, text);
    if (before != '\0') buf_char(out, before);
    buf_text(out, text);
}

/* time per sample | average SM | average memory controller | average memory | and the peaks of the last three. */
static void mode_text(const label_mode *m, int64_t batch, buf *out) {
    put_number(m->time_ms / (double)batch, 7, '\0', out);
    const double rest[] = {m->sm_util_percent,      m->memory_util_percent,      m->memory_average_mib,
                           m->sm_util_peak_percent, m->memory_util_peak_percent, m->memory_mib};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) put_number(rest[i], 2, '|', out);
}

void label_text(const label *l, int64_t batch, buf *out) {
    buf_text(out, "{'train': '");
    mode_text(&l->modes[FT_TRAIN], batch, out);
    buf_text(out, "', 'infer': '");
    mode_text(&l->modes[FT_INFER], batch, out);
    buf_text(out, "'}\n");
}
