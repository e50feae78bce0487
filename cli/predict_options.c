/* predict_options.c - options of predictions: parses them, opens predictors and devices, makes requests. */
#include "predict_options.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
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

/* Runtimes of PyTorch differ by settings; any other device has a single runtime. */
static void parse_runtime(void *input, const char *text, const option_row *row, struct argp_state *state) {
    predict_options *a = input;
    if (strncmp(text, "torch-", 6) == 0 && isdigit((unsigned char)text[6])) {
        add_setting(a, join(a, "torch=", text + 6, state), join(a, "--runtime ", text, state), state);
    } else if (strcmp(text, "torch-eager") == 0) {
        add_setting(a, "compile=no", "--runtime torch-eager", state);
    } else if (strcmp(text, "torch-compile") == 0) {
        add_setting(a, "compile=yes", "--runtime torch-compile", state);
    } else if (is_rules(text)) {
        a->runtime = text;
    } else {
        argp_error(state, "--%s %s: expected torch-2.4.0 or the like, or a name that 'foretell list runtimes' lists",
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
     "torch-2.4.0 (a release of PyTorch), torch-eager, torch-compile, or the runtime of a device (that of the device)",
     0, PARSED_WHOLE_BY(parse_runtime), .choices = "@runtimes"},
    {"layout", "LAYOUT", "memory layout of images: nchw or nhwc (the usual one of the device)", 0,
     PARSED_WHOLE_BY(parse_layout), .choices = "nchw nhwc"},
    {"compile", "WHETHER", "compiled by PyTorch: yes or no (no)", 0, PARSED_WHOLE_BY(parse_compile),
     .choices = "yes no", .is_value_optional = true},
    {"optimizer", "NAME", "optimizer of training: sgd, momentum, adam or adamw (momentum)", 0,
     PARSED_WHOLE_BY(parse_optimizer), .choices = "sgd momentum adam adamw"},
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

/* --- Devices ------------------------------------------------------------------------------------------------- */

bool is_device_file(const char *device) {
    static const char *const endings[] = {".json", ".yaml", ".yml"};
    size_t length = strlen(device);
    bool is_file = strchr(device, '/') != NULL;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        is_file = is_file || (length > ending && strcmp(device + length - ending, endings[i]) == 0);
    }
    return is_file;
}

static bool is_in_set(const predict_options *a, const char *name) {
    for (uint32_t i = 0; i < ft_predictor_set_device_count(a->set); i++)
        if (strcmp(ft_predictor_set_device(a->set, i), name) == 0) return true;
    return false;
}

/* Numbers that the own file leaves out do not make it another device: bundled sheets get more keys over time. */
static bool has_same_numbers(const ft_device *own, const ft_device *bundled) {
    const char *key;
    for (uint32_t i = 0; (key = ft_device_number_name(i)) != NULL; i++) {
        double number = ft_device_number(own, key);
        if (!isnan(number) && number != ft_device_number(bundled, key)) return false;
    }
    return true;
}

/* Measurements of a bundled device must not be used for another device of the same name. */
static ft_status check_name(const char *file, const ft_device *own) {
    ft_device *bundled = NULL;
    const char *name = ft_device_canonical(ft_device_name(own));
    ft_error error;
    if (name == NULL) return FT_OK;
    if (ft_device_open(name, &bundled, &error) != FT_OK) return cli_fail(error.status, "%s", error.message);
    bool is_same = has_same_numbers(own, bundled);
    ft_device_free(bundled);
    if (is_same) return FT_OK;
    return cli_fail(FT_ERR_USAGE,
                    "--device %s: '%s' is the name of a bundled device with another data sheet: rename yours", file,
                    name);
}

ft_status open_device_file(const char *file, ft_device **sheet) {
    ft_error error;
    ft_device *own = NULL;
    if (ft_device_open(file, &own, &error) != FT_OK) return cli_fail(error.status, "%s", error.message);
    ft_status status = check_name(file, own);
    if (status == FT_OK)
        *sheet = own;
    else
        ft_device_free(own);
    return status;
}

/* Adds a device once, whatever names it was given by. */
static ft_status add_device(predict_options *a, const char *name) {
    ft_device *sheet = NULL;
    ft_error error;
    const char *canonical = ft_device_canonical(name), *file = is_device_file(name) ? name : NULL;
    if (canonical != NULL) name = canonical;
    if (file != NULL) {
        ft_status status = open_device_file(file, &sheet);
        if (status != FT_OK) return status;
    } else if (canonical == NULL && !is_in_set(a, name)) { /* opening reports unknown names */
        if (ft_device_open(name, &sheet, &error) != FT_OK) return cli_fail(error.status, "%s", error.message);
    }
    if (sheet != NULL) name = ft_device_name(sheet);
    for (uint32_t i = 0; i < a->device_count; i++) {
        if (strcmp(a->devices[i].name, name) != 0) continue;
        ft_status status =
            file == NULL
                ? FT_OK
                : cli_fail(FT_ERR_USAGE, "--device %s: another device is called '%s' too: rename one", file, name);
        ft_device_free(sheet);
        return status;
    }
    if (a->device_count == PREDICT_MAX_DEVICES) {
        ft_device_free(sheet);
        return cli_fail(FT_ERR_USAGE, "--device: at most %d devices", PREDICT_MAX_DEVICES);
    }
    a->devices[a->device_count].name = name;
    a->devices[a->device_count++].sheet = sheet;
    return FT_OK;
}

static ft_status add_all(predict_options *a) {
    for (uint32_t i = 0; i < ft_predictor_set_device_count(a->set); i++) {
        ft_status status = add_device(a, ft_predictor_set_device(a->set, i));
        if (status != FT_OK) return status;
    }
    return FT_OK;
}

static ft_status find_devices(predict_options *a) {
    a->names = strdup(a->device_names != NULL ? a->device_names : "all");
    if (a->names == NULL) return cli_fail(FT_ERR_NOMEM, "out of memory");
    char *rest = a->names;
    for (char *name; (name = strsep(&rest, ",")) != NULL;) {
        if (name[0] == '\0')
            return cli_fail(FT_ERR_USAGE, "--device %s: empty name; 'foretell list devices' lists the names",
                            a->device_names);
        ft_status status = strcmp(name, "all") == 0 ? add_all(a) : add_device(a, name);
        if (status != FT_OK) return status;
    }
    if (a->device_count > 0) return FT_OK;
    return cli_fail(FT_ERR_USAGE, "no device: the predictors have none, give it with --device NAME");
}

/* The data sheet: the user's own, or a bundled one, which the caller frees by *opened. NULL: there is none. */
static const ft_device *sheet_of(const predict_options *a, uint32_t device, ft_device **opened) {
    ft_error error;
    *opened = NULL;
    if (a->devices[device].sheet != NULL) return a->devices[device].sheet;
    return ft_device_open(a->devices[device].name, opened, &error) == FT_OK ? *opened : NULL;
}

double predict_device_memory(const predict_options *a, uint32_t device) {
    ft_device *opened;
    const ft_device *sheet = sheet_of(a, device, &opened);
    double bytes = sheet != NULL ? ft_device_number(sheet, "memory_bytes") : NAN;
    ft_device_free(opened);
    return bytes;
}

static ft_status check_runtime(const predict_options *a) {
    ft_status status = FT_OK;
    for (uint32_t i = 0; a->runtime != NULL && status == FT_OK && i < a->device_count; i++) {
        ft_device *opened;
        const ft_device *sheet = sheet_of(a, i, &opened);
        if (sheet != NULL && strcmp(ft_device_runtime(sheet), a->runtime) != 0)
            status = cli_fail(FT_ERR_USAGE, "--runtime %s: %s runs %s; give devices that run it", a->runtime,
                              a->devices[i].name, ft_device_runtime(sheet));
        ft_device_free(opened);
    }
    return status;
}

/* --- Settings ------------------------------------------------------------------------------------------------ */

static bool is_of_torch(const char *pair) {
    static const char *const keys[] = {"amp=", "compile=", "layout=", "torch="};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strncmp(pair, keys[i], strlen(keys[i])) == 0) return true;
    return false;
}

