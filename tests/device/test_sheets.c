/* Data sheets of the bundled GPUs: complete, and consistent with the rates of their architecture and their memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/embedded.h"
#include "base/json.h"
#include "device/device.h"

static const char *const rate_keys[] = {
    "peak_float64_flops", "peak_float32_flops",  "peak_float32_matrix_flops", "peak_tensorfloat32_flops",
    "peak_float16_flops", "peak_bfloat16_flops", "peak_float16_vector_flops", "peak_float8_flops",
    "peak_float4_flops",  "peak_int8_ops"};

enum { RATES = sizeof rate_keys / sizeof rate_keys[0] };

/* Operations of a multiprocessor per cycle, 0: there is no such peak. `prefix`: of the names of the devices. */
typedef struct unit_rates {
    const char *architecture, *prefix;
    double compute_capability; /* NAN: no NVIDIA GPU */
    double rates[RATES];
} unit_rates;

/* The first that fits counts: those with a prefix differ from their architecture. GeForce cards sum products at half
 * the rate of professional ones; an A10G, L40 and L20 are like them; an H20 has a quarter of the tensor cores. */
static const unit_rates table[] = {
    /*                            f64  f32  matrix tf32  f16   bf16  vector f8     f4     int8 */
    {"Kepler", "", 3.7, {128, 384, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"Maxwell", "", 5.2, {8, 256, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"Pascal GP100", "", 6.0, {64, 128, 0, 0, 0, 0, 256, 0, 0, 0}},
    {"Pascal", "", 6.1, {8, 256, 0, 0, 0, 0, 4, 0, 0, 1024}},
    {"Volta", "", 7.0, {64, 128, 0, 0, 1024, 0, 256, 0, 0, 512}},
    {"Turing", "rtx-", 7.5, {4, 128, 0, 0, 512, 0, 256, 0, 0, 2048}},
    {"Turing", "", 7.5, {4, 128, 0, 0, 1024, 0, 256, 0, 0, 2048}},
    {"Ampere GA100", "", 8.0, {128, 128, 0, 1024, 2048, 2048, 512, 0, 0, 4096}},
    {"Ampere", "rtx-30", 8.6, {4, 256, 0, 256, 512, 512, 256, 0, 0, 2048}},
    {"Ampere", "a10g", 8.6, {4, 256, 0, 256, 512, 512, 256, 0, 0, 1024}},
    {"Ampere", "", 8.6, {4, 256, 0, 512, 1024, 1024, 256, 0, 0, 2048}},
    {"Ampere GA10B", "", 8.7, {4, 256, 0, 1024, 2048, 2048, 512, 0, 0, 4096}},
    {"Ada", "rtx-40", 8.9, {4, 256, 0, 256, 512, 512, 256, 1024, 0, 2048}},
    {"Ada", "l40s", 8.9, {4, 256, 0, 512, 1024, 1024, 256, 2048, 0, 2048}},
    {"Ada", "l40", 8.9, {4, 256, 0, 256, 512, 512, 256, 1024, 0, 1024}},
    {"Ada", "l20", 8.9, {4, 256, 0, 256, 512, 512, 256, 1024, 0, 1024}},
    {"Ada", "", 8.9, {4, 256, 0, 512, 1024, 1024, 256, 2048, 0, 2048}},
    {"Hopper", "h800", 9.0, {3.826, 256, 0, 2048, 4096, 4096, 512, 8192, 0, 8192}},
    {"Hopper", "h200", 9.0, {256, 256, 0, 2048, 4096, 4096, 512, 8192, 0, 8192}},
    {"Hopper", "h20", 9.0, {6.475, 256, 0, 512, 1024, 1024, 512, 2048, 0, 2048}},
    {"Hopper", "", 9.0, {256, 256, 0, 2048, 4096, 4096, 512, 8192, 0, 8192}},
    {"Blackwell GB100", "", 10.0, {128, 256, 0, 4096, 8192, 8192, 512, 16384, 32768, 16384}},
    {"Blackwell Ultra", "", 10.3, {4, 256, 0, 4096, 8192, 8192, 512, 16384, 49152, 512}},
    {"Blackwell", "rtx-50", 12.0, {4, 256, 0, 256, 512, 512, 256, 1024, 4096, 2048}},
    {"Blackwell", "", 12.0, {4, 256, 0, 512, 1024, 1024, 256, 2048, 4096, 2048}},
    {"Vega 10", "", NAN, {8, 128, 0, 0, 0, 0, 256, 0, 0, 0}},
    {"Vega 20", "", NAN, {64, 128, 0, 0, 256, 0, 256, 0, 0, 512}},
    {"CDNA", "", NAN, {64, 128, 256, 0, 1024, 512, 256, 0, 0, 1024}},
    {"CDNA 2", "", NAN, {256, 128, 256, 0, 1024, 1024, 256, 0, 0, 1024}},
    {"CDNA 3", "", NAN, {256, 256, 256, 1024, 2048, 2048, 256, 4096, 0, 4096}},
    {"Xe HPC", "", NAN, {256, 256, 0, 2048, 4096, 4096, 512, 0, 0, 8192}},
    {"Xe2", "", NAN, {16, 256, 0, 1024, 2048, 2048, 512, 0, 0, 4096}},
};

static const unit_rates *rates_of(const char *architecture, const char *name) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].architecture, architecture) == 0 &&
            strncmp(table[i].prefix, name, strlen(table[i].prefix)) == 0)
            return &table[i];
    return NULL;
}

