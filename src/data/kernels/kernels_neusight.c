/* kernels_neusight.c - operators that NeuSight measured: products, convolutions and vector operators under PyTorch in
 * float32.
 *
 * Latencies are milliseconds. The file name says which part of the published split a row belongs to ("train_linear",
 * "test_bmm"). The linear layers of P4's training file ran at a fifth of the peak, those of its test file at three
 * quarters: they are skipped. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/kernels/kernels.h"

/* What all rows have in common. Versions: "p2.1.0". */
static void read_common(const kernel_reader *r, kernel_row *row, char device[static 80]) {
    char torch[32];
    kernel_text(r, "Torch Version", torch, sizeof torch);
    row->device = kernel_text(r, "Device", device, 80);
    row->part = strncmp(r->stem, "test", 4) == 0 ? "test" : "train";
    row->family = "neusight-operators";
    row->time_us = kernel_number(r, "Latency") * 1e3;
    kernel_setting(row, "amp=no;compile=no;layout=nchw;torch=%.20s", torch[0] == 'p' ? torch + 1 : torch);
}

static ft_status read_product(kernel_reader *r) {
    kernel_row row = kernel_row_new();
    char device[80], op[16];
    int64_t b, m, n, k, rows;
    read_common(r, &row, device);
    kernel_text(r, "OPName", op, sizeof op);
    if (!kernel_size(r, "B", &b) || !kernel_size(r, "M", &m) || !kernel_size(r, "N", &n) || !kernel_size(r, "K", &k))
        return kernel_skip(r, "B, M, N or K is not a size");
    if (strcmp(op, "bmm") == 0) {
        row.op = "MatMul";
        row.name = "bmm";
        row.batch = b;
        kernel_inputs(&row, "Nx%lldx%lld;Nx%lldx%lld", (long long)m, (long long)k, (long long)k, (long long)n);
        return kernel_add(r, &row);
    }
    if (strcmp(op, "linear") != 0) return kernel_skip(r, "neither bmm nor linear");
    if (strstr(device, "P4") != NULL && strcmp(row.part, "train") == 0)
        return kernel_skip(r, "the linear layers of P4's training file are throttled");
    if (__builtin_mul_overflow(b, m, &rows) || rows > FT_MAX_DIM) return kernel_skip(r, "B x M is too large");
    row.op = "Gemm";
    row.name = "linear";
    row.batch = rows;
    kernel_inputs(&row, "Nx%lld;%lldx%lld:weight;%lld:weight", (long long)k, (long long)n, (long long)k, (long long)n);
    kernel_attributes(&row, "transB=1");
    return kernel_add(r, &row);
}

static ft_status read_conv(kernel_reader *r) {
    kernel_row row = kernel_row_new();
    char device[80];
    int64_t c, o, k, size, stride;
    read_common(r, &row, device);
    double padding = kernel_number(r, "Padding"); /* NaN: none */
    int pad = padding >= 1 && padding < 1e6 ? (int)padding : 0;
    if (!kernel_size(r, "B", &row.batch) || !kernel_size(r, "Input_Channel", &c) ||
        !kernel_size(r, "Output_Channel", &o) || !kernel_size(r, "Kernel_Szie", &k) ||
        !kernel_size(r, "Input_Size", &size) || !kernel_size(r, "Stride", &stride))
        return kernel_skip(r, "a size of the convolution is missing");
    row.op = "Conv";
    row.name = "conv";
    kernel_inputs(&row, "Nx%lldx%lldx%lld;%lldx%lldx%lldx%lld:weight", (long long)c, (long long)size, (long long)size,
                  (long long)o, (long long)c, (long long)k, (long long)k);
    kernel_attributes(&row, "strides=%lldx%lld;pads=%dx%dx%dx%d", (long long)stride, (long long)stride, pad, pad, pad,
                      pad);
    return kernel_add(r, &row);
}

/* Names that end in u take a scalar as their second operand; its constant makes no difference to the time. */
static const struct vector_op {
    const char *name, *op;
    int operands; /* rows x width, each */
    bool has_scalar;
} vector_ops[] = {
    {"add", "Add", 2, false},
    {"addu", "Add", 1, true},
    {"mul", "Mul", 2, false},
    {"mulu", "Mul", 1, true},
    {"div", "Div", 2, false},
    {"divu", "Div", 1, true},
    {"pow", "Pow", 2, false},
    {"powu", "Pow", 1, true},
    {"relu", "Relu", 1, false},
    {"gelu", "Gelu", 1, false},
    {"tanh", "Tanh", 1, false},
    {"softmax", "Softmax", 1, false},
    {"ln", "LayerNormalization", 1, false},
};

static ft_status read_vector(kernel_reader *r) {
    kernel_row row = kernel_row_new();
    char device[80], op[16];
    int64_t width;
    size_t i = 0, count = sizeof vector_ops / sizeof vector_ops[0];
    read_common(r, &row, device);
    kernel_text(r, "OPName", op, sizeof op);
    while (i < count && strcmp(vector_ops[i].name, op) != 0) i++;
    if (i == count) return kernel_skip(r, "an unknown vector operator");
    if (!kernel_size(r, "B", &row.batch) || !kernel_size(r, "H", &width)) return kernel_skip(r, "B or H is not a size");
    long long h = width;
    row.op = vector_ops[i].op;
    row.name = vector_ops[i].name;
    if (vector_ops[i].operands == 2)
        kernel_inputs(&row, "Nx%lld;Nx%lld", h, h);
    else if (vector_ops[i].has_scalar)
        kernel_inputs(&row, "Nx%lld;1:weight", h);
    else if (strcmp(op, "ln") == 0)
        kernel_inputs(&row, "Nx%lld;%lld:weight;%lld:weight", h, h, h);
    else
        kernel_inputs(&row, "Nx%lld", h);
    if (strcmp(op, "ln") == 0 || strcmp(op, "softmax") == 0) kernel_attributes(&row, "axis=-1");
    return kernel_add(r, &row);
}

const kernel_layout neusight_layouts[] = {
    {"NeuSight products", "OPName Latency Device Kernels B M N K", read_product},
    {"NeuSight convolutions", "OPName Latency Device B Input_Channel Output_Channel Kernel_Szie Input_Size Stride",
     read_conv},
    {"NeuSight vector operators", "OPName Latency Device B H", read_vector},
    {NULL, NULL, NULL},
};
