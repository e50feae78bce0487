/* kernels_deepbench.c - DeepBench: products, convolutions with their gradients, recurrent layers and all-reduce.
 *
 * A row has its numbers in one cell, "M=1760;N=16;Time (msec)=0.05", as the sheets name them, which differs from sheet
 * to sheet ("S (Fitler width)", "S"). Times are milliseconds. The gradient of a convolution is an operator of its own:
 * that of its input a transposed convolution, that of its weights a convolution of the maps with the gradient. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/text.h"
#include "data/kernels/kernels.h"

enum { MAX_FIELDS = 1024 };

/* --- Numbers of a row -------------------------------------------------------------------------------------------- */

/* The text after "NAME=" or "NAME (what it is)=", whatever the case; NULL when there is none. */
static const char *find_field(const char *fields, const char *name, size_t *length) {
    size_t size = strlen(name);
    for (const char *at = fields; *at != '\0'; at += *at == ';') {
        size_t whole = strcspn(at, ";"), key = strcspn(at, "=;");
        bool is_named = key >= size && strncasecmp(at, name, size) == 0;
        size_t rest = size;
        while (is_named && at[rest] == ' ') rest++;
        if (is_named && key < whole && (rest == key || at[rest] == '(')) {
            *length = whole - key - 1;
            return at + key + 1;
        }
        at += whole;
    }
    return NULL;
}

static double field_number(const char *fields, const char *name) {
    size_t length;
    double value;
    const char *text = find_field(fields, name, &length);
    return text != NULL && text_double(text, length, &value) && isfinite(value) && value >= 0 ? value : NAN;
}

/* A size from `min` on; paddings may be 0. */
static bool field_size(const char *fields, const char *name, int64_t min, long long *size) {
    double value = field_number(fields, name);
    if (!(value >= (double)min) || value > 1e12 || floor(value) != value) return false;
    *size = (long long)value;
    return true;
}

static double field_us(const char *fields, const char *name) {
    double value = field_number(fields, name) * 1e3;
    return value > 0 ? value : NAN;
}

/* --- Sections ---------------------------------------------------------------------------------------------------- */

typedef struct bench_row {
    kernel_row row;
    char device[48], section[48], fields[MAX_FIELDS];
} bench_row;

static ft_status skip_size(kernel_reader *r) {
    return kernel_skip(r, "a size of the operator is missing");
}

static ft_status read_product(kernel_reader *r, bench_row *b) {
    long long m, n, k;
    size_t length;
    const char *f = b->fields;
    if (!field_size(f, "M", 1, &m) || !field_size(f, "N", 1, &n) || !field_size(f, "K", 1, &k)) return skip_size(r);
    const char *a = find_field(f, "A Transpose", &length), *w = find_field(f, "B Transpose", &length);
    bool has_a = a != NULL && *a == 'T', has_b = w != NULL && *w == 'T';
    b->row.op = "Gemm";
    b->row.name = "gemm";
    b->row.time_us = field_us(f, "Time");
    b->row.batch = has_a ? k : m;
    kernel_inputs(&b->row, "%lldx%lld;%lldx%lld", has_a ? k : m, has_a ? m : k, has_b ? n : k, has_b ? k : n);
    kernel_attributes(&b->row, "transA=%d;transB=%d", has_a, has_b);
    return kernel_add(r, &b->row);
}

typedef struct bench_conv {
    long long n, c, h, w, k, r, s, ph, pw, sh, sw; /* batch, maps, filters, padding, strides */
    long long p, q;                                /* height and width of the result */
} bench_conv;

