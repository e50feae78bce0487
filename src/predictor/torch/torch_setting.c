/* torch_setting.c - parses and compares settings of PyTorch, and derives sustained rates from data sheets. */
#include "predictor/torch/torch_setting.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"

/* --- Settings ------------------------------------------------------------------------------------------------ */

static bool is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static ft_status parse_choice(const char *key, const char *value, size_t length, const char *no, const char *yes,
                              torch_choice *choice, ft_error *error) {
    if (!is_word(value, length, no) && !is_word(value, length, yes))
        return ft_fail(error, FT_ERR_USAGE, "the setting '%s' is '%.*s', but '%s' or '%s' is expected", key,
                       (int)(length < 40 ? length : 40), value, no, yes);
    *choice = is_word(value, length, yes) ? TORCH_YES : TORCH_NO;
    return FT_OK;
}

/* "2.4.0" is 204; the patch is ignored. Measurements of unknown version have one of their own: 0 means open, which
 * matches the newest. */
static ft_status parse_version(const char *value, size_t length, int32_t *version, ft_error *error) {
    static const int32_t UNKNOWN = 1;
    if (is_word(value, length, "unknown")) {
        *version = UNKNOWN;
        return FT_OK;
    }
    char text[32] = "";
    char *dot = text, *end = text;
    if (length < sizeof text) memcpy(text, value, length);
    long major = strtol(text, &dot, 10), minor = *dot == '.' ? strtol(dot + 1, &end, 10) : -1;
    if (dot == text || end <= dot + 1 || major < 0 || major > 99 || minor < 0 || minor > 99)
        return ft_fail(error, FT_ERR_USAGE, "the setting 'torch' is '%.20s', but a version such as 2.4.0 is expected",
                       text);
    *version = (int32_t)(major * 100 + minor);
    return FT_OK;
}

static ft_status parse_tf32(const char *value, size_t length, torch_tf32 *tf32, ft_error *error) {
    static const char *const words[] = {[TORCH_TF32_NONE] = "none",
                                        [TORCH_TF32_CONV] = "conv",
                                        [TORCH_TF32_MATMUL] = "matmul",
                                        [TORCH_TF32_ALL] = "all"};
    for (torch_tf32 t = TORCH_TF32_NONE; t <= TORCH_TF32_ALL; t++) {
        if (!is_word(value, length, words[t])) continue;
        *tf32 = t;
        return FT_OK;
    }
    return ft_fail(error, FT_ERR_USAGE,
                   "the setting 'tf32' is '%.*s', but 'none', 'conv', 'matmul' or 'all' is expected: the float32 "
                   "products that run as TensorFloat-32",
                   (int)(length < 40 ? length : 40), value);
}

static ft_status parse_pair(const char *pair, size_t length, torch_setting *c, ft_error *error) {
    const char *equals = memchr(pair, '=', length);
    if (equals == NULL) return FT_OK;
    size_t key = (size_t)(equals - pair), rest = length - key - 1;
    const char *value = equals + 1;
    if (is_word(pair, key, "amp")) return parse_choice("amp", value, rest, "no", "yes", &c->is_mixed, error);
    if (is_word(pair, key, "compile")) return parse_choice("compile", value, rest, "no", "yes", &c->is_compiled, error);
    if (is_word(pair, key, "layout")) return parse_choice("layout", value, rest, "nchw", "nhwc", &c->is_nhwc, error);
    if (is_word(pair, key, "tf32")) return parse_tf32(value, rest, &c->tf32, error);
    if (is_word(pair, key, "torch")) return parse_version(value, rest, &c->version, error);
    return FT_OK;
}

ft_status torch_setting_parse(const char *text, ft_mode mode, ft_dtype dtype, torch_setting *setting, ft_error *error) {
    torch_setting made = {.device = FT_NONE, .mode = mode, .dtype = dtype};
    for (const char *at = text != NULL ? text : ""; *at != '\0';) {
        size_t length = strcspn(at, ";");
        FT_TRY(parse_pair(at, length, &made, error));
        at += length + (at[length] == ';');
    }
    torch_setting_complete(&made);
    *setting = made;
    return FT_OK;
}

