/* device.c - data sheets of devices: the bundled ones and files of users.
 *
 * A device file is one JSON object, described in docs/devices.md. Everything in it is checked: an unknown key is an
 * error, because a number under a misspelt name would be silently missing. Numbers that are not known are absent from
 * the file, and NaN here. */
#include "device/device.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/input.h"
#include "base/json.h"
#include "base/yaml.h"

/* The numbers of a data sheet. */
#define NUMBER_LIST(X)                                                                                                 \
    X("threads")                                                                                                       \
    X("units")                                                                                                         \
    X("clock_hz")                                                                                                      \
    X("base_clock_hz")                                                                                                 \
    X("tensor_clock_hz")                                                                                               \
    X("compute_capability")                                                                                            \
    X("unit_threads")                                                                                                  \
    X("unit_shared_bytes")                                                                                             \
    X("unit_l1_bytes")                                                                                                 \
    X("unit_registers")                                                                                                \
    X("thread_registers")                                                                                              \
    X("warp_threads")                                                                                                  \
    X("peak_float64_flops")                                                                                            \
    X("peak_float32_flops")                                                                                            \
    X("peak_float32_matrix_flops")                                                                                     \
    X("peak_tensorfloat32_flops")                                                                                      \
    X("peak_float16_flops")                                                                                            \
    X("peak_bfloat16_flops")                                                                                           \
    X("peak_float16_vector_flops")                                                                                     \
    X("peak_float8_flops")                                                                                             \
    X("peak_float4_flops")                                                                                             \
    X("peak_int8_ops")                                                                                                 \
    X("memory_bytes")                                                                                                  \
    X("memory_bus_bits")                                                                                               \
    X("memory_rate_bits_per_s")                                                                                        \
    X("bandwidth_bytes_per_s")                                                                                         \
    X("l2_bytes")                                                                                                      \
    X("cache_bytes")                                                                                                   \
    X("power_w")                                                                                                       \
    X("price_per_hour")                                                                                                \
    X("link_count")                                                                                                    \
    X("link_bytes_per_s")                                                                                              \
    X("host_bytes_per_s")                                                                                              \
    X("launch_s")

#define NUMBER_NAME(name) name,
static const char *const number_names[] = {NUMBER_LIST(NUMBER_NAME)};
#undef NUMBER_NAME

enum { NUMBER_COUNT = sizeof number_names / sizeof number_names[0] };

struct ft_device {
    char name[DEVICE_NAME_BYTES];
    char text[DEVICE_TEXT_BYTES];
    char kind[DEVICE_NAME_BYTES];
    char runtime[DEVICE_TEXT_BYTES];
    char architecture[DEVICE_NAME_BYTES]; /* "": unknown */
    double values[NUMBER_COUNT];          /* NaN: unknown */
};

/* --- Parsing ------------------------------------------------------------------------------------------------- */

static ft_status read_text(const json_t *value, char *text, size_t size, ft_error *error) {
    const char *found;
    FT_TRY(json_read_string(value, &found, error));
    size_t length = strlen(found);
    if (length == 0 || length >= size)
        return ft_fail(error, FT_ERR_DAMAGED, "has %zu characters; 1 to %zu are allowed", length, size - 1);
    memcpy(text, found, length + 1);
    return FT_OK;
}

/* Names are used in tables and file names: no spaces, no slashes. */
static ft_status read_name(const json_t *value, char *name, ft_error *error) {
    FT_TRY(read_text(value, name, DEVICE_NAME_BYTES, error));
    size_t valid = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    if (name[valid] != '\0')
        return ft_fail(error, FT_ERR_DAMAGED, "'%s' is not a valid name: use letters, digits, '-', '_' and '.'", name);
    return FT_OK;
}

static ft_status read_kind(const json_t *value, char *kind, ft_error *error) {
    FT_TRY(read_text(value, kind, DEVICE_NAME_BYTES, error));
    if (strcmp(kind, "cpu") == 0 || strcmp(kind, "gpu") == 0 || strcmp(kind, "npu") == 0) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "is '%s', but 'cpu', 'gpu' or 'npu' is expected", kind);
}

