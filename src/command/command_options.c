/* command_options.c - parses options from a JSON object. A key is a row of a table: its name, the commands that have
 * it, and the function that reads its value. */
#include "command/command_options.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "command/value.h"

enum { DEFAULT_MAX_BATCH = 65536, MAX_SAMPLES_SHIFT = 61 };

/* Calls `add` for a text, or for each text of a list. */
static ft_status each_text(command_options *q, const json_t *value, const char *what,
                           ft_status (*add)(command_options *q, const char *text, ft_error *error), ft_error *error) {
    if (json_is_string(value)) return add(q, json_string_value(value), error);
    if (!json_is_array(value)) return value_expected(value, what, error);
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        if (!json_is_string(item)) return value_expected(item, what, error);
        FT_TRY(add(q, json_string_value(item), error));
    }
    return FT_OK;
}

/* --- Keys ---------------------------------------------------------------------------------------------------- */

static ft_status parse_model(command_options *q, const json_t *value, ft_error *error) {
    return value_text(value, &q->model, "the id, name or path of a model", error);
}

static ft_status parse_name(command_options *q, const json_t *value, ft_error *error) {
    return value_text(value, &q->name, "a name", error);
}

static ft_status parse_format(command_options *q, const json_t *value, ft_error *error) {
    if (!json_is_string(value) || !ft_output_parse(json_string_value(value), &q->output))
        return value_expected(value, "json, csv or table", error);
    return FT_OK;
}

static ft_status add_device(command_options *q, const char *text, ft_error *error) {
    char *joined = NULL;
    if (asprintf(&joined, "%s%s%s", q->devices != NULL ? q->devices : "", q->devices != NULL ? "," : "", text) < 0)
        return FT_NOMEM(error);
    free(q->devices);
    q->devices = joined;
    return FT_OK;
}

static ft_status parse_device(command_options *q, const json_t *value, ft_error *error) {
    if (json_is_array(value) && json_array_size(value) > FT_MAX_TARGETS)
        return ft_fail(error, FT_ERR_USAGE, "at most %d devices", FT_MAX_TARGETS);
    return each_text(q, value, "a name or a list of names", add_device, error);
}

static ft_status add_batch(command_options *q, int64_t batch, ft_error *error) {
    for (uint32_t i = 0; i < q->batch_count; i++)
        if (q->batches[i] == batch) return FT_OK;
    if (q->batch_count == COMMAND_MAX_BATCHES)
        return ft_fail(error, FT_ERR_USAGE, "at most %d of them", COMMAND_MAX_BATCHES);
    q->batches[q->batch_count++] = batch;
    return FT_OK;
}

static ft_status parse_batch(command_options *q, const json_t *value, ft_error *error) {
    int64_t batch = 0;
    if (json_is_string(value))
        return ft_sizes_parse(json_string_value(value), q->batches, COMMAND_MAX_BATCHES, &q->batch_count, error);
    if (!json_is_array(value)) {
        FT_TRY(value_count(value, FT_MAX_DIM, &batch, error));
        return add_batch(q, batch, error);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        FT_TRY(value_count(json_array_get(value, i), FT_MAX_DIM, &batch, error));
        FT_TRY(add_batch(q, batch, error));
    }
    return FT_OK;
}

static ft_status parse_mode(command_options *q, const json_t *value, ft_error *error) {
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (strcmp(text, "infer") != 0 && strcmp(text, "train") != 0) return value_expected(value, "infer or train", error);
    q->mode = strcmp(text, "train") == 0 ? FT_TRAIN : FT_INFER;
    return FT_OK;
}

static ft_status parse_dtype(command_options *q, const json_t *value, ft_error *error) {
    if (!json_is_string(value) || !ft_dtype_parse(json_string_value(value), &q->dtype) ||
        q->dtype == FT_DTYPE_UNKNOWN || (q->kind == KIND_INSPECT && !ft_dtype_is_float(q->dtype)))
        return value_expected(value, "float32, float16, bfloat16 or the like", error);
    return FT_OK;
}