/* An unknown version is taken for a recent one. */
static torch_tf32 default_tf32(int32_t version) {
    static const int32_t FIRST = 107, CONV_ONLY = 112;
    if (version < 100 || version >= CONV_ONLY) return TORCH_TF32_CONV;
    return version >= FIRST ? TORCH_TF32_ALL : TORCH_TF32_NONE;
}

void torch_setting_complete(torch_setting *s) {
    if (s->tf32 == TORCH_TF32_OPEN) s->tf32 = default_tf32(s->version);
    if (s->is_compiled == TORCH_OPEN) s->is_compiled = TORCH_NO;
    if (s->is_nhwc == TORCH_OPEN) s->is_nhwc = TORCH_NO;
    if (s->is_mixed != TORCH_OPEN || s->dtype == FT_DTYPE_UNKNOWN) return;
    s->is_mixed = s->dtype == FT_FLOAT16 || s->dtype == FT_BFLOAT16 ? TORCH_YES : TORCH_NO;
}

bool torch_setting_equal(const torch_setting *a, const torch_setting *b) {
    return a->device == b->device && a->mode == b->mode && a->dtype == b->dtype && a->is_mixed == b->is_mixed &&
           a->is_compiled == b->is_compiled && a->is_nhwc == b->is_nhwc && a->version == b->version;
}

bool torch_setting_same_group(const torch_setting *a, const torch_setting *b) {
    return a->mode == b->mode && a->dtype == b->dtype && a->is_mixed == b->is_mixed &&
           a->is_compiled == b->is_compiled && a->is_nhwc == b->is_nhwc && (a->version >= 200) == (b->version >= 200);
}

uint32_t torch_setting_groups(const torch_setting *settings, uint32_t count, uint32_t *groups) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t j = 0;
        while (j < i && !torch_setting_same_group(&settings[i], &settings[j])) j++;
        groups[i] = j < i ? groups[j] : found++;
    }
    return found;
}

torch_precision torch_setting_precision(const torch_setting *c) {
    bool is_narrow = c->dtype == FT_FLOAT16 || c->dtype == FT_BFLOAT16;
    return (torch_precision){.is_mixed = is_narrow && c->is_mixed != TORCH_NO, .bytes = is_narrow ? 2 : 4};
}

/* --- Runtimes ------------------------------------------------------------------------------------------------- */

ft_status torch_runtime_parse(const char *setting, torch_runtime *runtime, ft_error *error) {
    static const char *const names[] = {"pytorch", "tensorrt", "onnxruntime-cuda"};
    static const char key[] = "runtime=";
    *runtime = TORCH_PYTORCH;
    for (const char *at = setting != NULL ? setting : ""; *at != '\0';) {
        size_t length = strcspn(at, ";");
        if (length >= sizeof key - 1 && memcmp(at, key, sizeof key - 1) == 0) {
            const char *value = at + sizeof key - 1;
            uint32_t found = TORCH_RUNTIMES;
            for (uint32_t i = 0; i < TORCH_RUNTIMES; i++)
                if (is_word(value, length - (sizeof key - 1), names[i])) found = i;
            if (found == TORCH_RUNTIMES)
                return ft_fail(error, FT_ERR_USAGE, "runtime '%.*s': expected pytorch, tensorrt or onnxruntime-cuda",
                               (int)(length < 48 ? length - (sizeof key - 1) : 40), value);
            *runtime = (torch_runtime)found;
        }
        at += length + (at[length] == ';');
    }
    return FT_OK;
}

const char *torch_runtime_name(torch_runtime runtime) {
    static const char *const names[] = {"PyTorch", "TensorRT", "ONNX Runtime"};
    return names[runtime];
}

/* --- Data sheets --------------------------------------------------------------------------------------------- */

/* A rate and its limit: an unknown limit is none, and an unknown rate stays unknown. */
static double lesser(double rate, double limit) {
    return rate > limit ? limit : rate;
}

