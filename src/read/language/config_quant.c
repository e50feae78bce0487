/* config_quant.c - how the weights of a model are packed: "quantization_config" of its config.json, or a file
 * hf_quant_config.json beside it.
 *
 * Methods differ in what they pack, in how many bits, and in the block of weights that has a scale. Modules that are
 * left as they are come as names, patterns or regular expressions of names, often one for each layer: their words
 * decide, and of modules that are named layer by layer, whether that is at least half of the layers. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input.h"
#include "read/language/config.h"

/* --- Methods ----------------------------------------------------------------------------------------------------- */

typedef struct method {
    const char *names; /* of "quant_method", "quant_algo" or "format", separated by spaces, in small letters */
    language_format format;
    bool is_of_experts; /* leaves all other matrices as they are */
} method;

/* clang-format off */
static const method methods[] = {
    {"fp8 float-quantized fp8_pb_wo", {.bits = 8, .is_float = true, .scale_dtype = FT_FLOAT32}, false},
    {"fbgemm_fp8 fp8_per_channel_per_token", {.bits = 8, .is_float = true, .rows = 1, .scale_dtype = FT_FLOAT32}, false},
    {"mxfp8", {.bits = 8, .is_float = true, .rows = 1, .group = 32, .scale_dtype = FT_FLOAT8}, false},
    {"nvfp4 nvfp4-pack-quantized", {.bits = 4, .is_float = true, .rows = 1, .group = 16, .scale_dtype = FT_FLOAT8}, false},
    {"w4a16_mxfp4 mxfp4-pack-quantized", {.bits = 4, .is_float = true, .rows = 1, .group = 32, .scale_dtype = FT_FLOAT8}, false},
    {"mxfp4", {.bits = 4, .is_float = true, .rows = 1, .group = 32, .scale_dtype = FT_FLOAT8}, true},
    {"gptq awq auto-round auto_round intel/auto-round w4a16_awq w4a8_awq w4a16 w4a8_nvfp4_fp8 pack-quantized marlin",
     {.bits = 4, .group = 128, .rows = 1, .has_zeros = true, .scale_dtype = FT_FLOAT16}, false},
    {"w8a16 w8a8_sq_per_channel int8 int8_sq int-quantized eetq", {.bits = 8, .rows = 1, .scale_dtype = FT_FLOAT32}, false},
    {"bitsandbytes bitsandbytes_4bit", {.bits = 4, .group = 64, .rows = 1, .scale_dtype = FT_UINT8}, false},
    {"bitsandbytes_8bit", {.bits = 8, .rows = 1, .scale_dtype = FT_FLOAT32}, false},
};
/* clang-format on */

static bool is_listed(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); length > 0 && at != NULL; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' ')) return true;
    return false;
}

static const method *find_method(const char *name) {
    char lower[48];
    size_t length = strlen(name);
    if (length >= sizeof lower || strchr(name, ' ') != NULL) return NULL;
    for (size_t i = 0; i <= length; i++) lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (is_listed(methods[i].names, lower)) return &methods[i];
    return NULL;
}

/* --- Sizes of the format ----------------------------------------------------------------------------------------- */

/* The first object of "config_groups" and its weights. */
static const json_t *group_weights(const json_t *quant) {
    const json_t *groups = json_object_get(quant, "config_groups");
    void *first = json_is_object(groups) ? json_object_iter((json_t *)(uintptr_t)groups) : NULL;
    return first != NULL ? json_object_get(json_object_iter_value(first), "weights") : NULL;
}

static void set_bits(config *c, language_format *f, int64_t bits, const char *key) {
    if (c->status != FT_OK || bits == 0) return;
    if (bits < 2 || bits > 16)
        config_fail(c, FT_ERR_DAMAGED, key, "is not between 2 and 16");
    else
        f->bits = bits == 16 ? 0 : (int32_t)bits;
}

static void set_group(config *c, language_format *f, int64_t group, const char *key) {
    if (c->status == FT_OK && group > LANGUAGE_MAX_SIZE) config_fail(c, FT_ERR_LIMIT, key, "is absurdly large");
    if (c->status == FT_OK && group > 0) f->group = group;
}

/* A size, or a value below 0 for "all of them". */
static int64_t group_of(config *c, const char *key, int64_t fallback) {
    const json_t *value = json_object_get(c->text, key);
    if (json_is_integer(value) && json_integer_value(value) < 0) return 0;
    return config_int(c, key, fallback);
}