static ft_status parse_optimizer(command_options *q, const json_t *value, ft_error *error) {
    if (!json_is_string(value) || !ft_optimizer_parse(json_string_value(value), &q->optimizer))
        return value_expected(value, "sgd, momentum, adam, adamw or another that docs/training-memory.md lists", error);
    q->has_optimizer = true;
    return FT_OK;
}

static ft_status put_setting(command_options *q, const char *key, const char *value, ft_error *error) {
    if (q->setting_count == COMMAND_MAX_SETTINGS)
        return ft_fail(error, FT_ERR_USAGE, "at most %d settings", COMMAND_MAX_SETTINGS);
    if (asprintf(&q->settings[q->setting_count], "%s%s%s", key, key[0] != '\0' ? "=" : "", value) < 0)
        return FT_NOMEM(error);
    q->setting_count++;
    return FT_OK;
}

static ft_status add_setting(command_options *q, const char *pair, ft_error *error) {
    return put_setting(q, "", pair, error);
}

/* "amp=yes", a list of such pairs, or an object. */
static ft_status parse_setting(command_options *q, const json_t *value, ft_error *error) {
    const char *key;
    json_t *item;
    if (!json_is_object(value))
        return each_text(q, value, "KEY=VALUE, a list of them or an object", add_setting, error);
    json_object_foreach((json_t *)value, key, item) {
        bool flag = false;
        if (json_is_string(item)) {
            FT_TRY(put_setting(q, key, json_string_value(item), error));
        } else {
            FT_TRY(value_flag(item, &flag, error));
            FT_TRY(put_setting(q, key, flag ? "yes" : "no", error));
        }
    }
    return FT_OK;
}

static ft_status parse_layout(command_options *q, const json_t *value, ft_error *error) {
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (strcmp(text, "nchw") != 0 && strcmp(text, "nhwc") != 0) return value_expected(value, "nchw or nhwc", error);
    return put_setting(q, "layout", text, error);
}

static ft_status parse_compile(command_options *q, const json_t *value, ft_error *error) {
    bool is_compiled = false;
    FT_TRY(value_flag(value, &is_compiled, error));
    return put_setting(q, "compile", is_compiled ? "yes" : "no", error);
}

static bool is_rules(const char *name) {
    for (uint32_t i = 0; i < ft_rules_count(); i++)
        if (strcmp(ft_rules_name_at(i), name) == 0) return true;
    return false;
}

/* Runtimes of PyTorch differ by settings; any other device has a single runtime. */
static ft_status parse_runtime(command_options *q, const json_t *value, ft_error *error) {
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (strncmp(text, "torch-", 6) == 0 && isdigit((unsigned char)text[6]))
        return put_setting(q, "torch", text + 6, error);
    if (strcmp(text, "torch-eager") == 0) return put_setting(q, "compile", "no", error);
    if (strcmp(text, "torch-compile") == 0) return put_setting(q, "compile", "yes", error);
    if (!is_rules(text) && command_is_serving_runtime(text)) {
        FT_TRY(value_text(value, &q->serving_runtime, "a runtime", error));
        q->serving.runtime = q->serving_runtime;
        return FT_OK;
    }
    if (!is_rules(text)) return value_expected(value, "torch-2.4.0 or the like, or a runtime", error);
    return value_text(value, &q->runtime, "a runtime", error);
}

static ft_status parse_kernels(command_options *q, const json_t *value, ft_error *error) {
    if (!json_is_string(value) || !is_rules(json_string_value(value))) return value_expected(value, "a runtime", error);
    return value_text(value, &q->kernels, "a runtime", error);
}

ft_status command_add_shape(command_options *q, const char *text, ft_error *error) {
    if (q->shape_count == COMMAND_MAX_SHAPES)
        return ft_fail(error, FT_ERR_USAGE, "at most %d shapes", COMMAND_MAX_SHAPES);
    size_t size = strlen(text) + 1;
    char *name = malloc(size);
    if (name == NULL) return FT_NOMEM(error);
    ft_status status = ft_shape_binding_parse(text, name, size, &q->shapes[q->shape_count], error);
    if (status != FT_OK) {
        free(name);
        return status;
    }
    q->shape_names[q->shape_count++] = name;
    return FT_OK;
}