static bool read_conv_sizes(const char *f, bench_conv *v) {
    bool is_good = field_size(f, "N", 1, &v->n) && field_size(f, "C", 1, &v->c) && field_size(f, "H", 1, &v->h) &&
                   field_size(f, "W", 1, &v->w) && field_size(f, "K", 1, &v->k) && field_size(f, "R", 1, &v->r) &&
                   field_size(f, "S", 1, &v->s) && field_size(f, "pad_h", 0, &v->ph) &&
                   field_size(f, "pad_w", 0, &v->pw) && field_size(f, "Vertical stride", 1, &v->sh) &&
                   field_size(f, "Horizontal stride", 1, &v->sw);
    if (!is_good || v->h + 2 * v->ph < v->r || v->w + 2 * v->pw < v->s) return false;
    v->p = (v->h + 2 * v->ph - v->r) / v->sh + 1;
    v->q = (v->w + 2 * v->pw - v->s) / v->sw + 1;
    return true;
}

static ft_status add_forward(kernel_reader *r, bench_row *b, const bench_conv *v) {
    b->row.op = "Conv";
    b->row.name = "conv";
    b->row.time_us = field_us(b->fields, "Forward");
    kernel_inputs(&b->row, "Nx%lldx%lldx%lld;%lldx%lldx%lldx%lld:weight", v->c, v->h, v->w, v->k, v->c, v->r, v->s);
    kernel_attributes(&b->row, "strides=%lldx%lld;pads=%lldx%lldx%lldx%lld", v->sh, v->sw, v->ph, v->pw, v->ph, v->pw);
    return kernel_add(r, &b->row);
}

static ft_status add_input_gradient(kernel_reader *r, bench_row *b, const bench_conv *v) {
    b->row.time_us = field_us(b->fields, "wrt Inputs");
    if (isnan(b->row.time_us)) return FT_OK; /* not measured: the first layer of a network */
    b->row.op = "ConvTranspose";
    b->row.name = "conv-input-gradient";
    kernel_inputs(&b->row, "Nx%lldx%lldx%lld;%lldx%lldx%lldx%lld:weight", v->k, v->p, v->q, v->k, v->c, v->r, v->s);
    return kernel_add(r, &b->row);
}

/* Channels take the place of the batch; the gradient is the filter, dilated by the stride. */
static ft_status add_weight_gradient(kernel_reader *r, bench_row *b, const bench_conv *v) {
    b->row.time_us = field_us(b->fields, "wrt Parameters");
    if (isnan(b->row.time_us)) return FT_OK;
    b->row.op = "Conv";
    b->row.name = "conv-weight-gradient";
    b->row.batch = v->c;
    kernel_inputs(&b->row, "%lldx%lldx%lldx%lld;%lldx%lldx%lldx%lld", v->c, v->n, v->h, v->w, v->k, v->n, v->p, v->q);
    kernel_attributes(&b->row, "dilations=%lldx%lld;pads=%lldx%lldx%lldx%lld", v->sh, v->sw, v->ph, v->pw, v->ph,
                      v->pw);
    return kernel_add(r, &b->row);
}

static ft_status read_conv(kernel_reader *r, bench_row *b) {
    bench_conv v;
    if (!read_conv_sizes(b->fields, &v)) return skip_size(r);
    b->row.batch = v.n;
    FT_TRY(add_forward(r, b, &v));
    FT_TRY(add_input_gradient(r, b, &v));
    return add_weight_gradient(r, b, &v);
}

/* Forward passes; the input is as wide as the state. */
static ft_status read_recurrent(kernel_reader *r, bench_row *b, const char *op, int gates) {
    long long hidden, steps, n;
    const char *f = b->fields;
    bool has_hidden = field_size(f, "Hidden units", 1, &hidden) || field_size(f, "Input", 1, &hidden);
    if (!has_hidden || !field_size(f, "N", 1, &n) || !field_size(f, "Timesteps", 1, &steps)) return skip_size(r);
    b->row.op = op;
    b->row.name = op;
    b->row.batch = n;
    b->row.time_us = field_us(f, "Time Forward");
    kernel_inputs(&b->row, "%lldxNx%lld;1x%lldx%lld:weight;1x%lldx%lld:weight", steps, hidden, gates * hidden, hidden,
                  gates * hidden, hidden);
    kernel_attributes(&b->row, "hidden_size=%lld", hidden);
    return kernel_add(r, &b->row);
}