/* Other names are used for bundled devices only (scripts/embed), but checked in every file. */
static ft_status check_list(const json_t *value, bool is_names, ft_error *error) {
    if (!json_is_array(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but a list of strings is expected", json_kind(value));
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        char name[DEVICE_NAME_BYTES];
        const char *text;
        ft_status status = is_names ? read_name(item, name, error) : json_read_string(item, &text, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "item %zu", i + 1);
    }
    return FT_OK;
}

static ft_status read_version(const json_t *value, ft_error *error) {
    if (!json_is_integer(value) || json_integer_value(value) < 1)
        return ft_fail(error, FT_ERR_DAMAGED, "must be %d", DEVICE_VERSION);
    if (json_integer_value(value) > DEVICE_VERSION)
        return ft_fail(error, FT_ERR_UNSUPPORTED, "is %lld, but this version reads only %d: install a newer foretell",
                       (long long)json_integer_value(value), DEVICE_VERSION);
    return FT_OK;
}

static ft_status read_key(ft_device *device, const char *key, const json_t *value, ft_error *error) {
    if (strcmp(key, "foretell_device") == 0) return read_version(value, error);
    if (strcmp(key, "name") == 0) return read_name(value, device->name, error);
    if (strcmp(key, "text") == 0) return read_text(value, device->text, sizeof device->text, error);
    if (strcmp(key, "other_names") == 0) return check_list(value, true, error);
    if (strcmp(key, "kind") == 0) return read_kind(value, device->kind, error);
    if (strcmp(key, "runtime") == 0) return read_text(value, device->runtime, sizeof device->runtime, error);
    if (strcmp(key, "architecture") == 0)
        return json_is_null(value) ? FT_OK : read_text(value, device->architecture, sizeof device->architecture, error);
    if (strcmp(key, "sources") == 0) return check_list(value, false, error);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        if (strcmp(key, number_names[i]) != 0) continue;
        return json_is_null(value) ? FT_OK : json_read_number(value, 1e-12, 1e30, &device->values[i], error);
    }
    return ft_fail(error, FT_ERR_DAMAGED, "is an unknown key; 'foretell list devices --template' prints all keys");
}

/* The required keys that are absent, all in one message. */
static ft_status check_required(const json_t *document, ft_error *error) {
    static const char *const required[] = {"foretell_device", "name", "kind", "runtime"};
    char missing[128] = "";
    size_t length = 0, count = 0;
    for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
        if (json_object_get(document, required[i]) != NULL) continue;
        length +=
            (size_t)snprintf(missing + length, sizeof missing - length, "%s'%s'", count > 0 ? ", " : "", required[i]);
        count++;
    }
    if (count == 0) return FT_OK;
    return ft_fail(error, FT_ERR_FORMAT,
                   "is no device file: it has no key%s %s; 'foretell list devices --template' prints a file to fill in",
                   count > 1 ? "s" : "", missing);
}

static ft_status read_all(ft_device *device, const json_t *document, ft_error *error) {
    if (!json_is_object(document))
        return ft_fail(error, FT_ERR_FORMAT,
                       "is no device file: it holds %s instead of an object; 'foretell list devices --template' prints "
                       "a file to fill in",
                       json_kind(document));
    if (json_object_get(document, "foretell_device") == NULL) return check_required(document, error);
    for (size_t i = 0; i < NUMBER_COUNT; i++) device->values[i] = NAN;
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)document, key, value) {
        ft_status status = read_key(device, key, value, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "'%s'", key);
    }
    return check_required(document, error);
}

ft_status device_parse(const char *bytes, size_t size, const char *name, ft_device **device, ft_error *error) {
    if (size > DEVICE_MAX_BYTES)
        return ft_fail(error, FT_ERR_LIMIT, "%s: has %zu bytes; a device file has at most %d", name, size,
                       DEVICE_MAX_BYTES);
    json_t *document;
    ft_status status = config_text_parse(bytes, size, &document, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "%s", name);
    ft_device *new_device = calloc(1, sizeof *new_device);
    status = new_device != NULL ? read_all(new_device, document, error) : FT_NOMEM(error);
    json_decref(document);
    if (status != FT_OK) {
        free(new_device);
        return ft_fail_prefix(error, status, "%s", name);
    }
    assert(new_device->name[0] != '\0' && new_device->kind[0] != '\0' && new_device->runtime[0] != '\0');
    *device = new_device;
    return FT_OK;
}

/* --- Opening ------------------------------------------------------------------------------------------------- */

static ft_status open_file(const char *path, ft_device **device, ft_error *error) {
    input in;
    FT_TRY(input_open(path, DEVICE_MAX_BYTES, &in, error));
    ft_status status = device_parse((const char *)in.bytes, in.size, path, device, error);
    input_close(&in);
    return status;
}

static ft_status fail_unknown(const char *name, ft_error *error) {
    ft_status status = embedded_fail(device_builtin, device_builtin_count, "device", "devices", name, error);
    if (error == NULL) return status;
    size_t length = strlen(error->message);
    snprintf(error->message + length, sizeof error->message - length,
             ", 'foretell list devices --template' prints a file to describe another");
    return status;
}

ft_status ft_device_open(const char *name, ft_device **device, ft_error *error) {
    FT_REQUIRE(error, name, device);
    const embedded_file *file = embedded_find(device_builtin, device_builtin_count, name);
    const char *matched = file == NULL && !embedded_is_path(name) ? ft_device_match(name) : NULL;
    if (matched != NULL) file = embedded_find(device_builtin, device_builtin_count, matched);
    if (file != NULL) {
        /* Bundled files are valid: parsing one fails only when out of memory. */
        ft_status status = device_parse(file->json, strlen(file->json), file->name, device, error);
        return status == FT_OK ? FT_OK : FT_NOMEM(error);
    }
    if (embedded_is_path(name)) return open_file(name, device, error);
    return fail_unknown(name, error);
}

void ft_device_free(ft_device *device) {
    free(device);
}

const char *ft_device_name(const ft_device *device) {
    return device != NULL ? device->name : NULL;
}

const char *ft_device_text(const ft_device *device) {
    return device != NULL ? device->text : NULL;
}

