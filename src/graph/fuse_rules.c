/* fuse_rules.c - fusion rules: the bundled sets and files of users.
 *
 * A rule file is one JSON object, described in docs/fusion.md. It is checked strictly: an unknown key, a value of the
 * wrong kind or an invalid name is an error with file and key, because a rule that is silently ignored gives wrong
 * kernels. Names become small numbers (symbols), lists become tables over them. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/input.h"
#include "base/json.h"
#include "base/yaml.h"
#include "graph/fuse.h"

enum { RULES_VERSION = 1, RULES_MEMORY = 16 << 20, MAX_SYMBOLS = SYMBOL_FIRST_NAME + RULES_MAX_NAMES };

/* --- Names --------------------------------------------------------------------------------------------------- */

/* "@data-movement" for the class "data movement". */
static bool find_class(const char *name, symbol *result) {
    for (int c = 0; c < SYMBOL_FIRST_NAME; c++) {
        const char *text = ft_op_class_name((ft_op_class)c);
        size_t i = 0;
        while (text[i] != '\0' && name[i] == (text[i] == ' ' ? '-' : text[i])) i++;
        if (text[i] != '\0' || name[i] != '\0') continue;
        *result = (symbol)c;
        return true;
    }
    return false;
}

static bool is_name(const char *name) {
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-");
    return length > 0 && name[length] == '\0' && length < KERNEL_NAME_BYTES && strcmp(name, "_") != 0;
}

ft_status rules_symbol(ft_rules *rules, const char *name, symbol *result, ft_error *error) {
    if (name[0] == '@') {
        if (find_class(name + 1, result)) return FT_OK;
        return ft_fail(error, FT_ERR_DAMAGED, "there is no operator class '%s'; 'foretell list ops' lists them", name);
    }
    if (!is_name(name))
        return ft_fail(error, FT_ERR_DAMAGED,
                       "'%s' is not a valid name: use lower-case letters, digits, '-', '_' and '.', at most %d", name,
                       KERNEL_NAME_BYTES - 1);
    uint32_t known;
    if (map_get(&rules->symbols, name, &known)) {
        *result = (symbol)known;
        return FT_OK;
    }
    if (rules->symbol_count == MAX_SYMBOLS)
        return ft_fail(error, FT_ERR_LIMIT, "more than %d different names", RULES_MAX_NAMES);
    const char *copy = arena_string(&rules->memory, name, strlen(name));
    if (copy == NULL || !map_set(&rules->symbols, copy, rules->symbol_count)) return FT_NOMEM(error);
    *result = (symbol)rules->symbol_count++;
    return FT_OK;
}

/* --- Values -------------------------------------------------------------------------------------------------- */

static ft_status read_symbol(ft_rules *rules, const json_t *value, symbol *result, ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    return rules_symbol(rules, text, result, error);
}

static ft_status read_string(ft_rules *rules, const json_t *value, const char **kept, ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    *kept = arena_string(&rules->memory, text, strlen(text));
    return *kept != NULL ? FT_OK : FT_NOMEM(error);
}

/* One of two words; *is_second is true for the second. */
static ft_status read_choice(const json_t *value, const char *first, const char *second, bool *is_second,
                             ft_error *error) {
    const char *text;
    FT_TRY(json_read_string(value, &text, error));
    *is_second = strcmp(text, second) == 0;
    if (*is_second || strcmp(text, first) == 0) return FT_OK;
    return ft_fail(error, FT_ERR_DAMAGED, "is '%s', but '%s' or '%s' is expected", text, first, second);
}

