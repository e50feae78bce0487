/* show_naive.c - workloads as straightforward loops, the reference that nests are compared with. t[0], t[1], ... are
 * the tensors of the stages of the definition, in its order. */
#include <assert.h>

#include "program/show.h"

#define L(x) ((long long)(x))

static void write_windows(const workload *w, buf *out) {
    bool is_conv = w->kind == WORKLOAD_CONV2D, is_pool = w->kind == WORKLOAD_POOL;
    bool has_padding = w->pad_top + w->pad_bottom + w->pad_left + w->pad_right > 0;
    long long maps = L(is_conv ? w->out_channels : w->channels);
    const char *first = is_pool && !w->is_average ? "-3.402823466e38f" : "0";
    buf_format(out, "  float *out = t[%d]; long at = 0;\n", is_pool ? 1 + has_padding + w->is_average : 3);
    buf_format(out, "  for (long n = 0; n < %lld; n++) for (long f = 0; f < %lld; f++)\n", L(w->batch), maps);
    buf_format(out, "  for (long y = 0; y < %lld; y++) for (long x = 0; x < %lld; x++) {\n    float s = %s;\n",
               L(workload_out_height(w)), L(workload_out_width(w)), first);
    if (is_conv)
        buf_format(out, "    for (long c = 0; c < %lld; c++)\n", L(w->channels));
    else
        buf_text(out, "    long c = f;\n");
    buf_format(out, "    for (long r = 0; r < %lld; r++) for (long q = 0; q < %lld; q++) {\n", L(w->kernel_height),
               L(w->kernel_width));
    buf_format(out, "      long iy = y * %lld + r - %lld, ix = x * %lld + q - %lld;\n", L(w->stride), L(w->pad_top),
               L(w->stride), L(w->pad_left));
    buf_format(out, "      if (iy < 0 || iy >= %lld || ix < 0 || ix >= %lld) continue;\n", L(w->height), L(w->width));
    buf_format(out, "      float a = t[0][((n * %lld + c) * %lld + iy) * %lld + ix];\n", L(w->channels), L(w->height),
               L(w->width));
    if (is_pool)
        buf_text(out, w->is_average ? "      s += a;\n    }\n" : "      if (a > s) s = a;\n    }\n");
    else
        buf_format(out, "      s += a * t[2][((f * %lld + %s) * %lld + r) * %lld + q];\n    }\n",
                   is_conv ? L(w->channels) : 1LL, is_conv ? "c" : "0", L(w->kernel_height), L(w->kernel_width));
    if (is_pool && w->is_average) buf_format(out, "    s /= %lld;\n", L(w->kernel_height * w->kernel_width));
    buf_text(out, "    out[at++] = s;\n  }\n");
}

static void write_product(const workload *w, buf *out) {
    bool is_batched = w->kind == WORKLOAD_BATCH_MATMUL;
    long long m = L(w->m), k = L(w->k), n = L(w->n);
    buf_format(out, "  float *out = t[2]; long at = 0;\n  for (long b = 0; b < %lld; b++)\n",
               is_batched ? L(w->batch * w->channels) : 1LL);
    buf_format(out, "  for (long i = 0; i < %lld; i++) for (long j = 0; j < %lld; j++) {\n    float s = 0;\n", m, n);
    buf_format(out, "    for (long k = 0; k < %lld; k++) s += ", k);
    if (w->is_first_transposed)
        buf_format(out, "t[0][(b * %lld + k) * %lld + i] * ", k, m);
    else
        buf_format(out, "t[0][(b * %lld + i) * %lld + k] * ", m, k);
    if (w->is_transposed)
        buf_format(out, "t[1][(b * %lld + j) * %lld + k];\n", n, k);
    else
        buf_format(out, "t[1][(b * %lld + k) * %lld + j];\n", k, n);
    buf_text(out, "    out[at++] = s;\n  }\n");
}

/* Walks the input once and adds each value to its result. */
static void write_reduction(const workload *w, buf *out) {
    long long size = 1, in_stride = 1, out_stride = 1, kept = 1;
    for (uint32_t i = 0; i < w->dims; i++) {
        size *= w->shape[i];
        if (!w->is_reduced[i]) kept *= w->shape[i];
    }
    buf_format(out, "  float *out = t[1];\n  for (long i = 0; i < %lld; i++) out[i] = 0;\n", kept);
    buf_format(out, "  for (long i = 0; i < %lld; i++) out[0", size);
    for (uint32_t d = w->dims; d > 0; d--) {
        if (!w->is_reduced[d - 1]) {
            buf_format(out, " + i / %lld %% %lld * %lld", in_stride, L(w->shape[d - 1]), out_stride);
            out_stride *= w->shape[d - 1];
        }
        in_stride *= w->shape[d - 1];
    }
    buf_text(out, "] += t[0][i];\n");
}