const char *ft_device_kind(const ft_device *device) {
    return device != NULL ? device->kind : NULL;
}

const char *ft_device_runtime(const ft_device *device) {
    return device != NULL ? device->runtime : NULL;
}

const char *ft_device_architecture(const ft_device *device) {
    return device->architecture;
}

double device_float32_per_watt(const ft_device *device) {
    static const struct {
        const char *name;
        double flops;
    } known[] = {{"Pascal", 70e9}, {"Volta", 70e9},   {"Turing", 70e9},    {"Ampere", 75e9},
                 {"Ada", 135e9},   {"Hopper", 135e9}, {"Blackwell", 135e9}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(device->architecture, known[i].name, strlen(known[i].name)) == 0) return known[i].flops;
    return NAN;
}

double ft_device_number(const ft_device *device, const char *key) {
    if (device == NULL || key == NULL) return NAN;
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        if (strcmp(key, number_names[i]) == 0) return device->values[i];
    }
    return NAN;
}

/* A number of the template is null, which is the same as absent. */
#define NUMBER_TEMPLATE(name) "  \"" name "\": null,\n"
static const char template_text[] = "{\n"
                                    "  \"foretell_device\": 1,\n"
                                    "  \"name\": \"my-device\",\n"
                                    "  \"text\": \"one line of description\",\n"
                                    "  \"kind\": \"gpu\",\n"
                                    "  \"runtime\": \"torch-eager\",\n"
                                    "  \"architecture\": null,\n" NUMBER_LIST(NUMBER_TEMPLATE) "  \"sources\": []\n"
                                                                                               "}\n";
#undef NUMBER_TEMPLATE

const char *ft_device_template(void) {
    return template_text;
}

const char *ft_device_number_name(uint32_t index) {
    return index < NUMBER_COUNT ? number_names[index] : NULL;
}

uint32_t ft_device_count(void) {
    return device_builtin_count;
}

const char *ft_device_name_at(uint32_t index) {
    return index < device_builtin_count ? device_builtin[index].name : NULL;
}

const char *ft_device_text_at(uint32_t index) {
    return index < device_builtin_count ? device_builtin[index].text : NULL;
}

const char *ft_device_canonical(const char *name) {
    if (name == NULL) return NULL;
    const embedded_file *file = embedded_find(device_builtin, device_builtin_count, name);
    return file != NULL ? file->name : NULL;
}

/* Names may contain dots, so the longest prefix of the file name that is a device name is used. */
const char *ft_device_of_file(const char *path) {
    if (path == NULL) return NULL;
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    char name[DEVICE_NAME_BYTES];
    for (size_t length = strlen(base); length > 0; length--) {
        if (base[length] != '.' || length >= sizeof name) continue;
        memcpy(name, base, length);
        name[length] = '\0';
        const char *device = ft_device_canonical(name);
        if (device != NULL) return device;
    }
    return NULL;
}

/* --- Names as drivers and people spell them -------------------------------------------------------------------- */

static bool is_vendor_word(const char *word, size_t length) {
    static const char *const words[] = {"nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "intel",
                                        "core",   "r",       "tm",    "cpu", "arm",    "qualcomm"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && strncmp(words[i], word, length) == 0) return true;
    return false;
}

/* "NVIDIA GeForce RTX 4090" and "RTX 4090" are rtx-4090: case, separators and vendor words do not count. All other
 * words do, so that a card with another memory size, or a laptop variant, does not match.
 *
 * Returns the words that count, joined, in lower case; "" when there are none or too many. The text after an @ is the
 * clock of a processor. */
static void simplify(const char *name, size_t length, char simple[static DEVICE_NAME_BYTES]) {
    size_t kept = 0, word = 0;
    simple[0] = '\0';
    for (size_t i = 0; i <= length; i++) {
        bool is_end = i == length || name[i] == '@';
        if (!is_end && isalnum((unsigned char)name[i])) {
            if (kept == DEVICE_NAME_BYTES - 1) return;
            simple[kept++] = (char)tolower((unsigned char)name[i]);
            continue;
        }
        if (is_vendor_word(simple + word, kept - word)) kept = word;
        word = kept;
        if (is_end) break;
    }
    assert(kept < DEVICE_NAME_BYTES);
    simple[kept] = '\0';
}

static bool is_same_name(const char *simple, const char *name, size_t length) {
    char other[DEVICE_NAME_BYTES];
    simplify(name, length, other);
    return strcmp(simple, other) == 0;
}

const char *ft_device_match(const char *name) {
    if (name == NULL) return NULL;
    char simple[DEVICE_NAME_BYTES];
    simplify(name, strlen(name), simple);
    for (uint32_t i = 0; i < device_builtin_count && simple[0] != '\0'; i++) {
        const embedded_file *file = &device_builtin[i];
        if (is_same_name(simple, file->name, strlen(file->name))) return file->name;
        for (const char *word = file->other_names; *word != '\0';) {
            size_t length = strcspn(word, " ");
            if (is_same_name(simple, word, length)) return file->name;
            word += length + strspn(word + length, " ");
        }
    }
    return NULL;
}
