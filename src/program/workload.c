/* workload.c - parsing the keys of workloads: names and arguments. Their stages are in workload_build.c. */
#include "program/workload.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_pull.h"

enum { MAX_SIZE = 1 << 30 };

/* Letters for the arguments: sizes b m k n (products), C H W O (images and filters), h w (windows), s stride, p
 * padding, t the kind of pooling, L a list, A an axis or a list of axes, K a boolean; '*': all following numbers are a
 * shape. */
typedef struct definition {
    workload_kind kind;
    const char *name, *arguments;
    bool is_transposed, is_first_transposed;
} definition;

static const definition definitions[] = {
    {WORKLOAD_MATMUL, "matmul_layer", "mkn", false, false},
    {WORKLOAD_MATMUL, "dense_layer", "mkn", true, false},
    {WORKLOAD_BATCH_MATMUL, "batch_matmul_layer", "bCmkn", false, false},
    {WORKLOAD_BATCH_MATMUL, "batch_matmul_nt_layer", "bCmkn", true, false},
    {WORKLOAD_BATCH_MATMUL, "batch_matmul_tn_layer", "bCmkn", false, true},
    {WORKLOAD_BATCH_MATMUL, "batch_matmul_tt_layer", "bCmkn", true, true},
    {WORKLOAD_CONV2D, "conv2d_layer", "bCHWOhwsp", false, false},
    {WORKLOAD_DEPTHWISE, "depthwise_conv2d_layer", "bCHWhwsp", false, false},
    {WORKLOAD_POOL, "pool_layer", "tbCHWhwsp", false, false},
    {WORKLOAD_REDUCTION, "reduction_layer", "LAK", false, false},
    {WORKLOAD_RELU, "relu_layer", "*", false, false},
    {WORKLOAD_TANH, "tanh_layer", "*", false, false},
    {WORKLOAD_SIGMOID, "sigmoid_layer", "*", false, false},
    {WORKLOAD_ADD, "add_layer", "*", false, false},
    {WORKLOAD_MUL, "mul_layer", "*", false, false},
    {WORKLOAD_BIAS, "biasadd_layer", "*", false, false},
    {WORKLOAD_TRANSPOSE, "transpose_layer", "*", false, false},
};

enum { DEFINITIONS = sizeof definitions / sizeof definitions[0] };

int64_t workload_out_height(const workload *w) {
    assert(w->stride > 0);
    return (w->height + w->pad_top + w->pad_bottom - w->kernel_height) / w->stride + 1;
}

int64_t workload_out_width(const workload *w) {
    assert(w->stride > 0);
    return (w->width + w->pad_left + w->pad_right - w->kernel_width) / w->stride + 1;
}

/* --- Arguments ----------------------------------------------------------------------------------------------- */

typedef struct key_parser {
    json_pull pull;
    workload *w;
    const char *name;
    uint32_t number; /* of the argument, from 1 */
    ft_error *error;
} key_parser;

static ft_status wrong(key_parser *r, const char *expected) {
    return ft_fail(r->error, FT_ERR_DAMAGED, "argument %u of workload \"%s\" is not %s", r->number, r->name, expected);
}

static ft_status take_size(key_parser *r, int64_t min, int64_t *size) {
    int64_t found;
    if (json_pull_peek(&r->pull) != '0' || !json_pull_int(&r->pull, &found) || found < min || found > MAX_SIZE)
        return wrong(r, min > 0 ? "a size from 1 to 2^30" : "a number from 0 to 2^30");
    *size = found;
    return FT_OK;
}

/* Top, left, bottom, right. */
static ft_status take_four_paddings(key_parser *r) {
    workload *w = r->w;
    int64_t *const pads[] = {&w->pad_top, &w->pad_left, &w->pad_bottom, &w->pad_right};
    bool first = true;
    uint32_t count = 0;
    json_pull_open(&r->pull, '[');
    while (json_pull_more(&r->pull, ']', &first)) {
        if (count == 4) return wrong(r, "a list of four paddings");
        FT_TRY(take_size(r, 0, pads[count++]));
    }
    return r->pull.why == NULL && count == 4 ? FT_OK : wrong(r, "a list of four paddings");
}

/* As in TensorFlow and TVM: windows stay inside ("VALID"), or there is one per stride ("SAME"), with the larger half of
 * the padding before; or a number for each side. Logs of one device have names, of another numbers. */