/* Reduces the peak rates of a GPU to those it sustains, from its data sheet.
 *
 * Clock: a GPU with a low power limit for its units and boost clock does not sustain that clock, since power grows with
 * more than its square; 1.4 W per unit and GHz are enough (RTX 4090 and 5090). Products: a watt sustains about 0.8
 * TFLOP/s of 16-bit products, and much less of float32. Bandwidth: a unit requests at most about 12 bytes a cycle in
 * typical kernels, so few units do not saturate a fast memory. */
static void limit_to_sustained(const ft_device *device, torch_sheet *s) {
    static const double ENOUGH_W = 1.4, EXPONENT = 0.4, FLOPS_PER_W = 0.8e12, BYTES_PER_CYCLE = 12;
    double units = ft_device_number(device, "units"), clock = ft_device_number(device, "clock_hz"),
           power = ft_device_number(device, "power_w");
    double share = power / (units * clock * 1e-9 * ENOUGH_W), sustained = share < 1 ? pow(share, EXPONENT) : 1;
    s->peak32 *= sustained;
    s->product32 = lesser(s->product32, device_float32_per_watt(device) * power);
    s->peak19 = lesser(s->peak19 * sustained, FLOPS_PER_W / 2 * power);
    s->peak16 = lesser(s->peak16 * sustained, FLOPS_PER_W * power);
    s->peak16b = lesser(s->peak16b * sustained, FLOPS_PER_W * power);
    double requested = BYTES_PER_CYCLE * units * clock * sustained;
    if (requested > 0) s->bandwidth = 1 / (1 / s->bandwidth + 1 / requested);
}

ft_status torch_sheet_read(const ft_device *device, torch_sheet *sheet, ft_error *error) {
    torch_sheet made = {.is_gpu = strcmp(ft_device_kind(device), "gpu") == 0};
    made.peak32 = ft_device_number(device, "peak_float32_flops");
    made.bandwidth = ft_device_number(device, "bandwidth_bytes_per_s");
    made.product32 = fmax(made.peak32, ft_device_number(device, "peak_float32_matrix_flops")); /* ignores NaN */
    if (strcmp(ft_device_kind(device), "npu") == 0)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "'%s' is an NPU, which does not run PyTorch", ft_device_name(device));
    if (isnan(made.peak32) || isnan(made.bandwidth))
        return ft_fail(error, FT_ERR_UNSUPPORTED,
                       "'%s' was not measured, and its file lacks peak_float32_flops or bandwidth_bytes_per_s",
                       ft_device_name(device));
    made.peak19 = ft_device_number(device, "peak_tensorfloat32_flops");
    made.peak16 = ft_device_number(device, "peak_float16_flops");
    made.peak16b = ft_device_number(device, "peak_bfloat16_flops");
    double int8 = ft_device_number(device, "peak_int8_ops"), half = made.peak16;
    if (made.is_gpu) limit_to_sustained(device, &made);
    if (int8 > 0 && half > 0) made.peak8 = int8 * (made.peak16 / half); /* the same power and clock */
    /* A missing rate is that of the next wider type. */
    if (isnan(made.peak19)) made.peak19 = made.product32;
    if (isnan(made.peak16)) made.peak16 = made.peak19;
    if (isnan(made.peak16b)) made.peak16b = made.peak19;
    *sheet = made;
    return FT_OK;
}

bool torch_sheet_lacks_type(const torch_sheet *sheet, ft_dtype dtype) {
    if (!sheet->is_gpu) return false;
    return (dtype == FT_FLOAT16 && sheet->peak16 <= sheet->peak19) ||
           (dtype == FT_BFLOAT16 && sheet->peak16b <= sheet->peak19);
}

/* Rate of products, of cuDNN or of cuBLAS: `other` is the setting where only the other kind is TensorFloat-32. */
static double product_rate(const torch_sheet *sheet, const torch_setting *setting, torch_tf32 other) {
    if (setting->dtype == FT_FLOAT16) return sheet->peak16;
    if (setting->dtype == FT_BFLOAT16) return sheet->peak16b;
    if (setting->tf32 == TORCH_TF32_NONE || setting->tf32 == other)
        return sheet->product32 > 0 ? sheet->product32 : sheet->peak32;
    return fmax(sheet->peak19, sheet->product32);
}

