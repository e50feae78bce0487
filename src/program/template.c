/* template.c - records of AutoTVM as programs: arguments become a workload, knobs become lengths, tables become
 * steps. */
#include "program/template.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json_pull.h"
#include "program/workload.h"

typedef struct template_context {
    const schedule_template *t;
    const autotvm_record *tuned;
    ansor_record *record;
    workload work;
    ft_error *error;
} template_context;

static ft_status fail(const template_context *a, ft_status status, const char *format, ...) FT_PRINTF(3, 4);
static ft_status fail(const template_context *a, ft_status status, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return ft_fail(a->error, status, "template %s: %s", a->t->name, text);
}

/* As in base/error.h: shows the static analyser that a failure never returns FT_OK. */
#ifdef __clang_analyzer__
#define fail(a, status, ...) ((void)(fail)((a), (status), __VA_ARGS__), (status))
#endif

/* --- Arguments ----------------------------------------------------------------------------------------------- */

typedef struct tensor_shape {
    int64_t sizes[4];
    uint32_t dims;
} tensor_shape;

static ft_status wrong(const template_context *a, int number, const char *expected) {
    return fail(a, FT_ERR_DAMAGED, "argument %d is not %s", number, expected);
}

/* A list of up to four integers, or a single one. */
static bool take_numbers(json_pull *pull, int64_t *numbers, uint32_t *count) {
    bool first = true;
    *count = 0;
    if (json_pull_peek(pull) == '0') return json_pull_int(pull, &numbers[(*count)++]);
    if (json_pull_peek(pull) != '[' || !json_pull_open(pull, '[')) return false;
    while (json_pull_more(pull, ']', &first)) {
        if (*count == 4 || json_pull_peek(pull) != '0' || !json_pull_int(pull, &numbers[(*count)++])) return false;
    }
    return pull->why == NULL;
}

/* ["TENSOR", [1, 64, 56, 56], "float32"] */
static ft_status take_tensor(const template_context *a, json_pull *pull, int number, uint32_t dims,
                             tensor_shape *shape) {
    json_text word;
    bool first = true;
    if (json_pull_peek(pull) != '[' || !json_pull_open(pull, '[') || !json_pull_more(pull, ']', &first) ||
        json_pull_peek(pull) != '"' || !json_pull_string(pull, &word) || !json_text_is(&word, "TENSOR") ||
        !json_pull_more(pull, ']', &first) || !take_numbers(pull, shape->sizes, &shape->dims) || shape->dims != dims ||
        !json_pull_more(pull, ']', &first) || json_pull_peek(pull) != '"' || !json_pull_string(pull, &word))
        return fail(a, FT_ERR_DAMAGED, "argument %d is not a tensor of %u dimensions", number, dims);
    if (!json_text_is(&word, "float32"))
        return fail(a, FT_ERR_UNSUPPORTED, "argument %d is of type %.*s; only float32 is supported", number,
                    word.length < 20 ? (int)word.length : 20, word.text);
    return json_pull_more(pull, ']', &first) || pull->why != NULL ? wrong(a, number, "a tensor") : FT_OK;
}

/* Strides and dilations, equal in both directions. */
static ft_status take_pair(const template_context *a, json_pull *pull, int number, const char *what, int64_t *value) {
    int64_t numbers[4] = {0};
    uint32_t count;
    if (!take_numbers(pull, numbers, &count) || count < 1 || count > 2) return wrong(a, number, what);
    if (count == 2 && numbers[0] != numbers[1])
        return fail(a, FT_ERR_UNSUPPORTED, "%s is %lld by %lld; only equal values are supported", what,
                    (long long)numbers[0], (long long)numbers[1]);
    *value = numbers[0];
    return FT_OK;
}

/* One number, (top and bottom, left and right), or top, left, bottom, right. */
static ft_status take_padding(const template_context *a, json_pull *pull, int number, int64_t pads[static 4]) {
    uint32_t count;
    if (!take_numbers(pull, pads, &count) || count == 0 || count == 3) return wrong(a, number, "a padding");
    if (count == 1) pads[1] = pads[0];
    if (count < 4) {
        pads[2] = pads[0];
        pads[3] = pads[1];
    }
    return FT_OK;
}

/* Copies a text into the record. */
static ft_status keep(const template_context *a, const char *text, const char **kept) {
    ansor_record *record = a->record;
    size_t length = strlen(text);
    if (length >= ANSOR_MAX_TEXT - record->text_length)
        return fail(a, FT_ERR_LIMIT, "its strings have more than %d bytes", ANSOR_MAX_TEXT);
    *kept = memcpy(record->text + record->text_length, text, length + 1);
    record->text_length += length + 1;
    return FT_OK;
}

