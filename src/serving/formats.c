/* formats.c - packed formats of weights and of caches: bits of a number with its share of scales and zero points.
 *
 * Formats of llama.cpp mix types: half of the value projections and last matrices of a K format with "_m" have two bits
 * more, as llama.cpp chooses layers (the first and last eighth and a third of the others). Heads are packed too, with
 * 6.5625 bits (q6_K) at least, and the table of words as the layers. All other formats leave both in 16 bits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "serving/serving.h"

#define PLAIN(text, width)                                                                                             \
    { .name = (text), .bits = (width), .table_bits = (width), .head_bits = (width), .cache_bits = (width) }
/* A type of llama.cpp for all matrices but the head. */
#define SINGLE(text, width, head)                                                                                      \
    { .name = (text), .bits = (width), .table_bits = (width), .head_bits = (head) }
#define HALF(a, b) (((a) + (b)) / 2)

static const packed_format formats[] = {
    PLAIN("float32", 32),
    PLAIN("float16", 16),
    PLAIN("bfloat16", 16),
    {.name = "int8", .bits = 8, .cache_bits = 8},
    {.name = "int4", .bits = 4 + 20.0 / 128, .cache_bits = 4 + 32.0 / 128}, /* a scale and a zero point for each 128 */
    {.name = "fp8", .bits = 8 + 32.0 / (128 * 128), .cache_bits = 8},       /* float32 for each 128 x 128 */
    {.name = "nvfp4", .bits = 4 + 8.0 / 16, .cache_bits = 4 + 8.0 / 16},
    {.name = "mxfp4", .bits = 4 + 8.0 / 32, .is_of_experts = true},
    {.name = "mxfp8", .bits = 8 + 8.0 / 32},
    {.name = "nf4", .bits = 4 + 8.0 / 64 + 32.0 / (64 * 256)}, /* double quantisation */
    {.name = "q8_0", .bits = 8.5, .table_bits = 8.5, .head_bits = 8.5, .cache_bits = 8.5},
    {.name = "q6_k", .bits = 6.5625, .table_bits = 6.5625, .head_bits = 6.5625},
    {.name = "q5_k_m",
     .bits = 5.5,
     .value_bits = HALF(5.5, 6.5625),
     .down_bits = HALF(5.5, 6.5625),
     .fused_bits = 6.5625,
     .table_bits = 5.5,
     .head_bits = 6.5625},
    SINGLE("q5_k_s", 5.5, 6.5625),
    {.name = "q5_1", .bits = 6, .table_bits = 6, .head_bits = 6.5625, .cache_bits = 6},
    {.name = "q5_0", .bits = 5.5, .table_bits = 5.5, .head_bits = 6.5625, .cache_bits = 5.5},
    {.name = "q4_k_m",
     .bits = 4.5,
     .value_bits = HALF(4.5, 6.5625),
     .down_bits = HALF(4.5, 6.5625),
     .fused_bits = 5.5,
     .table_bits = 4.5,
     .head_bits = 6.5625},
    {.name = "q4_k_s", .bits = 4.5, .down_bits = 4.5 + 1.0 / 8, .table_bits = 4.5, .head_bits = 6.5625},
    {.name = "q4_1", .bits = 5, .table_bits = 5, .head_bits = 6.5625, .cache_bits = 5},
    {.name = "q4_0", .bits = 4.5, .table_bits = 4.5, .head_bits = 6.5625, .cache_bits = 4.5},
    SINGLE("iq4_nl", 4.5, 6.5625),
    SINGLE("iq4_xs", 4.25, 6.5625),
    {.name = "q3_k_l",
     .bits = 3.4375,
     .value_bits = 5.5,
     .down_bits = 5.5,
     .output_bits = 5.5,
     .fused_bits = 4.5,
     .table_bits = 3.4375,
     .head_bits = 6.5625},
    {.name = "q3_k_m",
     .bits = 3.4375,
     .value_bits = 4.5,
     .down_bits = 4.5,
     .output_bits = 4.5,
     .fused_bits = 4.5,
     .table_bits = 3.4375,
     .head_bits = 6.5625},
    SINGLE("q3_k_s", 3.4375, 6.5625),
    {.name = "q2_k",
     .bits = 2.625,
     .value_bits = 4.5,
     .down_bits = 3.4375,
     .output_bits = 3.4375,
     .table_bits = 2.625,
     .head_bits = 6.5625},
};

enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

/* Other names of the same. */
static const char *const aliases[][2] = {
    {"bf16", "bfloat16"}, {"fp16", "float16"}, {"f16", "float16"},  {"fp32", "float32"}, {"f32", "float32"},
    {"float8", "fp8"},    {"fp8_e4m3", "fp8"}, {"fp8_e5m2", "fp8"}, {"awq", "int4"},     {"gptq", "int4"}};

const packed_format *packed_format_find(const char *name) {
    char lower[32];
    size_t length = strlen(name);
    if (length >= sizeof lower) return NULL;
    for (size_t i = 0; i <= length; i++) lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(aliases[i][0], lower) == 0) return packed_format_find(aliases[i][1]);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i].name, lower) == 0) return &formats[i];
    return NULL;
}

void packed_format_list(bool is_cache, char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        size_t used = strlen(text);
        if (is_cache && formats[i].cache_bits == 0) continue;
        snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", formats[i].name);
    }
}

const char *ft_packed_format_name(uint32_t index) {
    return index < FORMAT_COUNT ? formats[index].name : NULL;
}

double ft_packed_format_bits(const char *name) {
    const packed_format *format = name != NULL ? packed_format_find(name) : NULL;
    return format != NULL ? format->bits : NAN;
}