/* "sequence=128" from a key and a number, or a list of numbers. */
static ft_status add_dims(command_options *q, const char *key, const json_t *dims, ft_error *error) {
    buf text = {0};
    int64_t size = 0;
    ft_status status = FT_OK;
    size_t count = json_is_array(dims) ? json_array_size(dims) : 1;
    buf_format(&text, "%s=", key);
    for (size_t i = 0; i < count && i <= FT_MAX_RANK && status == FT_OK; i++) {
        status = value_count(json_is_array(dims) ? json_array_get(dims, i) : dims, FT_MAX_DIM, &size, error);
        buf_format(&text, "%s%lld", i > 0 ? "x" : "", (long long)size);
    }
    if (status == FT_OK && text.failed) status = FT_NOMEM(error);
    if (status == FT_OK) status = command_add_shape(q, text.data, error);
    buf_free(&text);
    return status;
}

static ft_status parse_shape(command_options *q, const json_t *value, ft_error *error) {
    const char *key;
    json_t *item;
    if (!json_is_object(value))
        return each_text(q, value, "NAME=DIMS, a list of them or an object", command_add_shape, error);
    json_object_foreach((json_t *)value, key, item) FT_TRY(add_dims(q, key, item, error));
    return FT_OK;
}

static ft_status parse_top(command_options *q, const json_t *value, ft_error *error) {
    int64_t top = 0;
    FT_TRY(value_count(value, FT_MAX_OPS, &top, error));
    q->top = (uint32_t)top;
    return FT_OK;
}

static ft_status parse_price(command_options *q, const json_t *value, ft_error *error) {
    if (!json_is_number(value)) return value_text(value, &q->prices, "a price per hour, as \"2.5/h\",", error);
    free(q->prices);
    if (asprintf(&q->prices, "%.17g", json_number_value(value)) >= 0) return FT_OK;
    q->prices = NULL;
    return FT_NOMEM(error);
}

static ft_status parse_goal(command_options *q, const json_t *value, ft_error *error) {
    if (!json_is_string(value) || !ft_goal_parse(json_string_value(value), &q->goal))
        return value_expected(value, "time, cost or energy", error);
    q->has_goal = true;
    return FT_OK;
}

static ft_status parse_samples(command_options *q, const json_t *value, ft_error *error) {
    return value_count(value, INT64_C(1) << MAX_SAMPLES_SHIFT, &q->samples, error);
}

static ft_status parse_max_batch(command_options *q, const json_t *value, ft_error *error) {
    return value_count(value, FT_MAX_DIM, &q->max_batch, error);
}

static ft_status parse_free(command_options *q, const json_t *value, ft_error *error) {
    return value_bytes(value, &q->free_bytes, error);
}

static ft_status parse_workspace(command_options *q, const json_t *value, ft_error *error) {
    return value_bytes(value, &q->workspace_bytes, error);
}

/* --- Keys of observations ------------------------------------------------------------------------------------------
 */

static ft_status parse_family(command_options *q, const json_t *value, ft_error *error) {
    return value_text(value, &q->family, "a name", error);
}

/* A number, or the text of one; NaN when it is something else. */
static double number_of(const json_t *value) {
    double number = NAN;
    if (json_is_number(value)) return json_number_value(value);
    if (!json_is_string(value) || !text_double(json_string_value(value), json_string_length(value), &number))
        return NAN;
    return number;
}

/* A time in a unit of so many microseconds. */
static ft_status read_time(command_options *q, const json_t *value, double unit_us, ft_error *error) {
    double number = number_of(value);
    if (!(number > 0 && number * unit_us < 1e15)) return value_expected(value, "a time above 0", error);
    if (!isnan(q->time_us)) return ft_fail(error, FT_ERR_USAGE, "the time is given twice");
    q->time_us = number * unit_us;
    return FT_OK;
}

static ft_status parse_time_us(command_options *q, const json_t *value, ft_error *error) {
    return read_time(q, value, 1, error);
}

static ft_status parse_time_ms(command_options *q, const json_t *value, ft_error *error) {
    return read_time(q, value, 1e3, error);
}