static ft_status windows_key(const template_context *a, json_pull *pull, bool *first, const tensor_shape *x,
                             const tensor_shape *w, char key[static 256]) {
    int64_t stride = 0, dilation = 0, pads[4] = {0};
    const int64_t *s = x->sizes, *f = w->sizes;
    bool is_conv = a->t->shape == TEMPLATE_CONV2D;
    if (!json_pull_more(pull, ']', first)) return wrong(a, 3, "there");
    FT_TRY(take_pair(a, pull, 3, "the stride", &stride));
    if (!json_pull_more(pull, ']', first)) return wrong(a, 4, "there");
    FT_TRY(take_padding(a, pull, 4, pads));
    if (!json_pull_more(pull, ']', first)) return wrong(a, 5, "there");
    FT_TRY(take_pair(a, pull, 5, "the dilation", &dilation));
    if (dilation != 1) return fail(a, FT_ERR_UNSUPPORTED, "a dilation of %lld is not supported", (long long)dilation);
    if (is_conv && f[1] != s[1])
        return fail(a, FT_ERR_UNSUPPORTED, "filters of %lld channels over %lld are not supported", (long long)f[1],
                    (long long)s[1]);
    if (!is_conv && (f[0] != s[1] || f[1] != 1))
        return fail(a, FT_ERR_UNSUPPORTED, "only one filter per channel is supported");
    int length = snprintf(key, 256, "[\"%s\",%lld,%lld,%lld,%lld,", is_conv ? "conv2d_layer" : "depthwise_conv2d_layer",
                          (long long)s[0], (long long)s[1], (long long)s[2], (long long)s[3]);
    if (is_conv) length += snprintf(key + length, 256 - (size_t)length, "%lld,", (long long)f[0]);
    length += snprintf(key + length, 256 - (size_t)length, "%lld,%lld,%lld,", (long long)f[2], (long long)f[3],
                       (long long)stride);
    bool is_even = pads[0] == pads[1] && pads[0] == pads[2] && pads[0] == pads[3];
    snprintf(key + length, 256 - (size_t)length, is_even ? "%lld]" : "[%lld,%lld,%lld,%lld]]", (long long)pads[0],
             (long long)pads[1], (long long)pads[2], (long long)pads[3]);
    return FT_OK;
}

/* true or false, as JSON has them or as numbers. */
static bool take_flag(json_pull *pull, bool *flag) {
    int64_t number;
    char next = json_pull_peek(pull);
    *flag = next == 't';
    if (next == 't' || next == 'f') return json_pull_skip(pull);
    if (next != '0' || !json_pull_int(pull, &number) || number < 0 || number > 1) return false;
    *flag = number == 1;
    return true;
}

/* The arguments after the tensors of a product: a bias, or the shape of the result; its type; flags, whether a factor
 * is stored transposed. */
static ft_status take_rest(const template_context *a, json_pull *pull, bool *first, bool transposed[static 2]) {
    bool is_batched = a->t->shape == TEMPLATE_BATCH_MATMUL;
    for (int number = 3; json_pull_more(pull, ']', first); number++) {
        char next = json_pull_peek(pull);
        json_text type;
        if (!is_batched && number == 3 && next != 'n') return fail(a, FT_ERR_UNSUPPORTED, "a bias is not supported");
        if (number == 4 && next == '"') {
            if (!json_pull_string(pull, &type)) return wrong(a, number, "a type");
            if (!json_text_is(&type, "float32"))
                return fail(a, FT_ERR_UNSUPPORTED, "its result is not of type float32");
        } else if (is_batched && (number == 5 || number == 6)) {
            if (!take_flag(pull, &transposed[number - 5])) return wrong(a, number, "true or false");
        } else if (!json_pull_skip(pull)) {
            return wrong(a, number, "JSON");
        }
    }
    return pull->why == NULL ? FT_OK : fail(a, FT_ERR_DAMAGED, "its arguments are not a list");
}

/* Without flags, the second factor is transposed. */
static ft_status product_key(const template_context *a, json_pull *pull, bool *first, const tensor_shape *x,
                             const tensor_shape *y, char key[static 256]) {
    static const char *const names[2][2] = {{"batch_matmul_layer", "batch_matmul_nt_layer"},
                                            {"batch_matmul_tn_layer", "batch_matmul_tt_layer"}};
    bool is_batched = a->t->shape == TEMPLATE_BATCH_MATMUL, transposed[2] = {false, true};
    const int64_t *s = x->sizes + is_batched, *w = y->sizes + is_batched;
    FT_TRY(take_rest(a, pull, first, transposed));
    int64_t m = s[transposed[0]], k = s[!transposed[0]], n = w[!transposed[1]];
    if (w[transposed[1]] != k || (is_batched && x->sizes[0] != y->sizes[0]))
        return fail(a, FT_ERR_UNSUPPORTED, "the shapes of its tensors do not match");
    if (is_batched)
        snprintf(key, 256, "[\"%s\",%lld,1,%lld,%lld,%lld]", names[transposed[0]][transposed[1]],
                 (long long)x->sizes[0], (long long)m, (long long)k, (long long)n);
    else
        snprintf(key, 256, "[\"dense_layer\",%lld,%lld,%lld]", (long long)m, (long long)k, (long long)n);
    return FT_OK;
}