/* "weight_block_size": [rows, columns]. */
static void read_block(config *c, language_format *f, const char *key) {
    const json_t *block = config_list(c, key);
    if (block == NULL) return;
    int64_t rows = config_list_int(c, key, block, 0, 0), columns = config_list_int(c, key, block, 1, 0);
    if (c->status == FT_OK && (rows < 1 || columns < 1 || rows > LANGUAGE_MAX_SIZE || columns > LANGUAGE_MAX_SIZE))
        config_fail(c, FT_ERR_DAMAGED, key, "is not two sizes of a block");
    if (c->status != FT_OK) return;
    f->rows = rows;
    f->group = columns;
}

/* Of compressed-tensors: kind of number, bits, and what has a scale. */
static void read_weights(config *c, language_format *f) {
    const char *strategy = config_text(c, "strategy", "");
    f->is_float = strcmp(config_text(c, "type", "int"), "float") == 0;
    set_bits(c, f, config_int(c, "num_bits", 8), "num_bits");
    f->has_zeros = !config_bool(c, "symmetric", true);
    f->rows = strcmp(strategy, "tensor") == 0 || strcmp(strategy, "") == 0 ? 0 : 1;
    f->group = 0;
    set_group(c, f, group_of(c, "group_size", 0), "group_size");
    read_block(c, f, "block_structure");
    f->scale_dtype = f->is_float && f->bits == 8 ? FT_FLOAT32 : f->is_float ? FT_FLOAT8 : FT_FLOAT16;
}

static void read_format(config *c, const method *m, language_format *f) {
    *f = m->format;
    const char *key;
    if (f->bits == 4 && config_bool(c, "load_in_8bit", false) && !config_bool(c, "load_in_4bit", false))
        *f = find_method("bitsandbytes_8bit")->format;
    if (!f->is_float) set_bits(c, f, config_int(c, "bits w_bit", 0), "bits");
    if (config_value(c, "group_size q_group_size", &key) != NULL) {
        f->group = 0;
        set_group(c, f, group_of(c, key, 0), key);
    }
    read_block(c, f, "weight_block_size");
    if (f->group == 0 && f->rows == 0) f->has_zeros = false;
}

/* --- Modules that are left as they are -----------------------------------------------------------------------------
 */

typedef struct exclusions {
    uint32_t layers[MODULE_COUNT]; /* that are named */
    bool is_whole[MODULE_COUNT];   /* of all layers */
} exclusions;

static void exclude(exclusions *e, const char *name, language_module module) {
    const char *layer = strstr(name, "layers.");
    if (layer != NULL && layer[7] >= '0' && layer[7] <= '9')
        e->layers[module]++;
    else
        e->is_whole[module] = true;
}

static bool has_any(const char *name, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strstr(name, words[i]) != NULL) return true;
    return false;
}

#define HAS_ANY(name, ...)                                                                                             \
    has_any((name), (const char *const[]){__VA_ARGS__},                                                                \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static void exclude_attention(exclusions *e, const char *name) {
    bool is_output = HAS_ANY(name, "o_proj", "out_proj", "attn.dense", "wo");
    bool is_query = HAS_ANY(name, "q_proj", "q_b_proj", "qkv", "q_up", "wq_b", "in_proj");
    bool is_other = HAS_ANY(name, "k_proj", "v_proj", "a_proj", "b_proj", "indexer", "conv");
    if (is_output || (!is_query && !is_other)) exclude(e, name, MODULE_ATTENTION_OUTPUT);
    if (is_query || (!is_output && !is_other)) exclude(e, name, MODULE_ATTENTION);
}

/* One matrix stands for all of a module, so that a layer counts once. */
static void exclude_name(exclusions *e, const char *name) {
    if (HAS_ANY(name, "vision", "visual", "mm_projector", "multi_modal", "audio", "mtp", "norm")) return;
    if (HAS_ANY(name, "lm_head", "embed_out", "output_layer")) {
        exclude(e, name, MODULE_HEAD);
    } else if (HAS_ANY(name, "shared_expert", "share_expert")) {
        if (HAS_ANY(name, "up_proj", "up|") || !HAS_ANY(name, "_proj", "gate")) exclude(e, name, MODULE_SHARED_EXPERTS);
    } else if (HAS_ANY(name, "experts")) {
        exclude(e, name, MODULE_EXPERTS);
    } else if (HAS_ANY(name, "attn", "attention", "mixer")) {
        exclude_attention(e, name);
    } else if (HAS_ANY(name, "mlp", "feed_forward", "ffn")) {
        if (HAS_ANY(name, "up_proj", "up|", "up_|fc1", "w1")) exclude(e, name, MODULE_MLP);
    }
}

static void read_exclusions(config *c, language_model *m, bool is_of_experts) {
    static const char *const keys[] = {"modules_to_not_convert", "ignore", "exclude_modules", "llm_int8_skip_modules",
                                       "ignored_layers"};
    exclusions e = {.is_whole = {[MODULE_EMBEDDING] = true, [MODULE_ROUTER] = true, [MODULE_HEAD] = true}};
    uint32_t layers = 0, dense = 0;
    if (config_bool(c, "lm_head", false)) e.is_whole[MODULE_HEAD] = false;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        const json_t *list = config_list(c, keys[k]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const char *name = json_string_value(json_array_get(list, i));
            if (name != NULL) exclude_name(&e, name);
        }
    }
    for (uint32_t i = 0; i < m->layer_count; i++) {
        layers += m->layers[i].mixer != MIXER_NONE;
        dense += m->layers[i].mlp == MLP_DENSE;
    }
    for (int i = 0; i < MODULE_COUNT; i++) {
        uint32_t all = i == MODULE_MLP ? dense : layers;
        bool is_left = e.is_whole[i] || (e.layers[i] > 0 && 2 * e.layers[i] >= all);
        if (is_left || (is_of_experts && i != MODULE_EXPERTS)) m->formats[i] = (language_format){0};
    }
}