static ft_status parse_time_s(command_options *q, const json_t *value, ft_error *error) {
    return read_time(q, value, 1e6, error);
}

static ft_status parse_peak(command_options *q, const json_t *value, ft_error *error) {
    FT_TRY(value_bytes(value, &q->peak_bytes, error));
    return q->peak_bytes > 0 ? FT_OK : value_expected(value, "bytes above 0", error);
}

static ft_status parse_util(command_options *q, const json_t *value, ft_error *error) {
    q->util_ratio = number_of(value);
    if (!(q->util_ratio >= 0 && q->util_ratio <= 1)) return value_expected(value, "a ratio from 0 to 1", error);
    return FT_OK;
}

static ft_status parse_sort(command_options *q, const json_t *value, ft_error *error) {
    if (!json_is_string(value) || !ft_sort_parse(json_string_value(value), &q->sort))
        return value_expected(value, "graph, macs, flops, params, bytes or count", error);
    return FT_OK;
}

static ft_status parse_layers(command_options *q, const json_t *value, ft_error *error) {
    return value_flag(value, &q->has_layers, error);
}

static ft_status parse_nodes(command_options *q, const json_t *value, ft_error *error) {
    return value_flag(value, &q->has_nodes, error);
}

static ft_status parse_mixed(command_options *q, const json_t *value, ft_error *error) {
    return value_flag(value, &q->is_mixed, error);
}

static ft_status parse_no_inplace(command_options *q, const json_t *value, ft_error *error) {
    return value_flag(value, &q->has_no_inplace, error);
}

enum { ON_DEVICES = KIND_PREDICT | KIND_FITS | KIND_MAX_BATCH | KIND_OBSERVE, ALL = ON_DEVICES | KIND_INSPECT };

static const key_row keys[] = {
    {"model", ALL, parse_model},
    {"name", ALL, parse_name},
    {"format", ALL, parse_format},
    {"shape", ALL, parse_shape},
    {"dtype", ALL, parse_dtype},
    {"optimizer", ALL, parse_optimizer},
    {"device", ON_DEVICES, parse_device},
    {"mode", ON_DEVICES, parse_mode},
    {"runtime", ON_DEVICES, parse_runtime},
    {"layout", ON_DEVICES, parse_layout},
    {"compile", ON_DEVICES, parse_compile},
    {"setting", ON_DEVICES, parse_setting},
    {"batch", ALL - KIND_MAX_BATCH, parse_batch},
    {"by_layer", KIND_PREDICT, parse_layers},
    {"samples", KIND_PREDICT, parse_samples},
    {"price", KIND_PREDICT, parse_price},
    {"choose", KIND_PREDICT, parse_goal},
    {"top", KIND_PREDICT | KIND_INSPECT, parse_top},
    {"free", KIND_FITS | KIND_MAX_BATCH, parse_free},
    {"max_batch_size", KIND_MAX_BATCH, parse_max_batch},
    {"nodes", KIND_INSPECT, parse_nodes},
    {"kernels", KIND_INSPECT, parse_kernels},
    {"sort", KIND_INSPECT, parse_sort},
    {"mixed", KIND_INSPECT, parse_mixed},
    {"no_inplace", KIND_INSPECT, parse_no_inplace},
    {"workspace", KIND_INSPECT, parse_workspace},
    {"family", KIND_OBSERVE, parse_family},
    {"time_us", KIND_OBSERVE, parse_time_us},
    {"time_ms", KIND_OBSERVE, parse_time_ms},
    {"time_s", KIND_OBSERVE, parse_time_s},
    {"peak_bytes", KIND_OBSERVE, parse_peak},
    {"util_ratio", KIND_OBSERVE, parse_util},
    {0},
};

/* All tables. */
static const key_row *const tables[] = {keys, training_keys, serving_keys};
enum { TABLES = sizeof tables / sizeof tables[0] };

static const key_row *find_key(command_kind kind, const char *name) {
    for (size_t t = 0; t < TABLES; t++)
        for (const key_row *row = tables[t]; row->name != NULL; row++)
            if (strcmp(row->name, name) == 0 && (row->commands & kind) != 0) return row;
    return NULL;
}