static ft_status read_exchange(kernel_reader *r, bench_row *b) {
    long long size, ranks;
    const char *f = b->fields;
    if (!field_size(f, "Size # floats", 1, &size) ||
        (!field_size(f, "# chips / accelerator cards", 1, &ranks) && !field_size(f, "# nodes", 1, &ranks)))
        return skip_size(r);
    b->row.op = "AllReduce";
    b->row.name = "all_reduce";
    b->row.time_us = field_us(f, "Mean All Reduce Time");
    b->row.time_std_us = field_us(f, "Std Dev All Reduce Time");
    kernel_inputs(&b->row, "%lld", size);
    kernel_attributes(&b->row, "group_size=%lld", ranks);
    return kernel_add(r, &b->row);
}

/* --- Rows -------------------------------------------------------------------------------------------------------- */

/* The sheets' names of devices, as their drivers spell them. */
static const char *device_name(const char *name) {
    static const char *const names[][2] = {{"NV_V100", "Tesla V100-SXM2-16GB"},
                                           {"NV_P100", "Tesla P100-PCIE-16GB"},
                                           {"NV_T4", "Tesla T4"},
                                           {"NV_M40", "Tesla M40"},
                                           {"NV_TitanX", "GeForce GTX TITAN X"},
                                           {"NV_TitanX_Pascal", "NVIDIA TITAN X (Pascal)"},
                                           {"NV_TitanXp", "NVIDIA TITAN Xp"},
                                           {"NV_1080Ti", "NVIDIA GeForce GTX 1080 Ti"},
                                           {"AMD_MI25", "AMD Radeon Instinct MI25"},
                                           {"AMD_VegaFE", "AMD Radeon Vega Frontier Edition"},
                                           {"IA_KNL7250", "Intel Xeon Phi 7250"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i][0], name) == 0) return names[i][1];
    return name;
}

static void read_precision(const kernel_reader *r, kernel_row *row) {
    char text[80];
    kernel_text(r, "precision", text, sizeof text);
    row->dtype = strncmp(text, "16 bit", 6) == 0 ? FT_FLOAT16 : strcasestr(text, "int8") != NULL ? FT_INT8 : FT_FLOAT32;
    kernel_setting(row, "layout=nchw;library=%s", row->dtype == FT_INT8 ? "int8" : "vendor");
}

static ft_status read_row(kernel_reader *r) {
    bench_row b = {.row = kernel_row_new()};
    char device[48];
    const csv_field *cell = kernel_cell(r, "fields");
    if (cell->length >= sizeof b.fields) return kernel_skip(r, "the fields are too long");
    kernel_text(r, "fields", b.fields, sizeof b.fields);
    kernel_text(r, "section", b.section, sizeof b.section);
    snprintf(b.device, sizeof b.device, "%s", device_name(kernel_text(r, "device", device, sizeof device)));
    b.row.device = b.device;
    b.row.family = "deepbench";
    read_precision(r, &b.row);
    if (strcmp(b.section, "Dense Matrix Multiplication") == 0) return read_product(r, &b);
    if (strcmp(b.section, "Convolution") == 0) return read_conv(r, &b);
    if (strcmp(b.section, "Recurrent Layers - LSTM") == 0) return read_recurrent(r, &b, "LSTM", 4);
    if (strcmp(b.section, "Recurrent Layers - GRU") == 0) return read_recurrent(r, &b, "GRU", 3);
    if (strcmp(b.section, "Recurrent Layers - Vanilla") == 0) return read_recurrent(r, &b, "RNN", 1);
    if (strcmp(b.section, "All-Reduce") == 0) return read_exchange(r, &b);
    return kernel_skip(r, "products of sparse matrices are not an operator of the table");
}

const kernel_layout deepbench_layouts[] = {{"DeepBench", "phase device sheet precision section fields", read_row},
                                           {NULL, NULL, NULL}};