/* --- The whole --------------------------------------------------------------------------------------------------- */

/* The type of the cache that the file asks for. */
static void read_cache(config *c) {
    const char *key;
    const json_t *scheme = config_value(c, "kv_cache_scheme kv_cache_quant_algo", &key);
    const char *text = json_string_value(scheme);
    bool is_float = text != NULL ? strstr(text, "FP8") != NULL || strstr(text, "fp8") != NULL
                                 : json_integer_value(json_object_get(scheme, "num_bits")) == 8;
    if (is_float) c->model->kv_dtype = FT_FLOAT8;
}

/* The object `quant` of a file, whose fields are read in place of those of the model. */
static void read_quant(config *c, const json_t *quant) {
    const json_t *outer = c->text, *weights = group_weights(quant);
    language_format format = {0};
    c->text = quant;
    const char *name = config_text(c, "quant_algo quant_method format", "");
    const method *m = find_method(name);
    if (m == NULL) m = find_method(config_text(c, "format", ""));
    if (m != NULL)
        read_format(c, m, &format);
    else if (weights == NULL && name[0] != '\0')
        config_note(c, "weights are packed by \"%.60s\", which is not known: they count as not packed", name);
    if (json_is_object(weights)) {
        c->text = weights;
        read_weights(c, &format);
        c->text = quant;
    }
    for (int i = 0; i < MODULE_COUNT; i++) c->model->formats[i] = format;
    read_exclusions(c, c->model, m != NULL && m->is_of_experts);
    read_cache(c);
    if (m != NULL || weights != NULL)
        c->model->quantisation =
            arena_string(c->memory, name[0] != '\0' ? name : "groups", name[0] != '\0' ? strlen(name) : 6);
    c->text = outer;
}

/* "config.json" has "hf_quant_config.json" beside it, "NAME_config.json" a file "NAME_hf_quant_config.json". */
static char *path_beside(const config *c) {
    static const char ending[] = "config.json";
    size_t length = c->path != NULL ? strlen(c->path) : 0;
    if (length < sizeof ending - 1 || strcmp(c->path + length - (sizeof ending - 1), ending) != 0) return NULL;
    length -= sizeof ending - 1;
    return arena_format(c->memory, "%.*shf_quant_config.json", (int)length, c->path);
}

static void read_beside(config *c) {
    enum { MAX_BYTES = 16 << 20 };
    char *path = path_beside(c);
    ft_error ignored;
    input in;
    json_t *root = NULL;
    if (path == NULL || input_open(path, MAX_BYTES, &in, &ignored) != FT_OK) return;
    ft_status status = json_parse(in.bytes, in.size, &root, c->error);
    if (status == FT_OK && json_is_object(json_object_get(root, "quantization")))
        read_quant(c, json_object_get(root, "quantization"));
    if (status != FT_OK && c->status == FT_OK) c->status = status;
    if (c->status != FT_OK) ft_fail_prefix(c->error, c->status, "hf_quant_config.json");
    json_decref(root);
    input_close(&in);
}

void config_read_quantisation(config *c) {
    const json_t *quant = json_object_get(c->text, "quantization_config");
    if (!json_is_object(quant)) quant = json_object_get(c->root, "quantization_config");
    if (!json_is_object(quant)) quant = json_object_get(c->root, "compression_config");
    if (c->status != FT_OK) return;
    if (json_is_object(quant))
        read_quant(c, quant);
    else if (c->path != NULL)
        read_beside(c);
}