static ft_status find_workload(template_context *a) {
    static const uint32_t dims[] = {4, 4, 2, 3};
    json_pull pull;
    bool first = true;
    tensor_shape x = {0}, w = {0};
    char key[256];
    json_pull_init(&pull, a->tuned->arguments, strlen(a->tuned->arguments));
    if (json_pull_peek(&pull) != '[' || !json_pull_open(&pull, '[') || !json_pull_more(&pull, ']', &first))
        return fail(a, FT_ERR_DAMAGED, "its arguments are not a list");
    FT_TRY(take_tensor(a, &pull, 1, dims[a->t->shape], &x));
    if (!json_pull_more(&pull, ']', &first)) return wrong(a, 2, "there");
    FT_TRY(take_tensor(a, &pull, 2, dims[a->t->shape], &w));
    bool is_product = a->t->shape == TEMPLATE_DENSE || a->t->shape == TEMPLATE_BATCH_MATMUL;
    FT_TRY(is_product ? product_key(a, &pull, &first, &x, &w, key) : windows_key(a, &pull, &first, &x, &w, key));
    FT_TRY(workload_parse(key, "", &a->work, a->error));
    return keep(a, key, &a->record->workload);
}

static int64_t size_of(const workload *w, char axis) {
    switch (axis) {
    case 'F':
        return w->kind == WORKLOAD_CONV2D ? w->out_channels : w->channels;
    case 'Y':
        return workload_out_height(w);
    case 'X':
        return workload_out_width(w);
    case 'C':
        return w->channels;
    case 'H':
        return w->kernel_height;
    case 'W':
        return w->kernel_width;
    case 'M':
        return w->m;
    case 'N':
        return w->n;
    default:
        return w->k;
    }
}

/* --- Knobs --------------------------------------------------------------------------------------------------- */

static ft_status find_knob(const template_context *a, const char *name, uint32_t count, const int64_t **numbers) {
    for (uint32_t i = 0; i < a->tuned->knob_count; i++) {
        const autotvm_knob *knob = &a->tuned->knobs[i];
        if (strcmp(knob->name, name) != 0) continue;
        if (knob->count != count)
            return fail(a, FT_ERR_DAMAGED, "knob %s does not have %u number%s", name, count, count == 1 ? "" : "s");
        *numbers = knob->numbers;
        return FT_OK;
    }
    return fail(a, FT_ERR_DAMAGED, "knob %s is missing", name);
}

/* Sizes of a split, outermost first, -1 for "the rest": their product is the axis. */
static ft_status find_split(const template_context *a, const template_step *row, int64_t extent,
                            const int64_t **sizes) {
    int64_t product = 1;
    FT_TRY(find_knob(a, row->knob, row->lengths + 1u, sizes));
    for (uint32_t i = 1; i <= row->lengths; i++) {
        if ((*sizes)[i] < 1 || (*sizes)[i] > extent || product > extent)
            return fail(a, FT_ERR_DAMAGED, "knob %s has a size that is not from 1 to %lld", row->knob,
                        (long long)extent);
        product *= (*sizes)[i];
    }
    int64_t outer = (*sizes)[0];
    bool fits = product <= extent && extent % product == 0 && (outer == -1 || outer == extent / product);
    return fits ? FT_OK
                : fail(a, FT_ERR_DAMAGED, "the product of the sizes of knob %s is not the extent %lld of its axis",
                       row->knob, (long long)extent);
}

/* --- Steps --------------------------------------------------------------------------------------------------- */

static ft_status add_list(const template_context *a, ansor_step *step, const int64_t *list, uint32_t count) {
    ansor_record *record = a->record;
    if (count > ANSOR_MAX_NUMBERS - record->number_count)
        return fail(a, FT_ERR_LIMIT, "its steps have more than %d numbers", ANSOR_MAX_NUMBERS);
    step->list = memcpy(record->numbers + record->number_count, list, count * sizeof *list);
    step->count = count;
    record->number_count += count;
    return FT_OK;
}

/* The step that split by a knob. */
static const ansor_step *split_by(const template_context *a, const char *knob, uint32_t *number) {
    for (*number = 0; *number < a->record->step_count; ++*number) {
        const template_step *row = &a->t->steps[*number];
        if (row->kind == ANSOR_SPLIT && row->lengths > 0 && strcmp(row->knob, knob) == 0)
            return &a->record->steps[*number];
    }
    return NULL; /* not reached: every followed knob has a split */
}