/* Products of tensor cores may be quoted at a clock of their own. */
static bool is_tensor_rate(const char *key) {
    static const char *const keys[] = {"peak_tensorfloat32_flops", "peak_float16_flops", "peak_bfloat16_flops",
                                       "peak_float8_flops",        "peak_float4_flops",  "peak_int8_ops"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(keys[i], key) == 0) return true;
    return false;
}

/* Within `share` of each other; two numbers that are missing agree. */
static bool agrees(double a, double b, double share) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    return fabs(a / b - 1) <= share;
}

static bool is_torch(const ft_device *device) {
    return strncmp(ft_device_runtime(device), "torch", 5) == 0;
}

/* Every number that a sheet may have is in it, or null where it does not exist or is not published. The threads of a
 * measurement, the launch overhead and what an hour costs are no properties of a GPU. */
static const char *find_missing(const json_t *document) {
    if (json_object_get(document, "architecture") == NULL) return "architecture";
    const char *key;
    for (uint32_t i = 0; (key = ft_device_number_name(i)) != NULL; i++) {
        if (strcmp(key, "threads") == 0 || strcmp(key, "launch_s") == 0 || strcmp(key, "price_per_hour") == 0) continue;
        if (json_object_get(document, key) == NULL) return key;
    }
    return NULL;
}

/* Those that every GPU has that runs PyTorch. */
static const char *find_unknown(const ft_device *device) {
    static const char *const keys[] = {
        "units",       "clock_hz",        "peak_float32_flops",     "memory_bytes",
        "l2_bytes",    "memory_bus_bits", "memory_rate_bits_per_s", "bandwidth_bytes_per_s",
        "cache_bytes", "power_w"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (isnan(ft_device_number(device, keys[i]))) return keys[i];
    return NULL;
}

static ft_device *open_gpu(uint32_t index) {
    ft_device *device = NULL;
    ft_error error;
    assert_int_equal(ft_device_open(ft_device_name_at(index), &device, &error), FT_OK);
    if (strcmp(ft_device_kind(device), "gpu") == 0) return device;
    ft_device_free(device);
    return NULL;
}

static void sheets_are_complete(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_device_count(); i++) {
        ft_device *device = open_gpu(i);
        if (device == NULL) continue;
        json_t *document = NULL;
        const char *text = device_builtin[i].json;
        assert_int_equal(json_parse(text, strlen(text), &document, NULL), FT_OK);
        const char *missing = find_missing(document), *unknown = is_torch(device) ? find_unknown(device) : NULL;
        if (missing != NULL) fail_msg("%s: '%s' is missing: give it, or null", ft_device_name(device), missing);
        if (unknown != NULL) fail_msg("%s: '%s' is null", ft_device_name(device), unknown);
        assert_true(json_array_size(json_object_get(document, "sources")) > 0);
        assert_true(strlen(ft_device_architecture(device)) > 0);
        json_decref(document);
        ft_device_free(device);
    }
}