void torch_sheet_anchors(const torch_sheet *sheet, const torch_setting *setting, double anchors[static TORCH_ANCHORS]) {
    assert(sheet->bandwidth > 0 && sheet->peak32 > 0);
    static const double LAUNCH_US = 4, SERIAL_US = 0.3, SELDOM_US = 1e-3;
    double byte = 1e6 / sheet->bandwidth;
    anchors[TORCH_LAUNCHES] = LAUNCH_US;
    anchors[TORCH_PRODUCTS] = 2e6 / product_rate(sheet, setting, TORCH_TF32_MATMUL);
    anchors[TORCH_ATTENDED] = anchors[TORCH_MATMUL_RATE] = 2e6 / product_rate(sheet, setting, TORCH_TF32_CONV);
    anchors[TORCH_VECTOR_PRODUCTS] = 2e6 / sheet->peak32;
    anchors[TORCH_SCORES] = 4 * byte;
    anchors[TORCH_MOVED] = anchors[TORCH_CASTS] = anchors[TORCH_WEIGHTS] = byte;
    anchors[TORCH_FLOPS] = 1e6 / sheet->peak32;
    /* The chain of loads of one pixel of one map, which compiled code runs in parallel. */
    anchors[TORCH_SERIAL] = sheet->is_gpu && setting->is_compiled != TORCH_YES ? SERIAL_US : SELDOM_US;
}

void torch_int8_anchors(const torch_sheet *sheet, double anchors[static TORCH_ANCHORS]) {
    double faster = sheet->peak8 > 0 ? sheet->peak8 / sheet->peak16 : 2;
    if (faster < 1) faster = 1; /* an engine runs a layer in float16 where that is faster */
    anchors[TORCH_PRODUCTS] /= faster;
    anchors[TORCH_MATMUL_RATE] /= faster;
    anchors[TORCH_MOVED] /= 2;
    anchors[TORCH_WEIGHTS] /= 2;
}

/* --- Algorithms ------------------------------------------------------------------------------------------------- */

/* A dense convolution of 3 x 3 pixels at stride 1, for which cuDNN has Winograd's algorithm. */
static bool is_winograd(const torch_row *row) {
    static const float LOG_OF_3 = 1.585F;
    const float *f = row->features;
    return f[TORCH_FLAG_KIND + TORCH_CONV] != 0 && f[TORCH_SIZE_GROUPS] == 0 &&
           fabsf(f[TORCH_SIZE_WINDOW] - LOG_OF_3) < 0.01F && f[TORCH_SIZE_STRIDE] == 0;
}

/* Whether convolutions run in plain float32, also because a GPU has no faster type. */
static bool is_plain_float32(const torch_sheet *sheet, const torch_setting *s) {
    if (s->dtype == FT_FLOAT16 || s->dtype == FT_BFLOAT16) return torch_sheet_lacks_type(sheet, s->dtype);
    bool has_tf32 = sheet->peak19 > fmax(sheet->product32, sheet->peak32);
    return !has_tf32 || s->tf32 == TORCH_TF32_NONE || s->tf32 == TORCH_TF32_MATMUL;
}

/* Matrix units before those with TensorFloat-32 (Volta, Turing). */
static bool has_early_matrix_units(const torch_sheet *sheet) {
    double plain = fmax(sheet->product32, sheet->peak32);
    return sheet->peak16 > 1.5 * plain && sheet->peak19 <= plain;
}

/* Both ratios are fitted to torchvision models at batch 12, each to hold on a GPU that it was not fitted to
 * (docs/hosts.md): Winograd's algorithm in plain float32; and models in 16 bits with channels first, whose tensors
 * Volta and Turing transpose around each product. */
float torch_algorithm_ratio(const torch_sheet *sheet, const torch_setting *setting, const torch_row *row) {
    static const float WINOGRAD = 0.7F, EARLY_HALF = 1.3F;
    if (is_plain_float32(sheet, setting)) return is_winograd(row) ? WINOGRAD : 1;
    bool is_half = setting->dtype == FT_FLOAT16 && setting->is_mixed == TORCH_NO && setting->is_nhwc != TORCH_YES;
    return is_half && has_early_matrix_units(sheet) ? EARLY_HALF : 1;
}