static ft_status add_split(const template_context *a, const template_step *row, ansor_step *step) {
    static const int64_t one[] = {1};
    const int64_t *sizes = NULL;
    uint32_t number;
    step->is_inner_to_outer = row->is_inner;
    if (row->knob == NULL) return add_list(a, step, one, 1);
    if (row->times > 0) {
        const ansor_step *followed = split_by(a, row->knob, &number);
        assert(followed != NULL);
        int64_t length = followed->list[row->level] * row->times;
        return add_list(a, step, &length, 1);
    }
    step->extent = size_of(&a->work, row->axis);
    FT_TRY(find_split(a, row, step->extent, &sizes));
    return add_list(a, step, sizes + 1, row->lengths);
}

static ft_status add_pragma(const template_context *a, const template_step *row, ansor_step *step) {
    const int64_t *value = NULL;
    char text[64];
    FT_TRY(find_knob(a, row->knob, 1, &value));
    snprintf(text, sizeof text, "%s$%lld", row->knob, (long long)value[0]);
    return keep(a, text, &step->text);
}

static ft_status add_step(const template_context *a, const template_step *row, ansor_step *step) {
    const ansor_step *followed;
    int64_t list[TEMPLATE_LIST];
    uint32_t number;
    assert(row->count <= TEMPLATE_LIST);
    for (uint32_t i = 0; i < row->count; i++) list[i] = row->list[i];
    *step = (ansor_step){
        .kind = row->kind, .stage = row->stage, .iter = row->iter, .text = row->text != NULL ? row->text : ""};
    switch (row->kind) {
    case ANSOR_SPLIT:
        return add_split(a, row, step);
    case ANSOR_FOLLOW_FUSED_SPLIT:
        followed = split_by(a, row->knob, &number);
        assert(followed != NULL);
        step->level = row->level;
        step->is_inner_to_outer = row->is_inner;
        return add_list(a, step, &(int64_t){number}, 1);
    case ANSOR_PRAGMA:
        return add_pragma(a, row, step);
    case ANSOR_COMPUTE_AT:
        step->target_stage = row->other;
        return FT_OK;
    case ANSOR_ANNOTATE:
        step->annotation = row->other;
        return FT_OK;
    case ANSOR_RFACTOR:
        step->factor_iter = row->other;
        return FT_OK;
    default:
        return add_list(a, step, list, row->count);
    }
}

/* --- Records ------------------------------------------------------------------------------------------------- */

static ft_status unknown(const autotvm_record *tuned, ft_error *error) {
    char known[256] = "";
    size_t length = 0;
    if (strstr(tuned->workload, "winograd") != NULL)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "template %.60s: Winograd's algorithm is not supported",
                       tuned->workload);
    for (uint32_t i = 0; i < schedule_template_count && length < sizeof known; i++)
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i == 0 ? "" : ", ",
                                   schedule_templates[i].name);
    return ft_fail(error, FT_ERR_UNSUPPORTED, "unknown template \"%.60s\"; supported are %s", tuned->workload, known);
}

/* Both knobs give the number of threads of one block and must agree: TVM does not build such a program. */
static ft_status check_threads(const template_context *a) {
    const int64_t *x = NULL, *y = NULL;
    if (a->t->same[0] == NULL) return FT_OK;
    FT_TRY(find_knob(a, a->t->same[0], 4, &x));
    FT_TRY(find_knob(a, a->t->same[1], 4, &y));
    if (x[a->t->level] == y[a->t->level]) return FT_OK;
    return fail(a, FT_ERR_UNSUPPORTED, "knobs %s and %s set %lld and %lld threads, which must be equal", a->t->same[0],
                a->t->same[1], (long long)x[a->t->level], (long long)y[a->t->level]);
}

ft_status template_apply(const autotvm_record *tuned, ansor_record *record, ft_error *error) {
    template_context a = {.tuned = tuned, .record = record, .error = error};
    for (uint32_t i = 0; i < schedule_template_count; i++) {
        if (strcmp(schedule_templates[i].name, tuned->workload) == 0) a.t = &schedule_templates[i];
    }
    if (a.t == NULL) return unknown(tuned, error);
    record->fused = "";
    record->version = "v0.6";
    record->has_hardware = false;
    record->step_count = record->number_count = 0;
    record->text_length = 0;
    record->timestamp = 0;
    record->error_no = tuned->error_no;
    record->cost_count = tuned->cost_count;
    memcpy(record->costs, tuned->costs, tuned->cost_count * sizeof tuned->costs[0]);
    FT_TRY(keep(&a, tuned->target, &record->target));
    FT_TRY(find_workload(&a));
    FT_TRY(check_threads(&a));
    for (uint32_t i = 0; i < a.t->count; i++) {
        FT_TRY(add_step(&a, &a.t->steps[i], &record->steps[i]));
        record->step_count++;
    }
    return FT_OK;
}
