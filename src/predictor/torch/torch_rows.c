/* torch_rows.c - computes terms and features of a kernel per image. */
#include "predictor/torch/torch_rows.h"

#include <assert.h>
#include <math.h>

const bool torch_term_scales[TORCH_TERMS] = {
#define TORCH_TERM_SCALES(name, scales, text) scales,
    TORCH_TERM_LIST(TORCH_TERM_SCALES)
#undef TORCH_TERM_SCALES
};

static float log_of(double amount) {
    return amount > 1 ? (float)log2(amount) : 0;
}

/* Lanes are powers of two. Most channels fill them, and this check is faster than a logarithm. */
static bool fills(double channels, double lanes) {
    static const double LARGEST = 1e15;
    double times = channels / lanes;
    return times < LARGEST && times == (double)(int64_t)times;
}

/* Log2 of the work with channels padded to a multiple of `lanes`, over the work without. */
static float padding(double channels, double lanes) {
    if (channels < 1 || fills(channels, lanes)) return 0;
    return (float)log2(ceil(channels / lanes) * lanes / channels);
}

/* Log2 of the largest power of two that divides a number of channels, at most 12. Rows of a matrix a multiple of a page
 * apart compete for the same cache sets of a CPU: products with 768 channels are faster than with 1024. */
static float evenness(double channels) {
    static const uint32_t PAGE = 12;
    uint64_t size = channels >= 1 && channels < 1e15 ? (uint64_t)channels : 1;
    uint32_t power = 0;
    while (power < PAGE && size % 2 == 0) {
        size /= 2;
        power++;
    }
    return (float)power;
}

static float share(double part, double whole) {
    return whole > 0 ? (float)(part / whole) : 0;
}

/* Bytes that a kernel moves per image; weights: per batch. */
typedef struct traffic {
    double read, write, cast, weights;
} traffic;

/* All float32 measurements are of CPUs, so features that only concern CPUs are set in that type only. */
static bool is_plain32(torch_precision precision) {
    return !precision.is_mixed && precision.bytes == 4;
}

static double weights_of(const torch_kernel *k, torch_precision precision) {
    return k->weights + (is_plain32(precision) ? k->made : 0);
}

static traffic traffic_of(const torch_kernel *k, double batch, torch_precision precision) {
    if (!precision.is_mixed) {
        double bytes = precision.bytes;
        return (traffic){.read = bytes * (k->read16 + k->read32) / batch,
                         .write = bytes * (k->write16 + k->write32) / batch,
                         .weights = bytes * weights_of(k, precision)};
    }
    /* A cast reads one type and writes the other; weights are cast in every step. */
    return (traffic){.read = (2 * k->read16 + 4 * k->read32) / batch,
                     .write = (2 * k->write16 + 4 * k->write32) / batch,
                     .cast = 6 * k->cast / batch,
                     .weights = 6 * k->weights};
}

static void set_terms(const torch_kernel *k, double batch, const traffic *bytes, float terms[static TORCH_TERMS]) {
    torch_term product = k->kind == TORCH_DEPTHWISE   ? TORCH_VECTOR_PRODUCTS
                         : k->kind == TORCH_ATTENTION ? TORCH_ATTENDED
                                                      : TORCH_PRODUCTS;
    terms[TORCH_LAUNCHES] = (float)k->launches;
    terms[product] = (float)(k->macs / batch);
    terms[TORCH_SCORES] = (float)(k->scores / batch);
    terms[TORCH_MOVED] = (float)(bytes->read + bytes->write);
    terms[TORCH_CASTS] = (float)bytes->cast;
    terms[TORCH_WEIGHTS] = (float)bytes->weights;
    terms[TORCH_FLOPS] = (float)(k->flops / batch);
    terms[TORCH_SERIAL] = (float)(k->serial / batch);
}

static void set_sizes(const torch_kernel *k, double batch, torch_precision precision, const traffic *bytes,
                      float *sizes) {
    double moved = bytes->read + bytes->write, macs = k->macs / batch;
    double wide = 4 * (k->read32 + k->write32), narrow = 2 * (k->read16 + k->write16);
    uint32_t n = 0;
    const double logs[] = {k->depth,       k->columns,      k->groups, k->height, k->width,
                           k->in_channels, k->out_channels, k->window, k->stride, k->reduced};
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) sizes[n++] = log_of(logs[i]);
    sizes[n++] = (float)k->inputs;
    float log_moved = log_of(moved), log_macs = log_of(macs);
    sizes[n++] = log_moved;
    sizes[n++] = log_macs;
    sizes[n++] = log_of((k->write16 + k->write32) / batch);
    sizes[n++] = log_macs - log_moved;
    sizes[n++] = log_of(k->weights);
    sizes[n++] = log_of(k->flops / batch);
    sizes[n++] = precision.is_mixed ? share(wide, wide + narrow) : precision.bytes == 4;
    sizes[n++] = fminf(share(bytes->cast, fmax(moved, 1)), 4);
    sizes[n++] = share(bytes->read - bytes->write, fmax(moved, 1));
    double group_channels = k->groups > 0 ? k->in_channels / k->groups : k->in_channels;
    static const double lanes[] = {8, 32, 64, 128};
    for (size_t i = 0; i < 3; i++) sizes[n++] = padding(group_channels, lanes[i]);
    for (size_t i = 0; i < 4; i++) sizes[n++] = padding(k->columns, lanes[i]);
    sizes[n++] = !fills(k->in_channels, 8);
    sizes[n++] = !fills(k->out_channels, 8);
    bool has_channels = k->kind != TORCH_ATTENTION; /* columns of its products are tokens, in tiles */
    sizes[n++] = has_channels ? evenness(k->in_channels) : 0;
    sizes[n++] = has_channels ? evenness(k->out_channels) : 0;
    assert(n == TORCH_SIZES);
}

void torch_row_of(const torch_kernel *kernel, double batch, torch_precision precision, torch_row *row) {
    traffic bytes = traffic_of(kernel, batch, precision);
    assert(batch > 0 && kernel->kind < TORCH_KINDS);
    *row = (torch_row){0};
    set_terms(kernel, batch, &bytes, row->terms);
    set_sizes(kernel, batch, precision, &bytes, row->features);
    if (is_plain32(precision)) {
        row->made = (float)(precision.bytes * kernel->made);
        row->scalar = (float)(kernel->scalar / batch);
    }
    row->features[TORCH_FLAG_KIND + kernel->kind] = 1;
    for (uint32_t i = 0; i < TORCH_KINDS; i++)
        row->features[TORCH_FLAG_HOLDS + i] = i != kernel->kind && (kernel->holds >> i & 1U) != 0;
    row->features[TORCH_FLAG_STRIDED] = kernel->is_strided;
    row->features[TORCH_FLAG_DEEP] = kernel->is_deep;
}