static ft_status unknown_key(command_kind kind, const char *key, ft_error *error) {
    buf names = {0};
    for (size_t t = 0; t < TABLES; t++)
        for (const key_row *row = tables[t]; row->name != NULL; row++)
            if ((row->commands & kind) != 0) buf_format(&names, "%s%s", names.length > 0 ? ", " : "", row->name);
    ft_status status = names.failed ? FT_NOMEM(error)
                                    : ft_fail(error, FT_ERR_USAGE, "%.60s: no such key here; there are %s", key,
                                              names.data != NULL ? names.data : "none");
    buf_free(&names);
    return status;
}

/* --- Checks of the whole, as the command has them ----------------------------------------------------------------- */

static ft_status check(const command_options *q, ft_error *error) {
    if (q->has_optimizer && q->kind != KIND_INSPECT && q->mode == FT_INFER)
        return ft_fail(error, FT_ERR_USAGE, "optimizer: is for training: add \"mode\": \"train\", or leave it out");
    FT_TRY(command_check_training(q, error));
    FT_TRY(command_check_serving(q, error));
    if (q->has_goal && q->has_layers) return ft_fail(error, FT_ERR_USAGE, "choose: goes without by_layer");
    if (q->kind == KIND_PREDICT && q->top > 0 && !q->has_layers)
        return ft_fail(error, FT_ERR_USAGE, "top: is for by_layer");
    if ((q->kind & (KIND_FITS | KIND_MAX_BATCH | KIND_OBSERVE)) != 0 && q->devices == NULL)
        return ft_fail(error, FT_ERR_USAGE, "device: is absent: name one");
    if (q->kind == KIND_FITS && q->batch_count > 1)
        return ft_fail(error, FT_ERR_USAGE, "batch: fits takes one batch; max-batch searches for the largest");
    if (q->kind == KIND_OBSERVE && q->batch_count > 1)
        return ft_fail(error, FT_ERR_USAGE, "batch: an observation has one batch");
    if (q->kind == KIND_OBSERVE && isnan(q->time_us) && isnan(q->peak_bytes) && isnan(q->util_ratio))
        return ft_fail(error, FT_ERR_USAGE, "time_us, peak_bytes or util_ratio: at least one is expected");
    if (q->kind == KIND_INSPECT && q->batch_count > 1)
        return ft_fail(error, FT_ERR_USAGE, "batch: inspect takes one batch");
    if (q->kind == KIND_INSPECT && q->output == FT_CSV && q->has_nodes && q->kernels != NULL)
        return ft_fail(error, FT_ERR_USAGE, "format: a CSV holds one kind of row: use nodes or kernels");
    return FT_OK;
}

ft_status command_options_parse(command_kind kind, const json_t *object, command_options *q, ft_error *error) {
    const char *key;
    json_t *value;
    *q = (command_options){.kind = kind,
                           .optimizer = FT_MOMENTUM,
                           .output = FT_JSON,
                           .max_batch = DEFAULT_MAX_BATCH,
                           .free_bytes = NAN,
                           .time_us = NAN,
                           .peak_bytes = NAN,
                           .util_ratio = NAN};
    if (!json_is_object(object))
        return ft_fail(error, FT_ERR_USAGE, "is %s, but an object is expected", json_kind(object));
    json_object_foreach((json_t *)object, key, value) {
        const key_row *row = find_key(kind, key);
        if (row == NULL) return unknown_key(kind, key, error);
        ft_status status = row->parse(q, value, error);
        if (status != FT_OK) return ft_fail_prefix(error, status == FT_ERR_NOMEM ? status : FT_ERR_USAGE, "%s", key);
    }
    return check(q, error);
}

void command_options_free(command_options *q) {
    free(q->model);
    free(q->name);
    free(q->devices);
    free(q->prices);
    free(q->runtime);
    free(q->kernels);
    free(q->family);
    command_serving_free(q);
    free(q->lora_targets);
    for (uint32_t i = 0; i < q->setting_count; i++) free(q->settings[i]);
    for (uint32_t i = 0; i < q->shape_count; i++) free(q->shape_names[i]);
}
