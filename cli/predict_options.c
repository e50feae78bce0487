/* predict_options.c - options of predictions: parses them, opens predictors and devices, makes requests. */
#include "predict_options.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- Options ------------------------------------------------------------------------------------------------- */

/* Two texts as one, which lives as long as the options. */
static const char *join(predict_options *a, const char *first, const char *second, struct argp_state *state) {
    char *text;
    assert(a->text_count < sizeof a->texts / sizeof *a->texts);
    if (asprintf(&text, "%s%s", first, second) < 0) argp_error(state, "out of memory");
    a->texts[a->text_count++] = text;
    return text;
}

/* `option`: as it was given, for messages. */
static void add_setting(predict_options *a, const char *pair, const char *option, struct argp_state *state) {
    size_t key = strcspn(pair, "=");
    const char *good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    if (key == 0 || pair[key] != '=' || pair[key + 1] == '\0' || strspn(pair, good) != key ||
        pair[key + 1 + strspn(pair + key + 1, good)] != '\0')
        argp_error(state, "--setting %s: expected KEY=VALUE of letters, digits, '-', '_' and '.'", pair);
    for (uint32_t i = 0; i < a->setting_count; i++)
        if (strncmp(a->setting_list[i], pair, key + 1) == 0 && strcmp(a->setting_list[i], pair) != 0)
            argp_error(state, "%s contradicts %s", a->setting_options[i], option);
    if (a->setting_count == PREDICT_MAX_SETTINGS) argp_error(state, "more than %d settings", PREDICT_MAX_SETTINGS);
    a->setting_options[a->setting_count] = option;
    a->setting_list[a->setting_count++] = pair;
}

static bool is_rules(const char *name) {
    for (uint32_t i = 0; i < ft_rules_count(); i++)
        if (strcmp(ft_rules_name_at(i), name) == 0) return true;
    return false;
}

static const char *serving_runtime(const char *name) {
    for (uint32_t i = 0; ft_serving_runtime_name(i) != NULL; i++)
        if (strcmp(ft_serving_runtime_name(i), name) == 0) return ft_serving_runtime_name(i);
    return NULL;
}

/* Runtimes of PyTorch differ by settings; any other device has a single runtime, beside those that serve language
 * models. */
static void parse_runtime(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    if (strncmp(text, "torch-", 6) == 0 && isdigit((unsigned char)text[6])) {
        add_setting(a, join(a, "torch=", text + 6, state), join(a, "--runtime ", text, state), state);
    } else if (strcmp(text, "torch-eager") == 0) {
        add_setting(a, "compile=no", "--runtime torch-eager", state);
    } else if (strcmp(text, "torch-compile") == 0) {
        add_setting(a, "compile=yes", "--runtime torch-compile", state);
    } else if (strcmp(text, "tensorrt") == 0 || strcmp(text, "onnxruntime-cuda") == 0) {
        add_setting(a, join(a, "runtime=", text, state), join(a, "--runtime ", text, state), state);
    } else if (is_rules(text)) {
        a->runtime = text;
    } else if (serving_runtime(text) != NULL) {
        a->serving.runtime = serving_runtime(text);
    } else {
        argp_error(
            state,
            "--%s %s: expected torch-2.4.0 or the like, vllm, trtllm, sglang, torch or llama.cpp, or a name that "
            "'foretell list runtimes' lists",
            row->name, text);
    }
}

static void parse_batches(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    a->batch_count = cli_parse_sizes(state, row->name, text, a->batches, PREDICT_MAX_BATCHES);
}

static void parse_dtype(void *field, const char *text, const option_row *row, struct argp_state *state) {
    ft_dtype *dtype = field;
    if (!ft_dtype_parse(text, dtype) || *dtype == FT_DTYPE_UNKNOWN)
        argp_error(state, "--%s %s: expected float32, float16, bfloat16, int8 or the like", row->name, text);
}

static void parse_layout(void *input, const char *text, const option_row *row, struct argp_state *state) {
    if (strcmp(text, "nchw") != 0 && strcmp(text, "nhwc") != 0)
        argp_error(state, "--%s %s: expected nchw or nhwc", row->name, text);
    add_setting(input, join(input, "layout=", text, state), join(input, "--layout ", text, state), state);
}

static void parse_host(void *input, const char *text, const option_row *row, struct argp_state *state) {
    add_setting(input, join(input, "host=", text, state), join(input, "--host ", text, state), state);
    (void)row;
}

static void parse_launch(void *input, const char *text, const option_row *row, struct argp_state *state) {
    add_setting(input, join(input, "launch_us=", text, state), join(input, "--launch-us ", text, state), state);
    (void)row;
}