/* Sets list[symbol] for each name of a JSON list. */
static ft_status read_list(ft_rules *rules, const json_t *value, bool *list, ft_error *error) {
    if (!json_is_array(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but a list of names is expected", json_kind(value));
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        symbol s;
        ft_status status = read_symbol(rules, item, &s, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "item %zu", i + 1);
        list[s] = true;
    }
    return FT_OK;
}

/* One entry of the pairs: every name in `take` may join a kernel with any of the `roots`. */
static ft_status read_pair(ft_rules *rules, const json_t *value, ft_error *error) {
    const json_t *roots = json_object_get(value, "roots"), *take = json_object_get(value, "take");
    if (roots == NULL || take == NULL || json_object_size(value) != 2)
        return ft_fail(error, FT_ERR_DAMAGED, "must be an object with the keys 'roots' and 'take' and no others");
    bool is_root[MAX_SYMBOLS] = {false}, is_taken[MAX_SYMBOLS] = {false};
    ft_status status = read_list(rules, roots, is_root, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "'roots'");
    status = read_list(rules, take, is_taken, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "'take'");
    for (size_t root = 0; root < MAX_SYMBOLS; root++) {
        for (size_t next = 0; is_root[root] && next < MAX_SYMBOLS; next++)
            rules->pairs[root * MAX_SYMBOLS + next] |= is_taken[next];
    }
    return FT_OK;
}

static ft_status read_pairs(ft_rules *rules, const json_t *value, ft_error *error) {
    if (!json_is_array(value) || json_array_size(value) > RULES_MAX_NAMES)
        return ft_fail(error, FT_ERR_DAMAGED, "must be a list of at most %d objects", RULES_MAX_NAMES);
    size_t i;
    const json_t *item;
    json_array_foreach(value, i, item) {
        ft_status status = read_pair(rules, item, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "item %zu", i + 1);
    }
    return FT_OK;
}

/* --- Blocks -------------------------------------------------------------------------------------------------- */

static ft_status read_patterns(ft_rules *rules, const json_t *value, block *b, ft_error *error) {
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    if (count == 0 || count > RULES_MAX_BLOCKS)
        return ft_fail(error, FT_ERR_LIMIT, "has %zu patterns; 1 to %d are allowed", count, RULES_MAX_BLOCKS);
    pattern *patterns = ARENA_ARRAY(&rules->memory, pattern, count);
    if (patterns == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < count; i++) {
        const char *text;
        FT_TRY(json_read_string(json_is_array(value) ? json_array_get(value, i) : value, &text, error));
        FT_TRY(pattern_parse(rules, text, &patterns[i], error));
    }
    b->patterns = patterns;
    b->pattern_count = (uint32_t)count;
    return FT_OK;
}

static ft_status read_block_name(ft_rules *rules, const json_t *value, block *b, ft_error *error) {
    FT_TRY(read_string(rules, value, &b->name, error));
    if (b->name[0] == '@')
        return ft_fail(error, FT_ERR_DAMAGED, "'%s' is the name of a class, not of a block", b->name);
    return rules_symbol(rules, b->name, &b->name_symbol, error);
}

static ft_status read_block_class(const json_t *value, block *b, ft_error *error) {
    const char *text;
    symbol c;
    FT_TRY(json_read_string(value, &text, error));
    if (!find_class(text, &c)) return ft_fail(error, FT_ERR_DAMAGED, "there is no operator class '%s'", text);
    b->op_class = (ft_op_class)c;
    return FT_OK;
}

static ft_status read_block_key(ft_rules *rules, const char *key, const json_t *value, block *b, ft_error *error) {
    if (strcmp(key, "name") == 0) return read_block_name(rules, value, b, error);
    if (strcmp(key, "class") == 0) return read_block_class(value, b, error);
    if (strcmp(key, "root") == 0) return read_symbol(rules, value, &b->root, error);
    if (strcmp(key, "pattern") == 0) return read_patterns(rules, value, b, error);
    return ft_fail(error, FT_ERR_DAMAGED, "is an unknown key; the keys are name, class, root and pattern");
}

static ft_status read_block(ft_rules *rules, const json_t *value, block *b, ft_error *error) {
    if (!json_is_object(value))
        return ft_fail(error, FT_ERR_DAMAGED, "is %s, but an object is expected", json_kind(value));
    *b = (block){.root = SYMBOL_NONE, .op_class = FT_CLASS_UNKNOWN};
    const char *key;
    const json_t *item;
    json_object_foreach((json_t *)(uintptr_t)value, key, item) {
        ft_status status = read_block_key(rules, key, item, b, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "'%s'", key);
    }
    if (b->name == NULL || b->patterns == NULL)
        return ft_fail(error, FT_ERR_DAMAGED, "needs both a 'name' and a 'pattern'");
    return FT_OK;
}

static ft_status read_blocks(ft_rules *rules, const json_t *value, ft_error *error) {
    if (!json_is_array(value)) return ft_fail(error, FT_ERR_DAMAGED, "is %s, but a list is expected", json_kind(value));
    size_t count = json_array_size(value);
    if (count > RULES_MAX_BLOCKS)
        return ft_fail(error, FT_ERR_LIMIT, "has %zu blocks; at most %d are allowed", count, RULES_MAX_BLOCKS);
    block *blocks = ARENA_ARRAY(&rules->memory, block, count);
    if (blocks == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < count; i++) {
        ft_status status = read_block(rules, json_array_get(value, i), &blocks[i], error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "block %zu", i + 1);
    }
    rules->blocks = blocks;
    rules->block_count = (uint32_t)count;
    return FT_OK;
}

/* --- The file ------------------------------------------------------------------------------------------------ */

static ft_status read_version(const json_t *value, ft_error *error) {
    if (json_is_integer(value) && json_integer_value(value) == RULES_VERSION) return FT_OK;
    return ft_fail(error, FT_ERR_UNSUPPORTED,
                   "is not %d, the version of rule files that this version of foretell reads", RULES_VERSION);
}

static ft_status read_key(ft_rules *rules, const char *key, const json_t *value, ft_error *error) {
    if (strcmp(key, "foretell_rules") == 0) return read_version(value, error);
    if (strcmp(key, "name") == 0) return read_string(rules, value, &rules->name, error);
    if (strcmp(key, "text") == 0) return read_string(rules, value, &rules->text, error);
    if (strcmp(key, "free") == 0) return read_list(rules, value, rules->is_free, error);
    if (strcmp(key, "blocks") == 0) return read_blocks(rules, value, error);
    if (strcmp(key, "grow") == 0) return read_choice(value, "chains", "trees", &rules->grows_trees, error);
    if (strcmp(key, "types") == 0) return read_choice(value, "sequence", "set", &rules->lists_names_once, error);
    if (strcmp(key, "convolutions") == 0) return read_choice(value, "cores", "array", &rules->has_array, error);
    if (strcmp(key, "pairs") == 0) return read_pairs(rules, value, error);
    if (strcmp(key, "reductions") == 0) return read_list(rules, value, rules->is_reduction, error);
    return ft_fail(error, FT_ERR_DAMAGED, "is an unknown key; docs/fusion.md lists the keys");
}

static ft_status read_all(ft_rules *rules, const json_t *document, ft_error *error) {
    if (!json_is_object(document))
        return ft_fail(error, FT_ERR_FORMAT, "is %s, but an object is expected", json_kind(document));
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)(uintptr_t)document, key, value) {
        ft_status status = read_key(rules, key, value, error);
        if (status != FT_OK) return ft_fail_prefix(error, status, "'%s'", key);
    }
    if (json_object_get(document, "foretell_rules") == NULL)
        return ft_fail(error, FT_ERR_FORMAT, "has no key 'foretell_rules', so it is not a rule file");
    if (rules->name == NULL) return ft_fail(error, FT_ERR_DAMAGED, "has no key 'name'");
    if (!is_name(rules->name))
        return ft_fail(error, FT_ERR_DAMAGED,
                       "'name': '%s' is not a valid name: use lower-case letters, digits, '-', '_' and '.'",
                       rules->name);
    return FT_OK;
}