/* Settings of PyTorch do not apply to devices that run something else: an error when no device runs it. */
static ft_status check_torch(predict_options *a) {
    const char *pair = NULL;
    uint32_t without = 0;
    for (uint32_t i = 0; i < a->setting_count; i++)
        if (is_of_torch(a->setting_list[i])) pair = a->setting_list[i];
    for (uint32_t i = 0; pair != NULL && i < a->device_count; i++) {
        ft_device *opened;
        const ft_device *sheet = sheet_of(a, i, &opened);
        a->devices[i].is_without_torch = sheet != NULL && strncmp(ft_device_runtime(sheet), "torch", 5) != 0;
        without += a->devices[i].is_without_torch;
        ft_device_free(opened);
    }
    if (pair == NULL || without < a->device_count) return FT_OK;
    return cli_fail(FT_ERR_USAGE, "%s is a setting of PyTorch, which %s does not run: leave it out", pair,
                    a->devices[0].name);
}

static int by_text(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* "compile=yes;layout=nhwc": sorted, so that one setting is always spelled the same. NULL when out of memory. */
static char *join_settings(predict_options *a, bool has_torch) {
    size_t size = 1;
    qsort(a->setting_list, a->setting_count, sizeof *a->setting_list, by_text);
    for (uint32_t i = 0; i < a->setting_count; i++) size += strlen(a->setting_list[i]) + 1;
    char *joined = calloc(1, size);
    size_t used = 0;
    for (uint32_t i = 0; joined != NULL && i < a->setting_count; i++) {
        const char *pair = a->setting_list[i];
        if (i > 0 && strcmp(pair, a->setting_list[i - 1]) == 0) continue;
        if (!has_torch && is_of_torch(pair)) continue;
        used += (size_t)snprintf(joined + used, size - used, "%s%s", used > 0 ? ";" : "", pair);
    }
    return joined;
}

/* --- Opening ------------------------------------------------------------------------------------------------- */

ft_status predict_options_open(predict_options *a) {
    ft_error error;
    if (ft_predictor_set_open(a->predictors.items, a->predictors.count, &a->set, &error) != FT_OK)
        return cli_fail(error.status, "%s", error.message);
    ft_status status = find_devices(a);
    if (status == FT_OK) status = check_runtime(a);
    if (status == FT_OK) status = check_torch(a);
    if (status != FT_OK) return status;
    a->setting = join_settings(a, true);
    a->other_setting = join_settings(a, false);
    return a->setting != NULL && a->other_setting != NULL ? FT_OK : cli_fail(FT_ERR_NOMEM, "out of memory");
}

void predict_options_close(predict_options *a) {
    for (uint32_t i = 0; i < a->device_count; i++) ft_device_free(a->devices[i].sheet);
    ft_predictor_set_free(a->set);
    for (uint32_t i = 0; i < a->text_count; i++) free(a->texts[i]);
    free(a->names);
    free(a->setting);
    free(a->other_setting);
    a->text_count = 0;
    shapes_free(&a->shapes);
    a->device_count = 0;
    a->set = NULL;
    a->names = a->setting = a->other_setting = NULL;
}

/* --- Requests ------------------------------------------------------------------------------------------------ */

ft_request predict_request(const predict_options *a, uint32_t device, int64_t batch) {
    return (ft_request){.device = a->devices[device].name,
                        .sheet = a->devices[device].sheet,
                        .batch = batch,
                        .mode = a->mode,
                        .dtype = a->dtype,
                        .optimizer = a->optimizer,
                        .setting = a->devices[device].is_without_torch ? a->other_setting : a->setting};
}

ft_request *predict_requests(const predict_options *a, uint32_t *count) {
    uint32_t batches = a->batch_count > 0 ? a->batch_count : 1;
    ft_request *requests = calloc((size_t)a->device_count * batches, sizeof *requests);
    *count = 0;
    for (uint32_t d = 0; requests != NULL && d < a->device_count; d++)
        for (uint32_t b = 0; b < batches; b++)
            requests[(*count)++] = predict_request(a, d, a->batch_count > 0 ? a->batches[b] : 0);
    return requests;
}