static void parse_compile(void *input, const char *text, const option_row *row, struct argp_state *state) {
    if (text != NULL && strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        argp_error(state, "--%s=%s: expected yes or no", row->name, text);
    bool is_off = text != NULL && strcmp(text, "no") == 0;
    add_setting(input, is_off ? "compile=no" : "compile=yes", is_off ? "--compile=no" : "--compile", state);
}

static void parse_optimizer(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    option_optimizer(&a->optimizer, text, row, state);
    a->has_optimizer = true;
}

static void parse_setting(void *input, const char *text, const option_row *row, struct argp_state *state) {
    (void)row;
    add_setting(input, text, join(input, "--setting ", text, state), state);
}

static const option_row rows[] = {
    {.help = "Devices and settings:", .group = 10},
    {"device", "NAME,...",
     "devices that 'foretell list devices' lists, by any of their names, or JSON or YAML files of your own; all: those "
     "that "
     "the "
     "predictors were trained on (all)",
     0, TEXT(predict_options, device_names), .choices = "all @devices"},
    {"batch", "N,...",
     "batch sizes: 8, or 1,8,32, or 1..256, which doubles (as exported; 1 where the file leaves it open)", 0,
     PARSED_WHOLE_BY(parse_batches)},
    {"mode", "MODE", "infer or train (infer)", 0, PARSED_BY(option_mode, predict_options, mode),
     .choices = "infer train"},
    {"dtype", "TYPE", "float32, float16, bfloat16, int8, ... (the type of the training)", 0,
     PARSED_BY(parse_dtype, predict_options, dtype), .choices = "float32 float16 bfloat16 float64 float8 int8"},
    {"runtime", "NAME",
     "torch-2.4.0 (a release of PyTorch), torch-eager, torch-compile, or the runtime of a device (that of the device); "
     "for serving: vllm, trtllm, sglang, torch or llama.cpp (vllm on GPUs)",
     0, PARSED_WHOLE_BY(parse_runtime), .choices = "vllm trtllm sglang torch llama.cpp @runtimes"},
    {"layout", "LAYOUT", "memory layout of images: nchw or nhwc (the usual one of the device)", 0,
     PARSED_WHOLE_BY(parse_layout), .choices = "nchw nhwc"},
    {"host", "CLASS",
     "host that launches the kernels of a GPU: typical, desktop, workstation, server or server-2016 "
     "(typical, for batches below those measured)",
     0, PARSED_WHOLE_BY(parse_host), .choices = "typical desktop workstation server server-2016"},
    {"launch-us", "US", "microseconds that your host takes to launch a kernel, as 'foretell trace summary' prints", 0,
     PARSED_WHOLE_BY(parse_launch)},
    {"compile", "WHETHER", "compiled by PyTorch: yes or no (no)", 0, PARSED_WHOLE_BY(parse_compile),
     .choices = "yes no", .is_value_optional = true},
    {"optimizer", "NAME",
     "optimizer of training: sgd, momentum, adam, adamw, adafactor, lion, muon, adamw-8bit, adamw-paged or "
     "adamw-8bit-paged (momentum; adamw for language models)",
     0, PARSED_WHOLE_BY(parse_optimizer),
     .choices = "sgd momentum adam adamw adafactor lion muon adamw-8bit adamw-paged adamw-8bit-paged"},
    {"setting", "KEY=VALUE", "any other setting of a predictor, as amp=yes; may be repeated", 0,
     PARSED_WHOLE_BY(parse_setting)},
    SHAPE_ROW(predict_options, shapes),
    {"predictor", "FILE", "a predictor of your own instead of the bundled ones; may be repeated", 0,
     NAMES(predict_options, predictors)},
    {0},
};

static void check(void *input, struct argp_state *state) {
    const predict_options *a = input;
    if (a->has_optimizer && a->mode == FT_INFER)
        argp_error(state, "--optimizer is for training: add --mode train, or leave it out");
}

const option_set predict_option_set = {.rows = rows, .check = check};

void predict_options_init(predict_options *a) {
    memset(a, 0, sizeof *a);
    a->optimizer = FT_MOMENTUM;
}

/* --- Opening ------------------------------------------------------------------------------------------------- */

ft_status predict_options_open(predict_options *a) {
    ft_error error;
    const ft_target_options options = {.devices = a->device_names,
                                       .settings = a->setting_list,
                                       .setting_count = a->setting_count,
                                       .prices = a->prices,
                                       .runtime = a->runtime};
    if (ft_predictor_set_open(a->predictors.items, a->predictors.count, &a->set, &error) != FT_OK ||
        ft_targets_open(a->set, &options, &a->targets, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    a->device_count = ft_targets_count(a->targets);
    return FT_OK;
}

void predict_options_close(predict_options *a) {
    ft_targets_free(a->targets);
    ft_predictor_set_free(a->set);
    for (uint32_t i = 0; i < a->text_count; i++) free(a->texts[i]);
    a->text_count = 0;
    shapes_free(&a->shapes);
    a->device_count = 0;
    a->targets = NULL;
    a->set = NULL;
}

/* --- Requests ------------------------------------------------------------------------------------------------ */

/* Language models are trained with AdamW, unless the user says otherwise. */
static ft_optimizer optimizer_for(const predict_options *a, const ft_graph *model) {
    bool is_language = model != NULL && ft_graph_meta(model, "model_type") != NULL;
    return is_language && a->mode == FT_TRAIN && !a->has_optimizer ? FT_ADAMW : a->optimizer;
}

ft_request predict_request(const predict_options *a, const ft_graph *model, uint32_t device, int64_t batch) {
    ft_request request = ft_targets_request(a->targets, device);
    request.batch = batch;
    request.mode = a->mode;
    request.dtype = a->dtype;
    request.optimizer = optimizer_for(a, model);
    request.parallel = a->parallel;
    request.training = a->training;
    request.serving = a->serving;
    return request;
}

ft_request *predict_requests(const predict_options *a, const ft_graph *model, uint32_t *count) {
    uint32_t batches = a->batch_count > 0 ? a->batch_count : 1;
    ft_request *requests = calloc((size_t)a->device_count * batches, sizeof *requests);
    *count = 0;
    for (uint32_t d = 0; requests != NULL && d < a->device_count; d++)
        for (uint32_t b = 0; b < batches; b++)
            requests[(*count)++] = predict_request(a, model, d, a->batch_count > 0 ? a->batches[b] : 0);
    return requests;
}