/* --- The nearest setting -------------------------------------------------------------------------------------- */

/* Distance per difference between settings, the largest first. */
static const double FAR_KIND = 1e6, FAR_MODE = 1e4, FAR_DEVICE = 1e3, FAR_DTYPE = 300, FAR_COMPILE = 200,
                    FAR_LAYOUT = 100, FAR_MIXED = 50, FAR_MAJOR = 20, FAR_SHEET = 1, FAR_MINOR = 0.1;

static double sheet_distance(const torch_sheet *a, const torch_sheet *b) {
    return fabs(log(a->peak16 / b->peak16)) + fabs(log(a->peak32 / b->peak32)) + fabs(log(a->bandwidth / b->bandwidth));
}

static double choice_distance(torch_choice known, torch_choice requested, double far, bool *is_assumed) {
    if ((known == TORCH_YES) == (requested == TORCH_YES)) return 0;
    *is_assumed = true;
    return far;
}

static double type_distance(const torch_setting *known, const torch_setting *requested, bool *is_assumed) {
    bool is_narrow = requested->dtype == FT_FLOAT16 || requested->dtype == FT_BFLOAT16,
         was_narrow = known->dtype != FT_FLOAT32;
    if (requested->dtype == FT_DTYPE_UNKNOWN || known->dtype == requested->dtype) return 0;
    if (is_narrow && was_narrow) return FAR_DTYPE / 100;
    *is_assumed = true;
    return FAR_DTYPE;
}

/* An open version means the newest. */
static double version_distance(int32_t known, int32_t requested, bool *is_assumed) {
    int32_t wanted = requested > 0 ? requested : 9999;
    if (requested > 0 && known / 100 != requested / 100) {
        *is_assumed = true;
        return FAR_MAJOR + FAR_MINOR * abs(known - wanted);
    }
    return FAR_MINOR * abs(known - wanted);
}

static double distance(const torch_setting *known, const torch_sheet *known_sheet, const torch_setting *requested,
                       const torch_sheet *sheet, bool *is_assumed) {
    double sum = 0;
    if (known_sheet->is_gpu != sheet->is_gpu) sum += FAR_KIND;
    if (known->mode != requested->mode) sum += FAR_MODE;
    if (sum > 0) *is_assumed = true;
    if (known->device != requested->device) sum += FAR_DEVICE + FAR_SHEET * sheet_distance(known_sheet, sheet);
    sum += type_distance(known, requested, is_assumed);
    sum += choice_distance(known->is_compiled, requested->is_compiled, FAR_COMPILE, is_assumed);
    sum += choice_distance(known->is_nhwc, requested->is_nhwc, FAR_LAYOUT, is_assumed);
    bool is_amp_assumed = false; /* plain 16 bits from autocast is no assumption: the rows differ */
    torch_choice mixed = requested->is_mixed != TORCH_OPEN ? requested->is_mixed : TORCH_YES; /* open: with the type */
    sum += choice_distance(known->is_mixed, mixed, FAR_MIXED, &is_amp_assumed);
    return sum + version_distance(known->version, requested->version, is_assumed);
}

torch_match torch_setting_nearest(const torch_setting *settings, const torch_sheet *sheets, uint32_t count,
                                  const torch_setting *requested, const torch_sheet *sheet) {
    torch_match best = {.setting = FT_NONE, .distance = INFINITY};
    assert(count <= TORCH_MAX_SETTINGS);
    for (uint32_t i = 0; i < count; i++) {
        bool is_assumed = false;
        double far = distance(&settings[i], &sheets[settings[i].device], requested, sheet, &is_assumed);
        if (far >= best.distance) continue;
        best = (torch_match){.setting = i, .distance = far, .is_assumed = is_assumed};
    }
    return best;
}

/* "2.4", or "unknown" for measurements without a version. */
static void version_text(int32_t version, char text[static 32]) {
    if (version < 100)
        snprintf(text, 32, "torch=unknown");
    else
        snprintf(text, 32, "torch=%d.%d", version / 100, version % 100);
}