/* While loading, tables have room for the maximum number of names; here they shrink to the actual number. */
static ft_status pack_pairs(ft_rules *rules, ft_error *error) {
    assert(rules->symbol_count <= MAX_SYMBOLS);
    size_t count = rules->symbol_count;
    bool *packed = ARENA_ARRAY(&rules->memory, bool, count *count);
    if (packed == NULL) return FT_NOMEM(error);
    for (size_t i = 0; i < count; i++) memcpy(packed + i * count, rules->pairs + i * MAX_SYMBOLS, count);
    rules->pairs = packed;
    return FT_OK;
}

static ft_status load(ft_rules *rules, const json_t *document, ft_error *error) {
    bool *pairs = calloc((size_t)MAX_SYMBOLS * MAX_SYMBOLS, sizeof *pairs);
    rules->pairs = pairs;
    rules->text = "";
    rules->symbol_count = SYMBOL_FIRST_NAME;
    map_init(&rules->symbols, &rules->memory);
    rules->is_free = ARENA_ARRAY(&rules->memory, bool, MAX_SYMBOLS);
    rules->is_reduction = ARENA_ARRAY(&rules->memory, bool, MAX_SYMBOLS);
    ft_status status = FT_OK;
    if (pairs == NULL || rules->is_free == NULL || rules->is_reduction == NULL) status = FT_NOMEM(error);
    if (status == FT_OK) status = read_all(rules, document, error);
    if (status == FT_OK) status = pack_pairs(rules, error);
    free(pairs);
    return status;
}