static void write_transpose(const workload *w, buf *out) {
    long long size = 1, in_stride = 1, out_stride = 1;
    for (uint32_t i = 0; i < w->dims; i++) size *= w->shape[i];
    buf_format(out, "  float *out = t[1];\n  for (long i = 0; i < %lld; i++) out[0", size);
    out_stride = size;
    for (uint32_t d = w->dims; d > 0; d--) {
        out_stride /= w->shape[d - 1];
        buf_format(out, " + i / %lld %% %lld * %lld", in_stride, L(w->shape[d - 1]), out_stride);
        in_stride *= w->shape[d - 1];
    }
    buf_text(out, "] = t[0][i];\n");
}

static void write_elementwise(const workload *w, buf *out) {
    long long size = 1;
    for (uint32_t i = 0; i < w->dims; i++) size *= w->shape[i];
    bool has_two = w->kind == WORKLOAD_ADD || w->kind == WORKLOAD_MUL || w->kind == WORKLOAD_BIAS;
    buf_format(out, "  float *out = t[%d];\n  for (long i = 0; i < %lld; i++) out[i] = ", has_two ? 2 : 1, size);
    switch (w->kind) {
    case WORKLOAD_RELU:
        buf_text(out, "t[0][i] > 0 ? t[0][i] : 0;\n");
        break;
    case WORKLOAD_TANH:
        buf_text(out, "tanhf(t[0][i]);\n");
        break;
    case WORKLOAD_SIGMOID:
        buf_text(out, "1 / (1 + expf(-t[0][i]));\n");
        break;
    case WORKLOAD_BIAS:
        buf_format(out, "t[0][i] + t[1][i %% %lld];\n", L(w->shape[1]));
        break;
    default:
        buf_format(out, "t[0][i] %s t[1][i];\n", w->kind == WORKLOAD_ADD ? "+" : "*");
    }
}

/* Size and channels of the result, elements per channel (for the bias), and the number of stages. */
static void result_shape(const workload *w, long long *size, long long *channels, long long *inner, int *stages) {
    *inner = 1;
    bool has_padding = w->pad_top + w->pad_bottom + w->pad_left + w->pad_right > 0;
    switch (w->kind) {
    case WORKLOAD_MATMUL:
    case WORKLOAD_BATCH_MATMUL:
        *channels = w->n;
        *size = w->m * w->n * (w->kind == WORKLOAD_MATMUL ? 1 : w->batch * w->channels);
        *stages = 3;
        break;
    case WORKLOAD_CONV2D:
    case WORKLOAD_DEPTHWISE:
    case WORKLOAD_POOL:
        *channels = w->kind == WORKLOAD_CONV2D ? w->out_channels : w->channels;
        *inner = workload_out_height(w) * workload_out_width(w);
        *size = w->batch * *channels * *inner;
        *stages = w->kind == WORKLOAD_POOL ? 2 + has_padding + w->is_average : 4;
        break;
    default: {
        int64_t dims = 0, shape[PROG_MAX_DIMS] = {1};
        *size = 1;
        for (uint32_t i = 0; i < w->dims; i++) {
            uint32_t from = w->kind == WORKLOAD_TRANSPOSE ? w->dims - 1 - i : i;
            bool is_gone = w->kind == WORKLOAD_REDUCTION && w->is_reduced[i];
            if (is_gone && !w->keeps_dims) continue;
            shape[dims++] = is_gone ? 1 : w->shape[from];
            *size *= shape[dims - 1];
        }
        *channels = dims == 4 ? shape[1] : dims > 0 ? shape[dims - 1] : 1;
        if (dims == 4) *inner = shape[2] * shape[3];
        *stages = w->kind == WORKLOAD_ADD || w->kind == WORKLOAD_MUL || w->kind == WORKLOAD_BIAS ? 3 : 2;
    }
    }
}

void show_naive(const workload *w, buf *out) {
    long long size, channels, inner;
    int stages;
    result_shape(w, &size, &channels, &inner, &stages);
    assert(size > 0 && channels > 0 && inner > 0);
    /* The epilogue works in place: the result is the tensor of the last stage. */
    if (w->has_add || w->has_relu) {
        int last = stages - 1 + 2 * w->has_add + w->has_relu;
        buf_format(out, "  float *result = t[%d], *kept = t[%d];\n  t[%d] = result;\n", last, stages - 1, stages - 1);
    }
    if (w->kind == WORKLOAD_CONV2D || w->kind == WORKLOAD_DEPTHWISE || w->kind == WORKLOAD_POOL)
        write_windows(w, out);
    else if (w->kind == WORKLOAD_MATMUL || w->kind == WORKLOAD_BATCH_MATMUL)
        write_product(w, out);
    else if (w->kind == WORKLOAD_REDUCTION)
        write_reduction(w, out);
    else if (w->kind == WORKLOAD_TRANSPOSE)
        write_transpose(w, out);
    else
        write_elementwise(w, out);
    if (w->has_add)
        buf_format(out, "  for (long i = 0; i < %lld; i++) out[i] += t[%d][i / %lld %% %lld];\n", size, stages, inner,
                   channels);
    if (w->has_relu) buf_format(out, "  for (long i = 0; i < %lld; i++) out[i] = out[i] > 0 ? out[i] : 0;\n", size);
    if (w->has_add || w->has_relu) buf_format(out, "  t[%d] = kept;\n", stages - 1);
}