void torch_setting_difference(const torch_setting *known, const torch_setting *requested,
                              char text[static TORCH_DIFFERENCE_SIZE]) {
    static const char *const mode[] = {"inference", "training"}, *const compile[] = {"compile=no", "compile=yes"},
                             *const layout[] = {"layout=nchw", "layout=nhwc"};
    const torch_setting *const both[] = {known, requested};
    char words[2][32];
    for (uint32_t i = 0; i < 2; i++) {
        const torch_setting *s = both[i];
        if (known->mode != requested->mode)
            snprintf(words[i], sizeof words[i], "%s", mode[s->mode == FT_TRAIN]);
        else if (known->dtype != requested->dtype)
            snprintf(words[i], sizeof words[i], "%s", ft_dtype_name(s->dtype));
        else if ((known->is_compiled == TORCH_YES) != (requested->is_compiled == TORCH_YES))
            snprintf(words[i], sizeof words[i], "%s", compile[s->is_compiled == TORCH_YES]);
        else if ((known->is_nhwc == TORCH_YES) != (requested->is_nhwc == TORCH_YES))
            snprintf(words[i], sizeof words[i], "%s", layout[s->is_nhwc == TORCH_YES]);
        else
            version_text(s->version, words[i]);
    }
    snprintf(text, TORCH_DIFFERENCE_SIZE, "%s was not measured on this device, but %s", words[1], words[0]);
}

/* --- Saving and loading -------------------------------------------------------------------------------------- */

json_t *torch_setting_save(const torch_setting *c) {
    return json_pack("[i, i, i, i, i, i, i, i]", (int)c->device, (int)c->mode, (int)c->dtype, (int)c->is_mixed,
                     (int)c->is_compiled, (int)c->is_nhwc, (int)c->version, (int)c->typical_batch);
}

ft_status torch_setting_load(const json_t *list, uint32_t device_count, torch_setting *c, ft_error *error) {
    const double max[] = {
        (double)device_count - 1, FT_TRAIN, FT_BFLOAT16, TORCH_YES, TORCH_YES, TORCH_YES, 9999, 1 << 24};
    enum { FIELDS = sizeof max / sizeof max[0] };
    double values[FIELDS];
    if (!json_is_array(list) || json_array_size(list) != FIELDS)
        return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: a column is not a list of %d integers", FIELDS);
    for (size_t i = 0; i < FIELDS; i++) {
        const json_t *item = json_array_get(list, i);
        values[i] = json_is_integer(item) ? (double)json_integer_value(item) : -1;
        if (!(values[i] >= 0 && values[i] <= max[i]))
            return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: number %zu of a column is out of bounds", i + 1);
    }
    *c = (torch_setting){.device = (uint32_t)values[0],
                         .mode = (ft_mode)values[1],
                         .dtype = (ft_dtype)values[2],
                         .is_mixed = (torch_choice)values[3],
                         .is_compiled = (torch_choice)values[4],
                         .is_nhwc = (torch_choice)values[5],
                         .version = (int32_t)values[6],
                         .typical_batch = (uint32_t)values[7]};
    return FT_OK;
}

json_t *torch_sheet_save(const torch_sheet *s) {
    return json_pack("[b, f, f, f, f, f]", s->is_gpu, s->peak16, s->peak16b, s->peak19, s->peak32, s->bandwidth);
}

ft_status torch_sheet_load(const json_t *list, torch_sheet *sheet, ft_error *error) {
    double *const values[] = {&sheet->peak16, &sheet->peak16b, &sheet->peak19, &sheet->peak32, &sheet->bandwidth};
    enum { FIELDS = sizeof values / sizeof values[0] };
    if (!json_is_array(list) || json_array_size(list) != FIELDS + 1 || !json_is_boolean(json_array_get(list, 0)))
        return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: a data sheet is not a boolean and %d rates", FIELDS);
    sheet->is_gpu = json_is_true(json_array_get(list, 0));
    for (size_t i = 0; i < FIELDS; i++) {
        *values[i] = json_number_value(json_array_get(list, i + 1));
        if (!(*values[i] >= 1 && *values[i] <= 1e24))
            return ft_fail(error, FT_ERR_DAMAGED, "torch-sum: a rate of a data sheet is out of bounds");
    }
    return FT_OK;
}