static void incomplete_sheets_are_found(void **state) {
    (void)state;
    json_t *document = NULL;
    ft_device *device = NULL;
    const char *text = device_builtin[0].json;
    assert_int_equal(ft_device_open("rtx-3090", &device, NULL), FT_OK);
    assert_null(find_unknown(device));
    ft_device_free(device);
    for (uint32_t i = 0; i < device_builtin_count; i++)
        if (strcmp(device_builtin[i].name, "rtx-3090") == 0) text = device_builtin[i].json;
    assert_int_equal(json_parse(text, strlen(text), &document, NULL), FT_OK);
    assert_null(find_missing(document));
    json_object_del(document, "peak_tensorfloat32_flops");
    assert_string_equal(find_missing(document), "peak_tensorfloat32_flops");
    json_object_del(document, "architecture");
    assert_string_equal(find_missing(document), "architecture");
    json_decref(document);
    const char *old = "{\"foretell_device\": 1, \"name\": \"x\", \"kind\": \"gpu\", \"runtime\": \"torch-eager\"}";
    assert_int_equal(device_parse(old, strlen(old), "x", &device, NULL), FT_OK);
    assert_string_equal(find_unknown(device), "units");
    assert_string_equal(ft_device_architecture(device), "");
    ft_device_free(device);
}

/* Gaudi's matrix engines are not parts of its processors. */
static void peaks_are_units_times_clock_times_rate(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_device_count(); i++) {
        ft_device *device = open_gpu(i);
        if (device == NULL) continue;
        const char *name = ft_device_name(device), *architecture = ft_device_architecture(device);
        const unit_rates *rates = rates_of(architecture, name);
        if (!is_torch(device) || strncmp(architecture, "Gaudi", 5) == 0) {
            ft_device_free(device);
            continue;
        }
        if (rates == NULL) fail_msg("%s: the rates of '%s' are unknown: add them here", name, architecture);
        double units = ft_device_number(device, "units"), clock = ft_device_number(device, "clock_hz"),
               tensor = ft_device_number(device, "tensor_clock_hz");
        if (!agrees(ft_device_number(device, "compute_capability"), rates->compute_capability, 0))
            fail_msg("%s: compute_capability is not that of '%s'", name, architecture);
        for (size_t k = 0; k < RATES; k++) {
            double hz = is_tensor_rate(rate_keys[k]) && !isnan(tensor) ? tensor : clock;
            double expected = rates->rates[k] > 0 ? rates->rates[k] * units * hz : NAN;
            double peak = ft_device_number(device, rate_keys[k]);
            if (!agrees(peak, expected, 0.03))
                fail_msg("%s: %s is %g, but units, clock and architecture give %g", name, rate_keys[k], peak, expected);
        }
        ft_device_free(device);
    }
}

static void bandwidth_is_bus_times_rate(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_device_count(); i++) {
        ft_device *device = open_gpu(i);
        if (device == NULL) continue;
        double computed =
                   ft_device_number(device, "memory_bus_bits") / 8 * ft_device_number(device, "memory_rate_bits_per_s"),
               stated = ft_device_number(device, "bandwidth_bytes_per_s");
        if (is_torch(device) && !agrees(stated, computed, 0.02))
            fail_msg("%s: %g B/s, but bus and data rate give %g", ft_device_name(device), stated, computed);
        ft_device_free(device);
    }
}

/* Clocks, caches and links in plausible proportions. */
static void sheets_are_plausible(void **state) {
    (void)state;
    for (uint32_t i = 0; i < ft_device_count(); i++) {
        ft_device *device = open_gpu(i);
        if (device == NULL) continue;
        double base = ft_device_number(device, "base_clock_hz"), boost = ft_device_number(device, "clock_hz"),
               tensor = ft_device_number(device, "tensor_clock_hz"), l2 = ft_device_number(device, "l2_bytes"),
               shared = ft_device_number(device, "unit_shared_bytes"), l1 = ft_device_number(device, "unit_l1_bytes");
        double links = ft_device_number(device, "link_count"), rate = ft_device_number(device, "link_bytes_per_s");
        const char *name = ft_device_name(device);
        if (base > boost || tensor > boost) fail_msg("%s: a clock is above the boost clock", name);
        if (l2 > ft_device_number(device, "cache_bytes")) fail_msg("%s: the last cache is the smaller one", name);
        if (isnan(links) != isnan(rate)) fail_msg("%s: links without a rate, or a rate without links", name);
        if (rate / links < 10e9 || rate / links > 70e9) fail_msg("%s: %g B/s a link", name, rate / links);
        if (isnan(shared) != isnan(l1)) fail_msg("%s: shared memory without level-1 cache", name);
        ft_device_free(device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sheets_are_complete),
        cmocka_unit_test(incomplete_sheets_are_found),
        cmocka_unit_test(peaks_are_units_times_clock_times_rate),
        cmocka_unit_test(bandwidth_is_bus_times_rate),
        cmocka_unit_test(sheets_are_plausible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