ft_status rules_parse(const char *bytes, size_t size, const char *name, ft_rules **rules, ft_error *error) {
    if (size > RULES_MAX_BYTES)
        return ft_fail(error, FT_ERR_LIMIT, "%s: has %zu bytes; a rule file has at most %d", name, size,
                       RULES_MAX_BYTES);
    json_t *document;
    ft_status status = config_text_parse(bytes, size, &document, error);
    if (status != FT_OK) return ft_fail_prefix(error, status, "%s", name);
    ft_rules *made = calloc(1, sizeof *made);
    if (made == NULL) {
        json_decref(document);
        return FT_NOMEM(error);
    }
    arena_init(&made->memory, RULES_MEMORY);
    status = load(made, document, error);
    json_decref(document);
    if (status != FT_OK) {
        ft_rules_free(made);
        return ft_fail_prefix(error, status, "%s", name);
    }
    *rules = made;
    return FT_OK;
}

static ft_status open_file(const char *path, ft_rules **rules, ft_error *error) {
    input in;
    FT_TRY(input_open(path, RULES_MAX_BYTES, &in, error));
    ft_status status = rules_parse((const char *)in.bytes, in.size, path, rules, error);
    input_close(&in);
    return status;
}

/* Bundled sets are valid: parsing one fails only when out of memory, which jansson may report as a wrong token. */
static ft_status open_builtin(const embedded_file *file, ft_rules **rules, ft_error *error) {
    ft_status status = rules_parse(file->json, strlen(file->json), file->name, rules, error);
    return status == FT_OK ? FT_OK : FT_NOMEM(error);
}

ft_status ft_rules_open(const char *name, ft_rules **rules, ft_error *error) {
    FT_REQUIRE(error, name, rules);
    const embedded_file *file = embedded_find(rules_builtin, rules_builtin_count, name);
    if (file != NULL) return open_builtin(file, rules, error);
    if (embedded_is_path(name)) return open_file(name, rules, error);
    return embedded_fail(rules_builtin, rules_builtin_count, "rule set", "runtimes", name, error);
}

const char *ft_rules_name(const ft_rules *rules) {
    return rules != NULL ? rules->name : NULL;
}

void ft_rules_free(ft_rules *rules) {
    if (rules == NULL) return;
    arena_free(&rules->memory);
    free(rules);
}

uint32_t ft_rules_count(void) {
    return rules_builtin_count;
}

const char *ft_rules_name_at(uint32_t index) {
    return index < rules_builtin_count ? rules_builtin[index].name : NULL;
}

const char *ft_rules_text_at(uint32_t index) {
    return index < rules_builtin_count ? rules_builtin[index].text : NULL;
}
