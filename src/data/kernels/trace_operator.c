/* trace_operator.c - rules from operators of PyTorch to operators of ONNX. */
#include "data/kernels/trace_operator.h"

#include <stdio.h>
#include <string.h>

#include "data/kernels/trace_call.h"

/* --- Rules --------------------------------------------------------------------------------------------------- */

typedef struct rule rule;
struct rule {
    const char *aten;
    const char *(*read)(call *c, const rule *r); /* NULL, or why the call cannot be used */
    const char *op;
    int first, second; /* arguments that the rule reads; -1: none */
};

static bool is_same(const call_input *a, const call_input *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

static const char no_shape[] = "the shapes of an operator are not recorded";

/* rows x k by k x columns, with a bias or not. */
static const char *read_product(call *c, const rule *r) {
    const call_input *a = &c->inputs[r->first], *b = &c->inputs[r->second];
    if (a->rank != 2 || b->rank != 2) return no_shape;
    c->row->batch = a->dims[0];
    trace_put_shape(c->row, a, true, "");
    trace_put_shape(c->row, b, false, r->first > 0 ? ":weight" : "");
    if (r->first == 0) return NULL;
    call_input bias = {.rank = 1, .dims = {b->dims[1]}};
    trace_put_shape(c->row, &bias, false, ":weight");
    return NULL;
}

/* Rows in any number of dimensions, and a weight columns x k. */
static const char *read_linear(call *c, const rule *r) {
    call_input rows = {.rank = 2, .dims = {1}};
    const call_input *x = &c->inputs[r->first], *weight = &c->inputs[r->second];
    if (x->rank < 2 || weight->rank != 2) return no_shape;
    for (int i = 0; i + 1 < x->rank; i++)
        if (__builtin_mul_overflow(rows.dims[0], x->dims[i], &rows.dims[0])) return no_shape;
    rows.dims[1] = x->dims[x->rank - 1];
    c->row->batch = rows.dims[0];
    trace_put_shape(c->row, &rows, true, "");
    trace_put_shape(c->row, weight, false, ":weight");
    if (c->inputs[2].rank == 1) trace_put_shape(c->row, &c->inputs[2], false, ":weight");
    kernel_attributes(c->row, "transB=1");
    return NULL;
}

static const char *read_batched(call *c, const rule *r) {
    const call_input *a = &c->inputs[r->first], *b = &c->inputs[r->second];
    if (a->rank != 3 || b->rank != 3) return no_shape;
    c->row->batch = a->dims[0];
    trace_put_shape(c->row, a, true, "");
    trace_put_shape(c->row, b, true, "");
    return NULL;
}

/* One tensor, or two of which the second may be a scalar or be spread over the first. */
static const char *read_elementwise(call *c, const rule *r) {
    const call_input *a = &c->inputs[0], *b = &c->inputs[1];
    if (a->rank == 0) return no_shape;
    c->row->batch = a->dims[0];
    trace_put_shape(c->row, a, true, "");
    if (r->second < 0) return NULL;
    if (b->rank > a->rank) return "the second operand is larger than the first";
    if (b->rank == 0)
        snprintf(c->row->inputs + strlen(c->row->inputs), sizeof c->row->inputs - strlen(c->row->inputs), ";1:weight");
    else
        trace_put_shape(c->row, b, is_same(a, b), is_same(a, b) ? "" : ":weight");
    return NULL;
}

static const char *read_softmax(call *c, const rule *r) {
    int64_t axis[CALL_MAX_LIST] = {-1};
    const call_input *x = &c->inputs[r->first];
    if (x->rank == 0) return no_shape;
    trace_call_numbers(c, 1, axis);
    c->row->batch = x->dims[0];
    trace_put_shape(c->row, x, true, "");
    kernel_attributes(c->row, "axis=%lld", (long long)axis[0]);
    return NULL;
}

/* layer_norm(input, normalized_shape, weight, bias): over the last dimension. */
static const char *read_layer_norm(call *c, const rule *r) {
    const call_input *x = &c->inputs[r->first], *weight = &c->inputs[r->second];
    if (x->rank == 0 || weight->rank != 1) return no_shape;
    c->row->batch = x->dims[0];
    trace_put_shape(c->row, x, x->rank > 1, "");
    trace_put_shape(c->row, weight, false, ":weight");
    if (c->inputs[r->second + 1].rank == 1) trace_put_shape(c->row, &c->inputs[r->second + 1], false, ":weight");
    kernel_attributes(c->row, "axis=-1");
    return NULL;
}

/* With the statistics of the batch where the profiler recorded that, or a step that trains. */
static const char *read_batch_norm(call *c, const rule *r) {
    const call_input *x = &c->inputs[r->first];
    if (x->rank < 2) return no_shape;
    for (int i = 1; i < 5; i++)
        if (c->inputs[i].rank != 1) return no_shape;
    c->row->batch = x->dims[0];
    trace_put_shape(c->row, x, true, "");
    for (int i = 1; i < 5; i++) trace_put_shape(c->row, &c->inputs[i], false, ":weight");
    return NULL;
}

static const char *read_pool_all(call *c, const rule *r) {
    const call_input *x = &c->inputs[r->first];
    int64_t size[CALL_MAX_LIST] = {0};
    if (x->rank != 4) return no_shape;
    int count = trace_call_numbers(c, 1, size);
    for (int i = 0; i < count; i++)
        if (size[i] != 1) return "an adaptive pool to a size other than 1";
    c->row->batch = x->dims[0];
    trace_put_shape(c->row, x, true, "");
    return NULL;
}

/* embedding(weight, indices). */
static const char *read_embedding(call *c, const rule *r) {
    const call_input *table = &c->inputs[r->first], *rows = &c->inputs[r->second];
    if (table->rank != 2 || rows->rank == 0) return no_shape;
    c->row->batch = rows->dims[0];
    trace_put_shape(c->row, table, false, ":weight");
    trace_put_shape(c->row, rows, true, ":int64");
    kernel_attributes(c->row, "axis=0");
    return NULL;
}

/* Queries, keys and values of batch x heads x positions x width. */
static const char *read_attention(call *c, const rule *r) {
    const json_text causal = trace_call_text(c, 5);
    for (int i = 0; i < 3; i++)
        if (c->inputs[r->first + i].rank != 4) return no_shape;
    c->row->batch = c->inputs[r->first].dims[0];
    for (int i = 0; i < 3; i++) trace_put_shape(c->row, &c->inputs[r->first + i], true, "");
    kernel_attributes(c->row, "is_causal=%d", json_text_is(&causal, "True"));
    return NULL;
}

/* --- Convolutions -------------------------------------------------------------------------------------------- */

typedef struct window {
    int64_t strides[2], pads[2], dilations[2];
} window;

/* The result of a convolution is read by the operator that its thread begins next. */
static bool find_result(const call *c, int64_t channels, call_input *result) {
    enum { MAX_AHEAD = 64 };
    uint32_t from = c->order->positions[c->index];
    for (uint32_t i = from + 1; i < c->order->count && i < from + MAX_AHEAD; i++) {
        uint32_t at = c->order->events[i];
        const trace_event *e = &c->t->events[at];
        if (e->lane != c->event->lane) return false;
        if (e->start_ns < trace_end_ns(c->event)) continue; /* inside the convolution */
        call next = {.t = c->t, .event = e};
        trace_call_read(&next);
        for (int k = 0; k < next.count; k++) {
            if (next.inputs[k].rank != 4 || next.inputs[k].dims[0] != c->inputs[0].dims[0] ||
                next.inputs[k].dims[1] != channels)
                continue;
            *result = next.inputs[k];
            return true;
        }
    }
    return false;
}

/* Strides and padding that give the size of the result: half of the kernel as padding where that is possible. */
static bool infer_window(const call_input *x, const call_input *kernel, const call_input *y, window *w) {
    for (int i = 0; i < 2; i++) {
        int64_t in = x->dims[2 + i], k = kernel->dims[2 + i], out = y->dims[2 + i];
        const int64_t choices[] = {(k - 1) / 2, 0};
        bool is_found = false;
        w->dilations[i] = 1;
        for (int n = 0; n < 2 && !is_found; n++) {
            for (int64_t s = 1; s <= 32 && !is_found; s++) {
                if (in + 2 * choices[n] < k || (in + 2 * choices[n] - k) / s + 1 != out) continue;
                w->strides[i] = s;
                w->pads[i] = choices[n];
                is_found = true;
            }
        }
        if (!is_found) return false;
    }
    return true;
}

static void set_pair(const int64_t *list, int count, int64_t pair[static 2]) {
    pair[0] = list[0];
    pair[1] = count > 1 ? list[1] : list[0];
}

/* conv2d(input, weight, bias, stride, padding, dilation, groups); convolution(...) has `transposed` before groups. */
static bool find_window(const call *c, window *w) {
    int64_t list[CALL_MAX_LIST];
    call_input result;
    int count = trace_call_numbers(c, 3, list);
    if (count > 0) {
        set_pair(list, count, w->strides);
        count = trace_call_numbers(c, 4, list);
        if (count == 0) return false; /* "same" */
        set_pair(list, count, w->pads);
        count = trace_call_numbers(c, 5, list);
        if (count == 0) return false;
        set_pair(list, count, w->dilations);
        return true;
    }
    return find_result(c, c->inputs[1].dims[0], &result) && infer_window(&c->inputs[0], &c->inputs[1], &result, w);
}

static const char *read_conv(call *c, const rule *r) {
    const call_input *x = &c->inputs[r->first], *kernel = &c->inputs[r->second];
    window w;
    if (x->rank != 4 || kernel->rank != 4 || x->dims[1] % kernel->dims[1] != 0) return no_shape;
    if (!find_window(c, &w)) return "the strides of a convolution are not recorded and cannot be inferred";
    c->row->batch = x->dims[0];
    trace_put_shape(c->row, x, true, "");
    trace_put_shape(c->row, kernel, false, ":weight");
    if (c->inputs[2].rank == 1) trace_put_shape(c->row, &c->inputs[2], false, ":weight");
    kernel_attributes(c->row, "strides=%lldx%lld;pads=%lldx%lldx%lldx%lld;dilations=%lldx%lld;group=%lld",
                      (long long)w.strides[0], (long long)w.strides[1], (long long)w.pads[0], (long long)w.pads[1],
                      (long long)w.pads[0], (long long)w.pads[1], (long long)w.dilations[0], (long long)w.dilations[1],
                      (long long)(x->dims[1] / kernel->dims[1]));
    return NULL;
}

/* Gradients inside aten::cudnn_convolution_backward(input, gradient, weight), which has all three shapes. */
static const char *read_conv_gradient(call *c, const rule *r) {
    if (c->event->parent == FT_NONE) return no_shape;
    const trace_event *around = &c->t->events[c->event->parent];
    call whole = {.t = c->t, .event = around};
    window w;
    trace_call_read(&whole);
    const call_input *x = &whole.inputs[0], *gradient = &whole.inputs[1], *kernel = &whole.inputs[2];
    bool is_known = strstr(c->t->names[around->name], "convolution_backward") != NULL && x->rank == 4 &&
                    gradient->rank == 4 && kernel->rank == 4 && infer_window(x, kernel, gradient, &w);
    if (!is_known) return no_shape;
    bool is_input = strcmp(r->op, "ConvTranspose") == 0;
    if (x->dims[1] != kernel->dims[1]) return "the gradient of a grouped convolution";
    c->row->name = is_input ? "conv-input-gradient" : "conv-weight-gradient";
    if (is_input) {
        c->row->batch = gradient->dims[0];
        trace_put_shape(c->row, gradient, true, "");
        trace_put_shape(c->row, kernel, false, ":weight");
        kernel_attributes(c->row, "strides=%lldx%lld;pads=%lldx%lldx%lldx%lld", (long long)w.strides[0],
                          (long long)w.strides[1], (long long)w.pads[0], (long long)w.pads[1], (long long)w.pads[0],
                          (long long)w.pads[1]);
        return NULL;
    }
    c->row->batch = x->dims[1]; /* channels take the place of the batch; the gradient is the filter */
    const call_input swapped = {.rank = 4, .dims = {x->dims[1], x->dims[0], x->dims[2], x->dims[3]}};
    const call_input filter = {.rank = 4,
                               .dims = {gradient->dims[1], gradient->dims[0], gradient->dims[2], gradient->dims[3]}};
    trace_put_shape(c->row, &swapped, false, "");
    trace_put_shape(c->row, &filter, false, "");
    kernel_attributes(c->row, "dilations=%lldx%lld;pads=%lldx%lldx%lldx%lld", (long long)w.strides[0],
                      (long long)w.strides[1], (long long)w.pads[0], (long long)w.pads[1], (long long)w.pads[0],
                      (long long)w.pads[1]);
    return NULL;
}

/* --- Table --------------------------------------------------------------------------------------------------- */

static const rule rules[] = {
    {"aten::conv2d", read_conv, "Conv", 0, 1},
    {"aten::cudnn_convolution_backward_input", read_conv_gradient, "ConvTranspose", 0, 0},
    {"aten::cudnn_convolution_backward_weight", read_conv_gradient, "Conv", 0, 0},
    {"aten::linear", read_linear, "Gemm", 0, 1},
    {"aten::addmm", read_product, "Gemm", 1, 2},
    {"aten::mm", read_product, "MatMul", 0, 1},
    {"aten::bmm", read_batched, "MatMul", 0, 1},
    {"aten::scaled_dot_product_attention", read_attention, "Attention", 0, 0},
    {"aten::batch_norm", read_batch_norm, "BatchNormalization", 0, 0},
    {"aten::layer_norm", read_layer_norm, "LayerNormalization", 0, 2},
    {"aten::softmax", read_softmax, "Softmax", 0, 0},
    {"aten::_softmax", read_softmax, "Softmax", 0, 0},
    {"aten::log_softmax", read_softmax, "LogSoftmax", 0, 0},
    {"aten::_log_softmax", read_softmax, "LogSoftmax", 0, 0},
    {"aten::embedding", read_embedding, "Gather", 0, 1},
    {"aten::adaptive_avg_pool2d", read_pool_all, "GlobalAveragePool", 0, 0},
    {"aten::relu", read_elementwise, "Relu", 0, -1},
    {"aten::relu_", read_elementwise, "Relu", 0, -1},
    {"aten::clamp_min", read_elementwise, "Relu", 0, -1},
    {"aten::clamp_min_", read_elementwise, "Relu", 0, -1},
    {"aten::sigmoid", read_elementwise, "Sigmoid", 0, -1},
    {"aten::tanh", read_elementwise, "Tanh", 0, -1},
    {"aten::gelu", read_elementwise, "Gelu", 0, -1},
    {"aten::hardswish", read_elementwise, "HardSwish", 0, -1},
    {"aten::hardswish_", read_elementwise, "HardSwish", 0, -1},
    {"aten::exp", read_elementwise, "Exp", 0, -1},
    {"aten::sqrt", read_elementwise, "Sqrt", 0, -1},
    {"aten::add", read_elementwise, "Add", 0, 1},
    {"aten::add_", read_elementwise, "Add", 0, 1},
    {"aten::sub", read_elementwise, "Sub", 0, 1},
    {"aten::sub_", read_elementwise, "Sub", 0, 1},
    {"aten::mul", read_elementwise, "Mul", 0, 1},
    {"aten::mul_", read_elementwise, "Mul", 0, 1},
    {"aten::div", read_elementwise, "Div", 0, 1},
    {"aten::div_", read_elementwise, "Div", 0, 1},
    {"aten::pow", read_elementwise, "Pow", 0, 1},
};

static const rule *find_rule(const char *name) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].aten, name) == 0) return &rules[i];
    return NULL;
}

bool trace_operator_is_known(const char *name) {
    return find_rule(name) != NULL;
}

bool trace_operator_read(const ft_trace *t, const trace_order *order, uint32_t event, kernel_row *row,
                         const char **why) {
    call c = {.t = t, .order = order, .event = &t->events[event], .index = event, .row = row};
    const rule *r = find_rule(t->names[c.event->name]);
    *why = r == NULL ? "an operator without a rule" : c.event->shapes.length == 0 ? no_shape : NULL;
    if (r == NULL || *why != NULL) return false;
    trace_call_read(&c);
    row->op = r->op;
    row->name = r->aten;
    const call_input *typed = &c.inputs[strstr(r->aten, "_backward_") != NULL ? 1 : r->first];
    row->dtype = typed->dtype;
    *why = typed->has_type ? r->read(&c, r) : "the type of an operator is not recorded";
    return *why == NULL;
}