static ft_status take_padding(key_parser *r) {
    workload *w = r->w;
    if (json_pull_peek(&r->pull) == '"') {
        json_text name;
        if (!json_pull_string(&r->pull, &name)) return wrong(r, "a padding");
        if (json_text_is(&name, "VALID")) return FT_OK;
        if (!json_text_is(&name, "SAME")) return wrong(r, "\"SAME\", \"VALID\" or a number");
        w->pad_top = w->kernel_height / 2;
        w->pad_bottom = w->kernel_height - 1 - w->pad_top;
        w->pad_left = w->kernel_width / 2;
        w->pad_right = w->kernel_width - 1 - w->pad_left;
        return FT_OK;
    }
    if (json_pull_peek(&r->pull) == '[') return take_four_paddings(r);
    FT_TRY(take_size(r, 0, &w->pad_top));
    w->pad_bottom = w->pad_left = w->pad_right = w->pad_top;
    return FT_OK;
}

static ft_status take_shape(key_parser *r) {
    workload *w = r->w;
    bool first = true;
    if (json_pull_peek(&r->pull) != '[' || !json_pull_open(&r->pull, '[')) return wrong(r, "a list");
    while (json_pull_more(&r->pull, ']', &first)) {
        if (w->dims == PROG_MAX_DIMS) return wrong(r, "a list of up to 8 sizes");
        FT_TRY(take_size(r, 1, &w->shape[w->dims++]));
    }
    return r->pull.why == NULL && w->dims > 0 ? FT_OK : wrong(r, "a list of sizes");
}

static ft_status take_axis(key_parser *r) {
    int64_t axis;
    if (json_pull_peek(&r->pull) != '0' || !json_pull_int(&r->pull, &axis)) return wrong(r, "an axis");
    if (axis < 0) axis += r->w->dims;
    if (axis < 0 || axis >= r->w->dims || r->w->is_reduced[axis]) return wrong(r, "an axis of the shape, once");
    r->w->is_reduced[axis] = true;
    return FT_OK;
}

static ft_status take_axes(key_parser *r) {
    if (json_pull_peek(&r->pull) != '[') return take_axis(r);
    bool first = true;
    json_pull_open(&r->pull, '[');
    while (json_pull_more(&r->pull, ']', &first)) FT_TRY(take_axis(r));
    return r->pull.why == NULL ? FT_OK : wrong(r, "a list of axes");
}

static ft_status take_pool(key_parser *r) {
    json_text name;
    if (json_pull_peek(&r->pull) != '"' || !json_pull_string(&r->pull, &name)) return wrong(r, "\"avg\" or \"max\"");
    r->w->is_average = json_text_is(&name, "avg");
    return r->w->is_average || json_text_is(&name, "max") ? FT_OK : wrong(r, "\"avg\" or \"max\"");
}

static ft_status take_boolean(key_parser *r) {
    char next = json_pull_peek(&r->pull);
    int64_t number = 0;
    if (next == '0') {
        if (!json_pull_int(&r->pull, &number)) return wrong(r, "true or false");
    } else if ((next != 't' && next != 'f') || !json_pull_skip(&r->pull)) {
        return wrong(r, "true or false");
    }
    r->w->keeps_dims = next == 't' || number != 0;
    return FT_OK;
}

static ft_status take_argument(key_parser *r, char what) {
    workload *w = r->w;
    switch (what) {
    case 'b':
        return take_size(r, 1, &w->batch);
    case 'm':
        return take_size(r, 1, &w->m);
    case 'k':
        return take_size(r, 1, &w->k);
    case 'n':
        return take_size(r, 1, &w->n);
    case 'C':
        return take_size(r, 1, &w->channels);
    case 'H':
        return take_size(r, 1, &w->height);
    case 'W':
        return take_size(r, 1, &w->width);
    case 'O':
        return take_size(r, 1, &w->out_channels);
    case 'h':
        return take_size(r, 1, &w->kernel_height);
    case 'w':
        return take_size(r, 1, &w->kernel_width);
    case 's':
        return take_size(r, 1, &w->stride);
    case 'p':
        return take_padding(r);
    case 't':
        return take_pool(r);
    case 'L':
        return take_shape(r);
    case 'A':
        return take_axes(r);
    default:
        return take_boolean(r);
    }
}

static ft_status take_arguments(key_parser *r, const char *arguments) {
    bool first = false; /* the name was read */
    if (arguments[0] == '*') {
        while (json_pull_more(&r->pull, ']', &first)) {
            r->number++;
            if (r->w->dims == PROG_MAX_DIMS) return wrong(r, "one of up to 8 sizes");
            FT_TRY(take_size(r, 1, &r->w->shape[r->w->dims++]));
        }
        return r->pull.why == NULL && r->w->dims > 0 ? FT_OK : wrong(r, "a size");
    }
    for (const char *what = arguments; *what != '\0'; what++) {
        r->number++;
        if (!json_pull_more(&r->pull, ']', &first)) return wrong(r, "there");
        FT_TRY(take_argument(r, *what));
    }
    r->number++;
    return !json_pull_more(&r->pull, ']', &first) && r->pull.why == NULL
               ? FT_OK
               : wrong(r, "known: there are too many arguments");
}

/* --- Keys ---------------------------------------------------------------------------------------------------- */

static ft_status unknown(const json_text *name, ft_error *error) {
    bool is_hash = name->length == 32;
    for (size_t i = 0; i < name->length; i++) is_hash &= strchr("0123456789abcdef", name->text[i]) != NULL;
    if (is_hash)
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "the workload is the hash of a graph (%.32s), which the log does not contain", name->text);
    char known[400];
    size_t length = 0;
    for (int i = 0; i < DEFINITIONS && length < sizeof known; i++)
        length +=
            (size_t)snprintf(known + length, sizeof known - length, "%s%s", i == 0 ? "" : ", ", definitions[i].name);
    return ft_fail(error, FT_ERR_UNSUPPORTED, "unknown workload \"%.*s\"; supported are %s",
                   name->length < 60 ? (int)name->length : 60, name->text, known);
}

static ft_status check_sizes(const workload *w, ft_error *error) {
    const char *name = w->name;
    if (w->stride > 0 && (w->height + w->pad_top + w->pad_bottom < w->kernel_height ||
                          w->width + w->pad_left + w->pad_right < w->kernel_width))
        return ft_fail(error, FT_ERR_DAMAGED, "workload \"%s\": the window is larger than the image", name);
    if (w->kind == WORKLOAD_BIAS && w->dims != 2)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "workload \"%s\" has %u dimensions; only 2 are supported", name,
                       w->dims);
    if (w->kind == WORKLOAD_REDUCTION) {
        uint32_t reduced = 0;
        for (uint32_t i = 0; i < w->dims; i++) reduced += w->is_reduced[i];
        if (reduced == 0) return ft_fail(error, FT_ERR_DAMAGED, "workload \"%s\" reduces no axis", name);
    }
    double max = 1;
    for (uint32_t i = 0; i < w->dims; i++) max *= (double)w->shape[i];
    double image = (double)w->batch * (double)(w->height + w->pad_top + w->pad_bottom) *
                   (double)(w->width + w->pad_left + w->pad_right);
    double sizes[] = {max,
                      (double)w->m * (double)w->n,
                      (double)w->m * (double)w->k * (w->batch > 0 ? (double)w->batch * (double)w->channels : 1),
                      (double)w->n * (double)w->k * (w->batch > 0 ? (double)w->batch * (double)w->channels : 1),
                      (double)w->m * (double)w->n * (w->batch > 0 ? (double)w->batch * (double)w->channels : 1),
                      image * (double)w->channels,
                      image * (double)w->out_channels,
                      (double)w->channels * (double)w->out_channels * (double)w->kernel_height *
                          (double)w->kernel_width};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i] > 1e13)
            return ft_fail(error, FT_ERR_LIMIT, "workload \"%s\" has a tensor of more than 1e13 values", name);
    }
    return FT_OK;
}

ft_status workload_parse(const char *key, const char *fused, workload *w, ft_error *error) {
    *w = (workload){0};
    key_parser r = {.w = w, .error = error};
    json_text name;
    bool first = true;
    json_pull_init(&r.pull, key, strlen(key));
    if (!json_pull_open(&r.pull, '[') || !json_pull_more(&r.pull, ']', &first) || !json_pull_string(&r.pull, &name))
        return ft_fail(error, FT_ERR_DAMAGED, "the workload \"%.60s\" is not a list that begins with a name", key);
    const definition *d = definitions;
    while (d < definitions + DEFINITIONS && !json_text_is(&name, d->name)) d++;
    if (d == definitions + DEFINITIONS) return unknown(&name, error);
    w->kind = d->kind;
    w->is_transposed = d->is_transposed;
    w->is_first_transposed = d->is_first_transposed;
    w->name = r.name = d->name;
    FT_TRY(take_arguments(&r, d->arguments));
    if (!json_pull_end(&r.pull)) return wrong(&r, "the end of the list");
    w->has_add = strncmp(fused, "_add", 4) == 0;
    const char *rest = fused + (w->has_add ? 4 : 0);
    w->has_relu = strcmp(rest, "_relu") == 0;
    if (!w->has_relu && rest[0] != '\0')
        return ft_fail(error, FT_ERR_UNSUPPORTED, "unknown epilogue \"%.40s\"; supported are _add, _relu and _add_relu",
                       fused);
    return check_sizes(w, error);
}
